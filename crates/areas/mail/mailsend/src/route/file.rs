//! Files of routes: `domain server [server...]` on each line.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use smtp::data::without_mark;

use super::error::RouteError;
use super::host::{Host, HostPort, name_of};
use super::target::{Route, Target, is_loopback, literal};

/// Maximum size of a file of routes, in bytes: a million lines of usual length.
const FILE_AT_MOST: u64 = 64 << 20;
/// Maximum number of servers of one domain.
const SERVERS_AT_MOST: usize = 100;

/// The domains of a line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// This domain, in lower case; an address literal with its brackets.
    Domain(String),
    /// All subdomains of this domain.
    Below(String),
    /// All domains without a line that names them.
    Others,
}

/// A line with a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Number of the line, from 1.
    pub line: usize,
    /// The domains of the line.
    pub pattern: Pattern,
    /// Servers, in the order in which they are tried; at least one.
    pub servers: Vec<HostPort>,
}

/// An error in a file of routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The line's number, from 1.
    pub line: usize,
    /// What is wrong with the line.
    pub cause: String,
}

/// Parses a file of routes; names are not resolved.
///
/// # Errors
///
/// The error of the first invalid line.
pub fn parse(content: &[u8]) -> Result<Vec<Entry>, Fault> {
    let content = without_mark(content);
    let mut lines_of = HashMap::new();
    let mut entries = Vec::new();
    for (line, text) in (1..).zip(content.split(|&byte| byte == b'\n')) {
        let fault = |cause: String| Fault { line, cause };
        let text = std::str::from_utf8(text).map_err(|_| fault("is not UTF-8".to_owned()))?;
        let Some((pattern, servers)) = parse_line(text).map_err(fault)? else { continue };
        if let Some(first) = lines_of.insert(pattern.clone(), line) {
            let cause = "this domain has a route already, on line";
            return Err(fault(format!("{cause} {first}; name all servers on one line")));
        }
        entries.push(Entry { line, pattern, servers });
    }
    Ok(entries)
}

fn parse_line(text: &str) -> Result<Option<(Pattern, Vec<HostPort>)>, String> {
    let text = text.split_once('#').map_or(text, |(before, _comment)| before);
    let mut words = text.split_ascii_whitespace();
    let Some(domain) = words.next() else { return Ok(None) };
    let pattern = pattern_of(domain).map_err(|cause| format!("\"{domain}\": {cause}"))?;
    let mut servers = Vec::new();
    for word in words {
        if servers.len() == SERVERS_AT_MOST {
            return Err(format!("has more than {SERVERS_AT_MOST} servers"));
        }
        servers.push(word.parse().map_err(|cause| format!("\"{word}\": {cause}"))?);
    }
    if servers.is_empty() {
        return Err(format!("\"{domain}\" is not followed by a server, such as 127.0.0.1:2525"));
    }
    Ok(Some((pattern, servers)))
}

fn pattern_of(domain: &str) -> Result<Pattern, String> {
    if domain == "*" {
        return Ok(Pattern::Others);
    }
    if let Some(address) = literal(domain) {
        return address.map(|_| Pattern::Domain(domain.to_ascii_lowercase()));
    }
    match domain.strip_prefix('.') {
        Some(parent) => Ok(Pattern::Below(name_of(parent)?)),
        None => Ok(Pattern::Domain(name_of(domain)?)),
    }
}

/// The routes of a file.
#[derive(Debug)]
pub(super) struct Routes {
    exact: HashMap<String, Arc<Route>>,
    below: HashMap<String, Arc<Route>>,
    others: Arc<Route>,
}

impl Routes {
    pub(super) fn read(path: &Path) -> Result<Self, RouteError> {
        let fail = |cause| RouteError::File { path: path.to_owned(), cause };
        let file = std::fs::File::open(path).map_err(fail)?;
        let mut content = Vec::new();
        file.take(FILE_AT_MOST + 1).read_to_end(&mut content).map_err(fail)?;
        if content.len() as u64 > FILE_AT_MOST {
            let cause = format!("is longer than {} MiB", FILE_AT_MOST >> 20);
            return Err(fail(std::io::Error::other(cause)));
        }
        let at = |line, cause| RouteError::Line { path: path.to_owned(), line, cause };
        let entries = parse(&content).map_err(|fault| at(fault.line, fault.cause))?;
        Self::resolve(entries).map_err(|(line, cause)| at(line, cause))
    }

    /// All routes.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Route>> {
        self.exact.values().chain(self.below.values()).chain([&self.others])
    }

    /// Resolves the servers' names, each once.
    fn resolve(entries: Vec<Entry>) -> Result<Self, (usize, String)> {
        let nowhere = "the file of routes does not have this domain, nor a line for others (*)";
        let mut routes = Self {
            exact: HashMap::new(),
            below: HashMap::new(),
            others: Arc::new(Route::Never(nowhere.to_owned())),
        };
        let mut resolved = HashMap::new();
        for Entry { line, pattern, servers } in entries {
            let mut targets = Vec::with_capacity(servers.len());
            for (preference, server) in (0..).zip(servers) {
                let target = target_of(server, &mut resolved);
                let target = target.map_err(|error| (line, error.to_string()))?;
                targets.push(Target { preference, ..target });
            }
            let route = Arc::new(Route::To(targets));
            match pattern {
                Pattern::Domain(domain) => drop(routes.exact.insert(domain, route)),
                Pattern::Below(parent) => drop(routes.below.insert(parent, route)),
                Pattern::Others => routes.others = route,
            }
        }
        Ok(routes)
    }

    pub(super) fn of(&self, domain: &str) -> Arc<Route> {
        let mut domain = Cow::Borrowed(domain.strip_suffix('.').unwrap_or(domain));
        if domain.bytes().any(|byte| byte.is_ascii_uppercase()) {
            domain.to_mut().make_ascii_lowercase();
        }
        let found = self.exact.get(&*domain).or_else(|| self.nearest_parent(&domain));
        Arc::clone(found.unwrap_or(&self.others))
    }

    fn nearest_parent(&self, domain: &str) -> Option<&Arc<Route>> {
        if self.below.is_empty() || domain.starts_with('[') {
            return None;
        }
        let mut rest = domain;
        while let Some((_, parent)) = rest.split_once('.') {
            if let Some(route) = self.below.get(parent) {
                return Some(route);
            }
            rest = parent;
        }
        None
    }

    pub(super) fn are_loopback(&self) -> bool {
        let all = self.exact.values().chain(self.below.values());
        all.chain([&self.others]).all(|route| is_loopback(route))
    }
}

fn target_of(
    server: HostPort,
    resolved: &mut HashMap<HostPort, Target>,
) -> Result<Target, RouteError> {
    if matches!(server.host, Host::Address(_)) {
        return server.resolve(0);
    }
    if let Some(target) = resolved.get(&server) {
        return Ok(target.clone());
    }
    let target = server.resolve(0)?;
    resolved.insert(server, target.clone());
    Ok(target)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn routes(content: &str) -> Routes {
        Routes::resolve(parse(content.as_bytes()).unwrap()).unwrap()
    }

    fn ports(routes: &Routes, domain: &str) -> Vec<u16> {
        match &*routes.of(domain) {
            Route::To(targets) => targets.iter().map(|t| t.addresses[0].port()).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_name() {
        let with_mark = parse(b"\xef\xbb\xbfexample.org 127.0.0.1\r\n").unwrap();
        assert_eq!(with_mark, parse(b"example.org 127.0.0.1\r\n").unwrap());
        assert_eq!(parse(b"\xef\xbb\xbf# comment\n"), Ok(Vec::new()));
    }

    #[test]
    fn nearest_line_counts() {
        let routes = routes(
            "# all of it\n\
             example.org 127.0.0.1:1\r\n\
             .example.org 127.0.0.1:2 # below\n\
             deep.a.example.org 127.0.0.1:3\n\
             .a.example.org 127.0.0.1:4 [::1]:44\n\
             [127.0.0.1] 127.0.0.1:5\n\
             M\u{fc}ller.example 127.0.0.1:7\n\
             \n* 127.0.0.1:6",
        );
        for (domain, expected) in [
            ("example.org", &[1][..]),
            ("EXAMPLE.org.", &[1]),
            ("b.example.org", &[2]),
            ("a.example.org", &[2]),
            ("deep.a.example.org", &[3]),
            ("other.a.example.org", &[4, 44]),
            ("x.y.a.example.org", &[4, 44]),
            ("notexample.org", &[6]),
            ("org", &[6]),
            ("[127.0.0.1]", &[5]),
            ("[10.0.0.1]", &[6]),
            ("xn--mller-kva.example", &[7]),
        ] {
            assert_eq!(ports(&routes, domain), expected, "{domain}");
        }
        assert!(routes.are_loopback());
    }

    #[test]
    fn servers_are_preferred_in_their_order() {
        let routes = routes("a.example 127.0.0.1 localhost:26 localhost:26\n");
        let Route::To(targets) = &*routes.of("a.example") else { panic!("no route") };
        let preferences: Vec<_> = targets.iter().map(|target| target.preference).collect();
        assert_eq!(preferences, [0, 1, 2]);
        assert_eq!(targets[1].name, "localhost");
        assert_eq!(targets[1].addresses, targets[2].addresses);
    }

    #[test]
    fn domain_that_is_not_in_it_is_never_delivered_to() {
        let routes = routes("a.example 127.0.0.1\n");
        assert!(matches!(&*routes.of("b.example"), Route::Never(_)));
        assert!(routes.are_loopback());
    }

    #[test]
    fn one_address_elsewhere_is_not_loopback() {
        assert!(!routes("a.example 127.0.0.1 192.0.2.1\n").are_loopback());
        assert!(!routes(".a.example 192.0.2.1\n").are_loopback());
        assert!(!routes("* 192.0.2.1\na.example 127.0.0.1").are_loopback());
    }

    #[test]
    fn wrong_line_is_told_with_its_file_and_number() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (content, line, says) in [
            ("a.example\n", 1, "not followed by a server"),
            ("\n# b\na.example 127.0.0.1:99999\n", 3, "65535"),
            ("a.example 127.0.0.1\nA.example. ::1", 2, "on line 1"),
            ("* ::1\n* ::1", 2, "on line 1"),
            ("a@b.example ::1", 1, "letters"),
            ("[1.2.3] ::1", 1, "no address"),
            (". ::1", 1, "missing"),
        ] {
            std::fs::write(file.path(), content).unwrap();
            let error = Routes::read(file.path()).unwrap_err().to_string();
            let prefix = format!("{}:{line}: ", file.path().display());
            assert!(error.starts_with(&prefix) && error.contains(says), "{content:?}: {error}");
        }
        std::fs::write(file.path(), b"a.example \xff").unwrap();
        assert!(Routes::read(file.path()).unwrap_err().to_string().contains("UTF-8"));
        let missing = Routes::read(Path::new("/no/such/routes")).unwrap_err().to_string();
        assert!(missing.contains("/no/such/routes"), "{missing}");
    }

    #[test]
    fn ten_thousand_domains_each_have_their_own() {
        let mut content = String::new();
        for n in 0..10_000 {
            let (b, c) = (n / 250, n % 250 + 1);
            writeln!(content, "d{n}.example 127.0.{b}.{c}:{}", 2000 + n).unwrap();
        }
        let routes = routes(&content);
        for n in [0, 1, 4_999, 9_999] {
            assert_eq!(ports(&routes, &format!("d{n}.example")), [2000 + n]);
        }
        assert!(ports(&routes, "d10000.example").is_empty());
    }

    proptest! {
        #[test]
        fn anything_is_read_or_refused(content in prop::collection::vec(any::<u8>(), 0..400)) {
            let lines = content.split(|&byte| byte == b'\n').count();
            match parse(&content) {
                Ok(entries) => for entry in entries {
                    prop_assert!(entry.line <= lines && !entry.servers.is_empty());
                },
                Err(fault) => prop_assert!((1..=lines).contains(&fault.line)),
            }
        }

        #[test]
        fn what_is_written_is_read(
            written in prop::collection::btree_map(
                "[a-z0-9]{1,8}(\\.[a-z0-9-]{1,8}){0,3}",
                prop::collection::vec((any::<std::net::IpAddr>(), 1..=u16::MAX), 1..4),
                0..20,
            ),
            spaces in "[ \t]{1,3}",
            end in prop::sample::select(vec!["\n", "\r\n", " # x\n", "\n\n"]),
        ) {
            let mut content = String::new();
            for (domain, servers) in &written {
                content.push_str(domain);
                for &(address, port) in servers {
                    let address = std::net::SocketAddr::new(address, port);
                    write!(content, "{spaces}{address}").unwrap();
                }
                content.push_str(end);
            }
            let read = parse(content.as_bytes()).unwrap();
            prop_assert_eq!(read.len(), written.len());
            for (entry, (domain, servers)) in read.iter().zip(&written) {
                prop_assert_eq!(&entry.pattern, &Pattern::Domain(domain.clone()));
                let expected: Vec<_> = servers
                    .iter()
                    .map(|&(address, port)| HostPort { host: Host::Address(address), port })
                    .collect();
                prop_assert_eq!(&entry.servers, &expected);
            }
        }
    }
}
