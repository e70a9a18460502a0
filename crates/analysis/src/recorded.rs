//! Data from the stored rounds of a run besides its figures: the distribution of each point's samples, and how quiet the machine
//! was in the course of the run.

use std::collections::BTreeMap;

use measure::Params;
use measure::stats::{median, quantile};

/// Number of steps of a histogram.
const STEPS: usize = 40;

/// Quantile to which a histogram reaches; its last step includes all samples beyond.
const REACH: f64 = 0.99;

/// Maximum number of moments: a chart cannot show more.
const MOMENTS: usize = 60;

/// Minimum share of the samples in a mode.
const MODE_SHARE: f64 = 0.05;

/// Share of the lower one of two modes below which the histogram must fall between them.
const VALLEY: f64 = 0.5;

/// Minimum distance of two modes as a share of the first one: less is noise within a mode.
const MODES_APART: f64 = 0.03;

/// Data that the rounds of a run recorded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded {
    /// The samples of each point, by case and parameters.
    pub points: BTreeMap<(String, Params), Samples>,
    /// The state of the machine in the course of the run.
    pub moments: Vec<Moment>,
}

impl Recorded {
    /// The samples of a point.
    pub fn samples(&self, case: &str, params: &Params) -> Option<&Samples> {
        self.points.get(&(case.to_owned(), params.clone()))
    }
}

/// The distribution of the samples of one point, in ns per operation of wall-clock time.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// The number of samples.
    pub count: usize,
    /// The number of quiet samples.
    pub quiet: usize,
    /// Beginning of the first step of the histogram: the shortest sample.
    pub from: f64,
    /// End of the last step of the histogram, which also counts all samples beyond.
    pub to: f64,
    /// Number of all samples in each step.
    pub all_steps: Vec<u32>,
    /// Number of quiet samples in each step.
    pub quiet_steps: Vec<u32>,
    /// The quantiles 0.5, 0.95, 0.99 and 0.999 of all samples, and the longest sample.
    pub quantiles: [f64; 5],
    /// The centres of the histogram's modes, ascending; one if the operation always took about the same time.
    pub modes: Vec<f64>,
}

impl Samples {
    /// The distribution of `all` samples and of the quiet ones; `None` if there is no finite sample.
    pub fn of(mut all: Vec<f64>, quiet: &[f64]) -> Option<Samples> {
        all.retain(|sample| sample.is_finite());
        all.sort_unstable_by(f64::total_cmp);
        let (from, longest) = (*all.first()?, *all.last()?);
        let reach = quantile(&all, REACH);
        let to = if reach > from { reach } else { longest };
        let steps = |samples: &[f64]| {
            let mut steps = vec![0_u32; STEPS];
            for sample in samples.iter().filter(|sample| sample.is_finite()) {
                // The cast saturates, so that samples outside belong to the first or last step.
                let at = ((sample - from) / (to - from) * STEPS as f64) as usize;
                steps[at.min(STEPS - 1)] += 1;
            }
            steps
        };
        let all_steps = steps(&all);
        let quantiles = [0.5, 0.95, 0.99, 0.999].map(|p| quantile(&all, p));
        let [p50, p95, p99, p999] = quantiles;
        let step = (to - from) / STEPS as f64;
        let modes = modes(&all_steps);
        let modes = modes.into_iter().map(|at| from + (at as f64 + 0.5) * step).collect();
        Some(Samples {
            count: all.len(),
            quiet: quiet.len(),
            from,
            to,
            quiet_steps: steps(quiet),
            all_steps,
            quantiles: [p50, p95, p99, p999, longest],
            modes: apart(modes, p50),
        })
    }
}

/// Indexes of the histogram's peaks that are separated by a valley. The last step, with all samples beyond, is no peak.
fn modes(steps: &[u32]) -> Vec<usize> {
    let inner = &steps[..steps.len() - 1];
    // A moving mean over three steps: single empty steps are no valleys.
    let around = |at: usize| &inner[at.saturating_sub(1)..(at + 2).min(inner.len())];
    let sum = |steps: &[u32]| steps.iter().map(|&count| f64::from(count)).sum::<f64>();
    let smooth: Vec<f64> =
        (0..inner.len()).map(|at| sum(around(at)) / around(at).len() as f64).collect();
    let total = sum(steps);
    let mut peaks: Vec<usize> = Vec::new();
    for at in 0..smooth.len() {
        if sum(around(at)) / total.max(1.0) < MODE_SHARE {
            continue;
        }
        match peaks.last().copied() {
            None => peaks.push(at),
            Some(last) => {
                let lowest = smooth[last..=at].iter().copied().fold(f64::INFINITY, f64::min);
                if lowest < VALLEY * smooth[last].min(smooth[at]) {
                    peaks.push(at);
                } else if smooth[at] > smooth[last] {
                    peaks.pop();
                    peaks.push(at);
                }
            }
        }
    }
    peaks
}

/// `modes` without those too close to the one before.
fn apart(modes: Vec<f64>, median: f64) -> Vec<f64> {
    let mut kept: Vec<f64> = Vec::new();
    for mode in modes {
        if kept.last().is_none_or(|last| mode - last > MODES_APART * last.abs()) {
            kept.push(mode);
        }
    }
    if kept.is_empty() { vec![median] } else { kept }
}

/// The state of the machine during a part of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// Middle of the part, in seconds of measuring time since the run began.
    pub seconds: f64,
    /// Frequency of the core in GHz.
    pub ghz: Option<f64>,
    /// Share of the measuring time that was quiet.
    pub quiet: Option<f64>,
    /// Share of the CPU time that the hypervisor took.
    pub steal: Option<f64>,
    /// Share of the elapsed time in which the control group had used up its CPU quota.
    pub throttled: Option<f64>,
}

/// State of the machine during one round.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RoundState {
    /// Start of the round, in seconds of measuring time since the run began.
    pub seconds: f64,
    /// Frequency of the core in GHz.
    pub ghz: Option<f64>,
    /// Quiet and total measuring time of the round, in ns.
    pub quiet_of_ns: (f64, f64),
    /// Stolen and total CPU time, in seconds.
    pub steal_of: Option<(f64, f64)>,
    /// Throttled time and elapsed time, in seconds.
    pub throttled_of: Option<(f64, f64)>,
}

/// Divides the rounds of a run, which began in this order, into parts of equal length. Returns the moment of each part.
pub fn moments(rounds: &[RoundState]) -> Vec<Moment> {
    let Some(end) = rounds.iter().map(|round| round.seconds).max_by(f64::total_cmp) else {
        return Vec::new();
    };
    let parts = MOMENTS.min(rounds.len());
    // The factor keeps the last round within the last part.
    let length = (end / parts as f64).max(1e-9) * 1.000_001;
    let mut by_part: BTreeMap<usize, Vec<&RoundState>> = BTreeMap::new();
    for round in rounds {
        let part = ((round.seconds / length) as usize).min(parts - 1);
        by_part.entry(part).or_default().push(round);
    }
    let moment = |(part, rounds): (usize, Vec<&RoundState>)| {
        let mut ghz: Vec<f64> = rounds.iter().filter_map(|round| round.ghz).collect();
        let share = |parts: Vec<(f64, f64)>| {
            let (some, all) =
                parts.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
            (all > 0.0).then(|| some / all)
        };
        Moment {
            seconds: (part as f64 + 0.5) * length,
            ghz: (!ghz.is_empty()).then(|| median(&mut ghz)),
            quiet: share(rounds.iter().map(|round| round.quiet_of_ns).collect()),
            steal: share(rounds.iter().filter_map(|round| round.steal_of).collect()),
            throttled: share(rounds.iter().filter_map(|round| round.throttled_of).collect()),
        }
    };
    by_part.into_iter().map(moment).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Samples in a narrow peak around `at`.
    fn peak(at: f64, count: usize) -> Vec<f64> {
        (0..count).map(|i| at * (1.0 + 0.01 * (i % 7) as f64 / 7.0)).collect()
    }

    #[test]
    fn modes_are_the_peaks_of_the_histogram() {
        let one = Samples::of(peak(100.0, 500), &[]).unwrap();
        assert_eq!(one.modes.len(), 1, "{:?}", one.modes);
        let two = [peak(100.0, 500), peak(130.0, 200)].concat();
        let two = Samples::of(two, &peak(100.0, 300)).unwrap();
        assert_eq!(two.modes.len(), 2, "{:?}", two.modes);
        assert!((two.modes[0] - 100.5).abs() < 2.0 && (two.modes[1] - 130.5).abs() < 2.0);
        assert_eq!((two.count, two.quiet), (700, 300));
        assert_eq!(two.quiet_steps.iter().sum::<u32>(), 300);
    }

    #[test]
    fn equal_samples_are_one_mode_and_none_are_nothing() {
        let equal = Samples::of(vec![5.0; 10], &[5.0]).unwrap();
        assert_eq!((equal.modes.as_slice(), equal.quantiles), (&[5.0][..], [5.0; 5]));
        assert_eq!(Samples::of(vec![f64::NAN], &[]), None);
        assert_eq!(Samples::of(Vec::new(), &[]), None);
    }

    #[test]
    fn a_run_has_few_moments_with_shares_of_time() {
        let round = |at: usize| RoundState {
            seconds: at as f64,
            ghz: Some(3.0),
            quiet_of_ns: (1.0, if at < 500 { 1.0 } else { 4.0 }),
            steal_of: Some((0.0, 1.0)),
            throttled_of: None,
        };
        let rounds: Vec<RoundState> = (0..1_000).map(round).collect();
        let moments = moments(&rounds);
        assert_eq!(moments.len(), MOMENTS);
        let quiet = |at: usize| moments[at].quiet.unwrap();
        assert!((quiet(0) - 1.0).abs() < 1e-9 && (quiet(MOMENTS - 1) - 0.25).abs() < 1e-9);
        let first = moments[0];
        assert_eq!((first.ghz, first.steal, first.throttled), (Some(3.0), Some(0.0), None));
        assert!(moments.windows(2).all(|pair| pair[0].seconds < pair[1].seconds));
        assert_eq!(super::moments(&[]), []);
    }

    proptest! {
        #[test]
        fn each_finite_sample_is_counted_once(samples: Vec<f64>) {
            let finite = samples.iter().filter(|sample| sample.is_finite()).count();
            match Samples::of(samples, &[]) {
                None => prop_assert_eq!(finite, 0),
                Some(samples) => {
                    prop_assert_eq!(samples.all_steps.iter().sum::<u32>() as usize, finite);
                    prop_assert!(!samples.modes.is_empty());
                }
            }
        }
    }
}
