//! Prior of a machine's variance before it has runs of its own, by the family of its processor.

use std::sync::LazyLock;

use results::MachineFacts;
use serde::Deserialize;

use super::figure::Cause;

static TABLE: LazyLock<Vec<Family>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Table {
        family: Vec<Family>,
    }
    let table: Table = toml::from_str(include_str!("processors.toml")).expect("tested");
    table.family
});

/// Processors with the same variance from visit to visit.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Family {
    name: String,
    /// Vendor as in `/proc/cpuinfo`; absent in the row for all others.
    vendor: Option<String>,
    /// First and last CPU family.
    families: Option<[u64; 2]>,
    /// First and last model.
    models: Option<[u64; 2]>,
    /// Number of visits of recorded machines from which the row is known; 0 for the widest.
    pub(super) visits: usize,
    entry: f64,
    user_code: f64,
    wake_up: f64,
    memory: f64,
    trials: f64,
}

impl Family {
    /// The family of a machine's processor; the widest one if it is not in the table.
    pub(super) fn of(machine: &MachineFacts) -> &'static Self {
        TABLE.iter().find(|family| family.has(machine)).unwrap_or_else(Self::widest)
    }

    /// The family of all processors that were not recorded.
    pub(super) fn widest() -> &'static Self {
        TABLE.last().expect("it has a row for all")
    }

    fn has(&self, machine: &MachineFacts) -> bool {
        let is_within = |range: Option<[u64; 2]>, key: &str| {
            let number = machine.get(key).and_then(|number| number.as_u64());
            range.zip(number).is_some_and(|([first, last], n)| (first..=last).contains(&n))
        };
        let vendor = machine.get("cpu_vendor").and_then(|vendor| vendor.as_str());
        vendor.is_some()
            && vendor == self.vendor.as_deref()
            && is_within(self.families, "cpu_family")
            && is_within(self.models, "cpu_model")
    }

    /// Name of a family that was recorded; `None` for the widest.
    pub(super) fn name(&self) -> Option<&str> {
        (self.visits > 0).then_some(&self.name)
    }

    /// The variance between visits, in the unit of a figure's [`weight`](super::figure::Figure::weight).
    pub(super) fn variance(&self, cause: &Cause) -> f64 {
        let deviation = match cause {
            Cause::Entry => self.entry,
            Cause::UserCode => self.user_code,
            Cause::WakeUp => self.wake_up,
            Cause::Memory => self.memory,
            Cause::Trials(_) => self.trials,
        };
        deviation.powi(2)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_processor_is_found_by_vendor_family_and_model_and_the_widest_is_for_all_others() {
        let of = |facts: serde_json::Value| Family::of(facts.as_object().unwrap());
        let zen5 = of(json!({"cpu_vendor": "AuthenticAMD", "cpu_family": 26, "cpu_model": 2}));
        assert_eq!(zen5.name(), Some("AMD EPYC (Zen 5)"));
        let unknown = of(json!({"cpu_vendor": "unknown"}));
        assert_eq!((unknown.name(), of(json!({}))), (None, unknown));
        let causes = [
            Cause::Entry,
            Cause::UserCode,
            Cause::WakeUp,
            Cause::Memory,
            Cause::Trials("net".into()),
        ];
        for family in TABLE.iter() {
            for cause in &causes {
                let is_widest = unknown.variance(cause) >= family.variance(cause);
                assert!(is_widest && family.variance(cause) > 0.0, "{} {cause}", family.name);
            }
        }
    }
}
