use super::{VIA, clock};
use crate::{Case, Param, only};

const CLOCKS: &[&str] = &[
    "realtime",
    "monotonic",
    "process-cputime",
    "thread-cputime",
    "monotonic-raw",
    "realtime-coarse",
    "monotonic-coarse",
    "boottime",
    "realtime-alarm",
    "boottime-alarm",
    "tai",
];

/// The clocks that most programs use; each of the others is read like one of these.
const USUAL_CLOCKS: &[&str] = CLOCKS.split_at(7).0;

/// All clocks of the kernel.
pub const CASE: Case = Case {
    operation: "One clock_gettime of the clock `id`, by the C library's function or by a system \
                call.",
    comparable_to: "libMicro's `clock_gettime` reads the realtime clock by the C library's \
                function, and stress-ng's `--vdso` the monotonic one by the vDSO's function. A \
                clock that the vDSO lacks is read by a system call either way, as the number of \
                system calls shows.",
    params: &[
        Param::new("id", USUAL_CLOCKS).meaning("the clock, as in CLOCK_REALTIME").full(CLOCKS),
        VIA,
    ],
    run,
    ..clock("gettime").on_linux()
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::hint::black_box;

    use measure::{CaseError, Round};

    use super::properties;
    use crate::value_of;

    /// Measures the cost and the properties of the clock that `read` reads.
    fn measure(
        round: &mut Round,
        is_shared: bool,
        read: impl Fn(&mut libc::timespec) + Sync,
    ) -> Result<(), CaseError> {
        check(&read)?;
        let mut now = NOT_READ;
        round.time(|| {
            read(&mut now);
            black_box(&mut now);
        })?;
        let ns = || {
            let mut now = NOT_READ;
            read(&mut now);
            now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
        };
        properties::on_one_cpu(round, 1.0, properties::UNTIL_TICK, ns);
        if is_shared {
            properties::across_cpus(round, ns);
        }
        check(&read)
    }

    /// The content of the buffer before a call, and after one that failed; no clock returns it.
    const NOT_READ: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: -1 };

    fn check(read: impl Fn(&mut libc::timespec)) -> Result<(), CaseError> {
        let mut now = NOT_READ;
        read(&mut now);
        if now.tv_nsec >= 0 {
            return Ok(());
        }
        match std::io::Error::last_os_error() {
            e if e.raw_os_error() == Some(libc::EINVAL) => {
                Err(CaseError::Unsupported("this system has no such clock".into()))
            }
            e => Err(CaseError::from_io("clock_gettime", &e)),
        }
    }

    let id = match value_of(params, "id")? {
        "realtime" => libc::CLOCK_REALTIME,
        "monotonic" => libc::CLOCK_MONOTONIC,
        "process-cputime" => libc::CLOCK_PROCESS_CPUTIME_ID,
        "thread-cputime" => libc::CLOCK_THREAD_CPUTIME_ID,
        "monotonic-raw" => libc::CLOCK_MONOTONIC_RAW,
        "realtime-coarse" => libc::CLOCK_REALTIME_COARSE,
        "monotonic-coarse" => libc::CLOCK_MONOTONIC_COARSE,
        "boottime" => libc::CLOCK_BOOTTIME,
        "realtime-alarm" => libc::CLOCK_REALTIME_ALARM,
        "boottime-alarm" => libc::CLOCK_BOOTTIME_ALARM,
        "tai" => libc::CLOCK_TAI,
        other => return Err(CaseError::Unsupported(format!("there is no clock {other}"))),
    };

    // The call writes to the final buffer: a copy of the reading would wait for the call's stores.
    let by_vdso = |now: &mut libc::timespec| {
        // SAFETY: `now` is a valid buffer for the reading.
        unsafe { libc::clock_gettime(id, now) };
    };
    let by_syscall = |now: &mut libc::timespec| {
        // SAFETY: `now` is a valid buffer for the reading.
        unsafe { libc::syscall(libc::SYS_clock_gettime, id, &raw mut *now) };
    };
    // Each thread has its own CPU time, so readings of two threads cannot be compared.
    let is_shared = id != libc::CLOCK_THREAD_CPUTIME_ID;
    if value_of(params, "via")? == "vdso" {
        measure(round, is_shared, by_vdso)
    } else {
        round.expect_syscalls(1.0);
        measure(round, is_shared, by_syscall)
    }
}
