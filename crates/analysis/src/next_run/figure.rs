//! A figure in the model: its place on a scale, its error within the run, and the cause of its differences from run to run.

use std::fmt;

use measure::stats::{ROUNDS_FOR_INTERVAL, median, t_quantile};
use results::{CaseResult, Outcome, RunFigure};

use crate::scale::Scale;

/// Minimum number of system calls of an operation that enters the kernel: fewer belong to its set-up.
const ENTERS: f64 = 0.1;
/// Minimum number of voluntary switches of an operation that waits to be woken up.
const WAITS: f64 = 0.05;

/// Cause of differences between the figures of two runs. Points with one cause have the same variance between visits, which is
/// estimated from all of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Instructions of the program itself, in core cycles.
    UserCode,
    /// Entries into the kernel, in core cycles: the differences are in cycles per call.
    Entry,
    /// Threads and processes that wake each other up.
    WakeUp,
    /// Memory, and everything else that is measured in wall time.
    Memory,
    /// Trials of an area, and figures derived from several of its points.
    Trials(String),
}

impl Cause {
    /// The cause of a result's differences.
    pub fn of(result: &CaseResult) -> Self {
        let per_op = result.per_op.as_ref();
        let calls = per_op.and_then(|per_op| per_op.syscalls);
        let waits = per_op.and_then(|per_op| per_op.voluntary_switches);
        Self::by(&result.case, result.seen.is_some(), result.cycles.is_some(), calls, waits)
    }

    /// The cause of the differences of a figure of this case.
    pub fn of_figure(case: &str, figure: &RunFigure) -> Self {
        let (calls, waits) = (figure.syscalls, figure.voluntary_switches);
        Self::by(case, figure.is_sampled, figure.cycles.is_some(), calls, waits)
    }

    fn by(
        case: &str,
        is_sampled: bool,
        has_cycles: bool,
        calls: Option<f64>,
        waits: Option<f64>,
    ) -> Self {
        if !is_sampled {
            let area = case.split_once('/').map_or("", |(area, _)| area);
            return Self::Trials(area.to_owned());
        }
        match has_cycles {
            true if calls.unwrap_or(0.0) >= ENTERS => Self::Entry,
            true => Self::UserCode,
            false if waits.unwrap_or(0.0) > WAITS => Self::WakeUp,
            false => Self::Memory,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::UserCode => out.write_str("user code"),
            Self::Entry => out.write_str("entries into the kernel"),
            Self::WakeUp => out.write_str("wake-ups"),
            Self::Memory => out.write_str("memory and kernel data"),
            Self::Trials(area) => write!(out, "trials of {area}"),
        }
    }
}

/// Figure of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figure {
    pub(super) scale: Scale,
    /// Place on the scale: in core cycles if there are any, otherwise in the unit of the result.
    pub(super) at: f64,
    /// Standard error within the run, from its rounds.
    pub(super) error: f64,
    /// Degrees of freedom of the standard error.
    pub(super) degrees: f64,
    /// Factor on the variance between visits: 1 for a share of the figure, the square of the calls per core cycle if the variance
    /// is that of one call in cycles, 0 for figures that may not be above 0.
    pub(super) weight: f64,
    /// Difference between the second and the first half of the rounds, if the run lasted for minutes.
    pub(super) halves_apart: Option<f64>,
    /// Whether the figure is in core cycles.
    in_cycles: bool,
}

impl Figure {
    /// The figure of a result; `None` if it has none, or too few rounds for an interval.
    pub(super) fn of(result: &CaseResult, cause: &Cause) -> Option<Self> {
        let estimate = result.estimate.filter(|_| result.outcome == Outcome::Measured)?;
        let rounds = result.rounds as usize;
        if !estimate.has_interval() || rounds < ROUNDS_FOR_INTERVAL {
            return None;
        }
        let (at, low, high) = match result.cycles {
            Some(cycles) => (cycles.median, cycles.low, cycles.high),
            None => (estimate.median, estimate.low, estimate.high),
        };
        let scale = if low > 0.0 { Scale::Logarithms } else { Scale::Figures };
        let degrees = rounds as f64 - 1.0;
        let half = (scale.of(high) - scale.of(low)) / 2.0;
        let error = half / t_quantile(1.0 - (1.0 - estimate.level) / 2.0, degrees);
        let calls = result.per_op.as_ref().and_then(|per_op| per_op.syscalls).unwrap_or(0.0);
        let weight = match (scale, cause) {
            (Scale::Figures, _) => 0.0,
            (Scale::Logarithms, Cause::Entry) => (calls / at).powi(2),
            (Scale::Logarithms, _) => 1.0,
        };
        let in_cycles = result.cycles.is_some();
        let halves_apart = halves_apart(result, scale);
        let at = scale.of(at);
        let figure = Self { scale, at, error, degrees, weight, halves_apart, in_cycles };
        [figure.at, error, weight].iter().all(|number| number.is_finite()).then_some(figure)
    }

    /// Whether another run's figure of the same metric can be compared with this one.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.scale, self.in_cycles) == (other.scale, other.in_cycles)
    }
}

/// Minimum time in ms over which the rounds of a run are spread to show how the machine changes within minutes.
const LASTS_MINUTES: i64 = 100_000;

/// Difference between the second and the first half of the rounds; `None` if they are not spread over minutes.
fn halves_apart(result: &CaseResult, scale: Scale) -> Option<f64> {
    let (starts, values) = (&result.round_starts_ms, &result.round_values);
    let lasted = starts.last()? - starts.first()?;
    if lasted < LASTS_MINUTES || starts.len() != values.len() || !starts.is_sorted() {
        return None;
    }
    let (first, second) = values.split_at(values.len() / 2);
    let place = |half: &[f64]| scale.of(median(&mut half.to_vec()));
    Some(place(second) - place(first)).filter(|apart| apart.is_finite())
}
