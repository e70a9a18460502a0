use super::size;
use crate::{Case, only};

/// Locking pages in memory.
pub const CASE: Case = Case {
    operation: "One VirtualLock of memory whose pages all exist, and one VirtualUnlock.",
    comparable_to: "The counterpart of memory/mlock.",
    // Windows locks no more memory than the minimum working set of a process.
    params: &[size(&["4k"], &["4k", "64k"])],
    run,
    ..Case::new("memory", "virtual-lock").on_windows()
};

#[only(windows)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use measure::CaseError;
    use windows_sys::Win32::System::Memory::{VirtualLock, VirtualUnlock};

    use super::{bytes_of, populated};

    let bytes = bytes_of(params, "size", round)?;
    let region = populated(bytes)?;
    let start = region.start();
    // SAFETY: the range is the region.
    let lock_once = || unsafe {
        VirtualLock(start.cast(), bytes) != 0 && VirtualUnlock(start.cast(), bytes) != 0
    };
    if !lock_once() {
        let error = std::io::Error::last_os_error();
        let text = format!("VirtualLock: {error}; it is limited by the least working set");
        return Err(CaseError::Unsupported(text));
    }
    round.time_call("VirtualLock", lock_once)
}
