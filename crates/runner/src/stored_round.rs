//! Rounds as stored.

use measure::record::{Line, parse_lines};
use measure::round::Mode;
use results::RoundRow;

use crate::schedule::{Purpose, RunTime};

/// Distance of rounds' beginnings in ms that means a pause between them: no round takes as long, not even one that hangs
/// and is killed.
const PAUSE_MS: i64 = 15_000;
/// Assumed duration of a round before a pause, in ms.
const BEFORE_PAUSE_MS: u64 = 150;

/// The beginning of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Began {
    /// The time of the run.
    pub at: RunTime,
    /// The wall clock, in ms since 1970.
    pub unix_ms: i64,
}

/// The beginning of each round in ms of measuring time, from its start by the wall clock, which may have been set, also
/// back. Pauses before a run was resumed do not count.
pub(crate) fn measuring_ms(started_ms: impl Iterator<Item = i64>) -> impl Iterator<Item = u64> {
    let (mut at_ms, mut before) = (0, None);
    started_ms.map(move |started| {
        at_ms += match before.replace(started).map(|before: i64| started.saturating_sub(before)) {
            None => 0,
            Some(gap @ 0..PAUSE_MS) => gap as u64,
            Some(_) => BEFORE_PAUSE_MS,
        };
        at_ms
    })
}

/// Stored kind of a round of the untimed pass.
const KIND_COUNT: &str = "count";
/// Stored kind of a round of the untimed pass that an earlier run made.
pub(crate) const KIND_KEPT: &str = "kept";
/// Stored kind of a timed round.
pub(crate) const KIND_ROUND: &str = "round";

impl Purpose {
    /// The purpose of a round in this mode.
    pub(crate) fn of(mode: Mode) -> Self {
        match mode {
            Mode::Sample => Self::Times,
            Mode::Count(_) | Mode::CountForTracer | Mode::CountRest => Self::Counts,
            Mode::Repeat(_) | Mode::Busy(_) | Mode::Lengthened(_) => Self::HostCounts,
        }
    }

    /// The purpose of a stored round.
    pub(crate) fn of_row(row: &RoundRow) -> Self {
        let on_host = |line: &Line| matches!(line, Line::Host(_) | Line::Repeated(_));
        match row.kind.as_str() {
            KIND_COUNT if parse_lines(&row.lines).iter().any(on_host) => Self::HostCounts,
            KIND_COUNT | KIND_KEPT => Self::Counts,
            _ => Self::Times,
        }
    }

    /// The stored kind. The lines of a round distinguish the two purposes of the same kind.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Times => KIND_ROUND,
            Self::Counts | Self::HostCounts => KIND_COUNT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stored_round_was_for_is_known() {
        let line = |line| serde_json::to_string(&line).unwrap();
        let [repeated, counts] =
            [line(Line::Repeated(Default::default())), line(Line::Counts(Default::default()))];
        for (mode, lines) in [
            (Mode::Sample, ""),
            (Mode::CountRest, counts.as_str()),
            (Mode::Repeat(9), repeated.as_str()),
            (Mode::Busy(9), repeated.as_str()),
        ] {
            let purpose = Purpose::of(mode);
            let row = RoundRow {
                seq: 0,
                case: "clock/std-instant".into(),
                params: Default::default(),
                kind: purpose.kind().to_owned(),
                outcome: String::new(),
                started_ms: 0,
                lines: lines.to_owned(),
            };
            assert_eq!(Purpose::of_row(&row), purpose, "{mode:?}");
        }
    }

    #[test]
    fn pauses_and_steps_of_the_clock_are_no_measuring_time() {
        let hour = 3_600_000;
        for (started, measured) in [
            (vec![], vec![]),
            (vec![1_000], vec![0]),
            (vec![1_000, 1_100, 14_000], vec![0, 100, 13_000]),
            // The run was resumed an hour later, and the day after that.
            (vec![0, 20, hour, hour + 50, 25 * hour], vec![0, 20, 170, 220, 370]),
            // The clock was set back, and in the next case from 1970 to now.
            (vec![5_000, 5_100, 200, 300], vec![0, 100, 250, 350]),
            (vec![3, 4, 1_800_000_000_000], vec![0, 1, 151]),
            (vec![i64::MIN, i64::MAX], vec![0, 150]),
        ] {
            let found: Vec<u64> = measuring_ms(started.iter().copied()).collect();
            assert_eq!(found, measured, "{started:?}");
        }
    }
}
