use measure::{Direction, TIME};

/// What a comparison comes to.
///
/// Times are faster or slower, other metrics with a direction better or worse, those without higher or lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A time that is certainly less.
    Faster,
    /// A time that is certainly more.
    Slower,
    /// Certainly changed in the metric's better direction.
    Better,
    /// Certainly changed in the metric's worse direction.
    Worse,
    /// Certainly more, of a metric that is neither good nor bad.
    Higher,
    /// Certainly less, of a metric that is neither good nor bad.
    Lower,
    /// Certainly within the stated margin.
    Same,
    /// None of these for certain.
    CannotTell,
    /// There is no pair of figures.
    NotComparable,
}

impl Verdict {
    /// In the order a summary counts them.
    pub const ALL: [Verdict; 9] = [
        Verdict::Faster,
        Verdict::Slower,
        Verdict::Better,
        Verdict::Worse,
        Verdict::Higher,
        Verdict::Lower,
        Verdict::Same,
        Verdict::CannotTell,
        Verdict::NotComparable,
    ];

    /// The verdict as people read it.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Higher => "higher",
            Verdict::Lower => "lower",
            Verdict::Same => "same",
            Verdict::CannotTell => "cannot tell",
            Verdict::NotComparable => "no pair",
        }
    }

    /// Whether it claims a difference.
    pub fn is_difference(self) -> bool {
        !matches!(self, Verdict::Same | Verdict::CannotTell | Verdict::NotComparable)
    }

    /// Whether it claims a change for the worse.
    pub fn is_loss(self) -> bool {
        matches!(self, Verdict::Slower | Verdict::Worse)
    }

    /// The verdict on a metric that has certainly grown or shrunk.
    pub fn of_change(metric: &str, better: Direction, grown: bool) -> Self {
        match (better, grown) {
            (Direction::Neither, true) => Verdict::Higher,
            (Direction::Neither, false) => Verdict::Lower,
            (Direction::Lower, true) if metric == TIME.name => Verdict::Slower,
            (Direction::Lower, false) if metric == TIME.name => Verdict::Faster,
            (Direction::Lower, true) | (Direction::Higher, false) => Verdict::Worse,
            (Direction::Lower, false) | (Direction::Higher, true) => Verdict::Better,
        }
    }
}
