//! The core's frequency in two runs: whether they can be compared in cycles, and the difference of the machine's own
//! speed.

use results::{CaseResult, Document, Interval, Reference};

/// Facts that identify the CPU of a run. Model names reported by clouds are not specific enough.
const CPU_FACTS: [&str; 6] =
    ["cpu_vendor", "cpu_family", "cpu_model", "cpu_stepping", "cpu_flags", "cpu_caches"];
/// Facts that only some processors have; they must be equal, or missing in both runs.
const CORE_FACTS: [&str; 2] = ["core_types", "core_type"];

/// The core's frequency in the two runs of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frequencies {
    /// Frequency in the base run; `None` if unknown.
    pub base: Option<Interval>,
    /// Frequency in the other run; `None` if unknown.
    pub new: Option<Interval>,
}

impl Frequencies {
    /// The frequencies in two runs.
    pub fn of(base: &Document, new: &Document) -> Self {
        Self { base: base.run.core_clock_ghz, new: new.run.core_clock_ghz }
    }

    /// The logarithm of the ratio of the other run's frequency to the base's; `None` if either is unknown.
    pub fn log_ratio(&self) -> Option<f64> {
        Some((self.new?.median / self.base?.median).ln())
    }
}

/// The facts about the CPU that prevent a comparison of cycles, because they differ or are unknown. Empty if both runs were
/// measured on the same CPU.
pub fn cpu_differences(base: &Document, new: &Document) -> Vec<&'static str> {
    let fact = |run: &Document, key: &str| {
        run.machine.get(key).filter(|value| !value.is_null() && *value != "unknown").cloned()
    };
    let differs = |key: &&str| {
        let (base, new) = (fact(base, key), fact(new, key));
        base != new || (base.is_none() && CPU_FACTS.contains(key))
    };
    CPU_FACTS.into_iter().chain(CORE_FACTS).filter(differs).collect()
}

/// The difference of the machine's own speed between the runs by the sentinel, as a logarithm.
pub(crate) fn speed_shift(
    base: &CaseResult,
    new: &CaseResult,
    references: (Option<Reference>, Option<Reference>),
    frequencies: &Frequencies,
    in_cycles: bool,
) -> f64 {
    let run = frequencies.log_ratio().map_or(0.0, f64::abs);
    let shifts = references.0.zip(references.1).map(|(base, new)| {
        let chain = (new.chain / base.chain).ln();
        // The ratios of the other reference computations to the chain do not depend on the frequency.
        let beside = |base: f64, new: f64| ((new / base).ln() - chain).abs();
        (chain.abs(), beside(base.alu, new.alu).max(beside(base.chase, new.chase)))
    });
    let (chain, beside_chain) = shifts.unwrap_or_default();
    match in_cycles {
        true => beside_chain,
        false => chain.max(run) * share_followed(base, new) + beside_chain,
    }
}

/// The upper bound, 0 to 1, of the dependence of the result's time on the core's frequency; 1 if unknown.
fn share_followed(base: &CaseResult, new: &CaseResult) -> f64 {
    match (base.frequency_slope, new.frequency_slope) {
        (Some(base), Some(new)) => base.high.max(new.high).clamp(0.0, 1.0),
        _ => 1.0,
    }
}
