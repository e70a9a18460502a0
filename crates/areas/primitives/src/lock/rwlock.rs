use measure::{CaseError, Params, Round};

use super::{THREADS_OR_PROCESSES, lock};
use crate::{Case, Only, only};

/// Read locks, which several workers can hold at once.
pub const READ: Case = Case {
    operation: "One pthread_rwlock_rdlock and pthread_rwlock_unlock; readers do not exclude each \
                other.",
    comparable_to: "lmbench, libMicro, will-it-scale and sysbench have no test of read-write \
                locks. All readers modify one word of the lock: the additional time with more \
                workers is the cost of moving its cache line between CPUs.",
    only: Only::Unix("Windows has no pthread read-write locks; see lock/srwlock"),
    params: THREADS_OR_PROCESSES,
    run: run::<false>,
    ..lock("rwlock-read")
};

/// Write locks, which one worker holds at a time.
pub const WRITE: Case = Case {
    name: "rwlock-write",
    operation: "One pthread_rwlock_wrlock and pthread_rwlock_unlock.",
    comparable_to: "The difference to lock/pthread-mutex is the cost of supporting readers.",
    run: run::<true>,
    ..READ
};

#[only(unix)]
fn run<const WRITE: bool>(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    use super::{InPlace, Lock, expect_no_calls_alone, measure, message, of_processes, succeed};

    struct ReadWriteLock<const WRITE: bool>(InPlace<libc::pthread_rwlock_t>);

    impl<const WRITE: bool> Lock for ReadWriteLock<WRITE> {
        type Hold = ();

        const IS_SHARED: bool = !WRITE;

        fn join(&self) -> Result<(), CaseError> {
            Ok(())
        }

        #[inline(always)]
        fn acquire(&self, hold: &mut ()) {
            if WRITE {
                return self.acquire_alone(hold);
            }
            // SAFETY: the lock is initialised and never destroyed.
            let error = unsafe { libc::pthread_rwlock_rdlock(self.0.get()) };
            assert!(error == 0, "{}", message("pthread_rwlock_rdlock", error));
        }

        #[inline(always)]
        fn release(&self, (): &mut ()) {
            // SAFETY: the lock is initialised and never destroyed.
            let error = unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
            assert!(error == 0, "{}", message("pthread_rwlock_unlock", error));
        }

        #[inline(always)]
        fn acquire_alone(&self, (): &mut ()) {
            // SAFETY: the lock is initialised and never destroyed.
            let error = unsafe { libc::pthread_rwlock_wrlock(self.0.get()) };
            assert!(error == 0, "{}", message("pthread_rwlock_wrlock", error));
        }
    }

    let lock = InPlace::<libc::pthread_rwlock_t>::new()?;
    let attributes = InPlace::<libc::pthread_rwlockattr_t>::new()?.get();
    // SAFETY: the memory of both is new and lives as long as the process; the attributes are
    // initialised before they are changed and used.
    let error = unsafe {
        let mut error = libc::pthread_rwlockattr_init(attributes);
        if error == 0 && of_processes(params)? {
            let shared = libc::PTHREAD_PROCESS_SHARED;
            error = libc::pthread_rwlockattr_setpshared(attributes, shared);
        }
        if error == 0 { libc::pthread_rwlock_init(lock.get(), attributes) } else { error }
    };
    succeed("pthread_rwlock_init", error)?;
    expect_no_calls_alone(params, round)?;
    measure(params, round, &ReadWriteLock::<WRITE>(lock))
}
