use super::clock;
use super::rdtsc::FENCE;
use crate::{Case, Only, only};

/// The time stamp counter together with the processor's number.
pub const CASE: Case = Case {
    operation: "One rdtscp instruction, which waits until all earlier instructions have completed; \
                with fence=lfence followed by an lfence, so that no later instruction starts \
                before.",
    comparable_to: "Hand-written timing loops often begin with clock/rdtsc and end with this \
                instruction; stress-ng's `--tsc` executes rdtsc.",
    only: Only::X86_64("an instruction of x86-64 processors"),
    params: &[FENCE],
    run,
    ..clock("rdtscp")
};

#[only(x86_64)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use crate::value_of;
    use std::arch::x86_64::{__cpuid, __rdtscp, _mm_lfence};

    // CPUID 8000_0001h, EDX bit 27 (Intel SDM vol. 2A, "RDTSCP").
    if __cpuid(0x8000_0001).edx & (1 << 27) == 0 {
        return Err(measure::CaseError::Unsupported("this processor has no rdtscp".into()));
    }
    if value_of(params, "fence")? == "lfence" {
        super::measure_tsc(round, || {
            let mut processor = 0;
            // SAFETY: the instructions exist; `processor` is a valid buffer.
            unsafe {
                let ticks = __rdtscp(&mut processor);
                _mm_lfence();
                ticks
            }
        })
    } else {
        super::measure_tsc(round, || {
            let mut processor = 0;
            // SAFETY: the instruction exists; `processor` is a valid buffer.
            unsafe { __rdtscp(&mut processor) }
        })
    }
}
