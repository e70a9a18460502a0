//! Metrics of memory besides the time of one operation.

use measure::{Metric, Role, TIME, metrics};

metrics! {
    BANDWIDTH = higher("bandwidth", "bytes/s").with(Role::SameAs(TIME.name)),
        "bytes of the buffers in a second, of all workers together; a copied byte counts once";
    BLOCK_RATE = higher("rate", "blocks/s").with(Role::SameAs(TIME.name)),
        "blocks allocated and freed in a second by all threads together";
}

/// Metrics of a detected size, and of the size that the CPU or the system reports.
pub struct Detected {
    /// The size in KiB from which loads take longer.
    pub found: Metric,
    /// The size in KiB that the CPU or the system reports.
    pub reported: Metric,
}

macro_rules! detected {
    ($name:literal, $what:literal) => {
        Detected {
            found: Metric::neutral(
                $name,
                "KiB",
                concat!($what, ": the size from which loads take longer"),
            ),
            reported: Metric::neutral(
                concat!($name, "-reported"),
                "KiB",
                concat!($what, ", as the CPU or the system reports it"),
            ),
        }
    };
}

/// The size of the first-level data cache.
pub const L1: Detected = detected!("l1-size", "the first-level data cache");
/// The size of the second-level cache.
pub const L2: Detected = detected!("l2-size", "the second-level cache");
/// The size of the last-level cache.
pub const LLC: Detected =
    detected!("llc-size", "the last-level cache, of which others on the machine may use a part");
/// The reach of the first-level TLB.
pub const TLB_L1: Detected = detected!("tlb-l1-reach", "the reach of the first-level TLB");
/// The reach of the second-level TLB.
pub const TLB_L2: Detected = detected!("tlb-l2-reach", "the reach of the second-level TLB");

metrics! {
    L1_LATENCY = lower("l1-latency", "ns"), "a load from the L1 cache";
    L2_LATENCY = lower("l2-latency", "ns"), "a load from the L2 cache";
    LLC_LATENCY = lower("llc-latency", "ns"), "a load from the last-level cache";
    MEMORY_LATENCY = lower("memory-latency", "ns"), "a load from memory, where hardly any misses the TLB";
}

/// Metrics of the sweep over sizes.
pub const CACHES: &[Metric] = &[
    L1.found,
    L1.reported,
    L2.found,
    L2.reported,
    LLC.found,
    LLC.reported,
    TLB_L1.found,
    TLB_L1.reported,
    TLB_L2.found,
    TLB_L2.reported,
    L1_LATENCY,
    L2_LATENCY,
    LLC_LATENCY,
    MEMORY_LATENCY,
];
