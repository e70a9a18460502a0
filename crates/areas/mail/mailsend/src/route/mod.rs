//! Routes the mail of a domain: to a relay, by a file of routes, or by MX records.

mod error;
mod file;
mod host;
mod lookup;
mod mx;
mod mx_options;
#[cfg(test)]
mod nameserver;
mod table;
mod target;

use std::path::Path;
use std::sync::Arc;

pub use error::RouteError;
pub use file::{Entry, Fault, Pattern, parse};
pub use host::{Host, HostPort};
pub use mx_options::{Families, Kept, MxOptions};
use target::is_loopback;
pub use target::{PORT, Route, Target};

/// Finds the mail servers of each domain.
#[derive(Debug)]
pub struct Router(By);

#[derive(Debug)]
enum By {
    Relay(Arc<Route>),
    File(file::Routes),
    Mx(mx::LookUps),
}

impl Router {
    /// Routes all mail to the server at `HOST` (port 25) or `HOST:PORT`. The system resolves a name once, now, which may
    /// take a while.
    ///
    /// # Errors
    ///
    /// If the text is no host, or the host has no address.
    pub fn relay(given: &str) -> Result<Self, RouteError> {
        let host: HostPort =
            given.parse().map_err(|cause| RouteError::Host { given: given.to_owned(), cause })?;
        let target = host.resolve(0)?;
        Ok(Self(By::Relay(Arc::new(Route::To(vec![target])))))
    }

    /// Routes by a file, which has on each line a domain and one or more servers to be tried in turn. `*` stands for all
    /// other domains, `.example.org` for those below `example.org`; the longest match counts. `#` begins a comment. Mail
    /// for domains that match no line is undeliverable.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, a line is wrong, or a server has no address.
    pub fn file(path: &Path) -> Result<Self, RouteError> {
        Ok(Self(By::File(file::Routes::read(path)?)))
    }

    /// Routes by the MX records of the domains. `wake` is called, on another thread, each time the route of a requested
    /// domain has become known.
    ///
    /// # Errors
    ///
    /// If the system's name servers are needed but not known, or no thread can be started.
    pub fn mx(options: MxOptions, wake: Box<dyn Fn() + Send + Sync>) -> Result<Self, RouteError> {
        Ok(Self(By::Mx(mx::LookUps::begin(options, wake)?)))
    }

    /// The route of `domain` (ASCII, or an address literal in brackets). `None` while it is being looked up: call again
    /// after a wake. Never blocks.
    pub fn route(&self, domain: &str) -> Option<Arc<Route>> {
        match &self.0 {
            By::Relay(route) => Some(Arc::clone(route)),
            By::File(routes) => Some(routes.of(domain)),
            By::Mx(look_ups) => look_ups.of(domain),
        }
    }

    /// All servers, if they are known before a domain is looked up.
    pub fn targets(&self) -> Vec<Target> {
        let of = |route: &Arc<Route>| match &**route {
            Route::To(targets) => targets.clone(),
            Route::Never(_) | Route::Later(_) => Vec::new(),
        };
        match &self.0 {
            By::Relay(route) => of(route),
            By::File(routes) => routes.all().flat_map(of).collect(),
            By::Mx(_) => Vec::new(),
        }
    }

    /// Whether all mail certainly stays on this machine: all servers are known and have only loopback addresses.
    pub fn is_loopback(&self) -> bool {
        match &self.0 {
            By::Relay(route) => is_loopback(route),
            By::File(routes) => routes.are_loopback(),
            By::Mx(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::target::literal;
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
