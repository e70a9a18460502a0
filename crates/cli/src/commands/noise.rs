//! `oscost noise`: equal runs, one after the other, which show the differences between runs, and thereby the smallest differences
//! that `compare` finds.

use std::collections::BTreeMap;

use analysis::{Detectable, Scores, detectable};
use anyhow::Context;
use command::ending::Ending;
use command::interrupt::stop_on_interrupt;
use command::measure::{NOTHING_SAVED, best_clock, plan_of, watched};
use command::output::{note, page, print, print_json};
use command::store::{store_to_read, store_to_write};
use report::{detectable_text, scores_text};
use results::{Document, Store};
use runner::{Request, earlier_runs, new_id};
use serde_json::json;

use crate::args::Noise;

/// Tag that all runs of one invocation have with the same value.
const TAG: &str = "noise";

/// Share of correct predictions below which the check fails.
const HOLDS_AT_LEAST: f64 = 0.9;

/// Measures the runs and prints the differences between them, or scores the predictions of stored runs.
pub fn noise(args: &Noise) -> anyhow::Result<Ending> {
    if args.validate {
        return validate(args);
    }
    let clock = best_clock()?;
    let mut store = store_to_write(&args.store)?;
    let stop = stop_on_interrupt()?;
    let tags = BTreeMap::from([(TAG.to_owned(), new_id())]);
    let mut ids: Vec<String> = Vec::new();
    for number in 1..=args.runs {
        let plan = plan_of(&args.measuring.options()?)?;
        let (asked, tags) = (args.measuring.asked(), tags.clone());
        let request = Request { plan: &plan, asked, tags, clock: &clock, questions: None };
        let (ended, _) = watched(|watch| runner::begin(request, &mut store, stop, watch))?;
        if ended.ending == runner::Ending::Stopped {
            note("stopped: the runs before are stored, and count");
            return Ok(Ending::NotMeasured);
        }
        if ended.unsaved.is_some() {
            note(NOTHING_SAVED);
            return Ok(Ending::NotMeasured);
        }
        note(&format!("run {number} of {}: {}", args.runs, ended.id));
        ids.push(ended.id);
    }
    let last = store.document(ids.last().context("at least two runs were made")?)?;
    say(args, &ids, &last)
}

fn say(args: &Noise, ids: &[String], last: &Document) -> anyhow::Result<Ending> {
    let found: Vec<Detectable> = detectable(last);
    let known = last.results.iter().filter_map(|result| result.next_run);
    let known = known.max_by_key(|next| next.visits).context("no figure has three rounds")?;
    if args.json {
        print_json(&json!({
            "schema": 1,
            "runs": ids,
            "visits": known.visits,
            "boots": known.boots,
            "days": known.days,
            "detectable": found,
        }))?;
        return Ok(Ending::Done);
    }
    print(&detectable_text(&found, &known, &page()))?;
    Ok(Ending::Done)
}

/// Scores the predictions of the stored runs of the machine of the latest run.
fn validate(args: &Noise) -> anyhow::Result<Ending> {
    let store: Store = store_to_read(&args.store)?;
    let latest = store.document(&store.resolve("last")?)?;
    let mut runs = earlier_runs(&store, &latest)?;
    runs.push(latest);
    let scores = Scores::of(&runs);
    if scores.all.figures == 0 {
        note(
            "no stored run of this machine has figures of which an earlier one said where they would lie",
        );
        return Ok(Ending::NotMeasured);
    }
    if args.json {
        let by_cause: BTreeMap<String, _> =
            scores.by_cause.iter().map(|(cause, inside)| (cause.to_string(), inside)).collect();
        print_json(&json!({ "schema": 1, "all": scores.all, "by_cause": by_cause }))?;
    } else {
        print(&scores_text(&scores, &page()))?;
    }
    let highest = scores.all.inside + scores.all.error.unwrap_or(1.0);
    Ok(if highest < HOLDS_AT_LEAST { Ending::CheckFailed } else { Ending::Done })
}
