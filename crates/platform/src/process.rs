//! Child processes that end with their parent.

#[cfg(unix)]
pub mod children;
pub mod command;
pub mod connections;
pub mod control_group;
pub mod failure;
pub mod hosted;
pub mod inherited;
pub mod init;
pub mod interrupts;
pub mod limits;
pub mod machine_lock;
#[cfg(unix)]
pub mod program;
#[cfg(unix)]
pub mod signal;
pub mod tree;
pub mod usage;

use std::thread::{Scope, ScopedJoinHandle};

use crate::case_error::not_created;
use crate::{CaseError, IS_LINUX, IS_UNIX, IS_WINDOWS};

/// Makes the system end this worker when the coordinator that started it dies; the worker first removes its files and
/// objects. `parent` is the coordinator's pid, if it is known to be the direct parent. Does nothing on the BSDs and macOS,
/// where the worker ends by its own time limit.
pub use os::end_with_parent;

/// Whether the system ends forked children when their parent ends, or has no forked children.
pub fn children_end_with_parent() -> bool {
    IS_LINUX || IS_WINDOWS
}

/// Gives the calling thread its own table of descriptors, a copy of the present one, where the system supports that
/// (Linux). A call on a descriptor is cheaper in a process whose original table is used by one thread only. Descriptors
/// that are open now stay open in this thread when other threads close them.
pub use os::keep_own_descriptors;

/// Starts a thread that [has its own table of descriptors](keep_own_descriptors), and returns when it has it: the thread
/// does not hold open what other threads open later. The thread ends with the process.
///
/// # Errors
/// If no thread can be started.
pub fn spawn_with_own_descriptors(act: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let (ready_tx, ready_rx) = std::sync::mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        keep_own_descriptors();
        let _ = ready_tx.send(());
        act();
    })?;
    let _ = ready_rx.recv();
    Ok(())
}

/// Starts a thread in `scope` that does `work`; `what` names it. Unlike [`Scope::spawn`], a thread that cannot be created is an
/// error, not a panic.
///
/// # Errors
/// The system's reason, with its likely cause.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    what: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, CaseError> {
    std::thread::Builder::new().spawn_scoped(scope, work).map_err(|error| not_created(what, &error))
}

/// Calls `act` for each termination signal (SIGTERM, SIGINT, SIGHUP) that this process does not ignore, in a thread with its
/// own table of descriptors. Must be called while the process has one thread.
///
/// # Errors
/// `Unsupported` on Windows; else if no thread can be started.
pub use os::on_termination;

/// Makes Ctrl-C at the terminal reach this process but not the one that `command` starts, so that this process decides
/// whether to end the other.
pub use os::keep_interrupts_from;

/// Whether the system can fork a process.
pub const CAN_FORK: bool = IS_UNIX;

/// Makes all children end with this process, which must lead a process group (see [`keep_interrupts_from`]): on Linux when
/// its coordinator dies, on Windows in any case.
pub use os::end_children_with_me;

/// Kills the remaining processes of the group that the ended process `leader` led. Does nothing on Windows, where
/// [`end_children_with_me`] suffices.
pub use os::end_group;

/// Returns this process's standard output; what code in other languages writes to it from now on is discarded.
///
/// # Errors
/// If there is no standard output, or no null device.
pub use os::divert_standard_output;

/// Runs `work` in a forked child of this process, which must have only one thread. The child exits with the code that
/// `work` returns, and is killed if this process ends first or drops the [`Child`].
pub use os::fork;

pub use os::Child;

/// While this exists, a signal that kills a child of this process kills this process too (Linux), which might otherwise
/// wait for that child for ever.
#[derive(Debug)]
#[must_use = "it acts until it is dropped"]
pub struct EndWithChildren(());

impl EndWithChildren {
    /// Begins to watch children. Only one such watch may exist at a time.
    pub fn begin() -> Self {
        os::end_with_children(true);
        Self(())
    }
}

impl Drop for EndWithChildren {
    fn drop(&mut self) {
        os::end_with_children(false);
    }
}

/// Waits until at least one of `pipes` is readable or was closed at its other end; returns for each pipe whether it is.
pub use os::wait_readable;

/// Makes every child end with this process, where the system supports that for all at once (Windows job objects); on other
/// systems each child requests it for itself.
pub use os::adopt_children;

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::fs::File;
    use std::io::PipeReader;
    use std::os::fd::{AsFd, AsRawFd};
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use crate::CaseError;
    use crate::case_error::not_created;
    use crate::process::signal;
    use crate::socket::readiness::Interest;
    use crate::socket::readiness::os::{entry, poll, readiness};

    #[cfg(target_os = "linux")]
    pub fn end_with_parent(parent: Option<u32>) {
        crate::cleanup::sweep_on_termination();
        // SAFETY: plain calls without memory.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            // The parent may have died before the request was made.
            if parent.is_some_and(|pid| libc::getppid() as u32 != pid) {
                libc::raise(libc::SIGTERM);
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub fn end_with_parent(_parent: Option<u32>) {}

    pub fn adopt_children() {}

    #[cfg(target_os = "linux")]
    pub fn end_with_children(begin: bool) {
        extern "C" fn on_child(_: libc::c_int, child: *mut libc::siginfo_t, _: *mut libc::c_void) {
            // SAFETY: the system passes what happened to the child; raise is async-signal-safe.
            unsafe {
                if matches!((*child).si_code, libc::CLD_KILLED | libc::CLD_DUMPED) {
                    libc::raise(libc::SIGKILL);
                }
            }
        }

        let handler =
            if begin { on_child as *const () as libc::sighandler_t } else { libc::SIG_DFL };
        let flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NOCLDSTOP;
        // SAFETY: the action is valid; the handler makes only async-signal-safe calls.
        unsafe {
            libc::sigaction(libc::SIGCHLD, &signal::action(handler, flags), std::ptr::null_mut());
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub fn end_with_children(_begin: bool) {}

    #[cfg(target_os = "linux")]
    pub fn end_children_with_me() {
        crate::cleanup::end_group_on_termination();
    }

    #[cfg(not(target_os = "linux"))]
    pub fn end_children_with_me() {}

    pub fn end_group(leader: u32) {
        let Some(leader) = libc::pid_t::try_from(leader).ok().filter(|&pid| pid > 1) else {
            return;
        };
        // SAFETY: a plain call. While the group has processes, no other process or group gets its number.
        unsafe { libc::kill(-leader, libc::SIGKILL) };
    }

    pub fn divert_standard_output() -> std::io::Result<File> {
        let output = std::io::stdout().as_fd().try_clone_to_owned()?;
        let null = super::inherited::null_device()?;
        // SAFETY: both descriptors are open; standard output is the process's own to replace.
        match unsafe { libc::dup2(null.as_raw_fd(), libc::STDOUT_FILENO) } {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(output.into()),
        }
    }

    #[cfg(target_os = "linux")]
    pub fn keep_own_descriptors() {
        // SAFETY: the call has no pointers; the table is copied, that of other threads does not change.
        unsafe { libc::unshare(libc::CLONE_FILES) };
    }

    #[cfg(not(target_os = "linux"))]
    pub fn keep_own_descriptors() {}

    pub fn on_termination(mut act: impl FnMut() + Send + 'static) -> Result<(), CaseError> {
        let signals = signal::set_of(&super::inherited::os::heeded());
        // SAFETY: the set is valid. Threads started from now on inherit the mask, so that only sigwait(3) receives these
        // signals.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &signals, std::ptr::null_mut()) };
        let wait = move || {
            let mut signal = 0;
            // SAFETY: both pointers are valid.
            while unsafe { libc::sigwait(&signals, &mut signal) } == 0 {
                act();
            }
        };
        super::spawn_with_own_descriptors(wait).map_err(|e| not_created("a thread for signals", &e))
    }

    pub fn keep_interrupts_from(command: &mut Command) {
        command.process_group(0);
    }

    /// A forked child.
    #[derive(Debug)]
    pub struct Child {
        pid: libc::pid_t,
        /// The result, stored because the system reports it only once.
        ended: Option<Result<(), String>>,
    }

    impl Child {
        /// The child's pid, which is not used again before the child is waited for.
        pub fn pid(&self) -> u32 {
            self.pid as u32
        }

        /// Returns `None` while the child runs; then `Ok` for exit code 0, else how the child ended.
        pub fn try_wait(&mut self) -> Option<Result<(), String>> {
            if self.ended.is_none() {
                self.ended = self.waitpid(libc::WNOHANG);
            }
            self.ended.clone()
        }

        /// Waits for the child's end: `Ok` for exit code 0, else how the child ended.
        pub fn wait(&mut self) -> Result<(), String> {
            loop {
                if let Some(ended) = &self.ended {
                    return ended.clone();
                }
                self.ended = self.waitpid(0);
            }
        }

        fn waitpid(&self, options: libc::c_int) -> Option<Result<(), String>> {
            let mut status = 0;
            // SAFETY: `status` is valid and the pid is that of a child.
            let which = unsafe { libc::waitpid(self.pid, &mut status, options) };
            if which == 0 {
                return None;
            }
            if which < 0 {
                let error = std::io::Error::last_os_error();
                let interrupted = error.kind() == std::io::ErrorKind::Interrupted;
                return if interrupted { None } else { Some(Err(format!("waitpid: {error}"))) };
            }
            if libc::WIFSIGNALED(status) {
                return Some(Err(format!("killed by signal {}", libc::WTERMSIG(status))));
            }
            match libc::WEXITSTATUS(status) {
                0 => Some(Ok(())),
                code => Some(Err(format!("exit code {code}"))),
            }
        }
    }

    impl Drop for Child {
        fn drop(&mut self) {
            if self.ended.is_none() {
                // SAFETY: the pid is that of a child that was not waited for, so it is not reused.
                unsafe {
                    libc::kill(self.pid, libc::SIGKILL);
                    libc::waitpid(self.pid, std::ptr::null_mut(), 0);
                }
            }
        }
    }

    pub fn wait_readable(pipes: &[&PipeReader]) -> Result<Vec<bool>, CaseError> {
        let mut polled: Vec<_> = pipes.iter().map(|pipe| entry(pipe, Interest::Read)).collect();
        while let Err(error) = poll(&mut polled, -1) {
            if error.kind() != std::io::ErrorKind::Interrupted {
                return Err(CaseError::from_io("poll", &error));
            }
        }
        Ok(polled.iter().map(|pipe| readiness(pipe).0).collect())
    }

    #[cfg(target_os = "linux")]
    fn be_killed_with_parent() {
        // SAFETY: the call has no pointers.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    }

    #[cfg(not(target_os = "linux"))]
    fn be_killed_with_parent() {}

    pub fn fork(work: impl FnOnce() -> i32) -> Result<Child, CaseError> {
        // SAFETY: the caller has one thread, so the child may go on as an ordinary process; it
        // leaves by _exit, so that nothing of the parent's is run or flushed twice.
        unsafe {
            let parent = libc::getpid();
            match libc::fork() {
                -1 => Err(CaseError::last_os_error("fork")),
                0 => {
                    be_killed_with_parent();
                    if libc::getppid() != parent {
                        libc::_exit(1);
                    }
                    // The parent removes its files and objects at termination; the child must not.
                    libc::signal(libc::SIGTERM, libc::SIG_DFL);
                    let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
                    libc::_exit(code.unwrap_or(101))
                }
                pid => Ok(Child { pid, ended: None }),
            }
        }
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::fs::File;
    use std::io::PipeReader;
    use std::os::windows::io::{AsHandle, IntoRawHandle};
    use std::os::windows::process::CommandExt;
    use std::process::Command;

    use windows_sys::Win32::System::Console::{STD_OUTPUT_HANDLE, SetStdHandle};
    use windows_sys::Win32::System::JobObjects::{
        JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    };
    use windows_sys::Win32::System::Threading::CREATE_NEW_PROCESS_GROUP;

    use crate::CaseError;
    use crate::windows::join_job;

    pub fn keep_own_descriptors() {}

    pub fn on_termination(_act: impl FnMut() + Send + 'static) -> Result<(), CaseError> {
        Err(CaseError::Unsupported("Windows reports Ctrl-C in another way".into()))
    }

    pub fn end_with_parent(_parent: Option<u32>) {}

    pub fn end_with_children(_begin: bool) {}

    /// Puts this process in a job of its own, which ends with it.
    pub fn end_children_with_me() {
        adopt_children();
    }

    pub fn end_group(_leader: u32) {}

    pub fn divert_standard_output() -> std::io::Result<File> {
        let output = std::io::stdout().as_handle().try_clone_to_owned()?;
        let null = super::inherited::null_device()?;
        // SAFETY: the handle is open, and stays so: nothing else owns it.
        match unsafe { SetStdHandle(STD_OUTPUT_HANDLE, null.into_raw_handle()) } {
            0 => Err(std::io::Error::last_os_error()),
            _ => Ok(output.into()),
        }
    }

    pub fn adopt_children() {
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        // The system closes the job when this process ends, which ends the children.
        join_job(&limits);
    }

    pub fn keep_interrupts_from(command: &mut Command) {
        command.creation_flags(CREATE_NEW_PROCESS_GROUP);
    }

    /// A forked child: there are none on Windows.
    #[derive(Debug)]
    pub enum Child {}

    impl Child {
        /// Never called: there is no such child.
        pub fn pid(&self) -> u32 {
            match *self {}
        }

        /// Never called: there is no such child.
        pub fn try_wait(&mut self) -> Option<Result<(), String>> {
            match *self {}
        }

        /// Never called: there is no such child.
        pub fn wait(&mut self) -> Result<(), String> {
            match *self {}
        }
    }

    pub fn wait_readable(_pipes: &[&PipeReader]) -> Result<Vec<bool>, CaseError> {
        Err(CaseError::Unsupported("Windows cannot wait for several pipes".into()))
    }

    pub fn fork(_work: impl FnOnce() -> i32) -> Result<Child, CaseError> {
        Err(CaseError::Unsupported("Windows has no fork".into()))
    }
}
