//! The CPUs that this process may use, and pinning threads to them.

pub mod chain;
pub mod topology;

use crate::{CaseError, IS_LINUX};

/// The CPUs that the calling thread may use; `None` where they cannot differ from the process's, or the system does not
/// report them.
pub fn allowed_to_thread() -> Option<Vec<usize>> {
    IS_LINUX.then(allowed)
}

/// The CPUs this process may run on, ascending. Never empty: where the system does not report them, CPUs 0 to the reported
/// number of CPUs.
pub fn allowed() -> Vec<usize> {
    let known = os::allowed();
    if !known.is_empty() {
        return known;
    }
    let count = std::thread::available_parallelism().map_or(1, |n| n.get());
    (0..count).collect()
}

/// The runnable threads of the whole machine, and all its CPUs, including those that this process may not use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunQueue {
    /// Runnable threads, without the calling one.
    pub others: usize,
    /// Online CPUs.
    pub online: usize,
}

/// The CPUs of [`allowed`]; empty where the system does not report them.
#[cfg(windows)]
pub(crate) use os::allowed as affinity;

/// The machine's current run queue; `None` where the system does not report both values.
pub use os::run_queue;

/// Pins the calling thread to `cpu`; on Linux also threads that it starts later.
pub fn pin_thread(cpu: usize) -> Result<(), CaseError> {
    os::pin_to(&[cpu])
}

/// Pins the thread of this process that has the id `thread`.
#[cfg(target_os = "linux")]
pub fn pin_other(thread: libc::pid_t, cpu: usize) -> Result<(), CaseError> {
    os::pin(thread, &[cpu])
}

/// Lets the calling thread run on any of `cpus`.
pub fn pin_thread_to_any(cpus: &[usize]) -> Result<(), CaseError> {
    os::pin_to(cpus)
}

/// Restricts this process to `cpus`: the calling thread and all that it starts from now on.
pub use os::keep_process_to;

/// The CPU that the calling thread runs on now; `None` where the system does not report it. Takes a few ns, unless it is a
/// [system call](current_is_system_call).
pub use os::current;

/// Whether [`current`] is a system call on Linux, as in gVisor, judged by its time. Other systems return `false`
/// unmeasured: on Windows there are no counts of system calls to falsify, and in Wine [`current`] takes 0.3 % of a
/// hand-over between threads.
pub fn current_is_system_call() -> bool {
    let ask = || {
        std::hint::black_box(current());
    };
    IS_LINUX && takes_as_long(ask, null_call)
}

/// Whether `one` takes at least about as long as `other`, not a small part of that time. The calls alternate, and the
/// shortest times count.
fn takes_as_long(one: impl Fn(), other: impl Fn()) -> bool {
    let time = |call: &dyn Fn()| {
        let begin = std::time::Instant::now();
        (0..20).for_each(|_| call());
        begin.elapsed()
    };
    let mut least = [std::time::Duration::MAX; 2];
    for _ in 0..20 {
        least = [least[0].min(time(&one)), least[1].min(time(&other))];
    }
    least[0] * 4 >= least[1]
}

/// Makes one cheap call that enters the kernel and does almost nothing there: the sentinel's reference for the cost of
/// kernel entry and exit.
pub use os::null_call;

#[cfg(target_os = "linux")]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use super::RunQueue;
    use crate::CaseError;
    use crate::linux::tree::cpus_in;

    /// Enough for 8,192 CPUs, the maximum of Linux on x86-64.
    type Mask = [u64; 128];

    pub fn allowed() -> Vec<usize> {
        let mut mask: Mask = [0; 128];
        // SAFETY: the pointer and size describe `mask`.
        let bytes = unsafe {
            libc::syscall(libc::SYS_sched_getaffinity, 0, size_of::<Mask>(), mask.as_mut_ptr())
        };
        if bytes <= 0 {
            return Vec::new();
        }
        (0..mask.len() * 64).filter(|cpu| mask[cpu / 64] >> (cpu % 64) & 1 == 1).collect()
    }

    /// The fourth field of `/proc/loadavg` begins with the number of runnable threads.
    pub fn run_queue() -> Option<RunQueue> {
        let text = std::fs::read_to_string("/proc/loadavg").ok()?;
        let running = text.split_whitespace().nth(3)?.split('/').next()?;
        let others = running.parse::<usize>().ok()?.checked_sub(1)?;
        // sysconf(3) does not serve here: in musl it counts only the CPUs that this process may use.
        let list = std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
        Some(RunQueue { others, online: cpus_in(list.trim())?.len() })
    }

    pub fn pin_to(cpus: &[usize]) -> Result<(), CaseError> {
        pin(0, cpus)
    }

    /// Pins the thread with the id `thread`, or the calling one if it is 0.
    pub fn pin(thread: libc::pid_t, cpus: &[usize]) -> Result<(), CaseError> {
        let mut mask: Mask = [0; 128];
        for &cpu in cpus {
            if let Some(word) = mask.get_mut(cpu / 64) {
                *word |= 1 << (cpu % 64);
            }
        }
        // SAFETY: the pointer and size describe `mask`.
        let done = unsafe {
            libc::syscall(libc::SYS_sched_setaffinity, thread, size_of::<Mask>(), mask.as_ptr())
        };
        if done == 0 { Ok(()) } else { Err(CaseError::last_os_error("sched_setaffinity")) }
    }

    /// Threads inherit the CPUs of the thread that starts them.
    pub fn keep_process_to(cpus: &[usize]) -> Result<(), CaseError> {
        pin_to(cpus)
    }

    #[inline(always)]
    pub fn current() -> Option<usize> {
        // SAFETY: takes nothing.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    #[inline(always)]
    pub fn null_call() {
        // SAFETY: getppid has no arguments and cannot fail.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod other_unix {
    use crate::CaseError;
    use crate::cpu::RunQueue;

    /// Threads inherit the CPUs of the thread that starts them.
    pub fn keep_process_to(cpus: &[usize]) -> Result<(), CaseError> {
        super::os::pin_to(cpus)
    }

    pub fn run_queue() -> Option<RunQueue> {
        None
    }

    #[inline(always)]
    pub fn current() -> Option<usize> {
        None
    }

    #[inline(always)]
    pub fn null_call() {
        // SAFETY: getppid has no arguments and cannot fail.
        unsafe { libc::getppid() };
    }
}

#[cfg(target_os = "freebsd")]
mod os {
    pub use super::other_unix::{current, keep_process_to, null_call, run_queue};
    use crate::CaseError;

    pub fn allowed() -> Vec<usize> {
        // SAFETY: an all-zero cpuset_t is an empty set; the size passed is its own.
        unsafe {
            let mut set: libc::cpuset_t = std::mem::zeroed();
            let done = libc::cpuset_getaffinity(
                libc::CPU_LEVEL_WHICH,
                libc::CPU_WHICH_TID,
                -1,
                size_of::<libc::cpuset_t>(),
                &mut set,
            );
            if done != 0 {
                return Vec::new();
            }
            (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
        }
    }

    pub fn pin_to(cpus: &[usize]) -> Result<(), CaseError> {
        // SAFETY: as above.
        let done = unsafe {
            let mut set: libc::cpuset_t = std::mem::zeroed();
            for &cpu in cpus {
                libc::CPU_SET(cpu, &mut set);
            }
            libc::cpuset_setaffinity(
                libc::CPU_LEVEL_WHICH,
                libc::CPU_WHICH_TID,
                -1,
                size_of::<libc::cpuset_t>(),
                &set,
            )
        };
        if done == 0 { Ok(()) } else { Err(CaseError::last_os_error("cpuset_setaffinity")) }
    }
}

#[cfg(target_os = "macos")]
mod os {
    pub use super::other_unix::{current, keep_process_to, null_call, run_queue};
    use crate::CaseError;

    pub fn allowed() -> Vec<usize> {
        Vec::new()
    }

    pub fn pin_to(_cpus: &[usize]) -> Result<(), CaseError> {
        Err(CaseError::Unsupported("macOS cannot keep a thread on one CPU".into()))
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use windows_sys::Win32::System::Threading::{
        GetCurrentProcess, GetCurrentProcessorNumber, GetCurrentThread, GetProcessAffinityMask,
        SetProcessAffinityMask, SetThreadAffinityMask,
    };

    use super::RunQueue;
    use crate::CaseError;

    pub fn allowed() -> Vec<usize> {
        let (mut process, mut system) = (0usize, 0usize);
        // SAFETY: both masks are valid places; the pseudo handle needs no closing.
        let done =
            unsafe { GetProcessAffinityMask(GetCurrentProcess(), &mut process, &mut system) };
        if done == 0 {
            return Vec::new();
        }
        (0..usize::BITS as usize).filter(|cpu| process >> cpu & 1 == 1).collect()
    }

    fn mask_of(cpus: &[usize]) -> usize {
        let usable = cpus.iter().filter(|&&cpu| cpu < usize::BITS as usize);
        usable.fold(0usize, |mask, cpu| mask | 1 << cpu)
    }

    /// All threads have the process's CPUs.
    pub fn keep_process_to(cpus: &[usize]) -> Result<(), CaseError> {
        // SAFETY: the pseudo handle needs no closing; a wrong mask is an error, not harm.
        match unsafe { SetProcessAffinityMask(GetCurrentProcess(), mask_of(cpus)) } {
            0 => Err(CaseError::last_os_error("SetProcessAffinityMask")),
            _ => pin_to(cpus),
        }
    }

    pub fn run_queue() -> Option<RunQueue> {
        None
    }

    pub fn pin_to(cpus: &[usize]) -> Result<(), CaseError> {
        let mask = mask_of(cpus);
        // SAFETY: the pseudo handle needs no closing; a wrong mask is an error, not harm.
        let old = unsafe { SetThreadAffinityMask(GetCurrentThread(), mask) };
        if old != 0 { Ok(()) } else { Err(CaseError::last_os_error("SetThreadAffinityMask")) }
    }

    #[inline(always)]
    pub fn current() -> Option<usize> {
        // SAFETY: takes nothing.
        Some(unsafe { GetCurrentProcessorNumber() } as usize)
    }

    #[inline(always)]
    pub fn null_call() {
        NtGetCurrentProcessorNumber();
    }

    #[link(name = "ntdll")]
    unsafe extern "system" {
        /// Enters the kernel, unlike kernel32's GetCurrentProcessorNumber, and never gives up the CPU, unlike
        /// SwitchToThread.
        safe fn NtGetCurrentProcessorNumber() -> u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_system_call_takes_as_long_as_another_and_the_present_cpu_is_no_system_call() {
        assert!(takes_as_long(null_call, null_call));
        assert!(!takes_as_long(|| (), null_call));
        assert!(!current_is_system_call());
    }

    #[test]
    fn a_pinned_thread_stays_where_it_was_put() {
        let cpus = allowed();
        assert!(!cpus.is_empty());
        let last = *cpus.last().unwrap();
        std::thread::spawn(move || {
            pin_thread(last).unwrap();
            #[cfg(not(windows))]
            assert_eq!(allowed(), vec![last]);
            // On Windows `allowed` reports the process's CPUs.
            assert!(current().is_none_or(|cpu| cpu == last));
        })
        .join()
        .unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn other_runnable_threads_are_counted() {
        if !std::path::Path::new("/sys/devices/system/cpu/online").exists() {
            return testing::skip("there is no /sys");
        }
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let seen = (0..5_000).any(|_| {
                std::thread::sleep(std::time::Duration::from_micros(100));
                run_queue().is_some_and(|queue| queue.others >= 1)
            });
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(seen);
        });
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn all_cpus_are_counted_also_if_this_process_may_not_use_them() {
        let all = run_queue().map(|queue| queue.online);
        std::thread::spawn(move || {
            pin_thread(allowed()[0]).unwrap();
            assert_eq!(run_queue().map(|queue| queue.online), all);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn an_impossible_processor_is_refused() {
        assert!(pin_thread(100_000).is_err());
    }
}
