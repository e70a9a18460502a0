use measure::{CaseError, Params, Round};
use platform::on_unix;

use super::{METRICS, THREADS, THREADS_OR_PROCESSES};
use crate::{Case, Only};

const LINUX: Only = Only::Linux("measured on Linux only");

/// What `PTHREAD_MUTEX_INITIALIZER` gives.
pub const NORMAL: Case = Case {
    area: "lock",
    name: "pthread-mutex",
    operation: "One pthread_mutex_lock and pthread_mutex_unlock of a normal mutex.",
    comparable_to: "will-it-scale's pthread_mutex1 does the same with one mutex for all workers, its \
            pthread_mutex2 with one to each.",
    only: Only::Unix("Windows has no pthread mutexes"),
    core_bound: true,
    trials: None,
    params: THREADS,
    metrics: METRICS,
    run: |params, round| run(params, round, Kind::Normal),
};

/// One that refuses a second lock by its holder.
pub const ERRORCHECK: Case = Case {
    name: "pthread-mutex-errorcheck",
    operation: "As lock/pthread-mutex, of a mutex that notices misuse (PTHREAD_MUTEX_ERRORCHECK).",
    comparable_to: "The difference to lock/pthread-mutex is the price of knowing the holder.",
    run: |params, round| run(params, round, Kind::ErrorCheck),
    ..NORMAL
};

/// One that its holder may lock again.
pub const RECURSIVE: Case = Case {
    name: "pthread-mutex-recursive",
    operation: "As lock/pthread-mutex, of a mutex that its holder may lock again \
                (PTHREAD_MUTEX_RECURSIVE), which here it does not.",
    comparable_to: "The difference to lock/pthread-mutex is the price of knowing the holder and how often it \
            holds.",
    run: |params, round| run(params, round, Kind::Recursive),
    ..NORMAL
};

/// One for which a waiter spins before it sleeps.
pub const ADAPTIVE: Case = Case {
    name: "pthread-mutex-adaptive",
    operation: "As lock/pthread-mutex, of a mutex for which a waiter spins a little before it sleeps \
                (PTHREAD_MUTEX_ADAPTIVE_NP).",
    comparable_to: "The difference to lock/pthread-mutex among several workers is what spinning saves or \
            wastes.",
    only: LINUX,
    run: |params, round| run(params, round, Kind::Adaptive),
    ..NORMAL
};

/// One whose holder may die.
pub const ROBUST: Case = Case {
    name: "pthread-mutex-robust",
    operation: "As lock/pthread-mutex, of a mutex that the next one gets when its holder has died \
                (PTHREAD_MUTEX_ROBUST).",
    comparable_to: "The difference to lock/pthread-mutex is the price of the list of held mutexes that the \
            kernel reads when a thread dies; compare lock/sysv-sem, where the kernel keeps it.",
    only: LINUX,
    params: THREADS_OR_PROCESSES,
    run: |params, round| run(params, round, Kind::Robust),
    ..NORMAL
};

/// One that lends its holder the priority of who waits.
pub const PI: Case = Case {
    name: "pthread-mutex-pi",
    operation: "As lock/pthread-mutex, of a mutex that lends its holder the priority of those who wait \
                (PTHREAD_PRIO_INHERIT).",
    comparable_to: "`perf bench futex lock-pi` enters the kernel for every lock and unlock; this mutex only \
            where somebody waits.",
    only: LINUX,
    params: THREADS_OR_PROCESSES,
    run: |params, round| run(params, round, Kind::PriorityInheriting),
    ..NORMAL
};

/// One that processes may share.
pub const PSHARED: Case = Case {
    name: "pthread-mutex-pshared",
    operation: "As lock/pthread-mutex, of a mutex that processes may share (PTHREAD_PROCESS_SHARED).",
    comparable_to: "The difference to lock/pthread-mutex is the price of waiting and waking across processes; \
            alone there is none.",
    params: THREADS_OR_PROCESSES,
    run: |params, round| run(params, round, Kind::ProcessShared),
    ..NORMAL
};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Normal,
    ErrorCheck,
    Recursive,
    Adaptive,
    Robust,
    PriorityInheriting,
    ProcessShared,
}

fn run(params: &Params, round: &mut Round, kind: Kind) -> Result<(), CaseError> {
    on_unix!(params, round, kind, {
        use std::io;

        use platform::on_linux;

        use super::{InPlace, Lock, expect_no_calls_alone, measure, of_processes};

        struct Mutex(InPlace<libc::pthread_mutex_t>);

        impl Lock for Mutex {
            type Hold = ();

            fn join(&self) -> Result<(), CaseError> {
                Ok(())
            }

            #[inline(always)]
            fn acquire(&self, (): &mut ()) {
                // SAFETY: the mutex was made before, and is never unmade.
                let error = unsafe { libc::pthread_mutex_lock(self.0.get()) };
                assert!(error == 0, "{}", message("pthread_mutex_lock", error));
            }

            #[inline(always)]
            fn release(&self, (): &mut ()) {
                // SAFETY: as above.
                let error = unsafe { libc::pthread_mutex_unlock(self.0.get()) };
                assert!(error == 0, "{}", message("pthread_mutex_unlock", error));
            }
        }

        fn message(call: &str, error: libc::c_int) -> String {
            format!("{call}: {}", io::Error::from_raw_os_error(error))
        }

        fn succeed(call: &str, error: libc::c_int) -> Result<(), CaseError> {
            match error {
                0 => Ok(()),
                _ => Err(CaseError::from_io(call, &io::Error::from_raw_os_error(error))),
            }
        }

        fn of_kind(kind: Kind, shared: bool) -> Result<Mutex, CaseError> {
            let mutex = InPlace::<libc::pthread_mutex_t>::new()?;
            let attributes = InPlace::<libc::pthread_mutexattr_t>::new()?.get();
            // SAFETY: both places are fresh, and ours as long as the process lives; the attributes
            // are initialised before they are changed and used.
            unsafe {
                succeed("pthread_mutexattr_init", libc::pthread_mutexattr_init(attributes))?;
                let set_type = |kind| {
                    succeed(
                        "pthread_mutexattr_settype",
                        libc::pthread_mutexattr_settype(attributes, kind),
                    )
                };
                match kind {
                    Kind::Normal | Kind::ProcessShared => set_type(libc::PTHREAD_MUTEX_NORMAL)?,
                    Kind::ErrorCheck => set_type(libc::PTHREAD_MUTEX_ERRORCHECK)?,
                    Kind::Recursive => set_type(libc::PTHREAD_MUTEX_RECURSIVE)?,
                    Kind::Adaptive => on_linux!({ set_type(libc::PTHREAD_MUTEX_ADAPTIVE_NP) })?,
                    Kind::Robust => on_linux!({
                        let robust = libc::PTHREAD_MUTEX_ROBUST;
                        let error = libc::pthread_mutexattr_setrobust(attributes, robust);
                        succeed("pthread_mutexattr_setrobust", error)
                    })?,
                    Kind::PriorityInheriting => on_linux!({
                        let inherit = libc::PTHREAD_PRIO_INHERIT;
                        let error = libc::pthread_mutexattr_setprotocol(attributes, inherit);
                        succeed("pthread_mutexattr_setprotocol", error)
                    })?,
                }
                if shared {
                    let shared = libc::PTHREAD_PROCESS_SHARED;
                    let error = libc::pthread_mutexattr_setpshared(attributes, shared);
                    succeed("pthread_mutexattr_setpshared", error)?;
                }
                let error = libc::pthread_mutex_init(mutex.get(), attributes);
                succeed("pthread_mutex_init", error)?;
            }
            Ok(Mutex(mutex))
        }

        let shared = kind == Kind::ProcessShared || of_processes(params)?;
        expect_no_calls_alone(params, round)?;
        measure(params, round, &of_kind(kind, shared)?)
    })
}
