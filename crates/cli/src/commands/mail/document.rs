//! The result of a delivery as JSON.

use hdrhistogram::Histogram;
use mailsend::{Count, DeliveryOptions, Summary};
use serde::Serialize;
use smtp::session::SmtpPhase;

/// The result of a delivery.
#[derive(Serialize)]
pub struct Document<'a> {
    schema: u32,
    run: &'a str,
    test_mode: bool,
    recipients: usize,
    duplicates: usize,
    delivered: u32,
    deferred: u32,
    failed: u32,
    settled_before: u32,
    bad_addresses: u32,
    left: usize,
    possibly_repeated: u32,
    in_flight_when_killed: u32,
    deferrals: u64,
    seconds: f64,
    connections: u64,
    connections_at_most: usize,
    connections_failed: u64,
    transactions: u64,
    round_trips: u64,
    bytes_sent: u64,
    shortages: u64,
    latencies: Vec<Latency>,
    replies: Vec<Reply<'a>>,
    domains: Vec<Domain<'a>>,
}

/// The time to the replies in a phase.
#[derive(Serialize)]
struct Latency {
    phase: &'static str,
    count: u64,
    unit: &'static str,
    p50: u64,
    p90: u64,
    p99: u64,
    max: u64,
}

/// The recipients with one outcome and reply.
#[derive(Serialize)]
struct Reply<'a> {
    outcome: &'static str,
    reply: &'a str,
    recipients: u32,
}

/// The recipients of a domain.
#[derive(Serialize)]
struct Domain<'a> {
    domain: &'a str,
    delivered: u32,
    deferred: u32,
    failed: u32,
}

/// The result of a delivery, to be written as JSON.
pub fn document<'a>(options: &'a DeliveryOptions, summary: &'a Summary) -> Document<'a> {
    let carried = &summary.carried;
    let domain = |(domain, count): (usize, &Count)| Domain {
        domain: options.list.domain_name(domain),
        delivered: count.delivered,
        deferred: count.given_up,
        failed: count.failed,
    };
    let replies = summary.replies.iter().map(|(end, reply, of)| Reply {
        outcome: end.name(),
        reply,
        recipients: *of,
    });
    Document {
        schema: 1,
        run: &options.run,
        test_mode: options.session.dry,
        recipients: options.list.deliverable() + summary.bad as usize,
        duplicates: options.list.duplicates(),
        delivered: summary.count.delivered,
        deferred: summary.count.given_up,
        failed: summary.count.failed,
        settled_before: summary.before,
        bad_addresses: summary.bad,
        left: summary.unsettled,
        possibly_repeated: summary.repeated,
        in_flight_when_killed: summary.in_flight_before,
        deferrals: summary.deferrals,
        seconds: summary.took.as_secs_f64(),
        connections: carried.connections,
        connections_at_most: summary.open_at_most,
        connections_failed: carried.failed,
        transactions: carried.transactions,
        round_trips: carried.groups,
        bytes_sent: carried.sent,
        shortages: carried.shortages,
        latencies: carried.latencies.iter().map(|(phase, of)| latency(*phase, of)).collect(),
        replies: replies.collect(),
        domains: summary.domains.iter().enumerate().map(domain).collect(),
    }
}

fn latency(phase: SmtpPhase, histogram: &Histogram<u64>) -> Latency {
    let at = |quantile| histogram.value_at_quantile(quantile);
    Latency {
        phase: phase.name(),
        count: histogram.len(),
        unit: "us",
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        max: histogram.max(),
    }
}
