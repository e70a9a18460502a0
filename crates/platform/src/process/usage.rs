//! Resource usage of a process, a thread, and a machine's CPUs.

use std::time::Duration;

/// Resource usage of this process since its start, including children it has waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// CPU time of all threads, in user mode and in the kernel.
    pub cpu: Duration,
    /// Voluntary context switches; `None` where the system does not count them.
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches; `None` where the system does not count them.
    pub involuntary_switches: Option<u64>,
}

impl ProcessUsage {
    /// The current values; zero where the system does not report them.
    pub fn now() -> Self {
        os::process_usage().unwrap_or_default()
    }

    /// The usage of this process's running children. A child that ends during the call may be missed. Zero where the
    /// system does not report it.
    pub fn of_running_children() -> Self {
        os::of_running_children()
    }

    /// The sum of both usages.
    pub fn plus(self, others: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a + b),
            (one, other) => one.or(other),
        };
        Self {
            cpu: self.cpu + others.cpu,
            voluntary_switches: sum(self.voluntary_switches, others.voluntary_switches),
            involuntary_switches: sum(self.involuntary_switches, others.involuntary_switches),
        }
    }

    /// The difference to an earlier value.
    pub fn since(self, earlier: Self) -> Self {
        let difference = |now: Option<u64>, then: Option<u64>| {
            now.zip(then).map(|(now, then)| now.saturating_sub(then))
        };
        Self {
            cpu: self.cpu.saturating_sub(earlier.cpu),
            voluntary_switches: difference(self.voluntary_switches, earlier.voluntary_switches),
            involuntary_switches: difference(
                self.involuntary_switches,
                earlier.involuntary_switches,
            ),
        }
    }
}

/// CPU time of the calling thread; `None` where the system does not report it, or only in steps too coarse for jobs of
/// milliseconds.
pub use os::thread_cpu_time;

/// Time since boot in which `cpus` ran any program, summed, in steps of about 10 ms; `None` where the system does not
/// report it.
pub use os::busy_time;

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
pub(crate) mod os {
    use std::time::Duration;

    use super::ProcessUsage;
    #[cfg(not(target_os = "linux"))]
    pub use super::unknown::{busy_time, of_running_children};
    use crate::counters::usage::{COUNTED, read_of};

    pub fn process_usage() -> Option<ProcessUsage> {
        let (own, children) = (read_of(libc::RUSAGE_SELF)?, read_of(libc::RUSAGE_CHILDREN)?);
        let cpu = |usage: &libc::rusage| {
            of_timeval(usage.ru_utime).saturating_add(of_timeval(usage.ru_stime))
        };
        Some(ProcessUsage {
            cpu: cpu(&own).saturating_add(cpu(&children)),
            voluntary_switches: COUNTED.switches(own.ru_nvcsw + children.ru_nvcsw),
            involuntary_switches: COUNTED.switches(own.ru_nivcsw + children.ru_nivcsw),
        })
    }

    /// Reads /proc (proc_tid_children(5), proc_pid_status(5)); for a child with several threads, the values of the first.
    #[cfg(target_os = "linux")]
    pub fn of_running_children() -> ProcessUsage {
        let mut sum = ProcessUsage::default();
        let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return sum };
        for thread in threads.flatten() {
            let children = std::fs::read_to_string(thread.path().join("children"));
            for pid in children.unwrap_or_default().split_whitespace() {
                sum = sum.plus(of_process(pid).unwrap_or_default());
            }
        }
        sum
    }

    #[cfg(target_os = "linux")]
    fn of_process(pid: &str) -> Option<ProcessUsage> {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
        let cpu_ns = read("schedstat")?.split_whitespace().next()?.parse().ok()?;
        let status = read("status")?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim_start_matches(':').trim().parse().ok()
        };
        Some(ProcessUsage {
            cpu: Duration::from_nanos(cpu_ns),
            voluntary_switches: field("voluntary_ctxt_switches"),
            involuntary_switches: field("nonvoluntary_ctxt_switches"),
        })
    }

    pub fn of_timeval(time: libc::timeval) -> Duration {
        Duration::new(time.tv_sec.max(0) as u64, time.tv_usec.max(0) as u32 * 1_000)
    }

    pub fn thread_cpu_time() -> Option<Duration> {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `now` is a valid timespec for the call to fill.
        let done = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
        (done == 0).then(|| Duration::new(now.tv_sec as u64, now.tv_nsec as u32))
    }

    /// Reads `/proc/stat`, in ticks (proc_stat(5)): all times but idle and iowait. Time that guests used is part of user
    /// time.
    #[cfg(target_os = "linux")]
    pub fn busy_time(cpus: &[usize]) -> Option<Duration> {
        // SAFETY: the call has no pointers.
        let ticks_per_s = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
        let text = std::fs::read_to_string("/proc/stat").ok()?;
        let mut ticks = 0;
        for cpu in cpus {
            let name = format!("cpu{cpu}");
            let mut lines = text.lines().map(str::split_whitespace);
            let fields = lines.find_map(|mut words| (words.next()? == name).then_some(words))?;
            let fields = fields.take(8).map(str::parse).collect::<Result<Vec<u64>, _>>().ok()?;
            let [user, nice, system, _idle, _iowait, irq, softirq, steal] = fields[..] else {
                return None;
            };
            ticks += user + nice + system + irq + softirq + steal;
        }
        Some(Duration::from_millis(ticks * 1_000 / ticks_per_s.max(1)))
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::time::Duration;

    use windows_sys::Win32::System::Threading::GetCurrentProcess;

    use super::ProcessUsage;
    pub use super::unknown::{busy_time, of_running_children};
    use crate::windows::cpu_times;

    pub fn process_usage() -> Option<ProcessUsage> {
        // SAFETY: the pseudo handle needs no closing.
        let times = cpu_times(unsafe { GetCurrentProcess() })?;
        Some(ProcessUsage { cpu: times.kernel + times.user, ..ProcessUsage::default() })
    }

    /// Returns `None`: Windows counts a thread's time in ticks of the clock.
    pub fn thread_cpu_time() -> Option<Duration> {
        None
    }
}

/// Values that only Linux reports.
#[cfg(not(target_os = "linux"))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod unknown {
    use std::time::Duration;

    use super::ProcessUsage;

    pub fn of_running_children() -> ProcessUsage {
        ProcessUsage::default()
    }

    pub fn busy_time(_cpus: &[usize]) -> Option<Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps this thread busy for about `length` of CPU time. Where that is unknown, it is taken from the fastest part of the work, in
    /// which no other program had the CPU.
    fn work(length: Duration) {
        let spent = thread_cpu_time();
        let mut fastest = Duration::MAX;
        for parts in 1u32.. {
            let began = std::time::Instant::now();
            for turn in 0..10_000u32 {
                std::hint::black_box(turn);
            }
            fastest = fastest.min(began.elapsed());
            let used = thread_cpu_time().zip(spent).map(|(now, then)| now - then);
            if used.unwrap_or(fastest * parts) >= length {
                return;
            }
        }
    }

    #[test]
    fn work_of_all_threads_is_the_process_own() {
        let before = ProcessUsage::now();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| work(Duration::from_millis(60)));
            }
        });
        let spent = ProcessUsage::now().since(before);
        // A coarse clock may miss a step of 16 ms at each end.
        assert!(spent.cpu >= Duration::from_millis(70), "{spent:?}");
        assert_eq!(spent.voluntary_switches.is_some(), cfg!(unix));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_busy_processor_is_seen() {
        let cpu = *crate::cpu::allowed().last().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                crate::cpu::pin_thread(cpu).unwrap();
                let before = busy_time(&[cpu]).unwrap();
                work(Duration::from_millis(100));
                let busy = busy_time(&[cpu]).unwrap() - before;
                assert!(busy >= Duration::from_millis(70), "{busy:?}");
            });
        });
        assert_eq!(busy_time(&[999_999]), None);
    }
}
