//! `oscost noise`: runs the same measurements twice and compares them, to find the smallest detectable difference.
//! The runs are stored, and `compare` uses them.

use std::collections::BTreeMap;

use analysis::{Compared, NoiseCheck, Settings};
use anyhow::Context;
use results::Store;
use runner::{NOISE_TAG, Request, new_id};
use serde_json::json;

use super::measure::{best_clock, plan_of, watched};
use crate::args::Noise;
use crate::ending::Ending;
use crate::interrupt::stop_on_interrupt;
use crate::output::{note, print, print_json};
use crate::store::store_to_write;

/// Runs the checks and reports their results.
pub fn noise(args: &Noise) -> anyhow::Result<Ending> {
    let stop = stop_on_interrupt()?;
    let clock = best_clock()?;
    let mut store = store_to_write(&args.store)?;
    let mut checked = NoiseCheck::default();
    let mut wrong: Vec<Compared> = Vec::new();
    for number in 1..=args.tries {
        let tags = BTreeMap::from([(NOISE_TAG.to_owned(), new_id())]);
        let mut ids: Vec<String> = Vec::new();
        for _ in 0..2 {
            let plan = plan_of(&args.measuring.options()?)?;
            let asked = args.measuring.asked();
            let tags = tags.clone();
            let request = Request { plan: &plan, asked, tags, clock: &clock, questions: None };
            let (ended, _) = watched(|watch| runner::begin(request, &mut store, &stop, watch))?;
            if ended.ending == runner::Ending::Stopped {
                note("stopped: this check is not complete and is not used");
                return Ok(Ending::NotMeasured);
            }
            ids.push(ended.id);
        }
        wrong.extend(check(&store, &ids, &mut checked)?);
        note(&format!("check {number} of {}: runs {} and {}", args.tries, ids[0], ids[1]));
    }
    report(args, &checked, &wrong)?;
    Ok(if wrong.is_empty() { Ending::Done } else { Ending::CheckFailed })
}

/// Compares two runs as `compare` would without this check; returns the wrong verdicts.
fn check(store: &Store, ids: &[String], checked: &mut NoiseCheck) -> anyhow::Result<Vec<Compared>> {
    let (first, second) = (store.document(&ids[0])?, store.document(&ids[1])?);
    let settings = Settings::default();
    let rows = analysis::compare(&first, &second, &NoiseCheck::default(), &settings);
    checked.add(&first, &second);
    Ok(rows.into_iter().filter(|row| row.verdict.is_difference()).collect())
}

fn report(args: &Noise, checked: &NoiseCheck, wrong: &[Compared]) -> anyhow::Result<()> {
    let (median, largest) = checked.summary().context("nothing was measured in both runs")?;
    if args.json {
        let wrong = wrong.iter().map(|row| {
            json!({
                "case": row.point.to_string(),
                "metric": row.metric,
                "verdict": row.verdict.word(),
            })
        });
        return print_json(&json!({
            "schema": 1,
            "checks": checked.checks(),
            "median_difference": median,
            "largest_difference": largest,
            "wrong_verdicts": wrong.collect::<Vec<_>>(),
        }));
    }
    let mut text = format!(
        "{}: equal measurements differed by {:.2} % (median), {:.1} % at most.\n",
        if checked.checks() == 1 { "One noise check" } else { "Noise checks" },
        median * 100.0,
        largest * 100.0
    );
    match wrong {
        [] => text.push_str("The comparison reported no difference, as expected.\n"),
        _ => text.push_str("The comparison wrongly reported these differences:\n"),
    }
    for row in wrong {
        text.push_str(&format!("  {} {}: {}\n", row.point, row.metric, row.verdict.word()));
    }
    text.push_str("`oscost compare` now reports no smaller differences on this machine.\n");
    print(&text)
}
