use crate::{Case, Only, Param, only};

/// Reaping a child whose end a signal reports.
pub const CASE: Case = Case {
    operation: "One fork of a child that exits at once, on the same CPU, and its reaping by waitpid: with \
                reaped=by-handler in a handler of SIGCHLD, for which the parent waits in sigsuspend; with \
                reaped=by-wait without handler.",
    comparable_to: "lmbench's `lat_proc fork` is like reaped=by-wait. The difference of the two is the cost of \
                    the signal.",
    only: Only::Unix("Windows has no fork and no such signals"),
    params: &[Param::new("reaped", &["by-handler", "by-wait"])
        .meaning("whether a handler of SIGCHLD reaps the child, or the parent waits for it")],
    run,
    ..Case::new("signal", "sigchld")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

    use measure::CaseError;
    use platform::process::signal::{Blocked, Installed};

    /// Pid of the child to be reaped; 0 if there is none.
    static CHILD: AtomicI32 = AtomicI32::new(0);
    static REAPED: AtomicU64 = AtomicU64::new(0);

    /// Reaps the child if it has ended with success; a signal of another child changes nothing.
    fn reap(options: libc::c_int) {
        let (child, mut status) = (CHILD.load(Ordering::Relaxed), 0);
        // SAFETY: `status` is a valid place; waitpid is async-signal-safe.
        let reaped = child > 0 && unsafe { libc::waitpid(child, &mut status, options) } == child;
        if reaped {
            CHILD.store(0, Ordering::Relaxed);
            REAPED.fetch_add(u64::from(status == 0), Ordering::Relaxed);
        }
    }

    extern "C" fn handler(_signal: libc::c_int) {
        reap(libc::WNOHANG);
    }

    /// Forks a child that exits at once. Returns whether that succeeded.
    fn fork() -> bool {
        // SAFETY: the child makes one system call, which ends it.
        match unsafe { libc::fork() } {
            // SAFETY: the child makes one system call, which ends it.
            0 => unsafe { libc::_exit(0) },
            child => {
                CHILD.store(child, Ordering::Relaxed);
                child > 0
            }
        }
    }

    let reaped = || REAPED.load(Ordering::Relaxed);
    if crate::value_of(params, "reaped")? == "by-wait" {
        return super::time_handled(round, "fork", 1, reaped, || {
            let is_forked = fork();
            reap(0);
            is_forked
        });
    }
    let _installed = Installed::handler(libc::SIGCHLD, handler)
        .map_err(|e| CaseError::from_io("sigaction", &e))?;
    let blocked = Blocked::new(&[libc::SIGCHLD]);
    super::time_handled(round, "fork", 1, reaped, || {
        let is_forked = fork();
        while CHILD.load(Ordering::Relaxed) > 0 {
            blocked.wait();
        }
        is_forked
    })
}
