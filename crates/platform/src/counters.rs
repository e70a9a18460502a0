//! Counters of the calling thread: system calls, context switches, page faults, instructions, cycles.
//!
//! System calls are counted with the tracepoint `raw_syscalls:sys_enter` where this is permitted
//! (root), else by an external tracer (see [`crate::counters::tracer`]), for which [`ThreadCounters`] leaves
//! marks. Switches and faults come from `getrusage`, instructions and cycles from the PMU.

#[cfg(target_os = "linux")]
mod call_log;
pub mod system_calls;
pub mod tracer;

use crate::counters::system_calls::CallCounts;

/// The counts between [`ThreadCounters::start`] and [`ThreadCounters::stop`]; `None` where this
/// system cannot count them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// System calls entered.
    pub syscalls: Option<u64>,
    /// Calls by name; empty where only their number is known.
    pub calls: CallCounts,
    /// Voluntary context switches.
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches.
    pub involuntary_switches: Option<u64>,
    /// Page faults, minor and major.
    pub page_faults: Option<u64>,
    /// Instructions retired in user mode and kernel.
    pub instructions: Option<u64>,
    /// CPU cycles in user mode and kernel.
    pub cycles: Option<u64>,
}

/// The way in which system calls are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyscallCounting {
    /// The kernel, at the tracepoint with this id.
    Tracepoint(u64),
    /// An external tracer, which counts between marks.
    Marks,
    /// System calls are not counted.
    None,
}

#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as os;

#[cfg(not(target_os = "linux"))]
mod uncounted;

pub use os::ThreadCounters;
#[cfg(target_os = "linux")]
pub use os::{HeldTracepoint, ProcessCounter, syscall_tracepoint};
#[cfg(not(target_os = "linux"))]
pub use uncounted::{HeldTracepoint, ProcessCounter, syscall_tracepoint};
#[cfg(unix)]
pub use usage::{involuntary_switches, voluntary_switches};
#[cfg(windows)]
pub use windows::{involuntary_switches, voluntary_switches};

/// First argument of the `prctl` that marks start and stop for the tracer ("osct").
#[cfg(target_os = "linux")]
pub(crate) const MARK: u64 = 0x6f73_6374;
#[cfg(target_os = "linux")]
pub(crate) const MARK_START: u64 = 1;
#[cfg(target_os = "linux")]
pub(crate) const MARK_STOP: u64 = 2;
/// Mark: count the calls of this thread after its next successful execve(2), and of all threads and processes that begin
/// later.
#[cfg(target_os = "linux")]
pub(crate) const MARK_COMMAND: u64 = 3;
#[cfg(target_os = "linux")]
pub(crate) use os::{counter_of_group, mark_command, perf_tracepoint, read_one};

/// Context switches and page faults, from getrusage(2).
#[cfg(unix)]
pub(crate) mod usage {
    use std::sync::LazyLock;
    use std::time::Duration;

    use super::Counts;

    /// Which fields of an rusage the system counts: gVisor leaves all of these at 0.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Counted {
        pub(crate) switches: bool,
        pub(crate) faults: bool,
    }

    /// Determined once, since the sleep may take a millisecond.
    pub(crate) static COUNTED: LazyLock<Counted> = LazyLock::new(|| {
        Counted::by(|| read_of(libc::RUSAGE_SELF), || std::thread::sleep(Duration::from_millis(1)))
    });

    impl Counted {
        /// Determines which fields are counted: a process has had page faults when its first line is executed, and switches
        /// at the latest after it has slept.
        fn by(usage: impl Fn() -> Option<libc::rusage>, sleep: impl FnOnce()) -> Self {
            let switches =
                || usage().is_some_and(|usage| usage.ru_nvcsw > 0 || usage.ru_nivcsw > 0);
            let has_switches = || {
                sleep();
                switches()
            };
            Self {
                switches: switches() || has_switches(),
                faults: usage().is_some_and(|usage| usage.ru_minflt > 0 || usage.ru_majflt > 0),
            }
        }

        /// `count`, if switches are counted; else `None`.
        pub(crate) fn switches(self, count: libc::c_long) -> Option<u64> {
            self.switches.then_some(count.max(0) as u64)
        }

        /// `count`, if page faults are counted; else `None`.
        pub(crate) fn faults(self, count: libc::c_long) -> Option<u64> {
            self.faults.then_some(count.max(0) as u64)
        }
    }

    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    const WHO: libc::c_int = libc::RUSAGE_THREAD;
    #[cfg(target_os = "macos")]
    const WHO: libc::c_int = libc::RUSAGE_SELF;

    /// Usage of the calling thread; of the process where threads are not counted separately.
    pub fn read() -> Option<libc::rusage> {
        read_of(WHO)
    }

    /// Usage of a process, its children or a thread; `who` is as in getrusage(2).
    pub(crate) fn read_of(who: libc::c_int) -> Option<libc::rusage> {
        // SAFETY: an all-zero rusage is valid, and the call fills it.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::getrusage(who, &mut usage) == 0).then_some(usage)
        }
    }

    /// Voluntary context switches of the calling thread since its start; `None` where unknown.
    pub fn voluntary_switches() -> Option<u64> {
        read().and_then(|usage| COUNTED.switches(usage.ru_nvcsw))
    }

    /// Involuntary context switches of the calling thread since its start; 0 where unknown.
    pub fn involuntary_switches() -> u64 {
        read().map_or(0, |usage| usage.ru_nivcsw.max(0) as u64)
    }

    pub fn between(before: Option<libc::rusage>, after: Option<libc::rusage>) -> Counts {
        let (Some(before), Some(after)) = (before, after) else { return Counts::default() };
        let faults = |usage: &libc::rusage| usage.ru_minflt + usage.ru_majflt;
        Counts {
            voluntary_switches: COUNTED.switches(after.ru_nvcsw - before.ru_nvcsw),
            involuntary_switches: COUNTED.switches(after.ru_nivcsw - before.ru_nivcsw),
            page_faults: COUNTED.faults(faults(&after) - faults(&before)),
            ..Counts::default()
        }
    }

    #[cfg(test)]
    mod tests {
        use std::cell::Cell;

        use super::*;

        /// gVisor leaves the switches at zero, so every sleep and every hand-over was reported as made without one.
        #[test]
        fn what_a_system_leaves_at_zero_is_not_counted() {
            let counted = |faults, switches, after_sleep| {
                let slept = Cell::new(false);
                let usage = || {
                    // SAFETY: an all-zero rusage is valid.
                    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
                    usage.ru_minflt = faults;
                    usage.ru_nivcsw = switches;
                    usage.ru_nvcsw = if slept.get() { after_sleep } else { 0 };
                    Some(usage)
                };
                let counted = Counted::by(usage, || slept.set(true));
                (counted.switches(3), counted.faults(7), slept.get())
            };
            assert_eq!(counted(0, 0, 0), (None, None, true));
            assert_eq!(counted(90, 2, 0), (Some(3), Some(7), false));
            assert_eq!(counted(90, 0, 1), (Some(3), Some(7), true));
            assert_eq!(Counted::by(|| None, || ()), Counted { switches: false, faults: false });
            assert_eq!(
                *COUNTED,
                Counted { switches: true, faults: true },
                "on systems of the tests"
            );
        }
    }
}

/// An event that a counter of a control group counts.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy)]
pub(crate) enum GroupEvent {
    /// Passes of the tracepoint with this id that the filter accepts, if there is one (an expression of the kernel's
    /// Documentation/trace/events.rst).
    Tracepoint(u64, Option<&'static std::ffi::CStr>),
    /// Context switches.
    ContextSwitches,
}

#[cfg(target_os = "linux")]
mod os {
    use std::fs::{self, File};
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

    use super::{
        CallCounts, Counts, GroupEvent, MARK, MARK_START, MARK_STOP, SyscallCounting, usage,
    };
    use crate::counters::call_log::CallLog;

    /// Counters of the thread that opened them.
    pub struct ThreadCounters {
        syscalls: Option<OwnedFd>,
        /// A log of the first calls; `None` where the system does not record them.
        log: Option<CallLog>,
        instructions: Option<OwnedFd>,
        cycles: Option<OwnedFd>,
        marks: bool,
        before: Option<libc::rusage>,
    }

    impl ThreadCounters {
        /// Opens the permitted counters; the others stay `None` in [`Counts`].
        pub fn open(counting: SyscallCounting) -> Self {
            let (syscalls, log) = match counting {
                SyscallCounting::Tracepoint(id) => logged_event(id),
                _ => (None, None),
            };
            Self {
                syscalls,
                log,
                instructions: perf_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS),
                cycles: perf_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES),
                marks: counting == SyscallCounting::Marks,
                before: None,
            }
        }

        /// Begins to count. The counter of system calls starts last, so that it does not count this function's own calls.
        pub fn start(&mut self) {
            self.before = usage::read();
            for counter in [&self.instructions, &self.cycles, &self.syscalls] {
                control(counter, PERF_EVENT_IOC_ENABLE);
            }
            if self.marks {
                mark(MARK_START);
            }
        }

        /// Ends counting, of system calls first.
        pub fn stop(&mut self) -> Counts {
            if self.marks {
                mark(MARK_STOP);
            }
            for counter in [&self.syscalls, &self.cycles, &self.instructions] {
                control(counter, PERF_EVENT_IOC_DISABLE);
            }
            let usage = usage::between(self.before, usage::read());
            // The kernel counted the entry of the call that disables the counter.
            let syscalls = read(&self.syscalls).map(|count| count.saturating_sub(1));
            Counts {
                syscalls,
                calls: self.calls(syscalls),
                instructions: read(&self.instructions),
                cycles: read(&self.cycles),
                ..usage
            }
        }
    }

    impl ThreadCounters {
        /// All calls by name: the log has room for the first ones only, and these are scaled to `all`.
        fn calls(&self, all: Option<u64>) -> CallCounts {
            let (Some(log), Some(all)) = (&self.log, all) else { return CallCounts::default() };
            let mut calls = log.calls();
            if calls.total() > all {
                calls.remove_one(libc::SYS_ioctl as u32); // the call that disabled the counter
            }
            calls.scaled_to(all)
        }
    }

    /// Opens a counter of calls at the tracepoint, with a log of the first ones where the system permits it.
    fn logged_event(tracepoint: u64) -> (Option<OwnedFd>, Option<CallLog>) {
        let sampled = recording_event(PERF_TYPE_TRACEPOINT, tracepoint, PERF_SAMPLE_RAW);
        match sampled.map(|fd| (CallLog::of(&fd), fd)) {
            Some((Some(log), fd)) => (Some(fd), Some(log)),
            _ => (perf_event(PERF_TYPE_TRACEPOINT, tracepoint), None),
        }
    }

    /// Counts the system calls of a thread, and of the threads and processes that it starts, from now on.
    pub struct ProcessCounter(OwnedFd);

    impl ProcessCounter {
        /// Begins to count the calls of the calling thread at the tracepoint. `None` where this is not permitted.
        pub fn start(tracepoint: u64) -> Option<Self> {
            let counter = perf_event_of(PERF_TYPE_TRACEPOINT, tracepoint, FLAG_INHERIT)?;
            Some(Self(counter))
        }

        /// Counts the calls of processes that the calling thread starts from now on, each after its execve(2). `None` where
        /// this is not permitted.
        pub fn from_exec(tracepoint: u64) -> Option<Self> {
            let flags = FLAG_DISABLED | FLAG_INHERIT | FLAG_ENABLE_ON_EXEC;
            perf_event_of(PERF_TYPE_TRACEPOINT, tracepoint, flags).map(Self)
        }

        /// System calls counted so far.
        pub fn syscalls(&self) -> Option<u64> {
            read_one(&self.0)
        }
    }

    /// Keeps the kernel's tracepoint of system calls enabled. The first process to open it patches kernel code, and the
    /// last to close it waits until no CPU executes that code: 36 ms for each process that counts, or 0.1 ms with this held
    /// (measured).
    pub struct HeldTracepoint {
        _event: OwnedFd,
    }

    impl HeldTracepoint {
        /// Enables the tracepoint, without counting, until dropped. `None` where this is not permitted.
        pub fn hold() -> Option<Self> {
            let event = perf_event(PERF_TYPE_TRACEPOINT, syscall_tracepoint()?)?;
            Some(Self { _event: event })
        }
    }

    /// The id of the tracepoint of system call entry, if this process may count it.
    pub fn syscall_tracepoint() -> Option<u64> {
        perf_tracepoint("raw_syscalls/sys_enter")
    }

    /// The id of a tracepoint, named `group/event`, if this process may count it.
    pub(crate) fn perf_tracepoint(event: &'static str) -> Option<u64> {
        let id = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
            .iter()
            .find_map(|root| read_id(root, event))
            .or_else(|| read_id_from_private_mount(event))?;
        perf_event(PERF_TYPE_TRACEPOINT, id).map(|_| id)
    }

    fn read_id(root: &str, event: &str) -> Option<u64> {
        let text = fs::read_to_string(format!("{root}/events/{event}/id")).ok()?;
        text.trim().parse().ok()
    }

    /// Reads the id where tracefs is not mounted: a thread creates its own mount namespace and mounts tracefs there;
    /// namespace and mount end with the thread.
    fn read_id_from_private_mount(event: &'static str) -> Option<u64> {
        let reader = std::thread::Builder::new().spawn(move || {
            // SAFETY: all strings are NUL-terminated literals; the namespace is this thread's own.
            let mounted = unsafe {
                libc::unshare(libc::CLONE_FS | libc::CLONE_NEWNS) == 0
                    && libc::mount(
                        c"none".as_ptr(),
                        c"/".as_ptr(),
                        std::ptr::null(),
                        libc::MS_REC | libc::MS_PRIVATE,
                        std::ptr::null(),
                    ) == 0
                    && libc::mount(
                        c"tracefs".as_ptr(),
                        c"/sys/kernel/tracing".as_ptr(),
                        c"tracefs".as_ptr(),
                        0,
                        std::ptr::null(),
                    ) == 0
            };
            if mounted { read_id("/sys/kernel/tracing", event) } else { None }
        });
        reader.ok()?.join().ok()?
    }

    fn mark(which: u64) {
        // SAFETY: an unknown prctl option is refused without effect; the tracer sees it pass.
        unsafe { libc::prctl(MARK as libc::c_int, which, 0, 0, 0) };
    }

    /// Marks that a command begins, for the tracer; called between fork and execve(2).
    pub(crate) fn mark_command() {
        mark(super::MARK_COMMAND);
    }

    const PERF_TYPE_HARDWARE: u32 = 0;
    const PERF_TYPE_SOFTWARE: u32 = 1;
    const PERF_TYPE_TRACEPOINT: u32 = 2;
    const PERF_COUNT_SW_CONTEXT_SWITCHES: u64 = 3;
    const PERF_COUNT_HW_CPU_CYCLES: u64 = 0;
    const PERF_COUNT_HW_INSTRUCTIONS: u64 = 1;
    const PERF_EVENT_IOC_ENABLE: libc::c_ulong = 0x2400;
    const PERF_EVENT_IOC_DISABLE: libc::c_ulong = 0x2401;
    /// The ioctl's number on architectures with two bits of direction (x86, ARM, RISC-V).
    const PERF_EVENT_IOC_SET_FILTER: libc::c_ulong = 0x4008_2406;
    const PERF_SAMPLE_RAW: u64 = 1 << 10;
    const FLAG_DISABLED: u64 = 1;
    const FLAG_INHERIT: u64 = 2;
    const FLAG_ENABLE_ON_EXEC: u64 = 1 << 12;

    /// The first published version of `struct perf_event_attr` (linux/perf_event.h,
    /// PERF_ATTR_SIZE_VER0), which every later kernel accepts.
    #[repr(C)]
    struct PerfEventAttr {
        kind: u32,
        size: u32,
        config: u64,
        sample_period: u64,
        sample_type: u64,
        read_format: u64,
        flags: u64,
        wakeup_events: u32,
        breakpoint_type: u32,
        config1: u64,
    }

    fn perf_event(kind: u32, config: u64) -> Option<OwnedFd> {
        perf_event_of(kind, config, FLAG_DISABLED)
    }

    fn perf_event_of(kind: u32, config: u64, flags: u64) -> Option<OwnedFd> {
        open_perf_event(kind, config, (flags, 0))
    }

    /// Opens a counter of this thread that also records each event with the fields of `sample_type`.
    fn recording_event(kind: u32, config: u64, sample_type: u64) -> Option<OwnedFd> {
        open_perf_event(kind, config, (FLAG_DISABLED, sample_type))
    }

    /// Opens a counter of this thread. `form` is the attribute's flags and sample type, 0 if events are not recorded.
    fn open_perf_event(kind: u32, config: u64, form: (u64, u64)) -> Option<OwnedFd> {
        let (this_thread, any_cpu) = (0, -1);
        perf_event_open(&attributes(kind, config, form), (this_thread, any_cpu), 0).ok()
    }

    /// Opens a counter of the processes of a control group while they run on `cpu`; it counts at once. `group` is the open
    /// directory of the group.
    pub(crate) fn counter_of_group(
        event: GroupEvent,
        group: &File,
        cpu: usize,
    ) -> io::Result<OwnedFd> {
        const FLAG_PID_CGROUP: libc::c_ulong = 4;
        let (kind, config, filter) = match event {
            GroupEvent::Tracepoint(id, filter) => (PERF_TYPE_TRACEPOINT, id, filter),
            GroupEvent::ContextSwitches => {
                (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, None)
            }
        };
        let cpu = i32::try_from(cpu).map_err(|_| io::ErrorKind::InvalidInput)?;
        let attributes = attributes(kind, config, (FLAG_DISABLED, 0));
        let counter = perf_event_open(&attributes, (group.as_raw_fd(), cpu), FLAG_PID_CGROUP)?;
        if let Some(filter) = filter {
            // SAFETY: the descriptor is an open perf event of a tracepoint; the text ends with NUL, and the kernel copies it.
            let set = unsafe {
                libc::ioctl(counter.as_raw_fd(), PERF_EVENT_IOC_SET_FILTER as _, filter.as_ptr())
            };
            if set != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        // SAFETY: the descriptor is an open perf event, which takes this request.
        match unsafe { libc::ioctl(counter.as_raw_fd(), PERF_EVENT_IOC_ENABLE as _, 0) } {
            0 => Ok(counter),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The attributes of an event. The last argument is as `form` of [`open_perf_event`].
    fn attributes(kind: u32, config: u64, (flags, sample_type): (u64, u64)) -> PerfEventAttr {
        PerfEventAttr {
            kind,
            size: size_of::<PerfEventAttr>() as u32,
            config,
            sample_period: u64::from(sample_type != 0),
            sample_type,
            read_format: 0,
            flags,
            wakeup_events: 0,
            breakpoint_type: 0,
            config1: 0,
        }
    }

    /// Calls perf_event_open(2). `scope` is the process or group, and the CPU.
    fn perf_event_open(
        attributes: &PerfEventAttr,
        scope: (i32, i32),
        flags: libc::c_ulong,
    ) -> io::Result<OwnedFd> {
        const FLAG_FD_CLOEXEC: libc::c_ulong = 8;
        let no_leader = -1;
        // SAFETY: `attributes` is valid for its stated size; a returned descriptor is owned by nothing else.
        unsafe {
            let fd = libc::syscall(
                libc::SYS_perf_event_open,
                attributes,
                scope.0,
                scope.1,
                no_leader,
                flags | FLAG_FD_CLOEXEC,
            );
            match fd {
                0.. => Ok(OwnedFd::from_raw_fd(fd as i32)),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    fn control(counter: &Option<OwnedFd>, request: libc::c_ulong) {
        if let Some(fd) = counter {
            // SAFETY: the descriptor is an open perf event, which takes these requests.
            unsafe { libc::ioctl(fd.as_raw_fd(), request as _, 0) };
        }
    }

    fn read(counter: &Option<OwnedFd>) -> Option<u64> {
        read_one(counter.as_ref()?)
    }

    pub(crate) fn read_one(fd: &OwnedFd) -> Option<u64> {
        let mut count = 0u64;
        // SAFETY: a perf event with no read format gives exactly 8 bytes.
        let bytes = unsafe { libc::read(fd.as_raw_fd(), (&raw mut count).cast(), 8) };
        (bytes == 8).then_some(count)
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
mod os {
    use super::{Counts, SyscallCounting, usage};

    /// Counters of the thread that opened them.
    pub struct ThreadCounters {
        before: Option<libc::rusage>,
    }

    impl ThreadCounters {
        /// Opens counters by `getrusage`; system calls are not counted here.
        pub fn open(_counting: SyscallCounting) -> Self {
            Self { before: None }
        }

        /// Begins to count.
        pub fn start(&mut self) {
            self.before = usage::read();
        }

        /// Ends counting.
        pub fn stop(&mut self) -> Counts {
            usage::between(self.before, usage::read())
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_and_its_children_are_counted_together() {
        let Some(id) = syscall_tracepoint() else {
            return testing::skip("root: the tracepoint of system calls needs root and tracefs");
        };
        let counter = ProcessCounter::start(id).unwrap();
        let count = || counter.syscalls().unwrap();
        let calls = |times: u64| (0..times).for_each(|_| crate::cpu::null_call());
        let before = count();
        calls(100);
        let own = count() - before;
        assert!((100..120).contains(&own), "{own}");
        std::thread::scope(|scope| {
            scope.spawn(|| calls(1_000));
        });
        let mut child = crate::process::fork(move || {
            calls(1_000);
            0
        })
        .unwrap();
        child.wait().unwrap();
        let all = count() - before;
        assert!((2_100..2_400).contains(&all), "{all}");
    }

    #[test]
    fn the_tracepoint_counts_system_calls_exactly() {
        let Some(id) = syscall_tracepoint() else {
            return testing::skip("root: the tracepoint of system calls needs root and tracefs");
        };
        let mut counters = ThreadCounters::open(SyscallCounting::Tracepoint(id));
        counters.start();
        for _ in 0..1000 {
            crate::cpu::null_call();
        }
        let counts = counters.stop();
        assert_eq!(counts.syscalls, Some(1000));
        let named: Vec<(String, u64)> = counts.calls.named().collect();
        assert!(named.len() == 1 && named[0].1 == 1000, "{named:?}");
    }

    #[test]
    fn what_is_held_can_be_counted() {
        let held = HeldTracepoint::hold();
        assert_eq!(held.is_some(), syscall_tracepoint().is_some());
    }

    #[test]
    fn page_faults_are_seen() {
        let mut counters = ThreadCounters::open(SyscallCounting::None);
        counters.start();
        let pages = std::hint::black_box(vec![1u8; 64 * 4096 * 16]);
        let counts = counters.stop();
        assert!(counts.page_faults.unwrap() >= 1, "{} bytes", pages.len());
        assert_eq!(counts.syscalls, None);
    }
}
