use super::{VIA, clock};
use crate::{Case, only};

/// The wall clock in whole seconds.
pub const CASE: Case = Case {
    operation: "One time, which returns whole seconds, by the C library's function or by a system \
                call.",
    comparable_to: "libMicro's `time` calls the C library's function. \
                clock/gettime{id=realtime-coarse} costs about as much and has a finer resolution.",
    params: &[VIA],
    run,
    ..clock("time").on_linux()
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    if crate::value_of(params, "via")? == "vdso" {
        measure(round, || {
            // SAFETY: no copy of the result is requested.
            let seconds = unsafe { libc::time(std::ptr::null_mut()) };
            seconds.max(0) as u64
        })
    } else {
        by_system_call(round)
    }
}

#[cfg(target_os = "linux")]
#[only(x86_64)]
fn by_system_call(round: &mut measure::Round) -> Result<(), measure::CaseError> {
    round.expect_syscalls(1.0);
    measure(round, || {
        // SAFETY: no copy of the result is requested.
        let seconds = unsafe { libc::syscall(libc::SYS_time, 0usize) };
        seconds.max(0) as u64
    })
}

/// Measures a clock that ticks every second, for whose tick few rounds wait.
///
/// # Errors
/// Errors of [`super::measure_clock`].
#[cfg(target_os = "linux")]
fn measure(
    round: &mut measure::Round,
    read: impl Fn() -> u64 + Sync,
) -> Result<(), measure::CaseError> {
    use super::{check_reading, properties};

    check_reading("time", read())?;
    round.time(|| {
        std::hint::black_box(read());
    })?;
    let patience = match round.order().mode {
        measure::round::Mode::Sample => properties::patience_for_the_second(),
        _ => properties::BRIEFLY,
    };
    properties::on_one_cpu(round, 1e9, patience, &read);
    properties::across_cpus(round, &read);
    check_reading("time", read())
}
