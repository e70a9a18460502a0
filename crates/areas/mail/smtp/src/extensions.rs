//! The extensions that a server offers, and that a transaction needs.

use std::io::{self, Write};
use std::sync::Arc;

use super::reply::Reply;
use super::transaction::Transaction;

/// The extensions in a server's reply to EHLO.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extensions {
    /// Whether commands may be sent in groups (RFC 2920).
    pub pipelining: bool,
    /// SIZE, with the largest message in bytes; 0 if there is no limit (RFC 1870).
    pub size: Option<u64>,
    /// Whether messages may contain bytes beyond ASCII (RFC 6152).
    pub eight_bit: bool,
    /// Whether addresses may contain UTF-8 (RFC 6531).
    pub utf8: bool,
    /// Whether the message may be sent in chunks of a stated size (RFC 3030).
    pub chunking: bool,
    /// Whether TLS can be started (RFC 3207).
    pub starttls: bool,
    /// The authentication mechanisms (RFC 4954).
    pub logins: Vec<String>,
}

impl Extensions {
    /// Parses a reply to EHLO, whose first line is a greeting.
    pub fn of(reply: &Reply) -> Self {
        let mut offered = Self::default();
        for line in reply.lines.iter().skip(1) {
            let mut words = line.split_ascii_whitespace();
            let Some(keyword) = words.next() else { continue };
            match keyword.to_ascii_uppercase().as_str() {
                "PIPELINING" => offered.pipelining = true,
                // A missing number, or 0, means no limit.
                "SIZE" => {
                    let limit = words.next().and_then(|limit| limit.parse().ok());
                    offered.size = Some(limit.unwrap_or(0));
                }
                "8BITMIME" => offered.eight_bit = true,
                "SMTPUTF8" => offered.utf8 = true,
                "CHUNKING" => offered.chunking = true,
                "STARTTLS" => offered.starttls = true,
                "AUTH" => offered.logins.extend(words.map(str::to_ascii_uppercase)),
                // Some servers write `AUTH=LOGIN PLAIN`, as drafts of RFC 2554 did.
                keyword => {
                    if let Some(first) = keyword.strip_prefix("AUTH=") {
                        let rest = words.map(str::to_ascii_uppercase);
                        offered.logins.extend([first.to_owned()].into_iter().chain(rest));
                    }
                }
            }
        }
        offered
    }

    /// Checks whether the server accepts a transaction.
    ///
    /// # Errors
    /// The reason if the server does not accept it.
    pub fn takes(&self, transaction: &Transaction) -> Result<(), Arc<str>> {
        let size = transaction.message.size();
        if let Some(limit) = self.size.filter(|&limit| limit > 0 && size as u64 > limit) {
            return Err(format!("the message has {size} bytes, the server takes {limit}").into());
        }
        if transaction.message.needs_8bit() && !self.eight_bit {
            return Err("the message has bytes beyond ASCII, and the server has no 8BITMIME".into());
        }
        let sender = transaction.from.as_ref();
        if !self.utf8 && sender.is_some_and(|from| from.needs_smtputf8()) {
            return Err(
                "the sender's address is beyond ASCII, and the server has no SMTPUTF8".into()
            );
        }
        Ok(())
    }

    /// Writes the parameters of MAIL.
    ///
    /// # Errors
    /// If writing fails.
    pub fn parameters(&self, transaction: &Transaction, out: &mut impl Write) -> io::Result<()> {
        let message = &transaction.message;
        if self.size.is_some() {
            write!(out, " SIZE={}", message.size())?;
        }
        if message.needs_8bit() {
            out.write_all(b" BODY=8BITMIME")?;
        }
        let mut addresses = transaction.to.iter().map(|to| &to.address).chain(&transaction.from);
        if self.utf8 && addresses.any(|address| address.needs_smtputf8()) {
            out.write_all(b" SMTPUTF8")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mechanisms_after_an_equals_sign_are_known() {
        for (line, logins) in [
            ("AUTH=LOGIN PLAIN", vec!["LOGIN", "PLAIN"]),
            ("auth=plain", vec!["PLAIN"]),
            ("AUTH LOGIN", vec!["LOGIN"]),
            ("AUTHENTIC=PLAIN", vec![]),
        ] {
            let lines = vec!["mx.test".to_owned(), line.to_owned()];
            assert_eq!(Extensions::of(&Reply { code: 250, lines }).logins, logins, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_offer_is_read(lines in proptest::collection::vec(".{0,40}", 0..8)) {
            let offered = Extensions::of(&Reply { code: 250, lines });
            proptest::prop_assert!(offered.logins.iter().all(|login| !login.contains(' ')));
        }
    }

    #[test]
    fn what_is_offered_is_understood_however_it_is_written() {
        let lines = ["mx.test greets you", "pipelining", "SIZE 1000", "AUTH plain LOGIN", "X-ODD"];
        let lines = lines.map(str::to_owned).to_vec();
        let offered = Extensions::of(&Reply { code: 250, lines });
        let expected = Extensions {
            pipelining: true,
            size: Some(1000),
            logins: vec!["PLAIN".into(), "LOGIN".into()],
            ..Extensions::default()
        };
        assert_eq!(offered, expected);
        let greeting = Reply { code: 250, lines: vec!["PIPELINING".into()] };
        assert_eq!(Extensions::of(&greeting), Extensions::default(), "that is its name");
    }
}
