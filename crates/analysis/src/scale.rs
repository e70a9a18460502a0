//! The scale on which figures are compared.

/// What differences are taken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Logarithms,
    /// Of the figures, some of which are not above 0.
    Figures,
}

impl Scale {
    /// A number on this scale; minus infinity for one that has no logarithm.
    pub(crate) fn of(self, number: f64) -> f64 {
        match self {
            Self::Figures => number,
            Self::Logarithms if number > 0.0 => number.ln(),
            Self::Logarithms => f64::NEG_INFINITY,
        }
    }

    /// The number at a place of this scale.
    pub(crate) fn number(self, place: f64) -> f64 {
        if self == Self::Logarithms { place.exp() } else { place }
    }
}
