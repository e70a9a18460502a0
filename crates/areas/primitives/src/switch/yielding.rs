use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use measure::{CaseError, Metric, Params, Round};
use platform::memory::address_wait::{Sharing, wait_while, wake_one};
use platform::memory::shared::Shared;

use super::{AS_THREADS, ONE_CPU, SAME};
use crate::partner::Tasks;
use crate::{Case, Only, only};

/// Number of hand-overs of one call. The partner is woken at the beginning of a call and blocks at its end, because a task that
/// yields between batches would share the CPU with the sentinel.
const HAND_OVERS: u32 = 512;

/// Number of yields per hand-over.
const YIELDS: Metric =
    Metric::lower("yields", "calls", "yields of a task until the other one had run, on average");

/// Passing the CPU to another task by sched_yield.
pub const SCHED_YIELD: Case = Case {
    operation: "One hand-over of the CPU between two tasks pinned to it, neither of which blocks: a task calls sched_yield \
                until the other one has run. Half of the way there and back; a 256th of waking and blocking the other \
                task is included.",
    comparable_to: "syscall/sched-yield has no other task; stress-ng's `yield` stressor counts calls, not hand-overs.",
    only: Only::Unix("Windows has SwitchToThread: see switch/switch-to-thread"),
    params: ONE_CPU,
    metrics: &[YIELDS],
    run: run_sched_yield,
    ..Case::new("switch", "sched-yield")
};

#[only(unix)]
fn run_sched_yield(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    run(params, round, || {
        // SAFETY: the call takes no arguments.
        unsafe { libc::sched_yield() };
    })
}

/// Passing the CPU to another thread by SwitchToThread.
pub const SWITCH_TO_THREAD: Case = Case {
    name: "switch-to-thread",
    operation: "One hand-over of the CPU between two threads pinned to it, neither of which blocks: a thread calls \
                SwitchToThread until the other one has run. Half of the way there and back; a 256th of waking and \
                blocking the other thread is included.",
    comparable_to: "The counterpart of switch/sched-yield.",
    params: &[AS_THREADS, SAME],
    run: run_switch_to_thread,
    ..SCHED_YIELD.on_windows()
};

#[only(windows)]
fn run_switch_to_thread(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    run(params, round, || {
        // SAFETY: the call takes no arguments. Its result, whether another thread ran, is no failure.
        unsafe { windows_sys::Win32::System::Threading::SwitchToThread() };
    })
}

/// State that both tasks share.
struct Exchange {
    /// The task that may continue: 0 or 1.
    turn: AtomicU32,
    /// Number of calls; the partner waits for the next one.
    calls: AtomicU32,
    stop: AtomicBool,
    sharing: Sharing,
}

impl Exchange {
    /// Lets the other task continue, and yields until it is the turn of task `own` again. Returns the number of yields.
    #[inline(always)]
    fn hand_over(&self, own: u32, yield_cpu: impl Fn()) -> u32 {
        self.turn.store(1 - own, Ordering::Release);
        self.wait_for_turn(own, yield_cpu)
    }

    #[inline(always)]
    fn wait_for_turn(&self, own: u32, yield_cpu: impl Fn()) -> u32 {
        let mut yields = 0;
        while self.turn.load(Ordering::Acquire) != own {
            yield_cpu();
            yields += 1;
        }
        yields
    }

    /// Wakes the partner for the next call, or to end.
    fn wake_partner(&self) -> Result<(), CaseError> {
        self.calls.fetch_add(1, Ordering::AcqRel);
        let woken = wake_one(&self.calls, self.sharing);
        woken.map_err(|e| CaseError::from_io("waking the partner", &e))
    }

    /// Runs the partner: it takes its turns in each call, and blocks between calls.
    fn answer(&self, yield_cpu: impl Fn() + Copy) -> Result<(), CaseError> {
        let mut seen = 0;
        loop {
            while self.calls.load(Ordering::Acquire) == seen {
                let waited = wait_while(&self.calls, seen, self.sharing);
                waited.map_err(|e| CaseError::from_io("waiting for the measuring task", &e))?;
            }
            seen = seen.wrapping_add(1);
            if self.stop.load(Ordering::Acquire) {
                return Ok(());
            }
            self.wait_for_turn(1, yield_cpu);
            for _ in 1..HAND_OVERS / 2 {
                self.hand_over(1, yield_cpu);
            }
            self.turn.store(0, Ordering::Release);
        }
    }
}

/// The measuring task's side, which ends the partner when dropped.
struct Measuring(Shared<Exchange>);

impl Drop for Measuring {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Release);
        let _ = self.0.wake_partner();
    }
}

fn run(
    params: &Params,
    round: &mut Round,
    yield_cpu: impl Fn() + Copy + Sync,
) -> Result<(), CaseError> {
    let tasks = Tasks::of(params, round)?;
    let exchange = Shared::new(Exchange {
        turn: AtomicU32::new(0),
        calls: AtomicU32::new(0),
        stop: AtomicBool::new(false),
        sharing: tasks.sharing(),
    })?;
    round.operations_per_call(u64::from(HAND_OVERS));
    let (mut yields, mut calls) = (0u64, 0u64);
    let measure = |_| {
        let measuring = Measuring(exchange);
        let mut failed = Ok(());
        let mut call = || {
            failed = measuring.0.wake_partner();
            if failed.is_err() {
                return;
            }
            for _ in 0..HAND_OVERS / 2 {
                yields += u64::from(measuring.0.hand_over(0, yield_cpu));
            }
            calls += 1;
        };
        call();
        let timed = tasks.time(round, call);
        failed.and(timed)
    };
    tasks.beside(vec![(), ()], |_, ()| exchange.answer(yield_cpu), measure)?;
    let turns = (calls * u64::from(HAND_OVERS / 2)).max(1);
    round.metric(&YIELDS, yields as f64 / turns as f64);
    Ok(())
}
