use super::clock;
use crate::{Case, Only, Param, only};

/// The parameter `fence`: whether a fence keeps the reading in program order.
pub const FENCE: Param = Param::new("fence", &["none", "lfence"])
    .meaning("whether an lfence keeps the reading in program order");

/// The time stamp counter.
pub const CASE: Case = Case {
    operation: "One rdtsc instruction; with fence=lfence after an lfence, so that all earlier \
                instructions have completed when the counter is read.",
    comparable_to: "The instruction by which the vDSO reads the time on most machines. stress-ng's \
                `--tsc` executes it in an unrolled loop. Without a fence the processor may read \
                the counter early, which shows as `back-across-cpus`.",
    only: Only::X86_64("an instruction of x86-64 processors"),
    params: &[FENCE],
    run,
    ..clock("rdtsc")
};

#[only(x86_64)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
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
        // SAFETY: the instruction exists on every x86-64; it touches no memory.
        super::measure_tsc(round, || unsafe { _rdtsc() })
    }
}
