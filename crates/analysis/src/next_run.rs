//! Predicts the figure of another run on this machine.
//!
//! The rounds of a run show how precisely it was measured, but not in which state it found the machine. So runs are modelled as
//! drawn at random from visits, and visits from the machine (random effects; ISO 5725 calls them repeatability and
//! reproducibility). The variance between visits is pooled over the points with one cause ([`Cause`]), in core cycles per call if
//! they enter the kernel. It is moderated by the values recorded for such processors, and then moderates the variance that each
//! point itself has shown (Smyth 2004). The points of a run find the same state, so that any number of them count as one visit. A
//! prediction that misses widens later ones (adaptive conformal inference, Gibbs and Candès 2021).

mod between;
mod figure;
mod processors;
mod score;
#[cfg(test)]
pub(crate) mod tests;
mod visits;

use std::collections::{BTreeMap, BTreeSet};

use measure::stats::{Interval, LEVEL, t_quantile};
use results::{CaseResult, Document, MachineFacts, NODE_TAG, NextRun, PointKey, Source};

use between::{ASSUMED_DEGREES, Between, FIRST_DEGREES};
pub use figure::Cause;
use figure::Figure;
use processors::Family;
pub use score::{Coverage, Scores};
pub(crate) use visits::ONE_VISIT;
use visits::{Entry, Visits, length_of_visit};

use crate::evidence::Variance;
use crate::scale::Scale;

/// Facts of a machine that must be equal for its runs to have the same variance between visits.
pub(crate) const MACHINE: [&str; 12] = [
    "os",
    "arch",
    "cpu",
    "cpu_vendor",
    "cpu_family",
    "cpu_model",
    "cpu_stepping",
    "microcode",
    "mitigations",
    "hypervisor",
    results::SYSTEM,
    results::LAUNCHER,
];
/// Further facts that must be equal for the figures of runs to have one mean.
const SAME_MEAN: [&str; 5] = ["release", "build", "clock", "oscost_build", "machine_id"];
/// Options of a run that change its figures, and so must be equal too.
pub(crate) const OPTIONS: [&str; 3] = ["slow-down", "scale", "netns"];
/// Difference of the computed boot times in seconds below which two runs are of the same boot: a clock that is set changes them.
pub(crate) const ONE_BOOT: f64 = 120.0;

type Key = (PointKey, String);

/// A figure with the facts that determine its mean.
type Series<'a> = (&'a [String], &'a Key);

/// The earlier runs of a machine.
#[derive(Debug, Clone, Default)]
pub struct History {
    runs: Vec<Past>,
    is_of_any_processor: bool,
}

/// Data that are kept of a run.
#[derive(Debug, Clone)]
struct Past {
    /// Start of the run, in seconds since 1970.
    began: f64,
    booted: Option<f64>,
    place: Vec<String>,
    figures: BTreeMap<Key, (Cause, Figure)>,
    /// The interval that was predicted for the next run, for each figure.
    predicted: BTreeMap<Key, (f64, f64)>,
}

impl Past {
    fn of(run: &Document) -> Self {
        let began = run.run.started_seconds();
        let mut figures = BTreeMap::new();
        let mut predicted = BTreeMap::new();
        for result in &run.results {
            let cause = Cause::of(result);
            let Some(figure) = Figure::of(result, &cause) else { continue };
            let key = key_of(result);
            if let Some(ends) = said(result, &figure) {
                predicted.insert(key.clone(), ends);
            }
            figures.insert(key, (cause, figure));
        }
        let booted = booted(&run.machine, began);
        Self { began, booted, place: place(run), figures, predicted }
    }
}

/// The interval of a stored prediction on the figure's scale. The distances of its ends from the figure are the same for cycles
/// and times, in logarithms.
fn said(result: &CaseResult, figure: &Figure) -> Option<(f64, f64)> {
    let (next, estimate) = (result.next_run?, result.estimate?);
    let place = |end: f64| figure.at + figure.scale.of(end) - figure.scale.of(estimate.median);
    Some((place(next.low), place(next.high)))
}

/// The facts and options that must be equal for the figures of two runs to have one mean.
fn place(run: &Document) -> Vec<String> {
    let facts = SAME_MEAN.iter().map(|key| run.machine.get(*key).map(ToString::to_string));
    let options = OPTIONS.iter().map(|key| run.run.asked.get(*key).cloned());
    // Nodes of a fleet are alike, and have means of their own.
    let node = run.run.tags.get(NODE_TAG).cloned();
    facts.chain(options).chain([node]).map(Option::unwrap_or_default).collect()
}

/// Whether figures of two machines have the same variance between visits.
pub fn is_same_machine(one: &MachineFacts, other: &MachineFacts) -> bool {
    MACHINE.iter().all(|key| one.get(*key) == other.get(*key))
}

impl History {
    /// Adds a run of the same machine ([`is_same_machine`]); runs may be added in any order.
    pub fn add(&mut self, earlier: &Document) {
        let past = Past::of(earlier);
        let at = self.runs.partition_point(|run| run.began <= past.began);
        self.runs.insert(at, past);
    }

    /// This history, with the prior of a processor that has never been recorded.
    pub fn of_any_processor(self) -> Self {
        Self { is_of_any_processor: true, ..self }
    }

    /// Standard deviations between visits that the runs show, by cause (of entries into the kernel in core cycles per entry, of
    /// others as shares), and the number of visits from which each is known. The prior of the processor is not part of them.
    pub fn deviations(&self, machine: &MachineFacts) -> BTreeMap<Cause, (f64, usize)> {
        let runs: Vec<&Past> = self.runs.iter().collect();
        let causes: BTreeSet<&Cause> =
            runs.iter().flat_map(|run| run.figures.values()).map(|(cause, _)| cause).collect();
        let of_cause = |cause: &Cause| {
            let model = Model::of(cause, &runs, self.family(machine));
            let visits = |series: &Vec<Entry>| Visits::of(series, model.length).number;
            let visits = model.series.values().map(visits).max().unwrap_or(0);
            (model.between.found.sqrt(), visits)
        };
        causes.into_iter().map(|cause| (cause.clone(), of_cause(cause))).collect()
    }

    fn family(&self, machine: &MachineFacts) -> &'static Family {
        match self.is_of_any_processor {
            true => Family::widest(),
            false => Family::of(machine),
        }
    }

    /// Predicts, for each figure of `now`, the figure of the next run. `now` is a run of the same machine after these.
    pub fn predict(&self, now: &mut Document) {
        let this = Past::of(now);
        let before: Vec<&Past> = self.runs.iter().collect();
        let with_it: Vec<&Past> = before.iter().copied().chain([&this]).collect();
        let machine = self.family(&now.machine);
        let mut models = BTreeMap::new();
        for result in &mut now.results {
            let cause = Cause::of(result);
            let Some((_, figure)) = this.figures.get(&key_of(result)) else { continue };
            let [before, with_it] = models.entry(cause).or_insert_with_key(|cause| {
                [&before, &with_it].map(|runs| Model::of(cause, runs, machine))
            });
            let visits = before.visits(result, figure, &this);
            with_it.predict(result, figure, &this, before.drawn(figure, &visits));
        }
    }
}

fn key_of(result: &CaseResult) -> Key {
    (result.point(), result.metric.clone())
}

/// Model of the figures with one cause, from some runs.
struct Model<'a> {
    runs: Vec<&'a Past>,
    machine: &'a Family,
    /// Length of a visit in seconds.
    length: f64,
    between: Between,
    widening: f64,
    series: BTreeMap<Series<'a>, Vec<Entry>>,
}

impl<'a> Model<'a> {
    fn of(cause: &Cause, runs: &[&'a Past], machine: &'a Family) -> Self {
        let mut series: BTreeMap<Series, (Figure, Vec<Entry>)> = BTreeMap::new();
        for run in runs {
            for (key, (_, figure)) in run.figures.iter().filter(|(_, (of, _))| of == cause) {
                let (latest, entries) =
                    series.entry((&run.place, key)).or_insert((*figure, Vec::new()));
                if !latest.is_like(figure) {
                    entries.clear();
                }
                *latest = *figure;
                let variance = figure.error.powi(2);
                entries.push(Entry { began: run.began, at: figure.at, variance });
            }
        }
        let all: Vec<&[Entry]> = series.values().map(|(_, entries)| entries.as_slice()).collect();
        let length = length_of_visit(&all);
        let seen: Vec<(Figure, Visits)> = series
            .values()
            .map(|(figure, entries)| (*figure, Visits::of(entries, length)))
            .collect();
        Self {
            runs: runs.to_vec(),
            machine,
            length,
            between: Between::of(
                machine.variance(cause),
                seen.iter().map(|(figure, visits)| (figure, visits)),
            ),
            widening: score::widening(cause, runs, length),
            series: series.into_iter().map(|(key, (_, entries))| (key, entries)).collect(),
        }
    }

    /// The visits of a figure of the run `now`, which need not be in the model.
    fn visits(&self, result: &CaseResult, figure: &Figure, now: &Past) -> Visits {
        match self.series.get(&(now.place.as_slice(), &key_of(result))) {
            Some(series) => Visits::of(series, self.length),
            None => Visits::none(figure.at, figure.error.powi(2)),
        }
    }

    /// Distribution of the figures of single runs.
    fn drawn(&self, figure: &Figure, visits: &Visits) -> Drawn {
        let drawn = self.between.drawn(figure, visits);
        Drawn { variance: drawn.variance * self.widening.powi(2), ..drawn }
    }

    /// Stores the prediction in the result. `before` is the distribution known before this run: a comparison with the run must
    /// not count the difference in question as variance between visits.
    fn predict(&self, result: &mut CaseResult, figure: &Figure, now: &Past, before: Drawn) {
        let key = key_of(result);
        let Some(estimate) = result.estimate else { return };
        let visits = self.visits(result, figure, now);
        let drawn = self.drawn(figure, &visits);
        let reach = t_quantile(1.0 - (1.0 - LEVEL) / 2.0, drawn.degrees) * drawn.variance.sqrt();
        let number = |place: f64| match figure.scale {
            Scale::Figures => place,
            Scale::Logarithms => estimate.median * (place - figure.at).exp(),
        };
        let around = |half: f64| Interval {
            median: number(visits.mean),
            low: number(visits.mean - half),
            high: number(visits.mean + half),
        };
        let next = around(reach * (1.0 + 1.0 / visits.count).sqrt());
        result.this_machine = Some(around(reach / visits.count.sqrt()));
        let is_of_series = |run: &&&Past| run.place == now.place && run.figures.contains_key(&key);
        let with_it = || self.runs.iter().filter(is_of_series);
        let days: BTreeSet<i64> =
            with_it().map(|run| (run.began / 86_400.0).floor() as i64).collect();
        result.next_run = Some(NextRun {
            low: next.low,
            high: next.high,
            level: LEVEL,
            deviation: before.variance.sqrt(),
            degrees: before.degrees,
            visits: visits.number as u32,
            boots: boots(with_it().map(|run| run.booted)),
            days: days.len() as u32,
            source: match (visits.number, self.machine.name()) {
                (2.., _) => Source::Visits,
                (_, Some(_)) => Source::Processor,
                (_, None) => Source::AnyProcessor,
            },
        });
    }
}

/// Variance of a figure between visits of its machine, on this scale: the value stored with its run, or the prior for such a
/// machine.
pub(crate) fn between_visits(run: &Document, result: &CaseResult, scale: Scale) -> Variance {
    let figure = Figure::of(result, &Cause::of(result));
    let said = result.next_run.zip(figure).filter(|(_, figure)| figure.scale == scale);
    let of_run = said.map(|(next, figure)| Variance {
        value: (next.deviation.powi(2) - figure.error.powi(2)).max(0.0),
        degrees: next.degrees,
    });
    of_run.unwrap_or_else(|| between_recorded(run, result, scale))
}

/// Variance of a figure between visits of recorded machines with such a processor, on this scale; 0 for figures that may be 0 or
/// negative, of which nothing was recorded.
pub(crate) fn between_recorded(run: &Document, result: &CaseResult, scale: Scale) -> Variance {
    let cause = Cause::of(result);
    let weight = Figure::of(result, &cause).map_or(1.0, |figure| figure.weight);
    let value = match scale {
        Scale::Logarithms => Family::of(&run.machine).variance(&cause) * weight,
        Scale::Figures => 0.0,
    };
    Variance { value, degrees: FIRST_DEGREES }
}

/// Distribution of the figure of one run on the machine.
#[derive(Clone, Copy)]
struct Drawn {
    variance: f64,
    degrees: f64,
}

impl Between {
    /// Distribution of a point's figure, moderated by the point's own visits.
    fn drawn(&self, figure: &Figure, visits: &Visits) -> Drawn {
        let between = self.variance * figure.weight;
        let within = self.excess * visits.within;
        let own = visits.degrees;
        let variance = (ASSUMED_DEGREES * (between + within) + own * visits.variance)
            / (ASSUMED_DEGREES + own);
        let now = (figure.error.powi(2) - visits.within).max(0.0);
        // Few rounds estimate their own variance with few degrees of freedom (Satterthwaite 1946).
        let all = (between + within).powi(2);
        let parts = between.powi(2) / FIRST_DEGREES + within.powi(2) / figure.degrees;
        let first = if parts > 0.0 { (all / parts).min(FIRST_DEGREES) } else { FIRST_DEGREES };
        Drawn { variance: variance + self.excess * now, degrees: first + self.degrees }
    }
}

/// When a machine was booted, in seconds since 1970, by its uptime at a time; `None` if that is unknown.
pub(crate) fn booted(machine: &MachineFacts, at: f64) -> Option<f64> {
    Some(at - machine.get("uptime_seconds")?.as_f64()?)
}

/// Number of boots, at least one.
fn boots(booted: impl Iterator<Item = Option<f64>>) -> u32 {
    let mut booted: Vec<f64> = booted.flatten().collect();
    booted.sort_unstable_by(f64::total_cmp);
    booted.chunk_by(|before, after| after - before < ONE_BOOT).count().max(1) as u32
}
