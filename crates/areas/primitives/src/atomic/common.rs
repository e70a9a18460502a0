//! Shared by the cases of atomic operations: a cache line, and a measurement of several CPUs that operate on one line.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use measure::trial::{Timed, TrialContext};
use measure::{CaseError, Metric, Params, Role, Round, TIME};

use crate::{Param, Takes, Trials, count_of};
use measure::together::{Work, cpus_of, in_sum, together};

/// Time for which the threads operate.
const SPAN: Duration = Duration::from_millis(10);
/// Operations between two clock reads.
const BATCH: u64 = 1_000;

/// Operations of all threads per second.
pub const RATE: Metric =
    Metric::higher("rate", "ops/s", "operations per second of all threads together")
        .with(Role::SameAs(TIME.name));

/// The number of threads that share the line.
pub const WORKERS: Param = Param::new("workers", &["2", "1xcpus"])
    .meaning("how many threads, each on a CPU of its own, operate on the same cache line")
    .full(&["1", "2", "1xcpus"])
    .takes(Takes::Count(1024));

/// Trial settings of the shared cases.
pub const TRIALS: Option<Trials> = Some(Trials::new(|_: &Params| SPAN));

/// A value alone on a pair of cache lines: some processors fetch two at once.
#[repr(align(128))]
#[derive(Debug, Default)]
pub struct CacheLine(pub AtomicU64);

/// Measures `operate` by several threads on one line. `is_right` checks the line's final value, given the number of operations
/// and that value.
///
/// # Errors
/// `Unsupported` if there are fewer CPUs than threads; `Implausible` if operations were lost.
pub fn share(
    params: &Params,
    round: &mut Round,
    operate: impl Fn(&AtomicU64) + Sync,
    is_right: impl Fn(u64, u64) -> bool,
) -> Result<(), CaseError> {
    let cpus = cpus_of(count_of(params, "workers")?, round)?;
    let (line, operate) = (CacheLine::default(), &operate);
    let context = TrialContext::new(round, &cpus)?;
    let trial = round.trial_of(&context, || {
        let one = |_| Ok(Operations { line: &line.0, operate });
        let sum = in_sum(&together(context.clock(), &cpus, SPAN, one)?);
        Ok(Timed { value: (sum.value, sum.operations), operations: sum.operations, took: sum.took })
    })?;
    let (rate, operations) = trial.value;
    round.metric(&RATE, rate);
    verify(operations, line.0.load(Ordering::Acquire), is_right)
}

fn verify(
    operations: u64,
    value: u64,
    is_right: impl Fn(u64, u64) -> bool,
) -> Result<(), CaseError> {
    if is_right(operations, value) {
        return Ok(());
    }
    let text = format!("{operations} operations left the value {value}");
    Err(CaseError::Implausible(text))
}

struct Operations<'a, F> {
    line: &'a AtomicU64,
    operate: &'a F,
}

impl<F: Fn(&AtomicU64)> Work for Operations<'_, F> {
    fn batch(&mut self) -> Result<u64, CaseError> {
        for _ in 0..BATCH {
            (self.operate)(self.line);
        }
        Ok(BATCH)
    }

    fn verify(&mut self) -> Result<(), CaseError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_that_was_lost_is_implausible() {
        let equal = |operations, value| operations == value;
        assert_eq!(verify(1_000, 1_000, equal), Ok(()));
        assert!(matches!(verify(1_000, 999, equal), Err(CaseError::Implausible(_))));
    }
}
