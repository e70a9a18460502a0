use crate::{Case, only};

/// Round trip of a procedure call to another thread and back.
pub const CASE: Case = Case {
    operation: "One round trip: a QueueUserAPC to another thread, which waits in an alertable SleepEx and whose \
                procedure queues one back, for which the first thread waits in SleepEx. Two procedure calls, and a \
                wake-up for each.",
    comparable_to: "The counterpart of signal/kill, with threads: the address of a procedure is that of a process.",
    params: &[super::PLACE],
    run,
    ..Case::new("signal", "apc-thread").on_windows()
};

#[only(windows)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use measure::CaseError;
    use platform::cpu::pin_thread;
    use windows_sys::Win32::System::Threading::{
        GetCurrentThreadId, INFINITE, OpenThread, QueueUserAPC, SleepEx, THREAD_SET_CONTEXT,
    };

    struct Exchange {
        asker: OwnedHandle,
        answered: AtomicU64,
        ended: AtomicBool,
    }

    /// Called in the other thread; queues the answer.
    unsafe extern "system" fn answer(exchange: usize) {
        // SAFETY: the parameter is the address of an exchange that both threads hold.
        unsafe {
            let asker = (*(exchange as *const Exchange)).asker.as_raw_handle();
            QueueUserAPC(Some(receive), asker, exchange);
        }
    }

    /// Called in the first thread; counts the answer.
    unsafe extern "system" fn receive(exchange: usize) {
        // SAFETY: the parameter is the address of an exchange that both threads hold.
        unsafe { (*(exchange as *const Exchange)).answered.fetch_add(1, Ordering::Relaxed) };
    }

    /// Called in the other thread; ends it.
    unsafe extern "system" fn end(exchange: usize) {
        // SAFETY: the parameter is the address of an exchange that both threads hold.
        unsafe { (*(exchange as *const Exchange)).ended.store(true, Ordering::Relaxed) };
    }

    // SAFETY: the calls take numbers only.
    let asker = unsafe { OpenThread(THREAD_SET_CONTEXT, 0, GetCurrentThreadId()) };
    if asker.is_null() {
        return Err(CaseError::last_os_error("OpenThread"));
    }
    // SAFETY: the handle was just opened and has no other owner.
    let asker = unsafe { OwnedHandle::from_raw_handle(asker) };
    let ended = AtomicBool::new(false);
    let exchange = Arc::new(Exchange { asker, answered: AtomicU64::new(0), ended });
    let cpu = super::partner_cpu(params, round)?;
    let partner = std::thread::Builder::new().spawn({
        let exchange = Arc::clone(&exchange);
        move || {
            let _ = pin_thread(cpu);
            while !exchange.ended.load(Ordering::Relaxed) {
                // SAFETY: only procedures with a valid exchange are queued.
                unsafe { SleepEx(INFINITE, 1) };
            }
        }
    });
    let partner = partner.map_err(|e| CaseError::from_io("a thread", &e))?;
    let (thread, parameter) = (partner.as_raw_handle(), Arc::as_ptr(&exchange) as usize);
    let handled_so_far = || exchange.answered.load(Ordering::Relaxed);
    let result = super::time_handled(round, "QueueUserAPC", 1, handled_so_far, || {
        let before = exchange.answered.load(Ordering::Relaxed);
        // SAFETY: this thread holds the exchange, and so does the other one until it has ended.
        unsafe {
            let is_queued = QueueUserAPC(Some(answer), thread, parameter) != 0;
            while is_queued && exchange.answered.load(Ordering::Relaxed) == before {
                SleepEx(INFINITE, 1);
            }
            is_queued
        }
    });
    // SAFETY: this thread holds the exchange, and so does the other one until it has ended.
    if unsafe { QueueUserAPC(Some(end), thread, parameter) } != 0 {
        let _ = partner.join();
    }
    result
}
