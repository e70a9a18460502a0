//! Distributions and time series of a run, computed from its stored rounds, for reports.

use std::collections::BTreeMap;

use analysis::{Recorded, RoundState, Samples, moments};
use measure::Params;
use measure::estimate::{EarlierLevel, JudgedRound, Levels};
use measure::record::{Line, RoundEnvironment, Series, parse_lines};
use results::{Document, RoundRow, Store, StoreError};

use crate::launch::RoundEnd;
use crate::machine::level_key;
use crate::stored_round::{KIND_KEPT, KIND_ROUND, measuring_ms};

/// Number of earlier runs whose quiet levels are used, as when the run was measured.
const RUNS: u32 = 20;

/// The distributions and time series of the run of `document`, from its rounds in the store; `None` without stored rounds,
/// as for an imported run.
///
/// Samples are classified as at the end of the run, except that quiet levels of runs since then are used too.
///
/// # Errors
/// If the store cannot be read.
pub fn recorded(store: &Store, document: &Document) -> Result<Option<Recorded>, StoreError> {
    let rows = store.rounds(&document.run.id)?;
    let earlier = match level_key(&document.machine) {
        Some(key) => EarlierLevel::of_runs(&store.quiet_levels(&key, &document.run.id, RUNS)?),
        None => None,
    };
    let clock = document.run.core_clock_ghz.map(|clock| clock.median);
    Ok(of_rows(&rows, Levels::with_earlier(earlier), clock))
}

/// The samples of one round.
struct Round<'r> {
    row: &'r RoundRow,
    seconds: f64,
    series: Vec<Series>,
    environment: Option<RoundEnvironment>,
}

pub(crate) fn of_rows(
    rows: &[RoundRow],
    mut levels: Levels,
    clock_ghz: Option<f64>,
) -> Option<Recorded> {
    let made = rows.iter().filter(|row| row.kind != KIND_KEPT);
    let times = measuring_ms(made.clone().map(|row| row.started_ms));
    let rounds = made.zip(times).filter_map(|(row, at_ms)| read(row, at_ms));
    let rounds: Vec<Round> = rounds.collect();
    rounds.iter().flat_map(|round| &round.series).for_each(|series| levels.observe(series));
    let chain = levels.chain_times().map(|chain| chain.median);
    // The frequency is inversely proportional to the chain's time.
    let scale = clock_ghz.zip(chain).map(|(ghz, chain)| ghz * chain);
    let mut states = Vec::new();
    let mut points: BTreeMap<(String, Params), (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for round in &rounds {
        let judged = judged(round, &levels);
        states.push(state(round, &judged, scale));
        let key = (round.row.case.clone(), round.row.params.clone());
        let (all, quiet) = points.entry(key).or_default();
        match judged.contended_mean {
            // A trial is one value, however many workers contributed to it.
            Some(mean) => {
                all.push(mean);
                quiet.extend(judged.is_enough().then_some(mean));
            }
            None => {
                all.extend(judged.all.iter().map(|sample| sample.ns));
                quiet.extend(judged.quiet.iter().map(|sample| sample.ns));
            }
        }
    }
    let samples = points.into_iter();
    let samples = samples.filter_map(|(key, (all, quiet))| Some((key, Samples::of(all, &quiet)?)));
    let points: BTreeMap<_, _> = samples.collect();
    (!points.is_empty()).then(|| Recorded { points, moments: moments(&states) })
}

/// The output of a timed round that ended normally with samples.
fn read(row: &RoundRow, at_ms: u64) -> Option<Round<'_>> {
    let end = serde_json::from_str::<RoundEnd>(&row.outcome).ok()?;
    if row.kind != KIND_ROUND || !matches!(end, RoundEnd::Reported(Ok(()))) {
        return None;
    }
    let (mut series, mut environment) = (Vec::new(), None);
    for line in parse_lines(&row.lines) {
        match line {
            Line::Series(line) => series.push(line),
            Line::Environment(line) => environment = Some(line),
            _ => {}
        }
    }
    let seconds = at_ms as f64 / 1e3;
    (!series.is_empty()).then_some(Round { row, seconds, series, environment })
}

fn judged(round: &Round, levels: &Levels) -> JudgedRound {
    let judged = JudgedRound::of(&round.series, levels);
    match round.environment {
        Some(environment) if environment.took_cpu_time() => judged.spoilt(),
        _ => judged,
    }
}

fn state(round: &Round, judged: &JudgedRound, scale: Option<f64>) -> RoundState {
    let environment = round.environment.as_ref();
    let of = |part: fn(&RoundEnvironment) -> Option<f64>, all: fn(&RoundEnvironment) -> f64| {
        environment.and_then(|e| Some((part(e)?, all(e))))
    };
    RoundState {
        seconds: round.seconds,
        ghz: scale.zip(judged.chain_ns).map(|(scale, chain)| scale / chain),
        quiet_of_ns: (judged.quiet_ns, judged.all_ns),
        steal_of: of(|e| e.steal, |e| e.elapsed * e.cpus.max(1) as f64),
        throttled_of: of(|e| e.throttled, |e| e.elapsed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seq: u64, outcome: &str, lines: &str) -> RoundRow {
        RoundRow {
            seq,
            case: "clock/std-instant".into(),
            params: Params::new(),
            kind: KIND_ROUND.into(),
            outcome: outcome.into(),
            started_ms: 1_000 + 200 * seq as i64,
            lines: lines.into(),
        }
    }

    #[test]
    fn distributions_and_course_come_from_the_rounds_that_ended_well() {
        let lines = r#"{"series":{"cpu":0,"busy":1,"batch":9,"samples":[5.0,6.0],"readings":[[1000,1,1],[1000,1,1],[1000,1,1]]}}
{"environment":{"elapsed":0.1,"cpus":1,"steal":0.02}}"#;
        let ended = serde_json::to_string(&RoundEnd::Reported(Ok(()))).unwrap();
        let died = serde_json::to_string(&RoundEnd::Died("signal 9".into())).unwrap();
        let rows =
            [row(0, &ended, lines), row(1, &died, lines), row(2, "x", lines), row(3, &ended, "")];
        let recorded = of_rows(&rows, Levels::default(), Some(3.0)).unwrap();
        let samples = recorded.samples("clock/std-instant", &Params::new()).unwrap();
        assert_eq!((samples.count, samples.from, samples.quantiles[4]), (2, 5.0, 6.0));
        let [moment] = recorded.moments[..] else { panic!("{:?}", recorded.moments) };
        assert!((moment.ghz.unwrap() - 3.0).abs() < 1e-9);
        assert!((moment.steal.unwrap() - 0.2).abs() < 1e-9);
        assert_eq!(moment.throttled, None);
        assert_eq!(of_rows(&rows[1..], Levels::default(), None), None);
    }
}
