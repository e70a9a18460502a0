//! Error of a mean of differences: intervals that hold at every look and over all rows of a comparison.
//!
//! A run stops a question when it is answered, so that it looks at the same interval again and again; an interval by Student's t
//! would exclude the true value at some look far more often than promised. Here a value is excluded when the evidence against it
//! reaches 1 / chance. The evidence is a ratio of likelihoods of the differences seen so far: if the true mean lies elsewhere, a
//! few standard deviations of a difference away (normal priors, for small and for large differences), divided by that if it is
//! this value. The ratio exceeds 1 / chance at any time with at most this chance (Ville 1939; for Student's t: Lai 1976; the
//! ratio in closed form: Gönen, Johnson, Lu and Westfall 2005).
//!
//! Points of one comparison have similar variances, so that the variance of each is moderated by that of all (Smyth 2004, with
//! the moments of `limma`): then few differences suffice to detect a large effect. If the variances of points differ, the
//! estimate shows it, and little is borrowed.

use statrs::function::gamma::digamma;

/// Priors of the true mean, in standard deviations of a difference, with their weights. Most questions are about differences of
/// the size of the noise; six pairs should decide those that are many times as large.
const PRIORS: [(f64, f64); 3] = [(0.5, 0.4), (2.0, 0.4), (8.0, 0.2)];
/// Maximum number of degrees of freedom that the points of a comparison lend each other: their variances are never exactly equal.
const LENT_AT_MOST: f64 = 20.0;
/// Minimum number of points from which the spread of their variances is estimated.
const POINTS_TO_LEND: usize = 3;

/// The variance of single differences, with its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Variance {
    pub(crate) value: f64,
    pub(crate) degrees: f64,
}

/// The prior of a point's variance, estimated from the points of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moderation {
    variance: f64,
    degrees: f64,
}

impl Moderation {
    /// No prior, for a point by itself.
    pub(crate) const NONE: Self = Self { variance: 0.0, degrees: 0.0 };

    /// Estimates the prior from the variances of all points of a comparison.
    pub(crate) fn of(all: &[Variance]) -> Self {
        let known: Vec<&Variance> =
            all.iter().filter(|one| one.value > 0.0 && one.degrees > 0.0).collect();
        if known.len() < POINTS_TO_LEND {
            return Self::NONE;
        }
        let count = known.len() as f64;
        let mean_of =
            |of: &dyn Fn(&Variance) -> f64| known.iter().map(|one| of(one)).sum::<f64>() / count;
        let log =
            |one: &Variance| one.value.ln() - digamma(one.degrees / 2.0) + (one.degrees / 2.0).ln();
        let mean = mean_of(&log);
        let spread = mean_of(&|one| (log(one) - mean).powi(2)) * count / (count - 1.0);
        let between = spread - mean_of(&|one| trigamma(one.degrees / 2.0));
        let degrees = match between > 0.0 {
            true => (2.0 * inverse_trigamma(between)).min(LENT_AT_MOST),
            false => LENT_AT_MOST,
        };
        let variance = (mean + digamma(degrees / 2.0) - (degrees / 2.0).ln()).exp();
        Self { variance, degrees }
    }

    /// The variance of a point, moderated by the prior.
    pub(crate) fn moderate(self, own: Variance) -> Variance {
        let degrees = self.degrees + own.degrees;
        if degrees <= 0.0 {
            return own;
        }
        let value = (self.degrees * self.variance + own.degrees * own.value) / degrees;
        Variance { value, degrees }
    }
}

/// The distance, in standard errors from the mean of `count` differences, beyond which a value is excluded with this chance of
/// error, whatever the number of looks; infinite if so few differences exclude nothing. `degrees` are the degrees of freedom of
/// the error.
pub(crate) fn critical(count: f64, degrees: f64, chance: f64) -> f64 {
    let wanted = -chance.ln();
    let enough = |errors: f64| log_evidence(errors, count, degrees) >= wanted;
    let mut above = 1.0;
    while !enough(above) {
        above *= 2.0;
        if above > 1e6 {
            return f64::INFINITY;
        }
    }
    let mut below = 0.0;
    for _ in 0..40 {
        let middle = f64::midpoint(below, above);
        *if enough(middle) { &mut above } else { &mut below } = middle;
    }
    above
}

/// The logarithm of the evidence against a value at a distance of `errors` standard errors from the mean.
fn log_evidence(errors: f64, count: f64, degrees: f64) -> f64 {
    let of_prior = |(width, weight): (f64, f64)| {
        let spread = 1.0 + count * width.powi(2);
        let square = errors.powi(2) / degrees;
        let likelihoods = (1.0 + square).ln() - (1.0 + square / spread).ln();
        weight.ln() + (degrees + 1.0) / 2.0 * likelihoods - spread.ln() / 2.0
    };
    let all = PRIORS.map(of_prior);
    let most = all.into_iter().fold(f64::NEG_INFINITY, f64::max);
    most + all.map(|one| (one - most).exp()).iter().sum::<f64>().ln()
}

/// The second derivative of the logarithm of the gamma function, for positive numbers (Abramowitz and Stegun, 6.4.6 and
/// 6.4.12).
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square / 30.0));
    sum + 1.0 / x + square / 2.0 + square / x * series
}

/// The inverse of [`trigamma`] for a value above 0, by bisection of the logarithm.
fn inverse_trigamma(value: f64) -> f64 {
    let (mut low, mut high) = (-20.0f64, 20.0f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        *if trigamma(middle.exp()) > value { &mut low } else { &mut high } = middle;
    }
    low.exp()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;
    use simulated::noise;

    fn of(differences: &[f64]) -> (f64, Variance) {
        let count = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / count;
        let squares: f64 = differences.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, Variance { value: squares / (count - 1.0), degrees: count - 1.0 })
    }

    fn excludes_zero(differences: &[f64], moderation: Moderation, chance: f64) -> bool {
        let (mean, own) = of(differences);
        let Variance { value, degrees } = moderation.moderate(own);
        let count = differences.len() as f64;
        mean.abs() > critical(count, degrees, chance) * (value / count).sqrt()
    }

    #[test]
    fn functions_agree_with_tables() {
        // The expected values are pi^2 / 6, and by Abramowitz and Stegun, table 6.1, trigamma(2) = pi^2 / 6 - 1.
        let at_one = std::f64::consts::PI.powi(2) / 6.0;
        assert!((trigamma(1.0) - at_one).abs() < 1e-9);
        assert!((trigamma(2.0) - (at_one - 1.0)).abs() < 1e-9);
        assert!((inverse_trigamma(trigamma(3.7)) - 3.7).abs() < 1e-6);
    }

    #[test]
    fn looking_again_and_again_does_not_exclude_the_truth() {
        const TRIES: usize = 1_000;
        let mut rng = StdRng::seed_from_u64(41);
        let mut excluded = [0; 2];
        for _ in 0..TRIES {
            let differences: Vec<f64> = (0..100).map(|_| noise(&mut rng)).collect();
            let looks = || (3..=100).map(|count| &differences[..count]);
            excluded[0] +=
                usize::from(looks().any(|seen| excludes_zero(seen, Moderation::NONE, 0.05)));
            excluded[1] += usize::from(looks().any(|seen| {
                let (mean, own) = of(seen);
                let error = (own.value / seen.len() as f64).sqrt();
                mean.abs() > measure::stats::t_quantile(0.975, own.degrees) * error
            }));
        }
        let [ours, by_t] = excluded.map(|count| count as f64 / TRIES as f64);
        println!("excluded at some look: {ours}, by Student's t {by_t}");
        // The limit is 5 % and three standard errors of the simulation.
        assert!(ours <= 0.05 + 3.0 * 0.007 && by_t > 0.2, "{ours} {by_t}");
    }

    #[test]
    fn points_that_scatter_alike_lend_and_others_do_not() {
        let mut rng = StdRng::seed_from_u64(42);
        let mut moderation = |scatters: &[f64]| {
            let variances: Vec<Variance> = scatters
                .iter()
                .map(|scatter| of(&(0..6).map(|_| scatter * noise(&mut rng)).collect::<Vec<_>>()).1)
                .collect();
            Moderation::of(&variances)
        };
        let alike = moderation(&[0.05; 30]);
        assert!(alike.degrees > 8.0 && (0.0015..0.004).contains(&alike.variance), "{alike:?}");
        let scattered: Vec<f64> = (0..30).map(|n| if n % 2 == 0 { 0.005 } else { 0.5 }).collect();
        assert!(moderation(&scattered).degrees < 1.5);
        assert_eq!(moderation(&[0.05; 2]), Moderation::NONE);
    }

    /// Checks the chance of error for 30 points without a difference, half of which have 30 times the scatter of the others, at
    /// several looks.
    #[test]
    fn all_points_of_a_comparison_share_the_chance() {
        const TRIES: usize = 300;
        let mut rng = StdRng::seed_from_u64(43);
        let scatters: Vec<f64> = (0..30).map(|n| if n % 2 == 0 { 0.01 } else { 0.3 }).collect();
        for (name, scatters) in [("alike", vec![0.1; 30]), ("mixed", scatters)] {
            let wrong = (0..TRIES)
                .filter(|_| {
                    let points: Vec<Vec<f64>> = scatters
                        .iter()
                        .map(|scatter| (0..30).map(|_| scatter * noise(&mut rng)).collect())
                        .collect();
                    [6, 8, 12, 18, 30].iter().any(|&count| {
                        let seen: Vec<&[f64]> = points.iter().map(|all| &all[..count]).collect();
                        let variances: Vec<Variance> = seen.iter().map(|seen| of(seen).1).collect();
                        let moderation = Moderation::of(&variances);
                        seen.iter().any(|seen| excludes_zero(seen, moderation, 0.05 / 30.0))
                    })
                })
                .count();
            println!("{name}: {wrong} of {TRIES} comparisons");
            // The limit is 5 % and three standard errors.
            assert!(wrong as f64 <= TRIES as f64 * (0.05 + 3.0 * 0.0126), "{name}: {wrong}");
        }
    }

    #[test]
    fn few_pairs_decide_large_differences_and_more_pairs_smaller_ones() {
        let mut rng = StdRng::seed_from_u64(44);
        let mut decided = |difference: f64, count: usize| {
            const TRIES: usize = 400;
            let tries = (0..TRIES).filter(|_| {
                // Each round varies independently by a normal 10 %.
                let mut round = || 0.1 * noise(&mut rng);
                let pairs: Vec<f64> = (0..count).map(|_| difference + round() - round()).collect();
                (6..=count).any(|seen| excludes_zero(&pairs[..seen], Moderation::NONE, 0.05))
            });
            tries.count() as f64 / TRIES as f64
        };
        let (triple, tenth) = (decided(3f64.ln(), 6), decided(1.1f64.ln(), 30));
        println!("a ratio of 3 by six pairs: {triple}; of 1.1 by thirty: {tenth}");
        assert!(triple > 0.9 && tenth > 0.5, "{triple} {tenth}");
    }

    #[test]
    fn two_differences_are_no_evidence() {
        assert_eq!(critical(2.0, 1.0, 0.01), f64::INFINITY);
        assert!(critical(6.0, 5.0, 0.05).is_finite());
    }
}
