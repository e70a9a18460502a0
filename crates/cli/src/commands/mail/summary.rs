//! What came of a delivery, for people and for programs.

use std::fmt::Write;

use mailsend::{Count, DeliveryOptions, Summary};
use report::Page;
use report::quantity::figure;
use serde_json::{Value, json};
use smtp::session::SmtpPhase;

/// Replies and domains that are shown to people.
const SHOWN: usize = 10;
/// As much of a reply as is shown is what the page has beside the numbers.
const BESIDE: usize = 24;

/// For people.
pub fn text(options: &DeliveryOptions, summary: &Summary, page: &Page) -> String {
    let mut text = String::new();
    let mode = if options.session.dry { ", test mode: nobody received anything" } else { "" };
    let all = options.list.deliverable() + summary.bad as usize;
    let (recipients, of_domains) =
        (counted(all, "recipient"), counted(options.list.domains(), "domain"));
    let _ = writeln!(text, "{recipients} in {of_domains}{mode}");
    outcomes(&mut text, options, summary, all);
    if summary.count.all() > summary.before || summary.carried.connections > 0 {
        let _ = writeln!(text);
        effort(&mut text, summary);
    }
    latencies(&mut text, summary);
    replies(&mut text, summary, page);
    domains(&mut text, options, summary);
    text
}

/// As in "1 domain" and "2 domains".
pub fn counted(number: usize, what: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {what}{end}")
}

fn outcomes(text: &mut String, options: &DeliveryOptions, summary: &Summary, all: usize) {
    let delivered = if options.session.dry { "accepted" } else { "delivered" };
    let count = summary.count;
    let mut line = |name: &str, of: usize, note: &str| {
        if of > 0 || name == delivered {
            let share = 100.0 * of as f64 / all.max(1) as f64;
            let line = format!("  {name:<12}{of:>10}  {share:>5.1} %  {note}");
            let _ = writeln!(text, "{}", line.trim_end());
        }
    };
    line(delivered, count.delivered as usize, "");
    line("deferred", count.given_up as usize, "tried until it was enough");
    let bad = match summary.bad {
        0 => String::new(),
        bad => format!("of these, {bad} whose address is none"),
    };
    line("failed", count.failed as usize, &bad);
    line("left", summary.unsettled, "not tried to the end");
    if summary.repeated > 0 {
        let _ = writeln!(
            text,
            "{} may have got it twice: the connection broke before the server said whether it had taken it",
            summary.repeated
        );
    }
    if summary.in_flight_before > 0 {
        let _ = writeln!(
            text,
            "{} were being sent to when the delivery was killed, and may have got it twice",
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
        "{} connections, {} at a time; {} transactions; {:.2} round trips each",
        carried.connections,
        summary.open_at_most,
        carried.transactions,
        carried.groups as f64 / (carried.transactions.max(1)) as f64
    );
    if carried.failed > 0 {
        let _ = writeln!(text, "{} connections could not be made, or broke", carried.failed);
    }
    if carried.shortages > 0 {
        let _ = writeln!(
            text,
            "{} times there was no port or descriptor for another connection",
            carried.shortages
        );
    }
}

fn latencies(text: &mut String, summary: &Summary) {
    if summary.carried.latencies.is_empty() {
        return;
    }
    let _ = writeln!(text, "\ntime to the reply    p50      p90      p99      longest");
    for (phase, histogram) in &summary.carried.latencies {
        let at = |quantile: f64| {
            let us = histogram.value_at_quantile(quantile) as f64;
            figure(us, us * 0.05, "us").to_string()
        };
        let [p50, p90, p99, longest] = [0.5, 0.9, 0.99, 1.0].map(at);
        let name = phase.name();
        let _ = writeln!(text, "  {name:<12}{p50:>12} {p90:>8} {p99:>8} {longest:>12}");
    }
}

fn replies(text: &mut String, summary: &Summary, page: &Page) {
    if summary.replies.is_empty() {
        return;
    }
    let _ = writeln!(text, "\nwhat was said");
    let room = page.width.saturating_sub(BESIDE).max(BESIDE);
    for (end, reply, of) in summary.replies.iter().take(SHOWN) {
        let mut reply: String = reply.clone();
        if reply.chars().count() > room {
            reply = reply.chars().take(room - 1).collect::<String>() + "…";
        }
        let _ = writeln!(text, "{of:>10}  {:<10}{reply}", end.name());
    }
    if summary.replies.len() > SHOWN {
        let _ = writeln!(text, "            and {} others: --json", summary.replies.len() - SHOWN);
    }
}

fn domains(text: &mut String, options: &DeliveryOptions, summary: &Summary) {
    let missed = |count: &Count| count.failed + count.given_up;
    let mut worst: Vec<(usize, &Count)> =
        summary.domains.iter().enumerate().filter(|(_, count)| missed(count) > 0).collect();
    if worst.is_empty() {
        return;
    }
    worst.sort_by_key(|(_, count)| std::cmp::Reverse(missed(count)));
    let _ =
        writeln!(text, "\ndomains with most not delivered to        delivered  deferred    failed");
    for (domain, count) in worst.iter().take(SHOWN) {
        let name: String = options.list.domain_name(*domain).chars().take(38).collect();
        let Count { delivered, given_up, failed } = count;
        let _ = writeln!(text, "  {name:<38} {delivered:>10} {given_up:>9} {failed:>9}");
    }
    if worst.len() > SHOWN {
        let _ = writeln!(text, "  and {} others: --json", worst.len() - SHOWN);
    }
}

/// For programs.
pub fn document(options: &DeliveryOptions, summary: &Summary) -> Value {
    let carried = &summary.carried;
    let latency = |phase: &SmtpPhase| {
        let histogram = &carried.latencies[phase];
        let at = |quantile| histogram.value_at_quantile(quantile);
        json!({
            "phase": phase.name(), "count": histogram.len(), "unit": "us",
            "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": histogram.max(),
        })
    };
    let domains = summary.domains.iter().enumerate().map(|(domain, count)| {
        json!({
            "domain": options.list.domain_name(domain), "delivered": count.delivered,
            "deferred": count.given_up, "failed": count.failed,
        })
    });
    json!({
        "schema": 1,
        "run": options.run,
        "test_mode": options.session.dry,
        "recipients": options.list.deliverable() + summary.bad as usize,
        "duplicates": options.list.duplicates(),
        "delivered": summary.count.delivered,
        "deferred": summary.count.given_up,
        "failed": summary.count.failed,
        "settled_before": summary.before,
        "bad_addresses": summary.bad,
        "left": summary.unsettled,
        "possibly_repeated": summary.repeated,
        "in_flight_when_killed": summary.in_flight_before,
        "deferrals": summary.deferrals,
        "seconds": summary.took.as_secs_f64(),
        "connections": carried.connections,
        "connections_at_most": summary.open_at_most,
        "connections_failed": carried.failed,
        "transactions": carried.transactions,
        "round_trips": carried.groups,
        "bytes_sent": carried.sent,
        "shortages": carried.shortages,
        "latencies": carried.latencies.keys().map(latency).collect::<Vec<_>>(),
        "replies": summary.replies.iter().map(|(end, reply, of)| {
            json!({ "outcome": end.name(), "reply": reply, "recipients": of })
        }).collect::<Vec<_>>(),
        "domains": domains.collect::<Vec<_>>(),
    })
}
