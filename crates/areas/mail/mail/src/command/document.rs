//! The result of a delivery as JSON.

use hdrhistogram::Histogram;
use mailsend::{Count, DeliveryOptions, Ended, Summary};
use serde_json::{Value, json};
use smtp::session::SmtpPhase;

/// The result of a delivery.
pub fn document(options: &DeliveryOptions, summary: &Summary) -> Value {
    let carried = &summary.carried;
    let latencies = carried.latencies.iter().map(|(phase, times)| latency(*phase, times));
    let reply = |(end, reply, recipients): &(Ended, String, u32)| json!({"outcome": end.name(), "reply": reply, "recipients": recipients});
    let left =
        |(reason, recipients): &(String, u32)| json!({"reason": reason, "recipients": recipients});
    let domain = |(domain, count): (usize, &Count)| {
        json!({
            "domain": options.list.domain_name(domain),
            "delivered": count.delivered,
            "deferred": count.given_up,
            "failed": count.failed,
        })
    };
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
        "possibly_delivered": {
            "deferred": summary.possibly_delivered.given_up,
            "failed": summary.possibly_delivered.failed,
            "left": summary.possibly_delivered_left,
        },
        "in_flight_when_killed": summary.in_flight_before,
        "delivered_encrypted": summary.encrypted,
        "delivered_in_clear": summary.in_clear,
        "deferrals": summary.deferrals,
        "seconds": summary.took.as_secs_f64(),
        "connections": carried.connections,
        "connections_at_most": summary.open_at_most,
        "connections_failed": carried.failed,
        "transactions": carried.transactions,
        "round_trips": carried.groups,
        "bytes_sent": carried.sent,
        "shortages": carried.shortages,
        "latencies": latencies.collect::<Vec<_>>(),
        "replies": summary.replies.iter().map(reply).collect::<Vec<_>>(),
        "left_reasons": summary.left.iter().map(left).collect::<Vec<_>>(),
        "domains": summary.domains.iter().enumerate().map(domain).collect::<Vec<_>>(),
    })
}

/// The time to the replies in a phase, as JSON.
fn latency(phase: SmtpPhase, histogram: &Histogram<u64>) -> Value {
    let at = |quantile| histogram.value_at_quantile(quantile);
    json!({
        "phase": phase.name(),
        "count": histogram.len(),
        "unit": "us",
        "p50": at(0.5),
        "p90": at(0.9),
        "p99": at(0.99),
        "max": histogram.max(),
    })
}
