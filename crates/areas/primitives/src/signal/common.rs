//! Shared by the cases of signals: timing of an operation whose handler must run, and the CPU of a partner.

use std::hint::black_box;

use measure::{CaseError, Params, Round};

use crate::{Param, value_of};

/// The parameter `place`: CPU of the process or thread that answers.
pub const PLACE: Param = Param::new("place", &["same", "spread"]).meaning(
    "whether both run on the same CPU, so that each hand-over is a switch, or \
     spread over two, so that each is a wake-up",
);

/// The CPU of the partner. The measuring thread runs on the last CPU of the round, which may be the same.
///
/// # Errors
/// `Failed` if the parameter `place` is missing or the round has no CPUs.
pub fn partner_cpu(params: &Params, round: &mut Round) -> Result<usize, CaseError> {
    let is_shared = value_of(params, "place")? == "same";
    round.has_partners(is_shared);
    let cpus = &round.order().cpus;
    let before_last = if is_shared { 0 } else { 1 };
    let at = cpus.len().checked_sub(1).map(|last| last.saturating_sub(before_last));
    at.map(|at| cpus[at]).ok_or_else(|| CaseError::Failed("the round has no CPUs".into()))
}

/// Times `operation`, which returns whether it succeeded, and checks that `handled` grows by the number of operations. `per_call`
/// is the number of operations in one call.
///
/// # Errors
/// The error of the system if the first call fails; `Failed` if a later one fails, or if the number of handled operations
/// differs.
pub fn time_handled(
    round: &mut Round,
    name: &str,
    per_call: u64,
    handled: impl Fn() -> u64,
    mut operation: impl FnMut() -> bool,
) -> Result<(), CaseError> {
    let (before, mut calls, mut failed) = (handled(), 1u64, false);
    if !operation() {
        return Err(CaseError::last_os_error(name));
    }
    round.operations_per_call(per_call);
    let timed = round.time(|| {
        // After a failure, one more operation may wait for an answer that never comes.
        if !failed {
            calls += 1;
            failed = !black_box(operation());
        }
    });
    let (made, handled) = (calls * per_call, handled() - before);
    if failed {
        let text = format!("{name} succeeded at first, then failed at operation {made}");
        return Err(CaseError::Failed(text));
    }
    timed?;
    if made != handled {
        let text = format!("{handled} of {made} operations of {name} were handled");
        return Err(CaseError::Failed(text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use measure::round::Mode;

    use super::*;
    use rehearsal::order;

    fn time(
        handles: impl Fn(u64) -> bool,
        succeeds: impl Fn(u64) -> bool,
    ) -> Result<(), CaseError> {
        let order = order("test/x", &Params::new(), Mode::Sample);
        let (handled, mut calls) = (Cell::new(0), 0);
        let operation = || {
            platform::cpu::null_call();
            calls += 1;
            handled.set(handled.get() + u64::from(handles(calls)));
            succeeds(calls)
        };
        rehearsal::round(&order, |round| time_handled(round, "it", 1, || handled.get(), operation))
            .1
    }

    #[test]
    fn an_operation_that_is_not_handled_is_noticed() {
        assert_eq!(time(|_| true, |_| true), Ok(()));
        for broken in [time(|call| call != 10, |_| true), time(|_| false, |_| true)] {
            assert!(
                matches!(&broken, Err(CaseError::Failed(text)) if text.ends_with("were handled")),
                "{broken:?}"
            );
        }
    }

    #[test]
    fn nothing_is_attempted_after_a_failure() {
        let failed =
            Err(CaseError::Failed("it succeeded at first, then failed at operation 3".into()));
        assert_eq!(time(|_| true, |call| call < 3), failed);
        assert_eq!(time(|_| true, |call| call != 3), failed);
    }

    #[test]
    fn the_partner_is_on_the_same_cpu_or_on_another_if_there_is_one() {
        let cpu = |place: &str, cpus: &[usize]| {
            let params = Params::from([("place".to_owned(), place.to_owned())]);
            let mut order = order("test/x", &params, Mode::Sample);
            order.cpus = cpus.to_vec();
            partner_cpu(&params, &mut Round::new(&order, &mut Vec::new()))
        };
        assert_eq!(cpu("same", &[4, 5, 6]), Ok(6));
        assert_eq!(cpu("spread", &[4, 5, 6]), Ok(5));
        assert_eq!(cpu("spread", &[3]), Ok(3));
        assert!(cpu("same", &[]).is_err());
    }
}
