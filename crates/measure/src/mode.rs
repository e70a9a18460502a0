//! Modes of rounds: taking samples, counting in the round's own process, or carrying out operations while the coordinator
//! counts on the host.

use std::time::{Duration, Instant};

use platform::counters::SyscallCounting;
use serde::{Deserialize, Serialize};

use crate::record::Repeated;
use crate::work::turn;

/// Time limit for operations that the coordinator counts on the host; and where they take a while to become steady, so that their
/// beginning is a small part of the count.
const REPEATING_LIMIT: Duration = Duration::from_millis(25);
const REPEATING_LIMIT_STEADY: Duration = Duration::from_millis(75);
/// Factor for their number there.
const MORE_IF_STEADY: u64 = 4;
/// Turns between two clock readings of a busy round: about 0.5 ms, since a reading is a system call in some systems.
const BUSY_TURNS: u64 = 800_000;

/// The task of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Take samples.
    Sample,
    /// Count system calls at this tracepoint, switches and faults.
    Count(u64),
    /// Count, with marks for a tracer that counts the system calls from outside.
    CountForTracer,
    /// Count all but system calls.
    CountRest,
    /// Carry out at most this many operations, while the coordinator counts on the host what the system does.
    Repeat(u64),
    /// Keep busy without operations for this time in us, while the coordinator counts on the host. The difference to
    /// [`Mode::Repeat`] is the operations' count.
    Busy(u64),
    /// Carry out a trial whose operations take this many times as long, while the coordinator counts on the host. The
    /// difference of two such rounds is the count of the additional operations.
    Lengthened(u32),
}

impl Mode {
    /// How the untimed pass counts system calls.
    pub fn counting(self) -> SyscallCounting {
        match self {
            Self::Count(id) => SyscallCounting::Tracepoint(id),
            Self::CountForTracer => SyscallCounting::Marks,
            Self::Sample
            | Self::CountRest
            | Self::Repeat(_)
            | Self::Busy(_)
            | Self::Lengthened(_) => SyscallCounting::None,
        }
    }

    /// Whether the coordinator counts on the host during the round.
    pub fn is_counted_outside(self) -> bool {
        matches!(self, Self::Repeat(_) | Self::Busy(_) | Self::Lengthened(_))
    }

    /// Carries out a [`Mode::Repeat`] or [`Mode::Busy`] round while `goes_on`; `None` for other modes. `until_steady`: whether the
    /// operations take a while to become steady.
    pub(crate) fn repeat(
        self,
        operations: &mut dyn FnMut(u64),
        until_steady: bool,
        goes_on: impl Fn() -> bool,
    ) -> Option<Repeated> {
        let (limit, factor) = match until_steady {
            true => (REPEATING_LIMIT_STEADY, MORE_IF_STEADY),
            false => (REPEATING_LIMIT, 1),
        };
        let began = Instant::now();
        let us = || u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        match self {
            Self::Repeat(most) => {
                let (most, mut done) = (most * factor, 0);
                // Batches double, so that the clock is rarely read.
                while done < most && goes_on() && (done == 0 || began.elapsed() < limit) {
                    let batch = done.clamp(1, most - done);
                    operations(batch);
                    done += batch;
                }
                Some(Repeated { operations: done, us: us() })
            }
            Self::Busy(length) => {
                while us() < length && goes_on() {
                    turn(BUSY_TURNS);
                }
                Some(Repeated { operations: 0, us: us() })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_repeated_as_often_as_asked_or_as_time_permits() {
        let mut done = 0;
        let repeated =
            Mode::Repeat(1_000).repeat(&mut |batch| done += batch, false, || true).unwrap();
        assert!(repeated.operations == done && done <= 1_000 && done > 0);
        // A busy machine may leave time for few operations, but at least one.
        let mut slow = |_| std::thread::sleep(REPEATING_LIMIT);
        assert_eq!(Mode::Repeat(1_000).repeat(&mut slow, false, || true).unwrap().operations, 1);
        assert_eq!(Mode::Repeat(1_000).repeat(&mut |_| (), false, || false).unwrap().operations, 0);
        assert_eq!(Mode::CountRest.repeat(&mut |_| (), false, || true), None);
    }

    #[test]
    fn a_busy_round_has_no_operations_and_takes_its_time() {
        let repeated =
            Mode::Busy(3_000).repeat(&mut |_| panic!("an operation"), false, || true).unwrap();
        assert!(repeated.operations == 0 && repeated.us >= 3_000, "{repeated:?}");
        assert!(Mode::Busy(u64::MAX).repeat(&mut |_| (), false, || false).is_some());
    }
}
