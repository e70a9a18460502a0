//! Host calls and switches per operation of a point, from pairs of rounds: one with operations minus one that was busy for
//! the same time without them, or minus a trial with fewer operations. The difference excludes the start of a worker and
//! what the system does anyway.

use measure::record::{Line, Repeated, parse_lines};
use measure::round::Mode;
use platform::process::control_group::HostCounts;

use crate::launch::RoundEnd;

/// Number of operations in a round, unless time is up: enough that the difference between two starts of a worker, up to a
/// hundred system calls in a sandbox, is a small part.
const OPERATIONS: u64 = 5_000;
/// Factor for the operations of the longer one of two trials.
const LONGER: u32 = 2;
const PAIRS_AT_MOST: usize = 5;
/// Maximum number of lost rounds.
const LOST_AT_MOST: u32 = 3;
/// Maximum difference of counts per operation for pairs to agree, absolute or as a share of the count.
const AGREEMENT: f64 = 0.05;
/// Maximum difference of counts per operation for a count to be known, absolute or as a share of the count.
const USABLE: f64 = 0.5;

/// Results of the pairs of rounds so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostEvidence {
    /// Whether rounds are trials.
    of_trials: bool,
    /// The round with more operations whose counterpart is still missing.
    half: Option<(HostCounts, Repeated)>,
    pairs: Vec<HostPerOp>,
    lost: u32,
    /// Whether this point cannot be counted on the host.
    refused: bool,
}

/// Counts per operation on the host; `None` if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct HostPerOp {
    /// The time of one operation while it was counted, in ns.
    pub(crate) ns: Option<f64>,
    pub(crate) syscalls: Option<f64>,
    pub(crate) switches: Option<f64>,
    pub(crate) ptrace_stops: Option<f64>,
}

impl HostEvidence {
    /// Minimum number of pairs for a count to be known.
    pub(crate) const PAIRS_AT_LEAST: usize = 2;

    /// Evidence for trials; `can_be_longer`: whether they can carry out more operations.
    pub(crate) fn of_trials(can_be_longer: bool) -> Self {
        Self { of_trials: true, refused: !can_be_longer, ..Self::default() }
    }

    /// The mode of the next round; `None` if none is needed.
    pub(crate) fn next(&self) -> Option<Mode> {
        if self.refused || self.lost >= LOST_AT_MOST || self.is_settled() {
            return None;
        }
        Some(match (self.half, self.of_trials) {
            (None, false) => Mode::Repeat(OPERATIONS),
            (Some((_, repeated)), false) => Mode::Busy(repeated.us),
            (None, true) => Mode::Lengthened(LONGER),
            (Some(_), true) => Mode::Lengthened(1),
        })
    }

    /// Number of pairs so far.
    pub(crate) fn pairs(&self) -> usize {
        self.pairs.len()
    }

    fn is_settled(&self) -> bool {
        let parts: [fn(&HostPerOp) -> Option<f64>; 2] = [|one| one.syscalls, |one| one.switches];
        let agree = || parts.iter().all(|part| self.known(*part, AGREEMENT, 0).is_some());
        self.pairs.len() >= PAIRS_AT_MOST || (self.pairs.len() >= Self::PAIRS_AT_LEAST && agree())
    }

    /// Adds the output of a round.
    pub(crate) fn add(&mut self, text: &str, end: &RoundEnd) {
        let (mut counts, mut repeated) = (None, None);
        for line in parse_lines(text) {
            match line {
                Line::Host(line) => counts = Some(line),
                Line::Repeated(line) => repeated = Some(line),
                _ => {}
            }
        }
        match (end, counts, repeated) {
            (RoundEnd::Reported(Ok(())), Some(counts), Some(made)) => self.add_round(counts, made),
            // The case counts in another way, or is refused as it would be when timed.
            (RoundEnd::Reported(_), _, _) => self.refused = true,
            (RoundEnd::Died(_) | RoundEnd::Hung(_), _, _) => self.lost += 1,
        }
    }

    fn add_round(&mut self, counts: HostCounts, made: Repeated) {
        match self.half.take() {
            Some((more, of)) if made.operations < of.operations => {
                let per_op = HostPerOp::of(more, counts, of.operations - made.operations);
                let ns = of.us as f64 * 1e3 / of.operations as f64;
                self.pairs.push(HostPerOp { ns: Some(ns), ..per_op });
            }
            // On a busy machine the longer one of two trials may have had fewer operations.
            half => {
                self.lost += u32::from(half.is_some() || made.operations == 0);
                self.half = (half.is_none() && made.operations > 0).then_some((counts, made));
            }
        }
    }

    /// The medians of the pairs; a count is unknown if the pairs disagree about it.
    pub(crate) fn per_op(&self) -> HostPerOp {
        // Of five pairs, the lowest and the highest may have been disturbed.
        let ends = usize::from(self.pairs.len() >= PAIRS_AT_MOST);
        let known = |part: fn(&HostPerOp) -> Option<f64>| {
            let enough = self.pairs.len() >= Self::PAIRS_AT_LEAST;
            enough.then(|| self.known(part, USABLE, ends)).flatten().map(|count| count.max(0.0))
        };
        HostPerOp {
            ns: None,
            syscalls: known(|one| one.syscalls),
            switches: known(|one| one.switches),
            ptrace_stops: known(|one| one.ptrace_stops),
        }
    }

    /// The counts of the pairs whose operations took less than `threshold` ns, or more.
    pub(crate) fn on_path(&self, is_fast: bool, threshold: f64) -> HostPerOp {
        let is_on = |pair: &&HostPerOp| pair.ns.is_some_and(|ns| (ns < threshold) == is_fast);
        let of = |part: fn(&HostPerOp) -> Option<f64>| {
            let mut counts: Vec<f64> = self.pairs.iter().filter(is_on).filter_map(part).collect();
            (!counts.is_empty()).then(|| measure::stats::median(&mut counts).max(0.0))
        };
        HostPerOp {
            ns: None,
            syscalls: of(|one| one.syscalls),
            switches: of(|one| one.switches),
            ptrace_stops: of(|one| one.ptrace_stops),
        }
    }

    /// The median of a count, if the pairs without `ends` values at each end differ by at most `apart`, absolute or as a
    /// share.
    fn known(
        &self,
        part: impl Fn(&HostPerOp) -> Option<f64>,
        apart: f64,
        ends: usize,
    ) -> Option<f64> {
        let mut counts: Vec<f64> = self.pairs.iter().map(part).collect::<Option<_>>()?;
        let median = measure::stats::median(&mut counts);
        counts.sort_unstable_by(f64::total_cmp);
        let inner = counts.get(ends..counts.len().checked_sub(ends)?)?;
        let spread = inner.last()? - inner.first()?;
        (spread <= apart.max(apart * median.abs())).then_some(median)
    }
}

impl HostPerOp {
    /// The difference of two rounds, divided among the operations.
    fn of(with: HostCounts, without: HostCounts, operations: u64) -> Self {
        let each = |with: u64, without: u64| {
            Some((with as f64 - without as f64) / operations.max(1) as f64)
        };
        let stops = with.ptrace_stops.zip(without.ptrace_stops);
        Self {
            ns: None,
            syscalls: each(with.syscalls, without.syscalls),
            switches: each(with.switches, without.switches),
            ptrace_stops: stops.and_then(|(with, without)| each(with, without)),
        }
    }
}

#[cfg(test)]
mod tests {
    use platform::CaseError;
    use proptest::prelude::*;

    use super::*;

    fn line(line: &Line) -> String {
        serde_json::to_string(line).unwrap() + "\n"
    }

    fn text(syscalls: u64, switches: u64, operations: u64) -> String {
        let counts = HostCounts { syscalls, switches, ptrace_stops: None };
        line(&Line::Host(counts)) + &line(&Line::Repeated(Repeated { operations, us: 900 }))
    }

    const ENDED: RoundEnd = RoundEnd::Reported(Ok(()));

    /// Adds rounds as long as they are needed; an operation makes `each` system calls, and the pairs have these errors.
    fn counted(each: f64, errors: &[i64]) -> HostEvidence {
        let mut evidence = HostEvidence::default();
        let mut errors = errors.iter().copied().cycle();
        while let Some(mode) = evidence.next() {
            let start = 1_000 + errors.next().unwrap_or(0);
            let (own, operations) = match mode {
                Mode::Repeat(operations) => ((each * operations as f64) as i64, operations),
                Mode::Busy(900) => (0, 0),
                other => panic!("{other:?}"),
            };
            evidence.add(&text((start + own) as u64, 500, operations), &ENDED);
        }
        evidence
    }

    #[test]
    fn the_constant_part_cancels() {
        let evidence = counted(3.0, &[0]);
        assert_eq!(evidence.pairs.len(), HostEvidence::PAIRS_AT_LEAST);
        let per_op = HostPerOp { syscalls: Some(3.0), switches: Some(0.0), ..HostPerOp::default() };
        assert_eq!(evidence.per_op(), per_op);
        // A negative count per operation becomes zero.
        assert_eq!(counted(0.0, &[0, 9]).per_op().syscalls, Some(0.0));
    }

    #[test]
    fn a_trial_is_compared_with_a_shorter_one() {
        assert_eq!(HostEvidence::of_trials(false).next(), None);
        let mut evidence = HostEvidence::of_trials(true);
        for (mode, calls, operations) in [
            (Mode::Lengthened(LONGER), 9_000, 1_100),
            (Mode::Lengthened(1), 7_000, 600),
            (Mode::Lengthened(LONGER), 8_960, 1_090),
            // The trial that was to be shorter had more operations, so the pair is lost.
            (Mode::Lengthened(1), 9_900, 1_200),
            (Mode::Lengthened(LONGER), 8_960, 1_090),
            (Mode::Lengthened(1), 7_000, 600),
        ] {
            assert_eq!(evidence.next(), Some(mode));
            evidence.add(&text(calls, 500, operations), &ENDED);
        }
        assert_eq!((evidence.next(), evidence.lost), (None, 1));
        let per_op = HostPerOp { syscalls: Some(4.0), switches: Some(0.0), ..HostPerOp::default() };
        assert_eq!(evidence.per_op(), per_op);
    }

    #[test]
    fn pairs_that_disagree_are_repeated_and_one_that_was_disturbed_is_left_out() {
        let disturbed = counted(1.0, &[90_000, 0, 0, 0, 0, 3, 0, 0, 0, 0]);
        assert_eq!(disturbed.pairs.len(), PAIRS_AT_MOST);
        assert!((disturbed.per_op().syscalls.unwrap() - 1.0).abs() < 0.01);
        let chaos = counted(1.0, &[900, 90_000, 0, 50_000, 40_000, 7, 30_000, 0, 0, 20_000]);
        assert_eq!(chaos.per_op().syscalls, None);
        assert_eq!(chaos.per_op().switches, Some(0.0));
    }

    #[test]
    fn two_pairs_that_disagree_are_followed_by_another() {
        let mut evidence = HostEvidence::default();
        for (pairs, calls) in [(1, 1_000), (2, 10_000)] {
            evidence.add(&text(calls, 500, 5_000), &ENDED);
            evidence.add(&text(1_000, 500, 0), &ENDED);
            assert_eq!(evidence.pairs(), pairs);
        }
        assert!(evidence.next().is_some());
    }

    #[test]
    fn lost_rounds_are_repeated_within_limits_and_other_ends_are_final() {
        let mut evidence = HostEvidence::default();
        evidence.add("", &RoundEnd::Died("signal 9".into()));
        evidence.add(&text(9_000, 1, 5_000), &ENDED);
        assert_eq!(evidence.next(), Some(Mode::Busy(900)));
        evidence.add(&text(1, 1, 0)[..40], &RoundEnd::Hung("late".into()));
        assert_eq!(evidence.next(), Some(Mode::Busy(900)));
        evidence.add("", &RoundEnd::Died("signal 9".into()));
        assert_eq!((evidence.next(), evidence.per_op()), (None, HostPerOp::default()));
        for (text, end) in [
            (String::new(), ENDED),
            (text(1, 1, 1), RoundEnd::Reported(Err(CaseError::Unsupported("no".into())))),
        ] {
            let mut evidence = HostEvidence::default();
            evidence.add(&text, &end);
            assert_eq!((evidence.next(), evidence.per_op()), (None, HostPerOp::default()));
        }
    }

    proptest! {
        #[test]
        fn any_output_ends(rounds in proptest::collection::vec(
            (0u64.., 0u64.., proptest::option::of(0u64..), 0u64..9, 0u64..), 40
        )) {
            let mut evidence = HostEvidence::default();
            for (syscalls, switches, ptrace_stops, operations, us) in rounds {
                let counts = HostCounts { syscalls, switches, ptrace_stops };
                let made = Repeated { operations, us };
                let text = line(&Line::Host(counts)) + &line(&Line::Repeated(made));
                evidence.add(&text, &ENDED);
                let per_op = evidence.per_op();
                for count in [per_op.syscalls, per_op.switches, per_op.ptrace_stops] {
                    prop_assert!(count.is_none_or(|count| count.is_finite() && count >= 0.0));
                }
            }
        }
    }
}
