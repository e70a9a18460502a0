use super::{OTHERS, size};
use crate::{Case, Only, only};

/// Removing the permission to write, and restoring it.
pub const CASE: Case = Case {
    operation: "One mprotect of memory, whose pages all exist, to read-only, one back to read and write, and a write to \
                its first byte. The first must flush the TLBs of all CPUs that run a thread of the process.",
    comparable_to: "libMicro's `mprotect` changes the protection of a mapped file. Garbage collectors and just-in-time \
                    compilers make such pairs.",
    only: Only::Unix("Windows has VirtualProtect: see memory/virtual-protect"),
    params: &[size(&["4k"], &["4k", "64k", "1m", "16m", "256m"]), OTHERS],
    run,
    ..Case::new("memory", "mprotect")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::{Other, bytes_of, populated};

    let bytes = bytes_of(params, "size", round)?;
    let region = populated(bytes)?;
    let _other = Other::asked_for(params, round)?;
    let start = region.start();
    round.expect_syscalls(2.0);
    round.time_call("mprotect", || {
        let both = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the range is the region, which is written to only while that is permitted.
        unsafe {
            let done = libc::mprotect(start.cast(), bytes, libc::PROT_READ) == 0
                && libc::mprotect(start.cast(), bytes, both) == 0;
            if done {
                start.write_volatile(1);
            }
            done
        }
    })
}
