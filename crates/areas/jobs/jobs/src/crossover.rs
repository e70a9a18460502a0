//! The job length from which an executor finishes sooner than serial execution.

use std::collections::BTreeMap;

use analysis::crossing::{CrossingStep, CrossingWords, crossing_row};
use analysis::derive::{SweepStep, sweeps};
use measure::count::parse_duration;
use measure::doubt::Axis;
use measure::{Doubt, TIME};
use results::{CaseResult, PointKey};

use super::metrics::SHORTEST_JOB;

const CASE: &str = "concurrency/worth";
/// Name of the executor with which the others are compared.
const SERIAL: &str = "serial";

const WORDS: CrossingWords = CrossingWords {
    too_few: "fewer than two lengths were measured both with it and serially",
    without_rounds: "fewer than two lengths have rounds",
    never: &|longest| format!("never sooner by more than 1 %, up to {longest}"),
    before: &|shortest| format!("sooner already at {shortest}, the shortest measured"),
    axis: Axis::JobLength,
};

/// The rows `shortest-job` derived from the times of `concurrency/worth`: for each executor other than `serial`, the job length
/// from which it finishes sooner than the serial executor.
///
/// If there is no such length among those measured, the row has a reason and no figure.
pub fn crossovers(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let times = results.iter().filter(|r| r.case == CASE && r.metric == TIME.name);
    let ns = |text: &str| parse_duration(text).ok().map(|length| length.as_nanos() as f64);
    let all = sweeps(times, "length", ns);
    let is_other = |point: &PointKey| point.params.get("executor").is_some_and(|it| it != SERIAL);
    let others = all.iter().filter(|(point, _)| is_other(point));
    others.map(|(point, times)| shortest_job(point, times, serial_of(point, &all), seed)).collect()
}

/// The result of serial execution with the same parameters except the degree, which it lacks.
fn serial_of<'g, 'a>(
    point: &PointKey,
    all: &'g BTreeMap<PointKey, Vec<SweepStep<'a>>>,
) -> &'g [SweepStep<'a>] {
    let mut wanted = point.clone();
    wanted.params.insert("executor".to_owned(), SERIAL.to_owned());
    let without_degree = |point: &PointKey| {
        let mut params = point.params.clone();
        params.remove("degree");
        params
    };
    let fits = |(point, _): &(&PointKey, _)| without_degree(point) == without_degree(&wanted);
    let found = all.get(&wanted).or_else(|| all.iter().find(fits).map(|(_, times)| times));
    found.map_or(&[], |times| times)
}

fn shortest_job(
    point: &PointKey,
    times: &[SweepStep],
    serial: &[SweepStep],
    seed: u64,
) -> CaseResult {
    let row = CaseResult::of(CASE, point.params.clone(), &SHORTEST_JOB);
    let has_figure = |step: &&SweepStep| step.result.estimate.is_some();
    let measured = times.iter().filter(has_figure);
    let pairs = measured.filter_map(|step| {
        let serial = serial.iter().filter(has_figure).find(|serial| serial.x == step.x)?;
        let (a, b) = (&step.result.round_values[..], &serial.result.round_values[..]);
        Some(CrossingStep { x: step.x, text: step.text, a, b })
    });
    let steps: Vec<CrossingStep> = pairs.collect();
    let mut row = crossing_row(row, &steps, &WORDS, seed);
    let is_lost = |step: &&SweepStep| !steps.iter().any(|used| used.x == step.x);
    let lost: Vec<String> = times.iter().filter(is_lost).map(|step| step.text.to_owned()).collect();
    if row.estimate.is_some() && !lost.is_empty() {
        row.doubts.insert(0, Doubt::LengthsNotMeasured { lengths: lost });
    }
    row
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use results::Outcome;
    use simulated::{LENGTHS, flat, rounds_of, rounds_of_jobs};

    use super::*;

    fn worth(executor: &str, degree: &str, times: &[Vec<f64>]) -> Vec<CaseResult> {
        let rows = LENGTHS.iter().zip(times);
        rows.map(|((length, _), times)| {
            let params =
                [("executor", executor), ("length", length), ("jobs", "64"), ("degree", degree)];
            rounds_of((CASE, params), times)
        })
        .collect()
    }

    #[test]
    fn each_executor_gets_a_row() {
        let mut rng = StdRng::seed_from_u64(2);
        let (threads, serial) = rounds_of_jobs((0.5, 3_000.0), 10, &mut rng);
        let mut results = worth("serial", "1", &serial);
        results.extend(worth("threads", "2", &threads));
        results.extend(worth("pool", "2", &flat([1.0; 7])));
        results.extend(worth("tokio", "2", &flat([1e9; 7])));
        results.extend(worth("rayon", "2", &[]));
        let rows = crossovers(&results, 1);
        let said =
            |executor: &str| rows.iter().find(|row| row.params["executor"] == executor).unwrap();
        assert_eq!(rows.len(), 3);
        for row in &rows {
            assert_eq!(row.check(), Ok(()));
            assert_eq!((row.metric.as_str(), row.unit.as_str()), ("shortest-job", "ns"));
            assert!(!row.params.contains_key("length"));
        }
        let found = said("threads");
        assert!(found.estimate.unwrap().low < 6e3 && found.estimate.unwrap().high > 5.5e3);
        assert_eq!((found.rounds, found.round_values.len(), found.doubts.len()), (10, 10, 0));
        let reason = |executor| said(executor).reason.as_deref().unwrap();
        assert_eq!(reason("pool"), "sooner already at 1us, the shortest measured");
        assert_eq!(reason("tokio"), "never sooner by more than 1 %, up to 100us");
    }

    #[test]
    fn failed_lengths_are_reported() {
        let mut rng = StdRng::seed_from_u64(2);
        let (threads, serial) = rounds_of_jobs((0.5, 3_000.0), 10, &mut rng);
        let mut results = worth("serial", "1", &serial);
        results.extend(worth("threads", "2", &threads));
        let failed = results.iter_mut().find(|r| r.params["length"] == "20us").unwrap();
        failed.outcome = Outcome::Failed;
        failed.reason = Some("it crashed".to_owned());
        failed.estimate = None;
        let row = crossovers(&results, 1).remove(0);
        assert_eq!(row.doubts, [Doubt::LengthsNotMeasured { lengths: vec!["20us".to_owned()] }]);
        let alone = crossovers(&worth("threads", "2", &threads), 1).remove(0);
        let reason = "fewer than two lengths were measured both with it and serially";
        assert_eq!(alone.reason.as_deref(), Some(reason));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_rows_give_sound_rows(
            rows in prop::collection::vec(simulated::any_row(CASE, "time"), 0..12), seed: u64
        ) {
            for row in crossovers(&rows, seed) {
                prop_assert_eq!(row.check(), Ok(()), "{:?}", row);
            }
        }
    }
}
