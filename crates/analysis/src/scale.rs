//! The scale on which figures are compared.

/// Scale on which differences are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Logarithms,
    /// Differences of the figures, some of which are not above 0.
    Figures,
}

impl Scale {
    /// A number on this scale; minus infinity for a number without a logarithm.
    pub(crate) fn of(self, number: f64) -> f64 {
        match self {
            Self::Figures => number,
            Self::Logarithms if number > 0.0 => number.ln(),
            Self::Logarithms => f64::NEG_INFINITY,
        }
    }

    /// The number at a place on this scale.
    pub(crate) fn number(self, place: f64) -> f64 {
        if self == Self::Logarithms { place.exp() } else { place }
    }
}
