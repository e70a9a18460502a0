//! Counts another process's system calls by ptrace(2), where the kernel's own counter is denied.
//!
//! Needs no privileges beyond tracing a child, and works in gVisor and User-Mode Linux too. Tracing makes each call 20 to
//! 100 us slower, so it serves counting, never timing; at each call the traced thread stops twice, which the system counts
//! as context switches.

use std::process::Output;

use crate::counters::system_calls::CallCounts;

/// The output and the system calls of a traced command.
#[derive(Debug)]
pub struct Traced {
    /// Output and exit status.
    pub output: Output,
    /// System calls between marks, in all and by name; `None` without a mark.
    pub calls: Option<(u64, CallCounts)>,
}

/// Runs `command`, which must begin a process group, to its end under a tracer. Counts the system calls, in all and by
/// name, that its threads and children make between their marks (see [`crate::counters::ThreadCounters`]), and those of a
/// command that it runs (see [`crate::process::command`]). The group is killed after `limit`, or `last_chance` after `stop` is set.
pub use os::count_system_calls;

#[cfg(target_os = "linux")]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::collections::HashMap;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, ExitStatus, Output, Stdio};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use super::Traced;
    use crate::CaseError;
    use crate::case_error::not_created;
    use crate::counters::system_calls::CallCounts;
    use crate::counters::{MARK, MARK_COMMAND, MARK_START, MARK_STOP};

    /// Interval of checks for requests to stop.
    const LOOK_EVERY: Duration = Duration::from_millis(50);

    pub fn count_system_calls(
        command: &mut Command,
        limit: Duration,
        stop: &AtomicBool,
        last_chance: Duration,
    ) -> Result<Traced, CaseError> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: between fork and exec the child makes one plain system call.
        unsafe {
            command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
        let mut child = command.spawn().map_err(|e| CaseError::from_io("ptrace", &e))?;
        let pid = child.id() as libc::pid_t;
        let traced = std::thread::scope(|scope| {
            let (ended, end) = mpsc::channel::<()>();
            let watch = move || end_in_time(pid, &end, limit, stop, last_chance);
            let watched = std::thread::Builder::new().spawn_scoped(scope, watch);
            let watched = watched.map_err(|e| not_created("a thread", &e));
            let traced = watched.and_then(|_| Tracer::default().trace(pid)).inspect_err(|_| {
                // SAFETY: not reaped yet, so the pid is still our child's; its status goes nowhere.
                unsafe {
                    libc::kill(pid, libc::SIGKILL);
                    libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL);
                }
            });
            drop(ended);
            traced
        });
        // Processes that the command left behind are traced too, and would wait for this process.
        kill_group(pid);
        // The tracer has reaped the command; its output is still in the pipes.
        let (calls, status) = traced?;
        let mut output = Output { status, stdout: Vec::new(), stderr: Vec::new() };
        if let Some(mut pipe) = child.stdout.take() {
            std::io::Read::read_to_end(&mut pipe, &mut output.stdout)?;
        }
        if let Some(mut pipe) = child.stderr.take() {
            std::io::Read::read_to_end(&mut pipe, &mut output.stderr)?;
        }
        Ok(Traced { output, calls })
    }

    /// Kills the process and its group unless the other end of `end` is closed in time.
    fn end_in_time(
        pid: libc::pid_t,
        end: &mpsc::Receiver<()>,
        limit: Duration,
        stop: &AtomicBool,
        last_chance: Duration,
    ) {
        let mut deadline = Instant::now() + limit;
        let mut stopping = false;
        while end.recv_timeout(LOOK_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
            if !stopping && stop.load(Ordering::Relaxed) {
                stopping = true;
                deadline = deadline.min(Instant::now() + last_chance);
            }
            if Instant::now() >= deadline {
                // SAFETY: the traced child is reaped only after this thread was notified of its end.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                kill_group(pid);
                return;
            }
        }
    }

    fn kill_group(leader: libc::pid_t) {
        // SAFETY: a plain call. The command began a group; while that has processes, no other one gets its number.
        unsafe { libc::kill(-leader, libc::SIGKILL) };
    }

    /// State of a traced thread.
    #[derive(Default)]
    struct Thread {
        inside_call: bool,
        counting: bool,
        /// Whether the next successful execve(2) begins a command: failed attempts are not counted.
        begins_command: bool,
        /// The interrupted call that the system will repeat.
        interrupted: Option<u64>,
    }

    /// State of all traced threads.
    #[derive(Default)]
    struct Tracer {
        threads: HashMap<libc::pid_t, Thread>,
        /// Whether threads and processes that begin now are counted.
        counts_new: bool,
        /// Whether there was a mark.
        marked: bool,
        calls: u64,
        names: CallCounts,
    }

    impl Tracer {
        fn trace(
            mut self,
            leader: libc::pid_t,
        ) -> Result<(Option<(u64, CallCounts)>, ExitStatus), CaseError> {
            let mut configured = false;
            loop {
                let mut status = 0;
                // SAFETY: `status` is a valid place.
                let pid =
                    unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) };
                if pid < 0 {
                    return Err(CaseError::last_os_error("waitpid of the traced worker"));
                }
                if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                    self.threads.remove(&pid);
                    if pid == leader {
                        use std::os::unix::process::ExitStatusExt;
                        let calls = self.marked.then_some((self.calls, self.names));
                        return Ok((calls, ExitStatus::from_raw(status)));
                    }
                    continue;
                }
                if !configured {
                    set_options(leader)?;
                    configured = true;
                }
                let deliver = match libc::WSTOPSIG(status) {
                    stop if stop == libc::SIGTRAP | 0x80 => {
                        self.at_call(pid);
                        0
                    }
                    // This tracer requested these stops: exec, new threads and children.
                    libc::SIGTRAP | libc::SIGSTOP => {
                        self.thread(pid);
                        0
                    }
                    signal => signal,
                };
                // SAFETY: the thread is stopped and ours to continue; if it was killed meanwhile the
                // call fails and the next wait reports it.
                unsafe { libc::ptrace(libc::PTRACE_SYSCALL, pid, 0, deliver) };
            }
        }

        fn thread(&mut self, pid: libc::pid_t) -> &mut Thread {
            let counting = self.counts_new;
            self.threads.entry(pid).or_insert_with(|| Thread { counting, ..Thread::default() })
        }

        /// Handles a thread's entry into a call, or its exit from it.
        fn at_call(&mut self, pid: libc::pid_t) {
            let thread = self.thread(pid);
            thread.inside_call = !thread.inside_call;
            let call = call_of(pid);
            if !thread.inside_call {
                let interrupted = call.filter(|call| call.is_interrupted());
                thread.interrupted = interrupted.map(|call| call.number).or(thread.interrupted);
                return;
            }
            if let (Some(interrupted), Some(call)) = (thread.interrupted, call) {
                let returns_from_handler = call.number == libc::SYS_rt_sigreturn as u64;
                let repeats =
                    [interrupted, libc::SYS_restart_syscall as u64].contains(&call.number);
                if !returns_from_handler {
                    thread.interrupted = None;
                }
                if repeats {
                    return;
                }
            }
            match call {
                Some(Call { number, first, second, .. })
                    if number == libc::SYS_prctl as u64 && first as u32 as u64 == MARK =>
                {
                    match second {
                        MARK_START => thread.counting = true,
                        MARK_STOP => thread.counting = false,
                        MARK_COMMAND => {
                            (thread.counting, thread.begins_command) = (true, true);
                            self.counts_new = true;
                        }
                        _ => {}
                    }
                    self.marked = true;
                }
                Some(Call { number, .. })
                    if number == libc::SYS_execve as u64 && thread.begins_command => {}
                call => {
                    thread.begins_command = false;
                    if thread.counting {
                        self.calls += 1;
                        if let Some(Call { number, .. }) = call {
                            self.names.add(number as u32, 1);
                        }
                    }
                }
            }
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

    /// A call that a thread enters or leaves.
    #[derive(Debug, Clone, Copy)]
    struct Call {
        number: u64,
        first: u64,
        second: u64,
        /// The return value, when the thread leaves the call.
        result: i64,
    }

    impl Call {
        /// Whether a signal interrupted the call and the system will repeat it: the program makes one call. In gVisor the
        /// end of a child interrupts each wait for it in this way.
        fn is_interrupted(self) -> bool {
            /// ERESTARTSYS to ERESTART_RESTARTBLOCK of Linux's include/linux/errno.h, which only tracers see.
            const REPEATED: std::ops::RangeInclusive<i64> = -516..=-512;
            REPEATED.contains(&self.result)
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn call_of(pid: libc::pid_t) -> Option<Call> {
        // SAFETY: `registers` is a valid place for what the request fills.
        let registers = unsafe {
            let mut registers: libc::user_regs_struct = std::mem::zeroed();
            let done = libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut registers);
            (done == 0).then_some(registers)
        }?;
        Some(Call {
            number: registers.orig_rax,
            first: registers.rdi,
            second: registers.rsi,
            result: registers.rax as i64,
        })
    }

    #[cfg(target_arch = "aarch64")]
    fn call_of(pid: libc::pid_t) -> Option<Call> {
        const NT_PRSTATUS: libc::c_long = 1;
        // SAFETY: `place` describes `registers`, which the request fills.
        let registers = unsafe {
            let mut registers: libc::user_regs_struct = std::mem::zeroed();
            let mut place = libc::iovec {
                iov_base: (&raw mut registers).cast(),
                iov_len: size_of::<libc::user_regs_struct>(),
            };
            let done = libc::ptrace(libc::PTRACE_GETREGSET, pid, NT_PRSTATUS, &raw mut place);
            (done == 0).then_some(registers)
        }?;
        Some(Call {
            number: registers.regs[8],
            first: registers.regs[0],
            second: registers.regs[1],
            result: registers.regs[0] as i64,
        })
    }
}

#[cfg(not(target_os = "linux"))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::process::Command;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::Traced;
    use crate::CaseError;

    pub fn count_system_calls(
        _command: &mut Command,
        _limit: Duration,
        _stop: &AtomicBool,
        _last_chance: Duration,
    ) -> Result<Traced, CaseError> {
        Err(CaseError::Unsupported("system calls cannot be counted on this system".into()))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::counters::{SyscallCounting, ThreadCounters};

    /// Environment variable that is set for the traced process.
    const TRACED: &str = "OSCOST_TEST_IS_TRACED";

    static INTERRUPTIONS: AtomicU32 = AtomicU32::new(0);

    extern "C" fn count_interruption(_signal: libc::c_int) {
        INTERRUPTIONS.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until a thread of this process sleeps.
    fn await_sleep(thread: libc::pid_t) {
        let sleeps = || {
            let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
            stat.is_ok_and(|stat| {
                stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" S"))
            })
        };
        while !sleeps() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for a child, which ends when another thread has interrupted the wait twice.
    fn wait_with_interruptions() {
        let mut child = Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let end_of_child = child.stdin.take();
        let mut counters = ThreadCounters::open(SyscallCounting::Marks);
        // SAFETY: the handler changes an atomic number only; `action` is valid during the call; gettid takes nothing.
        let (waiting, thread) = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = count_interruption as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
            (libc::pthread_self(), libc::gettid())
        };
        let is_waiting = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_waiting.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                for number in 0..2 {
                    await_sleep(thread);
                    // SAFETY: that thread lives until this one has ended.
                    unsafe { libc::pthread_kill(waiting, libc::SIGALRM) };
                    while INTERRUPTIONS.load(Ordering::Relaxed) <= number {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
                drop(end_of_child);
            });
            counters.start();
            is_waiting.store(true, Ordering::Relaxed);
            // SAFETY: plain calls; the pid is that of our child.
            let waited = unsafe {
                let waited = libc::waitpid(child.id() as i32, std::ptr::null_mut(), 0);
                libc::getppid();
                waited
            };
            counters.stop();
            assert_eq!(waited, child.id() as i32);
        });
        let _ = child.try_wait();
    }

    /// In gVisor the wait for a child was counted twice: three calls instead of two.
    #[test]
    fn a_call_that_is_interrupted_and_repeated_counts_once() {
        use std::os::unix::process::CommandExt;
        if std::env::var_os(TRACED).is_some() {
            return wait_with_interruptions();
        }
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "--exact",
            "counters::tracer::tests::a_call_that_is_interrupted_and_repeated_counts_once",
        ]);
        command.args(["--test-threads", "1"]).env(TRACED, "1").process_group(0);
        let limit = Duration::from_secs(30);
        let traced =
            count_system_calls(&mut command, limit, &AtomicBool::new(false), limit).unwrap();
        assert!(traced.output.status.success(), "{traced:?}");
        let (_, names) = traced.calls.expect("marks");
        let counts: std::collections::BTreeMap<_, _> = names.named().collect();
        // A return from a handler is a call too.
        assert_eq!(
            (counts.get("wait4"), counts.get("getppid")),
            (Some(&1), Some(&1)),
            "{counts:?}"
        );
        assert!(counts.contains_key("rt_sigreturn"), "it was interrupted: {counts:?}");
    }
}
