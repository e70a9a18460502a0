use measure::{Params, Refusal, Round};
use platform::on_linux;

use super::{METRICS, VIA};
use crate::{Case, Only};

/// The wall clock as older programs read it.
pub const CASE: Case = Case {
    area: "clock",
    name: "gettimeofday",
    operation: "One gettimeofday, by the C library's function or by the system call itself.",
    alike: "libMicro's `gettimeofday` calls the C library's function.",
    only: Only::Linux("measured on Linux only"),
    params: &[VIA],
    metrics: METRICS,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), Refusal> {
    on_linux!(params, round, {
        use super::{check_reading, measure_clock};
        use crate::value_of;

        fn by_vdso() -> libc::timeval {
            let mut now = libc::timeval { tv_sec: 0, tv_usec: 0 };
            // SAFETY: `now` is a valid place for the reading; no time zone is asked for.
            unsafe { libc::gettimeofday(&mut now, std::ptr::null_mut()) };
            now
        }

        fn by_syscall() -> libc::timeval {
            let mut now = libc::timeval { tv_sec: 0, tv_usec: 0 };
            // SAFETY: `now` is a valid place for the reading; no time zone is asked for.
            unsafe { libc::syscall(libc::SYS_gettimeofday, &mut now, 0usize) };
            now
        }

        fn us(now: libc::timeval) -> u64 {
            now.tv_sec as u64 * 1_000_000 + now.tv_usec as u64
        }

        let check = |now| check_reading("gettimeofday", us(now));
        if value_of(params, "via")? == "vdso" {
            check(by_vdso())?;
            measure_clock(round, 1e3, by_vdso, us)?;
            check(by_vdso())
        } else {
            check(by_syscall())?;
            round.expect_syscalls(1.0);
            measure_clock(round, 1e3, by_syscall, us)?;
            check(by_syscall())
        }
    })
}
