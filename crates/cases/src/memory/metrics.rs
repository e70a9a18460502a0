//! The metrics of memory beside the time of one operation.

#![allow(missing_docs, reason = "each metric says what it means in its own text")]

use measure::{Metric, Role, TIME};

pub const BANDWIDTH: Metric = Metric::higher(
    "bandwidth",
    "bytes/s",
    "bytes of the buffers in a second, of all workers together; a copied byte counts once",
)
.with(Role::SameAs(TIME.name));

pub const BLOCK_RATE: Metric = Metric::higher(
    "rate",
    "blocks/s",
    "blocks allocated and freed in a second by all threads together",
)
.with(Role::SameAs(TIME.name));

/// A size found by measuring, and the one that the CPU or the system reports.
pub struct Detected {
    pub found: Metric,
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

pub const L1: Detected = detected!("l1-size", "the first-level data cache");
pub const L2: Detected = detected!("l2-size", "the second-level cache");
pub const LLC: Detected =
    detected!("llc-size", "the last-level cache, of which others on the machine may use a part");
pub const TLB_L1: Detected = detected!("tlb-l1-reach", "the reach of the first-level TLB");
pub const TLB_L2: Detected = detected!("tlb-l2-reach", "the reach of the second-level TLB");

pub const L1_LATENCY: Metric = Metric::lower("l1-latency", "ns", "a load from the L1 cache");
pub const L2_LATENCY: Metric = Metric::lower("l2-latency", "ns", "a load from the L2 cache");
pub const LLC_LATENCY: Metric =
    Metric::lower("llc-latency", "ns", "a load from the last-level cache");
pub const MEMORY_LATENCY: Metric =
    Metric::lower("memory-latency", "ns", "a load from memory, where hardly any misses the TLB");

/// The metrics of the sweep over sizes.
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
