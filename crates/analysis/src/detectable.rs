//! The smallest differences that a comparison of two runs of a machine finds.

use std::collections::BTreeMap;

use measure::stats::{median, quantile};
use results::{CaseResult, Document};
use serde::Serialize;

use crate::compare::compare;
use crate::judge::{Compared, Settings};
use crate::next_run::Cause;

/// Smallest differences of figures with one cause, as medians over their points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Detectable {
    /// Cause as text.
    pub cause: String,
    /// The number of figures.
    pub figures: usize,
    /// Number of visits from which the figures are known.
    pub visits: u32,
    /// Standard deviation of single runs, as a share.
    pub deviation: f64,
    /// Smallest difference that gets a verdict, as a share.
    pub difference: f64,
    /// Smallest difference that gets a verdict for nine in ten figures, as a share.
    pub difference_of_most: f64,
    /// Smallest difference in core cycles that gets a verdict; `None` if cycles were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<f64>,
}

/// The smallest differences, by cause, that a comparison of this run with an equal one would find; all of its figures together
/// share one chance of error.
pub fn detectable(run: &Document) -> Vec<Detectable> {
    let mut equal = run.clone();
    equal.run.id.push_str("-again");
    // The equal run is measured at another time: its rounds are not adjacent to those of the run.
    equal.run.asked.remove(results::GROUP);
    let rows = compare(run, &equal, &Settings::default());
    let mut by_cause: BTreeMap<Cause, Vec<(&CaseResult, f64)>> = BTreeMap::new();
    let known: BTreeMap<_, &CaseResult> =
        run.results.iter().map(|result| ((result.point(), &result.metric), result)).collect();
    for row in &rows {
        let Some(result) = known.get(&(row.point.clone(), &row.metric)) else { continue };
        let Some(share) = difference(row).filter(|_| result.next_run.is_some()) else { continue };
        by_cause.entry(Cause::of(result)).or_default().push((result, share));
    }
    by_cause.into_iter().map(|(cause, found)| of_cause(&cause, &found)).collect()
}

/// The smallest difference of a row that would get a verdict, as a share; `None` without an interval.
pub fn difference(row: &Compared) -> Option<f64> {
    let ratio = row.ratio?;
    Some((ratio.high / ratio.mid - 1.0).max(row.floor))
}

fn of_cause(cause: &Cause, found: &[(&CaseResult, f64)]) -> Detectable {
    let of = |share: &dyn Fn(&(&CaseResult, f64)) -> f64| -> Vec<f64> {
        let mut values: Vec<f64> = found.iter().map(share).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let differences = of(&|(_, difference)| *difference);
    let mut cycles: Vec<f64> =
        found.iter().filter_map(|(r, share)| Some(r.cycles?.median * share)).collect();
    Detectable {
        cause: cause.to_string(),
        figures: found.len(),
        visits: found.iter().filter_map(|(r, _)| Some(r.next_run?.visits)).max().unwrap_or(0),
        deviation: median(&mut of(&|(result, _)| {
            result.next_run.map_or(0.0, |next| next.deviation)
        })),
        difference: quantile(&differences, 0.5),
        difference_of_most: quantile(&differences, 0.9),
        cycles: (!cycles.is_empty()).then(|| median(&mut cycles)),
    }
}
