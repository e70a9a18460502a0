//! Decides which differences between two runs are significant.
//!
//! The interval of a ratio comes from the spread between rounds of both runs, that is between fresh processes (`Spread`). All
//! comparisons with one run share one chance of error (Bonferroni), so that their intervals are simultaneous. Holm's procedure
//! would find more only if most rows have changed, and provides no intervals.
//!
//! Between separate runs the machine may have changed. The variance between visits of both runs is part of the interval
//! (`next_run`), and no verdict falls below the floor, which is the change of the machine that the runs themselves show: in the
//! course of each (`drift`), in its speed from one to the other (`speed_shift`), and in the frequency of an operation's steady
//! modes (`unshared_shift`). Figures that the system under test can change, such as the cost of a system call, do not raise the
//! floor.

use results::{CaseResult, Document, Outcome};

use crate::change::{Change, Sides};
use crate::held_back::{another_machine, emulation};
use crate::judge::{Compared, Judge, Pair, Settings};
use crate::scope::{Points, is_unsupported, pairs};

/// Compares `new` with `base`, one row for each metric with a direction that either run has, except metrics that follow from
/// others. Cases that are unsupported in both runs are left out.
///
/// Times of which both runs have core cycles are compared in cycles if both were measured on the same CPU
/// ([`cpu_differences`](crate::cpu_differences)). A run compared with itself is the same in every row that has figures.
pub fn compare(base: &Document, new: &Document, settings: &Settings) -> Vec<Compared> {
    let mut rows: Vec<(Option<&CaseResult>, Option<&CaseResult>)> = pairs(base, new)
        .into_iter()
        .filter(|(base, new)| !(is_unsupported(base) && new.is_some_and(is_unsupported)))
        .map(|(base, new)| (Some(base), new))
        .collect();
    let only_new = pairs(new, base).into_iter().filter(|(_, base)| base.is_none());
    rows.extend(only_new.map(|(new, _)| (None, Some(new))));
    let sides = Sides::of(base, new, settings.across_machines);
    let of_row = |(base, new): (Option<&CaseResult>, Option<&CaseResult>)| {
        base.zip(new).and_then(|(base, new)| sides.change(base, new))
    };
    let mut changes: Vec<Option<Change>> = rows.iter().map(|row| of_row(*row)).collect();
    let judge = Judge::of(changes.iter_mut().flatten(), settings);
    let points = [base, new].map(|run| Points::of(&[run]));
    let emulated = [(base.emulated(), "base"), (new.emulated(), "new")];
    let apart = settings.apart(base, new, &[]);
    let is_itself = base.run.id == new.run.id && base.results == new.results;
    let judged = rows.into_iter().zip(changes);
    let row = |((base, new), change): ((Option<&CaseResult>, Option<&CaseResult>), _)| {
        let any = base.or(new);
        let held_back = any
            .and_then(|any| emulation(emulated, any))
            .or_else(|| another_machine(&apart))
            .or_else(|| Points::either_held_back([(&points[0], base?), (&points[1], new?)]));
        let pair = Pair { base, new, change, held_back, is_itself };
        judge.row(pair, || why_no_pair(base, new))
    };
    judged.map(row).collect()
}

fn why_no_pair(base: Option<&CaseResult>, new: Option<&CaseResult>) -> String {
    let missing = |which: &str, result: Option<&CaseResult>| match result {
        None => Some(format!("the {which} run did not measure it")),
        Some(result) if result.outcome != Outcome::Measured => {
            let reason = result.reason.as_deref().unwrap_or("no reason given");
            Some(format!("{} in the {which} run: {reason}", result.outcome.word()))
        }
        Some(_) => None,
    };
    let missing = missing("base", base).or_else(|| missing("new", new));
    missing.unwrap_or_else(|| no_figures(base, new))
}

/// Reason why two results that are not missing cannot be compared.
pub(crate) fn no_figures(base: Option<&CaseResult>, new: Option<&CaseResult>) -> String {
    match (base, new) {
        (Some(base), Some(new)) if base.unit != new.unit => {
            format!("measured in {} and in {}", base.unit, new.unit)
        }
        _ => "without figures".to_owned(),
    }
}

#[cfg(test)]
mod tests;
