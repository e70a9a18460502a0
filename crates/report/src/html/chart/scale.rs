//! Scales of axes: positions of values, and the values that are labelled.

use plotters::coord::combinators::{IntoLogRange, LogCoord};
use plotters::coord::ranged1d::{BoldPoints, Ranged};
use plotters::coord::types::RangedCoordf64;

/// Number of steps of an axis: positions are whole steps.
const FINE: i32 = 1_000_000;

/// Margin before the lowest and after the highest value, as a share of the axis.
const MARGIN: f64 = 0.04;

/// Factor between values from which an axis is logarithmic at first.
const WIDE: f64 = 20.0;

/// The kind of a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::html) enum ScaleKind {
    Linear,
    Logarithmic,
}

impl ScaleKind {
    /// Name of the kind in classes and attributes.
    pub(in crate::html) fn word(self) -> &'static str {
        match self {
            ScaleKind::Linear => "lin",
            ScaleKind::Logarithmic => "log",
        }
    }
}

/// Lowest and highest finite value of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::html) struct Extent {
    pub low: f64,
    pub high: f64,
}

impl Extent {
    /// The extent of `values`; `None` if no value is finite.
    pub(in crate::html) fn of(values: impl Iterator<Item = f64>) -> Option<Extent> {
        let mut finite = values.filter(|value| value.is_finite());
        let first = finite.next()?;
        let extent = Extent { low: first, high: first };
        Some(finite.fold(extent, |e, v| Extent { low: e.low.min(v), high: e.high.max(v) }))
    }

    /// Whether all values have a logarithm.
    pub(in crate::html) fn has_logarithm(&self) -> bool {
        self.low > 0.0
    }

    /// The kind of scale that shows the values best.
    pub(in crate::html) fn best(&self) -> ScaleKind {
        match self.has_logarithm() && self.high / self.low > WIDE {
            true => ScaleKind::Logarithmic,
            false => ScaleKind::Linear,
        }
    }
}

enum Coordinates {
    Linear(RangedCoordf64),
    Logarithmic(LogCoord<f64>),
}

/// A scale from one end of an axis to the other.
pub(in crate::html) struct Scale {
    /// Values at both ends.
    pub low: f64,
    pub high: f64,
    coordinates: Coordinates,
}

impl Scale {
    /// A scale with a margin around `extent`. A linear scale begins at zero if `from_zero` and no value is negative.
    pub(in crate::html) fn of(extent: Extent, kind: ScaleKind, from_zero: bool) -> Scale {
        let Extent { low, high } = extent;
        match kind {
            ScaleKind::Logarithmic => {
                let room = ((high / low).ln() * MARGIN).max(0.05).exp();
                let (low, high) = (low / room, high * room);
                Scale {
                    low,
                    high,
                    coordinates: Coordinates::Logarithmic((low..high).log_scale().into()),
                }
            }
            ScaleKind::Linear => {
                let least = high.abs().max(low.abs()).max(1e-9) * 0.02;
                let room = ((high - low) * MARGIN).max(least);
                let low = if from_zero && low >= 0.0 { 0.0 } else { low - room };
                let high = high + room;
                Scale { low, high, coordinates: Coordinates::Linear((low..high).into()) }
            }
        }
    }

    /// Position of `value`: 0 at the low end, 1 at the high end.
    pub(in crate::html) fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let step = match &self.coordinates {
            Coordinates::Linear(linear) => linear.map(&value, (0, FINE)),
            Coordinates::Logarithmic(logarithmic) => logarithmic.map(&value, (0, FINE)),
        };
        f64::from(step) / f64::from(FINE)
    }

    /// Round values to label, at most `most`.
    pub(in crate::html) fn ticks(&self, most: usize) -> Vec<f64> {
        let inside = |ticks: Vec<f64>| -> Vec<f64> {
            ticks.into_iter().filter(|tick| (self.low..=self.high).contains(tick)).collect()
        };
        match &self.coordinates {
            Coordinates::Linear(linear) => inside(linear.key_points(BoldPoints(most))),
            Coordinates::Logarithmic(logarithmic) => {
                let powers = inside(logarithmic.key_points(BoldPoints(most)));
                if powers.len() > 2 {
                    return powers;
                }
                // Within two powers of ten, round values of a linear scale fit better.
                let linear = RangedCoordf64::from(self.low..self.high);
                let round = inside(linear.key_points(BoldPoints(most)));
                round.into_iter().filter(|tick| *tick > 0.0).chain(powers).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn positions_follow_the_scale() {
        let extent = Extent::of([1.0, 10.0, f64::NAN, 100.0].into_iter()).unwrap();
        let scale = Scale::of(extent, ScaleKind::Logarithmic, false);
        assert!((scale.at(10.0) - 0.5).abs() < 1e-3);
        assert_eq!(extent.best(), ScaleKind::Logarithmic);
        let scale = Scale::of(Extent { low: 2.0, high: 8.0 }, ScaleKind::Linear, true);
        assert_eq!((scale.low, scale.at(0.0)), (0.0, 0.0));
        assert_eq!(Extent::of([f64::NAN].into_iter()), None);
    }

    proptest! {
        #[test]
        fn every_value_has_a_place_and_every_axis_a_label(
            low in 1e-9f64..1e12, factor in 1.0f64..1e9, logarithmic: bool, from_zero: bool
        ) {
            let extent = Extent { low, high: low * factor };
            let kind = if logarithmic { ScaleKind::Logarithmic } else { ScaleKind::Linear };
            let scale = Scale::of(extent, kind, from_zero);
            for value in [extent.low, extent.high] {
                prop_assert!((0.0..=1.0).contains(&scale.at(value)), "{value}");
            }
            prop_assert!(scale.at(extent.low) <= scale.at(extent.high));
            let ticks = scale.ticks(6);
            prop_assert!(!ticks.is_empty() && ticks.len() <= 14, "{ticks:?}");
        }
    }
}
