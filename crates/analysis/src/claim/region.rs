//! The claimed region on the scale of the quantity.

use super::figure::Range;

/// A region on the scale of the quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScaledRegion {
    /// Lower limit, and whether it belongs to the region.
    pub(super) low: Option<(f64, bool)>,
    pub(super) high: Option<(f64, bool)>,
}

impl ScaledRegion {
    /// Number of ends of the region.
    pub(super) fn ends(&self) -> usize {
        [self.low, self.high].into_iter().flatten().count().max(1)
    }

    pub(super) fn contains(&self, range: Range) -> bool {
        let above =
            self.low.is_none_or(|(low, with)| range.low > low || (with && range.low == low));
        let below =
            self.high.is_none_or(|(high, with)| range.high < high || (with && range.high == high));
        above && below
    }

    pub(super) fn excludes(&self, range: Range) -> bool {
        let below =
            self.low.is_some_and(|(low, with)| range.high < low || (!with && range.high == low));
        let above =
            self.high.is_some_and(|(high, with)| range.low > high || (!with && range.low == high));
        above || below
    }

    /// Distance from `place` to the nearest end.
    pub(super) fn distance(&self, place: f64) -> f64 {
        let ends = [self.low, self.high].into_iter().flatten();
        ends.map(|(end, _)| (place - end).abs()).fold(f64::INFINITY, f64::min)
    }

    /// Half of the region's width; infinite if it has one end.
    pub(super) fn half_width(&self) -> f64 {
        match (self.low, self.high) {
            (Some((low, _)), Some((high, _))) => (high - low) / 2.0,
            _ => f64::INFINITY,
        }
    }
}
