use crate::{Case, Only, only};

/// Passing a value between two processes by signals, without handlers.
pub const CASE: Case = Case {
    operation: "One round trip: a sigqueue of a real-time signal with a value to a child process, which waits in \
                sigwaitinfo and answers with a sigqueue of the next value, for which the parent waits in \
                sigwaitinfo. Two signals, and a wake-up for each.",
    comparable_to: "stress-ng's `sigq` sends in one direction only. signal/kill is the same with handlers.",
    only: Only::Linux("measured on Linux only; macOS has no queued signals"),
    params: &[crate::Param { default: &["spread"], ..super::PLACE }],
    run,
    ..Case::new("signal", "sigqueue-process")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::cell::Cell;

    use platform::cpu::pin_thread;
    use platform::process::fork;
    use platform::process::signal::{Blocked, set_of};

    /// Sends `value` to the process. Returns whether that succeeded.
    fn send(process: libc::pid_t, value: usize) -> bool {
        let value = libc::sigval { sival_ptr: value as *mut libc::c_void };
        // SAFETY: plain values; the process blocks the signal or has ended.
        unsafe { libc::sigqueue(process, libc::SIGRTMIN(), value) == 0 }
    }

    /// Takes a signal of the set. Returns its value, or `None` for a signal that carries no value.
    fn take(set: &libc::sigset_t) -> Option<usize> {
        // SAFETY: the set is valid, and an all-zero siginfo_t is a valid buffer. The value is read only of the signal that
        // carries one.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let is_value = libc::sigwaitinfo(set, &mut info) == libc::SIGRTMIN();
            is_value.then(|| info.si_value().sival_ptr as usize)
        }
    }

    let cpu = super::partner_cpu(params, round)?;
    // SIGCHLD ends the wait for an answer if the child has ended.
    let signals = [libc::SIGRTMIN(), libc::SIGCHLD];
    let _blocked = Blocked::new(&signals);
    let set = set_of(&signals);
    // SAFETY: takes nothing and cannot fail.
    let parent = unsafe { libc::getpid() };
    let child = fork(|| {
        let _ = pin_thread(cpu);
        while let Some(value) = take(&set) {
            if !send(parent, value.wrapping_add(1)) {
                return 1;
            }
        }
        1
    })?;
    let (pid, mut value, answered) = (child.pid() as libc::pid_t, 0usize, Cell::new(0));
    if cfg!(target_env = "gnu") {
        // The calls are rt_sigqueueinfo, getpid, getuid and rt_sigtimedwait.
        round.expect_syscalls(4.0);
    }
    let handled_so_far = || answered.get();
    super::time_handled(round, "sigqueue", 1, handled_so_far, || {
        value = value.wrapping_add(2);
        let is_answered = send(pid, value) && take(&set) == Some(value.wrapping_add(1));
        answered.set(answered.get() + u64::from(is_answered));
        is_answered
    })
}
