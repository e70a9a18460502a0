//! Rules for documents beyond syntax and types, shared by import, the store and export.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use crate::document::{
    CaseResult, Distribution, Document, Estimate, FrequencySlope, GROUP, Interval, NextRun,
    Outcome, PerOp, Reference, RunInfo, SCHEMA,
};

/// Maximum length of a run id, in bytes.
pub const MAX_RUN_ID_BYTES: usize = 64;
/// Maximum number of jobs of a trial whose times a result may have.
pub const MAX_TIMELINE: usize = 1_000;
/// Maximum length of all facts of a machine, or of all tags and options of a run, in bytes: a few hundred times what they have.
const MAX_FACTS_BYTES: usize = 1 << 20;

/// Maximum length of the excerpt of a text that an error quotes, in characters.
const MAX_QUOTED_CHARS: usize = 200;

/// A violation of a rule: what is wrong, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);

fn ensure(holds: bool, wrong: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault(wrong())) }
}

impl Document {
    /// Applies all checks of an import to the document.
    pub fn check(&self) -> Result<(), Fault> {
        ensure(self.schema == SCHEMA, || {
            format!("schema is {}, this build knows {SCHEMA}", self.schema)
        })?;
        self.run.check()?;
        check_machine(&self.machine)?;
        self.results.iter().try_for_each(CaseResult::check)?;
        check_identities(&self.results)
    }
}

impl RunInfo {
    /// Checks the id (`[A-Za-z0-9_.-]`, 1 to 64 characters, the first a letter or digit, not `last`), both times (RFC 3339) and their order, the core's
    /// frequency and the seconds of each area.
    pub fn check(&self) -> Result<(), Fault> {
        check_run_id(&self.id)?;
        check_run_facts(self.core_clock_ghz, &self.area_seconds)?;
        let texts = || self.tags.iter().chain(&self.asked).flat_map(both_texts);
        check_texts(texts())?;
        check_length("tags and options", texts().map(str::len).sum())?;
        check_texts([self.oscost.as_str()])?;
        let time = |text: &String| {
            parse_time(text).ok_or_else(|| {
                Fault(format!("{text:?} is not a time such as 2026-11-21T20:36:55Z (RFC 3339)"))
            })
        };
        let started = time(&self.started)?;
        let Some(end) = &self.finished else { return Ok(()) };
        ensure(time(end)? >= started, || {
            format!("the run finished at {end}, before it started at {}", self.started)
        })
    }

    /// Whether both runs are of one invocation, which measures the rounds of several systems in turn.
    pub fn is_in_turn_with(&self, other: &Self) -> bool {
        let group = self.asked.get(GROUP);
        self.id != other.id && group.is_some() && group == other.asked.get(GROUP)
    }

    /// Whether the run is dated more than a day after `now`, in seconds since 1970: by a clock that was wrong, not by a time zone.
    pub fn is_ahead_of(&self, now: f64) -> bool {
        is_ahead(self.started_seconds(), now)
    }

    /// Start of the run, in seconds since 1970; 0 if it is not an RFC 3339 time.
    pub fn started_seconds(&self) -> f64 {
        parse_time(&self.started).map_or(0.0, |time| time.as_microsecond() as f64 / 1e6)
    }
}

/// Whether a time is more than a day after `now`, both in seconds since 1970.
pub fn is_ahead(time: f64, now: f64) -> bool {
    const DAY: f64 = 86_400.0;
    time > now + DAY
}

/// Checks that a frequency is positive, and that no area took negative time.
pub(crate) fn check_run_facts(
    clock: Option<Interval>,
    area_seconds: &BTreeMap<String, f64>,
) -> Result<(), Fault> {
    if let Some(Interval { low, median, high }) = clock {
        check_positive("core_clock_ghz.low", low)?;
        check_ascending("core_clock_ghz", &[("low", low), ("median", median), ("high", high)])?;
    }
    area_seconds.iter().try_for_each(|(area, &seconds)| {
        ensure(seconds.is_finite() && seconds >= 0.0, || {
            format!("area_seconds: {} took {seconds} s", one_line(area))
        })
    })
}

/// Checks that each fact about the machine is a string, a number, a truth value or null.
pub(crate) fn check_machine(machine: &Map<String, Value>) -> Result<(), Fault> {
    machine.iter().try_for_each(|(key, value)| {
        ensure(!value.is_array() && !value.is_object(), || {
            format!("{} is neither a string nor a number", one_line(key))
        })?;
        check_texts([key.as_str()].into_iter().chain(value.as_str()))
    })?;
    let lengths = machine.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len));
    check_length("facts about the machine", lengths.sum())
}

fn check_length(what: &str, bytes: usize) -> Result<(), Fault> {
    ensure(bytes <= MAX_FACTS_BYTES, || {
        format!("{what} have {bytes} bytes, more than {MAX_FACTS_BYTES}, the limit")
    })
}

/// Checks that no text has the character U+0000, which PostgreSQL cannot store, and which ends a text for programs in C.
fn check_texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<(), Fault> {
    texts.into_iter().try_for_each(|text| {
        ensure(!text.contains('\0'), || format!("{} has a NUL character", one_line(text)))
    })
}

fn both_texts<'t>((key, value): (&'t String, &'t String)) -> [&'t str; 2] {
    [key, value]
}

fn check_run_id(id: &str) -> Result<(), Fault> {
    ensure(!id.is_empty(), || "the run's id is empty".to_owned())?;
    ensure(id.len() <= MAX_RUN_ID_BYTES, || {
        format!("the run's id is longer than {MAX_RUN_ID_BYTES} characters")
    })?;
    ensure(id.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b)), || {
        format!("the run's id {id:?} has characters other than A-Z a-z 0-9 _ . -")
    })?;
    // Otherwise a command would take it for an option, or a file of that name would be hidden.
    ensure(id.starts_with(|c: char| c.is_ascii_alphanumeric()), || {
        format!("the run's id {id:?} does not begin with a letter or digit")
    })?;
    ensure(id != "last", || "the run's id is `last`, which always means the newest run".to_owned())
}

/// Parses an RFC 3339 time. jiff reads more forms of ISO 8601, so the form is checked first.
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
        self.check_name()
            .and_then(|()| self.check_figures())
            .map_err(|fault| Fault(format!("{} {}: {fault}", self.label(), self.metric)))
    }

    /// Returns the result itself, or a `failed` one with the reason if its figures cannot be true.
    ///
    /// All stored and exported results pass through here, so that a NaN (which JSON lacks) or an interval that excludes its
    /// median becomes a failure and every export can be imported.
    pub fn sound(&self) -> Cow<'_, CaseResult> {
        let Err(fault) = self.check_figures() else {
            return Cow::Borrowed(self);
        };
        let said = self.reason.clone().filter(|reason| !reason.trim().is_empty());
        let (outcome, reason) = match (self.outcome, said) {
            (Outcome::Measured, _) => (Outcome::Failed, None),
            (other, said) => (other, said),
        };
        let identity = (self.params.clone(), &self.metric, &self.unit, self.better);
        let (params, metric, unit, better) = identity;
        Cow::Owned(CaseResult {
            outcome,
            reason: reason.or_else(|| Some(format!("the figures cannot be true: {fault}"))),
            disturbed: self.disturbed,
            rounds: self.rounds,
            samples: self.samples,
            doubts: self.doubts.clone(),
            ..CaseResult::blank(&self.case, params, metric, unit, better)
        })
    }

    fn check_name(&self) -> Result<(), Fault> {
        let plain = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.+-".contains(&b))
        };
        let is_case = |(area, name): (&str, &str)| plain(area) && plain(name);
        ensure(self.case.split_once('/').is_some_and(is_case), || {
            format!("case {:?} is not of the form area/name", self.case)
        })?;
        check_texts(self.params.iter().flat_map(both_texts))?;
        check_texts([self.unit.as_str()])?;
        ensure(!self.metric.trim().is_empty() && !self.metric.contains(char::is_control), || {
            format!("metric {:?} is not a name", self.metric)
        })
    }

    fn check_figures(&self) -> Result<(), Fault> {
        self.check_outcome()?;
        if let Some(Estimate { median, low, high, level }) = self.estimate {
            check_ascending("estimate", &[("low", low), ("median", median), ("high", high)])?;
            ensure(0.0 < level && level < 1.0, || format!("level {level} is not between 0 and 1"))?;
        }
        if let Some(next) = self.next_run {
            check_next_run(&next)?;
        }
        if let Some(Interval { median, low, high }) = self.this_machine {
            let ends = [("low", low), ("median", median), ("high", high)];
            check_ascending("this_machine", &ends)?;
        }
        if let Some(Interval { median, low, high }) = self.cycles {
            let of_estimate = self.estimate.map(|estimate| estimate.median);
            let of_estimate = of_estimate
                .ok_or_else(|| Fault("there are cycles, but there is no estimate".to_owned()))?;
            // The rounds' cycles are computed from their times by the ratio of both medians.
            check_positive("cycles.median", median)?;
            check_positive("estimate.median", of_estimate)?;
            check_ascending("cycles", &[("low", low), ("median", median), ("high", high)])?;
        }
        if let Some(FrequencySlope { slope, low, high, .. }) = self.frequency_slope {
            check_ascending("frequency_slope", &[("low", low), ("slope", slope), ("high", high)])?;
        }
        if let Some(Distribution { min, p5, p25, p50, p75, p95, p99, mean }) = self.seen {
            let low = [("min", min), ("p5", p5), ("p25", p25), ("p50", p50)];
            let high = [("p75", p75), ("p95", p95), ("p99", p99)];
            check_ascending("seen", &[&low[..], &high].concat())?;
            check_finite("seen.mean", [&mean])?;
        }
        ensure(self.quiet_share.is_none_or(|share| (0.0..=1.0).contains(&share)), || {
            "quiet_share is not between 0 and 1".to_owned()
        })?;
        if let Some([lower, upper]) = self.quiet_quartiles {
            check_ascending("quiet_quartiles", &[("lower", lower), ("upper", upper)])?;
        }
        self.per_op.as_ref().map_or(Ok(()), check_per_op)?;
        if let Some(Reference { alu, chase, chain }) = self.reference {
            check_positive("reference.alu", alu)?;
            check_positive("reference.chase", chase)?;
            check_positive("reference.chain", chain)?;
        }
        self.check_rounds()
    }

    fn check_rounds(&self) -> Result<(), Fault> {
        check_finite("a value of round_values", &self.round_values)?;
        check_finite("a value of all_round_values", &self.all_round_values)?;
        for (values, starts) in [
            (&self.round_values, &self.round_starts_ms),
            (&self.all_round_values, &self.all_round_starts_ms),
        ] {
            let (values, starts) = (values.len(), starts.len());
            ensure(starts == 0 || starts == values, || {
                format!("{starts} rounds have a start, and {values} a value")
            })?;
        }
        ensure(self.timeline.len() <= MAX_TIMELINE, || {
            format!("timeline has more than {MAX_TIMELINE} jobs")
        })?;
        ensure(self.timeline.iter().all(|[from, to]| from <= to), || {
            "a job of timeline ends before it begins".to_owned()
        })
    }

    fn check_outcome(&self) -> Result<(), Fault> {
        let is_blank = |text: &str| text.trim().is_empty();
        let wrong = match (self.outcome == Outcome::Measured, &self.estimate, &self.reason) {
            (true, None, _) => "measured, but there is no estimate",
            (true, Some(_), Some(_)) => "measured, but there is a reason why it is not",
            (true, Some(_), None) if is_blank(&self.unit) => "measured, but there is no unit",
            (false, Some(_), _) => "not measured, but there is an estimate",
            (false, None, None) => "not measured, but there is no reason why",
            (false, None, Some(reason)) if is_blank(reason) => "the reason says nothing",
            _ => return Ok(()),
        };
        Err(Fault(wrong.to_owned()))
    }
}

fn check_next_run(next: &NextRun) -> Result<(), Fault> {
    check_ascending("next_run", &[("low", next.low), ("high", next.high)])?;
    check_finite("next_run.low", [&next.low, &next.high])?;
    check_finite("next_run.deviation", [&next.deviation, &next.degrees])?;
    ensure(next.deviation >= 0.0 && next.degrees > 0.0, || {
        "next_run.deviation is below 0, or next_run.degrees is not above 0".to_owned()
    })?;
    ensure(0.0 < next.level && next.level < 1.0, || {
        format!("next_run.level {} is not between 0 and 1", next.level)
    })?;
    ensure([next.visits, next.boots, next.days].iter().all(|&count| count > 0), || {
        "next_run is of no visit, boot or day".to_owned()
    })
}

fn check_per_op(per_op: &PerOp) -> Result<(), Fault> {
    let own = [&per_op.syscalls, &per_op.voluntary_switches, &per_op.involuntary_switches];
    let further = [&per_op.page_faults, &per_op.instructions, &per_op.cycles];
    let of_host = [&per_op.host_syscalls, &per_op.host_switches, &per_op.host_ptrace_stops];
    let counts = [own, further, of_host].into_iter().flatten().flatten();
    check_finite("a count of per_op", counts.chain(per_op.calls.values()))
}

fn check_finite<'f>(what: &str, figures: impl IntoIterator<Item = &'f f64>) -> Result<(), Fault> {
    ensure(figures.into_iter().all(|figure| figure.is_finite()), || {
        format!("{what} is not a finite number")
    })
}

fn check_positive(what: &str, figure: f64) -> Result<(), Fault> {
    check_finite(what, [&figure])?;
    ensure(figure > 0.0, || format!("{what} is {figure}, not above 0"))
}

/// Checks that the figures of an object are finite numbers, none below the one before it.
fn check_ascending(of: &str, figures: &[(&str, f64)]) -> Result<(), Fault> {
    let is_open = |name: &str, figure: f64| match name {
        "low" => figure == f64::NEG_INFINITY,
        "high" => figure == f64::INFINITY,
        _ => false,
    };
    figures
        .iter()
        .filter(|(name, figure)| !is_open(name, *figure))
        .try_for_each(|(name, figure)| check_finite(&format!("{of}.{name}"), [figure]))?;
    figures.windows(2).try_for_each(|pair| {
        let ((lower, below), (upper, above)) = (pair[0], pair[1]);
        ensure(below <= above, || format!("{of}: {upper} {above} is below {lower} {below}"))
    })
}

/// Checks that no two results have the same case, parameters and metric.
pub(crate) fn check_identities(results: &[CaseResult]) -> Result<(), Fault> {
    let mut known = HashMap::with_capacity(results.len());
    results.iter().enumerate().try_for_each(|(at, result)| {
        match known.insert((&result.case, &result.params, &result.metric), at) {
            None => Ok(()),
            Some(first) => Err(Fault(format!(
                "{} {} appears twice: results[{first}] and results[{at}]",
                result.label(),
                result.metric
            ))),
        }
    })
}

/// Shortens `text` to one line, because a message may quote any content of a file.
pub(crate) fn one_line(text: &str) -> String {
    let mut chars = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = chars.by_ref().take(MAX_QUOTED_CHARS).collect();
    if chars.next().is_some() {
        line.push_str("...");
    }
    line
}
