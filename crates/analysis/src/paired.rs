//! Differences between figures whose rounds were made next to each other.
//!
//! What changes the machine for seconds (a neighbour, a state of the core, another program) changes all rounds of a *block*:
//! one round of each figure, those nearest to each other in time. So the figures are compared block by block, whether quiet or
//! not. Which blocks count is decided by the sentinel alone, never by their values.

use results::{CaseResult, LEAST_ROUNDS};

use crate::evidence::Variance;
use crate::scale::Scale;
use crate::spread::{self, neighbours};

/// The rounds of one figure, on the scale on which it is compared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rounds {
    /// The values of the quiet ones.
    quiet: Timed,
    /// The values of all.
    all: Timed,
}

/// Values with the times at which their rounds began.
#[derive(Debug, Clone, PartialEq)]
struct Timed {
    values: Vec<f64>,
    starts_ms: Vec<i64>,
}

impl Timed {
    /// `None` if it is not known when they began.
    fn of(values: &[f64], starts_ms: &[i64], factor: f64, scale: Scale) -> Option<Self> {
        let values: Vec<f64> = values.iter().map(|value| scale.of(value * factor)).collect();
        let is_known = !values.is_empty()
            && values.len() == starts_ms.len()
            && values.iter().all(|value| value.is_finite());
        is_known.then(|| Self { values, starts_ms: starts_ms.to_vec() })
    }
}

impl Rounds {
    /// Those of a result, each value multiplied by `factor`; `None` if it is not known when they began, as in results of earlier
    /// versions, or if a value has no place on the scale.
    pub(crate) fn of(result: &CaseResult, factor: f64, scale: Scale) -> Option<Self> {
        let behind_figure =
            Timed::of(&result.round_values, &result.round_starts_ms, factor, scale)?;
        if result.disturbed {
            let quiet = Timed { values: Vec::new(), starts_ms: Vec::new() };
            return Some(Self { quiet, all: behind_figure });
        }
        if result.all_round_values.is_empty() {
            return Some(Self { quiet: behind_figure.clone(), all: behind_figure });
        }
        let (values, starts) = (&result.all_round_values, &result.all_round_starts_ms);
        Some(Self { quiet: behind_figure, all: Timed::of(values, starts, factor, scale)? })
    }
}

/// A difference between figures.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Paired {
    /// The difference: the mean over blocks, without a sixth at each end where there are eight or more.
    pub(crate) center: f64,
    /// The number of differences behind it, as if they were independent.
    pub(crate) count: f64,
    /// The variance of one of them.
    pub(crate) variance: Variance,
    /// The number of blocks.
    pub(crate) blocks: usize,
    /// Whether most blocks were disturbed.
    pub(crate) is_beside_load: bool,
    /// When each block began, in ms, with its difference.
    pub(crate) differences: Vec<(i64, f64)>,
}

/// The sum of the figures with their factors, such as 1 and -1; `None` if too few of their rounds lie next to each other.
pub(crate) fn paired(terms: &[(f64, &Rounds)]) -> Option<Paired> {
    let all = sums(terms, |rounds| &rounds.all);
    let quiet = sums(terms, |rounds| &rounds.quiet);
    let are_enough = quiet.len() >= LEAST_ROUNDS.max(all.len() / 2);
    let is_beside_load = quiet.len() * 2 < all.len();
    let differences = if are_enough { quiet } else { all };
    if differences.len() < LEAST_ROUNDS {
        return None;
    }
    let sums: Vec<f64> = differences.iter().map(|(_, sum)| *sum).collect();
    let middle = spread::middle_of(&sums)?;
    Some(Paired {
        center: middle.mean,
        count: middle.count,
        variance: Variance { value: middle.variance, degrees: middle.degrees },
        blocks: sums.len(),
        is_beside_load,
        differences,
    })
}

/// The sum of each block, with the time at which that began.
fn sums<'r>(terms: &[(f64, &'r Rounds)], of: fn(&'r Rounds) -> &'r Timed) -> Vec<(i64, f64)> {
    let series: Vec<(f64, &Timed)> =
        terms.iter().map(|(factor, rounds)| (*factor, of(rounds))).collect();
    let fewest = (0..series.len()).min_by_key(|&at| series[at].1.values.len());
    let Some(anchor) = fewest else { return Vec::new() };
    let anchor_starts = &series[anchor].1.starts_ms;
    // For each of its rounds, the sum so far, if all others so far have a round next to it.
    let mut blocks: Vec<Option<f64>> =
        series[anchor].1.values.iter().map(|value| Some(series[anchor].0 * value)).collect();
    for (at, (factor, timed)) in series.iter().enumerate() {
        if at == anchor {
            continue;
        }
        let mut beside: Vec<Option<f64>> = vec![None; blocks.len()];
        for (own, other) in neighbours(anchor_starts, &timed.starts_ms) {
            beside[own] = Some(factor * timed.values[other]);
        }
        for (block, beside) in blocks.iter_mut().zip(beside) {
            *block = block.zip(beside).map(|(sum, beside)| sum + beside);
        }
    }
    let timed = anchor_starts.iter().zip(blocks);
    timed.filter_map(|(start, block)| Some((*start, block?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use simulated::rounds_of;

    /// A time whose rounds began every 100 ms, so many ms later than those of others.
    fn every_100_ms(values: &[f64], later: i64) -> CaseResult {
        let starts = (0..values.len()).map(|round| 100 * round as i64 + later).collect();
        CaseResult { round_starts_ms: starts, ..rounds_of("a/b", values) }
    }

    fn rounds(result: &CaseResult) -> Rounds {
        Rounds::of(result, 1.0, Scale::Logarithms).unwrap()
    }

    #[test]
    fn what_all_rounds_of_a_block_share_is_no_part_of_a_difference() {
        let machine: Vec<f64> = (0..10).map(|n| 1.0 + f64::from(n * 7 % 10)).collect();
        let of = |factor: f64, later: i64| {
            let values: Vec<f64> = machine.iter().map(|slower| factor * slower).collect();
            every_100_ms(&values, later)
        };
        let [a, b, c] = [of(100.0, 0), of(200.0, 20), of(50.0, 50)].each_ref().map(rounds);
        let difference = paired(&[(1.0, &b), (-1.0, &a)]).unwrap();
        assert!((difference.center - 2f64.ln()).abs() < 1e-9, "{difference:?}");
        assert!(difference.variance.value < 1e-18 && !difference.is_beside_load);
        let three = paired(&[(1.0, &b), (-0.5, &a), (-0.5, &c)]).unwrap();
        assert!((three.center - 8f64.ln() / 2.0).abs() < 1e-9, "{three:?}");
        assert_eq!(three.blocks, 10);
    }

    /// One side lost rounds: the others of these blocks have no partner.
    #[test]
    fn blocks_are_of_rounds_that_all_figures_have() {
        let whole = every_100_ms(&[100.0; 10], 0);
        let mut fewer = every_100_ms(&[200.0; 10], 20);
        for at in [6, 2] {
            fewer.round_values.remove(at);
            fewer.round_starts_ms.remove(at);
        }
        let [whole, fewer] = [whole, fewer].each_ref().map(rounds);
        assert_eq!(paired(&[(1.0, &fewer), (-1.0, &whole)]).unwrap().blocks, 8);
        let few = rounds(&every_100_ms(&[100.0; 5], 0));
        assert_eq!(paired(&[(1.0, &few), (-1.0, &whole)]), None);
    }

    #[test]
    fn the_sentinel_decides_which_blocks_count() {
        let some_quiet = |quiet: usize| {
            let all: Vec<f64> = (0..12).map(|n| if n < quiet { 100.0 } else { 300.0 }).collect();
            let mut result = every_100_ms(&all[..quiet], 0);
            result.all_round_starts_ms = (0..12).map(|round| 100 * round).collect();
            result.all_round_values = all;
            rounds(&result)
        };
        let other = rounds(&every_100_ms(&[100.0; 12], 10));
        let found = |quiet: usize| paired(&[(1.0, &some_quiet(quiet)), (-1.0, &other)]).unwrap();
        let (mostly_quiet, mostly_disturbed) = (found(7), found(5));
        assert!(mostly_quiet.center.abs() < 1e-9 && mostly_quiet.blocks == 7);
        assert!(!mostly_quiet.is_beside_load && mostly_disturbed.is_beside_load);
        assert!(mostly_disturbed.center > 0.3 && mostly_disturbed.blocks == 12);
    }

    #[test]
    fn without_times_there_are_no_blocks() {
        let result = rounds_of("a/b", &[100.0; 10]);
        assert_eq!(Rounds::of(&result, 1.0, Scale::Logarithms), None);
        let zero = every_100_ms(&[0.0; 10], 0);
        assert_eq!(Rounds::of(&zero, 1.0, Scale::Logarithms), None);
        assert!(Rounds::of(&zero, 1.0, Scale::Figures).is_some());
    }
}
