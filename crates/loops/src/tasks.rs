//! A measuring task and its partner, as threads of one process or as processes, on one CPU or on two.

use crate::calls::{must, pin};
use crate::setting::{Setting, Timed};

/// Kind of a partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A thread of this process.
    Thread,
    /// A child process.
    Process,
}

/// CPU of a partner.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// The CPU of the measuring task.
    Same,
    /// The CPU before that of the measuring task.
    Other,
}

/// Runs `measure` while a partner runs `answer` repeatedly. The partner ends with `measure` or with this process.
pub fn beside(
    setting: &Setting,
    kind: Kind,
    place: Place,
    mut answer: impl FnMut() + Send + 'static,
    measure: impl FnOnce() -> Timed,
) -> Timed {
    let cpu = match place {
        Place::Same => setting.last_cpu(),
        Place::Other => setting.cpu_of_worker(1),
    };
    let partner = move || {
        pin(&[cpu]);
        loop {
            answer();
        }
    };
    match kind {
        Kind::Thread => {
            std::thread::spawn(partner);
            measure()
        }
        Kind::Process => {
            let child = fork(partner);
            let timed = measure();
            end(child);
            timed
        }
    }
}

/// Makes this process end with its parent.
pub fn end_with_parent() {
    // SAFETY: takes two numbers.
    must("prctl", unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM as libc::c_ulong) });
}

/// Starts a process on each of these CPUs that computes whenever no other thread wants to run there, until this process ends.
pub fn keep_awake(cpus: &[usize]) {
    for &cpu in cpus {
        fork(|| {
            pin(&[cpu]);
            let lowest = libc::sched_param { sched_priority: 0 };
            // SAFETY: the parameters are valid.
            must("sched_setscheduler", unsafe {
                libc::sched_setscheduler(0, libc::SCHED_IDLE, &lowest)
            });
            loop {
                std::hint::spin_loop();
            }
        });
    }
}

/// Starts a child process that runs `work` and is killed when this process ends.
pub fn fork(work: impl FnOnce()) -> libc::pid_t {
    fork_alone(|| {
        let signal = libc::SIGKILL as libc::c_ulong;
        // SAFETY: takes two numbers.
        must("prctl", unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) });
        work();
        0
    })
}

/// Starts a child process by fork and nothing else, which ends with the exit code that `work` returns.
#[inline(always)]
pub fn fork_alone(work: impl FnOnce() -> i32) -> libc::pid_t {
    // SAFETY: either the process has one thread, so that the child may do whatever this process may, or the child only makes
    // system calls. It ends without running its parent's exit handlers.
    unsafe {
        match must("fork", libc::fork()) {
            0 => libc::_exit(work()),
            child => child,
        }
    }
}

/// Kills a child that has not been waited for.
pub fn end(child: libc::pid_t) {
    // SAFETY: the process is a child of this one that has not been waited for.
    must("kill", unsafe { libc::kill(child, libc::SIGKILL) });
    wait(child);
}

/// Waits for the end of a child and returns its status.
#[inline(always)]
pub fn wait(child: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: the status is valid for writes.
    must("waitpid", unsafe { libc::waitpid(child, &mut status, 0) });
    status
}

/// Waits for children of ended processes, which a system gives to its first process. Does nothing in other processes.
pub fn reap() {
    if std::process::id() == 1 {
        // SAFETY: no status is stored; the call does not block.
        while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
    }
}
