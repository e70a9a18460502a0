//! Child processes that only sleep.

use libc::pid_t;
use measure::CaseError;

/// Forked children that sleep until this is dropped, which kills and reaps them. Where the system supports it, they are
/// also killed when the thread that started them ends.
pub struct SleepingChildren {
    pids: Vec<pid_t>,
}

impl SleepingChildren {
    /// Starts `count` children.
    pub fn start(count: usize) -> Result<Self, CaseError> {
        let mut children = Self { pids: Vec::with_capacity(count) };
        let parent = std::process::id();
        for number in 0..count {
            // SAFETY: the child makes only async-signal-safe calls, and never returns.
            match unsafe { libc::fork() } {
                -1 => return Err(refused(number, count)),
                0 => sleep(parent),
                pid => children.pids.push(pid),
            }
        }
        Ok(children)
    }

    /// Ends all children; returns the number of them that had lived until then.
    pub fn end(mut self) -> usize {
        self.end_all()
    }

    /// Ends all children; kills all before it waits for the first, so that they end concurrently.
    fn end_all(&mut self) -> usize {
        for &pid in &self.pids {
            // SAFETY: no child was waited for, so that each pid is still its child's.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        let was_killed = |pid: pid_t| {
            let mut status = 0;
            // SAFETY: `status` is valid.
            let reaped = unsafe { libc::waitpid(pid, &mut status, 0) } == pid;
            reaped && libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL
        };
        self.pids.drain(..).filter(|&pid| was_killed(pid)).count()
    }
}

impl Drop for SleepingChildren {
    fn drop(&mut self) {
        self.end_all();
    }
}

fn refused(number: usize, count: usize) -> CaseError {
    let error = std::io::Error::last_os_error();
    let reason = format!("{number} of {count} child processes could be started");
    match error.raw_os_error() {
        Some(libc::EAGAIN) => {
            let limits = "ulimit -u, kernel.pid_max, kernel.threads-max, pids.max of the cgroup";
            CaseError::Unsupported(format!("{reason}, then: {error} (limits: {limits})"))
        }
        Some(libc::ENOMEM) => CaseError::Unsupported(format!("{reason}, then: {error}")),
        _ => CaseError::from_io(&format!("{reason}, then fork"), &error),
    }
}

/// The child's main function. SIGTERM gets its default action: the files that the parent removes at SIGTERM are not the
/// child's.
fn sleep(parent: u32) -> ! {
    platform::process::children::end_with(parent);
    // SAFETY: plain calls that are async-signal-safe.
    unsafe {
        libc::signal(libc::SIGTERM, libc::SIG_DFL);
        loop {
            libc::pause();
        }
    }
}

#[cfg(test)]
mod tests {
    use platform::pid::is_alive;

    use super::*;

    #[test]
    fn children_live_until_they_are_ended() {
        let children = SleepingChildren::start(5).unwrap();
        let pids = children.pids.clone();
        assert!(pids.iter().all(|&pid| is_alive(pid as u32)));
        assert_eq!(children.end(), 5);
        assert!(pids.iter().all(|&pid| !is_alive(pid as u32)));
    }

    #[test]
    fn a_child_that_ended_before_is_not_counted() {
        let children = SleepingChildren::start(3).unwrap();
        // SAFETY: the child was not waited for, so that the pid is its own.
        unsafe { libc::kill(children.pids[1], libc::SIGTERM) };
        testing::until(|| !is_alive(children.pids[1] as u32));
        assert_eq!(children.end(), 2);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn children_end_with_their_parent() {
        let pid_file =
            std::env::temp_dir().join(format!("oscost-test-children-{}", std::process::id()));
        let mut parent = platform::process::fork(|| {
            let children = SleepingChildren::start(2).unwrap();
            let text = children.pids.iter().map(|pid| format!("{pid}\n")).collect::<String>();
            std::fs::write(&pid_file, text).unwrap();
            // SAFETY: ends this process, as a user or the system may.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            0
        })
        .unwrap();
        assert!(parent.wait().is_err());
        let pids = std::fs::read_to_string(&pid_file).unwrap();
        std::fs::remove_file(&pid_file).unwrap();
        let pids: Vec<u32> = pids.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(pids.len(), 2);
        testing::until(|| !pids.iter().any(|&pid| is_alive(pid)));
    }
}
