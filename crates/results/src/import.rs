//! Reads a document of unknown origin: everything is checked, and every error names its place.

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny};
use serde_json::{Map, Value};

use crate::check::{check_identities, check_machine, one_line};
use crate::document::{CaseResult, Document, RunInfo, SCHEMA};
use crate::object::unique_keys;
use crate::shape::{Scalar, check_document};

/// Maximum length of a document's text, in bytes.
pub const MAX_TEXT_BYTES: usize = 64 << 20;
/// The schema number that the last development builds wrote.
const DEVELOPMENT_SCHEMA: u64 = 2;

/// The reason why a text is not a document, and the line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ImportError {
    /// The line (from 1) at which reading stopped: that of the wrong value, or the one after the object that breaks a rule.
    pub line: usize,
    /// The place in the document and the problem, in one line.
    pub message: String,
}

/// The parts of a document that show what made it.
#[derive(Deserialize)]
struct Origin {
    schema: Option<Scalar>,
    run: Option<OriginOfRun>,
}

#[derive(Deserialize)]
struct OriginOfRun {
    area_seconds: Option<IgnoredAny>,
}

/// The parts of a document, each checked when it is read, so that an error has a line.
#[derive(Deserialize)]
struct Parts {
    #[serde(deserialize_with = "run")]
    run: RunInfo,
    #[serde(deserialize_with = "machine")]
    machine: Map<String, Value>,
    #[serde(deserialize_with = "results")]
    results: Vec<CaseResult>,
}

/// Reads one document in the form of `to_json`.
///
/// Unknown fields are ignored, so that a later oscost may add some. Everything else is checked: the JSON, the schema
/// number, missing and duplicate keys, and the rules of [`Document::check`]. The text may be at most [`MAX_TEXT_BYTES`]
/// long, and hold what `shape` permits.
pub fn parse_document(text: &str) -> Result<Document, ImportError> {
    // Windows editors and shells put a byte order mark before UTF-8.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let at = |offset: usize, message: String| ImportError { line: line_at(text, offset), message };
    let begin = text.len() - text.trim_start().len();
    if text.len() > MAX_TEXT_BYTES {
        let most = MAX_TEXT_BYTES >> 20;
        let message = format!("the text is longer than {most} MiB, the limit for a document");
        return Err(at(MAX_TEXT_BYTES, message));
    }
    if !text[begin..].starts_with('{') {
        return Err(at(begin, "not an oscost document: it does not begin with `{`".to_owned()));
    }
    check_origin(&read(text)?).map_err(|message| at(begin, message))?;
    let Parts { run, machine, results } = read_checked(text)?;
    Ok(Document { schema: SCHEMA, run, machine, results })
}

/// Rejects documents that this build does not read, with the remedy.
fn check_origin(origin: &Origin) -> Result<(), String> {
    let missing = |key: &str| Err(format!("not an oscost document: there is no {key:?}"));
    let Some(Scalar(schema)) = &origin.schema else { return missing("schema") };
    let Some(run) = &origin.run else { return missing("run") };
    let development = "made by a development build of oscost before 0.1";
    match schema.as_u64() {
        Some(1) if run.area_seconds.is_none() => {
            Err(format!("{development}, which this build does not read: measure again"))
        }
        Some(number) if number == u64::from(SCHEMA) => Ok(()),
        Some(DEVELOPMENT_SCHEMA) => Err(format!(
            "{development} (schema {DEVELOPMENT_SCHEMA}, this build reads {SCHEMA}): measure again, or convert it with \
             `scripts/convert-runs`"
        )),
        Some(number) if number > u64::from(SCHEMA) => Err(format!(
            "made by a newer oscost: schema {number}, this build reads {SCHEMA}; use that oscost"
        )),
        _ => {
            Err(one_line(&format!("not an oscost document: schema is {schema}, expected {SCHEMA}")))
        }
    }
}

/// Reads JSON that holds no more than a document may; an error has the path of the value and its line.
pub(crate) fn read<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, ImportError> {
    check_document(text).map_err(|error| import_error(".", &error))?;
    read_checked(text)
}

fn read_checked<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, ImportError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| import_error(&error.path().to_string(), error.inner()))?;
    json.end().map_err(|error| import_error("", &error))?;
    Ok(value)
}

fn import_error(path: &str, error: &serde_json::Error) -> ImportError {
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    let text = error.to_string();
    let said = text.strip_suffix(&suffix).unwrap_or(&text);
    let place = match error.is_data() {
        false => "not valid JSON",
        true if path == "." => "the document",
        true => path,
    };
    let message = one_line(&format!("{place}: {said}"));
    ImportError { line: error.line().max(1), message }
}

fn run<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RunInfo, D::Error> {
    let run = RunInfo::deserialize(deserializer)?;
    run.check().map_err(D::Error::custom)?;
    Ok(run)
}

fn machine<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    let machine: Vec<(String, Scalar)> = unique_keys(deserializer)?;
    let machine = machine.into_iter().map(|(key, Scalar(value))| (key, value)).collect();
    check_machine(&machine).map_err(D::Error::custom)?;
    Ok(machine)
}

fn results<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CaseResult>, D::Error> {
    let checked = Vec::<Checked>::deserialize(deserializer)?;
    let results: Vec<CaseResult> = checked.into_iter().map(|Checked(result)| result).collect();
    check_identities(&results).map_err(D::Error::custom)?;
    Ok(results)
}

struct Checked(CaseResult);

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let result = CaseResult::deserialize(deserializer)?;
        result.check().map_err(D::Error::custom)?;
        Ok(Self(result))
    }
}

/// The line (from 1) of a byte offset.
fn line_at(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests;
