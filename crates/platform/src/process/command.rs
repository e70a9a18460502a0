//! Runs a command to its end, and reports its time and resource usage.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::IS_WINDOWS;

/// How a process ended.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// The process ended by itself with this exit code.
    Code(i32),
    /// This signal ended the process.
    Signal(i32),
    /// The process was killed at its time limit.
    TimeLimit,
}

/// The end of a command, and the resources that it and the children it waited for used. `None`: not reported by this
/// system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// Time from before the start of the process until it was waited for.
    pub elapsed: Duration,
    /// How it ended.
    pub exit: Exit,
    /// Whether processes of its group were still running, which were ended. Known on Linux if this process
    /// [adopts orphans](adopt_orphans).
    pub left_processes: bool,
    /// CPU time in user mode.
    pub user: Option<Duration>,
    /// CPU time in the kernel.
    pub system: Option<Duration>,
    /// Maximum resident set size of any of the processes, in bytes. On Linux at least that of this process now: a child
    /// begins as its copy.
    pub max_resident: Option<u64>,
    /// Voluntary context switches.
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches.
    pub involuntary_switches: Option<u64>,
    /// Page faults, minor and major.
    pub page_faults: Option<u64>,
    /// System calls of all threads and processes after the execve(2) that started the command, if this process counts them
    /// itself; a tracer counts them elsewhere.
    pub syscalls: Option<u64>,
}

/// Runs `command` to its end, or until `limit` is over, and counts its system calls by `counting`. SIGALRM
/// ends the wait: no other thread may use it.
///
/// # Errors
/// If the command cannot be started.
pub use os::run;

/// Makes this process the parent of processes whose parent ends, so that [`run`] finds and ends those that a command left
/// behind (Linux). The process must have no other children.
pub use os::adopt_orphans;

/// The command interpreter, sh(1) or cmd.exe on Windows, with the option that makes it run the text that follows.
pub fn shell() -> [&'static str; 2] {
    if IS_WINDOWS { ["cmd.exe", "/C"] } else { ["/bin/sh", "-c"] }
}

/// The file of a program that is named without a folder: the first executable one of that name in the folders of PATH.
/// `None` on Windows, which has other rules.
pub fn in_path(program: &str) -> Option<PathBuf> {
    if IS_WINDOWS || program.is_empty() || program.contains('/') {
        return None;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| os::is_program(file))
}

/// The command like [`of_words`], but the program is searched in PATH now, not when it starts.
pub fn found_in_path(words: &[String]) -> Option<Command> {
    let (program, arguments) = words.split_first()?;
    let Some(file) = in_path(program) else { return of_words(words) };
    let mut command = Command::new(file);
    os::call_itself(&mut command, program);
    os::add_arguments(&mut command, arguments);
    Some(command)
}

/// The command for a program and its arguments; `None` if `words` is empty. The text that follows [`shell`]'s words is
/// passed on as it is.
pub fn of_words(words: &[String]) -> Option<Command> {
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    os::add_arguments(&mut command, arguments);
    Some(command)
}

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::Command;
    #[cfg(target_os = "linux")]
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use super::{Exit, Finished};
    use crate::CaseError;
    use crate::counters::usage::COUNTED;
    use crate::counters::{ProcessCounter, SyscallCounting};
    use crate::process::usage::os::of_timeval;

    pub fn is_program(file: &Path) -> bool {
        let metadata = file.metadata();
        metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    }

    pub fn call_itself(command: &mut Command, name: &str) {
        command.arg0(name);
    }

    pub fn add_arguments(command: &mut Command, arguments: &[String]) {
        command.args(arguments);
    }

    pub fn run(
        command: &mut Command,
        counting: SyscallCounting,
        limit: Duration,
    ) -> Result<Finished, CaseError> {
        forget_peak();
        let counter = match counting {
            SyscallCounting::Tracepoint(id) => ProcessCounter::from_exec(id),
            SyscallCounting::Marks => {
                mark_children(command);
                None
            }
            SyscallCounting::None => None,
        };
        let alarm = Alarm::every(limit);
        let began = Instant::now();
        let child = command.spawn().map_err(|e| {
            CaseError::Failed(format!("{}: {e}", command.get_program().to_string_lossy()))
        })?;
        let (status, usage, is_late) = wait(child.id() as libc::pid_t, began, limit)?;
        let elapsed = began.elapsed();
        drop(alarm);
        let exit = match libc::WIFSIGNALED(status) {
            _ if is_late => Exit::TimeLimit,
            true => Exit::Signal(libc::WTERMSIG(status)),
            false => Exit::Code(libc::WEXITSTATUS(status)),
        };
        // macOS reports bytes, other systems KiB.
        let unit = if crate::IS_MACOS { 1 } else { 1024 };
        Ok(Finished {
            elapsed,
            exit,
            left_processes: end_remaining(),
            user: Some(of_timeval(usage.ru_utime)),
            system: Some(of_timeval(usage.ru_stime)),
            max_resident: u64::try_from(usage.ru_maxrss).ok().map(|size| size * unit),
            voluntary_switches: COUNTED.switches(usage.ru_nvcsw),
            involuntary_switches: COUNTED.switches(usage.ru_nivcsw),
            page_faults: COUNTED.faults(usage.ru_minflt + usage.ru_majflt),
            syscalls: counter.and_then(|counter| counter.syscalls()),
        })
    }

    /// Interrupts blocking calls of this process with SIGALRM, until it is dropped.
    struct Alarm(());

    impl Alarm {
        /// Repeats the signal after `limit`: one that comes just before the call would have no effect.
        fn every(limit: Duration) -> Self {
            const AGAIN: Duration = Duration::from_millis(20);
            extern "C" fn interrupt(_signal: libc::c_int) {}
            // SAFETY: the action is initialised, and its handler does nothing. Without SA_RESTART, calls return.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = interrupt as *const () as libc::sighandler_t;
                libc::sigemptyset(&mut action.sa_mask);
                libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
            }
            set_timer(limit.max(Duration::from_micros(1)), AGAIN);
            Self(())
        }
    }

    impl Drop for Alarm {
        fn drop(&mut self) {
            set_timer(Duration::ZERO, Duration::ZERO);
        }
    }

    /// Sets the timer of this process, which children do not inherit; a time of zero ends it.
    fn set_timer(after: Duration, then_every: Duration) {
        let of = |time: Duration| libc::timeval {
            tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_usec: time.subsec_micros() as libc::suseconds_t,
        };
        let timer = libc::itimerval { it_value: of(after), it_interval: of(then_every) };
        // SAFETY: the timer is initialised, and the previous one is not asked for.
        unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) };
    }

    /// Waits for the child, and kills it when `limit` is over; also returns whether that was done.
    fn wait(
        pid: libc::pid_t,
        began: Instant,
        limit: Duration,
    ) -> Result<(libc::c_int, libc::rusage, bool), CaseError> {
        let (mut status, mut is_late) = (0, false);
        // SAFETY: an all-zero rusage is valid, and both are valid places for the call to fill. The pid is that of a child
        // that nothing else waits for.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            while libc::wait4(pid, &mut status, 0, &mut usage) < 0 {
                let error = std::io::Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    return Err(CaseError::from_io("wait4", &error));
                }
                if began.elapsed() >= limit {
                    is_late = true;
                    libc::kill(pid, libc::SIGKILL);
                }
            }
            Ok((status, usage, is_late))
        }
    }

    /// Resets the maximum resident set size of this process (proc_pid_clear_refs(5)), from which its children's begins.
    /// Where this is denied, the children's is at least this process's.
    #[cfg(target_os = "linux")]
    fn forget_peak() {
        let _ = std::fs::write("/proc/self/clear_refs", "5");
    }

    #[cfg(not(target_os = "linux"))]
    fn forget_peak() {}

    /// Whether this process adopts orphans, and has no other children.
    #[cfg(target_os = "linux")]
    static ADOPTS: AtomicBool = AtomicBool::new(false);

    #[cfg(target_os = "linux")]
    pub fn adopt_orphans() {
        // SAFETY: a plain call without memory.
        let done = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        ADOPTS.store(done == 0, Ordering::Relaxed);
    }

    #[cfg(not(target_os = "linux"))]
    pub fn adopt_orphans() {}

    /// Ends the children of this process that are in its group, and the children that these leave behind; returns whether any
    /// was running. Processes that began a group of their own, as daemons do, stay.
    #[cfg(target_os = "linux")]
    fn end_remaining() -> bool {
        let mut any = false;
        if !ADOPTS.load(Ordering::Relaxed) {
            return any;
        }
        // Each pass makes grandchildren to children, except for those of a process that cannot be killed.
        for _ in 0..1_000 {
            if !reap_ended() {
                return any;
            }
            // SAFETY: a plain call without memory.
            let own_group = unsafe { libc::getpgrp() };
            let mut is_done = true;
            for child in children() {
                // SAFETY: plain calls; the pid is that of a child, which is reaped nowhere else.
                unsafe {
                    if libc::getpgid(child) == own_group {
                        (any, is_done) = (true, false);
                        libc::kill(child, libc::SIGKILL);
                        libc::waitpid(child, std::ptr::null_mut(), 0);
                    }
                }
            }
            if is_done {
                return any;
            }
        }
        any
    }

    #[cfg(not(target_os = "linux"))]
    fn end_remaining() -> bool {
        false
    }

    /// Reaps all children that have ended; returns whether others run.
    #[cfg(target_os = "linux")]
    fn reap_ended() -> bool {
        loop {
            // SAFETY: the status is not asked for.
            match unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } {
                0 => return true,
                pid if pid > 0 => {}
                _ => return false,
            }
        }
    }

    /// The children of this process (proc_pid_task_children(5)).
    #[cfg(target_os = "linux")]
    fn children() -> Vec<libc::pid_t> {
        let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
        let lists = threads.flatten().map(|thread| thread.path().join("children"));
        let lists = lists.filter_map(|list| std::fs::read_to_string(list).ok());
        lists
            .flat_map(|list| {
                list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Makes the tracer count all calls of the child from its execve(2) on, and of the processes that it starts.
    #[cfg(target_os = "linux")]
    fn mark_children(command: &mut Command) {
        // SAFETY: between fork and exec the child makes one plain system call.
        unsafe {
            command.pre_exec(|| {
                crate::counters::mark_command();
                Ok(())
            });
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn mark_children(_command: &mut Command) {}
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::os::windows::io::AsRawHandle;
    use std::os::windows::process::CommandExt;
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    use windows_sys::Win32::Foundation::WAIT_OBJECT_0;
    use windows_sys::Win32::System::Threading::WaitForSingleObject;

    use super::{Exit, Finished, shell};
    use crate::CaseError;
    use crate::counters::SyscallCounting;
    use crate::windows::{cpu_times, memory};

    /// Appends arguments without quotes for cmd.exe, which does not unquote as other programs do.
    pub fn add_arguments(command: &mut Command, arguments: &[String]) {
        let is_shell = command.get_program() == shell()[0];
        match arguments {
            [option, line] if is_shell && option == shell()[1] => {
                command.arg(option).raw_arg(line);
            }
            _ => {
                command.args(arguments);
            }
        }
    }

    pub fn adopt_orphans() {}

    pub fn is_program(_file: &std::path::Path) -> bool {
        false
    }

    pub fn call_itself(_command: &mut Command, _name: &str) {}

    pub fn run(
        command: &mut Command,
        _counting: SyscallCounting,
        limit: Duration,
    ) -> Result<Finished, CaseError> {
        let name = command.get_program().to_string_lossy().into_owned();
        let failed = |e: std::io::Error| CaseError::Failed(format!("{name}: {e}"));
        let began = Instant::now();
        let mut child = command.spawn().map_err(failed)?;
        let is_late = !has_ended(&child, limit);
        if is_late {
            child.kill().map_err(failed)?;
        }
        let status = child.wait().map_err(failed)?;
        let elapsed = began.elapsed();
        let exit = match is_late {
            true => Exit::TimeLimit,
            false => Exit::Code(status.code().unwrap_or(1)),
        };
        let mut finished = Finished {
            elapsed,
            exit,
            left_processes: false,
            user: None,
            system: None,
            max_resident: None,
            voluntary_switches: None,
            involuntary_switches: None,
            page_faults: None,
            syscalls: None,
        };
        // Windows reports each process separately: a shell's report would exclude the program that it started.
        if name == shell()[0] {
            return Ok(finished);
        }
        if let Some(times) = cpu_times(child.as_raw_handle()) {
            finished.user = Some(times.user);
            finished.system = Some(times.kernel);
        }
        if let Some(counters) = memory(child.as_raw_handle()) {
            finished.max_resident = Some(counters.PeakWorkingSetSize as u64);
            finished.page_faults = Some(u64::from(counters.PageFaultCount));
        }
        Ok(finished)
    }

    /// Waits until the child has ended, at most for `limit`; returns whether it has.
    fn has_ended(child: &Child, limit: Duration) -> bool {
        // The greatest number means no limit.
        let ms = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX).min(u32::MAX - 1);
        // SAFETY: the handle is that of a child that has not been waited for, and stays open.
        unsafe { WaitForSingleObject(child.as_raw_handle(), ms) == WAIT_OBJECT_0 }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::counters::SyscallCounting;

    fn sh(script: &str) -> Finished {
        limited(script, Duration::from_secs(60))
    }

    fn limited(script: &str, limit: Duration) -> Finished {
        let [shell, option] = shell();
        run(Command::new(shell).args([option, script]), SyscallCounting::None, limit).unwrap()
    }

    #[test]
    fn the_exit_code_or_signal_is_reported() {
        assert_eq!(sh("exit 3").exit, Exit::Code(3));
        assert_eq!(sh("kill -9 $$").exit, Exit::Signal(9));
        let mut missing = Command::new("/nosuch/program");
        let error = run(&mut missing, SyscallCounting::None, Duration::MAX).unwrap_err();
        assert!(error.to_string().starts_with("/nosuch/program: "), "{error}");
    }

    #[test]
    fn what_its_children_use_is_included() {
        let busy = sh("sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; sleep 0.01");
        assert!(busy.user >= Some(Duration::from_millis(10)), "{busy:?}");
        assert!(busy.voluntary_switches >= Some(1) && busy.page_faults >= Some(1), "{busy:?}");
        let large = sh("head -c 60000000 /dev/zero | tail -c 60000000 >/dev/null");
        assert!(large.max_resident >= Some(50_000_000), "{large:?}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_calls_of_all_its_processes_are_counted() {
        let Some(id) = crate::counters::syscall_tracepoint() else {
            return testing::skip("root: the tracepoint of system calls needs root and tracefs");
        };
        let calls = |copies: u32| {
            let script = format!("dd if=/dev/zero of=/dev/null bs=1 count={copies} 2>/dev/null; :");
            let [shell, option] = shell();
            let counting = SyscallCounting::Tracepoint(id);
            let mut command = Command::new(shell);
            let finished = run(command.args([option, &script]), counting, Duration::MAX).unwrap();
            finished.syscalls.unwrap()
        };
        // dd makes one read and one write for each byte.
        assert_eq!(calls(2_000) - calls(1_000), 2_000);
    }
}
