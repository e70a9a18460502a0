use measure::Params;
use std::time::Duration;

use crate::{Case, Only, Trials, only};

/// Number of children of a trial.
const CHILDREN: u32 = 300;

/// Ending a process, without starting it.
pub const CASE: Case = Case {
    operation: "From a mark that a forked child sets just before _exit until the parent's waitpid, \
                which began before, returns on the same CPU; the time is the median of a trial's \
                300 children.",
    comparable_to: "libMicro's `exit` measures a batch of children, from a barrier that starts \
            them all until the last wait, divided by their number. The difference to process/fork \
            is the start.",
    only: Only::Unix("Windows has no fork; see process/create-process"),
    trials: Some(Trials::new(takes)),
    run,
    ..Case::new("process", "exit")
};

#[only(unix)]
fn run(_: &Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::io;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use measure::stats::median;
    use measure::time::Ticks;
    use measure::trial::{Timed, TrialContext};
    use platform::memory::shared::Shared;
    use platform::process::program::reap;

    use super::common::{EXIT_CODE, verify};

    /// Memory that parent and child share.
    struct Marks {
        waiting: AtomicBool,
        leaving: AtomicU64,
    }

    let cpu = round.order().cpus.last().copied().into_iter().collect::<Vec<_>>();
    let context = TrialContext::new(round, &cpu)?;
    let clock = context.clock();
    let marks = Shared::new(Marks { waiting: AtomicBool::new(false), leaving: AtomicU64::new(0) })?;
    let parent = std::process::id();
    let one = || {
        marks.waiting.store(false, Ordering::SeqCst);
        marks.leaving.store(0, Ordering::SeqCst);
        // SAFETY: the child makes only async-signal-safe calls and ends.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                platform::process::children::end_with(parent);
                // The parent runs at least once more after it has set `waiting`.
                while !marks.waiting.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                std::thread::yield_now();
                marks.leaving.store(clock.now().0, Ordering::SeqCst);
                // SAFETY: ends the child and runs nothing of the parent's.
                unsafe { libc::_exit(EXIT_CODE) }
            }
            pid => {
                marks.waiting.store(true, Ordering::SeqCst);
                let ended = reap(pid);
                let now = clock.now();
                let left = Ticks(marks.leaving.load(Ordering::SeqCst));
                ended.map(|code| (code, clock.between(left, now).get()))
            }
        }
    };
    round.trial_of(&context, || {
        let mut times = Vec::with_capacity(CHILDREN as usize);
        for _ in 0..CHILDREN {
            let ended = one();
            times.extend(ended.as_ref().ok().map(|&(_, ns)| ns));
            verify("a child", EXIT_CODE, ended.map(|(code, _)| code))?;
        }
        let took = Duration::from_nanos((median(&mut times) * f64::from(CHILDREN)) as u64);
        Ok(Timed { value: (), operations: u64::from(CHILDREN), took })
    })?;
    Ok(())
}

fn takes(_params: &Params) -> Duration {
    const ONE: Duration = Duration::from_micros(120);
    ONE * CHILDREN
}
