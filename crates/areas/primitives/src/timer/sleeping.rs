//! Shared by the cases of sleeps: parameters, the number of sleeps in a round, and the measurement of their overshoot.

use std::time::Duration;

use hdrhistogram::Histogram;
use measure::count::format_duration;
use measure::stats::median;
use measure::trial::{Timed, TrialContext};
use measure::{CaseError, Metric, Params, Round};
use platform::cpu::pin_thread;
use platform::time::clock::os_clocks;

use super::busy_threads::BusyThreads;
use super::metrics;
use crate::{Case, Extent, Param, Takes, Trials, length_of, value_of};

/// Parameters of every sleep.
pub const PARAMS: &[Param] = &[
    Param::new("length", &["10us", "100us", "1ms", "10ms"])
        .meaning(
            "how long a sleep is asked for; a round has 300 sleeps, or 100 of 500 us and \
             more, but only as many as fit into 150 ms, and ends early after 300 ms; its \
             time of one sleep is their median",
        )
        .takes(Takes::Length),
    Param::new("load", &["none", "busy"]).meaning(
        "whether the CPUs are idle otherwise, or each has a busy thread, also that of \
         the thread that sleeps",
    ),
];

/// Rounds of nanosleep, which shows the effect of the length and of load.
pub const ALL_LENGTHS: Trials = Trials { includes: all_lengths, ..SOME_LENGTHS };

/// Rounds of the other sleeps.
pub const SOME_LENGTHS: Trials =
    Trials { counted: true, on_host: true, includes: some_lengths, ..Trials::new(takes) };

/// Rounds of sleeps that end at a tick of the system's timer.
pub const BY_TICKS: Trials = Trials { includes: by_ticks, ..SOME_LENGTHS };

/// A case with the definitions that most sleeps have in common.
pub const fn sleep(name: &'static str) -> Case {
    Case {
        trials: Some(SOME_LENGTHS),
        params: PARAMS,
        metrics: metrics::EXACT,
        ..Case::new("timer", name)
    }
}

/// Maximum nominal time of all sleeps of a round together.
const ALL: Duration = Duration::from_millis(150);
/// Number of sleeps of a round that are not measured, because the CPU and the caches may be cold.
const WARM_UP: u32 = 2;
/// Maximum overshoot that is recorded, in ns; a greater one counts as this.
const GREATEST_NS: u64 = 1 << 40;
/// Minimum number of sleeps in the counting pass, and delay of the beginning of a sleep until an absolute time, so that this time
/// has not passed when the call begins.
const COUNTED: usize = 3;
const LATER: Duration = Duration::from_millis(2);
/// Time after which a round with this number of sleeps ends: under load, or if sleeps end at ticks only, they may take many times
/// the requested length.
const ENOUGH: (Duration, u64) = (Duration::from_millis(300), 10);
/// Minimum length of a sleep that always gives up the CPU: a shorter one may end before.
const SURELY_SWITCHES: Duration = Duration::from_millis(1);

/// Properties of a call that sleeps.
pub struct Sleeper {
    /// Name of the call.
    pub name: &'static str,
    /// Number of system calls of one sleep.
    pub syscalls: f64,
    /// Whether the system documents that a sleep may end before its time.
    pub may_end_early: bool,
}

/// Overshoots of a round: the times beyond the requested length.
struct Overshoots {
    ns: Histogram<u64>,
    early: u64,
}

/// Whether a run measures the point: a default run measures all lengths on idle CPUs, and 1 ms on busy ones; a quick run measures
/// a short and a usual length on idle CPUs.
fn all_lengths(params: &Params, extent: Extent) -> bool {
    let is = |name, value| value_of(params, name) == Ok(value);
    match extent {
        Extent::Full => true,
        Extent::Ordinary => is("load", "none") || is("length", "1ms"),
        Extent::Quick => is("load", "none") && (is("length", "10us") || is("length", "1ms")),
    }
}

/// Whether a run measures the point: a default run measures, on idle CPUs, a length at which timers with and without slack differ
/// most, and a usual one.
fn some_lengths(params: &Params, extent: Extent) -> bool {
    let is = |name, value| value_of(params, name) == Ok(value);
    match extent {
        Extent::Full => true,
        Extent::Ordinary => is("load", "none") && (is("length", "10us") || is("length", "1ms")),
        Extent::Quick => is("load", "none") && is("length", "10us"),
    }
}

/// Whether a run measures the point: a default run measures all lengths on idle CPUs.
fn by_ticks(params: &Params, extent: Extent) -> bool {
    let is = |name, value| value_of(params, name) == Ok(value);
    match extent {
        Extent::Full => true,
        Extent::Ordinary => is("load", "none"),
        Extent::Quick => is("load", "none") && is("length", "1ms"),
    }
}

/// Number of sleeps in a round.
fn sleeps(length: Duration) -> u32 {
    let most = if length < Duration::from_micros(500) { 300 } else { 100 };
    let fitting = ALL.as_nanos() / length.as_nanos().max(1);
    (fitting as u32).clamp(1, most)
}

/// Approximate duration of a round, with typical overshoots.
fn takes(params: &Params) -> Duration {
    let length = length_of(params, "length").unwrap_or_default();
    let overshoot = match value_of(params, "load") {
        Ok("busy") => Duration::from_millis(2),
        _ => Duration::from_micros(70),
    };
    (length + overshoot) * (sleeps(length) + WARM_UP)
}

/// Measures the sleeps of a round. `sleep` gets the length, and the time of the system's monotonic clock in ns at which the sleep
/// begins.
///
/// # Errors
/// Errors of `sleep`; `Failed` if a sleep ends early that must not.
pub fn measure(
    params: &Params,
    round: &mut Round,
    sleeper: Sleeper,
    mut sleep: impl FnMut(Duration, u64) -> Result<(), CaseError>,
) -> Result<(), CaseError> {
    let length = length_of(params, "length")?;
    if round.is_counting() {
        return count(round, length, &sleeper, sleep);
    }
    let is_busy = value_of(params, "load")? == "busy";
    let cpus = round.order().cpus.clone();
    let own = cpus.last().copied().ok_or_else(|| CaseError::Failed("no CPUs".into()))?;
    let context =
        TrialContext::new(round, if is_busy { &cpus } else { std::slice::from_ref(&own) })?;
    let trial = round.trial_of(&context, || {
        // The error is ignored: a thread that cannot be pinned sleeps and wakes on any CPU.
        let _ = pin_thread(own);
        let _busy = is_busy.then(|| BusyThreads::start(&cpus)).transpose()?;
        time_sleeps(length, &sleeper, &mut sleep)
    })?;
    report(round, &trial.value, sleeper.may_end_early);
    Ok(())
}

/// Runs the counting pass, without other threads and without clock reads, which are system calls on some systems.
fn count(
    round: &mut Round,
    length: Duration,
    sleeper: &Sleeper,
    mut sleep: impl FnMut(Duration, u64) -> Result<(), CaseError>,
) -> Result<(), CaseError> {
    round.expect_syscalls(sleeper.syscalls);
    if length >= SURELY_SWITCHES {
        round.expect_switches(1.0);
    }
    sleep(length, now_ns())?;
    let begins = || now_ns() + LATER.as_nanos() as u64;
    let fitting = ALL.as_nanos() / (length + LATER).as_nanos();
    let count = round.operations_to_count(COUNTED, (fitting as usize).max(COUNTED));
    round.count_each(count as u64, begins, |begins_ns| sleep(length, begins_ns))
}

/// Sleeps repeatedly and reads the clock just before and just after each sleep. The total time is the number of sleeps times the
/// median: one sleep that another program delays by some milliseconds would double the mean of short sleeps.
fn time_sleeps(
    length: Duration,
    sleeper: &Sleeper,
    mut sleep: impl FnMut(Duration, u64) -> Result<(), CaseError>,
) -> Result<Timed<Overshoots>, CaseError> {
    let asked_ns = length.as_nanos() as u64;
    let ns = Histogram::new_with_bounds(1, GREATEST_NS, 3);
    let ns = ns.map_err(|e| CaseError::Failed(e.to_string()))?;
    let mut overshoots = Overshoots { ns, early: 0 };
    let mut times_ns = Vec::new();
    let begin_ns = now_ns();
    for number in 0..WARM_UP + sleeps(length) {
        let began_ns = now_ns();
        sleep(length, began_ns)?;
        let slept_ns = now_ns() - began_ns;
        if slept_ns < asked_ns && !sleeper.may_end_early {
            return Err(ended_early(sleeper.name, length, asked_ns - slept_ns));
        }
        if number >= WARM_UP {
            times_ns.push(slept_ns as f64);
            overshoots.early += u64::from(slept_ns < asked_ns);
            overshoots.ns.saturating_record(slept_ns.saturating_sub(asked_ns));
        }
        let elapsed = Duration::from_nanos(now_ns() - begin_ns);
        if elapsed >= ENOUGH.0 && overshoots.ns.len() >= ENOUGH.1 {
            break;
        }
    }
    let operations = overshoots.ns.len();
    let took = Duration::from_nanos((median(&mut times_ns) * operations as f64) as u64);
    Ok(Timed { value: overshoots, operations, took })
}

fn ended_early(name: &str, length: Duration, by_ns: u64) -> CaseError {
    let length = format_duration(length);
    CaseError::Failed(format!("{name} of {length} ended {by_ns} ns too early"))
}

/// Current time in ns of the system's monotonic clock, which the sleeps use.
fn now_ns() -> u64 {
    (os_clocks()[0].read)()
}

fn report(round: &mut Round, overshoots: &Overshoots, may_end_early: bool) {
    let at = |quantile| overshoots.ns.value_at_quantile(quantile) as f64;
    let figures: [(&Metric, f64); 4] = [
        (&metrics::OVERSHOOT_P50, at(0.5)),
        (&metrics::OVERSHOOT_P90, at(0.9)),
        (&metrics::OVERSHOOT_P99, at(0.99)),
        (&metrics::OVERSHOOT_MAX, overshoots.ns.max() as f64),
    ];
    for (metric, value) in figures {
        round.metric(metric, value);
    }
    round.metric(
        &metrics::SLACK,
        platform::time::timer::slack().map(|slack| slack.as_nanos() as f64),
    );
    if may_end_early {
        let share = overshoots.early as f64 / overshoots.ns.len().max(1) as f64;
        round.metric(&metrics::EARLY, share);
    }
}

/// Converts the length to ms, for calls that take whole milliseconds.
///
/// # Errors
/// `Unsupported` if the length is not a whole number of ms.
pub fn in_ms(length: Duration, call: &str) -> Result<u32, CaseError> {
    let is_whole = !length.is_zero() && length.subsec_nanos().is_multiple_of(1_000_000);
    match u32::try_from(length.as_millis()) {
        Ok(ms) if is_whole => Ok(ms),
        _ => Err(CaseError::Unsupported(format!("{call} waits for whole milliseconds only"))),
    }
}

#[cfg(test)]
mod tests {
    use measure::round::Mode;

    use super::*;

    const SHORT: Duration = Duration::from_micros(50);

    fn sleeper(may_end_early: bool) -> Sleeper {
        Sleeper { name: "sleep", syscalls: 1.0, may_end_early }
    }

    fn by_thread(length: Duration, _began_ns: u64) -> Result<(), CaseError> {
        std::thread::sleep(length);
        Ok(())
    }

    #[test]
    fn sleeps_are_timed_and_none_is_shorter_than_asked_for() {
        let timed = time_sleeps(SHORT, &sleeper(cfg!(windows)), by_thread).unwrap();
        assert!((10..=300).contains(&timed.operations), "{}", timed.operations);
        assert_eq!(timed.value.ns.len(), timed.operations);
        assert!(cfg!(windows) || timed.took >= SHORT * timed.operations as u32);
    }

    #[test]
    fn what_a_sleep_takes_too_long_is_its_overshoot() {
        let length = Duration::from_millis(20);
        let longer = |length, began_ns| by_thread(length * 2, began_ns);
        let timed = time_sleeps(length, &sleeper(cfg!(windows)), longer).unwrap();
        assert!(cfg!(windows) || timed.value.ns.min() >= 19_900_000, "{}", timed.value.ns.min());
        assert!(timed.value.ns.max() < GREATEST_NS);
        assert!(cfg!(windows) || timed.took >= length * 2 * timed.operations as u32);
    }

    #[test]
    fn a_sleep_that_ends_early_is_an_error_or_counted() {
        let nothing = |_: Duration, _: u64| Ok(());
        // The length is longer than two clock reads can take.
        let long = Duration::from_secs(3_600);
        let result = time_sleeps(long, &sleeper(false), nothing);
        let Err(CaseError::Failed(text)) = result else { panic!("not an error") };
        assert!(text.starts_with("sleep of 3600s ended 3"), "{text}");
        let timed = time_sleeps(long, &sleeper(true), nothing).unwrap();
        assert_eq!((timed.operations, timed.value.early, timed.value.ns.max()), (1, 1, 0));
    }

    #[test]
    fn a_round_reports_what_the_definition_says() {
        for load in ["none", "busy"] {
            let params = rehearsal::params(&[("length", "100us"), ("load", load)]);
            let order = rehearsal::order("timer/x", &params, Mode::Sample);
            let (lines, result) =
                rehearsal::round(&order, |round| measure(&params, round, sleeper(true), by_thread));
            assert_eq!(result, Ok(()));
            let [p50, p90, p99, max, early] =
                ["overshoot-p50", "overshoot-p90", "overshoot-p99", "overshoot-max", "early"].map(
                    |name| rehearsal::value(&lines, name).unwrap_or_else(|| panic!("no {name}")),
                );
            assert!(p50 <= p90 && p90 <= p99 && p99 <= max, "{p50} {p90} {p99} {max}");
            assert!((0.0..=1.0).contains(&early));
        }
    }

    #[test]
    fn the_number_of_sleeps_is_bounded_in_time() {
        let number = |length: &str| sleeps(measure::count::parse_duration(length).unwrap());
        assert_eq!(
            ["100ns", "10us", "100us", "1ms", "10ms", "1h"].map(number),
            [300, 300, 300, 100, 15, 1]
        );
    }

    #[test]
    fn only_whole_milliseconds_are_ms() {
        assert_eq!(in_ms(Duration::from_millis(1_010), "poll"), Ok(1_010));
        for length in [Duration::from_micros(1_001), SHORT, Duration::ZERO] {
            assert!(matches!(in_ms(length, "poll"), Err(CaseError::Unsupported(_))), "{length:?}");
        }
    }
}
