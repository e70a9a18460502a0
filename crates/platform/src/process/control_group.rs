//! A control group for a system under test, with counters of what its processes do on this kernel, including processes that
//! leave the process tree, such as a sandbox's servers.
//!
//! The group is a sibling of this process's own group, so that its processes are at the same depth of the hierarchy. A
//! separate group still changes accounting; [`ControlGroup::release`] returns the processes to this process's group.

use serde::{Deserialize, Serialize};

/// Counts of the processes of a [`ControlGroup`] on this kernel since the counters were opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostCounts {
    /// System calls entered.
    pub syscalls: u64,
    /// Context switches from one of the processes to another one, or to none.
    pub switches: u64,
    /// Context switches that stopped a process for its tracer (ptrace(2)); `None` if the kernel cannot count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptrace_stops: Option<u64>,
}

impl HostCounts {
    /// The counts since `before`.
    pub fn since(self, before: Self) -> Self {
        let stops = self.ptrace_stops.zip(before.ptrace_stops);
        Self {
            syscalls: self.syscalls.saturating_sub(before.syscalls),
            switches: self.switches.saturating_sub(before.switches),
            ptrace_stops: stops.map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

pub use os::{ControlGroup, GroupCounters, remove};

#[cfg(target_os = "linux")]
mod os {
    use std::fs::{self, File};
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::{Path, PathBuf};
    use std::sync::OnceLock;
    use std::time::{Duration, Instant};

    use super::HostCounts;
    use crate::CaseError;
    use crate::counters::{GroupEvent, counter_of_group, perf_tracepoint, read_one};

    /// The file with the pids of a group's processes; a process whose pid is written into it joins.
    const MEMBERS: &str = "cgroup.procs";
    /// Time limit for the removal of a group: the kernel removes it only when its last process is gone.
    const REMOVED_WITHIN: Duration = Duration::from_secs(10);
    /// Filter for a process stopped by its tracer, in the terms of the tracepoint `sched_switch` since Linux 4.14.
    const TRACED: &std::ffi::CStr = c"prev_state == 8";

    /// A control group (version 2). Dropping it kills its processes and removes it.
    #[derive(Debug)]
    pub struct ControlGroup {
        path: PathBuf,
        /// The directory of this process's group.
        own: PathBuf,
    }

    /// Counters of a group's processes, which count until they are dropped.
    #[derive(Debug)]
    pub struct GroupCounters {
        /// Counters of system calls, one for each CPU.
        syscalls: Vec<OwnedFd>,
        switches: Vec<OwnedFd>,
        ptrace_stops: Vec<OwnedFd>,
    }

    impl ControlGroup {
        /// The directory of a group of that name.
        ///
        /// # Errors
        /// `Unsupported` without a hierarchy of version 2.
        pub fn path_of(name: &str) -> Result<PathBuf, CaseError> {
            let own = own_group()?;
            // The group at the root of the hierarchy has no siblings.
            let parent = match own == hierarchy()? {
                true => own.as_path(),
                false => own.parent().unwrap_or(&own),
            };
            Ok(parent.join(name))
        }

        /// Creates a group without processes at a `path` from [`ControlGroup::path_of`].
        ///
        /// # Errors
        /// `Unsupported` without the permission to create it, or to count what it does.
        pub fn create(path: PathBuf) -> Result<Self, CaseError> {
            let own = own_group()?;
            fs::create_dir(&path).map_err(|e| {
                CaseError::Unsupported(format!(
                    "creating a control group in {}: {e}",
                    own.display()
                ))
            })?;
            let group = Self { path, own };
            // Only an attempt shows whether this process may count.
            group.counters(&crate::cpu::allowed()[..1])?;
            Ok(group)
        }

        /// The file through which a process joins the group; `None` if it cannot be written.
        pub(crate) fn members(&self) -> Option<File> {
            File::options().write(true).open(self.path.join(MEMBERS)).ok()
        }

        /// Whether the process `pid` is a member.
        pub fn has(&self, pid: u32) -> bool {
            pids(&self.path).contains(&pid)
        }

        /// Begins to count what the group's processes do on `cpus`.
        ///
        /// # Errors
        /// `Unsupported` if the kernel does not permit it.
        pub fn counters(&self, cpus: &[usize]) -> Result<GroupCounters, CaseError> {
            let directory =
                File::open(&self.path).map_err(|e| CaseError::from_io("a control group", &e))?;
            let open = |event: GroupEvent| -> io::Result<Vec<OwnedFd>> {
                cpus.iter().map(|&cpu| counter_of_group(event, &directory, cpu)).collect()
            };
            let refused = |e: io::Error| {
                CaseError::Unsupported(format!(
                    "the kernel does not count what a control group does (perf_event_open: {e})"
                ))
            };
            let [calls, switches] = tracepoints();
            let calls = calls.ok_or_else(|| {
                let needs = "the tracepoint raw_syscalls:sys_enter needs root and tracefs";
                CaseError::Unsupported(needs.to_owned())
            })?;
            let stops = switches.map(|id| GroupEvent::Tracepoint(id, Some(TRACED)));
            Ok(GroupCounters {
                syscalls: open(GroupEvent::Tracepoint(calls, None)).map_err(refused)?,
                switches: open(GroupEvent::ContextSwitches).map_err(refused)?,
                ptrace_stops: stops.and_then(|event| open(event).ok()).unwrap_or_default(),
            })
        }

        /// Moves the group's processes to the group of this process.
        ///
        /// # Errors
        /// If a process cannot be moved. The group is removed when it is dropped.
        pub fn release(&self) -> io::Result<()> {
            const PASSES: usize = 100;
            // The next pass finds processes that start meanwhile.
            for _ in 0..PASSES {
                let pids = pids(&self.path);
                if pids.is_empty() {
                    return Ok(());
                }
                for pid in pids {
                    match fs::write(self.own.join(MEMBERS), pid.to_string()) {
                        // The process has ended.
                        Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {}
                        moved => moved?,
                    }
                }
            }
            Err(io::Error::other("processes start faster than they can be moved"))
        }
    }

    impl Drop for ControlGroup {
        fn drop(&mut self) {
            remove(&self.path);
        }
    }

    impl GroupCounters {
        /// The counts since the counters were opened.
        pub fn counts(&self) -> HostCounts {
            let sum = |counters: &[OwnedFd]| counters.iter().filter_map(read_one).sum();
            HostCounts {
                syscalls: sum(&self.syscalls),
                switches: sum(&self.switches),
                ptrace_stops: (!self.ptrace_stops.is_empty()).then(|| sum(&self.ptrace_stops)),
            }
        }
    }

    /// Removes a group, and kills all processes that are still in it.
    pub fn remove(path: &Path) {
        let until = Instant::now() + REMOVED_WITHIN;
        while fs::remove_dir(path).is_err_and(|e| e.kind() == io::ErrorKind::ResourceBusy)
            && Instant::now() < until
        {
            for pid in pids(path).into_iter().filter_map(|pid| libc::pid_t::try_from(pid).ok()) {
                // SAFETY: a plain call.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn pids(group: &Path) -> Vec<u32> {
        let text = fs::read_to_string(group.join(MEMBERS)).unwrap_or_default();
        text.lines().filter_map(|pid| pid.parse().ok()).collect()
    }

    /// The ids of the tracepoints of system calls and of switches, if this process may count them.
    fn tracepoints() -> [Option<u64>; 2] {
        static IDS: OnceLock<[Option<u64>; 2]> = OnceLock::new();
        *IDS.get_or_init(|| ["raw_syscalls/sys_enter", "sched/sched_switch"].map(perf_tracepoint))
    }

    /// The directory of the group of this process.
    fn own_group() -> Result<PathBuf, CaseError> {
        let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let root = hierarchy()?;
        let own = group_in(&text).map(|path| root.join(path)).filter(|path| path.is_dir());
        let unseen = || CaseError::Unsupported("the own control group is not visible here".into());
        own.ok_or_else(unseen)
    }

    /// The path of the group of version 2 in the text of /proc/PID/cgroup (cgroups(7)), relative to the root of the
    /// hierarchy; `None` without version 2, or if the group is outside the namespace.
    fn group_in(text: &str) -> Option<&str> {
        let path = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let is_inside = path.split('/').all(|part| part != "..");
        is_inside.then_some(path)
    }

    /// The mount point of the hierarchy of version 2.
    fn hierarchy() -> Result<PathBuf, CaseError> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let none = || CaseError::Unsupported("no control groups of version 2".to_owned());
        mounted(&mounts).ok_or_else(none)
    }

    fn mounted(mounts: &str) -> Option<PathBuf> {
        let mut lines = mounts.lines().map(|line| line.split(' '));
        lines.find_map(|mut fields| {
            let (path, kind) = (fields.nth(1)?, fields.next()?);
            (kind == "cgroup2").then(|| PathBuf::from(path))
        })
    }

    #[cfg(test)]
    mod tests {
        use std::process::{Command, Stdio};

        use super::*;

        /// A group for a test; `None`, with a message, where this process may not create one.
        fn group(name: &str) -> Option<ControlGroup> {
            let name = format!("oscost-test-{name}-{}", std::process::id());
            let made = ControlGroup::path_of(&name).and_then(ControlGroup::create);
            let reason = made.as_ref().err().map(ToString::to_string).unwrap_or_default();
            let skipped = testing::skip_unless(made.is_ok(), &reason);
            made.ok().filter(|_| !skipped)
        }

        fn start(group: &ControlGroup, script: &str) -> std::process::Child {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdin(Stdio::piped());
            command.stdout(Stdio::null()).stderr(Stdio::null());
            crate::process::hosted::spawn(command, &crate::cpu::allowed(), Some(group)).unwrap()
        }

        /// Waits until the counts satisfy `enough`.
        fn counted(counters: &GroupCounters, enough: impl Fn(&HostCounts) -> bool) -> HostCounts {
            wait_until(|| enough(&counters.counts()));
            counters.counts()
        }

        /// Waits until a condition holds, for at most a minute.
        fn wait_until(holds: impl Fn() -> bool) {
            let until = Instant::now() + Duration::from_secs(60);
            while !holds() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
        }

        #[test]
        fn the_hierarchy_of_version_2_is_found_among_others() {
            let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
                          cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                          cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
            assert_eq!(mounted(mounts), Some(PathBuf::from("/sys/fs/cgroup/unified")));
            assert_eq!(mounted("proc /proc proc rw 0 0\ngarbage\n"), None);
            assert_eq!(group_in("3:cpu:/a\n0::/user.slice/x.scope\n"), Some("user.slice/x.scope"));
            assert_eq!(group_in("0::/\n"), Some(""));
            for text in ["", "3:cpu:/a\n", "0::/../../x\n", "0::nonsense", "\u{0}::/"] {
                assert_eq!(group_in(text), None, "{text:?}");
            }
        }

        #[test]
        fn calls_of_a_process_that_left_the_tree_are_counted_and_it_is_killed_with_the_group() {
            let Some(group) = group("calls") else { return };
            let counters = group.counters(&crate::cpu::allowed()).unwrap();
            let script = "setsid dd if=/dev/zero of=/dev/null bs=1 count=20000 & sleep 60 &";
            let mut child = start(&group, script);
            child.wait().unwrap();
            // dd makes one read and one write for each byte; the start of three programs adds a few calls.
            let counts = counted(&counters, |counts| counts.syscalls > 40_000);
            assert!((40_000..42_000).contains(&counts.syscalls), "{counts:?}");
            assert!(counts.switches > 0 && counts.ptrace_stops.unwrap_or(0) == 0, "{counts:?}");
            let path = group.path.clone();
            // The other process has made its last call, but may not have ended yet.
            wait_until(|| pids(&path).len() <= 1);
            assert_eq!(pids(&path).len(), 1, "the one that sleeps");
            drop(group);
            assert!(!path.exists(), "{}", path.display());
        }

        #[test]
        fn released_processes_go_on_and_are_no_longer_counted() {
            let Some(group) = group("release") else { return };
            let counters = group.counters(&crate::cpu::allowed()).unwrap();
            let mut child =
                start(&group, "read line; dd if=/dev/zero of=/dev/null bs=1 count=20000");
            counted(&counters, |counts| counts.syscalls > 0);
            assert!(group.has(child.id()) && !group.has(std::process::id()));
            group.release().unwrap();
            let before = counters.counts();
            drop(child.stdin.take());
            assert!(child.wait().unwrap().success());
            let since = counters.counts().since(before);
            assert!(since.syscalls < 1_000, "{since:?}");
            let path = group.path.clone();
            drop(group);
            assert!(!path.exists());
        }

        #[test]
        fn stops_of_a_traced_process_are_counted() {
            let Some(group) = group("stops") else { return };
            let counters = group.counters(&crate::cpu::allowed()).unwrap();
            // SAFETY: the child makes plain system calls only, and never returns.
            let pid = unsafe { libc::fork() };
            if pid == 0 {
                // SAFETY: as above; a stop by a signal is one that its tracer, its parent, ends.
                unsafe {
                    libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
                    for _ in 0..=100 {
                        libc::raise(libc::SIGSTOP);
                    }
                    libc::_exit(0);
                }
            }
            let mut stops = 0;
            loop {
                let mut status = 0;
                // SAFETY: the process is a child of this one that only this thread waits for.
                unsafe { libc::waitpid(pid, &raw mut status, 0) };
                if !libc::WIFSTOPPED(status) {
                    break;
                }
                stops += 1;
                if stops == 1 {
                    fs::write(group.path.join(MEMBERS), pid.to_string()).unwrap();
                }
                // SAFETY: as above; it is stopped.
                unsafe { libc::ptrace(libc::PTRACE_CONT, pid, 0, 0) };
            }
            assert_eq!(stops, 101);
            let counts = counters.counts();
            let counted = counts.ptrace_stops.unwrap();
            assert!((95..=100).contains(&counted), "{counts:?}");
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    use std::io;
    use std::path::{Path, PathBuf};

    use super::HostCounts;
    use crate::CaseError;

    fn none<T>() -> Result<T, CaseError> {
        Err(CaseError::Unsupported("control groups exist only on Linux".into()))
    }

    /// Control groups exist on Linux only.
    #[derive(Debug)]
    pub struct ControlGroup(std::convert::Infallible);

    /// Control groups exist on Linux only.
    #[derive(Debug)]
    pub struct GroupCounters(std::convert::Infallible);

    impl ControlGroup {
        /// Fails: this system has no control groups.
        ///
        /// # Errors
        /// Always `Unsupported`.
        pub fn path_of(_name: &str) -> Result<PathBuf, CaseError> {
            none()
        }

        /// Fails: this system has no control groups.
        ///
        /// # Errors
        /// Always `Unsupported`.
        pub fn create(_path: PathBuf) -> Result<Self, CaseError> {
            none()
        }

        /// Never called: no group can be created.
        pub fn has(&self, _pid: u32) -> bool {
            match self.0 {}
        }

        /// Never called: no group can be created.
        ///
        /// # Errors
        /// Never.
        pub fn counters(&self, _cpus: &[usize]) -> Result<GroupCounters, CaseError> {
            match self.0 {}
        }

        /// Never called: no group can be created.
        ///
        /// # Errors
        /// Never.
        pub fn release(&self) -> io::Result<()> {
            match self.0 {}
        }
    }

    impl GroupCounters {
        /// Never called: no group can be created.
        pub fn counts(&self) -> HostCounts {
            match self.0 {}
        }
    }

    /// Does nothing: this system has no control groups.
    pub fn remove(_path: &Path) {}
}
