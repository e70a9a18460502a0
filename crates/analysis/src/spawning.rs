//! The resident memory from which on spawning a program takes less time than fork.

use std::collections::BTreeMap;

use cases::process::metrics::{SPAWN, SPAWN_FROM};
use measure::count::parse_count;
use measure::doubt::Axis;
use measure::stats::LEVEL;
use measure::{Doubt, TIME};
use results::{CaseResult, Estimate, Outcome};

use crate::crossover::{Crossing, crossing, open_ends};

const CASE: &str = "process/memory";

/// One size of memory.
struct Place<'a> {
    bytes: f64,
    text: &'a str,
    forks: &'a [f64],
    spawns: &'a [f64],
}

/// The rows derived from `process/memory`, one for each kind of page: `spawn-cheaper-from`, the resident memory of a process
/// from which on posix_spawn of a static program takes less time than fork alone.
///
/// If there is no such size among those measured, the row has a reason and no figure.
pub fn spawn_crossings(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let of_case: Vec<&CaseResult> = results.iter().filter(|r| r.case == CASE).collect();
    let mut groups: BTreeMap<BTreeMap<String, String>, Vec<Place>> = BTreeMap::new();
    for forks in of_case.iter().filter(|r| r.metric == TIME.name) {
        let mut params = forks.params.clone();
        let (Some(_), Some(text)) = (params.remove("memory"), forks.params.get("memory")) else {
            continue;
        };
        let Ok(bytes) = parse_count(text) else { continue };
        let is_beside = |r: &&&CaseResult| r.metric == SPAWN.name && r.params == forks.params;
        let spawns = of_case.iter().find(is_beside);
        let places = groups.entry(params).or_default();
        places.extend(spawns.filter(|spawns| is_measured(forks) && is_measured(spawns)).map(
            |spawns| Place {
                bytes: bytes as f64,
                text,
                forks: &forks.round_values,
                spawns: &spawns.round_values,
            },
        ));
    }
    let rows = groups.iter_mut().map(|(params, places)| {
        places.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
        row(params, places, seed)
    });
    rows.collect()
}

fn is_measured(result: &CaseResult) -> bool {
    result.outcome == Outcome::Measured && !result.round_values.is_empty()
}

fn row(params: &BTreeMap<String, String>, places: &[Place], seed: u64) -> CaseResult {
    let row = CaseResult::of(CASE, params.clone(), &SPAWN_FROM);
    let without_figure = |reason: String| {
        let (outcome, reason) = (Outcome::Unsupported, Some(reason));
        CaseResult { outcome, reason, ..row.clone() }
    };
    let [first, .., last] = places else {
        return without_figure("fewer than two sizes were measured".to_owned());
    };
    let of = |part: fn(&Place) -> Vec<f64>| places.iter().map(part).collect::<Vec<_>>();
    let (spawns, forks) = (of(|p| p.spawns.to_vec()), of(|p| p.forks.to_vec()));
    let x: Vec<f64> = places.iter().map(|place| place.bytes).collect();
    let (at, open_below, open_above, round_values) = match crossing(&x, &spawns, &forks, seed) {
        Crossing::At { at, open_below, open_above, rounds } => (at, open_below, open_above, rounds),
        Crossing::TooFew => return without_figure("fewer than two sizes have rounds".to_owned()),
        Crossing::Never => {
            return without_figure(format!("never cheaper by more than 1 %, up to {}", last.text));
        }
        Crossing::Before { at_most } => {
            let unsure = if at_most > x[0] { ", though not certainly" } else { "" };
            let first = first.text;
            return without_figure(format!("cheaper already at {first}, the least{unsure}"));
        }
    };
    let rounds = spawns.iter().chain(&forks).map(Vec::len).min().unwrap_or(0);
    let (lowest, highest) = (open_below.then_some(first.text), open_above.then_some(last.text));
    let alone = (rounds < 2).then_some(Doubt::OneRound);
    CaseResult {
        estimate: Some(Estimate { median: at.median, low: at.low, high: at.high, level: LEVEL }),
        rounds: rounds as u32,
        round_values,
        doubts: open_ends(Axis::Memory, lowest, highest).chain(alone).collect(),
        ..row
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(memory: &str, pages: &str, fork_ns: f64, spawn_ns: f64) -> [CaseResult; 2] {
        let params: BTreeMap<String, String> = [("memory", memory), ("pages", pages)]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into();
        [(&TIME, fork_ns), (&SPAWN, spawn_ns)].map(|(metric, ns)| CaseResult {
            estimate: Some(Estimate { median: ns, low: ns, high: ns, level: LEVEL }),
            rounds: 6,
            round_values: vec![ns; 6],
            ..CaseResult::of(CASE, params.clone(), metric)
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
        // Half way, by logarithms, from twice as dear to half as dear.
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
            rows in prop::collection::vec(crate::simulated::any_row(CASE, TIME.name), 0..24), seed: u64
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
