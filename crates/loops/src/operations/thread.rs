//! Threads.

use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr::{null, null_mut, without_provenance_mut};

use crate::operation::Operation;

pub const OPERATIONS: &[Operation] = &[
    Operation::new("thread/pthread-create", &[("threads", "1")], |setting| {
        let mut number = 1;
        setting.repeat(|| {
            let mut result = null_mut();
            // SAFETY: the call overwrites the all-zero handle, and the thread is joined once.
            let failed = unsafe {
                let mut thread: libc::pthread_t = zeroed();
                let argument = without_provenance_mut(number);
                libc::pthread_create(&mut thread, null(), same, argument) != 0
                    || libc::pthread_join(thread, &mut result) != 0
            };
            assert!(!failed && result.addr() == number, "the thread returns the number");
            number += 1;
        })
    }),
    Operation::new("thread/std-spawn", &[], |setting| {
        let mut number = 1;
        setting.repeat(|| {
            let thread = std::thread::spawn(move || number);
            assert_eq!(thread.join().ok(), Some(number), "the thread returns the number");
            number += 1;
        })
    }),
];

extern "C" fn same(argument: *mut c_void) -> *mut c_void {
    argument
}
