//! One metric of a point over the visits of a series: its segments, and the changes between them.

use measure::change_point::{Difference, LEAST_SIDE, changes_without_spikes, without_spikes};
use measure::stats::{Interval, LEVEL, median, t_quantile};
use results::{Direction, MetricSeries, PointKey, RunFigure};

use super::creep::is_creep;
use super::series::RunSeries;
use crate::change::Ratio;
use crate::next_run::Cause;
use crate::scale::Scale;
use crate::spread::grid_step;

/// Least change that is one, as a share: what a program's layout in memory makes of it.
const LEAST_SHARE: f64 = 5e-3;

/// One metric of one point over a series of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// The point.
    pub point: PointKey,
    /// The metric.
    pub metric: String,
    /// Unit of all figures: core cycles if each run has them.
    pub unit: String,
    /// Which direction is better.
    pub better: Direction,
    /// What makes its figures differ.
    pub cause: Cause,
    /// The visits that measured it.
    pub visits: Vec<Visit>,
    /// Parts without a change, in order.
    pub segments: Vec<Segment>,
    /// The changes, one between each two segments.
    pub changes: Vec<Change>,
    /// Whether all figures are above 0, so that changes are ratios.
    pub(crate) scale: Scale,
    /// System calls for each operation, by the newest run.
    pub(crate) syscalls: Option<f64>,
}

/// The figure of one visit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Visit {
    /// Number of the visit in its series.
    pub number: usize,
    /// Number of its last run.
    pub run: usize,
    /// The mean over its runs (geometric where figures are above 0), with the interval of the last run.
    pub figure: Interval,
    /// The range predicted by the visit before it, and the deviation and degrees of freedom behind it.
    pub predicted: Option<(f64, f64)>,
    /// The standard deviation between visits that was known before the visit, with its degrees of freedom.
    pub deviation: Option<(f64, f64)>,
    /// Whether the last run doubts it.
    pub is_doubtful: bool,
}

/// Visits without a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// The first visit, as an index of [`Trend::visits`].
    pub from: usize,
    /// One beyond the last visit.
    pub to: usize,
    /// The mean over its visits with its interval; without ends for a single visit.
    pub mean: Interval,
}

/// How a figure changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// From one visit to the next.
    Step,
    /// Gradually: a line explains the visits better than steps.
    Creep,
}

/// A change from one segment to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The first visit after it, as an index of [`Trend::visits`].
    pub at: usize,
    /// The later mean divided by the earlier one; `None` if figures may be 0 or less.
    pub ratio: Option<Ratio>,
    /// The later mean minus the earlier one, in the unit.
    pub by: f64,
    /// Number of visits before it, back to the change before.
    pub before: usize,
    /// Number of visits after it, up to the next change.
    pub after: usize,
    /// How it changed.
    pub kind: Kind,
    /// Whether the later figures are worse.
    pub is_worse: bool,
}

impl Trend {
    /// The trend of a metric over the visits of a series, one of so many that are looked at together; `None` if no visit measured it.
    pub fn of(metric: &MetricSeries, series: &RunSeries, together: usize) -> Option<Self> {
        let figures: Vec<(usize, RunFigure)> = metric.figures.iter().collect();
        let measured = Measured::of(&figures, series);
        let newest = measured.last()?.last;
        let figures = || measured.iter().flat_map(|visit| visit.figures).map(|(_, one)| one);
        let in_cycles = figures().all(|figure| figure.cycles.is_some());
        let shown = |one: &RunFigure| one.cycles.filter(|_| in_cycles).unwrap_or(one.figure);
        let is_positive = figures().all(|one| shown(one).median > 0.0);
        let scale = if is_positive { Scale::Logarithms } else { Scale::Figures };
        let mut visits: Vec<Visit> = Vec::with_capacity(measured.len());
        let mut next = None;
        for Measured { number, run, figures, last } in &measured {
            let places = figures.iter().map(|(_, one)| scale.of(shown(one).median));
            let mean = match figures.len() {
                1 => shown(last).median,
                count => scale.number(places.sum::<f64>() / count as f64),
            };
            let of_last = shown(last);
            let moved = |end: f64| match scale {
                Scale::Logarithms => mean * end / of_last.median,
                Scale::Figures => mean + end - of_last.median,
            };
            visits.push(Visit {
                number: *number,
                run: *run,
                figure: Interval {
                    median: mean,
                    low: moved(of_last.low),
                    high: moved(of_last.high),
                },
                predicted: next,
                deviation: last.next.map(|next| (next.deviation, next.degrees)),
                is_doubtful: last.is_doubtful,
            });
            // Distances from the figure are the same for cycles and times, in logarithms.
            let factor = of_last.median / last.figure.median;
            let factor = if factor.is_finite() { factor } else { 1.0 };
            next = last.next.map(|next| (next.low * factor, next.high * factor));
        }
        let unit = match in_cycles {
            true => metric.unit.replacen("ns", "cycles", 1),
            false => metric.unit.clone(),
        };
        let mut trend = Self {
            point: metric.point.clone(),
            metric: metric.metric.clone(),
            unit,
            better: metric.better,
            cause: Cause::of_figure(&metric.point.case, newest),
            visits,
            segments: Vec::new(),
            changes: Vec::new(),
            scale,
            syscalls: newest.syscalls,
        };
        trend.segment(together);
        Some(trend)
    }

    /// Places of the visits on the scale of changes.
    pub(crate) fn places(&self) -> Vec<f64> {
        self.visits.iter().map(|visit| self.scale.of(visit.figure.median)).collect()
    }

    /// Whether there are visits enough for a change to show.
    pub fn can_show_changes(&self) -> bool {
        self.visits.len() >= 2 * LEAST_SIDE
    }

    fn segment(&mut self, together: usize) {
        // Spikes belong to no mean.
        let places = without_spikes(&self.places());
        let mut found = changes_without_spikes(&places, together);
        // Most figures of a history have no change, and need no resolution.
        let resolution = if found.is_empty() { (0.0, 0.0) } else { self.resolution() };
        loop {
            self.divide(&places, &found);
            let size = |change: &Change| change.by.abs();
            let small = self.changes.iter().filter(|change| !self.is_notable(change, resolution));
            // The parts around the smallest change are one, and its neighbours are judged by that.
            let least = small.min_by(|one, other| size(one).total_cmp(&size(other)));
            let Some(at) = least.map(|change| change.at) else { break };
            found.retain(|&change| change != at);
        }
        self.mark_creeps(&places);
    }

    /// Whether a change is larger than what figures are known to: a share, the step of the clock or the interval of a figure.
    fn is_notable(&self, change: &Change, (step, half): (f64, f64)) -> bool {
        if let Some(ratio) = change.ratio
            && (ratio.mid.ln().abs() < LEAST_SHARE || (ratio.low..=ratio.high).contains(&1.0))
        {
            return false;
        }
        change.by.abs() > step && change.by.abs() >= half
    }

    /// The step of the clock and half the interval of a figure, in the unit: no change is smaller.
    fn resolution(&self) -> (f64, f64) {
        let halves = self.visits.iter().map(|visit| (visit.figure.high - visit.figure.low) / 2.0);
        let mut halves: Vec<f64> = halves.filter(|half| half.is_finite()).collect();
        let half = if halves.is_empty() { 0.0 } else { median(&mut halves) };
        let is_time = self.unit.starts_with("ns");
        let figures: Vec<f64> = self.visits.iter().map(|visit| visit.figure.median).collect();
        let step = if is_time { grid_step(&figures) } else { 0.0 };
        (step, half)
    }

    fn divide(&mut self, places: &[f64], found: &[usize]) {
        let ends: Vec<usize> =
            std::iter::once(0).chain(found.iter().copied()).chain([places.len()]).collect();
        self.segments = ends
            .windows(2)
            .map(|ends| {
                let (from, to) = (ends[0], ends[1]);
                Segment { from, to, mean: self.mean(&places[from..to]) }
            })
            .collect();
        let pairs: Vec<[Segment; 2]> =
            self.segments.windows(2).map(|two| [two[0], two[1]]).collect();
        self.changes =
            pairs.into_iter().map(|[left, right]| self.change(places, left, right)).collect();
    }

    fn mean(&self, places: &[f64]) -> Interval {
        let count = places.len() as f64;
        let mean = places.iter().sum::<f64>() / count;
        if places.len() < 2 {
            return Interval::open(self.scale.number(mean));
        }
        let squares: f64 = places.iter().map(|place| (place - mean).powi(2)).sum();
        let half = half_width((squares / (count - 1.0) / count).sqrt(), count - 1.0);
        Interval {
            median: self.scale.number(mean),
            low: self.scale.number(mean - half),
            high: self.scale.number(mean + half),
        }
    }

    fn change(&self, places: &[f64], left: Segment, right: Segment) -> Change {
        let difference = Difference::of(&places[left.from..left.to], &places[right.from..right.to]);
        let half = half_width(difference.error, difference.degrees);
        let ratio = match self.scale {
            Scale::Logarithms => Some(Ratio::of_log(difference.by, half)),
            Scale::Figures => None,
        };
        Change {
            at: right.from,
            ratio,
            by: right.mean.median - left.mean.median,
            before: left.to - left.from,
            after: right.to - right.from,
            kind: Kind::Step,
            is_worse: is_worse(self.better, difference.by),
        }
    }

    /// Marks changes in one direction that a line explains better than steps do.
    fn mark_creeps(&mut self, places: &[f64]) {
        let mut nth = 0;
        while nth < self.changes.len() {
            let up = self.changes[nth].by > 0.0;
            let same = self.changes[nth..].iter().take_while(|change| (change.by > 0.0) == up);
            let count = same.count();
            let (from, to) = (self.segments[nth].from, self.segments[nth + count].to);
            let parts: Vec<&[f64]> = self.segments[nth..=nth + count]
                .iter()
                .map(|segment| &places[segment.from..segment.to])
                .collect();
            if is_creep(&places[from..to], &parts) {
                for change in &mut self.changes[nth..nth + count] {
                    change.kind = Kind::Creep;
                }
            }
            nth += count;
        }
    }
}

/// The figures of one visit.
struct Measured<'a> {
    number: usize,
    /// Number of the last run.
    run: usize,
    /// Numbers of runs, with their figures.
    figures: &'a [(usize, RunFigure)],
    last: &'a RunFigure,
}

impl<'a> Measured<'a> {
    /// The visits of a series that have figures of a metric, of which these are all.
    fn of(figures: &'a [(usize, RunFigure)], series: &RunSeries) -> Vec<Self> {
        let mut rest = figures;
        let mut all = Vec::with_capacity(rest.len());
        for (number, runs) in series.visits.iter().enumerate() {
            let (Some(first), Some(last)) = (runs.first(), runs.last()) else { continue };
            rest = &rest[rest.iter().take_while(|(run, _)| run < first).count()..];
            let of_visit = rest.iter().take_while(|(run, _)| run <= last).count();
            let (figures, later) = rest.split_at(of_visit);
            rest = later;
            let of_visit = figures.iter().filter(|(run, _)| runs.contains(run)).count();
            // Runs of another series in between are rare: then the visit is that of its last run.
            let figures = match of_visit == figures.len() {
                true => figures,
                false => figures
                    .iter()
                    .rposition(|(run, _)| runs.contains(run))
                    .map_or(&[][..], |at| &figures[at..=at]),
            };
            if let Some((run, last)) = figures.last() {
                all.push(Self { number, run: *run, figures, last });
            }
        }
        all
    }
}

/// Whether later figures that are higher by `by`, or lower if it is negative, are worse.
pub(crate) fn is_worse(better: Direction, by: f64) -> bool {
    match better {
        Direction::Lower => by > 0.0,
        Direction::Higher => by < 0.0,
        Direction::Neither => false,
    }
}

/// Half the width of an interval at the usual level.
fn half_width(error: f64, degrees: f64) -> f64 {
    if error == 0.0 { 0.0 } else { t_quantile(1.0 - (1.0 - LEVEL) / 2.0, degrees) * error }
}
