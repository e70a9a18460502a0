//! MX look-ups in a separate thread.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, Semaphore};

use super::error::RouteError;
use super::lookup::{Finder, Found};
use super::mx_options::{Kept, MxOptions};
use super::table::Table;
use super::target::{Route, Target, literal};

struct Shared {
    table: Mutex<Table>,
    changed: Notify,
    wake: Box<dyn Fn() + Send + Sync>,
    port: u16,
    domains_at_most: usize,
    kept: Kept,
}

/// The routes by MX records, looked up on demand.
pub(super) struct LookUps(Arc<Shared>);

impl fmt::Debug for LookUps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LookUps").field("domains", &self.0.table().domains.len()).finish()
    }
}

impl LookUps {
    pub(super) fn begin(
        options: MxOptions,
        wake: Box<dyn Fn() + Send + Sync>,
    ) -> Result<Self, RouteError> {
        let shared = Arc::new(Shared {
            table: Mutex::default(),
            changed: Notify::new(),
            wake,
            port: options.port,
            domains_at_most: options.domains_at_most.max(1),
            kept: options.kept,
        });
        let finder = Finder::new(&options)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(RouteError::Thread)?;
        let ours = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("mx".to_owned())
            .spawn(move || runtime.block_on(ours.look_up_all(finder, options.in_flight.max(1))))
            .map_err(RouteError::Thread)?;
        Ok(Self(shared))
    }

    pub(super) fn of(&self, domain: &str) -> Option<Arc<Route>> {
        if let Some(address) = literal(domain) {
            return Some(Arc::new(match address {
                Ok(address) => Route::To(vec![Target {
                    name: address.to_string(),
                    addresses: vec![SocketAddr::new(address, self.0.port)],
                    preference: 0,
                }]),
                Err(cause) => Route::Never(cause),
            }));
        }
        let domain = domain.strip_suffix('.').unwrap_or(domain);
        if domain.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return self.0.of(&domain.to_ascii_lowercase());
        }
        self.0.of(domain)
    }
}

impl Drop for LookUps {
    /// Tells the thread to end, without waiting for it: it may be waiting for a reply.
    fn drop(&mut self) {
        self.0.table().is_closed = true;
        self.0.changed.notify_one();
    }
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, domain: &str) -> Option<Arc<Route>> {
        let mut table = self.table();
        let route = table.of(domain, self.domains_at_most);
        let is_first = table.waiting.len() == 1;
        drop(table);
        // The thread is awake already if more domains are waiting.
        if route.is_none() && is_first {
            self.changed.notify_one();
        }
        route
    }

    async fn look_up_all(self: Arc<Self>, finder: Finder, in_flight: usize) {
        let finder = Arc::new(finder);
        let permits = Arc::new(Semaphore::new(in_flight));
        loop {
            let Some(domain) = self.next().await else { return };
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
            let (shared, finder) = (Arc::clone(&self), Arc::clone(&finder));
            tokio::spawn(async move {
                let found = finder.find(&domain).await;
                shared.store(domain, found);
                drop(permit);
            });
        }
    }

    /// The domain that has waited longest; `None` when the router was dropped.
    async fn next(&self) -> Option<Arc<str>> {
        loop {
            {
                let mut table = self.table();
                if table.is_closed {
                    return None;
                }
                if let Some(domain) = table.waiting.pop_front() {
                    return Some(domain);
                }
            }
            self.changed.notified().await;
        }
    }

    fn store(&self, domain: Arc<str>, found: Found) {
        let kept = found.holds.clamp(self.kept.shortest, self.kept.longest);
        let mut table = self.table();
        table.store(domain, Instant::now() + kept, Arc::new(found.route));
        let is_closed = table.is_closed;
        drop(table);
        if !is_closed {
            (self.wake)();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use std::sync::Condvar;

    use super::super::nameserver::{Answer, NameServer};
    use super::super::{Families, Router, Target};
    use super::*;

    /// Time limit that only a hang reaches.
    const DEADLINE: Duration = Duration::from_secs(60);

    #[derive(Default)]
    struct WakeCount(Mutex<usize>, Condvar);

    impl WakeCount {
        fn wait_beyond(&self, seen: usize) -> usize {
            let count = self.0.lock().unwrap();
            let (count, late) =
                self.1.wait_timeout_while(count, DEADLINE, |count| *count <= seen).unwrap();
            assert!(!late.timed_out(), "there was no wake");
            *count
        }
    }

    struct Asking {
        router: Router,
        wakes: Arc<WakeCount>,
    }

    impl Asking {
        fn of(server: &NameServer) -> Self {
            Self::with(server, MxOptions::default())
        }

        fn with(server: &NameServer, options: MxOptions) -> Self {
            let nameserver = Some(server.address());
            let options = MxOptions { nameserver, port: 2525, ..options };
            let wakes = Arc::new(WakeCount::default());
            let counter = Arc::clone(&wakes);
            let wake = move || {
                *counter.0.lock().unwrap() += 1;
                counter.1.notify_all();
            };
            Self { router: Router::mx(options, Box::new(wake)).unwrap(), wakes }
        }

        fn route(&self, domain: &str) -> Route {
            loop {
                let seen = *self.wakes.0.lock().unwrap();
                if let Some(route) = self.router.route(domain) {
                    return Route::clone(&route);
                }
                self.wakes.wait_beyond(seen);
            }
        }

        fn targets(&self, domain: &str) -> Vec<Target> {
            match self.route(domain) {
                Route::To(targets) => targets,
                other => panic!("{domain} goes nowhere: {other:?}"),
            }
        }

        fn names(&self, domain: &str) -> Vec<String> {
            self.targets(domain).into_iter().map(|target| target.name).collect()
        }
    }

    fn zone() -> NameServer {
        NameServer::start(&[
            ("pref.example", Answer::Mx(&[(20, "c.host"), (5, "a.host"), (10, "b.host")])),
            ("null.example", Answer::Mx(&[(0, ".")])),
            ("plain.example", Answer::A(&["127.0.0.5"])),
            ("six.example", Answer::Mx(&[(10, "six.host")])),
            ("half.example", Answer::Mx(&[(10, "gone.host"), (20, "a.host")])),
            ("gone.example", Answer::Mx(&[(10, "gone.host"), (20, "empty.host")])),
            ("unsure.example", Answer::Mx(&[(10, "gone.host"), (20, "broken.host")])),
            ("empty.example", Answer::Txt),
            ("broken.example", Answer::Broken),
            ("silent.example", Answer::Silence),
            ("big.example", Answer::Truncated(&[(10, "a.host")])),
            ("both.example", Answer::Mx(&[(10, "both.host")])),
            ("alias.example", Answer::Cname("pref.example")),
            ("a.host", Answer::A(&["127.0.0.2"])),
            ("b.host", Answer::A(&["127.0.0.3", "127.0.0.4"])),
            ("c.host", Answer::A(&["127.0.0.4"])),
            ("six.host", Answer::Aaaa(&["::1"])),
            ("both.host", Answer::Both("127.0.0.2", "::1")),
            ("empty.host", Answer::Txt),
            ("broken.host", Answer::Broken),
        ])
    }

    #[test]
    fn servers_come_by_preference_with_their_addresses() {
        let server = zone();
        let asking = Asking::of(&server);
        let targets = asking.targets("Pref.Example.");
        let names: Vec<_> = targets.iter().map(|t| (t.preference, t.name.as_str())).collect();
        assert_eq!(names, [(5, "a.host"), (10, "b.host"), (20, "c.host")]);
        assert_eq!(targets[0].addresses, ["127.0.0.2:2525".parse().unwrap()]);
        assert_eq!(targets[1].addresses.len(), 2);
        for (domain, names) in [
            // The domain is an alias of another.
            ("alias.example", &["a.host", "b.host", "c.host"][..]),
            // A server without an address is skipped.
            ("half.example", &["a.host"]),
            // A domain without MX records is its own server.
            ("plain.example", &["plain.example"]),
        ] {
            assert_eq!(asking.names(domain), names, "{domain}");
        }
        let addresses = &asking.targets("plain.example")[0].addresses;
        assert_eq!(addresses, &["127.0.0.5:2525".parse().unwrap()]);
        assert!(!asking.router.is_loopback(), "DNS may say otherwise tomorrow");
    }

    #[test]
    fn equal_servers_come_in_any_order() {
        let hosts = [(10, "a.host"), (10, "b.host"), (5, "c.host"), (20, "d.host")];
        let domains: Vec<_> = (0..64).map(|n| format!("d{n}.example")).collect();
        let mut zone: Vec<_> =
            hosts.iter().map(|&(_, host)| (host, Answer::A(&["127.0.0.2"]))).collect();
        zone.extend(domains.iter().map(|domain| (domain.as_str(), Answer::Mx(&hosts))));
        let server = NameServer::start(&zone);
        let asking = Asking::of(&server);
        let mut firsts = std::collections::BTreeSet::new();
        for domain in &domains {
            let names = asking.names(domain);
            assert_eq!((&*names[0], &*names[3]), ("c.host", "d.host"));
            firsts.insert(names[1].clone());
        }
        // Chance alone gives a single server once in 2^63 runs.
        assert_eq!(firsts.len(), 2);
    }

    #[test]
    fn domain_that_takes_no_mail_is_never_delivered_to() {
        let server = zone();
        let asking = Asking::of(&server);
        for (domain, says) in [
            ("null.example", "null MX"),
            ("nowhere.example", "does not exist"),
            ("empty.example", "neither"),
            ("gone.example", "gone.host"),
            ("[127.0.0.1", "no address"),
            ("a..example", "no domain name"),
        ] {
            match asking.route(domain) {
                Route::Never(cause) => assert!(cause.contains(says), "{domain}: {cause}"),
                other => panic!("{domain}: {other:?}"),
            }
        }
    }

    #[test]
    fn families_are_as_told() {
        let server = zone();
        let addresses = |families, domain| -> Vec<String> {
            let asking = Asking::with(&server, MxOptions { families, ..MxOptions::default() });
            match asking.route(domain) {
                Route::To(targets) => {
                    targets[0].addresses.iter().map(|a| a.ip().to_string()).collect()
                }
                _ => Vec::new(),
            }
        };
        assert_eq!(addresses(Families::Ipv4First, "both.example"), ["127.0.0.2", "::1"]);
        assert_eq!(addresses(Families::Ipv6First, "both.example"), ["::1", "127.0.0.2"]);
        assert_eq!(addresses(Families::Ipv4, "both.example"), ["127.0.0.2"]);
        assert_eq!(addresses(Families::Ipv6, "both.example"), ["::1"]);
        assert_eq!(addresses(Families::Ipv4First, "six.example"), ["::1"]);
        assert!(addresses(Families::Ipv4, "six.example").is_empty());
    }

    #[test]
    fn failing_name_server_may_do_later() {
        let server = zone();
        let timeout = Duration::from_millis(300);
        let asking = Asking::with(&server, MxOptions { timeout, ..MxOptions::default() });
        for domain in ["broken.example", "silent.example", "unsure.example"] {
            match asking.route(domain) {
                Route::Later(cause) => assert!(cause.contains(domain), "{cause}"),
                other => panic!("{domain}: {other:?}"),
            }
        }
    }

    #[test]
    fn long_answer_comes_by_tcp() {
        let server = zone();
        assert_eq!(Asking::of(&server).names("big.example"), ["a.host"]);
        assert!(server.asked_by_tcp() > 0);
    }

    #[test]
    fn literals_need_no_name_server() {
        let server = zone();
        let asking = Asking::of(&server);
        let route = asking.router.route("[IPv6:::1]").expect("known at once");
        let Route::To(targets) = &*route else { panic!("goes nowhere: {route:?}") };
        assert_eq!(targets[0].addresses, ["[::1]:2525".parse().unwrap()]);
        assert_eq!(server.most_asked(), 0);
    }

    #[test]
    fn what_is_known_is_not_asked_again_until_its_time_is_over() {
        let server = zone();
        let asking = Asking::of(&server);
        for domain in ["pref.example", "null.example", "nowhere.example", "broken.example"] {
            asking.route(domain);
            let asked = server.asked(domain);
            assert!(asked > 0);
            for _ in 0..10 {
                asking.route(domain);
            }
            assert_eq!(server.asked(domain), asked, "{domain}");
        }

        // The zone's TTLs are zero; with a shortest time of zero, the routes are looked up again.
        let kept = Kept { shortest: Duration::ZERO, ..Kept::default() };
        let forgetful = Asking::with(&server, MxOptions { kept, ..MxOptions::default() });
        let before = server.asked("pref.example");
        testing::until(|| {
            forgetful.router.route("pref.example");
            server.asked("pref.example") >= before + 2
        });
    }

    #[test]
    fn thousand_domains_are_asked_for_once_each_and_not_all_at_once() {
        const DOMAINS: usize = 1_000;
        const IN_FLIGHT: usize = 50;
        let domains: Vec<_> = (0..DOMAINS).map(|n| format!("d{n}.example")).collect();
        let mut zone: Vec<_> =
            domains.iter().map(|d| (d.as_str(), Answer::Mx(&[(10, "a.host")]))).collect();
        zone.push(("a.host", Answer::A(&["127.0.0.2"])));
        let server = NameServer::start(&zone);
        server.delay(Duration::from_millis(20));
        let options = MxOptions { in_flight: IN_FLIGHT, ..MxOptions::default() };
        let asking = Asking::with(&server, options);
        for domain in domains.iter().chain(&domains) {
            let _ = asking.router.route(domain);
        }
        for domain in &domains {
            assert_eq!(asking.names(domain), ["a.host"]);
        }
        assert_eq!(*asking.wakes.0.lock().unwrap(), DOMAINS, "woken once for each");
        assert!(server.most_in_flight() <= IN_FLIGHT, "{}", server.most_in_flight());
        assert!(server.most_in_flight() > 1);
    }

    #[test]
    fn oldest_domain_makes_room() {
        let server = zone();
        let options = MxOptions { domains_at_most: 2, ..MxOptions::default() };
        let asking = Asking::with(&server, options);
        for domain in ["plain.example", "pref.example", "half.example"] {
            asking.targets(domain);
        }
        assert!(asking.router.route("half.example").is_some());
        assert!(asking.router.route("pref.example").is_some());
        assert!(asking.router.route("plain.example").is_none());
    }

    #[test]
    fn thread_ends_when_nobody_asks_any_more() {
        let server = zone();
        let asking = Asking::of(&server);
        for domain in ["silent.example", "pref.example"] {
            let _ = asking.router.route(domain);
        }
        let Asking { router, wakes } = asking;
        drop(router);
        // The thread's callback holds the second reference.
        testing::until(|| Arc::strong_count(&wakes) == 1);
    }

    #[test]
    fn domains_beyond_the_bound_get_their_turn() {
        let server = zone();
        let options = MxOptions { domains_at_most: 1, ..MxOptions::default() };
        let asking = Asking::with(&server, options);
        let wanted = ["plain.example", "pref.example", "half.example", "null.example"];
        for domain in wanted {
            let _ = asking.router.route(domain);
        }
        for domain in wanted {
            asking.route(domain);
        }
    }
}
