//! Reading clocks.

use std::hint::black_box;
use std::time::Instant;

use crate::calls::must;
use crate::operation::Operation;

pub const OPERATIONS: &[Operation] = &[
    Operation::new("clock/gettime", &[("id", "monotonic"), ("via", "vdso")], |setting| {
        // SAFETY: an all-zero time is valid, and the calls overwrite it.
        unsafe {
            let mut time: libc::timespec = std::mem::zeroed();
            setting.repeat(|| {
                must("clock_gettime", libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time));
            })
        }
    }),
    Operation::new("clock/gettime", &[("id", "thread-cputime"), ("via", "syscall")], |setting| {
        let (call, clock) = (libc::SYS_clock_gettime, libc::CLOCK_THREAD_CPUTIME_ID);
        // SAFETY: an all-zero time is valid, and the calls overwrite it.
        unsafe {
            let mut time: libc::timespec = std::mem::zeroed();
            setting.repeat(|| {
                must("clock_gettime", libc::syscall(call, clock, &raw mut time));
            })
        }
    }),
    Operation::new("clock/gettimeofday", &[("via", "vdso")], |setting| {
        // SAFETY: an all-zero time is valid, and the calls overwrite it; no time zone is requested.
        unsafe {
            let mut time: libc::timeval = std::mem::zeroed();
            setting.repeat(|| {
                must("gettimeofday", libc::gettimeofday(&mut time, std::ptr::null_mut()));
            })
        }
    }),
    Operation::new("clock/std-instant", &[], |setting| {
        setting.repeat(|| {
            black_box(Instant::now());
        })
    }),
];
