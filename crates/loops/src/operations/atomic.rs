//! Atomic operations.

use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::operation::Operation;
use crate::tasks::{Kind, Place, beside};
use crate::workers::together;

/// A value alone on two cache lines, since some processors fetch lines in pairs.
#[repr(align(128))]
#[derive(Default)]
struct Lone(AtomicU64);

pub const OPERATIONS: &[Operation] = &[
    Operation::new("atomic/add", &[], |setting| {
        let value = Lone::default();
        // The old value is not kept: keeping it would be a store, for which the next addition waits.
        setting.repeat(|| {
            value.0.fetch_add(1, Ordering::SeqCst);
        })
    }),
    Operation::new("atomic/compare-and-swap", &[], |setting| {
        let value = Lone::default();
        setting.repeat(|| {
            let value = black_box(&value);
            let old = value.0.load(Ordering::SeqCst);
            let swapped =
                value.0.compare_exchange(old, old + 1, Ordering::SeqCst, Ordering::SeqCst);
            let _ = black_box(swapped);
        })
    }),
    Operation::new("atomic/fence", &[], |setting| {
        let value = Lone::default();
        setting.repeat(|| {
            // `black_box` makes the value visible to others: otherwise the compiler could omit both the store and the fence.
            black_box(&value).0.store(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        })
    }),
    Operation::new("atomic/add-shared", &[("workers", "2")], |setting| {
        let value = Lone::default();
        together(setting, 2, |_| {
            black_box(value.0.fetch_add(1, Ordering::SeqCst));
        })
    }),
    Operation::new("atomic/handoff", &[("pair", "first-last")], |setting| {
        let value = Arc::new(Lone::default());
        let others = Arc::clone(&value);
        let mut awaited = 1;
        let answer = move || {
            while others.0.load(Ordering::Acquire) != awaited {
                spin_loop();
            }
            others.0.store(awaited + 1, Ordering::Release);
            awaited += 2;
        };
        let mut number = 1;
        beside(setting, Kind::Thread, Place::Other, answer, || {
            setting.repeat(|| {
                value.0.store(number, Ordering::Release);
                while value.0.load(Ordering::Acquire) != number + 1 {
                    spin_loop();
                }
                number += 2;
            })
        })
    }),
];
