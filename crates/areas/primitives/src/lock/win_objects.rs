use measure::{CaseError, Params, Round};

use super::lock;
use crate::{Case, only};

/// A kernel object that records its owner.
pub const MUTEX: Case = Case {
    operation: "One WaitForSingleObject and ReleaseMutex of an unnamed mutex object.",
    comparable_to: "A kernel object that processes can share, used here by threads of one process. \
                lock/critical-section enters the kernel only to wait.",
    run: |params, round| run(params, round, ObjectKind::Mutex),
    ..lock("win-mutex").on_windows()
};

/// A kernel object with a counter.
pub const SEMAPHORE: Case = Case {
    name: "win-semaphore",
    operation: "One WaitForSingleObject and ReleaseSemaphore of an unnamed semaphore object with \
                the initial value 1.",
    comparable_to: "The difference to lock/win-mutex is the cost of recording the owner. The \
                Windows counterpart of lock/posix-sem-shared.",
    run: |params, round| run(params, round, ObjectKind::Semaphore),
    ..MUTEX
};

/// A kernel object that releases one waiter at a time.
pub const EVENT: Case = Case {
    name: "win-event",
    operation: "One WaitForSingleObject and SetEvent of an unnamed auto-reset event object.",
    comparable_to: "The difference to lock/win-semaphore is the cost of the counter.",
    run: |params, round| run(params, round, ObjectKind::Event),
    ..MUTEX
};

enum ObjectKind {
    Mutex,
    Semaphore,
    Event,
}

#[only(windows)]
fn run(params: &Params, round: &mut Round, kind: ObjectKind) -> Result<(), CaseError> {
    use std::io;
    use std::os::windows::io::AsRawHandle;
    use std::ptr::{null, null_mut};

    use windows_sys::Win32::Foundation::WAIT_OBJECT_0;
    use windows_sys::Win32::System::Threading::{
        CreateEventW, CreateMutexW, CreateSemaphoreW, INFINITE, ReleaseMutex, ReleaseSemaphore,
        SetEvent, WaitForSingleObject,
    };

    use super::measure;

    let (yes, no) = (1, 0);
    // SAFETY: no attributes and no name are given; the handle is new.
    let object = unsafe {
        let handle = match kind {
            ObjectKind::Mutex => CreateMutexW(null(), no, null()),
            ObjectKind::Semaphore => CreateSemaphoreW(null(), 1, 1, null()),
            ObjectKind::Event => CreateEventW(null(), no, yes, null()),
        };
        platform::owned::handle(handle, "creating a kernel object")
    }?;
    let acquire = || {
        // SAFETY: the handle is open.
        let waited = unsafe { WaitForSingleObject(object.as_raw_handle(), INFINITE) };
        assert!(waited == WAIT_OBJECT_0, "WaitForSingleObject returned {waited:#x}");
    };
    let released =
        |done: i32| assert!(done != 0, "releasing the object: {}", io::Error::last_os_error());
    // SAFETY: the handle is open; this worker holds the mutex.
    let release_mutex = || released(unsafe { ReleaseMutex(object.as_raw_handle()) });
    let release_semaphore = || {
        // SAFETY: the handle is open; the previous value is not requested.
        released(unsafe { ReleaseSemaphore(object.as_raw_handle(), 1, null_mut()) });
    };
    // SAFETY: the handle is open.
    let set_event = || released(unsafe { SetEvent(object.as_raw_handle()) });
    match kind {
        ObjectKind::Mutex => measure(params, round, &(acquire, release_mutex)),
        ObjectKind::Semaphore => measure(params, round, &(acquire, release_semaphore)),
        ObjectKind::Event => measure(params, round, &(acquire, set_event)),
    }
}
