use super::{OTHERS, size};
use crate::{Case, only};

/// Removing the permission to write, and restoring it.
pub const CASE: Case = Case {
    operation: "One VirtualProtect of memory, whose pages all exist, to read-only, one back to read and write, and a \
                write to its first byte.",
    comparable_to: "The counterpart of memory/mprotect.",
    params: &[size(&["4k"], &["4k", "64k", "1m", "16m", "256m"]), OTHERS],
    run,
    ..Case::new("memory", "virtual-protect").on_windows()
};

#[only(windows)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use windows_sys::Win32::System::Memory::{PAGE_READONLY, PAGE_READWRITE, VirtualProtect};

    use super::{Other, bytes_of, populated};

    let bytes = bytes_of(params, "size", round)?;
    let region = populated(bytes)?;
    let _other = Other::asked_for(params, round)?;
    let start = region.start();
    round.time_call("VirtualProtect", || {
        let (mut first, mut second) = (0, 0);
        // SAFETY: the range is the region, which is written to only while that is permitted.
        unsafe {
            let done = VirtualProtect(start.cast(), bytes, PAGE_READONLY, &mut first) != 0
                && VirtualProtect(start.cast(), bytes, PAGE_READWRITE, &mut second) != 0;
            if done {
                start.write_volatile(1);
            }
            done && (first, second) == (PAGE_READWRITE, PAGE_READONLY)
        }
    })
}
