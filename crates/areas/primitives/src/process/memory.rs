use std::time::Duration;

use measure::count::parse_size;
use measure::{CaseError, Params};

use super::metrics::{SPAWN, SPAWN_FROM};
use crate::{Case, Extent, Only, Param, Takes, Trials, only, value_of};

/// Approximate time for which a trial forks and spawns, and bounds of the number of turns.
const LONG_ENOUGH: Duration = Duration::from_millis(60);
const TIMES: std::ops::RangeInclusive<u32> = 4..=100;

/// Effect of the size of a process on its forks, and on its spawns.
pub const CASE: Case = Case {
    operation: "One fork whose child ends at once with _exit, and one waitpid that returns its \
                exit code, of a process with this resident memory in private pages that were \
                written; parent and child on one CPU; the time is the median of a trial. Beside it \
                `spawn`: posix_spawn of the program of process/posix-spawn, by turns.",
    comparable_to: "process/fork and process/posix-spawn are the same in a process of a few MiB. \
            lmbench and UnixBench fork only small processes.",
    only: Only::Unix("CreateProcess copies no memory: see process/create-process"),
    trials: Some(Trials { includes, on_host: true, ..Trials::new(takes) }),
    params: &[
        Param::new("memory", &["1m", "16m", "128m", "1g"])
            .meaning("the resident memory of the parent, beside its own few MiB")
            .full(&["1m", "4m", "16m", "64m", "256m", "1g", "4g"])
            .takes(Takes::Words(&["2m", "8m", "32m", "512m", "2g", "8g", "16g", "32g", "64g"])),
        Param::new("pages", &["base", "huge"])
            .meaning("whether it is in base pages or in transparent huge pages"),
    ],
    metrics: &[SPAWN, SPAWN_FROM],
    run,
    ..Case::new("process", "memory")
};

#[only(unix)]
fn run(params: &Params, round: &mut measure::Round) -> Result<(), CaseError> {
    use std::io;

    use measure::stats::median;
    use measure::trial::{Timed, TrialContext};
    use platform::memory::Pages;
    use platform::process::program::{Program, reap};

    use super::common::{EXIT_CODE, verify};

    let cpu = round.order().cpus.last().copied().into_iter().collect::<Vec<_>>();
    let context = TrialContext::new(round, &cpu)?;
    let clock = context.clock();
    let program = Program::tiny()?;
    let pages = if value_of(params, "pages")? == "huge" { Pages::Huge } else { Pages::Base };
    let bytes = usize::try_from(bytes_of(params)?)
        .map_err(|_| CaseError::Unsupported("more than this processor addresses".into()))?;
    let _memory = super::resident_memory::allocate(bytes, pages)?;
    let fork = || {
        // SAFETY: the child ends at once, by an async-signal-safe call.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: ends the child and runs nothing of the parent's.
            0 => unsafe { libc::_exit(EXIT_CODE) },
            pid => reap(pid),
        }
    };
    let spawn = || program.spawn().and_then(reap);
    let times = times(params) * round.times_as_long();
    // The host's counts are those of forks alone.
    let is_by_turns = !round.is_counting();
    let mut trial = round.trial_of(&context, || {
        let (mut forks, mut spawns) = (Vec::new(), Vec::new());
        // The first turn is not counted: it may create objects that later turns reuse.
        for turn in 0..=times {
            let begin = clock.now();
            let forked = fork();
            let between = clock.now();
            let spawned = is_by_turns.then(spawn);
            let end = clock.now();
            verify("fork", EXIT_CODE, forked)?;
            spawned.map_or(Ok(()), |code| verify("posix_spawn", program.exit_code(), code))?;
            if turn > 0 {
                forks.push(clock.between(begin, between).get());
                spawns.push(clock.between(between, end).get());
            }
        }
        let took = Duration::from_nanos((median(&mut forks) * f64::from(times)) as u64);
        Ok(Timed { value: spawns, operations: u64::from(times), took })
    })?;
    if is_by_turns {
        round.metric(&SPAWN, median(&mut trial.value));
    }
    Ok(())
}

/// Whether a run measures the point. Huge pages need at least 8 MiB, and a gibibyte of them takes seconds to write; a quick run
/// measures two sizes in base pages.
fn includes(params: &Params, extent: Extent) -> bool {
    const SOME_HUGE_PAGES: u64 = 8 << 20;
    const GIBIBYTE: u64 = 1 << 30;
    let bytes = bytes_of(params).unwrap_or_default();
    let is_huge = value_of(params, "pages").is_ok_and(|pages| pages == "huge");
    let is_small = value_of(params, "memory").is_ok_and(|memory| ["1m", "128m"].contains(&memory));
    match extent {
        Extent::Quick => !is_huge && is_small,
        Extent::Ordinary => !is_huge || (SOME_HUGE_PAGES..GIBIBYTE).contains(&bytes),
        Extent::Full => !is_huge || bytes >= SOME_HUGE_PAGES,
    }
}

fn bytes_of(params: &Params) -> Result<u64, CaseError> {
    parse_size(value_of(params, "memory")?)
        .map_err(|e| CaseError::Failed(format!("parameter memory: {e}")))
}

/// Approximate time of one fork and one spawn together, by the number of pages whose entries are copied.
fn one_takes(params: &Params) -> Duration {
    const PAIR: Duration = Duration::from_micros(400);
    const A_MEBIBYTE: Duration = Duration::from_micros(40);
    let mebibytes = (bytes_of(params).unwrap_or_default() >> 20) as u32;
    let is_huge = value_of(params, "pages").is_ok_and(|pages| pages == "huge");
    PAIR + A_MEBIBYTE * if is_huge { mebibytes / 100 } else { mebibytes }
}

fn times(params: &Params) -> u32 {
    let fitting = LONG_ENOUGH.as_nanos() / one_takes(params).as_nanos();
    (fitting as u32).clamp(*TIMES.start(), *TIMES.end())
}

/// Approximate duration of a trial: writing the memory, then forking and spawning.
fn takes(params: &Params) -> Duration {
    const WRITING_A_MEBIBYTE: Duration = Duration::from_micros(300);
    let mebibytes = (bytes_of(params).unwrap_or_default() >> 20) as u32;
    WRITING_A_MEBIBYTE * mebibytes + one_takes(params) * times(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(memory: &str, pages: &str) -> Params {
        [("memory", memory), ("pages", pages)].map(|(k, v)| (k.to_owned(), v.to_owned())).into()
    }

    #[test]
    fn a_run_has_few_points_of_each_kind_of_page() {
        let count = |extent, values: &[&str]| {
            let points = values.iter().flat_map(|m| [params(m, "base"), params(m, "huge")]);
            points.filter(|point| includes(point, extent)).count()
        };
        let memory = &CASE.params[0];
        assert_eq!(count(Extent::Quick, memory.default), 2);
        assert_eq!(count(Extent::Ordinary, memory.default), 6);
        assert_eq!(count(Extent::Full, memory.full), 12);
    }

    #[test]
    fn a_trial_of_much_memory_forks_less_often() {
        assert!(times(&params("1m", "base")) > times(&params("1g", "base")));
        assert_eq!(times(&params("4g", "base")), *TIMES.start());
        assert!(takes(&params("4g", "base")) > takes(&params("1g", "base")));
        assert!(takes(&params("1g", "base")) < Duration::from_secs(1));
    }
}
