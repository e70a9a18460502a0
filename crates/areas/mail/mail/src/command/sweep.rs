//! `oscost mail send --sweep`: the rate of a delivery in test mode by the number of connections.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::knee::{Knee, knee};
use command::ending::{Ending, Usage};
use command::interrupt::stop_on_interrupt;
use command::output::{note, page, print, print_json};
use command::values::ramp;
use mailsend::{Delivery, DeliveryOptions, Signals, deliver};
use report::{SweepLine, sweep_table};
use serde_json::{Value, json};

use super::args::MailSend;
use super::options::options;
use super::summary::counted;

/// Seed of the bootstrap of the knee; it is constant, so that the same rates always give the same interval.
const SEED: u64 = 1;

/// Delivers the list in test mode once for each number of connections in each pass, and prints the rates.
///
/// # Errors
/// An error if a server is not on loopback, or a delivery cannot begin or continue.
pub fn sweep(args: &MailSend, (from, to): (usize, usize)) -> anyhow::Result<Ending> {
    let mut options = options(args, &Arc::new(Signals::default()))?;
    if !options.router.is_loopback() {
        let why = "--sweep is for servers of your own on loopback, such as `oscost mail sink`: use --relay or --route";
        return Err(Usage(why.into()).into());
    }
    options.session.dry = true;
    options.time = Some(args.step);
    let most = super::options::within_limit(to);
    let mut steps: Vec<SweepLine> = ramp(from.min(most), most)
        .into_iter()
        .map(|connections| SweepLine { connections, ..SweepLine::default() })
        .collect();
    let (all, domains) = (options.list.deliverable(), options.list.domains());
    note(&format!(
        "{} in {}, test mode: no message is sent",
        counted(all, "recipient"),
        counted(domains, "domain")
    ));
    let stop = stop_on_interrupt()?;
    let mut is_complete = true;
    'passes: for pass in 0..args.passes {
        // Every other pass is in descending order, so that a machine that becomes slower does not favour few connections.
        let count = steps.len();
        for nth in 0..count {
            if stop.load(Ordering::Relaxed) {
                is_complete = false;
                break 'passes;
            }
            let at = if pass % 2 == 0 { nth } else { count - 1 - nth };
            deliver_once(args, &mut options, &mut steps[at])?;
        }
    }
    let x: Vec<f64> = steps.iter().map(|step| step.connections as f64).collect();
    let rates: Vec<&[f64]> = steps.iter().map(|step| step.rates.as_slice()).collect();
    let knee = knee(&x, &rates, SEED);
    match args.json {
        true => print_json(&document(args, [all, domains], &steps, &knee))?,
        false => print(&(sweep_table(&steps, &page()) + &knee_line(&knee, from, to)))?,
    }
    Ok(match () {
        () if !is_complete => Ending::NotMeasured,
        () if steps.iter().any(|step| step.lost > 0) => Ending::CheckFailed,
        () => Ending::Done,
    })
}

/// Delivers once with the number of connections of `step`, and adds the result to it.
fn deliver_once(
    args: &MailSend,
    options: &mut DeliveryOptions,
    step: &mut SweepLine,
) -> anyhow::Result<()> {
    options.limits.connections = step.connections;
    options.limits.at_first = step.connections;
    options.limits.per_destination =
        if options.is_relayed { step.connections } else { args.per_domain };
    let delivery = Delivery::new(options, None, Arc::new(Signals::default()))?;
    let summary = deliver(&delivery)?;
    step.rates.push(f64::from(summary.count.delivered) / summary.took.as_secs_f64().max(1e-9));
    step.open = step.open.max(summary.open_at_most);
    let lost = summary.count.failed + summary.count.given_up;
    step.lost += u64::from(lost.saturating_sub(summary.bad));
    Ok(())
}

fn document(
    args: &MailSend,
    [recipients, domains]: [usize; 2],
    steps: &[SweepLine],
    knee: &Knee,
) -> Value {
    json!({
        "list": args.list.display().to_string(),
        "recipients": recipients,
        "domains": domains,
        "passes": args.passes,
        "steps": steps,
        "knee": match knee {
            Knee::At { at, open_above } => json!({
                "connections": at.median,
                "low": at.low,
                "high": at.high,
                "open_above": open_above,
            }),
            Knee::Before | Knee::TooFew => Value::Null,
        },
    })
}

fn knee_line(knee: &Knee, from: usize, to: usize) -> String {
    match knee {
        Knee::At { at, open_above } => {
            let open =
                if *open_above { format!("; it still rises at {to}") } else { String::new() };
            format!(
                "the rate is at least 90 % of its level from {:.0} connections on ({:.0} to {:.0}){open}\n",
                at.median, at.low, at.high
            )
        }
        Knee::Before => format!("the rate is level from {from} on\n"),
        Knee::TooFew => "too few steps for a knee: at least three are needed\n".to_owned(),
    }
}
