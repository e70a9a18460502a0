//! A foreground task: it sleeps until absolute times while the jobs run, and measures by how much it wakes up late.
//!
//! `examples/concurrency/foreground.c` has the same loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use measure::stats::quantile;
use measure::{CaseError, Metric, Params, Round};
use platform::time::clock::os_clocks;
use platform::time::timer::{request_least_slack, sleep_until};

use super::metrics::{
    FOREGROUND_DELAY, FOREGROUND_DELAY_MAX, FOREGROUND_DELAY_P90, FOREGROUND_DELAY_P99,
};
use super::options::{FOREGROUND, value_or_usual};

/// Mean of the intervals for which the task sleeps. Each is between half and one and a half of the mean, at random, so that the
/// task wakes up at any phase of the system's ticks and time slices.
const INTERVAL_NS: u64 = 5_000_000;
/// Minimum time of the jobs of a trial: about 32 intervals.
const LEAST_TIME: Duration = Duration::from_millis(160);
/// Maximum number of times that a trial carries out the list.
const TIMES_AT_MOST: usize = 1_000;
/// Maximum number of wake-ups of a trial (over eight minutes); later ones are not recorded.
const WAKE_UPS_AT_MOST: usize = 100_000;

/// Whether the parameters request the foreground task.
pub fn is_wanted(params: &Params) -> bool {
    value_or_usual(params, FOREGROUND.name) == "yes"
}

/// Number of times that a trial carries out a list that takes `one`, so that the task wakes up often enough.
pub fn times(params: &Params, one: Duration) -> usize {
    let fitting = LEAST_TIME.as_nanos().div_ceil(one.as_nanos().max(1));
    if is_wanted(params) { (fitting as usize).clamp(1, TIMES_AT_MOST) } else { 1 }
}

/// Time of a trial of a list that takes `one`. If the trial repeats the list, an untimed execution precedes.
pub fn takes(params: &Params, one: Duration) -> Duration {
    match times(params, one) {
        1 => one,
        times => one * (times as u32 + 1),
    }
}

/// The foreground task, on its own thread with the priority of this process. The thread takes no locks and allocates nothing
/// while the jobs run, so that a process that is forked meanwhile finds all locks free.
pub struct ForegroundTask {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<WakeUp>>>,
    /// Start and end of each execution of the jobs, in ns.
    spans_ns: Vec<[u64; 2]>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct WakeUp {
    planned_ns: u64,
    delay_ns: u64,
}

impl ForegroundTask {
    /// Starts the task on the CPUs of the calling thread.
    ///
    /// # Errors
    /// The system's error if the thread cannot be created.
    pub fn start() -> Result<Self, CaseError> {
        let (stop, is_ready) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (stopped, ready) = (Arc::clone(&stop), Arc::clone(&is_ready));
        let builder = std::thread::Builder::new().name("foreground".into());
        let thread = builder.spawn(move || {
            request_least_slack();
            let wake_ups = Vec::with_capacity(WAKE_UPS_AT_MOST);
            ready.store(true, Ordering::Release);
            wake_up_often(wake_ups, &stopped)
        });
        let thread = thread.map_err(|e| CaseError::from_io("the foreground task's thread", &e))?;
        while !is_ready.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        Ok(Self { stop, thread: Some(thread), spans_ns: Vec::new() })
    }

    /// Runs `jobs`. Wake-ups that are due meanwhile count, also if they are delayed beyond the jobs' end.
    pub fn during<T>(&mut self, jobs: impl FnOnce() -> T) -> T {
        let start_ns = now_ns();
        let result = jobs();
        self.spans_ns.push([start_ns, now_ns()]);
        result
    }

    /// Ends the task and reports its delays.
    ///
    /// # Errors
    /// `Implausible` if the jobs ended before the task woke up.
    pub fn report(mut self, round: &mut Round) -> Result<(), CaseError> {
        let delays_ns = delays(&self.end(), &self.spans_ns);
        if delays_ns.is_empty() {
            let reason = "the jobs ended before the foreground task woke up";
            return Err(CaseError::Implausible(reason.into()));
        }
        let metrics: [(&Metric, f64); 4] = [
            (&FOREGROUND_DELAY, 0.5),
            (&FOREGROUND_DELAY_P90, 0.9),
            (&FOREGROUND_DELAY_P99, 0.99),
            (&FOREGROUND_DELAY_MAX, 1.0),
        ];
        for (metric, p) in metrics {
            round.metric(metric, quantile(&delays_ns, p));
        }
        Ok(())
    }

    fn end(&mut self) -> Vec<WakeUp> {
        self.stop.store(true, Ordering::Release);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for ForegroundTask {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sleeps and records each wake-up until `stop`, within the capacity of `wake_ups`.
fn wake_up_often(mut wake_ups: Vec<WakeUp>, stop: &AtomicBool) -> Vec<WakeUp> {
    // The generator is xorshift64 (Marsaglia 2003), whose seed must not be 0.
    let mut random = now_ns() | 1;
    while !stop.load(Ordering::Acquire) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let planned_ns = now_ns() + INTERVAL_NS / 2 + random % INTERVAL_NS;
        sleep_until(planned_ns);
        let delay_ns = now_ns().saturating_sub(planned_ns);
        if wake_ups.len() < wake_ups.capacity() {
            wake_ups.push(WakeUp { planned_ns, delay_ns });
        }
    }
    wake_ups
}

/// Delays in ns of the wake-ups that were due within one of the spans, ascending; at least 1 ns, the clock's resolution.
fn delays(wake_ups: &[WakeUp], spans_ns: &[[u64; 2]]) -> Vec<f64> {
    let is_within = |planned_ns: u64| {
        spans_ns.iter().any(|[start_ns, end_ns]| (*start_ns..=*end_ns).contains(&planned_ns))
    };
    let within = wake_ups.iter().filter(|wake_up| is_within(wake_up.planned_ns));
    let mut delays: Vec<f64> = within.map(|wake_up| wake_up.delay_ns.max(1) as f64).collect();
    delays.sort_by(f64::total_cmp);
    delays
}

/// Current time in ns of the clock that the sleeps use.
fn now_ns() -> u64 {
    (os_clocks()[0].read)()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wake_ups_count_that_were_planned_while_jobs_ran() {
        let wake_up = |planned_ns, delay_ns| WakeUp { planned_ns, delay_ns };
        let wake_ups =
            [wake_up(5, 3), wake_up(10, 90), wake_up(14, 70), wake_up(16, 4), wake_up(30, 0)];
        assert_eq!(delays(&wake_ups, &[[10, 15], [20, 30]]), [1.0, 70.0, 90.0]);
        assert!(delays(&wake_ups, &[]).is_empty());
    }

    #[test]
    fn the_task_wakes_up_while_jobs_run_and_ends() {
        let before_ns = now_ns();
        let mut task = ForegroundTask::start().unwrap();
        let pause = Duration::from_millis(300);
        assert_eq!(task.during(|| std::thread::sleep(pause)), ());
        let wake_ups = task.end();
        let delays = delays(&wake_ups, &task.spans_ns);
        assert!(!delays.is_empty(), "{wake_ups:?}");
        for (wake_up, next) in wake_ups.iter().zip(&wake_ups[1..]) {
            assert!(wake_up.planned_ns > before_ns);
            let between = next.planned_ns - (wake_up.planned_ns + wake_up.delay_ns);
            assert!(between >= INTERVAL_NS / 2, "{wake_ups:?}");
        }
    }

    #[test]
    fn no_more_is_recorded_than_there_is_room_for() {
        let task = ForegroundTask::start().unwrap();
        let stop = Arc::clone(&task.stop);
        drop(task);
        assert!(stop.load(Ordering::Acquire));
        let stop = AtomicBool::new(false);
        let wake_ups = std::thread::scope(|scope| {
            let task = scope.spawn(|| wake_up_often(Vec::with_capacity(2), &stop));
            std::thread::sleep(Duration::from_millis(50));
            stop.store(true, Ordering::Release);
            task.join().unwrap()
        });
        assert!(wake_ups.len() <= 2 && wake_ups.capacity() == 2);
    }

    #[test]
    fn short_lists_are_repeated_and_only_for_the_task() {
        let params = |value: &str| Params::from([("foreground".to_owned(), value.to_owned())]);
        let ms = Duration::from_millis;
        assert_eq!(times(&params("yes"), ms(10)), 16);
        assert_eq!(times(&params("yes"), ms(1_000)), 1);
        assert_eq!(times(&params("yes"), Duration::ZERO), TIMES_AT_MOST);
        assert_eq!(takes(&params("yes"), ms(10)), ms(170));
        for without in [params("no"), Params::new()] {
            assert_eq!((times(&without, ms(10)), takes(&without, ms(10))), (1, ms(10)));
        }
    }
}
