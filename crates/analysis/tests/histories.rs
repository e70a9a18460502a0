//! Simulated histories: nights in which nothing changes, and such with a change, as `history` and `watch` see them.

use std::collections::BTreeMap;

use analysis::history::{HistoryRun, RunSeries, State, Trend, Watch, events, series_of};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use results::{
    Direction, Interval, MetricSeries, PointKey, RunFigure, RunSummary, StoredPrediction,
};
use simulated::{noise, run_summary};

const NIGHTS: usize = 40;
const FIGURES: usize = 18;
const DAY: f64 = 86_400.0;

/// How nights differ though nothing has changed.
#[derive(Clone, Copy)]
enum Kind {
    /// Independently, by normal numbers.
    Steady,
    /// A night in seven is up to 40 % slower, beside load.
    Loaded,
    /// All figures have a part in common, as that of the machine's state.
    Together,
}

/// A history whose figures differ from night to night by this standard deviation; from the night `at` on they cost 5 % more.
struct Nights {
    kind: Kind,
    deviation: f64,
    at: usize,
}

impl Nights {
    fn trends(&self, nights: usize, seed: u64) -> (Vec<HistoryRun>, RunSeries, Vec<Trend>) {
        let mut rng = StdRng::seed_from_u64(seed);
        let runs: Vec<HistoryRun> = (0..nights).map(run).collect();
        let series = series_of(&runs, None, false).remove(0);
        let mut metrics: Vec<MetricSeries> = (0..FIGURES).map(metric).collect();
        for night in 0..nights {
            let together = noise(&mut rng);
            let is_loaded = rng.random::<f64>() < 1.0 / 7.0;
            for metric in &mut metrics {
                let own = noise(&mut rng);
                let by = match self.kind {
                    Kind::Steady => self.deviation * own,
                    Kind::Loaded if is_loaded => 0.4 * rng.random::<f64>(),
                    Kind::Loaded => self.deviation * own,
                    Kind::Together => self.deviation * (0.8 * together + 0.6 * own),
                };
                let changed = if night >= self.at { 1.05 } else { 1.0 };
                let spread = match self.kind {
                    Kind::Loaded => self.deviation.hypot(0.2 / 7f64.sqrt()),
                    Kind::Steady | Kind::Together => self.deviation,
                };
                metric.figures.push(night, &figure(100.0 * changed * by.exp(), spread, night));
            }
        }
        let trends = metrics.iter().filter_map(|one| Trend::of(one, &series, FIGURES)).collect();
        (runs, series, trends)
    }

    fn has_event(&self, nights: usize, seed: u64) -> bool {
        let (runs, series, trends) = self.trends(nights, seed);
        !events(&trends, &series, &runs, &BTreeMap::new()).is_empty()
    }
}

fn run(night: usize) -> HistoryRun {
    let summary = RunSummary { ..run_summary(&format!("night-{night}")) };
    HistoryRun { summary, machine: serde_json::Map::new(), began: night as f64 * DAY }
}

fn metric(nth: usize) -> MetricSeries {
    MetricSeries {
        point: PointKey { case: format!("area/case-{nth}"), params: BTreeMap::new() },
        metric: "time".to_owned(),
        unit: "ns/op".to_owned(),
        better: Direction::Lower,
        figures: std::iter::empty().collect(),
    }
}

/// A figure whose rounds know little of the nights, and what the nights before say of the next one.
fn figure(cost: f64, deviation: f64, night: usize) -> RunFigure {
    let half = 0.3 * deviation;
    RunFigure {
        figure: Interval { median: cost, low: cost * (1.0 - half), high: cost * (1.0 + half) },
        cycles: None,
        rounds: 12,
        syscalls: None,
        voluntary_switches: None,
        is_sampled: true,
        is_doubtful: false,
        next: Some(StoredPrediction {
            low: cost * (1.0 - 2.0 * deviation),
            high: cost * (1.0 + 2.0 * deviation),
            deviation,
            degrees: 8.0 + night as f64,
        }),
    }
}

#[test]
fn unchanged_nights_have_no_events() {
    const HISTORIES: u64 = 2_000;
    let kinds = [Kind::Steady, Kind::Loaded, Kind::Together];
    let deviations = [0.001, 0.005, 0.0125, 0.05];
    let is_found = |seed: &u64| {
        let at = *seed as usize;
        let deviation = deviations[at / kinds.len() % deviations.len()];
        let nights = Nights { kind: kinds[at % kinds.len()], deviation, at: NIGHTS };
        nights.has_event(NIGHTS, *seed)
    };
    let found = (0..HISTORIES).filter(is_found).count();
    eprintln!("{found} of {HISTORIES} have an event");
    assert!(found as f64 <= 0.065 * HISTORIES as f64, "{found} of {HISTORIES}");
}

/// Checks a change of 5 % in figures whose range is ±2.5 % or less: it is an alarm by the second night, and an event by the fifth.
#[test]
fn a_change_of_five_percent_is_found_in_time() {
    const HISTORIES: usize = 40;
    const AT: usize = 30;
    for deviation in [0.002, 0.0125] {
        let (mut alarms, mut in_events, mut all) = (0, 0, 0);
        for seed in 0..HISTORIES as u64 {
            let nights = Nights { kind: Kind::Steady, deviation, at: AT };
            let (.., trends) = nights.trends(AT + 2, seed);
            let watch = Watch::new(0.03, trends.len());
            let state = |trend: &Trend| watch.judge(0, trend, &[], None).state;
            alarms += trends.iter().filter(|trend| state(trend) == State::Alarm).count();
            let (.., trends) = nights.trends(AT + 5, seed);
            in_events += trends.iter().filter(|trend| !trend.changes.is_empty()).count();
            all += trends.len();
        }
        eprintln!("deviation {deviation}: {alarms} alarms, {in_events} events of {all}");
        assert!(alarms * 10 >= all * 9 && in_events * 10 >= all * 9, "{alarms} {in_events} {all}");
    }
}
