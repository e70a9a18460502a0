use measure::{CaseError, Params, Round};

use super::{PROCESSES_TOO, lock};
use crate::{Case, Only, only};

/// An unnamed semaphore for threads.
pub const PRIVATE: Case = Case {
    operation: "One sem_wait and one sem_post on an unnamed semaphore with the initial value 1, \
                which only threads of this process may use.",
    comparable_to: "will-it-scale's `posix_semaphore1` does the same with one semaphore per \
                worker, which is workers=1 here; stress-ng's `--sem` also uses sem_trywait and \
                sem_timedwait.",
    only: Only::Linux("measured on Linux only; macOS has no unnamed semaphores"),
    run: |params, round| run(params, round, SemaphoreKind::Private),
    ..lock("posix-sem-private")
};

/// An unnamed semaphore in shared memory.
pub const SHARED: Case = Case {
    name: "posix-sem-shared",
    operation: "One sem_wait and one sem_post on an unnamed semaphore with the initial value 1 in \
                memory shared by processes.",
    comparable_to: "The difference to lock/posix-sem-private is the cost of waiting and waking \
                across processes; with one worker there is none.",
    params: PROCESSES_TOO,
    run: |params, round| run(params, round, SemaphoreKind::Shared),
    ..PRIVATE
};

/// A named semaphore.
pub const NAMED: Case = Case {
    name: "posix-sem-named",
    operation: "One sem_wait and one sem_post on a semaphore with the initial value 1, created by \
                sem_open.",
    comparable_to: "On Linux, an open named semaphore is expected to cost as much as \
                lock/posix-sem-shared.",
    only: Only::Unix("Windows has no POSIX semaphores"),
    params: PROCESSES_TOO,
    run: |params, round| run(params, round, SemaphoreKind::Named),
    ..PRIVATE
};

#[derive(Clone, Copy, PartialEq)]
enum SemaphoreKind {
    Private,
    Shared,
    Named,
}

#[only(unix)]
fn run(params: &Params, round: &mut Round, kind: SemaphoreKind) -> Result<(), CaseError> {
    use std::ffi::CString;
    use std::io;

    use super::{Lock, expect_no_calls_alone, measure};

    struct Semaphore(*mut libc::sem_t);

    // SAFETY: several threads may use a semaphore at the same time.
    unsafe impl Sync for Semaphore {}

    impl Lock for Semaphore {
        type Hold = ();

        fn join(&self) -> Result<(), CaseError> {
            Ok(())
        }

        #[inline(always)]
        fn acquire(&self, (): &mut ()) {
            // SAFETY: the semaphore is initialised and never destroyed.
            let done = unsafe { libc::sem_wait(self.0) };
            assert!(done == 0, "sem_wait: {}", io::Error::last_os_error());
        }

        #[inline(always)]
        fn release(&self, (): &mut ()) {
            // SAFETY: the semaphore is initialised and never destroyed.
            let done = unsafe { libc::sem_post(self.0) };
            assert!(done == 0, "sem_post: {}", io::Error::last_os_error());
        }
    }

    /// Creates a named semaphore and unlinks its name at once; forked workers inherit the semaphore.
    fn named() -> Result<*mut libc::sem_t, CaseError> {
        let recorded = platform::cleanup::Recorded::semaphore()?;
        let name = CString::new(recorded.name()).expect("the name has no NUL in it");
        let (new, mode, value) = (libc::O_CREAT | libc::O_EXCL, 0o600, 1);
        // SAFETY: the name ends with NUL; O_CREAT requires the mode and the value.
        let semaphore = unsafe { libc::sem_open(name.as_ptr(), new, mode, value) };
        if semaphore == libc::SEM_FAILED {
            return Err(CaseError::last_os_error("sem_open"));
        }
        // SAFETY: the name ends with NUL.
        unsafe { libc::sem_unlink(name.as_ptr()) };
        Ok(semaphore)
    }

    let semaphore = match kind {
        SemaphoreKind::Named => named(),
        SemaphoreKind::Private | SemaphoreKind::Shared => unnamed(kind == SemaphoreKind::Shared),
    }?;
    expect_no_calls_alone(params, round)?;
    measure(params, round, &Semaphore(semaphore))
}

/// A semaphore in memory of this process, shared with its children or not.
#[cfg(unix)]
#[only(linux)]
fn unnamed(shared: bool) -> Result<*mut libc::sem_t, CaseError> {
    let semaphore = super::InPlace::<libc::sem_t>::new()?.get();
    // SAFETY: the memory is new and lives as long as the process.
    match unsafe { libc::sem_init(semaphore, shared.into(), 1) } {
        0 => Ok(semaphore),
        _ => Err(CaseError::last_os_error("sem_init")),
    }
}
