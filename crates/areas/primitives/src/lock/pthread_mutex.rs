use measure::{CaseError, Params, Round};

use super::{THREADS_OR_PROCESSES, lock};
use crate::{Case, Only, only};

/// The default mutex.
pub const NORMAL: Case = Case {
    operation: "One pthread_mutex_lock and pthread_mutex_unlock of a mutex of type \
                PTHREAD_MUTEX_NORMAL.",
    comparable_to: "will-it-scale's `pthread_mutex1` does the same with one mutex for all workers, \
                its `pthread_mutex2` with one mutex per worker. libMicro's `mutex` is the \
                uncontended case; sysbench's `mutex` also counts its loop of work.",
    only: Only::Unix("Windows has no pthread mutexes"),
    run: |params, round| run(params, round, MutexKind::Normal),
    ..lock("pthread-mutex")
};

/// A mutex that returns an error when its owner locks it again.
pub const ERRORCHECK: Case = Case {
    name: "pthread-mutex-errorcheck",
    operation: "As lock/pthread-mutex, with a mutex that detects relocking and unlocking by \
                another thread (PTHREAD_MUTEX_ERRORCHECK).",
    comparable_to: "The difference to lock/pthread-mutex is the cost of recording the owner.",
    run: |params, round| run(params, round, MutexKind::ErrorCheck),
    ..NORMAL
};

/// A mutex that its owner may lock again.
pub const RECURSIVE: Case = Case {
    name: "pthread-mutex-recursive",
    operation: "As lock/pthread-mutex, with a recursive mutex (PTHREAD_MUTEX_RECURSIVE) that its \
                owner locks only once.",
    comparable_to: "The difference to lock/pthread-mutex is the cost of recording the owner and \
                the lock count.",
    run: |params, round| run(params, round, MutexKind::Recursive),
    ..NORMAL
};

/// A mutex whose waiters spin before they sleep.
pub const ADAPTIVE: Case = Case {
    name: "pthread-mutex-adaptive",
    operation: "As lock/pthread-mutex, with a mutex whose waiters spin briefly before they sleep \
                (PTHREAD_MUTEX_ADAPTIVE_NP).",
    comparable_to: "With several workers, the difference to lock/pthread-mutex is the effect of \
                spinning.",
    run: |params, round| run(params, round, MutexKind::Adaptive),
    ..NORMAL.on_linux()
};

/// A mutex that survives the death of its owner.
pub const ROBUST: Case = Case {
    name: "pthread-mutex-robust",
    operation: "As lock/pthread-mutex, with a robust mutex (PTHREAD_MUTEX_ROBUST): if its owner \
                dies, the next locker acquires it with EOWNERDEAD.",
    comparable_to: "The difference to lock/pthread-mutex is the cost of the per-thread list of \
                held mutexes, which the kernel reads when a thread dies. For lock/sysv-sem the \
                kernel maintains such a list itself.",
    params: THREADS_OR_PROCESSES,
    run: |params, round| run(params, round, MutexKind::Robust),
    ..NORMAL.on_linux()
};

/// A mutex with priority inheritance.
pub const PI: Case = Case {
    name: "pthread-mutex-pi",
    operation: "As lock/pthread-mutex, with a mutex whose owner inherits the priority of its \
                waiters (PTHREAD_PRIO_INHERIT).",
    comparable_to: "`perf bench futex lock-pi` enters the kernel for every lock and unlock; this \
                mutex does so only when a worker waits.",
    params: THREADS_OR_PROCESSES,
    run: |params, round| run(params, round, MutexKind::PriorityInheriting),
    ..NORMAL.on_linux()
};

/// A mutex that processes can share.
pub const PSHARED: Case = Case {
    name: "pthread-mutex-pshared",
    operation: "As lock/pthread-mutex, with a mutex that processes can share \
                (PTHREAD_PROCESS_SHARED).",
    comparable_to: "The difference to lock/pthread-mutex is the cost of waiting and waking across \
                processes; with one worker there is none. libMicro's `mutex -p` is the uncontended \
                case.",
    params: THREADS_OR_PROCESSES,
    run: |params, round| run(params, round, MutexKind::ProcessShared),
    ..NORMAL
};

#[derive(Clone, Copy, PartialEq)]
enum MutexKind {
    Normal,
    ErrorCheck,
    Recursive,
    Adaptive,
    Robust,
    PriorityInheriting,
    ProcessShared,
}

#[only(unix)]
fn run(params: &Params, round: &mut Round, kind: MutexKind) -> Result<(), CaseError> {
    use super::{InPlace, expect_no_calls_alone, measure, message, of_processes, succeed};

    let shared = kind == MutexKind::ProcessShared || of_processes(params)?;
    let mutex = InPlace::<libc::pthread_mutex_t>::new()?;
    let attributes = InPlace::<libc::pthread_mutexattr_t>::new()?.get();
    // SAFETY: the memory of both is new and lives as long as the process; the attributes
    // are initialised before they are changed and used.
    unsafe {
        succeed("pthread_mutexattr_init", libc::pthread_mutexattr_init(attributes))?;
        match kind {
            MutexKind::Normal | MutexKind::ProcessShared => {
                set_type(attributes, libc::PTHREAD_MUTEX_NORMAL)?;
            }
            MutexKind::ErrorCheck => set_type(attributes, libc::PTHREAD_MUTEX_ERRORCHECK)?,
            MutexKind::Recursive => set_type(attributes, libc::PTHREAD_MUTEX_RECURSIVE)?,
            MutexKind::Adaptive | MutexKind::Robust | MutexKind::PriorityInheriting => {
                set_linux_kind(attributes, kind)?;
            }
        }
        if shared {
            let shared = libc::PTHREAD_PROCESS_SHARED;
            let error = libc::pthread_mutexattr_setpshared(attributes, shared);
            succeed("pthread_mutexattr_setpshared", error)?;
        }
        succeed("pthread_mutex_init", libc::pthread_mutex_init(mutex.get(), attributes))?;
    }
    let lock = move || {
        // SAFETY: the mutex is initialised and never destroyed.
        let error = unsafe { libc::pthread_mutex_lock(mutex.get()) };
        assert!(error == 0, "{}", message("pthread_mutex_lock", error));
    };
    let unlock = move || {
        // SAFETY: the mutex is initialised and never destroyed.
        let error = unsafe { libc::pthread_mutex_unlock(mutex.get()) };
        assert!(error == 0, "{}", message("pthread_mutex_unlock", error));
    };
    expect_no_calls_alone(params, round)?;
    measure(params, round, &(lock, unlock))
}

/// # Safety
/// The attributes are initialised.
#[cfg(unix)]
unsafe fn set_type(
    attributes: *mut libc::pthread_mutexattr_t,
    kind: libc::c_int,
) -> Result<(), CaseError> {
    // SAFETY: the caller's.
    let error = unsafe { libc::pthread_mutexattr_settype(attributes, kind) };
    super::succeed("pthread_mutexattr_settype", error)
}

/// Sets an attribute that only Linux has here.
///
/// # Safety
/// The attributes are initialised.
#[cfg(unix)]
#[only(linux)]
unsafe fn set_linux_kind(
    attributes: *mut libc::pthread_mutexattr_t,
    kind: MutexKind,
) -> Result<(), CaseError> {
    use super::succeed;

    // SAFETY: the caller's.
    unsafe {
        match kind {
            MutexKind::Robust => {
                let error =
                    libc::pthread_mutexattr_setrobust(attributes, libc::PTHREAD_MUTEX_ROBUST);
                succeed("pthread_mutexattr_setrobust", error)
            }
            MutexKind::PriorityInheriting => {
                let inherit = libc::PTHREAD_PRIO_INHERIT;
                let error = libc::pthread_mutexattr_setprotocol(attributes, inherit);
                succeed("pthread_mutexattr_setprotocol", error)
            }
            _ => set_type(attributes, libc::PTHREAD_MUTEX_ADAPTIVE_NP),
        }
    }
}
