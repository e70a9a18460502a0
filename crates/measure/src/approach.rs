//! How a fresh process approaches its steady state: in some systems an operation becomes cheaper while it is repeated, because a helper
//! of the system begins to wait for it, a translation is kept, or a path is patched.

use crate::stats::quantile;
use crate::time::Nanoseconds;

/// The shortest time for which an operation is repeated, and the smallest number of times, before it may be called steady.
const REPEATED: Nanoseconds = Nanoseconds::new(200e6);
const TIMES: u64 = 20_000;
/// The longest time that it is given: an operation that takes longer than 100 us is not repeated 20,000 times.
const LONGEST: Nanoseconds = Nanoseconds::new(2e9);
/// The largest relative change over the last three doublings of the elapsed time that is no trend.
const TREND: f64 = 0.02;
/// The largest relative difference from the steady time that is not the beginning any more.
const SETTLED: f64 = 0.1;
/// The marks of one doubling of the elapsed time: the times at which the clock is read while the operation is repeated.
const MARKS: f64 = 8.0;

/// The time and the number of operations since the process's first one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mark {
    elapsed: f64,
    operations: u64,
}

/// What was seen of an operation that is repeated from the process's first one on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Approach {
    marks: Vec<Mark>,
}

impl Approach {
    /// Notes that `operations` have been carried out in all, in this time.
    pub(crate) fn note(&mut self, elapsed: Nanoseconds, operations: u64) {
        self.marks.push(Mark { elapsed: elapsed.get(), operations });
    }

    /// How many operations are to be carried out before the next mark.
    pub(crate) fn next(&self) -> u64 {
        let Some(last) = self.marks.last() else { return 1 };
        // A step that is too long would miss the end of the first millisecond, or of the whole approach.
        ((last.operations as f64 / MARKS) as u64).max(1)
    }

    /// The mean time of an operation, in ns, over the first `span`; of the first operation, if that took longer. `None` without marks.
    pub(crate) fn first(&self, span: Nanoseconds) -> Option<f64> {
        let within = self.marks.iter().take_while(|mark| mark.elapsed <= span.get()).last();
        within.or(self.marks.first()).map(|mark| mark.elapsed / mark.operations as f64)
    }

    /// Whether it was repeated for this time at least.
    pub(crate) fn has_taken(&self, time: Nanoseconds) -> bool {
        self.marks.last().is_some_and(|last| last.elapsed >= time.get())
    }

    /// Whether it was repeated for long enough, and shows no trend over the last three doublings of the elapsed time or has used up
    /// its time.
    pub(crate) fn is_over(&self) -> bool {
        let Some(last) = self.marks.last() else { return false };
        last.elapsed >= LONGEST.get()
            || last.elapsed >= REPEATED.get() && last.operations >= TIMES && self.is_steady()
    }

    /// Whether the times of an operation in the last three doublings of the elapsed time differ by no more than a trend, or by no more
    /// than their scatter.
    pub(crate) fn is_steady(&self) -> bool {
        let times: Option<Vec<Times>> = (0..3).map(|ago| self.times_in_doubling(ago)).collect();
        times.is_some_and(|times| {
            let differ = |a: usize, b: usize| times[a].differs(&times[b], TREND);
            !differ(0, 1) && !differ(1, 2) && !differ(0, 2)
        })
    }

    /// The elapsed time from which each doubling had the time of the last one, within [`SETTLED`] or their scatter.
    pub(crate) fn steady_after(&self) -> Option<Nanoseconds> {
        let last = self.marks.last()?.elapsed;
        let steady = self.times_in_doubling(0)?;
        let is_steady = |ago: &i32| {
            self.times_in_doubling(*ago).is_some_and(|times| !times.differs(&steady, SETTLED))
        };
        let doublings = (1..).take_while(is_steady).count() as i32;
        Some(Nanoseconds::new(last * 0.5_f64.powi(doublings + 1)))
    }

    /// The time of an operation in the last doubling of the elapsed time, in ns, or of all if there is one mark; `None` without marks.
    pub(crate) fn latest_time(&self) -> Option<f64> {
        let all = || self.marks.last().map(|mark| mark.elapsed / mark.operations as f64);
        self.times_in_doubling(0).map(|times| times.median).or_else(all)
    }

    /// The times of an operation in the doubling of the elapsed time that ended `ago` doublings before the last mark.
    fn times_in_doubling(&self, ago: i32) -> Option<Times> {
        let last = self.marks.last()?.elapsed;
        let (from, to) = (last * 0.5_f64.powi(ago + 1), last * 0.5_f64.powi(ago));
        let is_within = |two: &&[Mark]| from < two[1].elapsed && two[1].elapsed <= to;
        let time = |two: &[Mark]| {
            (two[1].elapsed - two[0].elapsed) / (two[1].operations - two[0].operations) as f64
        };
        let mut times: Vec<f64> = self.marks.windows(2).filter(is_within).map(time).collect();
        times.sort_unstable_by(f64::total_cmp);
        (!times.is_empty()).then(|| Times {
            low: quantile(&times, 0.25),
            median: quantile(&times, 0.5),
            high: quantile(&times, 0.75),
        })
    }
}

/// The median of an operation's times, in ns, and their quartiles, which a disturbance of one mark does not change.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Times {
    low: f64,
    median: f64,
    high: f64,
}

impl Times {
    /// Whether the medians differ by more than this share, and the times are apart.
    fn differs(&self, other: &Self, share: f64) -> bool {
        let ratio = self.median / other.median;
        let are_apart = self.low > other.high || other.low > self.high;
        ratio.max(1.0 / ratio) > 1.0 + share && are_apart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is seen of an operation that takes `time(elapsed)` ns.
    fn seen(mut time: impl FnMut(f64) -> f64) -> Approach {
        let (mut approach, mut elapsed, mut operations) = (Approach::default(), 0.0, 0);
        while !approach.is_over() {
            for _ in 0..approach.next() {
                elapsed += time(elapsed);
                operations += 1;
            }
            approach.note(Nanoseconds::new(elapsed), operations);
        }
        approach
    }

    fn elapsed_ms(approach: &Approach) -> f64 {
        approach.marks.last().unwrap().elapsed / 1e6
    }

    #[test]
    fn what_has_no_trend_is_steady_after_the_shortest_time() {
        let approach = seen(|_| 500.0);
        assert!(approach.is_steady());
        assert!((200.0..230.0).contains(&elapsed_ms(&approach)), "{}", elapsed_ms(&approach));
        for span in [1e6, 10e6] {
            assert_eq!(approach.first(Nanoseconds::new(span)), Some(500.0));
        }
        // Twenty thousand operations of 20 us take longer.
        let slow = seen(|_| 20_000.0);
        assert!((400.0..460.0).contains(&elapsed_ms(&slow)), "{}", elapsed_ms(&slow));
    }

    /// A system whose calls become cheap only after a while.
    #[test]
    fn what_becomes_cheap_later_is_repeated_until_it_is() {
        for after_ms in [5.0, 50.0, 150.0] {
            let cheap_after =
                |elapsed: f64| if elapsed < after_ms * 1e6 { 18_000.0 } else { 3_000.0 };
            let approach = seen(cheap_after);
            assert!(approach.is_steady());
            let last = approach.latest_time().unwrap();
            assert!((2_990.0..3_060.0).contains(&last), "{after_ms}: {last}");
            // The beginning is what a short program meets.
            let first = approach.first(Nanoseconds::new(1e6)).unwrap();
            assert!((17_900.0..18_100.0).contains(&first), "{first}");
            assert!(elapsed_ms(&approach) >= 4.0 * after_ms.min(50.0), "{after_ms}");
            // Most of the doubling that begins there is after the change.
            let steady_ms = approach.steady_after().unwrap().get() / 1e6;
            assert!(
                (after_ms * 0.5..after_ms * 2.3).contains(&steady_ms),
                "{after_ms}: {steady_ms}"
            );
        }
    }

    /// A neighbour that takes the processor in one mark of a doubling is no trend.
    #[test]
    fn a_disturbance_is_no_trend() {
        let mut approach = Approach::default();
        let (mut elapsed, mut operations) = (0.0, 0);
        while !approach.is_over() {
            let next = approach.next();
            operations += next;
            elapsed += next as f64 * if (60e6..75e6).contains(&elapsed) { 900.0 } else { 500.0 };
            approach.note(Nanoseconds::new(elapsed), operations);
        }
        assert!(approach.is_steady() && elapsed < 300e6, "{elapsed}");
    }

    /// Two levels that alternate are no trend, however far they are apart.
    #[test]
    fn a_scatter_is_no_trend() {
        let mut state = 7_u64;
        let approach = seen(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if state >> 44 & 1023 < 300 { 60_000.0 } else { 6_000.0 }
        });
        assert!(approach.is_steady() && elapsed_ms(&approach) < 700.0, "{}", elapsed_ms(&approach));
    }

    #[test]
    fn what_goes_on_changing_is_not_steady_and_ends() {
        // It becomes slower by a tenth with each doubling.
        let approach = seen(|elapsed| 1_000.0 * (elapsed + 1e3).powf(0.14) / 2.6);
        assert!(!approach.is_steady());
        assert!((2_000.0..2_300.0).contains(&elapsed_ms(&approach)));
    }

    #[test]
    fn an_operation_longer_than_the_beginning_is_its_own_beginning() {
        let approach = seen(|_| 700e6);
        assert_eq!(approach.first(Nanoseconds::new(10e6)), Some(700e6));
        assert!((2_000.0..3_000.0).contains(&elapsed_ms(&approach)));
        assert!(!approach.is_steady(), "three operations show nothing");
    }

    #[test]
    fn the_clock_is_read_a_few_times_in_each_doubling() {
        let approach = seen(|_| 100.0);
        assert!((100..200).contains(&approach.marks.len()), "{}", approach.marks.len());
        assert_eq!(Approach::default().next(), 1);
        assert!(!Approach::default().is_steady() && !Approach::default().is_over());
        assert_eq!(
            (Approach::default().steady_after(), Approach::default().latest_time()),
            (None, None)
        );
        assert_eq!(seen(|_| 3e9).latest_time(), Some(3e9), "of a single mark");
    }
}
