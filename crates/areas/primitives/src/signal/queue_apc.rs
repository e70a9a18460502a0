use crate::{Case, only};

/// Queuing a procedure call to the calling thread, similar to a signal.
pub const CASE: Case = Case {
    operation: "One QueueUserAPC to the calling thread, and one alertable SleepEx of 0 ms, in which the procedure \
                runs.",
    comparable_to: "The counterpart of signal/raise; an asynchronous procedure call waits for an alertable wait.",
    core_bound: true,
    run,
    ..Case::new("signal", "queue-apc").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::sync::atomic::{AtomicU64, Ordering};

    use windows_sys::Win32::Foundation::WAIT_IO_COMPLETION;
    use windows_sys::Win32::System::Threading::{GetCurrentThread, QueueUserAPC, SleepEx};

    unsafe extern "system" fn count(counter: usize) {
        // SAFETY: the parameter is the address of the counter below, which outlives the call.
        unsafe { (*(counter as *const AtomicU64)).fetch_add(1, Ordering::Relaxed) };
    }

    let handled = AtomicU64::new(0);
    let handled_so_far = || handled.load(Ordering::Relaxed);
    super::time_handled(round, "QueueUserAPC", 1, handled_so_far, || {
        // SAFETY: the pseudo handle is that of the calling thread, which runs the procedure in SleepEx at the latest.
        unsafe {
            QueueUserAPC(Some(count), GetCurrentThread(), &raw const handled as usize) != 0
                && SleepEx(0, 1) == WAIT_IO_COMPLETION
        }
    })
}
