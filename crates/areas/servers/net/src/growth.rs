//! The change of the ratio between two server architectures with the number of connections, and the load from which a server
//! collapses.

use super::metrics::{CHEAPER_GROWTH, COLLAPSES_FROM, FASTER_GROWTH, KEPT};
use measure::Metric;
use measure::doubt::Axis;
use results::{CaseResult, PointKey};

use super::overtaking::{By, ServerSweep, server_sweeps};
use analysis::crossing::open_ends;
use analysis::derive::{SweepStep, is_measured, sweeps, with_figure, without_figure};
use analysis::resample::Bootstrap;

/// Best event loop of each system, and the architectures with which it is compared.
const LOOPS: [&str; 3] = ["epoll", "kqueue", "iocp"];
const OTHERS: [&str; 2] = ["fork", "threads"];
/// Minimum number of levels for a slope.
const LEVELS_AT_LEAST: usize = 3;

const OVERLOAD: &str = "net/overload";
/// Share of the capacity below which the goodput of a server has collapsed.
const COLLAPSED: f64 = 0.8;

/// The rows `faster-growth` and `cheaper-growth` derived from `net/answer` and `net/requests`, for the system's best event loop
/// and a process or a thread for each connection. They are the slope of the logarithm of the ratio over that of the number of
/// connections, by least squares, as the factor for ten times the connections. Levels at which the generator limited a rate are
/// left out. Nothing is derived from fewer than three levels.
pub fn growths(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let mut rows = Vec::new();
    for sweep in server_sweeps(results) {
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
    sweep: &ServerSweep,
    [arch, than]: [&str; 2],
    by: By,
    metric: &Metric,
    seed: u64,
) -> Option<CaseResult> {
    let shared: Vec<_> = sweep
        .shared(arch, than)
        .filter(|(_, [a, b])| {
            let is_limited = by == By::Rate && (a.saturated || b.saturated);
            !(a.values(by).is_empty() || b.values(by).is_empty() || is_limited)
        })
        .collect();
    if shared.len() < LEVELS_AT_LEAST {
        return None;
    }
    let x: Vec<f64> =
        shared.iter().map(|(connections, _)| f64::from(*connections).log10()).collect();
    // Advantage of the better architecture: its rate divided by the other's, or the other's CPU time divided by its own.
    let series: Vec<&[f64]> = shared
        .iter()
        .flat_map(|(_, [a, b])| match by {
            By::Rate => [a.values(by), b.values(by)],
            By::Cpu => [b.values(by), a.values(by)],
        })
        .collect();
    let factor = |medians: &Vec<f64>| {
        let y: Vec<f64> = medians.chunks_exact(2).map(|pair| (pair[0] / pair[1]).ln()).collect();
        slope(&x, &y).exp()
    };
    let medians = Bootstrap::of(&series, seed);
    let growth = medians.interval(factor);
    if !(growth.median.is_finite() && growth.median > 0.0) {
        return None;
    }
    let row = CaseResult::of(&sweep.point.case, sweep.params_of(arch, than), metric);
    Some(with_figure(row, growth, medians.rounds))
}

/// The slope of the straight line through these points, by least squares.
fn slope(x: &[f64], y: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (of_x, of_y) = (mean(x), mean(y));
    let products: f64 = x.iter().zip(y).map(|(x, y)| (x - of_x) * (y - of_y)).sum();
    products / x.iter().map(|x| (x - of_x).powi(2)).sum::<f64>()
}

/// The rows `collapses-from` derived from `net/overload`: the offered load, as a multiple of the capacity, from which the goodput
/// is below 80 % of the capacity. The goodput is interpolated linearly between neighbouring loads. If there is no such load among
/// those measured, the row has a reason and no figure; nothing is derived from a single load.
pub fn collapses(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let is_usable = |r: &&CaseResult| {
        let is_sound = |value: &f64| value.is_finite() && *value >= 0.0;
        let is_kept = r.case == OVERLOAD && r.metric == KEPT.name;
        is_kept && is_measured(r) && r.round_values.iter().all(is_sound)
    };
    let loads = sweeps(results.iter().filter(is_usable), "load", |text| text.parse().ok());
    let several = loads.into_iter().filter(|(_, loads)| loads.len() > 1);
    several.map(|(point, loads)| collapse(point, &loads, seed)).collect()
}

fn collapse(point: PointKey, loads: &[SweepStep], seed: u64) -> CaseResult {
    let row = CaseResult::of(OVERLOAD, point.params, &COLLAPSES_FROM);
    let x: Vec<f64> = loads.iter().map(|step| step.x).collect();
    let series: Vec<&[f64]> = loads.iter().map(|step| &step.result.round_values[..]).collect();
    let (least, most) = (x[0], x[x.len() - 1]);
    let medians = Bootstrap::of(&series, seed);
    match falls_below(&x, &medians.center) {
        None => without_figure(row, format!("does not collapse up to {most} times its capacity")),
        Some(at) if at <= least => without_figure(row, format!("collapsed already at {least}")),
        Some(_) => {
            let at = medians.interval(|kept| falls_below(&x, kept).unwrap_or(most));
            let lowest = (at.low <= least).then_some(least);
            let doubts = open_ends(Axis::Load, lowest, (at.high >= most).then_some(most)).collect();
            CaseResult { doubts, ..with_figure(row, at, medians.rounds) }
        }
    }
}

/// The x from which y stays below the limit; the first x if y is below it throughout, `None` if y is not below it at the end.
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
    use measure::stats::LEVEL;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use results::Direction;

    use super::*;
    use simulated::{figure_of, noise};

    fn result<const N: usize>(
        point: (&str, [(&str, &str); N]),
        metric: &str,
        values: Vec<f64>,
    ) -> CaseResult {
        figure_of(point, (metric, "x", Direction::Higher), values)
    }

    fn rates(arch: &str, growth: f64, spread: f64, rng: &mut StdRng) -> Vec<CaseResult> {
        let level = |exponent: i32| {
            let rate = 1e4 * growth.powi(exponent);
            let values = (0..6).map(|_| rate * (1.0 + spread * noise(rng))).collect();
            let connections = 10u32.pow(exponent as u32).to_string();
            let params = [("arch", arch), ("connections", &connections[..])];
            result(("net/answer", params), "rate", values)
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
        // A rate limited by the generator is not the server's: three levels are left, then two.
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
        // For 200 trials at 95 %, two standard errors are 3.1 %.
        assert!(share >= LEVEL - 0.031, "{share}");
    }

    fn kept(values: &[(&str, f64)]) -> Vec<CaseResult> {
        let of = |(load, kept): &(&str, f64)| {
            result((OVERLOAD, [("arch", "fork"), ("load", load)]), "kept", vec![*kept; 6])
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
