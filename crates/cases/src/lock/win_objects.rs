use measure::{CaseError, Params, Round};
use platform::on_windows;

use super::{METRICS, THREADS};
use crate::{Case, Only};

/// A kernel object that records its owner.
pub const MUTEX: Case = Case {
    area: "lock",
    name: "win-mutex",
    operation: "One WaitForSingleObject and ReleaseMutex of an unnamed mutex object.",
    comparable_to: "A kernel object that processes can share, used here by threads of one process. \
                lock/critical-section enters the kernel only to wait.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: THREADS,
    metrics: METRICS,
    run: |params, round| run(params, round, Kind::Mutex),
};

/// A kernel object with a counter.
pub const SEMAPHORE: Case = Case {
    name: "win-semaphore",
    operation: "One WaitForSingleObject and ReleaseSemaphore of an unnamed semaphore object with \
                the initial value 1.",
    comparable_to: "The difference to lock/win-mutex is the cost of recording the owner. The \
                Windows counterpart of lock/posix-sem-shared.",
    run: |params, round| run(params, round, Kind::Semaphore),
    ..MUTEX
};

/// A kernel object that releases one waiter at a time.
pub const EVENT: Case = Case {
    name: "win-event",
    operation: "One WaitForSingleObject and SetEvent of an unnamed auto-reset event object.",
    comparable_to: "The difference to lock/win-semaphore is the cost of the counter.",
    run: |params, round| run(params, round, Kind::Event),
    ..MUTEX
};

enum Kind {
    Mutex,
    Semaphore,
    Event,
}

fn run(params: &Params, round: &mut Round, kind: Kind) -> Result<(), CaseError> {
    on_windows!(params, round, kind, {
        use std::io;
        use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
        use std::ptr::{null, null_mut};

        use windows_sys::Win32::Foundation::{HANDLE, WAIT_OBJECT_0};
        use windows_sys::Win32::System::Threading::{
            CreateEventW, CreateMutexW, CreateSemaphoreW, INFINITE, ReleaseMutex, ReleaseSemaphore,
            SetEvent, WaitForSingleObject,
        };

        use super::{Lock, measure};

        /// A kernel object, and the call that releases it.
        struct Object<R> {
            handle: OwnedHandle,
            release: R,
        }

        impl<R: Fn(HANDLE) -> i32 + Sync> Lock for Object<R> {
            type Hold = ();

            fn join(&self) -> Result<(), CaseError> {
                Ok(())
            }

            #[inline(always)]
            fn acquire(&self, (): &mut ()) {
                // SAFETY: the handle is open.
                let waited = unsafe { WaitForSingleObject(self.handle.as_raw_handle(), INFINITE) };
                assert!(waited == WAIT_OBJECT_0, "WaitForSingleObject returned {waited:#x}");
            }

            #[inline(always)]
            fn release(&self, (): &mut ()) {
                let done = (self.release)(self.handle.as_raw_handle());
                assert!(done != 0, "releasing the object: {}", io::Error::last_os_error());
            }
        }

        fn owned(handle: HANDLE) -> Result<OwnedHandle, CaseError> {
            if handle.is_null() {
                return Err(CaseError::last_os_error("creating a kernel object"));
            }
            // SAFETY: the handle is new and has no other owner.
            Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
        }

        let (yes, no) = (1, 0);
        match kind {
            Kind::Mutex => {
                // SAFETY: no attributes and no name are given.
                let handle = owned(unsafe { CreateMutexW(null(), no, null()) })?;
                // SAFETY: the handle is open; this worker holds the mutex.
                let release = |mutex| unsafe { ReleaseMutex(mutex) };
                measure(params, round, &Object { handle, release })
            }
            Kind::Semaphore => {
                // SAFETY: no attributes and no name are given.
                let handle = owned(unsafe { CreateSemaphoreW(null(), 1, 1, null()) })?;
                // SAFETY: the handle is open; the previous value is not requested.
                let release = |semaphore| unsafe { ReleaseSemaphore(semaphore, 1, null_mut()) };
                measure(params, round, &Object { handle, release })
            }
            Kind::Event => {
                // SAFETY: no attributes and no name are given.
                let handle = owned(unsafe { CreateEventW(null(), no, yes, null()) })?;
                // SAFETY: the handle is open.
                let release = |event| unsafe { SetEvent(event) };
                measure(params, round, &Object { handle, release })
            }
        }
    })
}
