//! Shared by the cases of processes: timing and verification of starting and reaping a child, and the programs started.

use std::hint::black_box;
use std::io::{self, ErrorKind};

use measure::time::Nanoseconds;
use measure::{CaseError, Round};

use crate::Param;

/// The parameter `program`: the program that a case executes.
pub const PROGRAM: Param = Param::new("program", &["static"])
    .meaning(
        "a static ELF file whose only system call ends it, or the `true` that is \
         installed, with its libraries",
    )
    .full(&["static", "true"]);

/// Exit code of a child that executes nothing: neither success nor the code of a crash.
pub const EXIT_CODE: i32 = 7;

/// Minimum time of starting a process on any system.
const LEAST_TIME: Nanoseconds = Nanoseconds::new(1_000.0);

/// Times `start_and_reap`, which starts one child, waits for it and returns its exit code; each code must be `expected`.
///
/// # Errors
/// The reason why the first child was not started or ended otherwise; `Failed` if that happened to a later one; `Implausible` if
/// starting a process cannot take so little time.
pub fn time(
    round: &mut Round,
    name: &str,
    expected: i32,
    mut start_and_reap: impl FnMut() -> io::Result<i32>,
) -> Result<(), CaseError> {
    verify(name, expected, start_and_reap())?;
    let mut failures = 0u64;
    round.time(|| {
        let ended = black_box(start_and_reap());
        failures += u64::from(!ended.is_ok_and(|code| code == expected));
    })?;
    match failures {
        0 if round.median_time().is_some_and(|time| time < LEAST_TIME) => {
            Err(CaseError::Implausible(format!("{name} in less than 1 us: it did not happen")))
        }
        0 => Ok(()),
        n => Err(CaseError::Failed(format!("{name} worked at first, then failed {n} times"))),
    }
}

/// Verifies the end of one child.
///
/// # Errors
/// The reason why the child was not started or ended otherwise. A shortage of processes or memory is `Unsupported`.
pub fn verify(name: &str, expected: i32, ended: io::Result<i32>) -> Result<(), CaseError> {
    match ended {
        Ok(code) if code == expected => Ok(()),
        Ok(code) => {
            Err(CaseError::Failed(format!("{name}: exit code {code} instead of {expected}")))
        }
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::OutOfMemory) => {
            Err(CaseError::Unsupported(format!("{name}: {e}")))
        }
        Err(e) => Err(CaseError::from_io(name, &e)),
    }
}
