//! Signals.

use std::hint::black_box;
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::calls::{must, pin, read};
use crate::operation::Operation;
use crate::tasks::{end, fork, fork_alone, wait};

static COUNT: AtomicU64 = AtomicU64::new(0);
/// Pid of the process to which the handler answers.
static PARENT: AtomicI32 = AtomicI32::new(0);

pub const OPERATIONS: &[Operation] = &[
    Operation::new("signal/install", &[], |setting| {
        let handlers = [count, count_too].map(action);
        let mut at = 0;
        setting.repeat(|| {
            at ^= 1;
            // SAFETY: the action has a handler that may interrupt anything; the old one is valid for writes.
            unsafe {
                let mut old: libc::sigaction = zeroed();
                must("sigaction", libc::sigaction(libc::SIGUSR1, &handlers[at], &mut old));
                black_box(old.sa_sigaction);
            }
        })
    }),
    Operation::new("signal/raise", &[], |setting| {
        install(libc::SIGUSR1, count);
        let mut sent = COUNT.load(Ordering::Relaxed);
        let ids = own_ids();
        setting.repeat(|| {
            send_to_thread(ids);
            sent += 1;
            assert_eq!(COUNT.load(Ordering::Relaxed), sent, "handled before the call returns");
        })
    }),
    Operation::new("signal/kill", &[("place", "same")], |setting| {
        install(libc::SIGUSR1, count);
        block(libc::SIGUSR1);
        let waited_with = set_of(&[]);
        // SAFETY: the call takes no arguments.
        PARENT.store(unsafe { libc::getpid() }, Ordering::Relaxed);
        let child = fork(|| {
            install(libc::SIGUSR1, answer);
            loop {
                // SAFETY: the set is valid.
                unsafe { libc::sigsuspend(&waited_with) };
            }
        });
        let mut handled = COUNT.load(Ordering::Relaxed);
        let timed = setting.repeat(|| {
            // SAFETY: the child has not been waited for; the set is valid.
            unsafe {
                must("kill", libc::kill(child, libc::SIGUSR1));
                handled += 1;
                while COUNT.load(Ordering::Relaxed) != handled {
                    libc::sigsuspend(&waited_with);
                }
            }
        });
        end(child);
        timed
    }),
    Operation::new("signal/sigqueue", &[], |setting| {
        let signal = libc::SIGRTMIN();
        block(signal);
        let awaited = set_of(&[signal]);
        // SAFETY: the call takes no arguments.
        let own = unsafe { libc::getpid() };
        let mut number = 0usize;
        setting.repeat(|| {
            number += 1;
            send(own, signal, number);
            assert_eq!(take(&awaited), number, "the value that was sent");
        })
    }),
    Operation::new("signal/signalfd", &[], |setting| {
        block(libc::SIGUSR1);
        let set = set_of(&[libc::SIGUSR1]);
        // SAFETY: the set is valid.
        let file = must("signalfd", unsafe { libc::signalfd(-1, &set, 0) });
        let mut information = [0u8; size_of::<libc::signalfd_siginfo>()];
        let ids = own_ids();
        setting.repeat(|| {
            send_to_thread(ids);
            read(file, &mut information);
        })
    }),
    Operation::new("signal/sigchld", &[("reaped", "by-wait")], |setting| {
        setting.repeat(|| {
            wait(fork_alone(|| 0));
        })
    }),
    Operation::new("signal/sigqueue-process", &[("place", "spread")], |setting| {
        let signal = libc::SIGRTMIN();
        block(signal);
        let awaited = set_of(&[signal]);
        // SAFETY: the call takes no arguments.
        let own = unsafe { libc::getpid() };
        let other_cpu = setting.cpu_of_worker(1);
        let child = fork(|| {
            pin(&[other_cpu]);
            loop {
                let number = take(&awaited);
                send(own, signal, number + 1);
            }
        });
        let mut number = 0;
        let timed = setting.repeat(|| {
            send(child, signal, number);
            assert_eq!(take(&awaited), number + 1, "the next value");
            number += 2;
        });
        end(child);
        timed
    }),
];

/// Ids of the process and of the calling thread.
fn own_ids() -> [libc::pid_t; 2] {
    // SAFETY: the calls take no arguments.
    unsafe { [libc::getpid(), libc::gettid()] }
}

/// Sends SIGUSR1, which has a handler or is blocked, to this thread.
fn send_to_thread([process, thread]: [libc::pid_t; 2]) {
    // SAFETY: takes numbers only.
    must("tgkill", unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) });
}

extern "C" fn count(_signal: i32) {
    COUNT.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn count_too(_signal: i32) {
    COUNT.fetch_add(2, Ordering::Relaxed);
}

extern "C" fn answer(_signal: i32) {
    // SAFETY: takes numbers only.
    unsafe { libc::kill(PARENT.load(Ordering::Relaxed), libc::SIGUSR1) };
}

fn action(handler: extern "C" fn(i32)) -> libc::sigaction {
    // SAFETY: an action of zeros is valid: no flags, nothing blocked.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = handler as libc::sighandler_t;
    action
}

fn install(signal: i32, handler: extern "C" fn(i32)) {
    // SAFETY: the handlers of this file may interrupt anything.
    must("sigaction", unsafe { libc::sigaction(signal, &action(handler), null_mut()) });
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: the set is made empty before signals are added.
    unsafe {
        let mut set = zeroed();
        libc::sigemptyset(&mut set);
        for &signal in signals {
            must("sigaddset", libc::sigaddset(&mut set, signal));
        }
        set
    }
}

fn block(signal: i32) {
    // SAFETY: the set is valid.
    must("sigprocmask", unsafe {
        libc::sigprocmask(libc::SIG_BLOCK, &set_of(&[signal]), null_mut())
    });
}

fn send(process: libc::pid_t, signal: i32, number: usize) {
    let value = libc::sigval { sival_ptr: std::ptr::without_provenance_mut(number) };
    // SAFETY: takes numbers only.
    must("sigqueue", unsafe { libc::sigqueue(process, signal, value) });
}

fn take(awaited: &libc::sigset_t) -> usize {
    // SAFETY: the set is valid and the information valid for writes.
    unsafe {
        let mut information: libc::siginfo_t = zeroed();
        must("sigwaitinfo", libc::sigwaitinfo(awaited, &mut information));
        information.si_value().sival_ptr.addr()
    }
}
