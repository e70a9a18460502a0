//! Figures of a command from its runs.

use std::collections::BTreeMap;
use std::time::Duration;

use measure::estimate::distribution;
use measure::record::{Direction, Line, MetricValue, Series};
use measure::stats::{Interval, ROUNDS_FOR_INTERVAL, RoundValue, interval_of, median};
use measure::{Combine, Doubt, Metric, TIME};
use results::{CaseResult, Distribution, Estimate, Outcome, PerOp};
use runner::Point;

use super::metrics;
use super::order::{Run, in_words};

/// CPU time of a run from which the kernel's division into user mode and kernel is given: ten ticks of the slowest usual
/// timer. Linux divides by the ticks that hit the process, and takes all time for user mode if none did.
const DIVIDED_FROM: Duration = Duration::from_millis(100);
/// CPU time of a run from which Windows, which counts ticks of 15.6 ms, measures it at all.
const COUNTED_FROM: Duration = Duration::from_millis(156);
/// Half-width of the interval beyond which a figure is marked.
const ACCEPTED: f64 = 0.05;

/// Runs of a command that were made one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Beginning in ms since 1970.
    pub started_ms: i64,
    /// The runs; at least one.
    pub runs: Vec<Run>,
}

/// All that was measured of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The command.
    pub point: Point,
    /// Its turns.
    pub turns: Vec<Turn>,
    /// System calls of a run.
    pub syscalls: Option<u64>,
    /// Why it has no figure.
    pub ending: Option<(Outcome, String)>,
}

impl Turn {
    /// The median time of the runs, in ns.
    pub fn median_ns(&self) -> f64 {
        median(&mut self.runs.iter().map(|run| run.ns as f64).collect::<Vec<_>>())
    }

    /// The median time of the runs, for the interval.
    fn value(&self, seed: u64) -> RoundValue {
        let times: Vec<f64> = self.runs.iter().map(|run| run.ns as f64).collect();
        let value = match times[..] {
            [one] => RoundValue::exact(one),
            _ => RoundValue::of(&times, seed),
        };
        value.begun_at(self.started_ms)
    }

    /// The turn as a worker prints a round.
    pub fn lines(&self) -> Vec<Line> {
        let samples = self.runs.iter().map(|run| run.ns as f32).collect();
        let series = Series { busy: 1, batch: 1, samples, ..Series::default() };
        let metrics = MEANS.iter().filter_map(|(metric, of)| {
            let value = self.mean(*of)?;
            let Metric { name, unit, better, combine, .. } = **metric;
            let (name, unit) = (name.to_owned(), unit.to_owned());
            Some(Line::Metric(MetricValue { name, unit, better, combine, value }))
        });
        std::iter::once(Line::Series(series)).chain(metrics).collect()
    }

    /// The mean over the runs, if it is known of all.
    fn mean(&self, of: OfRun) -> Option<f64> {
        let values: Option<Vec<f64>> = self.runs.iter().map(of).collect();
        values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
    }
}

/// A figure of a run, if it is known.
type OfRun = fn(&Run) -> Option<f64>;

/// Metrics that are means over the runs of a turn.
const MEANS: &[(&Metric, OfRun)] = &[
    (&metrics::CPU, cpu),
    (&metrics::USER, |run| divided(run, 0)),
    (&metrics::SYSTEM, |run| divided(run, 1)),
    (&metrics::MAX_RESIDENT, |run| run.max_resident.map(|bytes| bytes as f64)),
    (&metrics::VOLUNTARY_SWITCHES, |run| run.switches[0].map(|switches| switches as f64)),
    (&metrics::INVOLUNTARY_SWITCHES, |run| run.switches[1].map(|switches| switches as f64)),
    (&metrics::PAGE_FAULTS, |run| run.page_faults.map(|faults| faults as f64)),
];

fn cpu(run: &Run) -> Option<f64> {
    let ns = run.cpu_ns.map(|[user, system]| (user + system) as f64)?;
    (!platform::IS_WINDOWS || ns >= COUNTED_FROM.as_nanos() as f64).then_some(ns)
}

fn divided(run: &Run, part: usize) -> Option<f64> {
    let enough = if platform::IS_WINDOWS { COUNTED_FROM } else { DIVIDED_FROM };
    cpu(run).filter(|ns| *ns >= enough.as_nanos() as f64)?;
    run.cpu_ns.map(|parts| parts[part] as f64)
}

impl Evidence {
    /// A command without runs.
    pub fn new(point: Point) -> Self {
        Self { point, turns: Vec::new(), syscalls: None, ending: None }
    }

    /// All runs.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.turns.iter().flat_map(|turn| &turn.runs)
    }

    /// The time of a run with its interval; `None` before the first one.
    pub fn time(&self, seed: u64) -> Option<Interval> {
        let values = self.values(seed);
        (!values.is_empty()).then(|| interval_of(&values, seed))
    }

    /// The median time of the runs so far, in ns.
    pub fn median_ns(&self) -> Option<f64> {
        let mut times: Vec<f64> = self.runs().map(|run| run.ns as f64).collect();
        (!times.is_empty()).then(|| median(&mut times))
    }

    fn values(&self, seed: u64) -> Vec<RoundValue> {
        let turns = self.turns.iter().enumerate();
        turns.map(|(n, turn)| turn.value(seed ^ n as u64)).collect()
    }

    /// The results: the time first.
    pub fn results(&self, seed: u64, ignores_failure: bool) -> Vec<CaseResult> {
        let mut time = self.blank(TIME.name, TIME.unit, TIME.better);
        if let Some((outcome, reason)) = &self.ending {
            (time.outcome, time.reason) = (*outcome, Some(reason.clone()));
            return vec![time];
        }
        let values = self.values(seed);
        if values.is_empty() {
            time.outcome = Outcome::TimedOut;
            time.reason = Some(results::STOPPED_BEFORE.to_owned());
            return vec![time];
        }
        let interval = interval_of(&values, seed);
        if values.len() < ROUNDS_FOR_INTERVAL {
            time.doubts.push(Doubt::FewRounds);
        }
        time.doubts.extend(self.failed());
        time.doubts.extend(self.left_processes());
        time.estimate = Some(Estimate::of(interval));
        time.rounds = values.len() as u32;
        time.converged = Some(interval.half_width() <= ACCEPTED);
        time.round_values = values.iter().map(|round| round.value).collect();
        time.round_starts_ms = self.turns.iter().map(|turn| turn.started_ms).collect();
        time.per_op =
            self.syscalls.map(|calls| PerOp { syscalls: Some(calls as f64), ..PerOp::default() });
        let mut all: Vec<f64> = self.runs().map(|run| run.ns as f64).collect();
        time.samples = all.len() as u64;
        time.seen = distribution(&mut all).map(|[min, p5, p25, p50, p75, p95, p99, mean]| {
            Distribution { min, p5, p25, p50, p75, p95, p99, mean }
        });
        let mut results = vec![time];
        results.extend(MEANS.iter().filter_map(|(metric, of)| self.metric(metric, *of, seed)));
        if ignores_failure {
            let failures = self.runs().filter(|run| !run.succeeded()).count() as f64;
            let exactly = Interval { low: failures, median: failures, high: failures };
            results.push(CaseResult {
                estimate: Some(Estimate::of(exactly)),
                rounds: self.turns.len() as u32,
                ..self.blank(metrics::FAILURES.name, metrics::FAILURES.unit, Direction::Lower)
            });
        }
        results
    }

    fn metric(&self, metric: &Metric, of: OfRun, seed: u64) -> Option<CaseResult> {
        let known = self.turns.iter().filter_map(|turn| Some((turn, turn.mean(of)?)));
        let known: Vec<(&Turn, f64)> = known.collect();
        // A figure of some runs only would be of the slow or the fast ones.
        if known.is_empty() || known.len() < self.turns.len() {
            return None;
        }
        debug_assert_eq!(metric.combine, Combine::Median);
        let rounds: Vec<RoundValue> =
            known.iter().map(|(_, value)| RoundValue::exact(*value)).collect();
        Some(CaseResult {
            estimate: Some(Estimate::of(interval_of(&rounds, seed))),
            rounds: known.len() as u32,
            round_values: known.iter().map(|(_, value)| *value).collect(),
            round_starts_ms: known.iter().map(|(turn, _)| turn.started_ms).collect(),
            ..self.blank(metric.name, metric.unit, metric.better)
        })
    }

    fn blank(&self, metric: &str, unit: &str, better: Direction) -> CaseResult {
        CaseResult::blank(&self.point.case, self.point.params.clone(), metric, unit, better)
    }

    /// The doubt about runs that failed.
    fn failed(&self) -> Option<Doubt> {
        let mut counts = BTreeMap::new();
        self.runs().filter(|run| !run.succeeded()).for_each(|run| {
            *counts.entry(run.exit).or_insert(0) += 1;
        });
        let all = self.runs().count();
        let counts = counts.into_iter();
        let how: Vec<String> = counts
            .map(|(exit, runs)| format!("{} in {runs} of {all} runs", in_words(exit)))
            .collect();
        (!how.is_empty()).then(|| Doubt::CommandFailed { how: how.join(", ") })
    }

    fn left_processes(&self) -> Option<Doubt> {
        let runs = self.runs().filter(|run| run.left).count();
        (runs > 0).then(|| Doubt::LeftProcesses { runs, of: self.runs().count() })
    }
}

#[cfg(test)]
mod tests {
    use platform::process::command::Exit;

    use super::*;

    fn run(ms: f64, exit: Exit, cpu_ms: [f64; 2]) -> Run {
        Run {
            ns: (ms * 1e6) as u64,
            exit,
            left: false,
            cpu_ns: Some(cpu_ms.map(|ms| (ms * 1e6) as u64)),
            max_resident: Some(1_000),
            switches: [Some(1), Some(0)],
            page_faults: Some(7),
            syscalls: None,
        }
    }

    fn evidence(turns: Vec<Vec<Run>>) -> Evidence {
        let point =
            Point { case: super::super::command::CASE_NAME.into(), params: BTreeMap::new() };
        let turns = turns.into_iter().enumerate();
        let turns = turns.map(|(n, runs)| Turn { started_ms: n as i64 * 100, runs });
        Evidence { turns: turns.collect(), ..Evidence::new(point) }
    }

    fn of<'r>(results: &'r [CaseResult], metric: &str) -> Option<&'r CaseResult> {
        results.iter().find(|result| result.metric == metric)
    }

    #[test]
    fn the_time_is_the_median_of_the_turns_medians() {
        let turn = |a, b, c| [a, b, c].map(|ms| run(ms, Exit::Code(0), [1.0, 1.0])).to_vec();
        let results =
            evidence(vec![turn(1.0, 2.0, 90.0), turn(3.0, 2.0, 3.0), turn(4.0, 4.0, 9.0)])
                .results(7, false);
        let time = of(&results, "time").unwrap();
        assert_eq!(time.round_values, [2e6, 3e6, 4e6]);
        let estimate = time.estimate.unwrap();
        assert!(estimate.median == 3e6 && estimate.low < 3e6 && estimate.high > 3e6);
        assert_eq!((time.samples, time.rounds, time.seen.unwrap().min), (9, 3, 1e6));
        assert!(time.doubts.is_empty());
    }

    /// A command of 1 ms was said to have used no time in the kernel.
    #[test]
    #[cfg(unix)]
    fn only_much_cpu_time_is_divided() {
        let results =
            |cpu_ms| evidence(vec![vec![run(500.0, Exit::Code(0), cpu_ms)]; 3]).results(7, false);
        let short = results([2.0, 0.0]);
        assert_eq!(of(&short, "cpu").unwrap().estimate.unwrap().median, 2e6);
        assert!(of(&short, "user").is_none() && of(&short, "system").is_none());
        let long = results([300.0, 100.0]);
        assert_eq!(of(&long, "user").unwrap().estimate.unwrap().median, 300e6);
        assert_eq!(of(&long, "system").unwrap().estimate.unwrap().median, 100e6);
    }

    #[test]
    fn failures_are_said_by_how_often_each_occurred() {
        let exits = [Exit::Code(0), Exit::Code(5), Exit::Code(5), Exit::Signal(11)];
        let turns = exits.map(|exit| vec![run(1.0, exit, [1.0, 0.0])]).to_vec();
        let results = evidence(turns).results(7, true);
        let doubts: Vec<String> =
            of(&results, "time").unwrap().doubts.iter().map(ToString::to_string).collect();
        assert_eq!(
            doubts,
            [
                "the command ended with exit code 5 in 2 of 4 runs, was ended by signal 11 (SIGSEGV) in 1 of 4 runs"
            ]
        );
        assert_eq!(of(&results, "failures").unwrap().estimate.unwrap().median, 3.0);
    }

    #[test]
    fn few_turns_have_no_interval() {
        let results = evidence(vec![vec![run(1.0, Exit::Code(0), [1.0, 0.0])]]).results(7, false);
        assert_eq!(of(&results, "time").unwrap().doubts, [Doubt::FewRounds]);
    }
}
