use super::THREADS;
use crate::{Case, Only, only};

/// Creating and joining a thread with CreateThread.
pub const CASE: Case = Case {
    operation: "One CreateThread of a thread that returns a number at once, one \
                WaitForSingleObject for its end, one GetExitCodeThread that gets the number, and \
                one CloseHandle; the creator stays on one CPU, the thread may run on any.",
    comparable_to: "The counterpart of thread/pthread-create. osbench's create_threads uses \
            _beginthreadex, which adds the C library's data of a thread, and creates 100 threads \
            before it waits for the first.",
    only: Only::Windows("exists only on Windows; see thread/pthread-create"),
    params: &[THREADS],
    run,
    ..Case::new("thread", "create-thread")
};

#[only(windows)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::ffi::c_void;
    use std::ptr::{null, null_mut, without_provenance};

    use windows_sys::Win32::Foundation::{CloseHandle, WAIT_OBJECT_0};
    use windows_sys::Win32::System::Threading::{
        CreateThread, GetExitCodeThread, INFINITE, WaitForSingleObject,
    };

    /// Mask of exit codes, which have 32 bits; one code means a thread that still runs.
    const MASK: usize = 0xffff;

    unsafe extern "system" fn next(number: *mut c_void) -> u32 {
        number.addr() as u32 + 1
    }

    let _others = super::SleepingThreads::beside_this(params)?;
    let mut number = 0;
    round.time_call("CreateThread", || {
        number = (number + 1) & MASK;
        let mut code = 0;
        // SAFETY: the thread gets and returns a number; its handle is open and closed once.
        unsafe {
            let number = without_provenance(number);
            let thread = CreateThread(null(), 0, Some(next), number, 0, null_mut());
            if thread.is_null() {
                return false;
            }
            let ended = WaitForSingleObject(thread, INFINITE) == WAIT_OBJECT_0
                && GetExitCodeThread(thread, &mut code) != 0;
            CloseHandle(thread) != 0 && ended && code == number.addr() as u32 + 1
        }
    })
}
