//! Reasons why a pair of figures gets no verdict, whatever its interval.

use results::CaseResult;

use crate::verdict::Verdict;

/// Reason why a pair gets no verdict.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HeldBack {
    /// The sides are emulated: their ratios compare numbers of instructions.
    Emulated(String),
    /// One side is emulated, and the other is not: their ratio has no meaning.
    EmulatedInPart(String),
    /// Something other than what was measured determined a figure.
    Limited {
        /// What it was.
        why: String,
        /// The only side that was limited, if its figure bounds what the program itself can do.
        only: Option<Side>,
    },
}

/// A side of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Side {
    /// The one that is compared with.
    Base,
    /// The other one.
    New,
}

impl HeldBack {
    /// The word that stands in the place of a verdict, and the reason.
    pub(crate) fn verdict(self) -> (Verdict, String) {
        match self {
            Self::Emulated(why) | Self::EmulatedInPart(why) => (Verdict::Emulated, why),
            Self::Limited { why, .. } => (Verdict::CannotTell, why),
        }
    }

    /// Whether the reason is that a side is emulated.
    pub(crate) fn is_of_emulation(&self) -> bool {
        !matches!(self, Self::Limited { .. })
    }
}

/// Why a change of this result between two systems gets no verdict, if they are emulated; `sides` has the reason of each, and its
/// name.
pub(crate) fn emulation(sides: [(Option<&str>, &str); 2], result: &CaseResult) -> Option<HeldBack> {
    match sides {
        [(None, _), (None, _)] => None,
        // What does not depend on time, such as the size of memory, is the same on an emulated processor.
        [(Some(_), _), (Some(_), _)] if !depends_on_time(result) => None,
        [(Some(_), base), (Some(_), new)] => {
            let are =
                if base == new { format!("{base} is") } else { format!("{base} and {new} are") };
            let why = format!("{are} emulated: the ratio counts instructions, not time");
            Some(HeldBack::Emulated(why))
        }
        [(Some(why), system), _] | [_, (Some(why), system)] => Some(HeldBack::EmulatedInPart(
            format!("{system} is not judged against real processors: {why}"),
        )),
    }
}

/// Whether the figure is a time, a rate or a share of time.
fn depends_on_time(result: &CaseResult) -> bool {
    let unit = result.unit.as_str();
    unit.starts_with("ns") || unit.ends_with("/s") || unit.contains("CPU") || unit == "%"
}
