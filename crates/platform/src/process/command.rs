//! Runs a command to its end, and reports its resource usage.

use std::process::Command;
use std::time::Duration;

use crate::counters::SyscallCounting;
use crate::{CaseError, IS_WINDOWS};

/// The exit of a command and the resources that it and the children it waited for used. `None`: not reported by this
/// system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// Exit code; 128 + the signal's number if a signal ended the command, as in shells.
    pub code: i32,
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

/// Runs `command` to its end and counts its system calls by `counting`.
///
/// # Errors
/// If the command cannot be started.
pub fn run(command: &mut Command, counting: SyscallCounting) -> Result<Finished, CaseError> {
    os::run(command, counting)
}

/// The command interpreter, sh(1) or cmd.exe on Windows, with the option that makes it run the text that follows.
pub fn shell() -> [&'static str; 2] {
    if IS_WINDOWS { ["cmd.exe", "/C"] } else { ["/bin/sh", "-c"] }
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
mod os {
    use std::process::Command;

    use super::Finished;
    use crate::CaseError;
    use crate::counters::usage::COUNTED;
    use crate::counters::{ProcessCounter, SyscallCounting};
    use crate::process::usage::os::of_timeval;

    pub fn add_arguments(command: &mut Command, arguments: &[String]) {
        command.args(arguments);
    }

    pub fn run(command: &mut Command, counting: SyscallCounting) -> Result<Finished, CaseError> {
        forget_peak();
        let counter = match counting {
            SyscallCounting::Tracepoint(id) => ProcessCounter::from_exec(id),
            SyscallCounting::Marks => {
                mark_children(command);
                None
            }
            SyscallCounting::None => None,
        };
        let child = command.spawn();
        let name = || command.get_program().to_string_lossy().into_owned();
        let child = child.map_err(|e| CaseError::Failed(format!("{}: {e}", name())))?;
        let (status, usage) = wait(child.id() as libc::pid_t)?;
        let code = match libc::WIFSIGNALED(status) {
            true => 128 + libc::WTERMSIG(status),
            false => libc::WEXITSTATUS(status),
        };
        // macOS reports bytes, other systems KiB.
        let unit = if crate::IS_MACOS { 1 } else { 1024 };
        Ok(Finished {
            code,
            user: Some(of_timeval(usage.ru_utime)),
            system: Some(of_timeval(usage.ru_stime)),
            max_resident: u64::try_from(usage.ru_maxrss).ok().map(|size| size * unit),
            voluntary_switches: COUNTED.switches(usage.ru_nvcsw),
            involuntary_switches: COUNTED.switches(usage.ru_nivcsw),
            page_faults: COUNTED.faults(usage.ru_minflt + usage.ru_majflt),
            syscalls: counter.and_then(|counter| counter.syscalls()),
        })
    }

    /// Resets the maximum resident set size of this process (proc_pid_clear_refs(5)), from which its children's begins.
    /// Where this is denied, the children's is at least this process's.
    #[cfg(target_os = "linux")]
    fn forget_peak() {
        let _ = std::fs::write("/proc/self/clear_refs", "5");
    }

    #[cfg(not(target_os = "linux"))]
    fn forget_peak() {}

    /// Makes the tracer count all calls of the child from its execve(2) on, and of the processes that it starts.
    #[cfg(target_os = "linux")]
    fn mark_children(command: &mut Command) {
        use std::os::unix::process::CommandExt;
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

    fn wait(pid: libc::pid_t) -> Result<(libc::c_int, libc::rusage), CaseError> {
        let mut status = 0;
        // SAFETY: an all-zero rusage is valid, and both are valid places for the call to fill. The pid is that of a child
        // that nothing else waits for.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            while libc::wait4(pid, &mut status, 0, &mut usage) < 0 {
                let error = std::io::Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    return Err(CaseError::from_io("wait4", &error));
                }
            }
            Ok((status, usage))
        }
    }
}

#[cfg(windows)]
mod os {
    use std::os::windows::io::AsRawHandle;
    use std::os::windows::process::CommandExt;
    use std::process::Command;

    use super::{Finished, shell};
    use crate::CaseError;
    use crate::counters::SyscallCounting;
    use crate::process::windows::{cpu_times, memory};

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

    pub fn run(command: &mut Command, _counting: SyscallCounting) -> Result<Finished, CaseError> {
        let name = command.get_program().to_string_lossy().into_owned();
        let failed = |e: std::io::Error| CaseError::Failed(format!("{name}: {e}"));
        let mut child = command.spawn().map_err(failed)?;
        let status = child.wait().map_err(failed)?;
        let mut finished = Finished {
            code: status.code().unwrap_or(1),
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
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sh(script: &str) -> Finished {
        let [shell, option] = shell();
        run(Command::new(shell).args([option, script]), SyscallCounting::None).unwrap()
    }

    #[test]
    fn the_exit_code_is_that_of_a_shell() {
        assert_eq!(sh("exit 3").code, 3);
        assert_eq!(sh("kill -9 $$").code, 137);
        let error = run(&mut Command::new("/nosuch/program"), SyscallCounting::None).unwrap_err();
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
            return testing::skip("the tracepoint of system calls needs root and tracefs");
        };
        let calls = |copies: u32| {
            let script = format!("dd if=/dev/zero of=/dev/null bs=1 count={copies} 2>/dev/null; :");
            let [shell, option] = shell();
            let counting = SyscallCounting::Tracepoint(id);
            let finished = run(Command::new(shell).args([option, &script]), counting).unwrap();
            finished.syscalls.unwrap()
        };
        // dd makes one read and one write for each byte.
        assert_eq!(calls(2_000) - calls(1_000), 2_000);
    }
}
