//! MX look-ups beside the sender: what is known, what is asked for, and the thread that asks.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore};

use super::lookup::{Finder, Found};
use super::{PORT, Route, RouteError, Target, literal};

/// Domains that are looked up at the same time, unless told: a name server's socket keeps about 250 questions in
/// Linux's default buffer, and loses more that come at once; then each costs half the time-out.
const IN_FLIGHT: usize = 200;
/// Domains of which it is known, or being found out, where their mail goes, unless told: about 100 MB.
const DOMAINS_AT_MOST: usize = 100_000;
/// How long one question to a name server may take with its repetition, unless told (RFC 1123, section 6.1.3.3).
const TIMEOUT: Duration = Duration::from_secs(10);

/// Which addresses of a mail server are used, and which of them first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Families {
    /// Both, those of IPv6 first.
    Ipv6First,
    /// Both, those of IPv4 first.
    #[default]
    Ipv4First,
    /// Those of IPv4 only.
    Ipv4,
    /// Those of IPv6 only.
    Ipv6,
}

/// How long what was found out is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// At least, whatever the records say; also how long after a failure it is not tried again.
    pub shortest: Duration,
    /// At most, whatever the records say.
    pub longest: Duration,
    /// That there is nothing, if the name server does not say how long that holds (RFC 2308, section 5).
    pub nothing: Duration,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            shortest: Duration::from_secs(60),
            longest: Duration::from_secs(24 * 60 * 60),
            nothing: Duration::from_secs(5 * 60),
        }
    }
}

/// How MX records are asked for.
#[derive(Debug, Clone)]
pub struct MxOptions {
    /// The name server, by UDP, and by TCP for long answers; the system's if none.
    pub nameserver: Option<SocketAddr>,
    /// The port of all mail servers: MX records have none.
    pub port: u16,
    /// Which addresses are used.
    pub families: Families,
    /// How long one question may take with its repetition. All questions for one domain may take four times that.
    pub timeout: Duration,
    /// Domains that are looked up at the same time.
    pub in_flight: usize,
    /// Domains remembered, found or waiting.
    pub domains_at_most: usize,
    /// How long they are.
    pub kept: Kept,
}

impl Default for MxOptions {
    fn default() -> Self {
        Self {
            nameserver: None,
            port: PORT,
            families: Families::default(),
            timeout: TIMEOUT,
            in_flight: IN_FLIGHT,
            domains_at_most: DOMAINS_AT_MOST,
            kept: Kept::default(),
        }
    }
}

/// What is known of a domain.
#[derive(Debug)]
enum Known {
    /// That it is being found out.
    Asked,
    /// Where its mail goes, until then.
    Until(Instant, Arc<Route>),
}

#[derive(Debug)]
struct Domain {
    known: Known,
    /// Whether it is in [`Table::oldest`].
    is_listed: bool,
}

#[derive(Debug, Default)]
struct Table {
    domains: HashMap<Arc<str>, Domain>,
    /// Those asked for whose look-up has not begun.
    waiting: VecDeque<Arc<str>>,
    /// Those once found, the first of them first; each once, also if it is asked for again.
    oldest: VecDeque<Arc<str>>,
    is_closed: bool,
}

struct Shared {
    table: Mutex<Table>,
    changed: Notify,
    wake: Box<dyn Fn() + Send + Sync>,
    port: u16,
    domains_at_most: usize,
    kept: Kept,
}

/// What MX records say, as far as it is known.
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
    /// Lets the thread end by itself: it may be waiting for an answer.
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
        let is_news = table.waiting.len() == 1;
        drop(table);
        // If more wait, the thread is at it.
        if route.is_none() && is_news {
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
                shared.learn(domain, found);
                drop(permit);
            });
        }
    }

    /// The domain that has waited longest; none once nobody asks any more.
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

    fn learn(&self, domain: Arc<str>, found: Found) {
        let kept = found.holds.clamp(self.kept.shortest, self.kept.longest);
        let mut table = self.table();
        table.learn(domain, Instant::now() + kept, Arc::new(found.route));
        let is_closed = table.is_closed;
        drop(table);
        if !is_closed {
            (self.wake)();
        }
    }
}

impl Table {
    /// What is known of a domain; if nothing is that still holds, it is asked for, if there is room.
    fn of(&mut self, name: &str, at_most: usize) -> Option<Arc<Route>> {
        match self.domains.get(name).map(|domain| &domain.known) {
            Some(Known::Asked) => return None,
            Some(Known::Until(until, route)) if Instant::now() < *until => {
                return Some(Arc::clone(route));
            }
            Some(Known::Until(..)) => {}
            None => {
                if !self.make_room(at_most) {
                    return None;
                }
            }
        }
        let name: Arc<str> = name.into();
        let domain = self.domains.entry(Arc::clone(&name));
        let asked = Domain { known: Known::Asked, is_listed: false };
        domain.and_modify(|domain| domain.known = Known::Asked).or_insert(asked);
        self.waiting.push_back(name);
        None
    }

    fn learn(&mut self, name: Arc<str>, until: Instant, route: Arc<Route>) {
        let domain = Domain { known: Known::Until(until, route), is_listed: true };
        let before = self.domains.insert(Arc::clone(&name), domain);
        if !before.is_some_and(|before| before.is_listed) {
            self.oldest.push_back(name);
        }
    }

    /// Forgets what was found first if there are too many. Whether there is room then: not if all are being looked up;
    /// who asks again after the next wake finds some.
    fn make_room(&mut self, at_most: usize) -> bool {
        while self.domains.len() >= at_most {
            let Some(oldest) = self.oldest.pop_front() else { return false };
            match self.domains.get_mut(&oldest) {
                Some(Domain { known: Known::Asked, is_listed }) => *is_listed = false,
                _ => drop(self.domains.remove(&oldest)),
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Condvar;

    use super::super::nameserver::{Answer, NameServer};
    use super::super::{Router, Target};
    use super::*;

    /// Only against hanging.
    const DEADLINE: Duration = Duration::from_secs(60);

    #[derive(Default)]
    struct Bell(Mutex<usize>, Condvar);

    impl Bell {
        fn wait_beyond(&self, seen: usize) -> usize {
            let rung = self.0.lock().unwrap();
            let (rung, late) =
                self.1.wait_timeout_while(rung, DEADLINE, |rung| *rung <= seen).unwrap();
            assert!(!late.timed_out(), "nobody was woken");
            *rung
        }
    }

    struct Asking {
        router: Router,
        bell: Arc<Bell>,
    }

    impl Asking {
        fn of(server: &NameServer, change: impl FnOnce(&mut MxOptions)) -> Self {
            let mut options = MxOptions {
                nameserver: Some(server.address()),
                port: 2525,
                ..MxOptions::default()
            };
            change(&mut options);
            let bell = Arc::new(Bell::default());
            let rung = Arc::clone(&bell);
            let wake = move || {
                *rung.0.lock().unwrap() += 1;
                rung.1.notify_all();
            };
            Self { router: Router::mx(options, Box::new(wake)).unwrap(), bell }
        }

        fn route(&self, domain: &str) -> Route {
            loop {
                let seen = *self.bell.0.lock().unwrap();
                if let Some(route) = self.router.route(domain) {
                    return Route::clone(&route);
                }
                self.bell.wait_beyond(seen);
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
        let asking = Asking::of(&server, |_| {});
        let targets = asking.targets("Pref.Example.");
        let names: Vec<_> = targets.iter().map(|t| (t.preference, t.name.as_str())).collect();
        assert_eq!(names, [(5, "a.host"), (10, "b.host"), (20, "c.host")]);
        assert_eq!(targets[0].addresses, ["127.0.0.2:2525".parse().unwrap()]);
        assert_eq!(targets[1].addresses.len(), 2);
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
        let asking = Asking::of(&server, |_| {});
        let mut firsts = std::collections::BTreeSet::new();
        for domain in &domains {
            let names = asking.names(domain);
            assert_eq!((&*names[0], &*names[3]), ("c.host", "d.host"));
            firsts.insert(names[1].clone());
        }
        // By chance alone once in 2^63.
        assert_eq!(firsts.len(), 2);
    }

    #[test]
    fn domain_that_takes_no_mail_is_never_delivered_to() {
        let server = zone();
        let asking = Asking::of(&server, |_| {});
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
    fn domain_without_mx_is_its_own_server() {
        let server = zone();
        let asking = Asking::of(&server, |_| {});
        let targets = asking.targets("plain.example");
        assert_eq!(targets[0].name, "plain.example");
        assert_eq!(targets[0].addresses, ["127.0.0.5:2525".parse().unwrap()]);
    }

    #[test]
    fn aliases_are_followed() {
        let server = zone();
        assert_eq!(
            Asking::of(&server, |_| {}).names("alias.example"),
            ["a.host", "b.host", "c.host"]
        );
    }

    #[test]
    fn families_are_as_told() {
        let server = zone();
        let addresses = |families, domain| -> Vec<String> {
            let asking = Asking::of(&server, |options| options.families = families);
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
    fn server_without_address_is_skipped() {
        let server = zone();
        assert_eq!(Asking::of(&server, |_| {}).names("half.example"), ["a.host"]);
    }

    #[test]
    fn failing_name_server_may_do_later() {
        let server = zone();
        let asking = Asking::of(&server, |options| options.timeout = Duration::from_millis(300));
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
        assert_eq!(Asking::of(&server, |_| {}).names("big.example"), ["a.host"]);
        assert!(server.asked_by_tcp() > 0);
    }

    #[test]
    fn literals_need_no_name_server() {
        let server = zone();
        let asking = Asking::of(&server, |_| {});
        let route = asking.router.route("[IPv6:::1]").expect("known at once");
        let Route::To(targets) = &*route else { panic!("goes nowhere: {route:?}") };
        assert_eq!(targets[0].addresses, ["[::1]:2525".parse().unwrap()]);
        assert_eq!(server.most_asked(), 0);
    }

    #[test]
    fn what_is_known_is_not_asked_again_until_its_time_is_over() {
        let server = zone();
        let asking = Asking::of(&server, |_| {});
        for domain in ["pref.example", "null.example", "nowhere.example", "broken.example"] {
            asking.route(domain);
            let asked = server.asked(domain);
            assert!(asked > 0);
            for _ in 0..10 {
                asking.route(domain);
            }
            assert_eq!(server.asked(domain), asked, "{domain}");
        }

        // The zone's records hold for no time at all; kept as short, they are asked for again.
        let none = Kept { shortest: Duration::ZERO, ..Kept::default() };
        let forgetful = Asking::of(&server, |options| options.kept = none);
        let before = server.asked("pref.example");
        let begun = Instant::now();
        while server.asked("pref.example") < before + 2 {
            forgetful.router.route("pref.example");
            assert!(begun.elapsed() < DEADLINE, "never asked again");
            std::thread::sleep(Duration::from_millis(1));
        }
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
        let asking = Asking::of(&server, |options| options.in_flight = IN_FLIGHT);
        for domain in domains.iter().chain(&domains) {
            let _ = asking.router.route(domain);
        }
        for domain in &domains {
            assert_eq!(asking.names(domain), ["a.host"]);
        }
        assert_eq!(*asking.bell.0.lock().unwrap(), DOMAINS, "woken once for each");
        assert!(server.most_in_flight() <= IN_FLIGHT, "{}", server.most_in_flight());
        assert!(server.most_in_flight() > 1);
    }

    #[test]
    fn oldest_domain_makes_room() {
        let server = zone();
        let asking = Asking::of(&server, |options| options.domains_at_most = 2);
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
        let asking = Asking::of(&server, |_| {});
        for domain in ["silent.example", "pref.example"] {
            let _ = asking.router.route(domain);
        }
        let Asking { router, bell } = asking;
        drop(router);
        // The thread has the other one, in its callback.
        let begun = Instant::now();
        while Arc::strong_count(&bell) > 1 {
            assert!(begun.elapsed() < DEADLINE, "the thread is still there");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn domain_asked_for_again_is_not_forgotten_meanwhile() {
        let mut table = Table::default();
        let learn = |table: &mut Table, name: &str, until| {
            assert_eq!(table.waiting.pop_front().as_deref(), Some(name));
            table.learn(name.into(), until, Arc::new(Route::Never(name.to_owned())));
        };
        let over = Instant::now();
        assert!(table.of("a", 2).is_none());
        learn(&mut table, "a", over);
        // Its time is over: it is asked for again, while there is room for one other.
        for name in ["a", "b", "c", "a"] {
            assert!(table.of(name, 2).is_none());
        }
        assert_eq!(table.waiting.len(), 2);
        learn(&mut table, "a", over + DEADLINE);
        learn(&mut table, "b", over + DEADLINE);
        assert!(table.of("a", 2).is_some() && table.of("b", 2).is_some());
        assert!(table.of("c", 2).is_none());
        assert!(!table.domains.contains_key("a"), "it was found first");
        assert_eq!(table.oldest.len(), 1);
    }

    #[test]
    fn domains_beyond_the_bound_get_their_turn() {
        let server = zone();
        let asking = Asking::of(&server, |options| options.domains_at_most = 1);
        let wanted = ["plain.example", "pref.example", "half.example", "null.example"];
        for domain in wanted {
            let _ = asking.router.route(domain);
        }
        for domain in wanted {
            asking.route(domain);
        }
    }
}
