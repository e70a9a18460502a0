use super::sleep;
use crate::{Case, Only, only};

/// Timeout of an io_uring, beside other requests.
pub const CASE: Case = Case {
    operation: "One timeout request through io_uring, submitted and waited for by one io_uring_enter. Its timer has no \
                slack.",
    comparable_to: "No other tool measures it.",
    only: Only::Linux("io_uring exists only on Linux"),
    run,
    ..sleep("io-uring")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use io_uring::types::Timespec;
    use io_uring::{IoUring, opcode};
    use measure::CaseError;

    let mut ring = IoUring::new(1).map_err(|e| platform::uring::error_of("io_uring_setup", &e))?;
    let sleeper =
        super::Sleeper { name: "io_uring's timeout", syscalls: 1.0, may_end_early: false };
    super::measure(params, round, sleeper, |length, _| {
        let time = Timespec::new().sec(length.as_secs()).nsec(length.subsec_nanos());
        let request = opcode::Timeout::new(&time).build();
        // SAFETY: the time lives until the request is submitted, when it is copied.
        let queued = unsafe { ring.submission().push(&request) };
        debug_assert!(queued.is_ok());
        ring.submit_and_wait(1).map_err(|e| CaseError::from_io("io_uring_enter", &e))?;
        let results = ring.completion().map(|entry| entry.result());
        match results.collect::<Vec<_>>()[..] {
            [result] if result == -libc::ETIME => Ok(()),
            [result] => {
                let error = std::io::Error::from_raw_os_error(-result);
                Err(CaseError::from_io("a timeout of io_uring", &error))
            }
            _ => Err(CaseError::Failed("a timeout did not complete".into())),
        }
    })
}
