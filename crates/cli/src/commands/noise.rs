//! `oscost noise`: equal against equal. Measures the same twice and compares, which shows what this
//! machine's differences mean today; kept in the store, where `compare` finds it.

use std::collections::BTreeMap;

use analysis::{Compared, NoiseCheck, Settings};
use anyhow::Context;
use results::Store;
use serde_json::json;

use super::measure::{asked, begin, best_clock, new_id, plan_of, stop_on_interrupt};
use crate::args::Noise;
use crate::ending::Ending;
use crate::output::{note, print};

/// The tag that says which check a run belongs to.
pub const TAG: &str = "noise";

/// Makes as many checks as asked for.
pub fn noise(args: &Noise) -> anyhow::Result<Ending> {
    let stop = stop_on_interrupt()?;
    let clock = best_clock()?;
    let mut store = super::store_to_write(&args.store)?;
    let mut checked = NoiseCheck::default();
    let mut wrong: Vec<Compared> = Vec::new();
    for number in 1..=args.tries {
        let tags = BTreeMap::from([(TAG.to_owned(), new_id())]);
        let mut ids: Vec<String> = Vec::new();
        for _ in 0..2 {
            let (plan, asked) = (plan_of(&args.measuring)?, asked(&args.measuring));
            let (id, ending, _) = begin(&plan, asked, tags.clone(), &clock, &mut store, &stop)?;
            if ending == runner::Ending::Stopped {
                note("stopped: this check is not complete and is not used");
                return Ok(Ending::NotMeasured);
            }
            ids.push(id);
        }
        wrong.extend(check(&store, &ids, &mut checked)?);
        note(&format!("check {number} of {}: runs {} and {}", args.tries, ids[0], ids[1]));
    }
    tell(args, &checked, &wrong)?;
    Ok(if wrong.is_empty() { Ending::Done } else { Ending::CheckFailed })
}

/// Compares two runs as `compare` would, before it knows of this check; the verdicts that are wrong.
fn check(store: &Store, ids: &[String], checked: &mut NoiseCheck) -> anyhow::Result<Vec<Compared>> {
    let (first, second) = (store.document(&ids[0])?, store.document(&ids[1])?);
    let settings = Settings::default();
    let rows = analysis::compare(&first, &second, &NoiseCheck::default(), &settings);
    checked.add(&first, &second);
    Ok(rows.into_iter().filter(|row| row.verdict.is_difference()).collect())
}

fn tell(args: &Noise, checked: &NoiseCheck, wrong: &[Compared]) -> anyhow::Result<()> {
    let (median, largest) = checked.summary().context("nothing was measured in both runs")?;
    if args.json {
        let wrong: Vec<_> = wrong
            .iter()
            .map(|row| json!({"case": row.label, "metric": row.metric, "verdict": row.verdict.word()}))
            .collect();
        let text = json!({
            "schema": 1, "checks": checked.checks(), "median_difference": median,
            "largest_difference": largest, "wrong_verdicts": wrong,
        });
        return print(&serde_json::to_string_pretty(&text)?);
    }
    let mut text = format!(
        "{} of equal against equal: the same figure differed by {:.2} % (median), {:.1} % at most.\n",
        if checked.checks() == 1 { "One check" } else { "Checks" },
        median * 100.0,
        largest * 100.0
    );
    match wrong {
        [] => text.push_str("No verdict of a difference was given, as it should be.\n"),
        _ => text.push_str("Verdicts of a difference where there is none:\n"),
    }
    for row in wrong {
        text.push_str(&format!("  {} {}: {}\n", row.label, row.metric, row.verdict.word()));
    }
    text.push_str(
        "`oscost compare` on this machine now gives no verdict below these differences.\n",
    );
    print(&text)
}
