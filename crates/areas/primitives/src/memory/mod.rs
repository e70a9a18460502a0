//! Costs of memory: loads and bandwidth, page faults, mappings, and the allocator.

mod bandwidth;
mod boundaries;
mod brk;
mod caches;
mod chain;
mod common;
mod fault_anonymous;
mod fault_file;
mod fault_huge;
mod fault_userfaultfd;
mod load;
mod madvise;
pub(crate) mod malloc;
mod malloc_threads;
pub mod metrics;
mod mlock;
mod mmap_munmap;
mod mprotect;
mod mremap;
mod permutation;
mod pointer_chase;
mod stream;
mod virtual_alloc;
mod virtual_lock;
mod virtual_protect;

pub(crate) use common::*;

use measure::{Params, TIME};

use crate::{Area, Case, Counterpart, Extent, Finding, Need, Select, SummaryRow};

/// The area.
pub static AREA: Area = Area {
    needs: &[
        Need {
            cases: &["mlock"],
            what: "a limit of locked memory of the largest size: 4 KiB by default, 16 MiB with --full (ulimit -l), or CAP_IPC_LOCK",
        },
        Need {
            cases: &["virtual-lock"],
            what: "a minimum working set larger than the locked size (SetProcessWorkingSetSize)",
        },
        Need {
            cases: &["fault-huge"],
            what: "transparent huge pages on request (/sys/kernel/mm/transparent_hugepage/enabled: madvise or always)",
        },
        Need {
            cases: &["fault-userfaultfd"],
            what: "Linux 5.11, vm.unprivileged_userfaultfd=1 or CAP_SYS_PTRACE",
        },
        Need {
            cases: &["load", "bandwidth", "madvise", "malloc-live"],
            what: "free memory of about twice the largest size; huge pages as fault-huge",
        },
    ],
    includes,
    summary: &[
        SummaryRow::time("memory load (256 MiB)", BASE_PAGES),
        SummaryRow::time("page fault (anonymous memory)", Select::case("memory/fault-anonymous")),
    ],
    findings: &[Finding::Ratio {
        of: BASE_PAGES,
        to: Select::point("memory/load", &[("size", "256m"), ("pages", "huge")]),
        metric: &TIME,
        greater: "A load within 256 MiB takes {} as long without huge pages.",
        less: "A load within 256 MiB takes {} as long with huge pages.",
        equal: "Huge pages do not change the time of a load within 256 MiB ({}).",
    }],
    counterparts: &[
        Counterpart::cases("memory/mmap-munmap", "memory/virtual-alloc"),
        Counterpart::cases("memory/mprotect", "memory/virtual-protect"),
        Counterpart::cases("memory/mlock", "memory/virtual-lock"),
    ],
    ..Area::new("memory", CASES)
};

const BASE_PAGES: Select = Select::point("memory/load", &[("size", "256m"), ("pages", "base")]);

/// Cases of the area.
const CASES: &[&Case] = &[
    &load::L1,
    &load::CASE,
    &caches::CASE,
    &bandwidth::CASE,
    &fault_anonymous::WRITE,
    &fault_anonymous::READ,
    &fault_file::READ,
    &fault_file::COPY,
    &fault_huge::CASE,
    &fault_userfaultfd::CASE,
    &mmap_munmap::CASE,
    &mprotect::CASE,
    &mremap::CASE,
    &madvise::CASE,
    &brk::CASE,
    &mlock::CASE,
    &malloc::PAIR,
    &malloc::LIVE_BLOCKS,
    &malloc_threads::CASE,
    &virtual_alloc::CASE,
    &virtual_protect::CASE,
    &virtual_lock::CASE,
];

/// Whether a run measures the point: huge pages only where they differ most from base pages; a quick run has none, and fewer
/// sizes.
fn includes(params: &Params, extent: Extent) -> bool {
    let has = |name: &str, values: &[&str]| {
        params.get(name).is_some_and(|own| values.contains(&own.as_str()))
    };
    let is_huge = has("pages", &["huge"]);
    match extent {
        Extent::Full => true,
        Extent::Ordinary => !is_huge || has("size", &["256m"]),
        Extent::Quick => !is_huge && !has("size", &["64k", "256k", "1m", "4m"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// brk moves the end of the heap, which belongs to the allocator of all tests: `tests/alone/heap.rs` measures it alone.
    #[test]
    fn every_case_but_brk_gives_samples_and_counts_as_declared() {
        let cases = CASES.iter().copied().filter(|case| case.name != brk::CASE.name);
        rehearsal::check(&cases.collect::<Vec<_>>());
    }
}
