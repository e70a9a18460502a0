//! A figure or a ratio of systems by their ranks, with its interval.
//!
//! The best of n systems, chosen by their figures, seems better than it is. So a rank stands for an extreme over all systems, and
//! is not chosen: the ratio of the best rate to the worst is the greatest of all ratios of two systems. The greatest ratio is
//! above a limit if any is, so that its lower end is the greatest lower end of intervals that hold together (Bonferroni over the
//! pairs). It is above its upper end only if the truly greatest one is above its own, so that this end needs no correction
//! (intersection-union, as for a claim *for all*). The least is the opposite; the greatest of several least ones, such as the
//! ratio of the best to the next, has both ends corrected.

use super::figure::{Contrast, Range};
use super::selection::{Extreme, Ranking};
use crate::evidence::Moderation;

/// Contrasts of pairs of systems, which make one quantity.
#[derive(Debug, Clone)]
pub(super) struct Ranked {
    /// Contrast of each pair, in the order of the ranking; at least one.
    pub(super) contrasts: Vec<Contrast>,
    pub(super) ranking: Ranking,
}

impl Extreme {
    fn of(self, numbers: impl Iterator<Item = (usize, f64)>) -> (usize, f64) {
        let chosen = match self {
            Self::Least => numbers.min_by(|(_, one), (_, other)| one.total_cmp(other)),
            Self::Greatest => numbers.max_by(|(_, one), (_, other)| one.total_cmp(other)),
        };
        chosen.unwrap_or((0, 0.0))
    }
}

impl Ranking {
    /// The pair that has the claimed ranks, and its number, if `number` gives the true quantity of each pair.
    pub(super) fn chosen(&self, number: impl Fn(usize) -> f64) -> (usize, f64) {
        let Self { row_lengths, of_rows, of_pairs, .. } = self;
        let mut first = 0;
        let rows = row_lengths.iter().map(|length| {
            let row = first..first + length;
            first = row.end;
            of_pairs.of(row.map(|at| (at, number(at))))
        });
        of_rows.of(rows.collect::<Vec<_>>().into_iter())
    }
}

impl Ranked {
    pub(super) fn moderated(mut self, moderation: Moderation) -> Self {
        self.contrasts.iter_mut().for_each(|one| *one = one.moderated(moderation));
        self
    }

    /// The pair that has the claimed ranks, and its number, if `number` are the true ratios.
    fn chosen(&self, number: impl Fn(&Contrast) -> f64) -> (usize, f64) {
        self.ranking.chosen(|at| number(&self.contrasts[at]))
    }

    /// Index of the pair that has the claimed ranks by its estimates.
    pub(super) fn decisive_pair(&self) -> usize {
        self.chosen(|one| one.center).0
    }

    /// The contrast of that pair.
    pub(super) fn decisive(&self) -> &Contrast {
        &self.contrasts[self.decisive_pair()]
    }

    /// The extreme that the quantity is over all pairs; `None` if it is the extreme of extremes of the other kind.
    fn extreme(&self) -> Option<Extreme> {
        let Ranking { row_lengths, of_rows, of_pairs, .. } = &self.ranking;
        match (&row_lengths[..], row_lengths.iter().all(|length| *length == 1)) {
            ([_], _) => Some(*of_pairs),
            (_, true) => Some(*of_rows),
            _ => Some(*of_rows).filter(|rows| rows == of_pairs),
        }
    }

    /// The interval that misses the true quantity with this chance at most, half of it at each end.
    pub(super) fn range(&self, chance: f64) -> Range {
        let each = chance / self.ranking.comparisons.max(1) as f64;
        let (of_low, of_high) = match self.extreme() {
            Some(Extreme::Greatest) => (each, chance),
            Some(Extreme::Least) => (chance, each),
            None => (each, each),
        };
        Range {
            low: self.chosen(|one| one.range(of_low).low).1,
            high: self.chosen(|one| one.range(of_high).high).1,
        }
    }
}
