use super::size;
use crate::{Case, Only, Param, only};

/// Mapping private memory and unmapping it.
pub const CASE: Case = Case {
    operation: "One mmap of private anonymous memory, with touch=yes a write to each page of it, and one munmap.",
    comparable_to: "will-it-scale's `mmap1` and `mmap2` map 128 MiB and touch nothing; its `page_fault1` touches every \
                    page. lmbench's `lat_mmap` maps a file and touches some of its pages.",
    only: Only::Unix("Windows has VirtualAlloc: see memory/virtual-alloc"),
    params: &[size(&["4k", "1m"], &["4k", "64k", "1m", "16m", "256m"]), TOUCH],
    run,
    ..Case::new("memory", "mmap-munmap")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::bytes_of;
    use crate::value_of;

    let (bytes, touch) = (bytes_of(params, "size", round)?, value_of(params, "touch")? == "yes");
    let page = platform::memory::page_size();
    if touch {
        platform::memory::require(bytes as u64)?;
        round.expect_faults(bytes.div_ceil(page) as f64);
    }
    round.expect_syscalls(2.0);
    // SAFETY: a new mapping touches nothing that exists; all of it is unmapped again.
    round.time_call("mmap and munmap", || unsafe {
        let place = libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANON,
            -1,
            0,
        );
        if place == libc::MAP_FAILED {
            return false;
        }
        if touch {
            for at in (0..bytes).step_by(page) {
                place.cast::<u8>().add(at).write_volatile(1);
            }
        }
        libc::munmap(place, bytes) == 0
    })
}

/// The parameter `touch`: whether the memory is used.
pub const TOUCH: Param = Param::new("touch", &["no", "yes"])
    .meaning("whether each page is written to before it is given back");
