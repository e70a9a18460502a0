//! Counts the results of a delivery.

use std::collections::HashMap;
use std::time::Duration;

use strum::IntoStaticStr;

use crate::journal::EventKind;
use crate::stats::TransportStats;

/// Maximum number of distinct replies that are counted separately; all others are counted together.
const REPLIES_AT_MOST: usize = 1_000;

/// Numbers of recipients by final result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Recipients accepted by a server; in test mode, by the reply to RCPT.
    pub delivered: u32,
    /// Recipients deferred until the retry period ended.
    pub given_up: u32,
    /// Recipients rejected permanently, or undeliverable.
    pub failed: u32,
}

impl Count {
    /// The sum of all results.
    pub fn all(self) -> u32 {
        self.delivered + self.given_up + self.failed
    }

    /// Counts an event, if it is final.
    pub(crate) fn add(&mut self, kind: EventKind) {
        match kind {
            EventKind::Delivered => self.delivered += 1,
            EventKind::GivenUp => self.given_up += 1,
            EventKind::Failed => self.failed += 1,
            EventKind::Sending | EventKind::Deferred | EventKind::Uncertain | EventKind::Server => {
            }
        }
    }
}

/// Counters of results in the dispatcher.
#[derive(Debug, Default)]
pub struct Tally {
    /// All recipients.
    pub all: Count,
    /// Recipients by domain.
    pub domains: Vec<Count>,
    /// Recipients by last reply, without the details that differ between replies.
    pub replies: HashMap<(Ended, String), ReplyGroup>,
    /// Number of recipients to whom a message was sent again that a server may have accepted before.
    pub repeated: u32,
    /// Recipients that may have received the message although their result is another one, by that result.
    pub possibly_delivered: Count,
    /// Number of times a recipient was deferred.
    pub deferrals: u64,
    /// Number of recipients delivered over encrypted connections in this run, and in clear text.
    pub encrypted: u32,
    pub in_clear: u32,
}

/// Replies that are equal except for details.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReplyGroup {
    /// Number of replies.
    pub times: u32,
    /// The whole reply, if all of them were equal.
    pub exactly: Option<Box<str>>,
}

impl ReplyGroup {
    /// Adds a reply.
    fn add(&mut self, reply: &str) {
        if self.times == 0 {
            self.exactly = Some(reply.into());
        } else if self.exactly.as_deref().is_some_and(|other| other != reply) {
            self.exactly = None;
        }
        self.times += 1;
    }
}

/// A final result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Ended {
    /// See [`Count::delivered`].
    Delivered,
    /// See [`Count::given_up`].
    #[strum(serialize = "deferred")]
    GivenUp,
    /// See [`Count::failed`].
    Failed,
}

impl Ended {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Tally {
    /// An empty tally for `domains` domains.
    pub fn new(domains: usize) -> Self {
        Self { domains: vec![Count::default(); domains], ..Self::default() }
    }

    /// The replies for [`Summary::replies`].
    pub fn replies(&self) -> Vec<(Ended, String, u32)> {
        let all = self.replies.iter().map(|((end, reply), group)| {
            let text = group.exactly.as_deref().unwrap_or(reply);
            (*end, text.to_owned(), group.times)
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| (a.0, &a.1).cmp(&(b.0, &b.1))));
        all
    }

    /// Counts an event of a recipient, of `domain` if that is given.
    pub fn count(&mut self, domain: Option<usize>, kind: EventKind, why: &str) {
        let end = match kind {
            EventKind::Sending | EventKind::Server => return,
            EventKind::Deferred | EventKind::Uncertain => {
                self.deferrals += 1;
                return;
            }
            EventKind::Delivered => Ended::Delivered,
            EventKind::GivenUp => Ended::GivenUp,
            EventKind::Failed => Ended::Failed,
        };
        self.all.add(kind);
        if let Some(domain) = domain {
            self.domains[domain].add(kind);
        }
        let mut reply = without_details(why);
        if self.replies.len() >= REPLIES_AT_MOST
            && !self.replies.contains_key(&(end, reply.clone()))
        {
            reply = "other replies".to_owned();
        }
        self.replies.entry((end, reply)).or_default().add(why);
    }
}

/// A reply with details replaced by `…`: addresses, and words with digits except the codes at the beginning.
pub fn without_details(reply: &str) -> String {
    let mut words = Vec::new();
    for (number, word) in reply.split_whitespace().take(24).enumerate() {
        let is_code = number < 2 && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let is_own = word.contains(['@', '<']) || word.bytes().any(|byte| byte.is_ascii_digit());
        words.push(if is_own && !is_code { "…" } else { word });
    }
    words.dedup_by(|a, b| *a == "…" && *b == "…");
    words.join(" ")
}

/// The results of a delivery.
#[derive(Debug)]
pub struct Summary {
    /// Recipients by final result, in this and all earlier runs of the delivery.
    pub count: Count,
    /// Number of recipients with a final result before this run: invalid addresses, and those in the journal. Included in
    /// `count`.
    pub before: u32,
    /// Number of invalid addresses. Included in `before`.
    pub bad: u32,
    /// Number of recipients without a final result.
    pub unsettled: usize,
    /// Recipients without a final result by their latest reason, the most frequent first.
    pub left: Vec<(String, u32)>,
    /// Number of recipients to whom a message was sent again that a server may have accepted before.
    pub repeated: u32,
    /// Recipients that may have received the message although they were deferred or failed: the connection broke before
    /// the server replied to the message.
    pub possibly_delivered: Count,
    /// Number of recipients without a final result that may have received the message.
    pub possibly_delivered_left: u32,
    /// Number of recipients delivered over encrypted connections, in this run.
    pub encrypted: u32,
    /// Number of recipients delivered in clear text, in this run.
    pub in_clear: u32,
    /// Number of recipients whose message was being sent when an earlier run was killed.
    pub in_flight_before: u32,
    /// Number of times a recipient was deferred.
    pub deferrals: u64,
    /// Recipients by domain and final result, in the order of the list's domains.
    pub domains: Vec<Count>,
    /// Number of recipients by result and last reply, the most frequent first. Details of replies are omitted.
    pub replies: Vec<(Ended, String, u32)>,
    /// Statistics of the transport.
    pub carried: TransportStats,
    /// Highest number of connections open at the same time.
    pub open_at_most: usize,
    /// Duration of this run.
    pub took: Duration,
    /// Whether the delivery was stopped before all recipients had a final result, or had a time limit.
    pub is_stopped: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_that_are_the_same_are_kept_as_they_are() {
        let mut tally = Tally::new(1);
        let exactly = |tally: &Tally| {
            tally.replies.values().map(|group| group.exactly.clone()).collect::<Vec<_>>()
        };
        for _ in 0..2 {
            tally.count(None, EventKind::Failed, "552 size 1044 bytes are more than 500");
            assert_eq!(exactly(&tally), [Some("552 size 1044 bytes are more than 500".into())]);
        }
        for other in
            ["552 size 1045 bytes are more than 500", "552 size 1044 bytes are more than 500"]
        {
            tally.count(None, EventKind::Failed, other);
            assert_eq!(exactly(&tally), [None]);
        }
    }

    #[test]
    fn replies_that_say_the_same_are_counted_together() {
        let same = ["250 2.0.0 Ok: queued as 4XyZ12", "250 2.0.0 Ok: queued as 99AA1"];
        assert_eq!(same.map(without_details), ["250 2.0.0 Ok: queued as …"; 2].map(str::to_owned));
        assert_eq!(without_details("550 <jo@x.test> unknown"), "550 … unknown");
        let mut tally = Tally::new(1);
        for n in 0..REPLIES_AT_MOST + 10 {
            let word: String = n.to_string().bytes().map(|b| (b - b'0' + b'a') as char).collect();
            tally.count(Some(0), EventKind::Failed, &format!("550 {word}"));
        }
        assert_eq!(tally.replies.len(), REPLIES_AT_MOST + 1);
        let other = &tally.replies[&(Ended::Failed, "other replies".to_owned())];
        assert_eq!((other.times, &other.exactly), (10, &None));
        assert_eq!(tally.all.failed as usize, REPLIES_AT_MOST + 10);
    }
}
