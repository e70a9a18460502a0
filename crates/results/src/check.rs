//! The rules for documents beyond their syntax, shared by import, the store and export.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde_json::{Map, Value};

use crate::document::{
    CaseResult, Document, Estimate, FrequencySlope, GROUP, Interval, Outcome, PerOp, Reference,
    RunInfo, SCHEMA, Seen,
};
use crate::located::one_line;

/// The longest run id, in bytes.
pub const MAX_RUN_ID_BYTES: usize = 64;
/// The most results one document may have.
pub const MAX_RESULTS: usize = 1_000_000;

/// The most jobs of a trial whose times a result may have.
pub const MAX_TIMELINE: usize = 1_000;

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The keys that lead to the wrong value, from the checked object inwards.
    pub path: &'static [&'static str],
    /// What is wrong, in one line.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

fn fault(path: &'static [&'static str], message: impl Into<String>) -> Result<(), Fault> {
    Err(Fault { path, message: message.into() })
}

impl Document {
    /// Applies all checks of an import to a document in memory.
    pub fn check(&self) -> Result<(), Fault> {
        if self.schema != SCHEMA {
            let message = format!("schema is {}, this build knows {SCHEMA}", self.schema);
            return fault(&["schema"], message);
        }
        self.run.check()?;
        check_machine(&self.machine)?;
        if self.results.len() > MAX_RESULTS {
            return fault(&["results"], format!("more than {MAX_RESULTS} results"));
        }
        for result in &self.results {
            result.check().map_err(|fault| fault.of(result))?;
        }
        match first_duplicate(&self.results) {
            Some((_, second)) => {
                let result = &self.results[second];
                fault(&["results"], "appears twice").map_err(|fault| fault.of(result))
            }
            None => Ok(()),
        }
    }
}

impl Fault {
    /// The same fault, with the name of the result.
    pub(crate) fn of(self, result: &CaseResult) -> Fault {
        let message = format!("{} {}: {}", result.label(), result.metric, self.message);
        Fault { message, ..self }
    }
}

impl RunInfo {
    /// Checks the id (`[A-Za-z0-9_.-]`, 1 to 64 characters, not `last`), both times (RFC 3339), the core's
    /// frequency and the seconds of each area.
    pub fn check(&self) -> Result<(), Fault> {
        check_run_id(&self.id)?;
        check_run_facts(self.core_clock_ghz.as_ref(), &self.area_seconds)?;
        check_time(&["started"], &self.started)?;
        match &self.finished {
            Some(finished) => check_time(&["finished"], finished),
            None => Ok(()),
        }
    }

    /// Whether they are two of one invocation, which measures the rounds of several systems in turn.
    pub fn is_in_turn_with(&self, other: &Self) -> bool {
        let group = self.asked.get(GROUP);
        self.id != other.id && group.is_some() && group == other.asked.get(GROUP)
    }
}

/// Checks that a frequency is positive, and that no area took negative time.
pub(crate) fn check_run_facts(
    clock: Option<&Interval>,
    area_seconds: &BTreeMap<String, f64>,
) -> Result<(), Fault> {
    if let Some(Interval { low, median, high }) = clock {
        let parts: [(&'static [&'static str], f64); 3] = [
            (&["core_clock_ghz", "low"], *low),
            (&["core_clock_ghz", "median"], *median),
            (&["core_clock_ghz", "high"], *high),
        ];
        check_finite(&parts)?;
        check_positive(&parts)?;
        check_ascending(&parts)?;
    }
    match area_seconds.iter().find(|(_, seconds)| !(seconds.is_finite() && **seconds >= 0.0)) {
        Some((area, seconds)) => {
            let message = format!("area_seconds: {} took {seconds} s", one_line(area));
            fault(&["area_seconds"], message)
        }
        None => Ok(()),
    }
}

/// Checks that each fact about the machine is a string, a number, a truth value or null.
pub(crate) fn check_machine(machine: &Map<String, Value>) -> Result<(), Fault> {
    match machine.iter().find(|(_, value)| value.is_array() || value.is_object()) {
        Some((key, _)) => {
            let message = format!("machine: {} is neither a string nor a number", one_line(key));
            fault(&["machine"], message)
        }
        None => Ok(()),
    }
}

fn check_run_id(id: &str) -> Result<(), Fault> {
    if id.is_empty() {
        return fault(&["id"], "the run's id is empty");
    }
    if id.len() > MAX_RUN_ID_BYTES {
        let message = format!("the run's id is longer than {MAX_RUN_ID_BYTES} characters");
        return fault(&["id"], message);
    }
    if !id.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b)) {
        let message = format!("the run's id {id:?} has characters other than A-Z a-z 0-9 _ . -");
        return fault(&["id"], message);
    }
    if id == "last" {
        return fault(&["id"], "the run's id is `last`, which always means the newest run");
    }
    Ok(())
}

fn check_time(path: &'static [&'static str], text: &str) -> Result<(), Fault> {
    match parse_time(text) {
        Some(_) => Ok(()),
        None => {
            let message = format!("{text:?} is not a time such as 2026-11-21T20:36:55Z (RFC 3339)");
            fault(path, message)
        }
    }
}

/// An RFC 3339 time. jiff reads more forms of ISO 8601, so the form is checked first.
pub(crate) fn parse_time(text: &str) -> Option<jiff::Timestamp> {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let bytes = text.as_bytes();
    let zone = bytes.get(SHAPE.len()..)?;
    let shaped = SHAPE.iter().zip(bytes).all(|(shape, byte)| match shape {
        b'0' => byte.is_ascii_digit(),
        _ => shape == byte,
    });
    let offset_at = zone.len().saturating_sub("+00:00".len());
    let zoned = zone.ends_with(b"Z") || matches!(zone.get(offset_at), Some(b'+' | b'-'));
    if !(shaped && zoned) {
        return None;
    }
    text.parse().ok()
}

impl CaseResult {
    /// Checks the case's name, and that outcome, reason and figures agree with one another.
    pub fn check(&self) -> Result<(), Fault> {
        self.check_name()?;
        self.check_figures()
    }

    /// The result itself, or a `failed` one with the reason if its figures cannot be true.
    ///
    /// All stored and exported results pass through here, so that a NaN (which JSON lacks) or an interval that excludes
    /// its median becomes a failure and every export can be imported.
    pub fn sound(&self) -> Cow<'_, CaseResult> {
        let Err(fault) = self.check_figures() else {
            return Cow::Borrowed(self);
        };
        let said = self.reason.clone().filter(|reason| !reason.trim().is_empty());
        let (outcome, reason) = match (self.outcome, said) {
            (Outcome::Measured, _) => (Outcome::Failed, None),
            (other, said) => (other, said),
        };
        Cow::Owned(CaseResult {
            outcome,
            reason: reason.or_else(|| Some(format!("the figures cannot be true: {fault}"))),
            estimate: None,
            cycles: None,
            frequency_slope: None,
            cpus: Vec::new(),
            seen: None,
            quiet_share: None,
            quiet_quartiles: None,
            converged: None,
            per_op: None,
            reference: None,
            round_values: Vec::new(),
            round_starts_ms: Vec::new(),
            timeline: Vec::new(),
            ..self.clone()
        })
    }

    fn check_name(&self) -> Result<(), Fault> {
        let plain = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.+-".contains(&b))
        };
        match self.case.split_once('/') {
            Some((area, name)) if plain(area) && plain(name) => {}
            _ => {
                return fault(
                    &["case"],
                    format!("case {:?} is not of the form area/name", self.case),
                );
            }
        }
        if self.metric.trim().is_empty() || self.metric.contains(char::is_control) {
            return fault(&["metric"], format!("metric {:?} is not a name", self.metric));
        }
        Ok(())
    }

    fn check_figures(&self) -> Result<(), Fault> {
        self.check_outcome()?;
        self.estimate.as_ref().map_or(Ok(()), check_estimate)?;
        self.seen.as_ref().map_or(Ok(()), check_seen)?;
        self.per_op.as_ref().map_or(Ok(()), check_per_op)?;
        if self.quiet_share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            return fault(&["quiet_share"], "quiet_share is not between 0 and 1");
        }
        self.reference.as_ref().map_or(Ok(()), check_reference)?;
        self.cycles.as_ref().map_or(Ok(()), |cycles| self.check_cycles(cycles))?;
        self.frequency_slope.as_ref().map_or(Ok(()), check_slope)?;
        if let Some([lower, upper]) = self.quiet_quartiles {
            check_finite(&[(&["quiet_quartiles"], lower), (&["quiet_quartiles"], upper)])?;
            if lower > upper {
                return fault(&["quiet_quartiles"], "the lower quartile is above the upper");
            }
        }
        let not_finite = "a round's value is not a finite number";
        if !self.round_values.iter().all(|value| value.is_finite()) {
            return fault(&["round_values"], not_finite);
        }
        if !self.all_round_values.iter().all(|value| value.is_finite()) {
            return fault(&["all_round_values"], not_finite);
        }
        let (values, starts) = (self.round_values.len(), self.round_starts_ms.len());
        if starts > 0 && starts != values {
            let why = format!("{starts} rounds have a start, and {values} a value");
            return fault(&["round_starts_ms"], why);
        }
        if self.timeline.len() > MAX_TIMELINE {
            return fault(&["timeline"], format!("timeline has more than {MAX_TIMELINE} jobs"));
        }
        if self.timeline.iter().any(|[from, to]| from > to) {
            return fault(&["timeline"], "a job ends before it begins");
        }
        Ok(())
    }

    fn check_cycles(&self, cycles: &Interval) -> Result<(), Fault> {
        let Some(estimate) = self.estimate else {
            return fault(&["cycles"], "there are cycles, but there is no estimate");
        };
        let parts: [(&'static [&'static str], f64); 3] = [
            (&["cycles", "low"], cycles.low),
            (&["cycles", "median"], cycles.median),
            (&["cycles", "high"], cycles.high),
        ];
        check_finite(&parts)?;
        // The rounds' cycles are computed from their times with this ratio.
        check_positive(&[parts[1], (&["estimate", "median"], estimate.median)])?;
        check_ascending(&parts)
    }

    fn check_outcome(&self) -> Result<(), Fault> {
        let measured = self.outcome == Outcome::Measured;
        match (measured, &self.estimate, &self.reason) {
            (true, None, _) => fault(&["outcome"], "measured, but there is no estimate"),
            (true, Some(_), Some(_)) => {
                fault(&["reason"], "measured, but there is a reason why it is not")
            }
            _ if measured && self.unit.trim().is_empty() => {
                fault(&["unit"], "measured, but there is no unit")
            }
            (false, Some(_), _) => fault(&["estimate"], "not measured, but there is an estimate"),
            (false, None, None) => fault(&["outcome"], "not measured, but there is no reason why"),
            (false, None, Some(reason)) if reason.trim().is_empty() => {
                fault(&["reason"], "the reason says nothing")
            }
            _ => Ok(()),
        }
    }
}

fn check_estimate(estimate: &Estimate) -> Result<(), Fault> {
    let Estimate { median, low, high, level } = *estimate;
    let parts: [(&'static [&'static str], f64); 4] = [
        (&["estimate", "median"], median),
        (&["estimate", "low"], low),
        (&["estimate", "high"], high),
        (&["estimate", "level"], level),
    ];
    check_finite(&parts)?;
    if low > median {
        return fault(&["estimate", "low"], format!("low {low} is above the median {median}"));
    }
    if high < median {
        return fault(&["estimate", "high"], format!("high {high} is below the median {median}"));
    }
    if level <= 0.0 || level >= 1.0 {
        return fault(&["estimate", "level"], format!("level {level} is not between 0 and 1"));
    }
    Ok(())
}

fn check_reference(reference: &Reference) -> Result<(), Fault> {
    let Reference { alu, chase, calls, chain, .. } = *reference;
    check_finite(&[(&["reference", "alu"], alu), (&["reference", "chase"], chase)])?;
    let optional: [(&'static [&'static str], Option<f64>); 2] =
        [(&["reference", "calls"], calls), (&["reference", "chain"], chain)];
    for (path, value) in optional {
        let Some(value) = value else { continue };
        check_finite(&[(path, value)])?;
        // One that was not read is absent, never 0.
        check_positive(&[(path, value)])?;
    }
    Ok(())
}

fn check_slope(slope: &FrequencySlope) -> Result<(), Fault> {
    let parts: [(&'static [&'static str], f64); 3] = [
        (&["frequency_slope", "low"], slope.low),
        (&["frequency_slope", "slope"], slope.slope),
        (&["frequency_slope", "high"], slope.high),
    ];
    check_finite(&parts)?;
    check_ascending(&parts)
}

fn check_seen(seen: &Seen) -> Result<(), Fault> {
    let Seen { min, p5, p25, p50, p75, p95, p99, mean } = *seen;
    let ascending: [(&'static [&'static str], f64); 7] = [
        (&["seen", "min"], min),
        (&["seen", "p5"], p5),
        (&["seen", "p25"], p25),
        (&["seen", "p50"], p50),
        (&["seen", "p75"], p75),
        (&["seen", "p95"], p95),
        (&["seen", "p99"], p99),
    ];
    check_finite(&ascending)?;
    check_finite(&[(&["seen", "mean"], mean)])?;
    check_ascending(&ascending)
}

fn check_ascending(parts: &[(&'static [&'static str], f64)]) -> Result<(), Fault> {
    for pair in parts.windows(2) {
        let ((lower, below), (upper, above)) = (pair[0], pair[1]);
        if below > above {
            return fault(upper, format!("{} {above} is below {} {below}", upper[1], lower[1]));
        }
    }
    Ok(())
}

fn check_positive(parts: &[(&'static [&'static str], f64)]) -> Result<(), Fault> {
    match parts.iter().find(|(_, value)| *value <= 0.0) {
        Some((path, value)) => fault(path, format!("{} is {value}, not above 0", path.join("."))),
        None => Ok(()),
    }
}

fn check_per_op(per_op: &PerOp) -> Result<(), Fault> {
    let counts: [(&'static [&'static str], Option<f64>); 9] = [
        (&["per_op", "syscalls"], per_op.syscalls),
        (&["per_op", "voluntary_switches"], per_op.voluntary_switches),
        (&["per_op", "involuntary_switches"], per_op.involuntary_switches),
        (&["per_op", "page_faults"], per_op.page_faults),
        (&["per_op", "instructions"], per_op.instructions),
        (&["per_op", "cycles"], per_op.cycles),
        (&["per_op", "host_syscalls"], per_op.host_syscalls),
        (&["per_op", "host_switches"], per_op.host_switches),
        (&["per_op", "host_ptrace_stops"], per_op.host_ptrace_stops),
    ];
    for (path, count) in counts {
        check_finite(&[(path, count.unwrap_or(0.0))])?;
    }
    let mut calls = per_op.calls.values();
    calls.try_for_each(|&count| check_finite(&[(&["per_op", "calls"], count)]))
}

fn check_finite(parts: &[(&'static [&'static str], f64)]) -> Result<(), Fault> {
    for (path, value) in parts {
        if !value.is_finite() {
            return fault(path, format!("{} is not a finite number", path.join(".")));
        }
    }
    Ok(())
}

/// The first two results (by index) with the same case, parameters and metric.
pub(crate) fn first_duplicate(results: &[CaseResult]) -> Option<(usize, usize)> {
    type Identity<'r> = (&'r str, &'r BTreeMap<String, String>, &'r str);
    let mut known: HashMap<Identity<'_>, usize> = HashMap::with_capacity(results.len());
    for (index, result) in results.iter().enumerate() {
        let identity = (result.case.as_str(), &result.params, result.metric.as_str());
        if let Some(first) = known.insert(identity, index) {
            return Some((first, index));
        }
    }
    None
}
