//! What the cases of sleeps share: parameters, how many sleeps a round has, and how their overshoot is measured.

use std::time::Duration;

use hdrhistogram::Histogram;
use measure::count::format_duration;
use measure::stats::median;
use measure::trial::{Timed, TrialContext};
use measure::{CaseError, Metric, Params, Round};
use platform::clock::os_clocks;
use platform::cpu::pin_thread;

use super::busy_threads::BusyThreads;
use super::metrics;
use crate::{Case, Extent, Param, Takes, Trials, length_of, value_of};

/// The parameters of every sleep.
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

/// The rounds of nanosleep, in which the effect of the length and of load is shown.
pub const ALL_LENGTHS: Trials = Trials { includes: all_lengths, ..SOME_LENGTHS };

/// The rounds of the other sleeps.
pub const SOME_LENGTHS: Trials =
    Trials { counted: true, on_host: true, includes: some_lengths, ..Trials::new(takes) };

/// The rounds of sleeps that end at a tick of the system's timer.
pub const BY_TICKS: Trials = Trials { includes: by_ticks, ..SOME_LENGTHS };

/// What most sleeps have in common.
pub const fn sleep(name: &'static str) -> Case {
    Case {
        trials: Some(SOME_LENGTHS),
        params: PARAMS,
        metrics: metrics::EXACT,
        ..Case::new("timer", name)
    }
}

/// How long the sleeps of a round take together, if there are that many.
const ALL: Duration = Duration::from_millis(150);
/// Sleeps of a round that are not measured, because the CPU and the caches may be cold.
const WARM_UP: u32 = 2;
/// A greater overshoot, of more than a quarter of an hour, counts as this.
const GREATEST_NS: u64 = 1 << 40;
/// Sleeps of the untimed pass, and how much longer than asked for those to an absolute time take, so that this time is not
/// past before they begin.
const COUNTED: usize = 3;
const LATER: Duration = Duration::from_millis(2);
/// A round ends after this time, if it has this number of sleeps: with load, or where sleeps end at ticks only, they may
/// take many times as long as asked for.
const ENOUGH: (Duration, u64) = (Duration::from_millis(300), 10);
/// Shorter ones may be over before the thread gives up the CPU.
const SURELY_SWITCHES: Duration = Duration::from_millis(1);

/// What a thread sleeps by.
pub struct Sleeper {
    /// The call that waits.
    pub name: &'static str,
    /// System calls of one sleep.
    pub syscalls: f64,
    /// Whether the system documents that a sleep may end before its time.
    pub may_end_early: bool,
}

/// What a round's sleeps took beyond what was asked for.
struct Overshoots {
    ns: Histogram<u64>,
    early: u64,
}

/// An ordinary run has all lengths on idle CPUs, and 1 ms on busy ones; a quick one a short and a usual length on idle ones.
fn all_lengths(params: &Params, extent: Extent) -> bool {
    let is = |name, value| value_of(params, name) == Ok(value);
    match extent {
        Extent::Full => true,
        Extent::Ordinary => is("load", "none") || is("length", "1ms"),
        Extent::Quick => is("load", "none") && (is("length", "10us") || is("length", "1ms")),
    }
}

/// An ordinary run has the lengths at which timers with and without slack differ most and usual ones, on idle CPUs.
fn some_lengths(params: &Params, extent: Extent) -> bool {
    let is = |name, value| value_of(params, name) == Ok(value);
    match extent {
        Extent::Full => true,
        Extent::Ordinary => is("load", "none") && (is("length", "10us") || is("length", "1ms")),
        Extent::Quick => is("load", "none") && is("length", "10us"),
    }
}

/// An ordinary run has all lengths on idle CPUs.
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

/// Time of a round, with the usual overshoots.
fn takes(params: &Params) -> Duration {
    let length = length_of(params, "length").unwrap_or_default();
    let overshoot = match value_of(params, "load") {
        Ok("busy") => Duration::from_millis(2),
        _ => Duration::from_micros(70),
    };
    (length + overshoot) * (sleeps(length) + WARM_UP)
}

/// Measures the sleeps of a round. `sleep` sleeps for a time that began when the system's monotonic clock showed the
/// given number of nanoseconds.
///
/// # Errors
/// Those of `sleep`; `Failed` if one ends early that must not.
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
        // Where a thread cannot be pinned, it sleeps and wakes on any CPU.
        let _ = pin_thread(own);
        let _busy = is_busy.then(|| BusyThreads::start(&cpus)).transpose()?;
        time_sleeps(length, &sleeper, &mut sleep)
    })?;
    report(round, &trial.value, sleeper.may_end_early);
    Ok(())
}

/// The untimed pass, without other threads and without readings of the clock, which are system calls on some systems.
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

/// Sleeps again and again; each time the clock is read just before and just after. Their time is the number of sleeps times
/// the median: a single sleep that another program delays by some milliseconds would double the mean of short ones.
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

/// The system's monotonic clock: the one that sleeps go by.
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
    round.metric(&metrics::SLACK, platform::timer::slack().map(|slack| slack.as_nanos() as f64));
    if may_end_early {
        let share = overshoots.early as f64 / overshoots.ns.len().max(1) as f64;
        round.metric(&metrics::EARLY, share);
    }
}

/// The length in ms, for calls that take no shorter times.
///
/// # Errors
/// `Unsupported` if it is not a whole number of ms.
pub fn in_ms(length: Duration, call: &str) -> Result<u32, CaseError> {
    let is_whole = !length.is_zero() && length.subsec_nanos().is_multiple_of(1_000_000);
    match u32::try_from(length.as_millis()) {
        Ok(ms) if is_whole => Ok(ms),
        _ => Err(CaseError::Unsupported(format!("{call} waits for whole milliseconds only"))),
    }
}

#[cfg(test)]
mod tests {
    use measure::record::Line;
    use measure::round::Mode;

    use super::*;
    use crate::syscall::rehearsal::order;

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
        // Longer than two readings of the clock can take.
        let long = Duration::from_secs(3_600);
        let result = time_sleeps(long, &sleeper(false), nothing);
        let Err(CaseError::Failed(text)) = result else { panic!("not an error") };
        assert!(text.starts_with("sleep of 3600s ended 3"), "{text}");
        let timed = time_sleeps(long, &sleeper(true), nothing).unwrap();
        assert_eq!((timed.operations, timed.value.early, timed.value.ns.max()), (1, 1, 0));
    }

    #[test]
    fn a_round_reports_what_the_definition_says() {
        let params = |load: &str| {
            [("length", "100us"), ("load", load)].map(|(k, v)| (k.to_owned(), v.to_owned())).into()
        };
        for load in ["none", "busy"] {
            let params = params(load);
            let order = order("timer/x", &params, Mode::Sample);
            let mut out = Vec::new();
            measure(&params, &mut Round::new(&order, &mut out), sleeper(true), by_thread).unwrap();
            let lines = measure::record::parse_lines(std::str::from_utf8(&out).unwrap());
            let value = |name: &str| {
                lines.iter().find_map(|line| match line {
                    Line::Metric(metric) if metric.name == name => Some(metric.value),
                    _ => None,
                })
            };
            let [p50, p90, p99, max, early] =
                ["overshoot-p50", "overshoot-p90", "overshoot-p99", "overshoot-max", "early"]
                    .map(|name| value(name).unwrap_or_else(|| panic!("no {name}")));
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
