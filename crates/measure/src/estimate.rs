//! Computes the values of rounds from their output, and classifies samples as quiet or disturbed.

use std::collections::BTreeMap;

use crate::record::Series;
use crate::sentinel::{Ratios, Reading};
use crate::stats::{RoundValue, median, quantile};

/// Minimum number of quiet samples of a round; a round with fewer is discarded and repeated.
pub const QUIET_SAMPLES_AT_LEAST: usize = 8;
/// Upper end of a steady level, relative to its lowest ratio.
const STEADY: f32 = 1.015;

/// Statistics of the sentinel's readings in a whole run: quiet levels, the lowest ratios that held steadily, for each CPU
/// and number of busy CPUs; and the core's speed. Workers of the same round are no disturbance, but those that share a core
/// have separate levels.
#[derive(Debug, Clone, Default)]
pub struct Levels {
    seen: BTreeMap<(Option<usize>, usize, bool), Lows>,
    /// The chain's lower quartile in ns, ascending: for each sampled round, and for each trial.
    sampled_chains: Vec<f32>,
    trial_chains: Vec<f32>,
    /// Times of an iteration of calibrated work, ascending.
    turns: Vec<f32>,
    /// Quiet ratios of earlier runs for a single busy CPU of this model.
    earlier: Option<EarlierLevel>,
}

/// The quiet ratios of earlier runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EarlierLevel {
    /// Ratio of the integer chains.
    pub alu: f32,
    /// Ratio of the loads.
    pub chase: f32,
}

impl EarlierLevel {
    /// Combines the levels, `(alu, chase)`, of several runs by the second lowest of each, so that one outlier does not make
    /// all later samples seem disturbed. `None` without runs.
    pub fn of_runs(levels: &[(f64, f64)]) -> Option<Self> {
        let low = |part: &dyn Fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = levels.iter().map(part).collect();
            values.sort_unstable_by(f64::total_cmp);
            values.get(1).or(values.first()).map(|&value| value as f32)
        };
        Some(Self { alu: low(&|level| level.0)?, chase: low(&|level| level.1)? })
    }
}

/// The lower quartiles of each ratio in each series, ascending.
#[derive(Debug, Clone, Default)]
struct Lows {
    alu: Vec<f32>,
    chase: Vec<f32>,
}

/// The distribution of the chain's time over a run's rounds, in ns for [`crate::cycles::UNIT`] multiplications.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChainTimes {
    /// The 5 % quantile.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// The 95 % quantile.
    pub high: f64,
}

impl Levels {
    /// Statistics that also have the quiet ratios of earlier runs, since a short run that is disturbed throughout has no
    /// quiet samples.
    pub fn with_earlier(earlier: Option<EarlierLevel>) -> Self {
        Self { earlier, ..Self::default() }
    }

    /// The quiet level measured by this run on a single busy CPU. `None` if too few rounds held it steadily: later runs use
    /// a stored level and cannot recognise an outlier.
    pub fn own_level(&self, cpu: Option<usize>) -> Option<(f64, f64)> {
        const ROUNDS_AT_LEAST: usize = 6;
        let lows =
            self.seen.get(&(cpu, 1, false)).filter(|lows| lows.alu.len() >= ROUNDS_AT_LEAST)?;
        Some((lowest_steady(&lows.alu)?.into(), lowest_steady(&lows.chase)?.into()))
    }

    /// Adds the lower quartile of each ratio in `series`, and its core's speed. Readings whose chain differs from that of
    /// their neighbours are left out: an interrupted chain makes ratios far too low.
    pub fn observe(&mut self, series: &Series) {
        if let Some(ns) = series.ns_per_iteration {
            insert(&mut self.turns, ns);
        }
        if let Some(chain) = chain_of(series) {
            let kind =
                if series.contended { &mut self.trial_chains } else { &mut self.sampled_chains };
            insert(kind, chain);
        }
        let lows = self.seen.entry((series.cpu, series.busy, series.shares_core)).or_default();
        let readings = series.readings.iter().enumerate();
        let ratios: Vec<Ratios> = readings
            .filter(|(at, _)| series.has_steady_chain(*at))
            .map(|(_, r)| r.ratios())
            .collect();
        observe_low(&mut lows.alu, ratios.iter().map(|r| r.alu));
        observe_low(&mut lows.chase, ratios.iter().map(|r| r.chase));
    }

    /// The median time of an iteration of calibrated work, in ns; `None` if there was none.
    pub fn ns_per_iteration(&self) -> Option<f32> {
        self.turns.get(self.turns.len() / 2).copied()
    }

    /// The chain's times during the run: in sampled rounds, else in trials; `None` without readings.
    pub fn chain_times(&self) -> Option<ChainTimes> {
        let seen =
            if self.sampled_chains.is_empty() { &self.trial_chains } else { &self.sampled_chains };
        if seen.is_empty() {
            return None;
        }
        let ascending: Vec<f64> = seen.iter().map(|&ns| ns.into()).collect();
        Some(ChainTimes {
            low: quantile(&ascending, 0.05),
            median: quantile(&ascending, 0.5),
            high: quantile(&ascending, 0.95),
        })
    }

    /// The quiet level of a CPU while `busy` CPUs work; `None` without readings.
    pub fn level(&self, cpu: Option<usize>, busy: usize) -> Option<Ratios> {
        self.level_of(&Series { cpu, busy, ..Series::default() })
    }

    /// The quiet level of the CPU and the number of busy CPUs of a series; `None` without readings.
    fn level_of(&self, series: &Series) -> Option<Ratios> {
        let busy = series.busy;
        let lows = self.seen.get(&(series.cpu, busy, series.shares_core))?;
        let earlier = self.earlier.filter(|_| busy == 1);
        let lower = |own: f32, earlier: Option<f32>| own.min(earlier.unwrap_or(own));
        Some(Ratios {
            alu: lower(lowest(&lows.alu)?, earlier.map(|level| level.alu)),
            chase: lower(lowest(&lows.chase)?, earlier.map(|level| level.chase)),
        })
    }
}

/// The lower quartile of a series' readings of the chain, in ns: interrupts and a multiplying neighbour prolong single
/// readings.
fn chain_of(series: &Series) -> Option<f32> {
    let chains = series.readings.iter().map(|reading| f64::from(reading.chain));
    let mut chains: Vec<f64> = chains.filter(|ns| *ns > 0.0 && ns.is_finite()).collect();
    chains.sort_unstable_by(f64::total_cmp);
    (!chains.is_empty()).then(|| quantile(&chains, 0.25) as f32)
}

/// Inserts the lower quartile of `ratios`, if there are any, into `lows`.
fn observe_low(lows: &mut Vec<f32>, ratios: impl Iterator<Item = f32>) {
    let mut ratios: Vec<f32> = ratios.filter(|ratio| ratio.is_finite() && *ratio > 0.0).collect();
    if !ratios.is_empty() {
        let quarter = ratios.len() / 4;
        let (_, &mut low, _) = ratios.select_nth_unstable_by(quarter, f32::total_cmp);
        insert(lows, low);
    }
}

fn insert(ascending: &mut Vec<f32>, value: f32) {
    let at = ascending.partition_point(|&other| other < value);
    ascending.insert(at, value);
}

/// The lowest steady level; if there is none, the lowest value.
fn lowest(ascending: &[f32]) -> Option<f32> {
    lowest_steady(ascending).or(ascending.first().copied())
}

/// The lowest value followed by enough others within the width of a level (a fiftieth of all, at least three): a single low
/// reading is an outlier. Returns the middle of that level.
fn lowest_steady(ascending: &[f32]) -> Option<f32> {
    let enough = (ascending.len() / 50).max(3);
    let is_steady = |&(at, &low): &(usize, &f32)| {
        ascending.get(at + enough - 1).is_some_and(|&other| other <= low * STEADY)
    };
    let (at, low) = ascending.iter().enumerate().find(is_steady)?;
    let end = ascending.partition_point(|&other| other <= low * STEADY);
    // The middle leaves room for the level's own variance.
    Some(ascending[(at + end) / 2])
}

/// The time of one operation in one sample, in two units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Time in ns.
    pub ns: f64,
    /// Time in dependent multiplications; `None` where the sentinel did not run on both sides.
    pub multiplications: Option<f64>,
}

/// A round whose samples are classified as quiet or disturbed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JudgedRound {
    /// Quiet samples.
    pub quiet: Vec<Sample>,
    /// All samples.
    pub all: Vec<Sample>,
    /// Time of all samples divided by their operations, in ns, if workers contended.
    pub contended_mean: Option<f64>,
    /// The sentinel's readings after quiet samples.
    pub readings: Vec<Reading>,
    /// The median of the chain beside quiet samples, in ns; without quiet samples its lower quartile beside all samples.
    pub chain_ns: Option<f64>,
    /// Time spent on quiet samples, in ns.
    pub quiet_ns: f64,
    /// Time spent on all samples, in ns.
    pub all_ns: f64,
}

/// The unit of a round's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds of wall-clock time.
    Nanoseconds,
    /// Dependent multiplications.
    Multiplications,
}

impl Unit {
    fn of(self, sample: &Sample) -> Option<f64> {
        match self {
            Self::Nanoseconds => Some(sample.ns),
            Self::Multiplications => sample.multiplications,
        }
    }
}

impl JudgedRound {
    /// Classifies the samples of a round by the quiet level of their CPU.
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
            judged.add(series, levels.level_of(series).as_ref());
        }
        let mut chains: Vec<f64> = judged.readings.iter().map(|r| f64::from(r.chain)).collect();
        if chains.is_empty() {
            chains = series.iter().filter_map(chain_of).map(f64::from).collect();
        }
        judged.chain_ns = (!chains.is_empty()).then(|| median(&mut chains));
        judged
    }

    fn add(&mut self, series: &Series, level: Option<&Ratios>) {
        // Where most operations give up the CPU, waiting for it is part of the operation.
        let own_doing = series.preempted.len() * 2 > series.samples.len();
        for (at, &sample) in series.samples.iter().enumerate() {
            let span = series.span(at);
            let multiplications = series.in_multiplications(at);
            let sample = Sample { ns: sample.into(), multiplications };
            self.all.push(sample);
            self.all_ns += span;
            let is_quiet = level.is_some_and(|level| {
                series.is_undisturbed(at, level) && (own_doing || !series.is_preempted(at))
            });
            // A foreign series may lack readings.
            if let Some([_, after]) = series.around(at).filter(|_| is_quiet) {
                self.quiet.push(sample);
                self.readings.push(*after);
                self.quiet_ns += span;
            }
        }
    }

    /// Discards the quiet samples of a trial, if CPU time was taken away during the round. Other rounds are unchanged:
    /// their samples show it by involuntary switches.
    pub fn spoilt(mut self) -> Self {
        if self.contended_mean.is_some() {
            self.quiet.clear();
            self.readings.clear();
            self.quiet_ns = 0.0;
        }
        self
    }

    /// Whether the round has enough quiet samples. With several workers all samples must be quiet: a disturbed CPU slows
    /// the other workers.
    pub fn is_enough(&self) -> bool {
        if self.contended_mean.is_some() {
            return self.quiet.len() == self.all.len();
        }
        self.quiet.len() >= QUIET_SAMPLES_AT_LEAST.min(self.all.len().max(1))
    }

    /// The value of the quiet samples; `None` if there are too few of them.
    pub fn quiet_value(&self, unit: Unit, seed: u64) -> Option<RoundValue> {
        self.is_enough().then(|| self.value_of(&self.quiet, unit, seed)).flatten()
    }

    /// The value of all samples; `None` if there are none.
    pub fn plain_value(&self, unit: Unit, seed: u64) -> Option<RoundValue> {
        self.value_of(&self.all, unit, seed)
    }

    fn value_of(&self, samples: &[Sample], unit: Unit, seed: u64) -> Option<RoundValue> {
        if let Some(mean) = self.contended_mean {
            return Some(RoundValue::exact(mean));
        }
        let values: Vec<f64> = samples.iter().filter_map(|sample| unit.of(sample)).collect();
        (!values.is_empty()).then(|| RoundValue::of(&values, seed))
    }
}

/// The distribution of samples: minimum, the 5, 25, 50, 75, 95 and 99 percent quantiles, and mean. `None` without samples.
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

    const QUIET: Reading = Reading { chain: 800.0, alu: 560.0, chase: 760.0 };

    fn series(alu: f32, sample: f32, count: usize) -> Series {
        Series {
            cpu: Some(1),
            busy: 1,
            batch: 100,
            samples: vec![sample; count],
            readings: vec![Reading { alu, ..QUIET }; count + 1],
            ..Series::default()
        }
    }

    /// The levels of a run with these rounds, each as often as its number says.
    fn observed<'a>(rounds: impl IntoIterator<Item = (&'a Series, usize)>) -> Levels {
        let mut levels = Levels::default();
        for (series, times) in rounds {
            (0..times).for_each(|_| levels.observe(series));
        }
        levels
    }

    fn judged(series: &Series, levels: &Levels) -> JudgedRound {
        JudgedRound::of(std::slice::from_ref(series), levels)
    }

    #[test]
    fn series_without_their_readings_are_judged_without_panic() {
        for contended in [false, true] {
            for readings in 0..4 {
                let series = Series {
                    contended,
                    readings: vec![QUIET; readings],
                    ..series(QUIET.alu, 5.0, 2)
                };
                let levels = observed([(&series, 20)]);
                let judged = judged(&series, &levels);
                assert_eq!(judged.all.len(), 2);
                assert!(judged.quiet.len() <= judged.all.len());
            }
        }
    }

    fn quiet() -> Series {
        series(560.0, 165.0, 20)
    }

    fn disturbed() -> Series {
        series(760.0, 220.0, 20)
    }

    #[test]
    fn the_lowest_steady_level_is_found_among_disturbed_rounds() {
        let mut levels = observed([(&disturbed(), 30), (&quiet(), 5)]);
        levels.observe(&series(300.0, 165.0, 20)); // an outlier
        assert_eq!(levels.level(Some(1), 1).unwrap().alu, 560.0 / 800.0);
        assert_eq!(levels.level(Some(1), 2), None);
    }

    /// The level of a neighbour that hardly ever pauses was taken for the quiet level.
    #[test]
    fn a_level_of_few_rounds_counts() {
        let levels = observed([(&disturbed(), 100), (&quiet(), 4)]);
        assert_eq!(levels.level(Some(1), 1).unwrap().alu, 560.0 / 800.0);
    }

    #[test]
    fn quiet_samples_are_classified_by_the_level_of_the_whole_run() {
        assert!(judged(&disturbed(), &observed([(&disturbed(), 1)])).is_enough());
        let judged = judged(&disturbed(), &observed([(&disturbed(), 1), (&quiet(), 9)]));
        assert!(!judged.is_enough());
        assert_eq!((judged.quiet.len(), judged.all.len()), (0, 20));
    }

    /// Two hardware threads of one core slow each other down, which is no disturbance; two cores do not.
    #[test]
    fn workers_that_share_a_core_have_a_quiet_level_of_their_own() {
        let apart = Series { busy: 2, contended: true, ..quiet() };
        let together = Series {
            shares_core: true,
            ..Series { readings: series(840.0, 1.0, 20).readings, ..apart.clone() }
        };
        let levels = observed([(&apart, 3), (&together, 3)]);
        for series in [apart, together] {
            assert!(judged(&series, &levels).is_enough(), "{series:?}");
        }
        assert_eq!(levels.level(Some(1), 2).unwrap().alu, 560.0 / 800.0);
    }

    #[test]
    fn a_run_at_changing_frequencies_is_quiet_and_gives_one_figure() {
        let at_frequency = |slower: f32| Series {
            readings: vec![
                Reading {
                    chain: QUIET.chain * slower,
                    alu: QUIET.alu * slower,
                    chase: QUIET.chase * slower,
                };
                21
            ],
            ..series(0.0, 165.0 * slower, 20)
        };
        let all: Vec<Series> = [1.0, 1.1, 1.04, 1.08].map(at_frequency).to_vec();
        let levels = observed(all.iter().map(|series| (series, 1)));
        let medians = all.iter().map(|series| {
            let judged = judged(series, &levels);
            assert_eq!(judged.quiet.len(), 20);
            judged.quiet_value(Unit::Multiplications, 1).unwrap().value
        });
        let medians: Vec<f64> = medians.collect();
        assert!(medians.iter().all(|m| (m / medians[0] - 1.0).abs() < 1e-5), "{medians:?}");
        let times = levels.chain_times().unwrap();
        assert!(times.low < times.median && times.median < times.high, "{times:?}");
        assert!((times.median - 848.0).abs() < 0.1, "{times:?}");
    }

    /// Interrupts, and a neighbour that multiplies, prolong some readings of the chain at an unchanged frequency.
    #[test]
    fn disturbed_readings_of_the_chain_are_no_frequency() {
        let mut some_slow = quiet();
        for reading in some_slow.readings.iter_mut().skip(6) {
            *reading = Reading { chain: 900.0, alu: 1_100.0, ..QUIET };
        }
        let levels = observed([(&quiet(), 4), (&some_slow, 1)]);
        let judged = judged(&some_slow, &levels);
        assert_eq!((judged.quiet.len(), judged.chain_ns), (5, Some(800.0)));
        assert_eq!(levels.chain_times().unwrap().high, 800.0);
    }

    /// A run of a few seconds beside a neighbour that never paused took its samples for quiet: 743 cycles instead of 602.
    #[test]
    fn a_run_that_is_disturbed_throughout_is_known_by_earlier_runs() {
        let quiet_samples = |earlier: Option<EarlierLevel>| {
            let mut levels = Levels::with_earlier(earlier);
            (0..9).for_each(|_| levels.observe(&disturbed()));
            judged(&disturbed(), &levels).quiet.len()
        };
        assert_eq!(quiet_samples(None), 20, "by itself it cannot know");
        let quiet = EarlierLevel::of_runs(&[(0.7, 0.95), (0.71, 0.95), (0.3, 0.95), (0.95, 1.0)]);
        assert_eq!(quiet, Some(EarlierLevel { alu: 0.7, chase: 0.95 }), "the slip is passed over");
        assert_eq!(quiet_samples(quiet), 0);
        assert_eq!(quiet_samples(EarlierLevel::of_runs(&[(0.95, 0.95)])), 20);
        assert_eq!(EarlierLevel::of_runs(&[]), None);
    }

    #[test]
    fn a_level_is_stored_if_based_on_enough_rounds() {
        let mut levels = Levels::default();
        for rounds in 0..6 {
            assert_eq!(levels.own_level(Some(1)), None, "{rounds}");
            levels.observe(&quiet());
        }
        let (alu, chase) = levels.own_level(Some(1)).unwrap();
        assert!((alu - 0.7).abs() < 1e-6 && (chase - 0.95).abs() < 1e-6, "{alu} {chase}");
    }

    /// A run beside a busy neighbour stored the ratio of a reading with an interrupted chain, 0.17 instead of 0.76, so that
    /// no later sample of that build was quiet.
    #[test]
    fn interrupts_within_the_chain_make_no_level() {
        let mut interrupted = series(560.0, 165.0, 3);
        interrupted.readings[0].chain = 3_200.0;
        interrupted.readings[2].chain = -900.0;
        let mut levels = observed([(&interrupted, 1)]);
        assert_eq!(levels.level(Some(1), 1), None, "no two of its chains agree");
        for alu in [590.0, 600.0, 610.0, 620.0, 630.0, 640.0] {
            levels.observe(&series(alu, 165.0, 3));
        }
        assert_eq!(levels.level(Some(1), 1).unwrap().alu, 590.0 / 800.0);
    }

    #[test]
    fn a_level_that_did_not_hold_is_not_stored() {
        let mut levels = Levels::default();
        for alu in [590.0, 620.0, 650.0, 680.0, 710.0, 740.0, 780.0] {
            levels.observe(&series(alu, 165.0, 20));
        }
        assert_eq!(levels.own_level(Some(1)), None);
        (0..3).for_each(|_| levels.observe(&quiet()));
        assert!(levels.own_level(Some(1)).is_some());
    }

    #[test]
    fn the_cores_speed_is_that_of_sampled_rounds_where_there_are_any() {
        let mut levels = Levels::default();
        assert_eq!(levels.chain_times(), None);
        let trial = Series {
            contended: true,
            readings: vec![Reading { chain: 900.0, ..QUIET }; 2],
            ..series(560.0, 1.0, 1)
        };
        levels.observe(&trial);
        assert_eq!(levels.chain_times().unwrap().median, 900.0);
        levels.observe(&series(560.0, 1.0, 10));
        assert_eq!(levels.chain_times().unwrap().median, 800.0);
    }

    #[test]
    fn time_lost_to_another_program_is_not_quiet() {
        let mut lost = series(560.0, 100.0, 10);
        lost.samples[3] = 100.0 * 1001.0; // a hundred times as long as all others
        lost.preempted = vec![3];
        let judged = judged(&lost, &observed([(&lost, 1)]));
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
