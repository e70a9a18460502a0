use super::mmap_munmap::TOUCH;
use super::size;
use crate::{Case, only};

/// Allocating private memory and freeing it.
pub const CASE: Case = Case {
    operation: "One VirtualAlloc that reserves and commits memory, with touch=yes a write to each page of it, and one \
                VirtualFree.",
    comparable_to: "The counterpart of memory/mmap-munmap.",
    params: &[size(&["4k", "1m"], &["4k", "64k", "1m", "16m", "256m"]), TOUCH],
    run,
    ..Case::new("memory", "virtual-alloc").on_windows()
};

#[only(windows)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use windows_sys::Win32::System::Memory::{
        MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc, VirtualFree,
    };

    use super::bytes_of;
    use crate::value_of;

    let (bytes, touch) = (bytes_of(params, "size", round)?, value_of(params, "touch")? == "yes");
    if touch {
        platform::memory::require(bytes as u64)?;
    }
    let page = platform::memory::page_size();
    // SAFETY: a new allocation touches nothing that exists; all of it is freed again.
    round.time_call("VirtualAlloc and VirtualFree", || unsafe {
        let kind = MEM_RESERVE | MEM_COMMIT;
        let place = VirtualAlloc(std::ptr::null(), bytes, kind, PAGE_READWRITE);
        if place.is_null() {
            return false;
        }
        if touch {
            for at in (0..bytes).step_by(page) {
                place.cast::<u8>().add(at).write_volatile(1);
            }
        }
        VirtualFree(place, 0, MEM_RELEASE) != 0
    })
}
