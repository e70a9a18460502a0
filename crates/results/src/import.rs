//! Reads a document of unknown origin: everything is checked, and every error names its line.

use serde_json::{Map, Value};

use crate::check::{Fault, MAX_RESULTS, first_duplicate};
use crate::document::{CaseResult, Document, RunInfo, SCHEMA};
pub use crate::located::ImportError;
use crate::located::{Located, Object, line_at};

/// The longest text a document may have, in bytes.
pub const MAX_TEXT_BYTES: usize = 64 << 20;

const RUN_KEYS: &[&str] = &["id", "started", "seed", "oscost"];
const RESULT_KEYS: &[&str] = &["case", "metric", "unit", "better", "outcome"];
const ESTIMATE_KEYS: &[&str] = &["median", "low", "high", "level"];
const CLOCK_KEYS: &[&str] = &["low", "median", "high"];
const CYCLES_KEYS: &[&str] = &["median", "low", "high"];
const SLOPE_KEYS: &[&str] = &["slope", "low", "high", "adjusted"];
const SEEN_KEYS: &[&str] = &["min", "p5", "p25", "p50", "p75", "p95", "p99", "mean"];

/// Reads one document in the form of `to_json`, of this schema or an older one.
///
/// Fields that an older schema lacks stay absent, and its figures are not changed.
///
/// Unknown fields are ignored, so that a later oscost may add some. Everything else is checked: the JSON, the schema
/// number, missing and duplicate keys, and the rules of [`Document::check`]. The text may be at most [`MAX_TEXT_BYTES`]
/// long.
pub fn parse_document(text: &str) -> Result<Document, ImportError> {
    if text.len() > MAX_TEXT_BYTES {
        let message = format!(
            "the text is longer than {} MiB, the limit for a document",
            MAX_TEXT_BYTES >> 20
        );
        return Err(ImportError { line: line_at(text, MAX_TEXT_BYTES), message });
    }
    // Windows editors and shells put a byte order mark before UTF-8.
    let whole = Located::whole(text.strip_prefix('\u{feff}').unwrap_or(text));
    if !whole.as_str().starts_with('{') {
        return Err(whole.error("not an oscost document: it does not begin with `{`"));
    }
    let top = whole.object()?;
    for key in ["schema", "run"] {
        if top.get(key).is_none() {
            return Err(whole.error(format_args!("not an oscost document: there is no {key:?}")));
        }
    }
    let schema = check_schema(member(&top, "schema", &whole)?)?;
    Ok(Document {
        schema: SCHEMA,
        run: read_run(member(&top, "run", &whole)?)?,
        machine: read_machine(member(&top, "machine", &whole)?)?,
        results: read_results(member(&top, "results", &whole)?, schema)?,
    })
}

fn member<'t>(
    object: &Object<'t>,
    key: &str,
    at: &Located<'t>,
) -> Result<Located<'t>, ImportError> {
    object.get(key).ok_or_else(|| at.error(format_args!("{key:?} is missing")))
}

fn check_schema(schema: Located<'_>) -> Result<u64, ImportError> {
    match schema.as_str().parse::<u64>() {
        Ok(number) if (1..=u64::from(SCHEMA)).contains(&number) => Ok(number),
        Ok(number) if number > u64::from(SCHEMA) => Err(schema.error(format_args!(
            "made by a newer oscost: schema {number}, this build reads {SCHEMA}"
        ))),
        _ => Err(schema.error(format_args!(
            "not an oscost document: schema is {}, expected 1 to {SCHEMA}",
            schema.as_str()
        ))),
    }
}

fn read_run(run: Located<'_>) -> Result<RunInfo, ImportError> {
    let members = run.object()?;
    members.require(RUN_KEYS)?;
    read_members_once(&members, &["tags", "asked", "area_seconds"])?;
    if let Some(clock) = members.get("core_clock_ghz") {
        clock.object()?.require(CLOCK_KEYS)?;
    }
    let info: RunInfo = run.read()?;
    info.check().map_err(|fault| at_fault(&run, &fault))?;
    Ok(info)
}

fn read_machine(machine: Located<'_>) -> Result<Map<String, Value>, ImportError> {
    for (key, value) in machine.object()?.iter() {
        // Checked before serde_json reads it, which gives some keys within arrays and objects a special meaning.
        if value.as_str().starts_with(['[', '{']) {
            return Err(
                value.error(format_args!("machine: {key:?} is neither a string nor a number"))
            );
        }
    }
    machine.read()
}

fn read_results(results: Located<'_>, schema: u64) -> Result<Vec<CaseResult>, ImportError> {
    let texts = results.array::<MAX_RESULTS>()?;
    let read = texts.iter().map(|text| read_result(text, schema));
    let read: Vec<CaseResult> = read.collect::<Result<_, _>>()?;
    if let Some((first, second)) = first_duplicate(&read) {
        let message =
            format!("the same case, parameters and metric are on line {}", texts[first].line());
        let fault = Fault { path: &["case"], message };
        return Err(at_fault(&texts[second], &fault.of(&read[second])));
    }
    Ok(read)
}

fn read_result(text: &Located<'_>, schema: u64) -> Result<CaseResult, ImportError> {
    let members = text.object()?;
    members.require(RESULT_KEYS)?;
    read_members_once(&members, &["params", "per_op", "reference"])?;
    let figures = [
        ("estimate", ESTIMATE_KEYS),
        ("seen", SEEN_KEYS),
        ("cycles", CYCLES_KEYS),
        ("frequency_slope", SLOPE_KEYS),
    ];
    for (key, keys) in figures {
        if let Some(figures) = members.get(key) {
            figures.object()?.require(keys)?;
        }
    }
    let mut result: CaseResult = text.read()?;
    if schema == 1 {
        result = result.with_absent_references();
    }
    result.check().map_err(|fault| at_fault(text, &fault.of(&result)))?;
    Ok(result)
}

/// Rejects members that are not objects, or that have a key twice, of which serde would keep the last.
fn read_members_once(object: &Object<'_>, keys: &[&str]) -> Result<(), ImportError> {
    for key in keys {
        if let Some(member) = object.get(key) {
            member.object()?;
        }
    }
    Ok(())
}

fn at_fault(text: &Located<'_>, fault: &Fault) -> ImportError {
    text.follow(fault.path).error(fault)
}

#[cfg(test)]
mod tests;
