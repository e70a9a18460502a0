//! The result of a delivery as text.

use std::fmt::Write;

use mailsend::{Count, DeliveryOptions, Ended, Summary};
use report::quantity::figure;
use report::{
    DomainLine, OutcomeLine, Page, ReplyLine, ReplyTimes, domain_table, outcome_table, reply_table,
    reply_time_table,
};
use smtp::security::Security;

/// Maximum number of replies and domains that are shown.
const SHOWN: usize = 10;

/// The result of a delivery as text.
pub fn text(options: &DeliveryOptions, summary: &Summary, page: &Page) -> String {
    let mut text = String::new();
    let mode = if options.session.dry { ", test mode: no message was sent" } else { "" };
    let all = options.list.deliverable() + summary.bad as usize;
    let (recipients, of_domains) =
        (counted(all, "recipient"), counted(options.list.domains(), "domain"));
    let _ = writeln!(text, "{recipients} in {of_domains}{mode}");
    outcomes(&mut text, options, summary, all, page);
    if summary.count.all() > summary.before || summary.carried.connections > 0 {
        let _ = writeln!(text);
        effort(&mut text, summary);
    }
    latencies(&mut text, summary, page);
    replies(&mut text, summary, page);
    domains(&mut text, options, summary, page);
    text
}

/// A number with its noun, as in "1 domain" and "2 domains".
pub fn counted(number: usize, what: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {what}{end}")
}

fn outcomes(
    text: &mut String,
    options: &DeliveryOptions,
    summary: &Summary,
    all: usize,
    page: &Page,
) {
    let delivered = if options.session.dry { "accepted" } else { "delivered" };
    let count = summary.count;
    let bad = match summary.bad {
        0 => String::new(),
        bad => format!("{bad} with an invalid address"),
    };
    let lines = [
        (delivered, count.delivered as usize, String::new()),
        ("deferred", count.given_up as usize, "until the retry period ended".to_owned()),
        ("failed", count.failed as usize, bad),
        ("left", summary.unsettled, "not yet delivered, deferred or failed".to_owned()),
    ];
    let lines: Vec<OutcomeLine> = lines
        .into_iter()
        .filter(|&(outcome, recipients, _)| recipients > 0 || outcome == delivered)
        .map(|(outcome, recipients, note)| OutcomeLine { outcome, recipients, note })
        .collect();
    text.push_str(&outcome_table(&lines, all, page));
    let possibly = summary.possibly_delivered;
    let lost = "the connection broke before the server replied to the message";
    for (of, what) in [
        (possibly.given_up, "of the deferred may have received it"),
        (possibly.failed, "of the failed may have received it"),
        (summary.possibly_delivered_left, "of those left may have received it"),
        (summary.repeated, "may have received it twice"),
    ] {
        if of > 0 {
            let _ = writeln!(text, "{of} {what}: {lost}");
        }
    }
    if options.session.security != Security::Off && summary.encrypted + summary.in_clear > 0 {
        let _ = writeln!(
            text,
            "{} over encrypted connections, {} in clear text",
            summary.encrypted, summary.in_clear
        );
    }
    if summary.in_flight_before > 0 {
        let _ = writeln!(
            text,
            "{} were in progress when the delivery was killed, and may have received it twice",
            summary.in_flight_before
        );
    }
}

fn effort(text: &mut String, summary: &Summary) {
    let carried = &summary.carried;
    let seconds = summary.took.as_secs_f64().max(1e-9);
    let settled = f64::from(summary.count.all() - summary.before);
    let took = figure(summary.took.as_nanos() as f64, seconds * 1e7, "ns");
    let rate = figure(settled / seconds, settled / seconds / 100.0, "/s");
    let _ = writeln!(text, "{took}: {rate} recipients");
    let _ = writeln!(
        text,
        "{} connections, at most {} at once; {} transactions; {:.2} round trips each",
        carried.connections,
        summary.open_at_most,
        carried.transactions,
        carried.groups as f64 / (carried.transactions.max(1)) as f64
    );
    if carried.failed > 0 {
        let _ =
            writeln!(text, "{} connections could not be established or were lost", carried.failed);
    }
    if carried.shortages > 0 {
        let _ = writeln!(text, "shortages of ports or descriptors: {}", carried.shortages);
    }
}

fn latencies(text: &mut String, summary: &Summary, page: &Page) {
    let times = summary.carried.latencies.iter().map(|(phase, histogram)| ReplyTimes {
        phase: phase.name(),
        us: [0.5, 0.9, 0.99, 1.0].map(|quantile| histogram.value_at_quantile(quantile)),
    });
    let times: Vec<ReplyTimes> = times.collect();
    if !times.is_empty() {
        let _ = write!(text, "\n{}", reply_time_table(&times, page));
    }
}

fn replies(text: &mut String, summary: &Summary, page: &Page) {
    if summary.replies.is_empty() && summary.left.is_empty() {
        return;
    }
    let left = |(reason, of): &(String, u32)| ReplyLine {
        recipients: *of,
        outcome: "left",
        reply: reason.clone(),
    };
    let line = |(end, reply, of): &(Ended, String, u32)| ReplyLine {
        recipients: *of,
        outcome: end.name(),
        reply: reply.clone(),
    };
    let all = summary.replies.iter().take(SHOWN).map(line);
    let shown: Vec<ReplyLine> = summary.left.iter().take(SHOWN).map(left).chain(all).collect();
    let _ = write!(text, "\n{}", reply_table(&shown, page));
    note_others(text, summary.replies.len().max(summary.left.len()));
}

fn domains(text: &mut String, options: &DeliveryOptions, summary: &Summary, page: &Page) {
    let missed = |count: &Count| count.failed + count.given_up;
    let mut worst: Vec<(usize, &Count)> =
        summary.domains.iter().enumerate().filter(|(_, count)| missed(count) > 0).collect();
    if worst.is_empty() {
        return;
    }
    worst.sort_by_key(|(_, count)| std::cmp::Reverse(missed(count)));
    let line = |&(domain, count): &(usize, &Count)| DomainLine {
        domain: options.list.domain_name(domain).to_owned(),
        delivered: count.delivered,
        deferred: count.given_up,
        failed: count.failed,
    };
    let shown: Vec<DomainLine> = worst.iter().take(SHOWN).map(line).collect();
    let _ = write!(text, "\n{}", domain_table(&shown, page));
    note_others(text, worst.len());
}

/// Appends the number of omitted lines of a table.
fn note_others(text: &mut String, all: usize) {
    if all > SHOWN {
        let _ = writeln!(text, "and {} others, see --json", all - SHOWN);
    }
}
