//! Two network namespaces joined by a pair of veth devices.

pub use os::{NamespacePair, listen_overflows};

#[cfg(target_os = "linux")]
mod os {
    use std::fs::File;
    use std::io;
    use std::net::Ipv4Addr;
    use std::os::fd::{AsRawFd, RawFd};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use measure::CaseError;

    /// The near address, from a block reserved for documentation (RFC 5737), which no host uses.
    const NEAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
    const FAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

    /// A pair of network namespaces: the near one for the calling thread, the far one for processes started there. The kernel
    /// removes each with the last process in it, also after a kill.
    #[derive(Debug)]
    pub struct NamespacePair {
        far: File,
    }

    impl NamespacePair {
        /// Creates both namespaces and moves the calling thread into the near one. Threads and processes that it starts later
        /// inherit it. It is `Unsupported` without permission, and without the `ip` command (iproute2).
        pub fn enter() -> Result<Self, CaseError> {
            unshare()?;
            let own = "/proc/thread-self/ns/net";
            let far = File::open(own).map_err(|e| CaseError::from_io(own, &e))?;
            unshare()?;
            let path = format!("/proc/{}/fd/{}", std::process::id(), far.as_raw_fd());
            let pair = Self { far };
            ip(None, &["link", "add", "near", "type", "veth", "peer", "name", "far"])?;
            ip(None, &["link", "set", "far", "netns", &path])?;
            for (side, device, address) in [(None, "near", NEAR), (Some(&pair), "far", FAR)] {
                ip(side, &["address", "add", &format!("{address}/24"), "dev", device])?;
                ip(side, &["link", "set", device, "up"])?;
                ip(side, &["link", "set", "lo", "up"])?;
            }
            Ok(pair)
        }

        /// Makes `command` run in the far namespace; returns the namespace's address.
        pub fn run_far(&self, command: &mut Command) -> Ipv4Addr {
            let namespace: RawFd = self.far.as_raw_fd();
            // SAFETY: setns(2) is async-signal-safe; the descriptor is open as long as the pair exists, and a command
            // started later fails.
            unsafe {
                command.pre_exec(move || match libc::setns(namespace, libc::CLONE_NEWNET) {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                });
            }
            FAR
        }
    }

    fn unshare() -> Result<(), CaseError> {
        // SAFETY: the call has no pointers; it changes only the calling thread's namespace.
        match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
            0 => Ok(()),
            _ => Err(CaseError::last_os_error("a network namespace (root can create one)")),
        }
    }

    fn ip(side: Option<&NamespacePair>, arguments: &[&str]) -> Result<(), CaseError> {
        let mut command = Command::new("ip");
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        if let Some(pair) = side {
            pair.run_far(&mut command);
        }
        let missing = |e: io::Error| {
            CaseError::Unsupported(format!("network namespaces need the command `ip`: {e}"))
        };
        let ended = command.output().map_err(missing)?;
        if ended.status.success() {
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&ended.stderr);
        Err(CaseError::Unsupported(format!("ip {}: {}", arguments.join(" "), errors.trim())))
    }

    /// Number of connections dropped because an accept queue was full, in the network namespace of process `pid` since its
    /// creation. Parses /proc/PID/net/netstat, where two lines for each group of counters have their names and values
    /// (proc_pid_net(5)).
    pub fn listen_overflows(pid: u32) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/net/netstat")).ok()?;
        let mut groups = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
        let (names, values) = (groups.next()?, groups.next()?);
        let at = names.split_whitespace().position(|name| name == "ListenOverflows")?;
        values.split_whitespace().nth(at)?.parse().ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    use std::net::Ipv4Addr;
    use std::process::Command;

    use measure::CaseError;

    pub enum NamespacePair {}

    impl NamespacePair {
        pub fn enter() -> Result<Self, CaseError> {
            Err(CaseError::Unsupported("network namespaces exist only on Linux".into()))
        }

        pub fn run_far(&self, _command: &mut Command) -> Ipv4Addr {
            match *self {}
        }
    }

    pub fn listen_overflows(_pid: u32) -> Option<u64> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use measure::CaseError;

    use super::*;

    #[test]
    fn each_namespace_has_its_own_devices() {
        // The test runs in a thread, because the calling thread stays in the new namespace.
        let result = std::thread::spawn(|| {
            let pair = NamespacePair::enter()?;
            let devices = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
            let mut there = Command::new("cat");
            there.arg("/proc/self/net/dev");
            pair.run_far(&mut there);
            let there = String::from_utf8(there.output().unwrap().stdout).unwrap();
            Ok::<_, CaseError>((devices, there))
        });
        match result.join().unwrap() {
            Ok((here, there)) => {
                assert!(here.contains("near:") && !here.contains("far:"), "{here}");
                assert!(there.contains("far:") && !there.contains("near:"), "{there}");
            }
            Err(case_error) => testing::skip(&format!("network namespaces: {case_error}")),
        }
    }

    #[test]
    fn overflows_are_counted() {
        assert!(listen_overflows(std::process::id()).is_some());
        assert_eq!(listen_overflows(u32::MAX), None);
    }
}
