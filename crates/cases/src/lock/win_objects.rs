use measure::{CaseError, Params, Round};
use platform::on_windows;

use super::{METRICS, THREADS};
use crate::{Case, Only};

/// A kernel object that knows its holder.
pub const MUTEX: Case = Case {
    area: "lock",
    name: "win-mutex",
    operation: "One WaitForSingleObject and ReleaseMutex of a mutex object without a name.",
    comparable_to: "A kernel object that processes can share, here used by threads of one process: compare \
            lock/critical-section, which enters the kernel only to wait.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: THREADS,
    metrics: METRICS,
    run: |params, round| run(params, round, Kind::Mutex),
};

/// A kernel object that counts.
pub const SEMAPHORE: Case = Case {
    name: "win-semaphore",
    operation: "One WaitForSingleObject and ReleaseSemaphore of a semaphore object of value 1 without a \
                name.",
    comparable_to: "The difference to lock/win-mutex is the price of knowing the holder.",
    run: |params, round| run(params, round, Kind::Semaphore),
    ..MUTEX
};

/// A kernel object that one waiter passes.
pub const EVENT: Case = Case {
    name: "win-event",
    operation: "One WaitForSingleObject and SetEvent of an auto-reset event object without a name.",
    comparable_to: "The difference to lock/win-semaphore is the price of counting.",
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

        /// An object to wait for, and the call that lets the next one pass.
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
                assert!(waited == WAIT_OBJECT_0, "waiting gave {waited:#x}");
            }

            #[inline(always)]
            fn release(&self, (): &mut ()) {
                let done = (self.release)(self.handle.as_raw_handle());
                assert!(done != 0, "releasing: {}", io::Error::last_os_error());
            }
        }

        fn owned(handle: HANDLE) -> Result<OwnedHandle, CaseError> {
            if handle.is_null() {
                return Err(CaseError::last_os_error("creating a kernel object"));
            }
            // SAFETY: it is new, so nobody else's.
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
                // SAFETY: the handle is open; the value before is not asked for.
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
