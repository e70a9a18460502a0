//! The health of each server address: what it refused and why, how many connections it admits at once, whether its TLS
//! works, and when it is contacted again.
//!
//! The number of connections begins small and doubles with those that the server admits (slow start). A refusal while other
//! connections work means that the server admits no more than these: that is the limit, and one more is tried now and
//! then. A refusal without other connections pauses the address, longer each time. Times are in milliseconds since the
//! start of the delivery.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::queue::Retry;

/// First pause of an address without a working connection.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// First pause after a refusal while other connections work: the server may not have noticed yet that one has ended.
const FIRST_HOLD_MS: u32 = 10;
/// Longest such pause.
const HOLD_AT_MOST_MS: u32 = 1_000;
/// Number of refused connections, and none admitted in between, after which the server admits fewer than before. A server
/// that refuses at random, such as one behind a bad network, does so more rarely.
const REFUSED_IN_A_ROW: u16 = 4;
/// First interval at which one connection more than the limit is tried; it doubles with each refusal.
const PROBE_EVERY_MS: u32 = 1_000;
/// Longest such interval.
const PROBE_AT_MOST_MS: u32 = 60_000;
/// Longest time that a destination waits for a free connection before it asks again.
const ASK_AGAIN_MS: u32 = 1_000;
/// Number of failed handshakes in a row after which TLS does not work.
const TLS_FAILURES: u8 = 2;
/// Time for which TLS is not tried again.
const CLEAR_FOR_MS: u32 = 10 * 60 * 1_000;
/// Number of servers above which those without trouble are forgotten.
const KEPT: usize = 10_000;

/// The health of all servers that were contacted.
#[derive(Debug)]
pub struct Servers {
    known: HashMap<SocketAddr, Server>,
    /// Number of connections to a server before it has admitted any.
    at_first: u32,
    /// Shortest and longest pause.
    pauses_ms: (u32, u32),
    /// Number of servers at which those without trouble are forgotten next.
    forget_at: usize,
}

/// The health of one address.
#[derive(Debug, Default)]
struct Server {
    /// Number of connections that were begun and have not failed or ended.
    open: u32,
    /// Number of them that can carry transactions.
    working: u32,
    /// Highest value of `working` that the server is known to admit.
    proven: u32,
    /// Maximum of `open`.
    limit: u32,
    /// Whether `limit` is due to a refusal; else it grows.
    is_limited: bool,
    /// Whether the limit was reported.
    is_told: bool,
    /// Time from which one connection more than `limit` may be tried.
    probe_at: u32,
    probe_every: u32,
    /// Number of refusals since the server worked, each of a connection begun after the one before.
    refused: u16,
    /// Number of connections refused since one was admitted.
    in_a_row: u16,
    /// Whether the server refuses connections that it had admitted, which then say nothing.
    is_late: bool,
    refused_at: Option<u32>,
    /// Number of failures in a row without a working connection.
    failures: u16,
    /// The address is not contacted before this time.
    paused_until: u32,
    /// Whether the last refusal was permanent.
    is_permanent: bool,
    /// Whether a recipient was accepted or rejected over a connection.
    has_worked: bool,
    /// Until this time other servers of equal rights go first, since recipients were deferred here.
    aside_until: u32,
    tls_failures: u8,
    tls_failed_at: Option<u32>,
    /// Until this time TLS is not tried.
    clear_until: u32,
    /// The latest failure; `None` once the server works.
    reason: Option<Arc<str>>,
    /// Destinations that wait for a free connection.
    waiting: VecDeque<u32>,
}

/// A server that a destination may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Its address.
    pub address: SocketAddr,
    /// Lower values are preferred.
    pub preference: u16,
}

/// The server for a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Connect to the candidate with this number; `in_clear`: without TLS, which does not work at any candidate.
    Connect {
        /// Number of the candidate.
        number: usize,
        /// Whether TLS is omitted.
        in_clear: bool,
    },
    /// The servers admit no further connection: ask again at `until`, or when [`Servers::freed`] returns the destination.
    Full {
        /// Number of the candidate to wait for.
        number: usize,
        /// Time to ask again.
        until: u32,
    },
    /// No server can be reached before `until`.
    Down {
        /// Time to ask again.
        until: u32,
        /// Whether all servers have refused permanently.
        is_permanent: bool,
        /// The reason of the server that is contacted next.
        why: Arc<str>,
    },
}

/// A connection whose session has failed.
#[derive(Debug, Clone, Copy)]
pub struct FailedConnection {
    /// Time at which it was begun.
    pub begun: u32,
    /// Whether it carried transactions.
    pub was_working: bool,
    /// Whether no recipient was tried over it, so that the server has refused the connection.
    pub is_refusal: bool,
    /// Whether the refusal is permanent.
    pub is_permanent: bool,
    /// Whether TLS failed, and clear text is permitted instead.
    pub is_tls: bool,
}

/// What a failure means for the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// Nothing: other connections have reported the same, or it is the end of one connection only.
    None,
    /// The server admits this number of connections at a time.
    Limited(u32),
    /// The address is not contacted for a while.
    Paused,
    /// TLS does not work: if there is no other server, mail goes in clear text.
    InClear,
}

impl Servers {
    /// No server is known. `at_first`: number of connections to a server before it has admitted any.
    pub fn new(at_first: usize, retry: &Retry) -> Self {
        let ms = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX).max(1);
        let at_most = ms(retry.at_most);
        let pauses_ms = (ms(retry.after.min(FIRST_PAUSE)).min(at_most), at_most);
        let at_first = u32::try_from(at_first.max(1)).unwrap_or(u32::MAX);
        Self { known: HashMap::new(), at_first, pauses_ms, forget_at: KEPT }
    }

    /// Chooses the server for a connection: TLS before clear text, then servers that deferred nobody lately, then by
    /// preference; equal ones by `turn`.
    pub fn choose(&self, all: &[Candidate], may_omit_tls: bool, turn: usize, now: u32) -> Choice {
        let is_clear = |one: &Candidate| may_omit_tls && self.is_clear(one.address, now);
        let number_if = |in_clear: bool| {
            (0..all.len()).filter(move |&number| is_clear(&all[number]) == in_clear)
        };
        if let Some(choice) = self.among(all, number_if(false), false, turn, now) {
            return choice;
        }
        // TLS that has failed once is tried again first.
        let is_in_doubt = |one: &Candidate| {
            may_omit_tls && !is_clear(one) && self.server(one).is_some_and(|s| s.tls_failures > 0)
        };
        if !all.iter().any(is_in_doubt)
            && let Some(choice) = self.among(all, number_if(true), true, turn, now)
        {
            return choice;
        }
        let paused = all.iter().filter_map(|one| self.server(one));
        let next = paused.filter(|s| s.paused_until > now).min_by_key(|s| s.paused_until);
        let refuses_for_good = |one: &Candidate| {
            self.server(one).is_some_and(|server| {
                server.is_permanent && (!server.has_worked || server.failures > 1)
            })
        };
        Choice::Down {
            until: next.map_or(now + 1, |server| server.paused_until),
            is_permanent: all.iter().all(refuses_for_good),
            why: next.and_then(|server| server.reason.clone()).unwrap_or_else(|| "".into()),
        }
    }

    fn server(&self, candidate: &Candidate) -> Option<&Server> {
        self.known.get(&candidate.address)
    }

    /// The choice among the candidates with these numbers; `None` if none works.
    fn among(
        &self,
        all: &[Candidate],
        numbers: impl Iterator<Item = usize> + Clone,
        in_clear: bool,
        turn: usize,
        now: u32,
    ) -> Option<Choice> {
        let server = |number: usize| self.server(&all[number]);
        let is_paused = |number: usize| server(number).is_some_and(|s| s.paused_until > now);
        let is_aside = |number: usize| server(number).is_some_and(|s| s.aside_until > now);
        let mut usable: Vec<(bool, u16, usize)> = numbers
            .clone()
            .filter(|&number| !is_paused(number))
            .map(|number| (is_aside(number), all[number].preference, number))
            .collect();
        usable.sort_unstable();
        // A server with open connections is paused for a moment only.
        let mut full = match usable.is_empty() {
            true => numbers.clone().find(|&number| server(number).is_some_and(|s| s.open > 0)),
            false => None,
        };
        let ranks = usable.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
        for equal in ranks {
            let has_room =
                |&&(.., number): &&(bool, u16, usize)| self.has_room(all[number].address, now);
            let free: Vec<usize> = equal.iter().filter(has_room).map(|&(.., n)| n).collect();
            if !free.is_empty() {
                return Some(Choice::Connect { number: free[turn % free.len()], in_clear });
            }
            full = full.or(equal.first().map(|&(.., number)| number));
            // A server that refuses connections is passed over; one that has only just begun is not.
            let refuses = |&(.., number): &(bool, u16, usize)| {
                server(number).is_some_and(|server| server.is_limited)
            };
            if !equal.iter().all(refuses) {
                break;
            }
        }
        let number = full?;
        let paused = numbers.filter_map(server).map(|server| server.paused_until);
        let probe = server(number).filter(|server| server.is_limited).map(|s| s.probe_at);
        let next = paused.chain(probe).filter(|&at| at > now);
        let until = next.fold(now.saturating_add(ASK_AGAIN_MS), u32::min);
        Some(Choice::Full { number, until })
    }

    /// Records that a connection is begun.
    pub fn begin(&mut self, address: SocketAddr, now: u32) {
        if self.known.len() >= self.forget_at {
            self.known.retain(|_, server| !server.is_healthy_and_idle());
            self.forget_at = (2 * self.known.len()).max(KEPT);
        }
        let at_first = self.at_first;
        let server = self.known.entry(address).or_insert_with(|| Server::new(at_first));
        if server.open >= server.limit {
            server.probe_at = now.saturating_add(server.probe_every);
        }
        server.open += 1;
    }

    /// Records that a connection can carry transactions. `is_secure`: it is encrypted.
    pub fn admitted(&mut self, address: SocketAddr, is_secure: bool) {
        let Some(server) = self.known.get_mut(&address) else { return };
        server.working += 1;
        server.proven = server.proven.max(server.working);
        if !server.is_late {
            server.in_a_row = 0;
        }
        if is_secure {
            server.tls_failures = 0;
        }
        // Connections that are not needed prove nothing.
        if !server.is_limited && server.open.saturating_mul(2) >= server.limit {
            let doubled = server.working.saturating_mul(2);
            server.limit = server.limit.saturating_add(1).max(doubled);
        } else if server.is_limited && server.working > server.limit {
            (server.limit, server.is_limited) = (server.working, false);
            server.probe_every = PROBE_EVERY_MS / 2;
        }
    }

    /// Records that a recipient was accepted or permanently rejected: the server works.
    pub fn succeeded(&mut self, address: SocketAddr) {
        if let Some(server) = self.known.get_mut(&address) {
            server.has_worked = true;
            (server.refused, server.failures) = (0, 0);
            (server.in_a_row, server.is_late) = (0, false);
            (server.paused_until, server.aside_until) = (0, 0);
            (server.is_permanent, server.reason) = (false, None);
        }
    }

    /// Records that all recipients of a transaction were deferred: until `until` other servers go first.
    pub fn set_aside(&mut self, address: SocketAddr, until: u32) {
        if let Some(server) = self.known.get_mut(&address) {
            server.aside_until = server.aside_until.max(until);
        }
    }

    /// Records that a session has failed for the reason `why`. Its connection no longer counts as open.
    pub fn failed(
        &mut self,
        address: SocketAddr,
        failed: FailedConnection,
        why: &Arc<str>,
        now: u32,
    ) -> Consequence {
        let pauses_ms = self.pauses_ms;
        let Some(server) = self.known.get_mut(&address) else { return Consequence::None };
        server.end(failed.was_working);
        if failed.is_tls && server.tls_failed(&failed, now) {
            server.reason = Some(Arc::clone(why));
            return Consequence::InClear;
        }
        // Connections that were begun together report the same.
        let is_news = server.refused_at.is_none_or(|at| failed.begun > at);
        if server.open > 0 {
            if !failed.is_refusal {
                return Consequence::None;
            }
            server.reason = Some(Arc::clone(why));
            server.is_late |= failed.was_working;
            return server.refused(is_news, now);
        }
        server.reason = Some(Arc::clone(why));
        server.is_permanent = failed.is_permanent;
        server.refused_at = Some(now);
        if is_news || server.failures == 0 {
            server.failures = server.failures.saturating_add(1);
        }
        if server.failures == 1 && server.has_worked {
            // It worked a moment ago, and has refused the only connection: that is no limit.
            server.is_limited = false;
            server.paused_until = now.saturating_add(FIRST_HOLD_MS);
            return Consequence::None;
        }
        let failures = u32::from(server.failures) - u32::from(server.has_worked);
        let doubled = 1_u32.checked_shl(failures.max(1) - 1).unwrap_or(u32::MAX);
        let pause = pauses_ms.0.saturating_mul(doubled).min(pauses_ms.1);
        server.paused_until = now.saturating_add(pause);
        (server.limit, server.is_limited, server.proven) = (server.limit.div_ceil(2), false, 0);
        Consequence::Paused
    }

    /// Records the end of a connection that has not failed.
    pub fn ended(&mut self, address: SocketAddr, was_working: bool) {
        if let Some(server) = self.known.get_mut(&address) {
            server.end(was_working);
        }
    }

    /// Makes a destination wait until the address admits a connection.
    pub fn wait_for(&mut self, address: SocketAddr, destination: u32) {
        if let Some(server) = self.known.get_mut(&address) {
            server.waiting.push_back(destination);
        }
    }

    /// The next destination that waits for the address, if more than `spoken_for` further connections are admitted.
    pub fn freed(&mut self, address: SocketAddr, spoken_for: u32, now: u32) -> Option<u32> {
        let server = self.known.get_mut(&address)?;
        let has_room = server.open.saturating_add(spoken_for) < server.limit;
        if server.paused_until > now || !has_room { None } else { server.waiting.pop_front() }
    }

    fn has_room(&self, address: SocketAddr, now: u32) -> bool {
        self.known.get(&address).is_none_or(|server| {
            let may_probe = server.is_limited && server.open == server.limit;
            server.open < server.limit || (may_probe && now >= server.probe_at)
        })
    }

    /// Whether TLS does not work at the address, and is not tried now.
    fn is_clear(&self, address: SocketAddr, now: u32) -> bool {
        self.known
            .get(&address)
            .is_some_and(|server| server.tls_failures >= TLS_FAILURES && now < server.clear_until)
    }
}

impl Server {
    fn new(at_first: u32) -> Self {
        Self { limit: at_first, probe_every: PROBE_EVERY_MS / 2, ..Self::default() }
    }

    fn end(&mut self, was_working: bool) {
        debug_assert!(self.open > 0 && self.working >= u32::from(was_working));
        self.open -= 1;
        self.working -= u32::from(was_working);
    }

    fn is_healthy_and_idle(&self) -> bool {
        self.open == 0
            && self.reason.is_none()
            && self.tls_failures == 0
            && self.aside_until == 0
            && self.waiting.is_empty()
    }

    /// Records a refusal while other connections are open. `is_news`: the refused connection was begun after the last
    /// refusal.
    fn refused(&mut self, is_news: bool, now: u32) -> Consequence {
        (self.refused_at, self.is_permanent) = (Some(now), false);
        self.in_a_row = self.in_a_row.saturating_add(1);
        let is_beyond = self.open >= self.limit || !self.is_limited;
        if is_news {
            self.refused = self.refused.saturating_add(1);
        }
        if is_news && is_beyond {
            self.probe_every = self.probe_every.saturating_mul(2).min(PROBE_AT_MOST_MS);
        }
        // A refusal below the limit is not due to it, which may be too low.
        self.probe_at = now.saturating_add(self.probe_every);
        if is_news && !is_beyond {
            (self.probe_at, self.probe_every) = (now, PROBE_EVERY_MS / 2);
        }
        let doubled = 1_u32.checked_shl(u32::from(self.refused.max(1)) - 1).unwrap_or(u32::MAX);
        let hold = FIRST_HOLD_MS.saturating_mul(doubled).min(HOLD_AT_MOST_MS);
        self.paused_until = self.paused_until.max(now.saturating_add(hold));
        if self.open >= self.proven || self.in_a_row >= REFUSED_IN_A_ROW {
            (self.limit, self.is_limited) = (self.open, true);
            self.proven = self.proven.min(self.limit);
        }
        // While none works yet, all may be refused.
        if !self.is_limited || self.working == 0 || std::mem::replace(&mut self.is_told, true) {
            return Consequence::None;
        }
        Consequence::Limited(self.limit)
    }

    /// Records a failed handshake. Returns whether TLS is known not to work now.
    fn tls_failed(&mut self, failed: &FailedConnection, now: u32) -> bool {
        if self.tls_failed_at.is_none_or(|at| failed.begun > at) || self.tls_failures == 0 {
            self.tls_failures = self.tls_failures.saturating_add(1);
        }
        self.tls_failed_at = Some(now);
        let is_broken = self.tls_failures >= TLS_FAILURES;
        if is_broken {
            self.clear_until = now.saturating_add(CLEAR_FOR_MS);
            (self.paused_until, self.failures) = (0, 0);
        }
        is_broken
    }
}

#[cfg(test)]
mod tests;
