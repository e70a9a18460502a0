//! From what rounds printed to a figure: which samples were quiet, and what they say.

use std::collections::BTreeMap;

use crate::record::Series;
use crate::sentinel::Reading;
use crate::stats::{RoundMedian, quantile};

/// Quiet samples below which a round says nothing and is measured again.
pub const QUIET_SAMPLES_AT_LEAST: usize = 8;
/// How close together readings of the same steady level lie.
const STEADY: f32 = 1.015;

/// The sentinel's quiet levels: the lowest that held steadily, for each CPU and number of CPUs kept
/// busy (our own workers are no disturbance, but they may share a core).
#[derive(Debug, Clone, Default)]
pub struct Levels {
    seen: BTreeMap<(Option<usize>, usize), [Vec<f32>; 3]>,
    /// What a turn of calibrated work took, ascending.
    turns: Vec<f32>,
}

impl Levels {
    /// Takes note of the lower quartile of each reference in `series`.
    pub fn observe(&mut self, series: &Series) {
        if let Some(ns) = series.turn_ns {
            insert(&mut self.turns, ns);
        }
        if series.readings.is_empty() {
            return;
        }
        let seen = self.seen.entry((series.cpu, series.busy)).or_default();
        for (part, lows) in seen.iter_mut().enumerate() {
            let mut readings: Vec<f32> = series.readings.iter().map(|r| r[part]).collect();
            let quarter = readings.len() / 4;
            let (_, &mut low, _) = readings.select_nth_unstable_by(quarter, f32::total_cmp);
            insert(lows, low);
        }
    }

    /// What a turn of calibrated work takes, in ns: the median of what was found; `None` if nothing
    /// was.
    pub fn turn_ns(&self) -> Option<f32> {
        self.turns.get(self.turns.len() / 2).copied()
    }

    /// The quiet level of a CPU while `busy` of them work; `None` if nothing was seen of it.
    pub fn level(&self, cpu: Option<usize>, busy: usize) -> Option<Reading> {
        let seen = self.seen.get(&(cpu, busy))?;
        Some(Reading::of_parts(seen.each_ref().map(|lows| lowest_steady(lows))))
    }
}

fn insert(ascending: &mut Vec<f32>, value: f32) {
    let at = ascending.partition_point(|&other| other < value);
    ascending.insert(at, value);
}

/// The lowest value around which at least a tenth of all (and three) lie: a single low reading is
/// a slip, not a level. Where there is none, the lowest.
fn lowest_steady(ascending: &[f32]) -> f32 {
    let enough = (ascending.len() / 10).max(3);
    let steady = ascending.iter().enumerate().find(|&(at, &low)| {
        ascending.get(at + enough - 1).is_some_and(|&other| other <= low * STEADY)
    });
    match steady {
        // The middle of that level, so that half of its own scatter is not called disturbed.
        Some((at, &low)) => {
            let end = ascending.partition_point(|&other| other <= low * STEADY);
            ascending[(at + end) / 2]
        }
        None => ascending[0],
    }
}

/// What one round says, its samples sorted into quiet and disturbed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JudgedRound {
    /// Quiet samples, in ns per operation.
    pub quiet: Vec<f64>,
    /// All samples, in ns per operation.
    pub all: Vec<f64>,
    /// Where workers contended: time of all samples by their operations, in ns.
    pub contended_mean: Option<f64>,
    /// The sentinel's readings after quiet samples.
    pub readings: Vec<[f32; 3]>,
    /// Time spent on quiet samples, in ns.
    pub quiet_ns: f64,
    /// Time spent on all samples, in ns.
    pub all_ns: f64,
}

impl JudgedRound {
    /// Judges the samples of a round by the level of the CPU they were taken on.
    pub fn of(series: &[Series], levels: &Levels) -> Self {
        let mut judged = Self::default();
        let contended = series.iter().filter(|series| series.contended);
        let (ns, operations) = contended.fold((0.0, 0.0), |(ns, operations), series| {
            let sum: f64 = series.samples.iter().map(|&sample| f64::from(sample)).sum();
            let (batch, count) = (series.batch as f64, series.samples.len() as f64);
            (ns + sum * batch, operations + batch * count)
        });
        judged.contended_mean = (operations > 0.0).then(|| ns / operations);
        for series in series {
            // Where most operations give up the CPU, being without it is what is measured.
            let own_doing = series.preempted.len() * 2 > series.samples.len();
            let level = levels.level(series.cpu, series.busy);
            for (at, &sample) in series.samples.iter().enumerate() {
                let span = series.span(at);
                judged.all.push(f64::from(sample));
                judged.all_ns += span;
                if level.is_some_and(|level| {
                    series.is_undisturbed(at, &level) && (own_doing || !series.is_preempted(at))
                }) {
                    judged.quiet.push(f64::from(sample));
                    judged
                        .readings
                        .push(series.readings[if series.contended { 1 } else { at + 1 }]);
                    judged.quiet_ns += span;
                }
            }
        }
        judged
    }

    /// Whether it has enough quiet samples to speak. Among several workers all CPUs must have been
    /// quiet: one that was not slows the others.
    pub fn is_enough(&self) -> bool {
        if self.contended_mean.is_some() {
            return self.quiet.len() == self.all.len();
        }
        self.quiet.len() >= QUIET_SAMPLES_AT_LEAST.min(self.all.len().max(1))
    }

    /// The median of its quiet samples, `None` if it has not enough of them.
    pub fn quiet_median(&self, seed: u64) -> Option<RoundMedian> {
        self.is_enough().then(|| match self.contended_mean {
            Some(mean) => RoundMedian::exact(mean),
            None => RoundMedian::of(&self.quiet, seed),
        })
    }

    /// The median of all its samples; `None` if it has none.
    pub fn plain_median(&self, seed: u64) -> Option<RoundMedian> {
        (!self.all.is_empty()).then(|| match self.contended_mean {
            Some(mean) => RoundMedian::exact(mean),
            None => RoundMedian::of(&self.all, seed),
        })
    }
}

/// The distribution of samples: least, the 5, 25, 50, 75, 95 and 99 percent quantiles, and mean.
/// `None` if there are no samples.
pub fn distribution(samples: &mut [f64]) -> Option<[f64; 8]> {
    if samples.is_empty() {
        return None;
    }
    samples.sort_unstable_by(f64::total_cmp);
    let at = |p| quantile(samples, p);
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    Some([samples[0], at(0.05), at(0.25), at(0.5), at(0.75), at(0.95), at(0.99), mean])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(alu: f32, sample: f32, count: usize) -> Series {
        Series {
            cpu: Some(1),
            busy: 1,
            batch: 100,
            samples: vec![sample; count],
            readings: vec![[alu, 760.0, 680.0]; count + 1],
            ..Series::default()
        }
    }

    #[test]
    fn the_lowest_steady_level_is_found_among_disturbed_rounds() {
        let mut levels = Levels::default();
        for _ in 0..30 {
            levels.observe(&series(760.0, 220.0, 20));
        }
        for _ in 0..5 {
            levels.observe(&series(560.0, 165.0, 20));
        }
        levels.observe(&series(300.0, 165.0, 20)); // a slip
        assert_eq!(levels.level(Some(1), 1).unwrap().alu, 560.0);
        assert_eq!(levels.level(Some(1), 2), None);
    }

    #[test]
    fn what_was_quiet_is_decided_by_the_level_of_the_whole_run() {
        let (disturbed, quiet) = (series(760.0, 220.0, 20), series(560.0, 165.0, 20));
        let mut levels = Levels::default();
        levels.observe(&disturbed);
        assert!(JudgedRound::of(std::slice::from_ref(&disturbed), &levels).is_enough());
        (0..9).for_each(|_| levels.observe(&quiet));
        let judged = JudgedRound::of(&[disturbed], &levels);
        assert!(!judged.is_enough());
        assert_eq!((judged.quiet.len(), judged.all.len()), (0, 20));
    }

    #[test]
    fn time_lost_to_another_program_is_not_quiet() {
        let mut lost = series(560.0, 100.0, 10);
        lost.samples[3] = 100.0 * 101.0; // as long as all others a hundred times
        lost.preempted = vec![3];
        let mut levels = Levels::default();
        levels.observe(&lost);
        let judged = JudgedRound::of(&[lost], &levels);
        assert_eq!(judged.quiet.len(), 9);
        assert!(judged.quiet_ns / judged.all_ns < 0.2);
    }

    #[test]
    fn a_distribution_is_ascending() {
        let mut samples: Vec<f64> = (0..1000).map(|n| f64::from(n * 7919 % 1000)).collect();
        let found = distribution(&mut samples).unwrap();
        assert!(found[..7].windows(2).all(|pair| pair[0] <= pair[1]));
        assert_eq!(found[3], 499.5);
        assert_eq!(distribution(&mut []), None);
    }
}
