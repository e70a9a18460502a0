//! Resource limits of processes and of the system, and raising them.

/// The soft limit of open descriptors of this process; `None` where there is none (Windows) or it is unknown.
pub fn descriptors() -> Option<u64> {
    os::descriptors().map(|(now, _)| now)
}

/// Raises the soft limit of open descriptors to the hard one. Returns the soft limit; `None` where there is none (Windows)
/// or it is unknown.
pub use os::raise_descriptors;

/// The soft limit of the size of a file in bytes; `None` if there is none, or it is unknown.
pub use os::file_size;

/// The soft limit of this process's address space in bytes; `None` if there is none, or it is unknown.
pub use os::address_space;

/// A limit of this system on the number of connections of a server or a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Name of the limit.
    pub name: &'static str,
    /// Current value.
    pub now: u64,
    /// Whether the limit also counts other things than connections.
    pub beside: bool,
    /// What happens beyond the limit.
    pub otherwise: &'static str,
    /// The command that raises the limit to `{}`.
    pub raise: &'static str,
}

/// Maximum length of a listener's accept queue (Linux, net.core.somaxconn); `None` where it is unknown.
pub use os::waiting_connections;

/// All known limits on connections; none on systems other than Linux.
pub use os::of_connections;

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use super::Limit;

    /// The numbers in a file below /proc/sys.
    fn sysctl(path: &str) -> Option<Vec<u64>> {
        let text = std::fs::read_to_string(format!("/proc/sys/{path}")).ok()?;
        text.split_whitespace().map(|word| word.parse::<u64>().ok()).collect()
    }

    /// Returns `None` on systems without /proc/sys.
    pub fn waiting_connections() -> Option<u64> {
        sysctl("net/core/somaxconn")?.first().copied()
    }

    #[cfg(target_os = "linux")]
    pub fn of_connections() -> Vec<Limit> {
        let one = |path: &str| sysctl(path)?.first().copied();
        let ports = || match sysctl("net/ipv4/ip_local_port_range")?[..] {
            [first, last] => Some(last.saturating_sub(first) + 1),
            _ => None,
        };
        let tasks = "a server with a process or thread for each cannot start them all";
        let queue = "some may be dropped while they wait to be accepted";
        let all = [
            (
                "the limit of open descriptors (ulimit -Hn)",
                descriptors().map(|(_, most)| most),
                true,
                "the largest cannot be tried",
                "ulimit -n {} (as root), or LimitNOFILE={} for a service",
            ),
            (
                "net.core.somaxconn",
                waiting_connections(),
                false,
                queue,
                "sysctl -w net.core.somaxconn={}",
            ),
            (
                "net.ipv4.tcp_max_syn_backlog",
                one("net/ipv4/tcp_max_syn_backlog"),
                false,
                "some may be dropped while they are being established",
                "sysctl -w net.ipv4.tcp_max_syn_backlog={}",
            ),
            (
                "the number of net.ipv4.ip_local_port_range",
                ports(),
                false,
                "local ports run short",
                "sysctl -w net.ipv4.ip_local_port_range='1024 65535'",
            ),
            (
                "fs.file-max",
                one("fs/file-max").map(|all| all / 2), // each connection has two ends
                true,
                "the machine runs out of open files",
                "sysctl -w fs.file-max={}",
            ),
            ("kernel.pid_max", one("kernel/pid_max"), true, tasks, "sysctl -w kernel.pid_max={}"),
            (
                "kernel.threads-max",
                one("kernel/threads-max"),
                true,
                tasks,
                "sysctl -w kernel.threads-max={}",
            ),
            (
                "the cgroup's pids.max",
                pids_max(),
                true,
                tasks,
                "systemctl set-property UNIT TasksMax={}",
            ),
        ];
        let known = all.into_iter().filter_map(|(name, now, beside, otherwise, raise)| {
            Some(Limit { name, now: now?, beside, otherwise, raise })
        });
        known.collect()
    }

    #[cfg(not(target_os = "linux"))]
    pub fn of_connections() -> Vec<Limit> {
        Vec::new()
    }

    /// The minimum of pids.max over this process's control groups, version 2; `None` if none has a limit (cgroups(7)).
    #[cfg(target_os = "linux")]
    fn pids_max() -> Option<u64> {
        let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let group = std::path::Path::new("/sys/fs/cgroup").join(path);
        let limits = group.ancestors().filter_map(|dir| {
            std::fs::read_to_string(dir.join("pids.max")).ok()?.trim().parse().ok()
        });
        limits.min()
    }

    pub fn raise_descriptors() -> Option<u64> {
        let before = get()?;
        let mut wanted = before.rlim_max;
        // macOS reports "unlimited" but allows no more than this.
        if crate::IS_MACOS {
            wanted = wanted.min(10_240);
        }
        if before.rlim_cur < wanted {
            let limit = libc::rlimit { rlim_cur: wanted, ..before };
            // SAFETY: `limit` is valid. On failure the limit does not change.
            unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
        }
        #[allow(clippy::unnecessary_cast, reason = "FreeBSD's are signed")]
        let now = get()?.rlim_cur as u64;
        Some(now)
    }

    #[allow(clippy::unnecessary_cast, reason = "FreeBSD's are signed")]
    pub fn file_size() -> Option<u64> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is a valid place for the call to fill.
        let done = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
        (done == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as u64)
    }

    #[allow(clippy::unnecessary_cast, reason = "FreeBSD's are signed")]
    pub fn address_space() -> Option<u64> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is a valid place for the call to fill.
        let done = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
        (done == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as u64)
    }

    /// The soft and the hard limit.
    #[allow(clippy::unnecessary_cast, reason = "FreeBSD's are signed")]
    pub fn descriptors() -> Option<(u64, u64)> {
        get().map(|limit| (limit.rlim_cur as u64, limit.rlim_max as u64))
    }

    fn get() -> Option<libc::rlimit> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is a valid place for the call to fill.
        let done = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
        (done == 0).then_some(limit)
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use super::Limit;

    pub fn of_connections() -> Vec<Limit> {
        Vec::new()
    }

    pub fn waiting_connections() -> Option<u64> {
        None
    }

    pub fn file_size() -> Option<u64> {
        None
    }

    pub fn address_space() -> Option<u64> {
        None
    }

    pub fn descriptors() -> Option<(u64, u64)> {
        None
    }

    pub fn raise_descriptors() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_raised_limit_stays() {
        let limit = super::raise_descriptors();
        assert_eq!(limit.is_some(), cfg!(unix));
        assert!(limit.is_none_or(|limit| limit >= 64));
        assert_eq!(super::raise_descriptors(), limit);
    }
}
