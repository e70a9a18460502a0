//! The core's frequency in two runs: whether they can be compared in cycles, and the difference of the machine's own
//! speed.

use results::{CaseResult, Document, Interval, Reference};

/// The facts that identify the CPU of a run. Model names reported by clouds are not specific enough.
const CPU_FACTS: [&str; 6] =
    ["cpu_vendor", "cpu_family", "cpu_model", "cpu_stepping", "cpu_flags", "cpu_caches"];
/// Facts that only some processors have; they must be equal, or in neither run.
const CORE_FACTS: [&str; 2] = ["core_types", "core_type"];

/// The core's frequency in the two runs of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frequencies {
    /// The base's; `None` if unknown.
    pub base: Option<Interval>,
    /// The other run's.
    pub new: Option<Interval>,
}

impl Frequencies {
    /// Those of two runs.
    pub fn of(base: &Document, new: &Document) -> Self {
        Self { base: base.run.core_clock_ghz, new: new.run.core_clock_ghz }
    }

    /// The logarithm of the ratio of the other run's frequency to the base's; `None` if either is unknown.
    pub fn log_ratio(&self) -> Option<f64> {
        Some((self.new?.median / self.base?.median).ln())
    }
}

/// The facts about the CPU that prevent a comparison of cycles: those that differ or are unknown. Empty if both runs
/// were measured on the same CPU.
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
///
/// The reference `calls` is not used: it is a system call, which the system under test, such as another kernel, may
/// have made slower.
pub(crate) fn speed_shift(
    base: &CaseResult,
    new: &CaseResult,
    references: (Option<Reference>, Option<Reference>),
    frequencies: &Frequencies,
    in_cycles: bool,
) -> f64 {
    let shifts = Shifts::of(references);
    if in_cycles {
        return shifts.beside_chain.unwrap_or(0.0);
    }
    let run = frequencies.log_ratio().map_or(0.0, f64::abs);
    match (shifts.chain, shifts.beside_chain) {
        (Some(chain), Some(beside)) => chain.max(run) * share_followed(base, new) + beside,
        _ if shifts.absolute > 0.0 => shifts.absolute.max(run),
        _ => run * share_followed(base, new),
    }
}

/// The upper bound, 0 to 1, of the dependence of the result's time on the core's frequency; 1 if unknown.
fn share_followed(base: &CaseResult, new: &CaseResult) -> f64 {
    match (base.frequency_slope, new.frequency_slope) {
        (Some(base), Some(new)) => base.high.max(new.high).clamp(0.0, 1.0),
        _ => 1.0,
    }
}

/// The differences of the reference readings of two runs, as logarithms.
struct Shifts {
    /// The greatest of `alu` and `chase`.
    absolute: f64,
    /// The chain, that is the core's cycle time.
    chain: Option<f64>,
    /// The greatest of `alu` and `chase`, each divided by the chain, which excludes the frequency.
    beside_chain: Option<f64>,
}

impl Shifts {
    fn of((base, new): (Option<Reference>, Option<Reference>)) -> Self {
        let (base, new) = (base.unwrap_or_default(), new.unwrap_or_default());
        let log = |base: f64, new: f64| match base > 0.0 && new > 0.0 {
            true => (new / base).ln(),
            false => 0.0,
        };
        let alu_known = base.alu > 0.0 && new.alu > 0.0 && base.alu_chains == new.alu_chains;
        let alu = if alu_known { log(base.alu, new.alu) } else { 0.0 };
        let chase = log(base.chase, new.chase);
        let chain = base.chain.zip(new.chain).map(|(base, new)| log(base, new));
        let beside = |shift: f64, known: bool, chain: f64| match known {
            true => (shift - chain).abs(),
            false => 0.0,
        };
        let chase_known = base.chase > 0.0 && new.chase > 0.0;
        Self {
            absolute: alu.abs().max(chase.abs()),
            chain: chain.map(f64::abs),
            beside_chain: chain
                .map(|chain| beside(alu, alu_known, chain).max(beside(chase, chase_known, chain))),
        }
    }
}
