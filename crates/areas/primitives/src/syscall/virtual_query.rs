use crate::{Case, only};

/// Looking up a region of the process's own address space.
pub const CASE: Case = Case {
    operation: "One VirtualQuery of the region that holds a local variable.",
    comparable_to: "Linux has no such call: a program reads /proc/self/maps, or calls mincore for \
                the residency of pages.",
    core_bound: true,
    run,
    ..Case::new("syscall", "virtual-query").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use windows_sys::Win32::System::Memory::{MEMORY_BASIC_INFORMATION, VirtualQuery};

    let size = size_of::<MEMORY_BASIC_INFORMATION>();
    // SAFETY: an all-zero structure is valid.
    let mut region: MEMORY_BASIC_INFORMATION = unsafe { std::mem::zeroed() };
    let place = (&raw const size).cast();
    // SAFETY: `region` has the size passed; the address is only looked up.
    round.time_call("VirtualQuery", || unsafe { VirtualQuery(place, &mut region, size) == size })
}
