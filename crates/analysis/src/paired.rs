//! Differences between figures by adjacent rounds: of two figures, those that are each the nearest in time to the other.
//!
//! A cause that changes the machine for seconds (a neighbour, a state of the core, another program) changes all rounds of a
//! *block*: one round of each figure, those nearest to each other in time. So the figures are compared block by block, whether
//! quiet or not. The sentinel alone decides which blocks count, never their values.

use results::{CaseResult, LEAST_ROUNDS};

use crate::evidence::Variance;
use crate::scale::Scale;
use crate::spread::{self, neighbours};

/// Rounds of one figure, on the scale on which it is compared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rounds {
    /// Values of the quiet rounds.
    quiet: Timed,
    /// Values of all rounds.
    all: Timed,
    /// Whether the values are core cycles.
    in_cycles: bool,
}

/// Values with the start times of their rounds.
#[derive(Debug, Clone, PartialEq)]
struct Timed {
    values: Vec<f64>,
    starts_ms: Vec<i64>,
}

impl Timed {
    /// Values on the scale, multiplied by `factor`; `None` if the start times are unknown, or a value has no place on the scale.
    fn of(values: &[f64], starts_ms: &[i64], factor: f64, scale: Scale) -> Option<Self> {
        let values: Vec<f64> = values.iter().map(|value| scale.of(value * factor)).collect();
        let is_known = !values.is_empty()
            && values.len() == starts_ms.len()
            && values.iter().all(|value| value.is_finite());
        is_known.then(|| Self { values, starts_ms: starts_ms.to_vec() })
    }
}

impl Rounds {
    /// The rounds of a result, each value multiplied by `factor`; `None` if the start times are unknown, as in results of earlier
    /// versions, or if a value has no place on the scale.
    pub(crate) fn of(result: &CaseResult, factor: f64, scale: Scale) -> Option<Self> {
        let behind_figure =
            Timed::of(&result.round_values, &result.round_starts_ms, factor, scale)?;
        let in_cycles = factor != 1.0;
        if result.disturbed {
            let quiet = Timed { values: Vec::new(), starts_ms: Vec::new() };
            return Some(Self { quiet, all: behind_figure, in_cycles });
        }
        if result.all_round_values.is_empty() {
            return Some(Self { quiet: behind_figure.clone(), all: behind_figure, in_cycles });
        }
        let (values, starts) = (&result.all_round_values, &result.all_round_starts_ms);
        let all = Timed::of(values, starts, factor, scale)?;
        Some(Self { quiet: behind_figure, all, in_cycles })
    }
}

/// A difference between figures.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Paired {
    /// The difference: the trimmed mean over blocks ([`spread::middle_of_times`]).
    pub(crate) center: f64,
    /// Effective number of independent differences.
    pub(crate) count: f64,
    /// Variance of a single difference.
    pub(crate) variance: Variance,
    /// Number of blocks.
    pub(crate) blocks: usize,
    /// Whether most blocks were disturbed.
    pub(crate) is_beside_load: bool,
    /// Start of each block in ms, with its difference.
    pub(crate) differences: Vec<(i64, f64)>,
}

/// The sum of the figures, each multiplied by its factor, such as 1 and -1; `None` if too few of their rounds are adjacent.
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
    let middle = match terms.iter().any(|(_, rounds)| rounds.in_cycles) {
        true => spread::middle_of(&sums)?,
        false => spread::middle_of_times(&sums)?,
    };
    Some(Paired {
        center: middle.mean,
        count: middle.count,
        variance: Variance { value: middle.variance, degrees: middle.degrees },
        blocks: sums.len(),
        is_beside_load,
        differences,
    })
}

/// The start of each block in ms, with the sum of its rounds.
fn sums<'r>(terms: &[(f64, &'r Rounds)], of: fn(&'r Rounds) -> &'r Timed) -> Vec<(i64, f64)> {
    let series: Vec<(f64, &Timed)> =
        terms.iter().map(|(factor, rounds)| (*factor, of(rounds))).collect();
    let fewest = (0..series.len()).min_by_key(|&at| series[at].1.values.len());
    let Some(anchor) = fewest else { return Vec::new() };
    let anchor_starts = &series[anchor].1.starts_ms;
    // The sum so far for each round of the shortest series; `None` once another series has no adjacent round.
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

    /// A time whose rounds began every 100 ms, `later` ms after those of others.
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

    /// Checks that a block needs a round of each figure: if one side lost rounds, the other side's rounds have no partner.
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
