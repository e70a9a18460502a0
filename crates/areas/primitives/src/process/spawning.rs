//! The resident memory from which spawning a program takes less time than fork.

use super::metrics::{SPAWN, SPAWN_FROM};
use measure::TIME;
use measure::count::parse_size;
use measure::doubt::Axis;
use results::{CaseResult, PointKey};

use analysis::crossing::{CrossingStep, CrossingWords, crossing_row};
use analysis::derive::{SweepStep, find, is_measured, sweeps};

const CASE: &str = "process/memory";

const WORDS: CrossingWords = CrossingWords {
    too_few: "fewer than two sizes were measured",
    without_rounds: "fewer than two sizes have rounds",
    never: &|most| format!("never cheaper by more than 1 %, up to {most}"),
    before: &|least| format!("cheaper already at {least}, the least"),
    axis: Axis::Memory,
};

/// The rows `spawn-cheaper-from` derived from `process/memory`, one for each kind of page: the resident memory of a process from
/// which posix_spawn of a static program takes less time than fork alone.
///
/// If there is no such size among those measured, the row has a reason and no figure.
pub fn spawn_crossings(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let forks = results.iter().filter(|r| r.case == CASE && r.metric == TIME.name);
    let bytes = |text: &str| parse_size(text).ok().map(|bytes| bytes as f64);
    let row = |(point, forks): (PointKey, Vec<SweepStep>)| {
        let steps = forks.iter().filter_map(|step| {
            let forks = step.result;
            let spawns = find(results, CASE, &forks.params, SPAWN.name)?;
            let are_usable = is_measured(forks) && is_measured(spawns);
            let (a, b) = (&spawns.round_values[..], &forks.round_values[..]);
            are_usable.then_some(CrossingStep { x: step.x, text: step.text, a, b })
        });
        let steps: Vec<CrossingStep> = steps.collect();
        crossing_row(CaseResult::of(CASE, point.params, &SPAWN_FROM), &steps, &WORDS, seed)
    };
    sweeps(forks, "memory", bytes).into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use results::{Direction, Outcome};
    use simulated::figure_of;

    use super::*;

    fn rows(memory: &str, pages: &str, fork_ns: f64, spawn_ns: f64) -> [CaseResult; 2] {
        [(&TIME, fork_ns), (&SPAWN, spawn_ns)].map(|(metric, ns)| {
            let point = (CASE, [("memory", memory), ("pages", pages)]);
            figure_of(point, (metric.name, metric.unit, Direction::Lower), vec![ns; 6])
        })
    }

    fn derived(results: &[[CaseResult; 2]]) -> Vec<CaseResult> {
        spawn_crossings(&results.concat(), 1)
    }

    #[test]
    fn the_size_is_found_between_those_measured() {
        let found = derived(&[
            rows("1g", "base", 8e6, 2e5),
            rows("1m", "base", 1e5, 2e5),
            rows("4m", "base", 1e5, 2e5),
            rows("16m", "base", 4e5, 2e5),
            rows("1m", "huge", 1e5, 2e5),
            rows("1g", "huge", 1.5e5, 2e5),
        ]);
        let [base, huge] = &found[..] else { panic!("{found:?}") };
        assert_eq!((base.check(), huge.check()), (Ok(()), Ok(())));
        assert!(!base.params.contains_key("memory") && base.params["pages"] == "base");
        // The crossing is half way, by logarithms, between twice and half the cost.
        let at = base.estimate.unwrap().median;
        assert!((at / f64::from(8 << 20) - 1.0).abs() < 1e-9, "{at}");
        assert_eq!((base.metric.as_str(), base.unit.as_str()), (SPAWN_FROM.name, "bytes"));
        let reason = "never cheaper by more than 1 %, up to 1g";
        assert_eq!(huge.reason.as_deref(), Some(reason));
    }

    #[test]
    fn where_there_is_no_such_size_the_row_has_a_reason() {
        let cheaper = [rows("1m", "base", 3e5, 2e5), rows("1g", "base", 8e6, 2e5)];
        let reason = |results: &[[CaseResult; 2]]| derived(results).remove(0).reason.unwrap();
        assert_eq!(reason(&cheaper), "cheaper already at 1m, the least");
        assert_eq!(reason(&cheaper[..1]), "fewer than two sizes were measured");
        let mut failed = cheaper.clone();
        failed[1][1].outcome = Outcome::Failed;
        assert_eq!(reason(&failed), "fewer than two sizes were measured");
        assert_eq!(derived(&[]), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_rows_give_sound_rows(
            rows in prop::collection::vec(simulated::any_row(CASE, TIME.name), 0..24), seed: u64
        ) {
            let sizes = ["1m", "4m", "1g", "0", "many"];
            let rows: Vec<CaseResult> = rows.into_iter().enumerate().map(|(at, mut row)| {
                row.params.clear();
                row.params.insert("memory".to_owned(), sizes[at / 2 % sizes.len()].to_owned());
                let metric = [TIME.name, SPAWN.name][at % 2];
                CaseResult { metric: metric.to_owned(), ..row }
            }).collect();
            for row in spawn_crossings(&rows, seed) {
                prop_assert_eq!(row.check(), Ok(()), "{:?}", row);
            }
        }
    }
}
