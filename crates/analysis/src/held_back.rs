//! Reasons why a pair of figures gets no verdict, whatever its interval.

use results::CaseResult;

use crate::setting::{Difference, nuisances_in_words};
use crate::verdict::Verdict;

/// Reason why a pair gets no verdict.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HeldBack {
    /// The sides are emulated: their ratios compare numbers of instructions.
    Emulated(String),
    /// One side is emulated, and the other is not: their ratio has no meaning.
    EmulatedInPart(String),
    /// The sides are of different machines, or were measured in different ways.
    Apart(String),
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
            Self::Apart(why) => (Verdict::AnotherMachine, why),
            Self::Limited { why, .. } => (Verdict::CannotTell, why),
        }
    }

    /// Whether the reason is one of the system or the machine, not of the figures.
    pub(crate) fn is_of_runs(&self) -> bool {
        !matches!(self, Self::Limited { .. })
    }

    /// The word in the place of the verdicts on ratios that are shown nevertheless, and on their means; `None` if there is no mean.
    pub(crate) fn without_verdict(&self) -> Option<Verdict> {
        match self {
            Self::Emulated(_) => Some(Verdict::Emulated),
            Self::Apart(_) => Some(Verdict::AnotherMachine),
            Self::EmulatedInPart(_) | Self::Limited { .. } => None,
        }
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

/// Why a change gets no verdict if the runs differ in these nuisances; `None` without any.
pub(crate) fn another_machine(apart: &[Difference]) -> Option<HeldBack> {
    let (is, facts) = nuisances_in_words(apart)?;
    Some(HeldBack::Apart(format!("{is}: {facts}")))
}

/// Whether the figure is a time, a rate or a share of time.
fn depends_on_time(result: &CaseResult) -> bool {
    let unit = result.unit.as_str();
    unit.starts_with("ns") || unit.ends_with("/s") || unit.contains("CPU") || unit == "%"
}
