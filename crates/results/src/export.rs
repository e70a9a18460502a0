//! Writes a document as text for other programs.

mod bencher;
mod benchstat;
mod csv;
mod format;
mod github;
mod hyperfine;
mod openmetrics;
mod otava;
mod pyperf;
mod times;

pub use benchstat::to_benchstat;
pub use csv::to_csv;
pub use format::{Extent, TextFormat};
pub use otava::{ABOUT_OTAVA, OTAVA, to_otava};

/// All text formats of one run, in the order of their list in the help.
pub const TEXT_FORMATS: &[TextFormat] = &[
    JSON,
    csv::FORMAT,
    benchstat::FORMAT,
    bencher::FORMAT,
    github::SMALLER,
    github::BIGGER,
    hyperfine::FORMAT,
    openmetrics::FORMAT,
    pyperf::FORMAT,
];

const JSON: TextFormat = TextFormat {
    name: "json",
    about: "The whole document, which `import` reads",
    extent: Extent::All,
    write: to_json,
};

use std::borrow::Cow;

use crate::document::{CaseResult, Document};

/// The document as JSON: one key per line, in the order of the schema, with a newline at the end.
///
/// [`parse_document`](crate::parse_document) reads it back equal. A result whose figures cannot be true is written as
/// [`CaseResult::sound`] returns it.
pub fn to_json(document: &Document) -> String {
    let document = sound(document);
    let mut text = serde_json::to_string_pretty(document.as_ref())
        .expect("a document has string keys only, and writing to memory cannot fail");
    text.push('\n');
    text
}

fn sound(document: &Document) -> Cow<'_, Document> {
    if document.results.iter().all(|result| matches!(result.sound(), Cow::Borrowed(_))) {
        return Cow::Borrowed(document);
    }
    let results: Vec<CaseResult> =
        document.results.iter().map(|result| result.sound().into_owned()).collect();
    Cow::Owned(Document { results, ..document.clone() })
}

#[cfg(test)]
mod tests;
