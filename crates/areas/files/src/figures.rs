//! Computes the metrics of a trial from the times of its operations.

use std::time::Duration;

use measure::stats::quantile;
use measure::trial::{Timed, TrialContext};
use measure::{CaseError, Metric, Round};

use super::directory::Fresh;
use super::metrics::{CPU, CREATE_READ, PhaseMetrics, READ_BANDWIDTH, WRITE_BANDWIDTH};
use super::phases::{FileOps, FileShard, Phase, Times, carry_out};
use measure::together::at_once;

/// Files of a thread, and the operations on them.
pub type Member<'a> = (FileShard<'a>, Box<dyn FileOps>);

/// Times of one phase in all threads.
pub struct Took {
    /// The phase.
    pub phase: Phase,
    /// Number of operations of all threads.
    pub operations: usize,
    /// Time until the slowest thread was done, without verification.
    pub elapsed: Duration,
    /// Time of each operation in ns, ascending.
    pub ns: Vec<f64>,
    /// CPU time that belongs to no operation, such as that of verification.
    pub aside: Duration,
}

impl Took {
    /// Combines the times of all threads.
    pub fn of(phase: Phase, all: Vec<Times>) -> Self {
        let elapsed = all.iter().map(Times::sum).max().unwrap_or_default();
        let aside: f64 = all.iter().map(|times| times.aside_ns).sum();
        let operations = all.iter().map(|times| times.count).sum();
        let mut ns: Vec<f64> = all.into_iter().flat_map(|times| times.ns).collect();
        ns.sort_unstable_by(f64::total_cmp);
        let aside = Duration::from_nanos(aside as u64);
        Self { phase, operations, elapsed, ns, aside }
    }

    /// Median time of the phase's operations, in ns.
    pub fn median_ns(&self) -> f64 {
        if self.ns.is_empty() { 0.0 } else { quantile(&self.ns, 0.5) }
    }

    /// Reports the rate and the latencies of the phase.
    pub fn report(&self, round: &mut Round) {
        let metrics = PhaseMetrics::of(self.phase);
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        round.metric(&metrics.rate, self.operations as f64 / seconds);
        if self.phase == Phase::List {
            return; // one call returns many names, so a name has no latency
        }
        for (metric, p) in metrics.times.iter().zip([0.5, 0.9, 0.99, 1.0]) {
            round.metric(metric, quantile(&self.ns, p));
        }
    }

    /// Reports the bytes transferred per second as `metric`, for files of `size` bytes.
    pub fn report_bandwidth(&self, round: &mut Round, metric: &Metric, size: usize) {
        if size > 0 {
            let bytes = (self.operations * size) as f64;
            let value = bytes / self.elapsed.as_secs_f64().max(1e-9);
            round.metric(metric, value);
        }
    }
}

/// The CPUs of a trial: the one on which single-threaded cases are measured, or all CPUs for several threads.
///
/// # Errors
/// Errors of [`TrialContext::new`].
pub fn stage_of(round: &Round, threads: usize) -> Result<TrialContext, CaseError> {
    let cpus = &round.order().cpus;
    let first = if threads > 1 { 0 } else { cpus.len().saturating_sub(1) };
    TrialContext::new(round, &cpus[first..])
}

/// An empty record of the times of this number of operations.
pub fn times_for(operations: usize, round: &Round, context: &TrialContext) -> Times {
    Times::new(context.clock(), round.order().clock.cost.get(), operations)
}

/// Runs one trial of all phases, reports its metrics, and returns the times of each phase. In the untimed pass, it only counts
/// system calls, switches and faults.
///
/// # Errors
/// Errors of the phases.
pub fn measure(
    round: &mut Round,
    fresh: &Fresh,
    mut members: Vec<Member>,
) -> Result<Vec<Took>, CaseError> {
    let context = stage_of(round, members.len())?;
    let blank = times_for(0, round, &context);
    if round.is_counting() {
        return count(round, fresh, &mut members, &blank).map(|()| Vec::new());
    }
    let trial = round.trial_of(&context, || {
        let phases = Phase::ALL.iter().map(|&phase| together(phase, &mut members, &blank));
        let all = phases.collect::<Result<Vec<Took>, CaseError>>()?;
        let took = all.iter().map(|took| took.elapsed).sum();
        Ok(Timed { value: all, operations: fresh.files as u64, took })
    })?;
    let size = fresh.contents.size();
    for took in &trial.value {
        took.report(round);
        match took.phase {
            Phase::Create => took.report_bandwidth(round, &WRITE_BANDWIDTH, size),
            Phase::Read => took.report_bandwidth(round, &READ_BANDWIDTH, size),
            _ => {}
        }
    }
    let whole = trial.value.iter().filter(|took| matches!(took.phase, Phase::Create | Phase::Read));
    let whole: Duration = whole.map(|took| took.elapsed).sum();
    round.metric(&CREATE_READ, whole.as_nanos() as f64 / fresh.files.max(1) as f64);
    let aside: Duration = trial.value.iter().map(|took| took.aside).sum();
    report_cpu(round, trial.usage.cpu.saturating_sub(aside), fresh.files);
    Ok(trial.value)
}

/// Declares the number of system calls per file in all phases except listing, for ordinary calls on one file at a
/// time: open, write and close; open, read and close; stat; rename; unlink; and `more` others.
pub fn expect_calls(round: &mut Round, fresh: &Fresh, more: f64) {
    let writes = if fresh.contents.size() > 0 { 1.0 } else { 0.0 };
    // The standard library built with debug assertions checks each descriptor by an extra call before it closes it.
    let checks = if platform::IS_UNIX && cfg!(debug_assertions) { 2.0 } else { 0.0 };
    round.expect_syscalls(8.0 + writes + checks + more);
}

/// Reports the CPU time per file, unless the resolution of the system's CPU time is too coarse.
pub fn report_cpu(round: &mut Round, cpu: Duration, files: usize) {
    let each = cpu.as_nanos() as f64 / files.max(1) as f64;
    if each > 0.0 {
        round.metric(&CPU, each);
    }
}

/// Runs a phase in all threads at once; each begins when all are ready.
fn together(phase: Phase, members: &mut [Member], blank: &Times) -> Result<Took, CaseError> {
    let ready = members.iter_mut().map(|member| {
        let mut times = blank.clone();
        times.ns.reserve(member.0.files.len()); // reserved anew, since a clone has no spare capacity
        (member, times)
    });
    let one = |((shard, way), mut times): (&mut Member, Times)| {
        carry_out(phase, shard, way.as_mut(), &mut times).map(|()| times)
    };
    let all = match ready.len() {
        1 => ready.map(one).collect::<Result<_, _>>()?,
        _ => at_once(ready, one)?,
    };
    Ok(Took::of(phase, all))
}

/// Counts all phases except listing, whose calls belong to no single file.
fn count(
    round: &mut Round,
    fresh: &Fresh,
    members: &mut [Member],
    blank: &Times,
) -> Result<(), CaseError> {
    let mut phases = Phase::ALL.into_iter().filter(|&phase| phase != Phase::List);
    round.count_trial(fresh.files as u64, || {
        phases.try_for_each(|phase| together(phase, members, blank).map(drop))
    })
}
