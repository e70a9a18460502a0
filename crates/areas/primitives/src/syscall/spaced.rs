use crate::{Case, Only, Param, Takes, only};

measure::metrics! {
    /// What remains of an operation without its work.
    const METRICS: [
        CALL = lower("call", "ns"),
            "the time of the call alone: the operation's without that of its work, as measured after it; within some 100 ns";
    ]
}

/// A system call now and then: a sandbox or a kernel under another one may be fast only for a thread that keeps calling.
pub const CASE: Case = Case {
    operation: "One system call, then work outside of the kernel.",
    comparable_to: "Without work it is syscall/getppid and syscall/read-1.",
    only: Only::Unix("measured on Unix-like systems only"),
    core_bound: true,
    params: &[
        Param::new("call", &["getppid", "read-1"])
            .meaning("getppid, or read of one byte from /dev/zero"),
        Param::new("outside", &["none", "20us"])
            .meaning("CPU-bound work after each call: none, or a calibrated length")
            .takes(Takes::Work(&[])),
    ],
    metrics: METRICS,
    run,
    ..Case::new("syscall", "spaced")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::fs::File;
    use std::io::Read;

    use measure::CaseError;

    match crate::value_of(params, "call")? {
        "getppid" => {
            // SAFETY: takes no argument and cannot fail.
            spaced(params, round, "getppid", || unsafe { libc::getppid() } >= 0)
        }
        _ => {
            let file = File::open("/dev/zero");
            let mut file = file.map_err(|e| CaseError::from_io("/dev/zero", &e))?;
            let mut byte = [1];
            spaced(params, round, "read", || matches!(file.read(&mut byte), Ok(1)))
        }
    }
}

/// Measures `call`, which returns whether it succeeded, with the work that `params` describe after each.
#[cfg(unix)]
fn spaced(
    params: &measure::Params,
    round: &mut measure::Round,
    name: &str,
    mut call: impl FnMut() -> bool,
) -> Result<(), measure::CaseError> {
    round.expect_syscalls(1.0);
    if crate::value_of(params, "outside")? == "none" {
        return round.time_call(name, call);
    }
    let work = round.work()?.of_length(crate::length_of(params, "outside")?);
    round.time_call(name, || {
        let is_done = call();
        work.run();
        is_done
    })?;
    let whole = round.median_time();
    let call = whole.map(|whole| whole.get() - time_of(|| work.run()));
    round.metric(&CALL, call.filter(|&ns| ns > 0.0));
    Ok(())
}

/// The median time of `work` in ns, of batches of eight.
#[cfg(unix)]
fn time_of(work: impl Fn()) -> f64 {
    const BATCH: u32 = 8;
    let time = |_| {
        let watch = measure::time::Stopwatch::start();
        (0..BATCH).for_each(|_| work());
        watch.stop().get() / f64::from(BATCH)
    };
    measure::stats::median(&mut (0..31).map(time).collect::<Vec<f64>>())
}
