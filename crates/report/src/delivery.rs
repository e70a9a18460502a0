//! The tables of a delivery and of the sink.

use crate::grid::{self, Cell, Column};
use crate::page::Page;
use crate::quantity::figure;
use crate::text;

/// Relative variation of a time, which determines its last digit.
const SHOWN: f64 = 0.05;
/// Maximum length of a reply in characters; a server may send 64 KiB.
const REPLY_AT_MOST: usize = 1_000;
/// Width of a domain's counts, in columns of the page.
const BESIDE_DOMAIN: usize = 36;
/// Maximum width of a domain, in columns of the page.
const WIDEST_DOMAIN: usize = 38;

/// The recipients with one outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeLine {
    /// The outcome.
    pub outcome: &'static str,
    /// Number of recipients.
    pub recipients: usize,
    /// A remark; may be empty.
    pub note: String,
}

/// The time to the replies in one phase of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyTimes {
    /// The phase.
    pub phase: &'static str,
    /// Median, 90th and 99th percentile and maximum, in us.
    pub us: [u64; 4],
}

/// The recipients with one outcome and reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyLine {
    /// Number of recipients.
    pub recipients: u32,
    /// The outcome.
    pub outcome: &'static str,
    /// The reply.
    pub reply: String,
}

/// The recipients of one domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainLine {
    /// The domain.
    pub domain: String,
    /// Number of recipients delivered to.
    pub delivered: u32,
    /// Number of recipients deferred until the end.
    pub deferred: u32,
    /// Number of recipients that failed.
    pub failed: u32,
}

/// The outcomes, each with its share of `all` recipients.
pub fn outcome_table(lines: &[OutcomeLine], all: usize, page: &Page) -> String {
    let share = |line: &OutcomeLine| {
        Cell::number(format!("{:.1}", 100.0 * line.recipients as f64 / all.max(1) as f64))
    };
    grid::table(
        vec![
            Column::words("outcome", lines.iter().map(|line| line.outcome)),
            Column::figures("recipients", lines.iter().map(|line| count(line.recipients as u64))),
            Column::figures("share, %", lines.iter().map(share)),
            Column::words("", lines.iter().map(|line| &*line.note)).wrapping(),
        ],
        page,
    )
}

/// The times to the replies, one phase per line.
pub fn reply_time_table(lines: &[ReplyTimes], page: &Page) -> String {
    let mut columns = vec![Column::words("time to the reply", lines.iter().map(|line| line.phase))];
    for (at, heading) in ["p50", "p90", "p99", "longest"].into_iter().enumerate() {
        let time = |line: &ReplyTimes| {
            let us = line.us[at] as f64;
            figure(us, us * SHOWN, "us").to_string()
        };
        columns.push(Column::set_right(heading, lines.iter().map(time)));
    }
    grid::table(columns, page)
}

/// The replies that decided the outcome of recipients, on as many lines as each needs.
pub fn reply_table(lines: &[ReplyLine], page: &Page) -> String {
    let reply = |line: &ReplyLine| {
        let reply = text::clean(&line.reply);
        match reply.chars().count() > REPLY_AT_MOST {
            true => reply.chars().take(REPLY_AT_MOST - 1).collect::<String>() + "…",
            false => reply,
        }
    };
    grid::table(
        vec![
            Column::figures("recipients", lines.iter().map(|l| count(l.recipients.into()))),
            Column::words("outcome", lines.iter().map(|line| line.outcome)),
            Column::words("reply", lines.iter().map(reply)).wrapping(),
        ],
        page,
    )
}

/// Domains with recipients that were not delivered to.
pub fn domain_table(lines: &[DomainLine], page: &Page) -> String {
    let room = page.table_width().saturating_sub(BESIDE_DOMAIN).min(WIDEST_DOMAIN);
    let domain =
        |line: &DomainLine| text::clean(&line.domain).chars().take(room).collect::<String>();
    let counts = |heading: &str, of: fn(&DomainLine) -> u32| {
        Column::set_right(heading, lines.iter().map(|line| count(of(line).into())))
    };
    grid::table(
        vec![
            Column::words("domains, worst first", lines.iter().map(domain)),
            counts("delivered", |line| line.delivered),
            counts("deferred", |line| line.deferred),
            counts("failed", |line| line.failed),
        ],
        page,
    )
}

/// A table of counters by name.
pub fn counter_table(counters: &[(String, u64)], page: &Page) -> String {
    let names = counters.iter().map(|(name, _)| name.as_str());
    let counts = counters.iter().map(|&(_, number)| count(number));
    grid::table(vec![Column::words("counter", names), Column::set_right("number", counts)], page)
}

/// Names with their meanings, which are wrapped in a separate column.
pub fn definition_list(definitions: &[(&str, String)], page: &Page) -> String {
    let widest = definitions.iter().map(|(name, _)| text::width(name)).max().unwrap_or(0);
    let line =
        |(name, meaning): &(&str, String)| page.hanging(&format!("{name:<widest$}  "), meaning);
    definitions.iter().map(line).collect()
}

fn count(number: u64) -> Cell {
    Cell::figure(figure(number as f64, 0.0, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gmail's reply ends with the link that says what to do.
    #[test]
    fn a_long_reply_is_shown_whole() {
        let reply = "550-5.7.26 Your email has been blocked because the sender is unauthenticated. \
            Gmail requires all senders to authenticate with either SPF or DKIM. For instructions on \
            setting up authentication, go to https://support.google.com/mail/answer/81126#authentication";
        let line = ReplyLine { recipients: 3, outcome: "failed", reply: reply.to_owned() };
        let table = reply_table(&[line], &NARROW);
        let words: Vec<&str> = table.split_whitespace().collect();
        assert!(
            reply.split_whitespace().all(|word| {
                // A word that is longer than the column is broken.
                words.contains(&word) || table.replace(['\n', ' '], "").contains(word)
            }),
            "{table}"
        );
        assert!(table.lines().all(|line| line.chars().count() <= 60), "{table}");
    }

    const NARROW: Page = Page { width: 60, colour: false, unicode: true, this_run: false };

    #[test]
    fn the_tables_fit_sixty_columns() {
        let outcome = |outcome, note: &str| OutcomeLine {
            outcome,
            recipients: 12_345,
            note: note.to_owned(),
        };
        let outcomes =
            [outcome("delivered", ""), outcome("deferred", "until the retry period ended")];
        let times = [ReplyTimes { phase: "greeting", us: [123, 1_234, 12_345, 9_999_999] }];
        let reply = ReplyLine { recipients: 1, outcome: "failed", reply: "550 no ".repeat(30) };
        let domain = DomainLine {
            domain: "a.example".repeat(9),
            delivered: 1,
            deferred: 20_000,
            failed: 1_000_000,
        };
        let counters = [("connections".to_owned(), 1_000_000), ("fault end:late".to_owned(), 1)];
        let all = [
            outcome_table(&outcomes, 24_690, &NARROW),
            reply_time_table(&times, &NARROW),
            reply_table(&[reply], &NARROW),
            counter_table(&counters, &NARROW),
            domain_table(&[domain], &NARROW),
            definition_list(
                &[("epoll", "an event loop ".repeat(9)), ("fork", "-".into())],
                &NARROW,
            ),
        ];
        for table in &all {
            assert!(table.lines().all(|line| line.chars().count() <= 60), "{table}");
        }
        assert!(all[4].contains("1,000,000"), "{}", all[4]);
    }
}
