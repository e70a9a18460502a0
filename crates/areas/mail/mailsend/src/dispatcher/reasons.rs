//! The reasons why recipients wait: for the progress display, for the recipients that are left, and as notices.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::tally::without_details;

/// Maximum number of distinct reasons that are kept; all others are counted together.
const REASONS_AT_MOST: usize = 1_000;
/// Maximum number of notices of one delivery.
const NOTICES_AT_MOST: usize = 20;

/// What a server's refusal means, to be shown at once. There is one notice of each kind for each server, and a bounded
/// number in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The server and the reason.
    pub reason: Arc<str>,
    /// What follows from it.
    pub kind: NoticeKind,
}

/// The consequence of a server's refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoticeKind {
    /// The server is tried again, for at most this time.
    TriedAgain(Duration),
    /// The server gets this number of connections at a time.
    Limited(u32),
    /// TLS failed repeatedly: mail goes in clear text where no other server takes it.
    InClear,
    /// There were more notices than are shown.
    NoMoreNotices,
}

/// The reasons of one delivery.
#[derive(Debug, Default)]
pub struct Reasons {
    texts: Vec<Reason>,
    numbers: HashMap<String, u16>,
    notices: Vec<Notice>,
    announced: HashSet<(SocketAddr, std::mem::Discriminant<NoticeKind>)>,
    latest: Option<Arc<str>>,
}

#[derive(Debug)]
struct Reason {
    /// The text without the details that differ between replies.
    key: String,
    /// The whole text, if it was always the same.
    exactly: Option<Arc<str>>,
}

impl Reasons {
    /// The number of a reason, from 1, for [`Reasons::text`]; it becomes the latest one. `server` is kept apart from the
    /// details of the reply.
    pub fn number(&mut self, server: Option<&str>, why: &Arc<str>) -> u16 {
        let mut key = without_details(why);
        if let Some(server) = server {
            key = format!("{server}: {key}");
        }
        let text: Arc<str> = match server {
            Some(server) => format!("{server}: {why}").into(),
            None => Arc::clone(why),
        };
        self.latest = Some(Arc::clone(&text));
        if let Some(&number) = self.numbers.get(&key) {
            let reason = &mut self.texts[usize::from(number) - 1];
            if reason.exactly.as_ref().is_some_and(|other| *other != text) {
                reason.exactly = None;
            }
            return number;
        }
        if self.texts.len() > REASONS_AT_MOST {
            return self.texts.len() as u16;
        }
        let (key, exactly) = match self.texts.len() == REASONS_AT_MOST {
            true => ("other reasons".to_owned(), None),
            false => (key, Some(text)),
        };
        self.numbers.insert(key.clone(), self.texts.len() as u16 + 1);
        self.texts.push(Reason { key, exactly });
        self.texts.len() as u16
    }

    /// The text of a reason.
    pub fn text(&self, number: u16) -> &str {
        let reason = &self.texts[usize::from(number) - 1];
        reason.exactly.as_deref().unwrap_or(&reason.key)
    }

    /// The latest reason.
    pub fn latest(&self) -> Option<&Arc<str>> {
        self.latest.as_ref()
    }

    /// Adds a notice about the server at `address`, unless there was one of this kind.
    pub fn announce(&mut self, address: SocketAddr, reason: &Arc<str>, kind: NoticeKind) {
        let shown = self.announced.len();
        if shown <= NOTICES_AT_MOST
            && self.announced.insert((address, std::mem::discriminant(&kind)))
        {
            let kind = if shown < NOTICES_AT_MOST { kind } else { NoticeKind::NoMoreNotices };
            self.notices.push(Notice { reason: Arc::clone(reason), kind });
        }
    }

    /// Removes and returns the notices so far.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_bounded_and_name_the_server() {
        let mut reasons = Reasons::default();
        let one = reasons.number(Some("127.0.0.1:1"), &"Connection refused".into());
        let other = reasons.number(Some("127.0.0.1:2"), &"Connection refused".into());
        assert_ne!(one, other);
        assert_eq!(reasons.text(one), "127.0.0.1:1: Connection refused");
        assert_eq!(reasons.number(None, &"450 4.2.0 try later, id a1".into()), 3);
        assert_eq!(reasons.text(3), "450 4.2.0 try later, id a1");
        assert_eq!(reasons.number(None, &"450 4.2.0 try later, id b2".into()), 3);
        assert_eq!(reasons.text(3), "450 4.2.0 try later, id …");
        for n in 0..2 * REASONS_AT_MOST {
            let word: String = n.to_string().bytes().map(|b| (b + 49) as char).collect();
            let number = reasons.number(None, &word.into());
            assert!(usize::from(number) <= REASONS_AT_MOST + 1);
        }
        assert_eq!(reasons.text(REASONS_AT_MOST as u16 + 1), "other reasons");
        for port in 0..100 {
            let address = SocketAddr::from(([127, 0, 0, 1], port));
            let kind = NoticeKind::TriedAgain(Duration::from_secs(1));
            reasons.announce(address, &"no".into(), kind);
            reasons.announce(address, &"no".into(), kind);
        }
        let notices = reasons.take_notices();
        assert_eq!(notices.len(), NOTICES_AT_MOST + 1);
        assert_eq!(notices[NOTICES_AT_MOST].kind, NoticeKind::NoMoreNotices);
    }
}
