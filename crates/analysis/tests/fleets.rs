//! Fleets of equal nodes, made of recorded runs: each node has a run of a recorded machine, with figures drawn anew from their
//! intervals, and a core clock of its own.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use analysis::History;
use analysis::fleet::{Fleet, Group};
use analysis::history::HistoryRun;
use flate2::read::GzDecoder;
use measure::stats::ROUNDS_FOR_INTERVAL;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use results::{Document, Interval, MetricSeries, NODE_TAG, PointKey, RunFigure};
use simulated::noise;

const RECORDINGS: [&str; 2] = ["intel-167.jsonl.gz", "zen4.jsonl.gz"];
const SIZES: [usize; 9] = [3, 4, 5, 6, 8, 12, 25, 50, 100];
/// One in so many points is part of a fleet: as many as a job of a minute has.
const EVERY: usize = 24;
/// By how much clocks differ at most, as a share.
const CLOCKS: f64 = 0.05;
/// What of that the figures follow that are not bound by the core.
const FOLLOWED: f64 = 0.5;

/// The figures of a run, by point and metric.
type Figures = BTreeMap<(PointKey, String), RunFigure>;

/// A recorded machine: for each run its description, and its figures by point and metric.
struct Recorded {
    runs: Vec<(HistoryRun, Figures)>,
    series: Vec<MetricSeries>,
}

impl Recorded {
    fn read(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/next_run/recordings");
        let file = File::open(folder.join(name)).expect("a recording");
        let lines = BufReader::new(GzDecoder::new(file)).lines();
        let mut runs = Vec::new();
        let mut series: Vec<MetricSeries> = Vec::new();
        for line in lines {
            let mut run: Document =
                serde_json::from_str(&line.expect("a line")).expect("a document");
            // The first visit of a node knows only what such processors do.
            History::default().predict(&mut run);
            let mut figures = BTreeMap::new();
            for result in run.results.iter().filter(|result| result.metric == "time") {
                let Some(figure) = RunFigure::of(result) else { continue };
                figures.insert((result.point(), result.metric.clone()), figure);
                if !series.iter().any(|one| one.point == result.point()) {
                    series.push(MetricSeries {
                        point: result.point(),
                        metric: result.metric.clone(),
                        unit: result.unit.clone(),
                        better: result.better,
                        figures: std::iter::empty().collect(),
                    });
                }
            }
            let have_intervals =
                figures.values().all(|figure| usize::from(figure.rounds) >= ROUNDS_FOR_INTERVAL);
            if have_intervals {
                runs.push((HistoryRun::of(&run), figures));
            }
        }
        let is_in_all = |one: &MetricSeries| {
            runs.iter().all(|(_, of)| of.contains_key(&(one.point.clone(), one.metric.clone())))
        };
        let series = series.into_iter().filter(is_in_all).step_by(EVERY).collect();
        Self { runs, series }
    }

    /// A fleet of so many nodes; the first needs `more` times as many cycles.
    fn fleet(&self, nodes: usize, more: f64, rng: &mut StdRng) -> Fleet {
        let mut runs = Vec::new();
        let mut metrics = self.series.clone();
        for node in 0..nodes {
            let (run, figures) = &self.runs[rng.random_range(0..self.runs.len())];
            let mut run = run.clone();
            run.summary.tags = [(NODE_TAG.to_owned(), format!("n{node:03}"))].into();
            runs.push(run);
            let clock = 1.0 + CLOCKS * rng.random::<f64>();
            let more = if node == 0 { more } else { 1.0 };
            for metric in &mut metrics {
                let figure = &figures[&(metric.point.clone(), metric.metric.clone())];
                let error = 1.0 + half(figure.figure) / 2.0 * noise(rng);
                let (time, cycles) = match figure.cycles {
                    Some(_) => (error * more * clock, error * more),
                    None => (error * clock.powf(FOLLOWED), 1.0),
                };
                let drawn = RunFigure {
                    figure: times(figure.figure, time),
                    cycles: figure.cycles.map(|of| times(of, cycles)),
                    ..*figure
                };
                metric.figures.push(node, &drawn);
            }
        }
        Fleet::of(&runs, &metrics, &[])
    }
}

fn times(Interval { median, low, high }: Interval, factor: f64) -> Interval {
    Interval { median: median * factor, low: low * factor, high: high * factor }
}

/// Half the width of an interval, as a share.
fn half(of: Interval) -> f64 {
    let half = (of.high - of.low) / 2.0 / of.median;
    if half.is_finite() { half } else { 0.0 }
}

fn named(fleet: &Fleet) -> Vec<(usize, Group)> {
    let standings = fleet.standings();
    let strangers = standings.into_iter().flat_map(|one| one.strangers);
    strangers.map(|stranger| (stranger.node, stranger.group)).collect()
}

#[test]
fn equal_nodes_belong_whatever_their_clocks() {
    const FLEETS: usize = 2_000;
    let recorded = RECORDINGS.map(Recorded::read);
    let mut rng = StdRng::seed_from_u64(1);
    let mut any = 0;
    let mut by_size: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for nth in 0..FLEETS {
        let size = SIZES[nth % SIZES.len()];
        let found = named(&recorded[nth / SIZES.len() % 2].fleet(size, 1.0, &mut rng));
        any += usize::from(!found.is_empty());
        let of_size = by_size.entry(size).or_default();
        *of_size = (of_size.0 + usize::from(!found.is_empty()), of_size.1 + 1);
    }
    eprintln!("named in {any} of {FLEETS}; by size: {by_size:?}");
    assert!(any as f64 <= 0.065 * FLEETS as f64, "{any} of {FLEETS}: {by_size:?}");
}

#[test]
fn a_node_that_needs_more_cycles_is_named() {
    const FLEETS: usize = 60;
    let recorded = RECORDINGS.map(Recorded::read);
    let mut rng = StdRng::seed_from_u64(2);
    for size in SIZES {
        let is_found = |nth: usize, rng: &mut StdRng| {
            let found = named(&recorded[nth % 2].fleet(size, 1.05, rng));
            found.iter().any(|(node, group)| *node == 0 && *group != Group::Clock)
        };
        let found = (0..FLEETS).filter(|&nth| is_found(nth, &mut rng)).count();
        eprintln!("{size} nodes: named in {found} of {FLEETS}");
        assert!(size < 5 || found * 10 >= FLEETS * 9, "{size} nodes: {found} of {FLEETS}");
    }
}
