use super::{VIA, clock};
use crate::{Case, on_linux};

/// The wall clock in whole seconds.
pub const CASE: Case = Case {
    operation: "One time, which returns whole seconds, by the C library's function or by a system \
                call.",
    comparable_to: "libMicro's `time` calls the C library's function. \
                clock/gettime{id=realtime-coarse} costs about as much and has a finer resolution.",
    params: &[VIA],
    run: on_linux!(|params, round| {
        use measure::{CaseError, Round};
        use std::hint::black_box;

        use measure::round::Mode;

        use super::{check_reading, properties};

        /// Measures a clock that ticks every second, for whose tick few rounds wait.
        ///
        /// # Errors
        /// Errors of [`super::measure_clock`].
        fn measure(round: &mut Round, read: impl Fn() -> u64 + Sync) -> Result<(), CaseError> {
            check_reading("time", read())?;
            round.time(|| {
                black_box(read());
            })?;
            let patience = match round.order().mode {
                Mode::Sample => properties::patience_for_the_second(),
                _ => properties::BRIEFLY,
            };
            properties::on_one_cpu(round, 1e9, patience, &read);
            properties::across_cpus(round, &read);
            check_reading("time", read())
        }

        if crate::value_of(params, "via")? == "vdso" {
            measure(round, || {
                // SAFETY: no copy of the result is requested.
                let seconds = unsafe { libc::time(std::ptr::null_mut()) };
                seconds.max(0) as u64
            })
        } else {
            platform::on_x86_64!(round, {
                round.expect_syscalls(1.0);
                measure(round, || {
                    // SAFETY: no copy of the result is requested.
                    let seconds = unsafe { libc::syscall(libc::SYS_time, 0usize) };
                    seconds.max(0) as u64
                })
            })
        }
    }),
    ..clock("time").on_linux()
};
