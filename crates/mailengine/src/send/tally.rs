//! What came of a delivery, counted.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::journal::What;
use crate::smtp::session::Phase;

/// Different replies that are told apart; all others are counted as one.
const REPLIES_AT_MOST: usize = 1_000;
/// Latencies are kept to this many digits, and up to an hour.
const DIGITS: u8 = 2;
const LONGEST_US: u64 = 3_600_000_000;

/// How many recipients ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// A server has taken it; in test mode, would have.
    pub delivered: u32,
    /// Tried until it was enough.
    pub given_up: u32,
    /// It cannot be delivered.
    pub failed: u32,
}

impl Count {
    /// All of them.
    pub fn all(self) -> u32 {
        self.delivered + self.given_up + self.failed
    }

    /// One more, if that is an end.
    pub(super) fn add(&mut self, what: What) {
        match what {
            What::Delivered => self.delivered += 1,
            What::GivenUp => self.given_up += 1,
            What::Failed => self.failed += 1,
            What::Sending | What::Deferred | What::Uncertain => {}
        }
    }
}

/// What became of recipients, as the desk counts it.
#[derive(Debug, Default)]
pub struct Fates {
    /// All.
    pub all: Count,
    /// By domain.
    pub domains: Vec<Count>,
    /// Recipients by what servers said last, without what is different in each reply.
    pub replies: HashMap<(Ended, String), Alike>,
    /// Times a server may have taken a message that was sent again.
    pub repeated: u32,
    /// Times a recipient was put off.
    pub deferrals: u64,
}

/// Replies that say the same.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Alike {
    /// How many there are.
    pub times: u32,
    /// The reply as it was, as long as all of them were equal.
    pub exactly: Option<Box<str>>,
}

impl Alike {
    /// One more.
    fn add(&mut self, reply: &str) {
        if self.times == 0 {
            self.exactly = Some(reply.into());
        } else if self.exactly.as_deref().is_some_and(|other| other != reply) {
            self.exactly = None;
        }
        self.times += 1;
    }
}

/// The kind of a final outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ended {
    /// As [`Count::delivered`].
    Delivered,
    /// As [`Count::given_up`].
    GivenUp,
    /// As [`Count::failed`].
    Failed,
}

impl Ended {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::GivenUp => "deferred",
            Self::Failed => "failed",
        }
    }
}

impl Fates {
    /// Counts something that happened to a recipient of a domain.
    pub fn count(&mut self, domain: Option<usize>, what: What, why: &str) {
        let kind = match what {
            What::Sending => return,
            What::Deferred => {
                self.deferrals += 1;
                return;
            }
            What::Uncertain => {
                self.deferrals += 1;
                self.repeated += 1;
                return;
            }
            What::Delivered => Ended::Delivered,
            What::GivenUp => Ended::GivenUp,
            What::Failed => Ended::Failed,
        };
        self.all.add(what);
        if let Some(domain) = domain {
            self.domains[domain].add(what);
        }
        let mut reply = without_details(why);
        if self.replies.len() >= REPLIES_AT_MOST
            && !self.replies.contains_key(&(kind, reply.clone()))
        {
            reply = "other replies".to_owned();
        }
        self.replies.entry((kind, reply)).or_default().add(why);
    }
}

/// A reply without what is its own: words with digits, but for the codes at its beginning, and addresses.
fn without_details(reply: &str) -> String {
    let mut words = Vec::new();
    for (number, word) in reply.split_whitespace().take(24).enumerate() {
        let is_code = number < 2 && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let is_own = word.contains(['@', '<']) || word.bytes().any(|byte| byte.is_ascii_digit());
        words.push(if is_own && !is_code { "…" } else { word });
    }
    words.dedup_by(|a, b| *a == "…" && *b == "…");
    words.join(" ")
}

/// What was done over connections, as those who carry them count it.
#[derive(Debug, Default)]
pub struct Carried {
    /// Connections that were made.
    pub connections: u64,
    /// Connections that could not be made, or broke.
    pub troubled: u64,
    /// Transactions begun.
    pub transactions: u64,
    /// Groups of commands, each of which was answered before the next: round trips.
    pub groups: u64,
    /// Bytes sent, before TLS.
    pub sent: u64,
    /// Times no further connection could be made for want of ports or descriptors.
    pub shortages: u64,
    /// Time from sending a group to the last reply to it, in us, by what that was the reply to.
    pub latencies: BTreeMap<Phase, Histogram<u64>>,
}

/// What a process tells another of what it has carried.
#[derive(Debug, Serialize, Deserialize)]
pub struct Told {
    connections: u64,
    troubled: u64,
    transactions: u64,
    groups: u64,
    sent: u64,
    /// By what the last reply of a group was to: value in us, and how often.
    latencies: Vec<(Phase, Vec<(u64, u64)>)>,
}

impl Carried {
    /// What is told of it.
    pub fn told(&self) -> Told {
        let counts = |histogram: &Histogram<u64>| {
            let recorded = histogram.iter_recorded();
            recorded.map(|at| (at.value_iterated_to(), at.count_at_value())).collect()
        };
        let latencies = self.latencies.iter();
        Told {
            connections: self.connections,
            troubled: self.troubled,
            transactions: self.transactions,
            groups: self.groups,
            sent: self.sent,
            latencies: latencies.map(|(&phase, histogram)| (phase, counts(histogram))).collect(),
        }
    }

    /// Adds what another has told.
    pub fn hear(&mut self, told: &Told) {
        self.connections += told.connections;
        self.troubled += told.troubled;
        self.transactions += told.transactions;
        self.groups += told.groups;
        self.sent += told.sent;
        for (phase, counts) in &told.latencies {
            for &(us, times) in counts {
                self.recorded(*phase, us, times);
            }
        }
    }

    /// A group was answered.
    pub fn answered(&mut self, phase: Phase, took: Duration) {
        self.recorded(phase, u64::try_from(took.as_micros()).unwrap_or(u64::MAX), 1);
    }

    fn recorded(&mut self, phase: Phase, us: u64, times: u64) {
        let empty = || Histogram::new_with_max(LONGEST_US, DIGITS).expect("valid bounds");
        let histogram = self.latencies.entry(phase).or_insert_with(empty);
        histogram.saturating_record_n(us.clamp(1, LONGEST_US), times);
    }

    /// With what another has carried.
    pub fn plus(mut self, other: Self) -> Self {
        self.connections += other.connections;
        self.troubled += other.troubled;
        self.transactions += other.transactions;
        self.groups += other.groups;
        self.sent += other.sent;
        self.shortages += other.shortages;
        for (phase, histogram) in other.latencies {
            match self.latencies.entry(phase) {
                std::collections::btree_map::Entry::Vacant(place) => drop(place.insert(histogram)),
                std::collections::btree_map::Entry::Occupied(mut place) => {
                    let _ = place.get_mut().add(&histogram); // of the same bounds
                }
            }
        }
        self
    }
}

/// What came of a delivery.
#[derive(Debug)]
pub struct Summary {
    /// What became of recipients, in this and all earlier sessions of the delivery.
    pub count: Count,
    /// Of these, how many were known before this session: addresses that are none, and what the journal told.
    pub before: u32,
    /// Of these, addresses that are none.
    pub bad: u32,
    /// Recipients whose fate is not known yet.
    pub unsettled: usize,
    /// Times a message was sent again that may have been taken the first time.
    pub repeated: u32,
    /// Recipients whose message was under way when the delivery was killed before.
    pub in_flight_before: u32,
    /// Times a recipient was put off.
    pub deferrals: u64,
    /// By domain, in the order of the list's domains.
    pub domains: Vec<Count>,
    /// By kind and reply, the most frequent first. What is different in replies that say the same is left out.
    pub replies: Vec<(Ended, String, u32)>,
    /// What was carried.
    pub carried: Carried,
    /// The most connections that were open at a time.
    pub open_at_most: usize,
    /// How long it took.
    pub took: Duration,
    /// It was told to stop before it was done.
    pub is_stopped: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_that_are_the_same_are_kept_as_they_are() {
        let mut fates = Fates { domains: vec![Count::default()], ..Fates::default() };
        let exactly = |fates: &Fates| {
            fates.replies.values().map(|alike| alike.exactly.clone()).collect::<Vec<_>>()
        };
        for _ in 0..2 {
            fates.count(None, What::Failed, "552 size 1044 bytes are more than 500");
            assert_eq!(exactly(&fates), [Some("552 size 1044 bytes are more than 500".into())]);
        }
        for other in
            ["552 size 1045 bytes are more than 500", "552 size 1044 bytes are more than 500"]
        {
            fates.count(None, What::Failed, other);
            assert_eq!(exactly(&fates), [None]);
        }
    }

    #[test]
    fn replies_that_say_the_same_are_counted_together() {
        let same = ["250 2.0.0 Ok: queued as 4XyZ12", "250 2.0.0 Ok: queued as 99AA1"];
        assert_eq!(same.map(without_details), ["250 2.0.0 Ok: queued as …"; 2].map(str::to_owned));
        assert_eq!(without_details("550 <jo@x.test> unknown"), "550 … unknown");
        let mut fates = Fates { domains: vec![Count::default()], ..Fates::default() };
        for n in 0..REPLIES_AT_MOST + 10 {
            let word: String = n.to_string().bytes().map(|b| (b - b'0' + b'a') as char).collect();
            fates.count(Some(0), What::Failed, &format!("550 {word}"));
        }
        assert_eq!(fates.replies.len(), REPLIES_AT_MOST + 1);
        let other = &fates.replies[&(Ended::Failed, "other replies".to_owned())];
        assert_eq!((other.times, &other.exactly), (10, &None));
        assert_eq!(fates.all.failed as usize, REPLIES_AT_MOST + 10);
    }
}
