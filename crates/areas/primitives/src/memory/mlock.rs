use super::size;
use crate::{Case, Only, only};

/// Locking pages in memory.
pub const CASE: Case = Case {
    operation: "One mlock of memory whose pages all exist, and one munlock.",
    comparable_to: "stress-ng's `mlock` locks single pages.",
    only: Only::Unix("Windows has VirtualLock: see memory/virtual-lock"),
    params: &[size(&["4k"], &["4k", "64k", "1m", "16m"])],
    run,
    ..Case::new("memory", "mlock")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use measure::CaseError;

    use super::{bytes_of, populated};

    let bytes = bytes_of(params, "size", round)?;
    let region = populated(bytes)?;
    let start = region.start();
    // SAFETY: the range is the region.
    let lock_once = || unsafe {
        libc::mlock(start.cast(), bytes) == 0 && libc::munlock(start.cast(), bytes) == 0
    };
    if !lock_once() {
        let error = std::io::Error::last_os_error();
        let text = format!("mlock: {error}; the limit of locked memory is that of ulimit -l");
        return Err(CaseError::Unsupported(text));
    }
    round.expect_syscalls(2.0);
    round.time_call("mlock", lock_once)
}
