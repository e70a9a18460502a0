use super::{VIA, clock};
use crate::{Case, only};

/// The wall clock, read by gettimeofday.
pub const CASE: Case = Case {
    operation: "One gettimeofday, by the C library's function or by a system call.",
    comparable_to: "libMicro's `gettimeofday` calls the C library's function, and stress-ng's \
                `--vdso` the vDSO's.",
    params: &[VIA],
    run,
    ..clock("gettimeofday").on_linux()
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use measure::{CaseError, Round};
    use std::hint::black_box;

    use super::{check_reading, report_properties};

    fn measure(
        round: &mut Round,
        read: impl Fn(&mut libc::timeval) + Sync,
    ) -> Result<(), CaseError> {
        let us = || {
            let mut now = libc::timeval { tv_sec: 0, tv_usec: 0 };
            read(&mut now);
            now.tv_sec as u64 * 1_000_000 + now.tv_usec as u64
        };
        check_reading("gettimeofday", us())?;
        let mut now = libc::timeval { tv_sec: 0, tv_usec: 0 };
        round.time(|| {
            read(&mut now);
            black_box(&mut now);
        })?;
        report_properties(round, 1e3, us);
        check_reading("gettimeofday", us())
    }

    if crate::value_of(params, "via")? == "vdso" {
        measure(round, |now| {
            // SAFETY: `now` is a valid buffer for the reading; the time zone is not requested.
            unsafe { libc::gettimeofday(now, std::ptr::null_mut()) };
        })
    } else {
        round.expect_syscalls(1.0);
        measure(round, |now| {
            // SAFETY: `now` is a valid buffer for the reading; the time zone is not requested.
            unsafe { libc::syscall(libc::SYS_gettimeofday, &raw mut *now, 0usize) };
        })
    }
}
