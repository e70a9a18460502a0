//! Counting another process's system calls from outside, where the kernel's own counter is denied.
//!
//! Needs no privileges beyond tracing a child, and works in gVisor and User-Mode Linux too. It makes each call 20 to
//! 100 us slower, so it is used for counting, never for timing.

use std::process::{Command, Output};
use std::time::Duration;

use crate::CaseError;

/// Runs `command` to its end under a tracer, and counts the system calls that its threads and
/// children make between their marks (see [`crate::counters::ThreadCounters`]). The process is
/// killed after `limit`.
pub fn count_system_calls(
    command: &mut Command,
    limit: Duration,
) -> Result<(Output, u64), CaseError> {
    os::count_system_calls(command, limit)
}

#[cfg(target_os = "linux")]
mod os {
    use std::collections::HashMap;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Output, Stdio};
    use std::sync::mpsc;
    use std::time::Duration;

    use crate::CaseError;
    use crate::counters::{MARK, MARK_START, MARK_STOP};

    pub fn count_system_calls(
        command: &mut Command,
        limit: Duration,
    ) -> Result<(Output, u64), CaseError> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: between fork and exec the child makes one plain system call.
        unsafe {
            command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
        let child = command.spawn().map_err(|e| CaseError::from_io("ptrace", &e))?;
        let pid = child.id() as libc::pid_t;
        let (ended, end) = mpsc::channel::<()>();
        let watchdog = std::thread::spawn(move || {
            if end.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                // SAFETY: the traced child is reaped only after this thread was notified of its end.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
        });
        let traced = trace(pid).inspect_err(|_| {
            // SAFETY: not reaped yet, so the pid is still our child's; its status goes nowhere.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL);
            }
        });
        drop(ended);
        let _ = watchdog.join();
        // The tracer has reaped it; what it wrote is still in the pipes.
        let (calls, status) = traced?;
        let mut output = Output { status, stdout: Vec::new(), stderr: Vec::new() };
        let mut child = child;
        if let Some(mut pipe) = child.stdout.take() {
            std::io::Read::read_to_end(&mut pipe, &mut output.stdout)?;
        }
        if let Some(mut pipe) = child.stderr.take() {
            std::io::Read::read_to_end(&mut pipe, &mut output.stderr)?;
        }
        Ok((output, calls))
    }

    /// What we know of one traced thread.
    #[derive(Default)]
    struct Thread {
        inside_call: bool,
        counting: bool,
    }

    fn trace(leader: libc::pid_t) -> Result<(u64, std::process::ExitStatus), CaseError> {
        let mut threads: HashMap<libc::pid_t, Thread> = HashMap::new();
        let mut calls = 0;
        let mut configured = false;
        loop {
            let mut status = 0;
            // SAFETY: `status` is a valid place.
            let pid = unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) };
            if pid < 0 {
                return Err(CaseError::last_os_error("waitpid of the traced worker"));
            }
            if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                threads.remove(&pid);
                if pid == leader {
                    use std::os::unix::process::ExitStatusExt;
                    return Ok((calls, std::process::ExitStatus::from_raw(status)));
                }
                continue;
            }
            if !configured {
                set_options(leader)?;
                configured = true;
            }
            let deliver = match libc::WSTOPSIG(status) {
                stop if stop == libc::SIGTRAP | 0x80 => {
                    let thread = threads.entry(pid).or_default();
                    thread.inside_call = !thread.inside_call;
                    if thread.inside_call {
                        calls += u64::from(count_entry(pid, thread));
                    }
                    0
                }
                // Stops requested by this tracer: exec, new threads and children.
                libc::SIGTRAP | libc::SIGSTOP => 0,
                signal => signal,
            };
            // SAFETY: the thread is stopped and ours to continue; if it was killed meanwhile the
            // call fails and the next wait tells.
            unsafe { libc::ptrace(libc::PTRACE_SYSCALL, pid, 0, deliver) };
        }
    }

    fn set_options(leader: libc::pid_t) -> Result<(), CaseError> {
        let options = libc::PTRACE_O_TRACESYSGOOD
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_EXITKILL;
        // SAFETY: the child is stopped at its exec.
        match unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, leader, 0, options) } {
            0 => Ok(()),
            _ => Err(CaseError::last_os_error("ptrace options")),
        }
    }

    /// Whether the call that `pid` is entering counts; a mark switches counting instead.
    fn count_entry(pid: libc::pid_t, thread: &mut Thread) -> bool {
        match entered_call(pid) {
            Some((number, first, second))
                if number == libc::SYS_prctl as u64 && first as u32 as u64 == MARK =>
            {
                thread.counting = match second {
                    MARK_START => true,
                    MARK_STOP => false,
                    _ => thread.counting,
                };
                false
            }
            _ => thread.counting,
        }
    }

    /// Number and first two arguments of the call `pid` is entering.
    #[cfg(target_arch = "x86_64")]
    fn entered_call(pid: libc::pid_t) -> Option<(u64, u64, u64)> {
        // SAFETY: `registers` is a valid place for what the request fills.
        unsafe {
            let mut registers: libc::user_regs_struct = std::mem::zeroed();
            let done = libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut registers);
            (done == 0).then_some((registers.orig_rax, registers.rdi, registers.rsi))
        }
    }

    /// Number and first two arguments of the call `pid` is entering.
    #[cfg(target_arch = "aarch64")]
    fn entered_call(pid: libc::pid_t) -> Option<(u64, u64, u64)> {
        const NT_PRSTATUS: libc::c_long = 1;
        // SAFETY: `place` describes `registers`, which the request fills.
        unsafe {
            let mut registers: libc::user_regs_struct = std::mem::zeroed();
            let mut place = libc::iovec {
                iov_base: (&raw mut registers).cast(),
                iov_len: size_of::<libc::user_regs_struct>(),
            };
            let done = libc::ptrace(libc::PTRACE_GETREGSET, pid, NT_PRSTATUS, &raw mut place);
            (done == 0).then_some((registers.regs[8], registers.regs[0], registers.regs[1]))
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    use std::process::{Command, Output};
    use std::time::Duration;

    use crate::CaseError;

    pub fn count_system_calls(
        _command: &mut Command,
        _limit: Duration,
    ) -> Result<(Output, u64), CaseError> {
        Err(CaseError::Unsupported("system calls cannot be counted on this system".into()))
    }
}
