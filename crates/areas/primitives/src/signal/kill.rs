use crate::{Case, Only, only};

/// Round trip of a signal to another process and back.
pub const CASE: Case = Case {
    operation: "One round trip: a SIGUSR1 by kill to a child process, which waits in sigsuspend and whose handler \
                sends SIGUSR1 back, for which the parent waits in sigsuspend and which its handler counts. Two \
                signals, and a wake-up and a handler for each.",
    comparable_to: "stress-ng's `kill` sends to a process that ignores it. perf bench and lmbench have no \
                    round trip of signals.",
    only: Only::Unix("Windows has no such signals; signal/apc-thread is like it"),
    params: &[super::PLACE],
    run,
    ..Case::new("signal", "kill")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::sync::atomic::{AtomicI32, Ordering};

    use measure::CaseError;
    use platform::cpu::pin_thread;
    use platform::process::fork;
    use platform::process::signal::{Blocked, Installed, count, handled};

    /// Time limit of the child in seconds, longer than any round.
    const LONGEST_S: libc::c_uint = 60;
    static PARENT: AtomicI32 = AtomicI32::new(0);

    /// Signal handler of the child, which answers with a signal.
    extern "C" fn answer(signal: libc::c_int) {
        // SAFETY: kill is async-signal-safe.
        unsafe { libc::kill(PARENT.load(Ordering::Relaxed), signal) };
    }

    let install = |signal, handler| {
        Installed::handler(signal, handler).map_err(|e| CaseError::from_io("sigaction", &e))
    };
    let cpu = super::partner_cpu(params, round)?;
    // SAFETY: takes nothing and cannot fail.
    PARENT.store(unsafe { libc::getpid() }, Ordering::Relaxed);
    // SIGCHLD ends the wait for an answer if the child has ended.
    let _handlers = [install(libc::SIGUSR1, count)?, install(libc::SIGCHLD, count)?];
    let blocked = Blocked::new(&[libc::SIGUSR1, libc::SIGCHLD]);
    let ended = handled(libc::SIGCHLD);
    let child = fork(|| {
        let _ = pin_thread(cpu);
        // The alarm ends the child on systems where it outlives its parent. SAFETY: takes a number only. The signal is
        // neither handled nor blocked.
        unsafe { libc::alarm(LONGEST_S) };
        let Ok(_handler) = install(libc::SIGUSR1, answer) else { return 1 };
        loop {
            blocked.wait();
        }
    })?;
    let pid = child.pid() as libc::pid_t;
    // The calls are kill, sigsuspend and the return from the handler.
    round.expect_syscalls(3.0);
    let handled_so_far = || handled(libc::SIGUSR1);
    super::time_handled(round, "kill", 1, handled_so_far, || {
        let before = handled(libc::SIGUSR1);
        // SAFETY: the child has not been waited for, so that no other process has its pid.
        let is_sent = unsafe { libc::kill(pid, libc::SIGUSR1) == 0 };
        while is_sent && handled(libc::SIGUSR1) == before {
            blocked.wait();
            if handled(libc::SIGCHLD) != ended {
                return false;
            }
        }
        is_sent
    })
}
