use crate::{Case, only};

/// Resolving a name without leaving the machine.
pub const CASE: Case = Case {
    operation: "One getaddrinfo of localhost (IPv4, stream) and freeaddrinfo, answered from /etc/hosts.",
    comparable_to: "lmbench and UnixBench have no such measurement.",
    run,
    ..Case::new("ipc", "getaddrinfo").on_linux()
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::ptr::{null, null_mut};

    use measure::CaseError;

    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    if let Some(reason) = asks_elsewhere(&read("/etc/hosts"), &read("/etc/nsswitch.conf")) {
        return Err(CaseError::Unsupported(reason.into()));
    }
    // SAFETY: an all-zero addrinfo permits any result.
    let mut hints: libc::addrinfo = unsafe { std::mem::zeroed() };
    (hints.ai_family, hints.ai_socktype) = (libc::AF_INET, libc::SOCK_STREAM);
    round.time_call("getaddrinfo", || {
        let mut found = null_mut();
        // SAFETY: the name and `hints` are valid; the result is an IPv4 address, which is read and freed once.
        unsafe {
            if libc::getaddrinfo(c"localhost".as_ptr(), null(), &hints, &mut found) != 0 {
                return false;
            }
            let address = (*found).ai_addr.cast::<libc::sockaddr_in>();
            let first_byte = (*address).sin_addr.s_addr.to_ne_bytes()[0];
            libc::freeaddrinfo(found);
            first_byte == 127
        }
    })
}

/// The reason why looking up localhost could ask another service than /etc/hosts; `None` if it cannot.
#[allow(dead_code, reason = "not on every system")]
fn asks_elsewhere(hosts: &str, services: &str) -> Option<&'static str> {
    let words = |line: &str| -> Vec<String> {
        let line = line.split('#').next().unwrap_or_default();
        line.split_whitespace().map(str::to_owned).collect()
    };
    let is_localhost = |line: &str| {
        let words = words(line);
        let (address, names) = words.split_first()?;
        (address.starts_with("127.") && names.iter().any(|name| name == "localhost")).then_some(())
    };
    if !hosts.lines().any(|line| is_localhost(line).is_some()) {
        return Some(
            "/etc/hosts has no IPv4 address of localhost, so another service would be asked",
        );
    }
    let is_hosts = |line: &&str| line.trim_start().starts_with("hosts:");
    let first = services.lines().find(is_hosts).map(|line| words(line).get(1).cloned());
    match first {
        // Without a hosts line in nsswitch.conf, files are asked first.
        None => None,
        Some(Some(service)) if service == "files" => None,
        Some(_) => Some("/etc/nsswitch.conf has another service before files for hosts"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_file_of_hosts_is_ever_asked() {
        let hosts = "# 127.0.0.1 localhost\n127.0.0.1\tmine localhost # the usual\n";
        let files_first = "passwd: files\nhosts:          files dns\n";
        assert_eq!(asks_elsewhere(hosts, files_first), None);
        assert_eq!(asks_elsewhere(hosts, ""), None);
        for hosts in
            ["# 127.0.0.1 localhost\n", "::1 localhost\n", "127.0.0.1 localhost.example\n", ""]
        {
            assert!(asks_elsewhere(hosts, files_first).is_some(), "{hosts}");
        }
        for services in
            ["hosts: dns files\n", "hosts:\n", "hosts: resolve [!UNAVAIL=return] files\n"]
        {
            assert!(asks_elsewhere(hosts, services).is_some(), "{services}");
        }
    }
}
