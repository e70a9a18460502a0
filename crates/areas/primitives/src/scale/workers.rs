//! Scaling of an operation: the rate of several workers together divided by that of one worker alone.

use std::collections::BTreeMap;

use super::SCALING;
use measure::worker_group::PARALLEL_RATE;
use results::{CaseResult, PointKey};

use analysis::derive::{has_positive_rounds, with_figure};
use analysis::resample::Bootstrap;

const AREA: &str = "scale/";

/// The rows `scaling` derived from the rates of the area `scale`, for each point with several workers for which a single worker
/// was measured on the same CPUs and as the same kind of worker. A single worker shares nothing and stands for both values of
/// `share`.
///
/// The estimate is the ratio of the medians of the rounds' rates; its interval comes from a bootstrap over rounds. `round_values`
/// are the rounds' rates divided by the median rate of one worker.
pub fn worker_scaling(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let is_usable = |result: &&CaseResult| {
        result.case.starts_with(AREA)
            && result.metric == PARALLEL_RATE.name
            && has_positive_rounds(result)
    };
    let by_point: BTreeMap<PointKey, &CaseResult> =
        results.iter().filter(is_usable).map(|result| (result.point(), result)).collect();
    let row = |(point, several): (&PointKey, &&CaseResult)| {
        let one = points_alone(point)?.iter().find_map(|alone| by_point.get(alone).copied())?;
        scaling(several, one, seed)
    };
    by_point.iter().filter_map(row).collect()
}

/// Points that a single worker may have, the best first; `None` if this is such a point.
fn points_alone(point: &PointKey) -> Option<[PointKey; 2]> {
    if point.params.get("workers")? == "1" {
        return None;
    }
    let mut alone = point.clone();
    alone.params.insert("workers".to_owned(), "1".to_owned());
    let mut with_its_own = alone.clone();
    if let Some(share) = with_its_own.params.get_mut("share") {
        "own".clone_into(share);
    }
    Some([alone, with_its_own])
}

/// The row for a point; `None` if the figures are too large or too small to be divided by each other.
fn scaling(several: &CaseResult, one: &CaseResult, seed: u64) -> Option<CaseResult> {
    let medians = Bootstrap::of(&[&several.round_values, &one.round_values], seed);
    let factor = medians.interval(|medians| medians[0] / medians[1]);
    let rate_alone = medians.center[1];
    let round_values: Vec<f64> =
        several.round_values.iter().map(|rate| rate / rate_alone).collect();
    let figures = [factor.median, factor.low, factor.high];
    let is_sound = figures.iter().chain(&round_values).all(|figure| figure.is_finite());
    let row = CaseResult::of(&several.case, several.params.clone(), &SCALING);
    let all_round_values = several.all_round_values.iter().map(|rate| rate / rate_alone).collect();
    is_sound.then(|| CaseResult {
        round_values,
        round_starts_ms: several.round_starts_ms.clone(),
        all_round_values,
        all_round_starts_ms: several.all_round_starts_ms.clone(),
        disturbed: several.disturbed || one.disturbed,
        ..with_figure(row, factor, medians.rounds)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use results::{Direction, Outcome};

    use super::*;
    use simulated::{figure_of, noise};

    fn rate(workers: &str, share: &str, round_values: Vec<f64>) -> CaseResult {
        let params = [("workers", workers), ("as", "threads"), ("share", share)];
        figure_of(("scale/x", params), ("rate", "op/s", Direction::Higher), round_values)
    }

    #[test]
    fn several_workers_are_compared_with_one_alone() {
        let results = [
            rate("1", "own", vec![1e6; 8]),
            rate("4", "own", vec![3.6e6; 8]),
            rate("4", "same", vec![0.5e6; 8]),
        ];
        let rows = worker_scaling(&results, 1);
        let factors: Vec<(&str, f64)> = rows
            .iter()
            .map(|row| (row.params["share"].as_str(), row.estimate.unwrap().median))
            .collect();
        assert_eq!(factors, [("own", 3.6), ("same", 0.5)]);
        for row in &rows {
            assert_eq!(row.check(), Ok(()));
            assert_eq!((row.metric.as_str(), row.unit.as_str()), ("scaling", "x"));
            assert_eq!(row.params["workers"], "4");
        }
    }

    #[test]
    fn without_one_alone_like_them_there_is_no_factor() {
        let processes = {
            let mut one = rate("1", "own", vec![1e6; 8]);
            one.params.insert("as".to_owned(), "processes".to_owned());
            one
        };
        let of_a_lock = CaseResult { case: "lock/x".to_owned(), ..rate("4", "own", vec![1.0; 8]) };
        let failed = CaseResult { outcome: Outcome::Failed, ..rate("1", "own", vec![1e6; 8]) };
        let several = rate("4", "own", vec![3e6; 8]);
        assert_eq!(worker_scaling(&[processes, several.clone(), of_a_lock, failed], 1), []);
        assert_eq!(worker_scaling(&[], 1), []);
    }

    #[test]
    fn the_interval_covers_the_true_factor() {
        let mut rng = StdRng::seed_from_u64(3);
        let mut draw = |center: f64| -> Vec<f64> {
            (0..20).map(|_| center * (1.0 + 0.05 * noise(&mut rng))).collect()
        };
        let covered = (0..200).filter(|&seed| {
            let results = [rate("1", "own", draw(1e6)), rate("2", "own", draw(1.7e6))];
            let found = worker_scaling(&results, seed)[0].estimate.unwrap();
            found.low <= 1.7 && 1.7 <= found.high
        });
        let covered = covered.count();
        assert!((180..=200).contains(&covered), "{covered} of 200");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_rows_give_sound_rows(
            rows in prop::collection::vec(simulated::any_row("scale/x", "rate"), 0..12),
            seed: u64
        ) {
            let rows: Vec<CaseResult> = rows
                .into_iter()
                .map(|mut row| {
                    let workers = row.params["degree"].clone();
                    row.params.insert("workers".to_owned(), workers);
                    row
                })
                .collect();
            for row in worker_scaling(&rows, seed) {
                prop_assert_eq!(row.check(), Ok(()), "{:?}", row);
            }
        }
    }
}
