//! Laws of scaling, fitted to a sweep over the degree of concurrency.
//!
//! Amdahl's law (Amdahl 1967) in the form `X(N) = X1 N / (1 + s (N-1))`, and the Universal Scalability Law
//! (Gunther 2007, "Guerrilla Capacity Planning") `X(N) = X1 N / (1 + sigma (N-1) + kappa N (N-1))`.
//!
//! Gunther divides all rates by the measured `X(1)` and fits a parabola to the ratios: an error of that one value
//! affects all. Here `X1` is a parameter like the others, and the relative errors of the rates against the law,
//! `X/X(N) - 1`, are minimised (least squares). As `1/X(N)` is linear in `(1-sigma)/X1`, `sigma/X1` and `kappa/X1`,
//! that is a linear problem; with none of the three below zero it has one solution, and `0 <= sigma <= 1`,
//! `kappa >= 0` hold by construction.

use std::array::from_fn;

use super::metrics::{AMDAHL_SERIAL, RATE, RATE_ONE, USL_COHERENCE, USL_CONTENTION, USL_KNEE};
use measure::doubt::ScalingLaw;
use measure::{Doubt, Metric, Params};
use results::CaseResult;

use analysis::derive::{SweepStep, are_positive, sweeps, with_figure, without_figure};
use analysis::resample::Bootstrap;

const CASE: &str = "concurrency/degree";
/// Minimum number of points of a curve that is fitted.
const FEWEST_DEGREES: usize = 3;
/// Relative error of a rate beyond which a law does not describe it.
const POOR_FIT: f64 = 0.05;

/// A fitted law: the rate with one worker, and the loss per further worker.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Law {
    rate_one: f64,
    sigma: f64,
    kappa: f64,
}

/// Number of terms of the longer law.
const TERMS: usize = 3;

/// Factors of terms, or one row of terms.
type Terms = [f64; TERMS];

/// The terms of `N / X(N)`, whose factors are fitted; of Amdahl's law, the first two count.
fn terms(degree: f64) -> Terms {
    [1.0, degree, degree * (degree - 1.0)]
}

impl Law {
    /// Fits the law; `None` if no law of this form fits.
    fn fit(law: ScalingLaw, degrees: &[f64], rates: &[f64]) -> Option<Law> {
        let rows = degrees
            .iter()
            .zip(rates)
            .map(|(&degree, &rate)| terms(degree).map(|term| term * rate / degree));
        let count = match law {
            ScalingLaw::Amdahl => 2,
            ScalingLaw::Usl => TERMS,
        };
        let [one, each, pairs] = nonnegative_least_squares(&rows.collect::<Vec<_>>(), count)?;
        let time_one = one + each;
        let law = Law { rate_one: 1.0 / time_one, sigma: each / time_one, kappa: pairs / time_one };
        let sound = law.rate_one.is_finite() && law.sigma.is_finite() && law.kappa.is_finite();
        sound.then_some(law)
    }

    fn rate(&self, degree: f64) -> f64 {
        let others = degree - 1.0;
        self.rate_one * degree / (1.0 + self.sigma * others + self.kappa * degree * others)
    }

    /// The degree of the highest rate (Gunther 2007, eq. 4.33), not below 1; infinite if it never falls.
    fn knee(&self) -> f64 {
        if self.kappa > 0.0 {
            ((1.0 - self.sigma) / self.kappa).sqrt().max(1.0)
        } else {
            f64::INFINITY
        }
    }

    /// Largest relative error of a rate, and its degree.
    fn worst_miss(&self, degrees: &[f64], rates: &[f64]) -> (f64, f64) {
        let misses = degrees.iter().zip(rates);
        let misses = misses.map(|(&degree, rate)| ((rate / self.rate(degree) - 1.0).abs(), degree));
        misses.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 1.0))
    }
}

/// The factors of the first `count` terms, none below zero, for which the sums over the rows of factor times term come nearest to 1.
///
/// The solution with all terms is the best, if none of its factors is below zero. If not, the function tries all subsets of positive
/// factors, which are few for two or three factors; the best feasible subset is the solution (Lawson and Hanson 1974, chapter 23).
fn nonnegative_least_squares(rows: &[Terms], count: usize) -> Option<Terms> {
    let equations = Equations::of(rows);
    let feasible = |chosen: u32| {
        let is_feasible = |factor: &f64| *factor >= 0.0 && factor.is_finite();
        equations.solved(chosen).filter(|factors| factors.iter().all(is_feasible))
    };
    let all = (1 << count) - 1;
    feasible(all).or_else(|| {
        let some = (1..all).filter_map(feasible);
        let some = some.map(|factors| (squares(rows, &factors), factors));
        some.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, factors)| factors)
    })
}

fn squares(rows: &[Terms], factors: &Terms) -> f64 {
    let mut sum = 0.0;
    for row in rows {
        let found = row[0] * factors[0] + row[1] * factors[1] + row[2] * factors[2];
        sum += (found - 1.0).powi(2);
    }
    sum
}

/// The normal equations of least squares.
struct Equations {
    products: [Terms; TERMS],
    sums: Terms,
}

impl Equations {
    fn of(rows: &[Terms]) -> Self {
        let mut equations = Self { products: [[0.0; TERMS]; TERMS], sums: [0.0; TERMS] };
        for row in rows {
            for i in 0..TERMS {
                equations.sums[i] += row[i];
                for j in 0..TERMS {
                    equations.products[i][j] += row[i] * row[j];
                }
            }
        }
        equations
    }

    /// The solution with the terms whose bit is set in `chosen` and no others, by Gaussian elimination; `None` if they are
    /// linearly dependent.
    fn solved(&self, chosen: u32) -> Option<Terms> {
        let is_chosen = |term: usize| chosen >> term & 1 == 1;
        let mut rows: [[f64; TERMS + 1]; TERMS] = from_fn(|i| {
            from_fn(|j| match is_chosen(i) {
                true if j == TERMS => self.sums[i],
                true if is_chosen(j) => self.products[i][j],
                true => 0.0,
                // The equation of a term that is left out says that its factor is 0.
                false => f64::from(u8::from(i == j)),
            })
        });
        for column in 0..TERMS {
            let size = |row: usize| rows[row][column].abs();
            let pivot = (column..TERMS).max_by(|&a, &b| size(a).total_cmp(&size(b)))?;
            rows.swap(column, pivot);
            let of_pivot = rows[column];
            if of_pivot[column] == 0.0 {
                return None;
            }
            for (at, row) in rows.iter_mut().enumerate() {
                if at == column {
                    continue;
                }
                let share = row[column] / of_pivot[column];
                for (value, pivot) in row.iter_mut().zip(of_pivot) {
                    *value -= share * pivot;
                }
            }
        }
        Some(from_fn(|i| rows[i][TERMS] / rows[i][i]))
    }
}

/// The rates of points that differ only in the degree: degrees ascending, each with its rounds' rates.
struct DegreeSweep<'a> {
    params: Params,
    degrees: Vec<f64>,
    rates: Vec<&'a [f64]>,
    doubts: Vec<Doubt>,
}

/// One law, fitted to the rounds and to their resamples.
struct Fits {
    laws: Bootstrap<Law>,
    passes: Vec<Law>,
    doubts: Vec<Doubt>,
}

/// The rows derived from the rates of `concurrency/degree`: `amdahl-serial`, `rate-one`, `usl-contention`,
/// `usl-coherence` and `usl-knee`, for each group of rows that differ only in the degree.
///
/// The estimate comes from the law fitted to the medians of all rounds; its interval comes from a bootstrap over rounds.
/// `round_values` are the laws fitted to each pass over all degrees. The interval is not that of *their* median: if the true
/// value lies at the edge of the allowed range (`kappa` is 0), fits to single passes are often truncated there, so that 71 % of
/// such intervals for sigma cover it, but 96 % of the intervals used here.
pub fn scaling_laws(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let rates = results.iter().filter(|r| r.case == CASE && r.metric == RATE.name);
    let degree = |text: &str| text.parse::<f64>().ok().filter(|degree| *degree >= 1.0);
    let sweeps = sweeps(rates, "degree", degree).into_iter();
    sweeps.flat_map(|(point, steps)| DegreeSweep::of(point.params, steps).rows(seed)).collect()
}

impl<'a> DegreeSweep<'a> {
    fn of(params: Params, steps: Vec<SweepStep<'a>>) -> Self {
        let most = steps.iter().map(|step| step.result.round_values.len()).max().unwrap_or(0);
        let is_usable = |step: &SweepStep| {
            let values = &step.result.round_values;
            step.result.estimate.is_some() && are_positive(values) && values.len() * 2 >= most
        };
        let (used, left_out): (Vec<_>, Vec<_>) = steps.into_iter().partition(is_usable);
        let degrees: Vec<f64> = left_out.iter().map(|step| step.x).collect();
        let doubt = (!degrees.is_empty()).then_some(Doubt::DegreesNotMeasured { degrees });
        Self {
            params,
            degrees: used.iter().map(|step| step.x).collect(),
            rates: used.iter().map(|step| &step.result.round_values[..]).collect(),
            doubts: doubt.into_iter().collect(),
        }
    }

    fn rows(&self, seed: u64) -> Vec<CaseResult> {
        let rates = Bootstrap::of(&self.rates, seed);
        let [amdahl, usl] = [ScalingLaw::Amdahl, ScalingLaw::Usl].map(|law| self.fits(law, &rates));
        vec![
            self.row(&AMDAHL_SERIAL, &amdahl, |law| law.sigma),
            self.row(&RATE_ONE, &usl, |law| law.rate_one),
            self.row(&USL_CONTENTION, &usl, |law| law.sigma),
            self.row(&USL_COHERENCE, &usl, |law| law.kappa),
            self.knee(self.row(&USL_KNEE, &usl, Law::knee)),
        ]
    }

    /// The law fitted to the medians, to their resamples, and to each pass; or the reason why there is none.
    fn fits(&self, which: ScalingLaw, rates: &Bootstrap<Vec<f64>>) -> Result<Fits, String> {
        let had = self.degrees.len();
        if had < FEWEST_DEGREES {
            return Err(format!(
                "a law needs rates at {FEWEST_DEGREES} degrees or more; {had} were measured"
            ));
        }
        let fit = |rates: &Vec<f64>| Law::fit(which, &self.degrees, rates);
        let laws = rates.map(fit).ok_or("no law fits the rates")?;
        let passes = (0..rates.rounds)
            .map(|round| self.rates.iter().map(|rates| rates[round]).collect::<Vec<_>>());
        let passes = passes.filter_map(|rates| fit(&rates)).collect();
        let doubts = self.doubts_about(which, &laws.center, rates);
        Ok(Fits { laws, passes, doubts })
    }

    /// One parameter of a law with its interval.
    fn row(&self, metric: &Metric, fits: &Result<Fits, String>, of: fn(&Law) -> f64) -> CaseResult {
        let blank = CaseResult::of(CASE, self.params.clone(), metric);
        let fits = match fits {
            Ok(fits) => fits,
            Err(reason) => return without_figure(blank, reason.clone()),
        };
        CaseResult {
            round_values: fits.passes.iter().map(of).filter(|value| value.is_finite()).collect(),
            doubts: fits.doubts.clone(),
            ..with_figure(blank, fits.laws.interval(of), fits.laws.rounds)
        }
    }

    /// The degree of the highest rate, if it lies within the measured range.
    fn knee(&self, row: CaseResult) -> CaseResult {
        let Some(mut estimate) = row.estimate else { return row };
        let (lowest, highest) = (self.degrees[0], self.degrees[self.degrees.len() - 1]);
        if estimate.median > highest {
            let reason = match estimate.median.is_finite() {
                true => format!("the rate still rises at {highest}, the highest degree measured"),
                false => "the rate never falls: kappa is 0".to_owned(),
            };
            return without_figure(row, reason);
        }
        let mut doubts = row.doubts.clone();
        if estimate.high > highest {
            estimate.high = highest;
            doubts.push(Doubt::KneeBeyond { highest_degree: highest });
        }
        if estimate.low <= lowest {
            doubts.push(Doubt::FallsFrom { lowest_degree: lowest });
        }
        CaseResult { estimate: Some(estimate), doubts, ..row }
    }

    fn doubts_about(
        &self,
        which: ScalingLaw,
        law: &Law,
        rates: &Bootstrap<Vec<f64>>,
    ) -> Vec<Doubt> {
        let mut doubts = self.doubts.clone();
        let (miss, degree) = law.worst_miss(&self.degrees, &rates.center);
        if miss > POOR_FIT {
            let miss_percent = (miss * 100.0).round() as u64;
            doubts.push(Doubt::PoorFit { law: which, degree, miss_percent });
        }
        if which == ScalingLaw::Usl && self.degrees.len() == FEWEST_DEGREES {
            doubts.push(Doubt::FewDegrees { degrees: FEWEST_DEGREES });
        }
        if rates.rounds < 2 {
            doubts.push(Doubt::OneRound);
        }
        doubts
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use measure::stats::LEVEL;
    use results::{Direction, Estimate, Outcome};

    use super::*;
    use simulated::{figure_of, noise};

    /// Checks the example of the R package usl's own tests (tests/coef.R), which finds 0.02 and 0.02.
    #[test]
    fn a_law_is_found_in_its_own_figures() {
        let degrees = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0];
        let rates = [1.0, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557];
        let law = Law::fit(ScalingLaw::Usl, &degrees, &rates).unwrap();
        assert!((law.rate_one - 1.0).abs() < 1e-4, "{law:?}");
        assert!((law.sigma - 0.02).abs() < 1e-4 && (law.kappa - 0.02).abs() < 1e-4, "{law:?}");
        assert!((law.knee() - 7.0).abs() < 0.01, "{law:?}");
    }

    /// Checks a SPARCcenter 2000 in SPEC SDM91 (Gunther 2007), to which the R package usl fits 0.0277285, 0.0001044 and 89.995
    /// with standard errors 0.0091, 0.00002 and 14.2, and a knee of 97 (its README and tests). The package minimises absolute
    /// errors, which the weights imitate here.
    #[test]
    fn a_published_fit_is_found_again() {
        let degrees = [1.0, 18.0, 36.0, 72.0, 108.0, 144.0, 216.0];
        let rates = [64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2];
        let relative = Law::fit(ScalingLaw::Usl, &degrees, &rates).unwrap();
        let mut law = relative;
        for _ in 0..200 {
            // These weights make the equations those of least squares on the errors themselves.
            let weight = |degree: f64, rate: f64| (law.rate(degree).powi(3) / rate).sqrt();
            law = weighted(&degrees, &rates, weight);
        }
        assert!((law.sigma - 0.0277285).abs() < 5e-6, "{law:?}");
        assert!((law.kappa - 0.0001044).abs() < 5e-8, "{law:?}");
        assert!((law.rate_one - 89.99523).abs() < 5e-3, "{law:?}");
        assert!((law.knee() - 97.0).abs() < 0.5, "{law:?}");
        // Relative errors give the single user more weight; the parameters stay within the published errors.
        assert!((relative.sigma - law.sigma).abs() < 2.0 * 0.0091, "{relative:?}");
        assert!((relative.kappa - law.kappa).abs() < 2.0 * 0.00002, "{relative:?}");
        assert!((relative.rate_one - law.rate_one).abs() < 2.0 * 14.2, "{relative:?}");
    }

    /// Fits the Universal Scalability Law like [`Law::fit`], with each error multiplied by its weight.
    fn weighted(degrees: &[f64], rates: &[f64], weight: impl Fn(f64, f64) -> f64) -> Law {
        // The right side gets a weight too: rows of `weight * terms` approximate `weight`.
        let (mut products, mut rights) = ([[0.0; 3]; 3], [0.0; 3]);
        for (&degree, &rate) in degrees.iter().zip(rates) {
            let weight = weight(degree, rate);
            let row = terms(degree).map(|term| term * rate / degree * weight);
            for i in 0..3 {
                rights[i] += row[i] * weight;
                (0..3).for_each(|j| products[i][j] += row[i] * row[j]);
            }
        }
        // Coordinate descent, as an independent method for the same minimum.
        let mut factors = [1.0 / rates[0], 0.0, 0.0];
        for step in 0..300_000 {
            let at = step % 3;
            let [to_one, to_each, to_pairs]: [f64; 3] = products[at];
            let all = to_one * factors[0] + to_each * factors[1] + to_pairs * factors[2];
            let own = products[at][at];
            factors[at] = ((rights[at] - all) / own + factors[at]).max(0.0);
        }
        let time_one = factors[0] + factors[1];
        let (sigma, kappa) = (factors[1] / time_one, factors[2] / time_one);
        Law { rate_one: 1.0 / time_one, sigma, kappa }
    }

    fn sweep(curve: impl Fn(f64) -> f64, rounds: usize, rng: &mut StdRng) -> Vec<CaseResult> {
        let row = |degree: usize| {
            let values: Vec<f64> =
                (0..rounds).map(|_| curve(degree as f64) * (1.0 + 0.02 * noise(rng))).collect();
            row(&degree.to_string(), values)
        };
        (1..=8).map(row).collect()
    }

    fn row(degree: &str, round_values: Vec<f64>) -> CaseResult {
        let point = (CASE, [("kind", "cpu"), ("degree", degree)]);
        figure_of(point, ("rate", "jobs/s", Direction::Higher), round_values)
    }

    fn find<'a>(rows: &'a [CaseResult], metric: &str) -> &'a CaseResult {
        rows.iter().find(|row| row.metric == metric).unwrap()
    }

    /// Checks the coverage of the intervals for parameters at the edge of the allowed range and within it.
    #[test]
    #[cfg_attr(windows, ignore = "a minute of arithmetic, which is that of Linux")]
    fn intervals_cover_the_true_law() {
        const TRIALS: u64 = 100;
        let mut rng = StdRng::seed_from_u64(11);
        for (sigma, kappa) in [(0.1, 0.01), (0.3, 0.001), (0.3, 0.0), (1.0, 0.0)] {
            let law = Law { rate_one: 500.0, sigma, kappa };
            let mut covered = BTreeMap::new();
            for trial in 0..TRIALS {
                let rows = scaling_laws(&sweep(|degree| law.rate(degree), 10, &mut rng), trial);
                let truths =
                    [("usl-contention", sigma), ("usl-coherence", kappa), ("rate-one", 500.0)];
                let amdahl = Some(("amdahl-serial", sigma)).filter(|_| kappa == 0.0);
                for (metric, truth) in truths.into_iter().chain(amdahl) {
                    let Estimate { low, high, .. } = find(&rows, metric).estimate.unwrap();
                    let within = low <= truth + 1e-9 && truth - 1e-9 <= high;
                    *covered.entry(metric).or_insert(0) += u32::from(within);
                }
            }
            for (metric, count) in covered {
                let share = f64::from(count) / TRIALS as f64;
                println!("{metric}, sigma {sigma}, kappa {kappa}: {:.1} %", share * 100.0);
                // For 100 trials at 95 %, two standard errors are 4.4 %.
                assert!(share >= LEVEL - 0.044, "{metric}, sigma {sigma}, kappa {kappa}: {share}");
            }
        }
    }

    #[test]
    fn saturation_at_two_cpus_is_no_law_of_these() {
        let mut rng = StdRng::seed_from_u64(4);
        let rows = scaling_laws(&sweep(|degree| 100.0 * degree.min(2.0), 10, &mut rng), 1);
        let metrics: Vec<&str> = rows.iter().map(|row| row.metric.as_str()).collect();
        let expected = ["amdahl-serial", "rate-one", "usl-contention", "usl-coherence", "usl-knee"];
        assert_eq!(metrics, expected);
        for row in &rows {
            assert_eq!(row.check(), Ok(()));
            assert_eq!(row.params.keys().collect::<Vec<_>>(), ["kind"]);
            let is_amdahl = row.metric == "amdahl-serial";
            let expected = if is_amdahl { ScalingLaw::Amdahl } else { ScalingLaw::Usl };
            let [Doubt::PoorFit { law, .. }] = row.doubts[..] else { panic!("{:?}", row.doubts) };
            assert_eq!(law, expected);
        }
    }

    #[test]
    fn a_rate_that_does_not_fall_has_no_knee() {
        let mut rng = StdRng::seed_from_u64(4);
        let exact = |curve: fn(f64) -> f64| -> Vec<CaseResult> {
            (1..=8)
                .map(|degree| row(&degree.to_string(), vec![curve(f64::from(degree)); 3]))
                .collect()
        };
        let linear = scaling_laws(&exact(|degree| 10.0 * degree), 1);
        assert_eq!(find(&linear, "usl-knee").outcome, Outcome::Unsupported);
        let reason = find(&linear, "usl-knee").reason.as_deref();
        assert_eq!(reason, Some("the rate never falls: kappa is 0"));
        assert!(find(&linear, "amdahl-serial").estimate.unwrap().median < 1e-9);
        let slow = Law { rate_one: 10.0, sigma: 0.1, kappa: 0.001 };
        let rises = scaling_laws(&sweep(|degree| slow.rate(degree), 10, &mut rng), 1);
        let reason = find(&rises, "usl-knee").reason.as_deref().unwrap();
        assert!(
            reason.contains("highest degree measured") || reason.contains("kappa is 0"),
            "{reason}"
        );
        let falls = Law { rate_one: 10.0, sigma: 0.02, kappa: 0.05 };
        let falls = scaling_laws(&sweep(|degree| falls.rate(degree), 10, &mut rng), 1);
        let knee = find(&falls, "usl-knee").estimate.unwrap();
        assert!(knee.low < 4.43 && 4.43 < knee.high && knee.high < 8.0, "{knee:?}");
    }

    #[test]
    fn missing_degrees_are_reported() {
        let mut rng = StdRng::seed_from_u64(4);
        let law = Law { rate_one: 10.0, sigma: 0.1, kappa: 0.02 };
        let mut rows = sweep(|degree| law.rate(degree), 10, &mut rng);
        rows[2].round_values.truncate(2);
        rows[4].round_values[3] = 0.0;
        rows[5].round_values.truncate(7);
        let found = find(&scaling_laws(&rows, 1), "usl-contention").clone();
        assert_eq!(found.doubts, [Doubt::DegreesNotMeasured { degrees: vec![3.0, 5.0] }]);
        assert_eq!((found.rounds, found.round_values.len()), (7, 7));
        let few = scaling_laws(&rows[..2], 1);
        let reason = "a law needs rates at 3 degrees or more; 2 were measured";
        assert!(few.len() == 5 && few.iter().all(|row| row.reason.as_deref() == Some(reason)));
        assert_eq!(scaling_laws(&[], 1), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_rows_give_sound_rows(
            rows in prop::collection::vec(simulated::any_row(CASE, "rate"), 0..12), seed: u64
        ) {
            for row in scaling_laws(&rows, seed) {
                prop_assert_eq!(row.check(), Ok(()), "{:?}", row);
            }
        }
    }
}
