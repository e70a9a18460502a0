//! Detects other programs that took CPUs from a measurement.

use std::time::Duration;

use platform::cpu::{RunQueue, run_queue};

/// Maximum number of readings of the run queue. The minimum counts, because some thread always wakes up briefly; a reading
/// without other threads ends the search.
const LOOKS: usize = 20;
/// Maximum share of a trial's time that other programs may use of its CPUs.
const OTHERS_SHARE: f64 = 0.03;
/// Minimum length of a trial for which busy time is used: it is counted in steps of 10 ms.
const SEEN_FROM: Duration = Duration::from_millis(500);

/// The observed load by other programs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct OtherPrograms {
    /// The whole machine's run queue, the longer one of before and after; `None` if the system does not report it.
    pub queue: Option<RunQueue>,
    /// The share of time that other programs used of the busy CPUs; `None` if unknown.
    pub taken: Option<f64>,
}

impl OtherPrograms {
    /// Counts other runnable threads now. The measurement's own threads must have ended, or not have begun: polling threads
    /// would be taken for other programs.
    pub fn now() -> Self {
        let looks = std::iter::from_fn(|| {
            std::thread::sleep(Duration::from_micros(100));
            run_queue()
        });
        Self { queue: least_of(looks.take(LOOKS)), taken: None }
    }

    /// Combines two observations: the longer of both queues, and the known share of time used by others.
    pub fn and(self, later: Self) -> Self {
        let fuller = self.queue.into_iter().chain(later.queue).max_by_key(|queue| queue.others);
        Self { queue: fuller, taken: self.taken.or(later.taken) }
    }
}

/// The reading with the fewest other threads; none is taken after one without any.
fn least_of(mut looks: impl Iterator<Item = RunQueue>) -> Option<RunQueue> {
    let mut least = looks.next()?;
    while least.others > 0
        && let Some(look) = looks.next()
    {
        least = if look.others < least.others { look } else { least };
    }
    Some(least)
}

/// Whether other programs must have taken CPUs from the measurement, which kept `busy` CPUs busy.
///
/// The run queue is the whole machine's, so it is compared with all CPUs. If the measurement used only some of them, the
/// time that others used of those decides, if known.
pub(crate) fn is_oversubscribed(busy: usize, seen: OtherPrograms) -> bool {
    let taken = seen.taken.map(|share| share > OTHERS_SHARE);
    let queued = seen.queue.map(|queue| queue.others > queue.online.saturating_sub(busy));
    let confined = seen.queue.is_some_and(|queue| queue.online > busy);
    match (taken, queued) {
        (Some(taken), _) if confined => taken,
        (taken, queued) => taken.unwrap_or(false) || queued.unwrap_or(false),
    }
}

/// The share of `elapsed` that other programs used of CPUs that were `busy` in all and `own` by this program; `None` if
/// `elapsed` is too short.
pub(crate) fn taken_by_others(busy: Duration, own: Duration, elapsed: Duration) -> Option<f64> {
    let others = busy.saturating_sub(own);
    (elapsed >= SEEN_FROM).then(|| others.as_secs_f64() / elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oversubscribed(busy: usize, queue: Option<(usize, usize)>, taken: Option<f64>) -> bool {
        let queue = queue.map(|(others, online)| RunQueue { others, online });
        is_oversubscribed(busy, OtherPrograms { queue, taken })
    }

    #[test]
    fn two_of_64_cpus_are_crowded_by_what_is_taken_of_them() {
        let two = 2;
        // Ten other threads can run on 62 other CPUs; 63 cannot.
        assert!(!oversubscribed(two, Some((10, 64)), None));
        assert!(!oversubscribed(two, Some((62, 64)), None));
        assert!(oversubscribed(two, Some((63, 64)), None));
        // The share taken from these two CPUs is known, and decides.
        assert!(!oversubscribed(two, Some((100, 64)), Some(0.0)));
        assert!(oversubscribed(two, Some((1, 64)), Some(0.5)));
    }

    #[test]
    fn all_cpus_are_crowded_by_either_sign() {
        assert!(!oversubscribed(2, Some((0, 2)), Some(0.01)));
        assert!(oversubscribed(2, Some((1, 2)), Some(0.0)));
        assert!(oversubscribed(2, Some((0, 2)), Some(0.2)));
        // A measurement on one of two CPUs leaves the other one for other threads.
        assert!(!oversubscribed(1, Some((1, 2)), None));
        assert!(oversubscribed(1, Some((2, 2)), None));
        assert!(!oversubscribed(64, Some((0, 64)), None));
        assert!(oversubscribed(64, Some((1, 64)), None));
    }

    #[test]
    fn without_load_data_there_is_no_oversubscription() {
        assert!(!oversubscribed(2, None, None));
        assert!(oversubscribed(2, None, Some(0.1)));
    }

    #[test]
    fn a_thread_that_wakes_up_briefly_is_no_load() {
        let least = |others: &[usize]| {
            let mut left = others.iter().map(|&others| RunQueue { others, online: 2 });
            (least_of(&mut left).map(|queue| queue.others), left.len())
        };
        assert_eq!(least(&[0, 3]), (Some(0), 1));
        assert_eq!(least(&[2, 1, 0, 5]), (Some(0), 1));
        assert_eq!(least(&[2, 1, 3]), (Some(1), 0));
        assert_eq!(least(&[]), (None, 0));
    }

    #[test]
    fn of_two_looks_the_fuller_counts() {
        let look =
            |others| OtherPrograms { queue: Some(RunQueue { others, online: 2 }), taken: None };
        assert_eq!(look(3).and(look(1)), look(3));
        assert_eq!(look(1).and(look(3)), look(3));
        assert_eq!(look(1).and(OtherPrograms::default()), look(1));
        let taken = OtherPrograms { queue: None, taken: Some(0.1) };
        assert_eq!(look(1).and(taken), OtherPrograms { taken: Some(0.1), ..look(1) });
    }

    #[test]
    fn cpu_time_of_others_is_used_in_long_trials_only() {
        let ms = Duration::from_millis;
        for (busy, own, elapsed, taken) in [
            (1_000, 990, 1_000, Some(0.01)),
            (1_000, 900, 1_000, Some(0.1)),
            (100, 50, 100, None), // too short
            (500, 1_500, 1_000, Some(0.0)),
        ] {
            assert_eq!(taken_by_others(ms(busy), ms(own), ms(elapsed)), taken, "{busy} {own}");
        }
    }
}
