//! Times the hand-over of a lock from one worker to a waiting one, in a phase of its own after the batches.
//!
//! In the batches a worker requests the lock again at once, and with most locks gets it before the waiting worker has woken
//! up. In this phase a holder releases the lock only when another worker has waited for some time, so that a waiter that
//! gives up spinning sleeps, and requests it again only when another worker has it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::stats::median;
use crate::survey::cost_of;
use crate::time::{Clock, Nanoseconds, Ticks};

/// Number of hand-overs of a round.
const ENOUGH: usize = 16;
/// Minimum wait of a worker before the lock is handed over to it: longer than locks spin before they sleep.
pub(super) const WAITED: Nanoseconds = Nanoseconds::new(20_000.0);

/// The hand-overs of a round, in the memory that its workers share.
#[derive(Default)]
pub(super) struct HandOvers {
    /// Number of hand-overs to a worker that waited; those beyond [`HandOvers::ENOUGH`] are not stored.
    pub made: AtomicU32,
    /// Times of the hand-overs in ns, as bits.
    times: [AtomicU32; ENOUGH],
    /// Number of the worker that released the lock last, plus one, and the time of the release. Only the holder changes
    /// them.
    releaser: AtomicU32,
    released: AtomicU64,
}

impl HandOvers {
    /// The number of hand-overs after which the phase ends.
    pub const ENOUGH: u32 = ENOUGH as u32;

    /// The clock of the time stamps. The two stamps of a hand-over are taken on two CPUs, and the system keeps this clock
    /// the same on all of them.
    pub fn clock() -> Clock {
        Clock::monotonic()
    }

    pub fn is_released_by(&self, worker: usize) -> bool {
        self.releaser.load(Ordering::Acquire) == worker as u32 + 1
    }

    /// Records a release; the holder calls this immediately before it.
    pub fn release(&self, worker: usize) {
        self.releaser.store(worker as u32 + 1, Ordering::Release);
        self.released.store(Self::clock().now().0, Ordering::Release);
    }

    /// Records that `worker` acquired the lock at `now`, having waited since `since`.
    pub fn acquire(&self, worker: usize, since: Ticks, now: Ticks) {
        let released = Ticks(self.released.load(Ordering::Acquire));
        let is_first = self.releaser.load(Ordering::Acquire) == 0;
        let waited = Self::clock().between(since, released);
        if !is_first && !self.is_released_by(worker) && waited >= WAITED {
            let time = Self::clock().between(released, now);
            let at = self.made.fetch_add(1, Ordering::AcqRel) as usize;
            if let Some(stored) = self.times.get(at) {
                stored.store((time.get() as f32).to_bits(), Ordering::Release);
            }
        }
        self.releaser.store(0, Ordering::Release);
    }

    /// The median time of a hand-over, without the cost of a clock reading; `None` without hand-overs.
    pub fn median(&self) -> Option<Nanoseconds> {
        let made = (self.made.load(Ordering::Acquire) as usize).min(ENOUGH);
        let time = |bits: &AtomicU32| f32::from_bits(bits.load(Ordering::Acquire)).into();
        let mut times: Vec<f64> = self.times[..made].iter().map(time).collect();
        (made > 0).then(|| {
            let ns = median(&mut times) - cost_of(Self::clock()).get();
            Nanoseconds::new(ns.max(0.0))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, MutexGuard};
    use std::time::Duration;

    use super::*;
    use crate::doubt::Doubt;
    use crate::record::Line;
    use crate::round::tests::order;
    use crate::round::{self, Mode};
    use crate::worker_group::tests::threads;
    use crate::worker_group::{HANDOVER_TO_WAITER, Operations, Task, WorkerPlace};
    use crate::{CaseError, Round, RoundOrder};

    /// A mutex whose new holder learns of it only after a while.
    struct Late(Mutex<()>, Duration);

    impl Late {
        fn lock(&self) -> MutexGuard<'_, ()> {
            let guard = self.0.lock().unwrap();
            std::thread::sleep(self.1);
            guard
        }
    }

    impl Task<()> for Late {
        const OPERATIONS: Operations = Operations::Exclusive;

        fn join(&self, _number: usize) -> Result<(), CaseError> {
            Ok(())
        }

        fn operate(&self, (): &mut ()) {
            drop(self.lock());
        }

        fn hands_over(&self) -> bool {
            true
        }

        fn exclusively(&self, (): &mut (), mut inside: impl FnMut()) {
            let _held = self.lock();
            inside();
        }
    }

    /// A lock that never blocks.
    struct Nothing;

    impl Task<()> for Nothing {
        const OPERATIONS: Operations = Operations::Parallel;

        fn join(&self, _number: usize) -> Result<(), CaseError> {
            Ok(())
        }

        fn operate(&self, (): &mut ()) {
            std::hint::spin_loop();
        }

        fn hands_over(&self) -> bool {
            true
        }

        fn exclusively(&self, (): &mut (), mut inside: impl FnMut()) {
            inside();
        }
    }

    fn lines(workers: usize, mode: Mode, task: &impl Task<()>) -> Vec<Line> {
        let order = RoundOrder { limit_ms: 5, ..order(mode) };
        let worker_group = threads(workers, WorkerPlace::Spread);
        let contend = |round: &mut Round| round.contend(&worker_group, task);
        let (lines, ended) = round::tests::lines(&order, contend);
        ended.unwrap();
        lines
    }

    fn hand_over(lines: &[Line]) -> Option<f64> {
        lines.iter().find_map(|line| match line {
            Line::Metric(metric) if metric.name == HANDOVER_TO_WAITER.name => Some(metric.value),
            _ => None,
        })
    }

    #[test]
    fn a_hand_over_includes_all_until_the_next_worker_has_the_lock() {
        for workers in [2, 5] {
            for ms in [0, 1] {
                let task = Late(Mutex::new(()), Duration::from_millis(ms));
                let ns = hand_over(&lines(workers, Mode::Sample, &task)).expect("a time");
                assert!(ns > 0.0 && ns >= 0.99e6 * ms as f64, "{workers} workers, {ms} ms: {ns}");
            }
        }
    }

    #[test]
    fn one_worker_hands_nothing_over_and_the_untimed_pass_times_nothing() {
        let task = Late(Mutex::new(()), Duration::ZERO);
        assert_eq!(hand_over(&lines(1, Mode::Sample, &task)), None);
        assert_eq!(hand_over(&lines(2, Mode::CountRest, &task)), None);
    }

    #[test]
    fn without_a_hand_over_there_is_a_doubt_and_no_figure() {
        let lines = lines(2, Mode::Sample, &Nothing);
        assert!(lines.contains(&Line::Doubt(Doubt::NoHandOver)), "{lines:?}");
        assert_eq!(hand_over(&lines), None);
    }

    #[test]
    fn only_waiting_workers_other_than_the_releaser_count() {
        let hand_overs = HandOvers::default();
        let long_ago = Ticks(1);
        let now = || HandOvers::clock().now();
        hand_overs.acquire(0, long_ago, now());
        hand_overs.release(0);
        // The second hand-over is to the same worker, the third to one that did not wait, the fourth to one that did.
        hand_overs.acquire(0, long_ago, now());
        hand_overs.release(0);
        hand_overs.acquire(1, now(), now());
        assert_eq!(hand_overs.median(), None);
        hand_overs.release(1);
        hand_overs.acquire(0, long_ago, now());
        assert!(hand_overs.median().is_some());
        for _ in 0..2 * ENOUGH {
            hand_overs.release(0);
            hand_overs.acquire(1, long_ago, now());
        }
        assert!(hand_overs.median().is_some(), "more than are stored");
    }
}
