//! Looks up the MX records of a domain (RFC 5321, section 5.1; RFC 7505).

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use hickory_resolver::{Resolver, TokioResolver};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use tokio::time::Instant;

use super::error::RouteError;
use super::mx_options::{Families, MxOptions};
use super::target::{Route, Target};

/// Maximum number of mail servers of a domain whose addresses are looked up.
const SERVERS_AT_MOST: usize = 20;
/// Maximum number of addresses of one mail server.
const ADDRESSES_AT_MOST: usize = 16;
/// Number of times a query is sent, since datagrams may be lost.
const TRIES: u32 = 2;
/// Maximum number of successive queries for one domain: its MX, and the addresses of some of its servers.
const QUESTIONS: u32 = 4;
/// Number of mail servers whose addresses are kept.
const SERVERS_KEPT: usize = 10_000;

/// The route of a domain, and its validity by the TTLs.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) route: Route,
    pub(super) holds: Duration,
}

/// The answer to a query.
enum Answer {
    Records(Lookup),
    /// The name has no records of this type. The answer is valid for this time.
    Nothing(Duration),
    /// The name does not exist. The answer is valid for this time.
    NoName(Duration),
    Failed(String),
}

/// The addresses of a mail server.
enum Addresses {
    Known(Vec<IpAddr>, Duration),
    None(Duration),
    Failed(String),
}

/// Sends queries to the name server.
pub(super) struct Finder {
    resolver: TokioResolver,
    families: Families,
    port: u16,
    timeout: Duration,
    nothing_holds: Duration,
    /// Addresses of mail servers until they expire: many domains have the same servers.
    kept: Mutex<HashMap<Name, (Vec<IpAddr>, Instant)>>,
}

impl Finder {
    pub(super) fn new(options: &MxOptions) -> Result<Self, RouteError> {
        let provider = TokioRuntimeProvider::default();
        let failed = |error: NetError| RouteError::NameServers(error.to_string());
        let mut builder = match options.nameserver {
            Some(address) => Resolver::builder_with_config(only(address), provider),
            None => Resolver::builder(provider).map_err(failed)?,
        };
        set(builder.options_mut(), options);
        Ok(Self {
            resolver: builder.build().map_err(failed)?,
            families: options.families,
            port: options.port,
            timeout: options.timeout,
            nothing_holds: options.kept.nothing,
            kept: Mutex::default(),
        })
    }

    /// Finds the route of a domain, within the time allowed for all its queries.
    pub(super) async fn find(&self, domain: &str) -> Found {
        let until = Instant::now() + self.timeout * QUESTIONS;
        let Ok(name) = Name::from_ascii(format!("{domain}.")) else {
            return never(format!("{domain} is no domain name"), self.nothing_holds);
        };
        match self.ask(name.clone(), RecordType::MX, until).await {
            Answer::Records(lookup) => {
                let (servers, holds) = (servers(domain, &lookup), time_left(&lookup));
                drop(lookup); // it may be large, and the addresses take a while
                self.find_servers(domain, servers, holds, until).await
            }
            Answer::Nothing(holds) => self.find_itself(domain, name, holds, until).await,
            Answer::NoName(holds) => never(format!("{domain} does not exist"), holds),
            Answer::Failed(cause) => later(format!("MX of {domain}: {cause}")),
        }
    }

    /// The route of a domain without MX records, which is its own mail server.
    async fn find_itself(
        &self,
        domain: &str,
        name: Name,
        holds: Duration,
        until: Instant,
    ) -> Found {
        match self.addresses_of(&name, until).await {
            Addresses::Known(addresses, also) => {
                let target = self.target(domain.to_owned(), &addresses, 0);
                Found { route: Route::To(vec![target]), holds: holds.min(also) }
            }
            Addresses::None(also) => {
                let cause = format!("{domain} has neither an MX record nor an address to use");
                never(cause, holds.min(also))
            }
            Addresses::Failed(cause) => later(format!("address of {domain}: {cause}")),
        }
    }

    async fn find_servers(
        &self,
        domain: &str,
        servers: Vec<(u16, Name)>,
        mut holds: Duration,
        until: Instant,
    ) -> Found {
        if servers.is_empty() {
            return never(format!("{domain} takes no mail (null MX, RFC 7505)"), holds);
        }
        let (mut targets, mut without, mut failure) = (Vec::new(), Vec::new(), None);
        for (preference, server) in servers {
            let name = text_of(&server);
            match self.addresses_of(&server, until).await {
                Addresses::Known(addresses, also) => {
                    holds = holds.min(also);
                    targets.push(self.target(name, &addresses, preference));
                }
                Addresses::None(also) => {
                    holds = holds.min(also);
                    without.push(name);
                }
                Addresses::Failed(cause) => {
                    failure =
                        Some(format!("address of {name}, a mail server of {domain}: {cause}"));
                }
            }
        }
        match failure {
            // The found servers are used, but only for a short time: the missing one may be preferred.
            Some(_) if !targets.is_empty() => {
                Found { route: Route::To(targets), holds: Duration::ZERO }
            }
            Some(failure) => later(failure),
            None if !targets.is_empty() => Found { route: Route::To(targets), holds },
            None => {
                let without = without.join(", ");
                never(format!("no mail server of {domain} has an address to use: {without}"), holds)
            }
        }
    }

    fn target(&self, name: String, addresses: &[IpAddr], preference: u16) -> Target {
        let addresses =
            addresses.iter().map(|&address| SocketAddr::new(address, self.port)).collect();
        Target { name, addresses, preference }
    }

    async fn addresses_of(&self, host: &Name, until: Instant) -> Addresses {
        if let Some((addresses, expires)) = self.kept().get(host)
            && let Some(holds) = expires.checked_duration_since(Instant::now())
        {
            return Addresses::Known(addresses.clone(), holds);
        }
        let found = self.ask_for_addresses(host, until).await;
        if let Addresses::Known(addresses, holds) = &found {
            let (now, mut kept) = (Instant::now(), self.kept());
            if kept.len() >= SERVERS_KEPT {
                kept.retain(|_, (_, expires)| *expires > now);
            }
            if let Some(expires) = now.checked_add(*holds).filter(|_| kept.len() < SERVERS_KEPT) {
                kept.insert(host.clone(), (addresses.clone(), expires));
            }
        }
        found
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<Name, (Vec<IpAddr>, Instant)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask_for_addresses(&self, host: &Name, until: Instant) -> Addresses {
        let kinds: &[RecordType] = match self.families {
            Families::Ipv4First => &[RecordType::A, RecordType::AAAA],
            Families::Ipv6First => &[RecordType::AAAA, RecordType::A],
            Families::Ipv4 => &[RecordType::A],
            Families::Ipv6 => &[RecordType::AAAA],
        };
        let (mut addresses, mut failure) = (Vec::new(), None);
        let mut holds = Duration::MAX;
        for &kind in kinds {
            match self.ask(host.clone(), kind, until).await {
                Answer::Records(lookup) => {
                    holds = holds.min(time_left(&lookup));
                    let found = lookup.answers().iter().filter_map(|record| record.data.ip_addr());
                    addresses.extend(found.take(ADDRESSES_AT_MOST));
                }
                Answer::Nothing(also) => holds = holds.min(also),
                Answer::NoName(also) => {
                    holds = holds.min(also);
                    break;
                }
                Answer::Failed(cause) => failure = Some(cause),
            }
        }
        match failure {
            _ if !addresses.is_empty() => Addresses::Known(addresses, holds),
            Some(cause) => Addresses::Failed(cause),
            None => Addresses::None(holds),
        }
    }

    async fn ask(&self, name: Name, kind: RecordType, until: Instant) -> Answer {
        let until = until.min(Instant::now() + self.timeout);
        match tokio::time::timeout_at(until, self.resolver.lookup(name, kind)).await {
            Ok(Ok(lookup)) => self.answer_of(lookup, kind),
            Ok(Err(error)) => self.failure_of(&error),
            Err(_) => Answer::Failed("no answer from the name server in time".to_owned()),
        }
    }

    /// An alias without records of the requested type is no answer.
    fn answer_of(&self, lookup: Lookup, kind: RecordType) -> Answer {
        if lookup.answers().iter().any(|record| record.record_type() == kind) {
            Answer::Records(lookup)
        } else {
            Answer::Nothing(self.nothing_holds)
        }
    }

    fn failure_of(&self, error: &NetError) -> Answer {
        let NetError::Dns(DnsError::NoRecordsFound(none)) = error else {
            return Answer::Failed(error.to_string());
        };
        let holds = none.negative_ttl.map(|ttl| Duration::from_secs(ttl.into()));
        let holds = holds.unwrap_or(self.nothing_holds);
        match none.response_code {
            ResponseCode::NoError => Answer::Nothing(holds),
            ResponseCode::NXDomain => Answer::NoName(holds),
            code => Answer::Failed(format!("the name server says: {code}")),
        }
    }
}

/// One name server, by UDP and TCP.
fn only(address: SocketAddr) -> ResolverConfig {
    let mut connections = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
    connections.iter_mut().for_each(|connection| connection.port = address.port());
    let server = NameServerConfig::new(address.ip(), true, connections);
    ResolverConfig::from_name_servers(vec![server])
}

/// The mail servers of a domain by preference, without the null MX.
fn servers(domain: &str, lookup: &Lookup) -> Vec<(u16, Name)> {
    let records = lookup.answers().iter();
    let mut servers: Vec<(u16, Name)> = records
        .filter_map(|record| match &record.data {
            RData::MX(mx) if !mx.exchange.is_root() => Some((mx.preference, mx.exchange.clone())),
            _ => None,
        })
        .collect();
    // Servers of equal preference are shuffled to distribute the load. `RandomState` has a new seed each time.
    let seed = RandomState::new().hash_one(domain);
    servers.shuffle(&mut StdRng::seed_from_u64(seed));
    servers.sort_by_key(|&(preference, _)| preference);
    servers.truncate(SERVERS_AT_MOST);
    servers.shrink_to_fit();
    servers
}

fn set(resolver: &mut ResolverOpts, options: &MxOptions) {
    resolver.timeout = options.timeout / TRIES;
    resolver.attempts = TRIES as usize - 1;
    // An answer may take a megabyte of memory; what is needed of it is kept here.
    resolver.cache_size = 0;
    // A look-up has one query at a time, and any number may share a TCP connection.
    resolver.max_active_requests = options.in_flight.max(1);
    // EDNS permits longer answers by UDP, which saves a TCP connection.
    resolver.edns0 = true;
    resolver.try_tcp_on_error = true;
    if options.nameserver.is_some() {
        resolver.use_hosts_file = ResolveHosts::Never;
    }
}

fn never(cause: String, holds: Duration) -> Found {
    Found { route: Route::Never(cause), holds }
}

/// A temporary failure, which is cached for the shortest time only.
fn later(cause: String) -> Found {
    Found { route: Route::Later(cause), holds: Duration::ZERO }
}

fn time_left(lookup: &Lookup) -> Duration {
    lookup.valid_until().saturating_duration_since(std::time::Instant::now())
}

/// A name without its final dot, in lower case.
fn text_of(name: &Name) -> String {
    let mut text = name.to_lowercase().to_ascii();
    if text.ends_with('.') {
        text.pop();
    }
    text
}
