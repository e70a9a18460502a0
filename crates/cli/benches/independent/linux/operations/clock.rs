//! Reading clocks.

use std::hint::black_box;
use std::time::Instant;

use crate::linux::calls::must;
use crate::linux::operation::Operation;

pub const OPERATIONS: &[Operation] = &[
    Operation::new("clock/gettime", &[("id", "monotonic"), ("via", "vdso")], |setting| {
        setting.repeat(|| {
            // SAFETY: a time of zeros is a valid one, which the call overwrites.
            unsafe {
                let mut time: libc::timespec = std::mem::zeroed();
                must("clock_gettime", libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time));
                black_box(time);
            }
        })
    }),
    Operation::new("clock/gettime", &[("id", "thread-cputime"), ("via", "syscall")], |setting| {
        let (call, clock) = (libc::SYS_clock_gettime, libc::CLOCK_THREAD_CPUTIME_ID);
        setting.repeat(|| {
            // SAFETY: a time of zeros is a valid one, which the call overwrites.
            unsafe {
                let mut time: libc::timespec = std::mem::zeroed();
                must("clock_gettime", libc::syscall(call, clock, &raw mut time));
                black_box(time);
            }
        })
    }),
    Operation::new("clock/gettimeofday", &[("via", "vdso")], |setting| {
        setting.repeat(|| {
            // SAFETY: a time of zeros is a valid one, which the call overwrites; no time zone is asked for.
            unsafe {
                let mut time: libc::timeval = std::mem::zeroed();
                must("gettimeofday", libc::gettimeofday(&mut time, std::ptr::null_mut()));
                black_box(time);
            }
        })
    }),
    Operation::new("clock/std-instant", &[], |setting| {
        setting.repeat(|| {
            black_box(Instant::now());
        })
    }),
];
