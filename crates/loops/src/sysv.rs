//! System V objects, which outlive the process that creates them unless it removes them.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::calls::must;

const NONE: i32 = -1;
static SEMAPHORES: AtomicI32 = AtomicI32::new(NONE);
static QUEUE: AtomicI32 = AtomicI32::new(NONE);

/// A new set of semaphores, all 0, which is removed when the process exits or is asked to end.
pub fn semaphores(count: i32) -> i32 {
    remove_at_end();
    // SAFETY: creates a set; no memory is passed.
    let set = must("semget", unsafe { libc::semget(libc::IPC_PRIVATE, count, 0o600) });
    SEMAPHORES.store(set, Ordering::Relaxed);
    set
}

/// A new message queue, which is removed when the process exits or is asked to end.
pub fn queue() -> i32 {
    remove_at_end();
    // SAFETY: creates a queue; no memory is passed.
    let queue = must("msgget", unsafe { libc::msgget(libc::IPC_PRIVATE, 0o600) });
    QUEUE.store(queue, Ordering::Relaxed);
    queue
}

fn remove_at_end() {
    let handler = remove_and_end as extern "C" fn(i32);
    // SAFETY: both functions only make system calls, and need nothing of the code that they interrupt.
    unsafe {
        libc::atexit(remove);
        libc::signal(libc::SIGTERM, handler as libc::sighandler_t);
    }
}

extern "C" fn remove() {
    let (set, queue) =
        (SEMAPHORES.swap(NONE, Ordering::Relaxed), QUEUE.swap(NONE, Ordering::Relaxed));
    // SAFETY: removes objects that this process has created; a failure means that they are removed already.
    unsafe {
        if set != NONE {
            libc::semctl(set, 0, libc::IPC_RMID);
        }
        if queue != NONE {
            libc::msgctl(queue, libc::IPC_RMID, std::ptr::null_mut());
        }
    }
}

extern "C" fn remove_and_end(_signal: i32) {
    remove();
    // SAFETY: ends the process with an async-signal-safe call.
    unsafe { libc::_exit(1) }
}
