//! Time from waking a sleeping thread until it runs.
//!
//! One thread sleeps, and another wakes it, many times in a trial. The time begins just before the call that wakes the sleeper,
//! and ends when the sleeper has returned from its own call and has read the clock: the system's monotonic one, which all CPUs
//! share. The cost of reading it is subtracted. The waking thread waits meanwhile, so that a sleeper on the same CPU gets it. A
//! sleeper is woken after it has been asleep for the time of the parameter `asleep`. If the sleeper did not give up the CPU, by
//! the system's count of switches, the wake-up is left out, and many of those fail the trial.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

use measure::round::PATIENCE;
use measure::stats::{median, quantile};
use measure::survey::cost_of;
use measure::time::{Clock, Stopwatch, Ticks};
use measure::trial::{Timed, TrialContext};
use measure::{CaseError, Doubt, Params, Round, metrics};
use platform::counters::voluntary_switches;
use platform::cpu::pin_thread;
use platform::process::spawn_scoped;

use crate::{Case, Param, Takes, Trials, length_of, value_of};

/// Number of wake-ups of a trial.
const WAKE_UPS: u32 = 400;

metrics! {
    /// Metrics of every wake-up.
    const METRICS: [
        P90 = lower("wake-p90", "ns"), "the time that nine in ten wake-ups of a trial do not exceed";
        P99 = lower("wake-p99", "ns"), "the time that 99 in a hundred wake-ups of a trial do not exceed";
    ]
}

/// Parameters of every wake-up.
const PARAMS: &[Param] = &[
    Param::new("place", &["spread", "same"]).meaning(
        "whether the sleeper has a CPU of its own, or the one of the thread that wakes it",
    ),
    Param::new("asleep", &["50us"])
        .meaning(
            "how long the thread has been asleep at least: an idle CPU sleeps deeper with \
             time",
        )
        .full(&["50us", "1ms", "10ms"])
        .takes(Takes::Length),
];

/// A case with the definitions that all wake-ups have in common.
pub const fn wake_up(name: &'static str) -> Case {
    Case {
        trials: Some(Trials::new(takes)),
        params: PARAMS,
        metrics: METRICS,
        ..Case::new("thread", name)
    }
}

fn takes(params: &Params) -> Duration {
    const AROUND_ONE: Duration = Duration::from_micros(40);
    (length_of(params, "asleep").unwrap_or_default() + AROUND_ONE) * wake_ups(params)
}

/// Number of wake-ups of a trial: fewer if the thread sleeps long before each.
fn wake_ups(params: &Params) -> u32 {
    const SHORT: Duration = Duration::from_micros(500);
    let is_short = length_of(params, "asleep").is_ok_and(|asleep| asleep <= SHORT);
    if is_short { WAKE_UPS } else { WAKE_UPS / 8 }
}

/// State that the two threads share.
#[derive(Default)]
struct State {
    /// Number of times that the sleeper was about to sleep.
    ready: AtomicU32,
    /// Number of wake-ups that the sleeper has answered; then the time of the last one, and whether the sleeper gave up the CPU
    /// before.
    answered: AtomicU32,
    awake_at: AtomicU64,
    slept: AtomicBool,
    /// Whether the system counts the voluntary switches of a thread.
    counts_switches: AtomicBool,
    stop: AtomicBool,
}

/// Measures wake-ups: one thread sleeps in `sleep`, and this thread wakes it by `wake`, which is on the clock as a whole. A call
/// of `wake` lets one call of `sleep` return, also one that begins later.
///
/// # Errors
/// `Implausible` if the thread did not sleep, as far as the system counts that; `TimedOut` if a wake-up was missed.
pub fn measure(
    params: &Params,
    round: &mut Round,
    sleep: impl Fn() + Sync,
    wake: impl Fn(),
) -> Result<(), CaseError> {
    let cpus = &round.order().cpus;
    let own = cpus.last().copied().unwrap_or_default();
    let other = match value_of(params, "place")? {
        "same" => own,
        _ => cpus.iter().rev().nth(1).copied().ok_or_else(|| {
            CaseError::Unsupported("this process may use only one CPU".to_owned())
        })?,
    };
    let used = if own == other { vec![own] } else { vec![other, own] };
    let context = TrialContext::new(round, &used)?;
    let (asleep, count) = (length_of(params, "asleep")?, wake_ups(params));
    let trial = round.trial_of(&context, || {
        pin_thread(own)?;
        let wake_ups = wake_repeatedly(&sleep, &wake, other, asleep, count)?;
        let took = Duration::from_nanos((wake_ups.median() * f64::from(count)) as u64);
        Ok(Timed { value: wake_ups, operations: u64::from(count), took })
    })?;
    round.metric(&P90, quantile(&trial.value.ascending_ns, 0.90));
    round.metric(&P99, quantile(&trial.value.ascending_ns, 0.99));
    if !trial.value.counts_switches {
        round.doubt(Doubt::SleepNotCounted);
    }
    Ok(())
}

/// Wake-ups of a trial.
struct WakeUps {
    ascending_ns: Vec<f64>,
    counts_switches: bool,
}

impl WakeUps {
    fn median(&self) -> f64 {
        median(&mut self.ascending_ns.clone())
    }
}

fn wake_repeatedly(
    sleep: &(impl Fn() + Sync),
    wake: &impl Fn(),
    cpu: usize,
    asleep: Duration,
    count: u32,
) -> Result<WakeUps, CaseError> {
    let (clock, state) = (Clock::monotonic(), State::default());
    let clock_cost = cost_of(clock).get();
    let waking = std::thread::current();
    std::thread::scope(|scope| {
        let work = || sleep_repeatedly(sleep, cpu, clock, &state, &waking);
        let sleeper = spawn_scoped(scope, "the sleeping thread", work)?;
        let mut slept_ns = Vec::with_capacity(count as usize);
        let mut missed = None;
        for number in 1..=count {
            let Some(ns) = wake_once(wake, number, asleep, clock, &state) else {
                missed = Some(number);
                break;
            };
            if state.slept.load(Ordering::Acquire) {
                slept_ns.push((ns - clock_cost).max(0.0));
            }
        }
        // A last wake-up ends the sleeper, also if it has yet to begin to sleep.
        state.stop.store(true, Ordering::Release);
        wake();
        sleeper.join().map_err(|_| CaseError::Failed("the sleeping thread panicked".into()))??;
        if let Some(number) = missed {
            return Err(CaseError::TimedOut(format!("wake-up {number} of {count} was missed")));
        }
        slept_ns.sort_by(f64::total_cmp);
        if slept_ns.len() < count as usize / 2 {
            let slept = slept_ns.len();
            let reason = format!("the thread slept before only {slept} of {count} wake-ups");
            return Err(CaseError::Implausible(reason));
        }
        let counts_switches = state.counts_switches.load(Ordering::Acquire);
        Ok(WakeUps { ascending_ns: slept_ns, counts_switches })
    })
}

/// Runs the sleeping thread.
fn sleep_repeatedly(
    sleep: &impl Fn(),
    cpu: usize,
    clock: Clock,
    state: &State,
    waking: &Thread,
) -> Result<(), CaseError> {
    pin_thread(cpu)?;
    let counts_switches = voluntary_switches().is_some();
    state.counts_switches.store(counts_switches, Ordering::Release);
    for number in 1.. {
        let before = voluntary_switches();
        state.ready.store(number, Ordering::Release);
        sleep();
        let awake_at = clock.now();
        if state.stop.load(Ordering::Acquire) {
            break;
        }
        let slept = !counts_switches || voluntary_switches() > before;
        state.awake_at.store(awake_at.0, Ordering::Release);
        state.slept.store(slept, Ordering::Release);
        state.answered.store(number, Ordering::Release);
        waking.unpark();
    }
    Ok(())
}

/// Wakes the sleeper when it has been asleep long enough, and waits for its answer. Returns the time in ns; `None` if there was
/// no answer.
fn wake_once(
    wake: &impl Fn(),
    number: u32,
    asleep: Duration,
    clock: Clock,
    state: &State,
) -> Option<f64> {
    let watch = Stopwatch::start();
    let is_over = || watch.elapsed().get() > PATIENCE.as_nanos() as f64;
    while state.ready.load(Ordering::Acquire) < number {
        if is_over() {
            return None;
        }
        // A sleeper on the same CPU needs it to go to sleep.
        std::thread::yield_now();
    }
    let ready = Stopwatch::start();
    while ready.elapsed().get() < asleep.as_nanos() as f64 {
        std::thread::yield_now();
    }
    let begin = clock.now();
    wake();
    while state.answered.load(Ordering::Acquire) < number {
        if is_over() {
            return None;
        }
        std::thread::park_timeout(PATIENCE / 4);
    }
    let awake_at = Ticks(state.awake_at.load(Ordering::Acquire));
    Some(clock.between(begin, awake_at).get())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(20);

    #[test]
    fn each_wake_up_of_a_thread_that_slept_counts() {
        let (woken, wakes) = (AtomicBool::new(false), AtomicU32::new(0));
        let sleep = || {
            while !woken.swap(false, Ordering::AcqRel) {
                std::thread::sleep(Duration::from_micros(100));
            }
        };
        let wake = || {
            wakes.fetch_add(1, Ordering::AcqRel);
            woken.store(true, Ordering::Release);
        };
        let cpu = platform::cpu::allowed()[0];
        let wake_ups = wake_repeatedly(&sleep, &wake, cpu, SHORT, 20).unwrap();
        let times = &wake_ups.ascending_ns;
        assert!((10..=20).contains(&times.len()), "{}", times.len());
        assert!(times.iter().all(|ns| *ns >= 0.0) && times.is_sorted());
        // There are 20 wake-ups, and one for the end.
        assert_eq!(wakes.into_inner(), 21);
    }

    #[test]
    fn a_thread_that_did_not_sleep_is_noticed() {
        let cpu = platform::cpu::allowed()[0];
        if voluntary_switches().is_none() {
            return testing::not_applicable("switches are not counted on this system");
        }
        let woken = AtomicBool::new(false);
        let spin = || {
            while !woken.swap(false, Ordering::AcqRel) {
                std::hint::spin_loop();
            }
        };
        let wake = || woken.store(true, Ordering::Release);
        let result = wake_repeatedly(&spin, &wake, cpu, SHORT, 20);
        assert!(matches!(result.err(), Some(CaseError::Implausible(_))));
    }
}
