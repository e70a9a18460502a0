use platform::on_x86_64;

use super::METRICS;
use crate::{Case, Only, Param, Takes};

/// Whether a fence keeps the reading in program order.
pub const FENCE: Param = Param {
    name: "fence",
    meaning: "whether an lfence keeps the reading in program order",
    default: &["none", "lfence"],
    full: &["none", "lfence"],
    takes: Takes::Words(&[]),
};

/// The time stamp counter.
pub const CASE: Case = Case {
    area: "clock",
    name: "rdtsc",
    operation: "One rdtsc instruction; with fence=lfence after an lfence, so that all earlier \
                instructions have completed when the counter is read.",
    comparable_to: "The instruction by which the vDSO reads the time on most machines. stress-ng's \
                `--tsc` executes it in an unrolled loop. Without a fence the processor may read \
                the counter early, which shows as `back-across-cpus`.",
    only: Only::X86_64("an instruction of x86-64 processors"),
    core_bound: true,
    trials: None,
    params: &[FENCE],
    metrics: METRICS,
    run: |params, round| {
        on_x86_64!(params, round, {
            use crate::value_of;
            use std::arch::x86_64::{_mm_lfence, _rdtsc};

            if value_of(params, "fence")? == "lfence" {
                super::measure_tsc(round, || {
                    // SAFETY: both instructions exist on every x86-64; they touch no memory.
                    unsafe {
                        _mm_lfence();
                        _rdtsc()
                    }
                })
            } else {
                // SAFETY: as above.
                super::measure_tsc(round, || unsafe { _rdtsc() })
            }
        })
    },
};
