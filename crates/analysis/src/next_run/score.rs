//! Scores of predictions: how often they were right.

use std::collections::BTreeMap;

use measure::stats::{LEVEL, t_quantile};
use results::Document;
use serde::Serialize;

use super::figure::Cause;
use super::{Key, Past};

/// Rate at which wrong predictions widen later ones: a run all of whose figures miss multiplies the width by 1.6, and one without
/// a miss by 0.975.
const RATE: f64 = 0.5;
/// Maximum widening. Beyond it the machine is a different one.
const WIDEST: f64 = 4.0;

/// Factor by which the predictions of figures with this cause are widened, after `runs` in their order, with visits of this
/// length. The first run of each visit scores the prediction of the run before it.
pub(super) fn widening(cause: &Cause, runs: &[&Past], length: f64) -> f64 {
    let mut widening: f64 = 1.0;
    let mut visit = f64::NEG_INFINITY;
    for (at, run) in runs.iter().enumerate() {
        if run.began - visit < length {
            continue;
        }
        visit = run.began;
        if let Some(missed) = missed(cause, &runs[..at], run) {
            widening = (widening * (RATE * (missed - (1.0 - LEVEL))).exp()).clamp(1.0, WIDEST);
        }
    }
    widening
}

/// Share of a run's figures that lie outside the prediction of the latest earlier run with the same figure.
fn missed(cause: &Cause, before: &[&Past], run: &Past) -> Option<f64> {
    let scored: Vec<bool> =
        scored(before, run).filter(|(of, _)| *of == cause).map(|(_, is)| is).collect();
    let missed = scored.iter().filter(|is_inside| !**is_inside).count();
    (!scored.is_empty()).then(|| missed as f64 / scored.len() as f64)
}

/// Whether each figure of a run lies within the prediction of the latest earlier run.
fn scored<'a>(before: &'a [&Past], run: &'a Past) -> impl Iterator<Item = (&'a Cause, bool)> {
    run.figures.iter().filter_map(move |(key, (cause, figure))| {
        let (low, high, earlier) = prediction(before, run, key)?;
        let is_like = earlier.is_like(figure);
        is_like.then_some((cause, (low..=high).contains(&figure.at)))
    })
}

fn prediction<'a>(
    before: &[&'a Past],
    run: &Past,
    key: &Key,
) -> Option<(f64, f64, &'a super::Figure)> {
    before.iter().rev().filter(|past| past.place == run.place).find_map(|past| {
        let (low, high) = past.predicted.get(key)?;
        Some((*low, *high, &past.figures.get(key)?.1))
    })
}

/// How often figures lay within the prediction of the previous run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Coverage {
    /// Number of figures.
    pub figures: usize,
    /// Number of runs with these figures.
    pub runs: usize,
    /// Share of figures within the prediction.
    pub inside: f64,
    /// Half-width of the 95 % interval of that share, from the differences between runs: the figures of one run share the state
    /// of the machine. `None` for a single run.
    pub error: Option<f64>,
}

impl Coverage {
    /// The coverage of runs, each given by its number of figures and of those within the prediction.
    fn of(runs: &[(usize, usize)]) -> Self {
        let figures: usize = runs.iter().map(|(figures, _)| figures).sum();
        if figures == 0 {
            return Self::default();
        }
        let inside = runs.iter().map(|(_, inside)| inside).sum::<usize>() as f64 / figures as f64;
        let count = runs.len() as f64;
        // The error is that of the ratio estimator of cluster sampling (Cochran 1977, 11.8), with a run as cluster.
        let squares: f64 = runs
            .iter()
            .map(|&(figures, within)| (within as f64 - inside * figures as f64).powi(2))
            .sum();
        let error = (runs.len() > 1).then(|| {
            let standard = (count / (count - 1.0) * squares).sqrt() / figures as f64;
            t_quantile(1.0 - (1.0 - LEVEL) / 2.0, count - 1.0) * standard
        });
        Self { figures, runs: runs.len(), inside, error }
    }
}

/// Scores of the predictions of runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scores {
    /// Coverage of the figures with each cause.
    pub by_cause: BTreeMap<Cause, Coverage>,
    /// Coverage of all figures.
    pub all: Coverage,
}

impl Scores {
    /// Scores the predictions that these runs of a machine stored. Each figure is scored against the latest earlier run that has
    /// it.
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a Document>) -> Self {
        let mut past: Vec<Past> = runs.into_iter().map(Past::of).collect();
        past.sort_by(|one, other| one.began.total_cmp(&other.began));
        let past: Vec<&Past> = past.iter().collect();
        let mut by_cause: BTreeMap<Cause, Vec<(usize, usize)>> = BTreeMap::new();
        let mut all = Vec::new();
        for at in 1..past.len() {
            let mut of_run: BTreeMap<&Cause, (usize, usize)> = BTreeMap::new();
            for (cause, is_inside) in scored(&past[..at], past[at]) {
                let (figures, inside) = of_run.entry(cause).or_default();
                *figures += 1;
                *inside += usize::from(is_inside);
            }
            let sum = |(figures, inside), (more, of_them)| (figures + more, inside + of_them);
            all.extend(of_run.values().copied().reduce(sum));
            for (cause, counts) in of_run {
                by_cause.entry(cause.clone()).or_default().push(counts);
            }
        }
        let by_cause = by_cause.into_iter().map(|(cause, runs)| (cause, Coverage::of(&runs)));
        Self { by_cause: by_cause.collect(), all: Coverage::of(&all) }
    }
}
