//! Resource usage of another process and its descendants.

use std::time::Duration;

use crate::CaseError;

/// Resource usage of a process and all its descendants at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessTree {
    /// CPU time since the start of each process, including ended threads and, in steps of 10 ms, children that ended and
    /// were waited for. On Linux it is exact to the nanosecond for running processes.
    pub cpu: Duration,
    /// Memory in bytes: private pages, a share of shared pages, and page tables (Linux); private bytes (Windows). `None`
    /// if this process may not read it.
    pub memory: Option<u64>,
    /// Number of processes.
    pub processes: usize,
    /// Number of threads.
    pub threads: usize,
    /// Number of open descriptors or handles; `None` if this process may not read it.
    pub descriptors: Option<usize>,
}

/// Maximum number of processes that are read, so that reading a growing tree ends.
pub const PROCESSES_AT_MOST: usize = 100_000;

impl ProcessTree {
    /// Reads the current usage of the process `pid` and its descendants; on Windows of the process itself. Memory and
    /// descriptors take the longest.
    ///
    /// # Errors
    /// If there is no such process, or this system does not report its usage.
    pub fn of(pid: u32) -> Result<Self, CaseError> {
        os::read(pid, true)
    }

    /// Reads the usage without memory and descriptors, which is much faster than [`of`](Self::of).
    ///
    /// # Errors
    /// See [`of`](Self::of).
    pub fn cpu_of(pid: u32) -> Result<Self, CaseError> {
        os::read(pid, false)
    }
}

#[cfg(target_os = "linux")]
mod os {
    use std::fs;
    use std::time::Duration;

    use super::{PROCESSES_AT_MOST, ProcessTree};
    use crate::CaseError;

    pub fn read(pid: u32, with_memory: bool) -> Result<ProcessTree, CaseError> {
        let gone = || CaseError::Failed(format!("there is no process {pid}"));
        let mut tree = one(pid, with_memory).ok_or_else(gone)?;
        let mut waiting = children(pid);
        while let Some(child) = waiting.pop() {
            if tree.processes >= PROCESSES_AT_MOST {
                break;
            }
            // If the child has ended, its CPU time counts for its parent.
            if let Some(read) = one(child, with_memory) {
                tree = sum(tree, read);
                waiting.extend(children(child));
            }
        }
        Ok(tree)
    }

    fn sum(a: ProcessTree, b: ProcessTree) -> ProcessTree {
        ProcessTree {
            cpu: a.cpu + b.cpu,
            // A process that is ending has no memory any more.
            memory: a.memory.map(|a| a + b.memory.unwrap_or(0)),
            processes: a.processes + b.processes,
            threads: a.threads + b.threads,
            descriptors: a.descriptors.map(|a| a + b.descriptors.unwrap_or(0)),
        }
    }

    fn one(pid: u32, with_memory: bool) -> Option<ProcessTree> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let stat = Stat::parse(&stat)?;
        Some(ProcessTree {
            cpu: cpu_clock(pid).unwrap_or(stat.own).max(stat.own) + stat.waited_for,
            memory: if with_memory { memory(pid) } else { None },
            processes: 1,
            threads: stat.threads,
            descriptors: if with_memory { descriptors(pid) } else { None },
        })
    }

    /// Fields of `/proc/PID/stat` (proc_pid_stat(5)).
    struct Stat {
        own: Duration,
        waited_for: Duration,
        threads: usize,
    }

    impl Stat {
        fn parse(text: &str) -> Option<Stat> {
            // SAFETY: the call has no pointers.
            let ticks_per_s = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
            let fields: Vec<&str> = text.rsplit_once(") ")?.1.split_whitespace().collect();
            let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
            let time =
                |ticks: u64| Duration::from_nanos(ticks * (1_000_000_000 / ticks_per_s.max(1)));
            Some(Stat {
                own: time(ticks(11)? + ticks(12)?),
                waited_for: time(ticks(13)? + ticks(14)?),
                threads: ticks(17)? as usize,
            })
        }
    }

    /// The CPU-time clock of a process, including ended threads. Any process may read it.
    fn cpu_clock(pid: u32) -> Option<Duration> {
        let mut clock = 0;
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: both are valid places for the calls to fill.
        let done = unsafe {
            libc::clock_getcpuclockid(pid as libc::pid_t, &mut clock) == 0
                && libc::clock_gettime(clock, &mut now) == 0
        };
        done.then(|| Duration::new(now.tv_sec as u64, now.tv_nsec as u32))
    }

    /// The process's proportional share of its pages, and its page tables, in bytes.
    fn memory(pid: u32) -> Option<u64> {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        Some(kilobytes(&rollup, "Pss:")? + kilobytes(&status, "VmPTE:").unwrap_or(0))
    }

    fn kilobytes(text: &str, name: &str) -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    }

    /// The number of open descriptors: since Linux 6.2 the folder's size.
    fn descriptors(pid: u32) -> Option<usize> {
        let folder = format!("/proc/{pid}/fd");
        match fs::metadata(&folder).ok()?.len() {
            0 => Some(fs::read_dir(&folder).ok()?.count()),
            count => Some(count as usize),
        }
    }

    /// Children of all threads of a process.
    fn children(pid: u32) -> Vec<u32> {
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
        let lists = threads.flatten().filter_map(|thread| {
            fs::read_to_string(thread.path().join("children")).ok().filter(|list| !list.is_empty())
        });
        lists.flat_map(|list| numbers(&list)).collect()
    }

    fn numbers(list: &str) -> Vec<u32> {
        list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }
}

#[cfg(windows)]
mod os {
    use windows_sys::Win32::Foundation::{CloseHandle, HANDLE};
    use windows_sys::Win32::System::Threading::{
        GetProcessHandleCount, OpenProcess, PROCESS_QUERY_INFORMATION, PROCESS_VM_READ,
    };

    use super::ProcessTree;
    use crate::CaseError;
    use crate::windows::{cpu_times, memory};

    pub fn read(pid: u32, with_memory: bool) -> Result<ProcessTree, CaseError> {
        // SAFETY: the handle is checked, used for queries, and closed.
        unsafe {
            let process = OpenProcess(PROCESS_QUERY_INFORMATION | PROCESS_VM_READ, 0, pid);
            if process.is_null() {
                return Err(CaseError::last_os_error(&format!("process {pid}")));
            }
            let cpu = cpu_times(process).map(|times| times.kernel + times.user);
            let cpu = cpu.ok_or_else(|| CaseError::last_os_error("GetProcessTimes"));
            let (memory, descriptors) = match with_memory {
                true => (memory(process).map(|m| m.PagefileUsage as u64), handles(process)),
                false => (None, None),
            };
            CloseHandle(process);
            Ok(ProcessTree { cpu: cpu?, memory, processes: 1, threads: 1, descriptors })
        }
    }

    fn handles(process: HANDLE) -> Option<usize> {
        let mut count = 0;
        // SAFETY: the handle is open and `count` a valid place.
        let done = unsafe { GetProcessHandleCount(process, &mut count) };
        (done != 0).then_some(count as usize)
    }
}

#[cfg(not(any(target_os = "linux", windows)))]
mod os {
    use super::ProcessTree;
    use crate::CaseError;

    pub fn read(_pid: u32, _with_memory: bool) -> Result<ProcessTree, CaseError> {
        Err(CaseError::Unsupported("what another process uses is read on Linux and Windows".into()))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_tree_has_all_its_processes_and_what_they_spent() {
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 60 & echo; wait";
        let mut child =
            Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        let read = ProcessTree::of(child.id());
        let fast = ProcessTree::cpu_of(child.id());
        let (read, fast) = (read.unwrap(), fast.unwrap());
        let pids = {
            let list = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id()));
            list.unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        for pid in &pids {
            let _ = Command::new("kill").arg(pid).status();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(read.processes >= 2 && read.threads >= read.processes, "{read:?}");
        assert!(read.cpu > Duration::ZERO && fast.cpu >= read.cpu, "{read:?} {fast:?}");
        assert!(read.memory.is_some_and(|bytes| bytes > 50_000), "{read:?}");
        assert!(read.descriptors.is_some_and(|count| count >= 4), "{read:?}");
    }

    #[test]
    fn a_missing_process_is_an_error() {
        let read = ProcessTree::of(u32::MAX / 2);
        assert!(read.unwrap_err().to_string().starts_with("there is no process"));
    }
}
