//! A network of one's own: two network namespaces joined by a pair of veth devices.

use std::net::Ipv4Addr;
use std::process::Command;

use crate::CaseError;

/// A network of this process's own, with another side for the processes it starts there. Both sides vanish with
/// the last process in them, also when that is killed.
#[derive(Debug)]
pub struct Network {
    #[cfg(target_os = "linux")]
    other: std::fs::File,
}

impl Network {
    /// Takes the calling thread into a new network, which threads and processes that it starts from then on are
    /// in as well.
    ///
    /// # Errors
    /// Unsupported where this is not Linux, is not permitted, or there is no `ip` command (iproute2).
    pub fn enter() -> Result<Self, CaseError> {
        os::enter()
    }

    /// Has `command` run on the other side; gives the address it has there.
    pub fn other_side(&self, command: &mut Command) -> Ipv4Addr {
        os::other_side(self, command)
    }
}

/// Connections that were dropped in the network that process `pid` is in, since more waited to be accepted
/// than may, from its beginning; `None` where the system does not tell.
pub fn listen_overflows(pid: u32) -> Option<u64> {
    os::listen_overflows(pid)
}

#[cfg(target_os = "linux")]
mod os {
    use std::fs::File;
    use std::io;
    use std::net::Ipv4Addr;
    use std::os::fd::{AsRawFd, RawFd};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::Network;
    use crate::CaseError;

    /// Of a block set aside for examples (RFC 5737), which nobody has.
    const THIS_SIDE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
    const OTHER_SIDE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

    pub fn enter() -> Result<Network, CaseError> {
        unshare()?;
        let own = "/proc/thread-self/ns/net";
        let other = File::open(own).map_err(|e| CaseError::from_io(own, &e))?;
        unshare()?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), other.as_raw_fd());
        let network = Network { other };
        ip(None, &["link", "add", "near", "type", "veth", "peer", "name", "far"])?;
        ip(None, &["link", "set", "far", "netns", &path])?;
        for (side, device, address) in
            [(None, "near", THIS_SIDE), (Some(&network), "far", OTHER_SIDE)]
        {
            ip(side, &["address", "add", &format!("{address}/24"), "dev", device])?;
            ip(side, &["link", "set", device, "up"])?;
            ip(side, &["link", "set", "lo", "up"])?;
        }
        Ok(network)
    }

    fn unshare() -> Result<(), CaseError> {
        // SAFETY: a plain call; it changes the calling thread's network only.
        match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
            0 => Ok(()),
            _ => Err(CaseError::last_os_error("a network namespace (root may make one)")),
        }
    }

    fn ip(side: Option<&Network>, arguments: &[&str]) -> Result<(), CaseError> {
        let mut command = Command::new("ip");
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        if let Some(network) = side {
            other_side(network, &mut command);
        }
        let missing = |e: io::Error| {
            CaseError::Unsupported(format!("a network of our own needs the command `ip`: {e}"))
        };
        let ended = command.output().map_err(missing)?;
        if ended.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&ended.stderr);
        Err(CaseError::Unsupported(format!("ip {}: {}", arguments.join(" "), said.trim())))
    }

    pub fn other_side(network: &Network, command: &mut Command) -> Ipv4Addr {
        let namespace: RawFd = network.other.as_raw_fd();
        // SAFETY: setns is a plain call, sound between fork and exec; the descriptor is open as long as the
        // network is, and a command started later than that fails.
        unsafe {
            command.pre_exec(move || match libc::setns(namespace, libc::CLONE_NEWNET) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            });
        }
        OTHER_SIDE
    }

    /// Of two lines for each group of counters, their names and their values (proc_pid_net(5)).
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

    use super::Network;
    use crate::CaseError;

    pub fn enter() -> Result<Network, CaseError> {
        Err(CaseError::Unsupported("network namespaces exist only on Linux".into()))
    }

    pub fn other_side(_network: &Network, _command: &mut Command) -> Ipv4Addr {
        Ipv4Addr::LOCALHOST
    }

    pub fn listen_overflows(_pid: u32) -> Option<u64> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn both_sides_see_each_other_and_nothing_else() {
        // In a thread of its own, which takes the network with it.
        let tried = std::thread::spawn(|| {
            let network = Network::enter()?;
            let devices = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
            let mut there = Command::new("cat");
            there.arg("/proc/self/net/dev");
            network.other_side(&mut there);
            let there = String::from_utf8(there.output().unwrap().stdout).unwrap();
            Ok::<_, CaseError>((devices, there))
        });
        match tried.join().unwrap() {
            Ok((here, there)) => {
                assert!(here.contains("near:") && !here.contains("far:"), "{here}");
                assert!(there.contains("far:") && !there.contains("near:"), "{there}");
            }
            Err(case_error) => testing::skip(&format!("a network of its own: {case_error}")),
        }
    }

    #[test]
    fn overflows_are_counted() {
        assert!(listen_overflows(std::process::id()).is_some());
        assert_eq!(listen_overflows(u32::MAX), None);
    }
}
