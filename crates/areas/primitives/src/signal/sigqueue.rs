use crate::{Case, Only, only};

/// Sending a signal with a value to the own process, which takes it without a handler.
pub const CASE: Case = Case {
    operation: "One sigqueue of a real-time signal with a value to the process itself, which blocks it, and one \
                sigwaitinfo that takes it; the value is compared.",
    comparable_to: "stress-ng's `sigq` sends to another process, which is signal/sigqueue-process. The C library \
                    asks for its own pid and uid in each sigqueue, which is two more system calls.",
    only: Only::Linux("measured on Linux only; macOS has no queued signals"),
    core_bound: true,
    run,
    ..Case::new("signal", "sigqueue")
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::cell::Cell;

    use platform::process::signal::{Blocked, set_of};

    let signal = libc::SIGRTMIN();
    let _blocked = Blocked::new(&[signal]);
    let set = set_of(&[signal]);
    // SAFETY: takes nothing and cannot fail.
    let own = unsafe { libc::getpid() };
    let (mut value, taken) = (0usize, Cell::new(0));
    if cfg!(target_env = "gnu") {
        // The calls are rt_sigqueueinfo, getpid, getuid and rt_sigtimedwait.
        round.expect_syscalls(4.0);
    }
    let handled_so_far = || taken.get();
    super::time_handled(round, "sigqueue", 1, handled_so_far, || {
        value = value.wrapping_add(1);
        let sent = libc::sigval { sival_ptr: value as *mut libc::c_void };
        // SAFETY: the process blocks the signal; the set is valid, and an all-zero siginfo_t is a valid buffer for the
        // signal, which has a value.
        let is_sent = unsafe {
            if libc::sigqueue(own, signal, sent) != 0 {
                return false;
            }
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::sigwaitinfo(&set, &mut info) == signal
                && info.si_value().sival_ptr == sent.sival_ptr
        };
        taken.set(taken.get() + u64::from(is_sent));
        is_sent
    })
}
