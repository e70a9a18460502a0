//! Scales of axes: positions of values, and the values that are labelled.

/// Margin before the lowest and after the highest value, as a share of the axis.
const MARGIN: f64 = 0.04;

/// Factor between values from which an axis is logarithmic.
const WIDE: f64 = 20.0;

/// The kind of a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::html) enum ScaleKind {
    Linear,
    Logarithmic,
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

    /// The kind of scale that shows the values best.
    pub(in crate::html) fn best(&self) -> ScaleKind {
        match self.low > 0.0 && self.high / self.low > WIDE {
            true => ScaleKind::Logarithmic,
            false => ScaleKind::Linear,
        }
    }
}

/// A scale from one end of an axis to the other.
#[derive(Debug, Clone, Copy)]
pub(in crate::html) struct Scale {
    kind: ScaleKind,
    low: f64,
    high: f64,
}

impl Scale {
    /// A scale with a margin around `extent`. A linear scale begins at zero if `from_zero` and no value is negative. Values that
    /// are not positive have a linear scale.
    pub(in crate::html) fn of(extent: Extent, kind: ScaleKind, from_zero: bool) -> Scale {
        let Extent { low, high } = extent;
        if kind == ScaleKind::Logarithmic && low > 0.0 {
            let room = ((high / low).ln() * MARGIN).max(0.05).exp();
            return Scale { kind, low: low / room, high: high * room };
        }
        // What is always 0 has an axis like other figures.
        if (low, high) == (0.0, 0.0) {
            return Scale { kind: ScaleKind::Linear, low, high: 1.0 };
        }
        let least = high.abs().max(low.abs()).max(1e-9) * 0.02;
        let room = ((high - low) * MARGIN).max(least);
        let low = if from_zero && low >= 0.0 { 0.0 } else { low - room };
        Scale { kind: ScaleKind::Linear, low, high: high + room }
    }

    /// A scale from `low` to `high` exactly.
    pub(in crate::html) fn between(low: f64, high: f64, kind: ScaleKind) -> Scale {
        Scale { kind, low, high }
    }

    pub(in crate::html) fn is_logarithmic(&self) -> bool {
        self.kind == ScaleKind::Logarithmic
    }

    /// Whether the axis has a place for `value`.
    pub(in crate::html) fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Position of `value`: 0 at the low end, 1 at the high end.
    pub(in crate::html) fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        match self.kind {
            ScaleKind::Linear => (value - self.low) / (self.high - self.low),
            ScaleKind::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }

    /// Round values to label, about `most` of them.
    pub(in crate::html) fn ticks(&self, most: usize) -> Vec<f64> {
        let inside = |tick: &f64| *tick >= self.low * (1.0 - 1e-9) && *tick <= self.high;
        if self.is_logarithmic() {
            let powers = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
            let decades = (self.high / self.low).log10();
            let every = (decades / most as f64).ceil().max(1.0) as usize;
            let wide: Vec<f64> = powers
                .clone()
                .step_by(every)
                .map(|power| 10f64.powi(power))
                .filter(inside)
                .collect();
            if wide.len() > 1 {
                return wide;
            }
            // Within one power of ten, there are few of them.
            let steps = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|n| n * 10f64.powi(power)));
            let round: Vec<f64> = steps.filter(inside).collect();
            if round.len() > 1 {
                return round;
            }
        }
        let rough = (self.high - self.low) / most as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0].map(|n| n * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(10.0 * power);
        let first = (self.low / step).ceil();
        let count = ((self.high / step).floor() - first).clamp(0.0, 50.0) as usize;
        (0..=count).map(|nth| (first + nth as f64) * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The axis of a constant 0 began at -0.00000000002, which was printed over the next chart.
    #[test]
    fn what_is_always_zero_has_an_axis_to_one() {
        let none = Extent { low: 0.0, high: 0.0 };
        for from_zero in [false, true] {
            let scale = Scale::of(none, none.best(), from_zero);
            let ticks = scale.ticks(5);
            let ends = (ticks.first().copied(), ticks.last().copied());
            assert_eq!((ends, scale.at(0.0)), ((Some(0.0), Some(1.0)), 0.0));
        }
    }

    #[test]
    fn positions_follow_the_scale() {
        let extent = Extent::of([1.0, 10.0, f64::NAN, 100.0].into_iter()).unwrap();
        let scale = Scale::of(extent, ScaleKind::Logarithmic, false);
        assert!((scale.at(10.0) - 0.5).abs() < 1e-9);
        assert_eq!(extent.best(), ScaleKind::Logarithmic);
        let scale = Scale::of(Extent { low: 2.0, high: 8.0 }, ScaleKind::Linear, true);
        assert_eq!((scale.at(0.0), scale.ticks(4)), (0.0, vec![0.0, 5.0]));
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
