//! How the ratio between two server architectures changes with the number of connections, and the load from which one
//! collapses.

use std::collections::BTreeMap;

use cases::net::metrics::{CHEAPER_GROWTH, COLLAPSES_FROM, FASTER_GROWTH, KEPT};
use measure::Metric;
use measure::doubt::Axis;
use measure::stats::LEVEL;
use results::{CaseResult, Estimate, Outcome};

use crate::crossover::open_ends;
use crate::overtaking::{By, Level, Sweep, sweeps};
use crate::resample;

/// The best event loop of each system, and what it is compared with.
const LOOPS: [&str; 3] = ["epoll", "kqueue", "iocp"];
const OTHERS: [&str; 2] = ["fork", "threads"];
/// The fewest levels behind a slope.
const LEVELS_AT_LEAST: usize = 3;

const OVERLOAD: &str = "net/overload";
/// A server whose goodput is below this share has collapsed.
const COLLAPSED: f64 = 0.8;

/// The rows derived from `net/answer` and `net/requests`: `faster-growth` and `cheaper-growth`, for the system's best event
/// loop and a process or a thread for each connection. The slope of the logarithm of the ratio over that of the number of
/// connections, by least squares, as the factor for ten times the connections. Levels at which the generator limited a rate
/// are left out. Nothing is derived from fewer than three levels.
pub fn growths(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let mut rows = Vec::new();
    for sweep in sweeps(results) {
        for arch in LOOPS {
            for than in OTHERS {
                for (by, metric) in [(By::Rate, &FASTER_GROWTH), (By::Cpu, &CHEAPER_GROWTH)] {
                    rows.extend(growth(&sweep, [arch, than], by, metric, seed));
                }
            }
        }
    }
    rows
}

fn growth(
    sweep: &Sweep,
    [arch, than]: [&str; 2],
    by: By,
    metric: &Metric,
    seed: u64,
) -> Option<CaseResult> {
    let (a, b) = (sweep.levels.get(arch)?, sweep.levels.get(than)?);
    let is_usable =
        |level: &Level| !(level.values(by).is_empty() || by == By::Rate && level.saturated);
    let shared =
        a.iter().filter_map(|(connections, a)| Some((*connections, a, b.get(connections)?)));
    let places: Vec<(u32, &Level, &Level)> =
        shared.filter(|(_, a, b)| is_usable(a) && is_usable(b)).collect();
    if places.len() < LEVELS_AT_LEAST {
        return None;
    }
    let x: Vec<f64> =
        places.iter().map(|(connections, ..)| f64::from(*connections).log10()).collect();
    // The better one's advantage: its rate by the other's, or the other's CPU time by its own.
    let series: Vec<&[f64]> = places
        .iter()
        .flat_map(|(_, a, b)| match by {
            By::Rate => [a.values(by), b.values(by)],
            By::Cpu => [b.values(by), a.values(by)],
        })
        .collect();
    let factor = |medians: &[f64]| {
        let y: Vec<f64> = medians.chunks_exact(2).map(|pair| (pair[0] / pair[1]).ln()).collect();
        slope(&x, &y).exp()
    };
    let center = factor(&resample::medians(&series));
    if !(center.is_finite() && center > 0.0) {
        return None;
    }
    let figures = resample::draws(&series, seed).iter().map(|medians| factor(medians)).collect();
    let rounds = resample::rounds(&series);
    let (low, high) = resample::interval(rounds, center, figures);
    let mut params = sweep.params.clone();
    params.insert("arch".to_owned(), arch.to_owned());
    params.insert("than".to_owned(), than.to_owned());
    Some(CaseResult {
        estimate: Some(Estimate { median: center, low, high, level: LEVEL }),
        rounds: rounds as u32,
        ..CaseResult::of(sweep.case, params, metric)
    })
}

/// The slope of the straight line through these points, by least squares.
fn slope(x: &[f64], y: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (of_x, of_y) = (mean(x), mean(y));
    let products: f64 = x.iter().zip(y).map(|(x, y)| (x - of_x) * (y - of_y)).sum();
    products / x.iter().map(|x| (x - of_x).powi(2)).sum::<f64>()
}

/// The rounds' values by load.
type ByLoad<'a> = Vec<(f64, &'a [f64])>;

/// The rows derived from `net/overload`: `collapses-from`, the offered load, as a multiple of the capacity, from which on the
/// goodput is below 80 % of the capacity. Between neighbouring loads it is interpolated linearly. If there is no such load
/// among those measured, the row has a reason and no figure; nothing is derived from a single load.
pub fn collapses(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let mut groups: BTreeMap<BTreeMap<String, String>, ByLoad> = BTreeMap::new();
    let kept = results.iter().filter(|r| r.case == OVERLOAD && r.metric == KEPT.name);
    for result in kept.filter(|result| result.outcome == Outcome::Measured) {
        let mut params = result.params.clone();
        let load = params.remove("load").and_then(|text| text.parse::<f64>().ok());
        let Some(load) = load.filter(|load| load.is_finite() && *load > 0.0) else { continue };
        let is_sound = |value: &f64| value.is_finite() && *value >= 0.0;
        if !result.round_values.is_empty() && result.round_values.iter().all(is_sound) {
            groups.entry(params).or_default().push((load, &result.round_values));
        }
    }
    let row = |(params, mut loads): (BTreeMap<String, String>, ByLoad)| {
        loads.sort_by(|a, b| a.0.total_cmp(&b.0));
        loads.dedup_by(|a, b| a.0 == b.0);
        (loads.len() > 1).then(|| collapse(params, &loads, seed))
    };
    groups.into_iter().filter_map(row).collect()
}

fn collapse(params: BTreeMap<String, String>, loads: &[(f64, &[f64])], seed: u64) -> CaseResult {
    let row = CaseResult::of(OVERLOAD, params, &COLLAPSES_FROM);
    let x: Vec<f64> = loads.iter().map(|(load, _)| *load).collect();
    let series: Vec<&[f64]> = loads.iter().map(|(_, values)| *values).collect();
    let (least, most) = (x[0], x[x.len() - 1]);
    let without_figure = |reason: String| CaseResult {
        outcome: Outcome::Unsupported,
        reason: Some(reason),
        ..row.clone()
    };
    match falls_below(&x, &resample::medians(&series)) {
        None => without_figure(format!("does not collapse up to {most} times its capacity")),
        Some(at) if at <= least => without_figure(format!("collapsed already at {least}")),
        Some(at) => {
            let draws = resample::draws(&series, seed);
            let figures: Vec<f64> =
                draws.iter().map(|kept| falls_below(&x, kept).unwrap_or(most)).collect();
            let rounds = resample::rounds(&series);
            let (low, high) = resample::interval(rounds, at, figures);
            let (lowest, highest) =
                ((low <= least).then_some(least), (high >= most).then_some(most));
            CaseResult {
                estimate: Some(Estimate { median: at, low, high, level: LEVEL }),
                rounds: rounds as u32,
                doubts: open_ends(Axis::Load, lowest, highest).collect(),
                ..row
            }
        }
    }
}

/// The x from which y stays below the limit; the first x if it is below throughout, `None` if it is not at the end.
fn falls_below(x: &[f64], y: &[f64]) -> Option<f64> {
    match y.iter().rposition(|kept| *kept >= COLLAPSED) {
        None => x.first().copied(),
        Some(at) if at + 1 == y.len() => None,
        Some(at) => {
            let share = (y[at] - COLLAPSED) / (y[at] - y[at + 1]);
            Some(x[at] + share * (x[at + 1] - x[at]))
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use results::Direction;

    use super::*;
    use crate::simulated::noise;

    fn result(case: &str, params: &[(&str, &str)], metric: &str, values: Vec<f64>) -> CaseResult {
        let params = params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let median = values[0];
        CaseResult {
            estimate: Some(Estimate { median, low: median, high: median, level: LEVEL }),
            round_values: values,
            ..CaseResult::blank(case, params, metric, "x", Direction::Higher)
        }
    }

    fn rates(arch: &str, growth: f64, spread: f64, rng: &mut StdRng) -> Vec<CaseResult> {
        let level = |exponent: i32| {
            let rate = 1e4 * growth.powi(exponent);
            let values = (0..6).map(|_| rate * (1.0 + spread * noise(rng))).collect();
            let connections = 10u32.pow(exponent as u32).to_string();
            result("net/answer", &[("arch", arch), ("connections", &connections)], "rate", values)
        };
        (0..4).map(level).collect()
    }

    #[test]
    fn the_growth_is_the_factor_for_ten_times_the_connections() {
        let mut rng = StdRng::seed_from_u64(5);
        let mut run = rates("epoll", 1.5, 0.0, &mut rng);
        run.extend(rates("fork", 1.2, 0.0, &mut rng));
        let rows = growths(&run, 1);
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!((rows[0].check(), rows[0].params["than"].as_str()), (Ok(()), "fork"));
        assert!((rows[0].estimate.unwrap().median - 1.25).abs() < 1e-9);
        // A limited rate is not the server's: three levels are left, then two.
        for (limited, rows) in [("1", 1), ("1000", 0)] {
            let found = run.iter_mut().find(|r| r.params["connections"] == limited).unwrap();
            found.doubts.push(measure::Doubt::ClientSaturated);
            assert_eq!(growths(&run, 1).len(), rows);
        }
    }

    #[test]
    fn intervals_of_the_growth_cover_it() {
        let mut rng = StdRng::seed_from_u64(8);
        let covered = (0..200).filter(|&seed| {
            let mut run = rates("epoll", 1.5, 0.05, &mut rng);
            run.extend(rates("threads", 1.2, 0.05, &mut rng));
            let found = growths(&run, seed)[0].estimate.unwrap();
            found.low <= 1.25 && 1.25 <= found.high
        });
        let share = covered.count() as f64 / 200.0;
        // 200 trials at 95 %: two standard errors are 3.1 %.
        assert!(share >= LEVEL - 0.031, "{share}");
    }

    fn kept(values: &[(&str, f64)]) -> Vec<CaseResult> {
        let of = |(load, kept): &(&str, f64)| {
            result(OVERLOAD, &[("arch", "fork"), ("load", load)], "kept", vec![*kept; 6])
        };
        values.iter().map(of).collect()
    }

    #[test]
    fn the_collapse_is_where_goodput_falls_below_the_limit_for_good() {
        let row = &collapses(&kept(&[("0.5", 1.0), ("1", 0.7), ("1.2", 1.0), ("2", 0.6)]), 1)[0];
        assert_eq!(row.check(), Ok(()));
        assert!((row.estimate.unwrap().median - 1.6).abs() < 1e-9, "{row:?}");
        let reason = |values| collapses(&kept(values), 1).remove(0).reason.unwrap();
        assert_eq!(
            reason(&[("1", 1.0), ("2", 0.9)]),
            "does not collapse up to 2 times its capacity"
        );
        assert_eq!(reason(&[("1", 0.1), ("2", 0.0)]), "collapsed already at 1");
        assert!(collapses(&kept(&[("2", 0.1)]), 1).is_empty());
    }
}
