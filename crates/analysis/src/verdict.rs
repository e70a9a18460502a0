use measure::{Direction, TIME};
use serde::{Serialize, Serializer};
use strum::{IntoStaticStr, VariantArray};

/// The result of a comparison.
///
/// Times are faster or slower, other metrics with a direction better or worse, those without higher or lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Verdict {
    /// A significantly shorter time.
    Faster,
    /// A significantly longer time.
    Slower,
    /// A significant change in the metric's better direction.
    Better,
    /// A significant change in the metric's worse direction.
    Worse,
    /// A significantly higher value of a metric without a direction.
    Higher,
    /// A significantly lower value of a metric without a direction.
    Lower,
    /// The difference is significantly within the margin.
    Same,
    /// No verdict is significant.
    #[strum(serialize = "cannot tell")]
    CannotTell,
    /// A processor is emulated, so that the figures count instructions instead of time, and are not judged.
    Emulated,
    /// The runs are of different machines, or were measured in different ways, and the user has not asked to judge that.
    #[strum(serialize = "another machine")]
    AnotherMachine,
    /// There is no pair of figures.
    #[strum(serialize = "no pair")]
    NotComparable,
}

impl Verdict {
    /// The verdict in words.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The number of verdicts of each kind: `12 faster, 3 slower, 140 same, 20 cannot tell`.
    pub fn counted(verdicts: &[Self]) -> String {
        let count = |verdict: &Self| verdicts.iter().filter(|other| *other == verdict).count();
        let counts = Self::VARIANTS.iter().map(|verdict| (count(verdict), verdict.word()));
        let words = counts.filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}"));
        words.collect::<Vec<_>>().join(", ")
    }

    /// Whether the verdict is a difference.
    pub fn is_difference(self) -> bool {
        !matches!(self, Verdict::Same) && self.is_decided()
    }

    /// Whether the figures were judged: there is a difference, or certainly none.
    pub fn is_decided(self) -> bool {
        !matches!(self, Verdict::CannotTell | Verdict::NotComparable) && self.is_judged()
    }

    /// Whether figures like these are judged at all.
    pub fn is_judged(self) -> bool {
        !matches!(self, Verdict::Emulated | Verdict::AnotherMachine)
    }

    /// Whether the verdict is a change for the worse.
    pub fn is_loss(self) -> bool {
        matches!(self, Verdict::Slower | Verdict::Worse)
    }

    /// Whether the verdict is a change for the better.
    pub fn is_gain(self) -> bool {
        matches!(self, Verdict::Faster | Verdict::Better)
    }

    /// The verdict on a metric that has significantly grown or shrunk.
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

impl Serialize for Verdict {
    /// Serializes the verdict as its word.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}
