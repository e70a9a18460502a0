//! A control group of its own for a system under test, and what its processes do on the host: also processes that leave the
//! process tree, such as the servers of a sandbox.

/// What the processes of a [`ControlGroup`] have done on the host so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostCounts {
    /// System calls entered.
    pub syscalls: u64,
    /// Context switches.
    pub switches: u64,
    /// Calls of ptrace(2), by which a tracer runs and stops its tracees; `None` if the kernel cannot count them.
    pub ptrace_calls: Option<u64>,
}

impl HostCounts {
    /// What has been done since `before`.
    pub fn since(self, before: Self) -> Self {
        let ptrace_calls = self.ptrace_calls.zip(before.ptrace_calls);
        Self {
            syscalls: self.syscalls.saturating_sub(before.syscalls),
            switches: self.switches.saturating_sub(before.switches),
            ptrace_calls: ptrace_calls.map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

pub use os::{ControlGroup, sweep_dead};

#[cfg(target_os = "linux")]
mod os {
    use std::fs::{self, File};
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};

    use super::HostCounts;
    use crate::CaseError;
    use crate::counters::{GroupEvent, perf_event_of_group, read_one, tracepoint};
    use crate::process_status::is_alive;

    const PREFIX: &str = "oscost-";
    /// The kernel removes a group only after its last process has ended for good.
    const REMOVED_WITHIN: Duration = Duration::from_secs(2);

    /// A control group (version 2) with counters. Dropping it removes the group, once its processes have ended.
    #[derive(Debug)]
    pub struct ControlGroup {
        path: PathBuf,
        /// One of each for each CPU.
        syscalls: Vec<OwnedFd>,
        switches: Vec<OwnedFd>,
        ptrace_calls: Vec<OwnedFd>,
    }

    impl ControlGroup {
        /// Makes a group, without processes, and counts what they will do on these CPUs.
        ///
        /// # Errors
        /// `Unsupported` without root, without a hierarchy of version 2, or where the kernel has no counters of groups.
        pub fn new(cpus: &[usize]) -> Result<Self, CaseError> {
            static NUMBER: AtomicU32 = AtomicU32::new(0);
            let unsupported = |text: &str| CaseError::Unsupported(text.to_owned());
            let root = hierarchy().ok_or_else(|| unsupported("no control groups of version 2"))?;
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = root.join(format!("{PREFIX}{}-{number}", std::process::id()));
            fs::create_dir(&path).map_err(|e| CaseError::from_io("a control group", &e))?;
            let mut group =
                Self { path, syscalls: Vec::new(), switches: Vec::new(), ptrace_calls: Vec::new() };
            let directory =
                File::open(&group.path).map_err(|e| CaseError::from_io("a control group", &e))?;
            let open = |event: GroupEvent| -> Option<Vec<OwnedFd>> {
                cpus.iter().map(|&cpu| perf_event_of_group(event, &directory, cpu)).collect()
            };
            let calls = tracepoint("raw_syscalls/sys_enter").map(GroupEvent::Tracepoint);
            let refused = || unsupported("the kernel does not count what a control group does");
            group.syscalls = calls.and_then(open).ok_or_else(refused)?;
            group.switches = open(GroupEvent::ContextSwitches).ok_or_else(refused)?;
            let ptrace = tracepoint("syscalls/sys_enter_ptrace").map(GroupEvent::Tracepoint);
            group.ptrace_calls = ptrace.and_then(open).unwrap_or_default();
            Ok(group)
        }

        /// The file to which a process writes `0` to join the group with all processes that it starts later.
        pub fn members(&self) -> PathBuf {
            self.path.join("cgroup.procs")
        }

        /// What its processes have done so far.
        pub fn counts(&self) -> HostCounts {
            let sum = |counters: &[OwnedFd]| counters.iter().filter_map(read_one).sum();
            HostCounts {
                syscalls: sum(&self.syscalls),
                switches: sum(&self.switches),
                ptrace_calls: (!self.ptrace_calls.is_empty()).then(|| sum(&self.ptrace_calls)),
            }
        }
    }

    impl Drop for ControlGroup {
        fn drop(&mut self) {
            remove(&self.path, REMOVED_WITHIN);
        }
    }

    /// Removes a group; what is still in it after `limit` stays, and the next program's start removes it.
    fn remove(path: &Path, limit: Duration) {
        let until = Instant::now() + limit;
        while fs::remove_dir(path).is_err_and(|e| e.kind() == io::ErrorKind::ResourceBusy)
            && Instant::now() < until
        {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Removes the groups of programs that have ended.
    pub fn sweep_dead() {
        let Some(entries) = hierarchy().and_then(|root| fs::read_dir(root).ok()) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
            let pid = pid.and_then(|(pid, _)| pid.parse().ok());
            if pid.is_some_and(|pid| !is_alive(pid)) {
                remove(&entry.path(), Duration::ZERO);
            }
        }
    }

    /// Where the hierarchy of version 2 is mounted.
    fn hierarchy() -> Option<PathBuf> {
        mounted(&fs::read_to_string("/proc/self/mounts").ok()?)
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
        use std::process::Command;

        use super::*;

        #[test]
        fn the_hierarchy_of_version_2_is_found_among_others() {
            let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
                          cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                          cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
            assert_eq!(mounted(mounts), Some(PathBuf::from("/sys/fs/cgroup/unified")));
            assert_eq!(mounted("proc /proc proc rw 0 0\ngarbage\n"), None);
        }

        #[test]
        fn calls_of_a_process_that_left_the_tree_are_counted() {
            let group = match ControlGroup::new(&crate::cpu::allowed()) {
                Ok(group) => group,
                Err(CaseError::Unsupported(_)) => return,
                Err(other) => panic!("{other}"),
            };
            let before = group.counts();
            let script = r#"echo 0 > "$0" && (setsid dd if=/dev/zero of=/dev/null bs=1 count=20000 &) && sleep 0.3"#;
            let ended = Command::new("sh")
                .args(["-c", script])
                .arg(group.members())
                .stderr(std::process::Stdio::null())
                .status();
            assert!(ended.is_ok_and(|status| status.success()));
            let until = Instant::now() + Duration::from_secs(20);
            while group.counts().since(before).syscalls < 40_000 && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(10));
            }
            let counts = group.counts().since(before);
            // One read and one write for each byte, and the shell's own calls.
            assert!((40_000..45_000).contains(&counts.syscalls), "{counts:?}");
            assert!(counts.switches > 0, "{counts:?}");
            let path = group.path.clone();
            drop(group);
            assert!(!path.exists(), "{}", path.display());
        }

        #[test]
        fn a_group_of_a_dead_program_is_removed() {
            let Some(root) = hierarchy() else { return };
            // No process has this number: it is greater than any limit of pids.
            let path = root.join(format!("{PREFIX}{}-0", (1 << 22) + 1));
            if fs::create_dir(&path).is_err() {
                return; // without root
            }
            sweep_dead();
            assert!(!path.exists());
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    use std::path::PathBuf;

    use super::HostCounts;
    use crate::CaseError;

    /// Control groups exist on Linux only.
    #[derive(Debug)]
    pub struct ControlGroup {}

    impl ControlGroup {
        /// Makes none.
        ///
        /// # Errors
        /// Always `Unsupported`.
        pub fn new(_cpus: &[usize]) -> Result<Self, CaseError> {
            Err(CaseError::Unsupported("control groups exist only on Linux".into()))
        }

        /// There is none.
        pub fn members(&self) -> PathBuf {
            PathBuf::new()
        }

        /// Nothing is counted.
        pub fn counts(&self) -> HostCounts {
            HostCounts::default()
        }
    }

    /// There is nothing to remove.
    pub fn sweep_dead() {}
}
