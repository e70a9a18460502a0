//! Where a domain's mail goes: to a relay, by a file of routes, or by its MX records.

mod file;
mod host;
mod lookup;
mod mx;
#[cfg(test)]
mod nameserver;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

pub use file::{Entry, Fault, Pattern, parse};
pub use host::{Host, HostPort};
pub use mx::{Families, Kept, MxOptions};

/// The port of SMTP (RFC 5321, section 4.5.4.2).
pub const PORT: u16 = 25;

/// A server that takes a domain's mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name, or its address where it was given as one: what its certificate must be valid for, and what
    /// messages call it.
    pub name: String,
    /// Where it listens, in the order to be tried; at least one.
    pub addresses: Vec<SocketAddr>,
    /// The lower the better. Targets of the same preference are equally good: who makes many connections
    /// spreads them over these (RFC 5321, section 5.1).
    pub preference: u16,
}

/// Where a domain's mail goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// To one of these, tried in this order; at least one.
    To(Vec<Target>),
    /// Nowhere, and that will not change soon: the reason, as the report tells it.
    Never(String),
    /// It could not be found out, which may change: the reason.
    Later(String),
}

/// Why mail cannot be routed at all.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RouteError {
    /// What was given for a host is none.
    #[error(
        "\"{given}\" is no mail server: {cause}; give HOST or HOST:PORT, such as 127.0.0.1:2525 or [::1]:25"
    )]
    Host {
        /// What was given.
        given: String,
        /// What is wrong with it.
        cause: &'static str,
    },
    /// A host's address is not known.
    #[error(
        "no address found for mail server {host}: {cause}; give its address, or look at its name"
    )]
    Unresolvable {
        /// The host.
        host: String,
        /// What the system said.
        cause: String,
    },
    /// The file of routes cannot be read.
    #[error("cannot read routes from {}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A line of the file of routes is wrong.
    #[error("{}:{line}: {cause}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is wrong with it.
        cause: String,
    },
    /// It is not known whom to ask for MX records.
    #[error("cannot tell this system's name servers: {0}; name one yourself")]
    NameServers(String),
    /// There is no thread to ask for MX records.
    #[error("cannot start the thread that asks for MX records: {0}")]
    Thread(std::io::Error),
}

/// Knows where each domain's mail goes.
#[derive(Debug)]
pub struct Router(By);

#[derive(Debug)]
enum By {
    Relay(Arc<Route>),
    File(file::Routes),
    Mx(mx::LookUps),
}

impl Router {
    /// All mail goes to the server at `HOST` or `HOST:PORT`, else on port 25. A name is resolved once, here, by the
    /// system, which may take a while.
    ///
    /// # Errors
    ///
    /// If it is no host, or has no address.
    pub fn relay(given: &str) -> Result<Self, RouteError> {
        let host: HostPort =
            given.parse().map_err(|cause| RouteError::Host { given: given.to_owned(), cause })?;
        let target = host.resolve(0)?;
        Ok(Self(By::Relay(Arc::new(Route::To(vec![target])))))
    }

    /// Mail goes where a file says: on each line a domain and one or more servers to be tried in turn. `*` stands for
    /// all other domains, `.example.org` for those below `example.org`; the longest match counts. `#` begins a comment.
    /// Domains that are not in it are never delivered to: the file says all.
    ///
    /// # Errors
    ///
    /// If it cannot be read, a line is wrong, or a server has no address.
    pub fn file(path: &Path) -> Result<Self, RouteError> {
        Ok(Self(By::File(file::Routes::read(path)?)))
    }

    /// Mail goes where the domains' MX records say. `wake` is called, on another thread, each time a domain that was
    /// asked for has become known.
    ///
    /// # Errors
    ///
    /// If the system's name servers are needed but not known, or there is no thread.
    pub fn mx(options: MxOptions, wake: Box<dyn Fn() + Send + Sync>) -> Result<Self, RouteError> {
        Ok(Self(By::Mx(mx::LookUps::begin(options, wake)?)))
    }

    /// Where mail for `domain` (ASCII, or an address literal in brackets) goes; nothing while it is being looked up:
    /// then it is to be asked again after a wake. Never waits.
    pub fn route(&self, domain: &str) -> Option<Arc<Route>> {
        match &self.0 {
            By::Relay(route) => Some(Arc::clone(route)),
            By::File(routes) => Some(routes.of(domain)),
            By::Mx(look_ups) => look_ups.of(domain),
        }
    }

    /// Whether all mail stays on this machine, for sure: every target is known beforehand and has loopback addresses
    /// only.
    pub fn is_loopback(&self) -> bool {
        match &self.0 {
            By::Relay(route) => is_loopback(route),
            By::File(routes) => routes.are_loopback(),
            By::Mx(_) => false,
        }
    }
}

fn is_loopback(route: &Route) -> bool {
    match route {
        Route::To(targets) => targets
            .iter()
            .flat_map(|target| &target.addresses)
            .all(|address| address.ip().to_canonical().is_loopback()),
        Route::Never(_) | Route::Later(_) => true,
    }
}

/// The address in a literal such as `[127.0.0.1]` or `[IPv6:::1]` (RFC 5321, section 4.1.3), if it is in brackets at
/// all; an error if there is none that is known in them.
fn literal(domain: &str) -> Option<Result<IpAddr, String>> {
    let inner = domain.strip_prefix('[')?;
    let address = inner.strip_suffix(']').and_then(|inner| match inner.split_once(':') {
        Some((tag, address)) if tag.eq_ignore_ascii_case("IPv6") => {
            address.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
        }
        _ => inner.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    });
    Some(address.ok_or_else(|| format!("{domain} is no address that mail can be sent to")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(route: &Route) -> &[Target] {
        match route {
            Route::To(targets) => targets,
            other => panic!("goes nowhere: {other:?}"),
        }
    }

    #[test]
    fn relay_takes_all_domains() {
        let router = Router::relay("127.0.0.1:2525").unwrap();
        for domain in ["example.org", "[10.0.0.1]", "xn--mller-kva.example"] {
            let route = router.route(domain).unwrap();
            assert_eq!(targets(&route)[0].addresses, ["127.0.0.1:2525".parse().unwrap()]);
            assert_eq!(targets(&route)[0].name, "127.0.0.1");
        }
    }

    #[test]
    fn relay_has_port_25_unless_told() {
        let of = |given: &str| {
            let route = Router::relay(given).unwrap().route("a.example").unwrap();
            (targets(&route)[0].name.clone(), targets(&route)[0].addresses[0])
        };
        assert_eq!(of("[::1]:2525"), ("::1".into(), "[::1]:2525".parse().unwrap()));
        assert_eq!(of("[::1]").1, "[::1]:25".parse().unwrap());
        assert_eq!(of("::1").1, "[::1]:25".parse().unwrap());
        assert_eq!(of("127.0.0.9").1, "127.0.0.9:25".parse().unwrap());
        assert_eq!(of("localhost:26").0, "localhost");
        assert_eq!(of("localhost:26").1.port(), 26);
    }

    #[test]
    fn relay_that_is_none_is_told() {
        for given in ["", ":25", "a b", "host:", "host:0", "host:70000", "[::1", "[::1]25", "a..b"]
        {
            let error = Router::relay(given).unwrap_err();
            assert!(matches!(error, RouteError::Host { .. }), "{given}: {error}");
        }
    }

    #[test]
    fn loopback_is_only_what_surely_is() {
        assert!(Router::relay("127.3.4.5").unwrap().is_loopback());
        assert!(Router::relay("[::1]:25").unwrap().is_loopback());
        assert!(Router::relay("[::ffff:127.0.0.1]:25").unwrap().is_loopback());
        assert!(!Router::relay("192.0.2.1").unwrap().is_loopback());
        assert!(!Router::relay("[2001:db8::1]:25").unwrap().is_loopback());
    }

    #[test]
    fn threads_can_share_it() {
        fn is_shared<T: Send + Sync>(_: &T) {}
        is_shared(&Router::relay("::1").unwrap());
    }

    #[test]
    fn literals() {
        assert_eq!(literal("[127.0.0.1]"), Some(Ok("127.0.0.1".parse().unwrap())));
        assert_eq!(literal("[IPv6:::1]"), Some(Ok("::1".parse().unwrap())));
        assert_eq!(literal("[ipv6:2001:db8::1]"), Some(Ok("2001:db8::1".parse().unwrap())));
        assert_eq!(literal("example.org"), None);
        for wrong in ["[", "[]", "[127.0.0.1", "[::1]", "[IPv6:127.0.0.1]", "[x-tag:y]"] {
            assert!(matches!(literal(wrong), Some(Err(_))), "{wrong}");
        }
    }
}
