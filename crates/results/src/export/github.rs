//! The JSON of github-action-benchmark for tools that it does not know:
//! <https://github.com/benchmark-action/github-action-benchmark>. A file has one direction.

use serde_json::{Value, json};

use super::format::{Extent, TextFormat};
use super::times::name;
use crate::document::{CaseResult, Direction, Document};

/// Results of which less is better.
pub const SMALLER: TextFormat = TextFormat {
    name: "github-smaller",
    about: "github-action-benchmark: customSmallerIsBetter",
    extent: Extent::All,
    write: |document| entries(document, Direction::Lower),
};

/// Results of which more is better.
pub const BIGGER: TextFormat = TextFormat {
    name: "github-bigger",
    about: "github-action-benchmark: customBiggerIsBetter",
    extent: Extent::All,
    write: |document| entries(document, Direction::Higher),
};

/// The measured results with this direction. The action alerts on `value`, and shows the other fields as text.
fn entries(document: &Document, better: Direction) -> String {
    let results = document.results.iter().filter(|result| result.better == better);
    let entries: Vec<Value> = results.filter_map(|result| entry(&result.sound())).collect();
    let text = serde_json::to_string_pretty(&entries);
    text.expect("all keys are strings, and writing to memory cannot fail") + "\n"
}

fn entry(result: &CaseResult) -> Option<Value> {
    let figure = result.figure()?;
    let mut entry = json!({ "name": name(result), "unit": result.unit, "value": figure.median });
    if figure.has_interval() && figure.median != 0.0 {
        let half = (figure.high - figure.median).max(figure.median - figure.low);
        entry["range"] = format!("± {:.1} %", 100.0 * half / figure.median.abs()).into();
    }
    let rounds = format!("rounds: {}", result.rounds);
    let doubts = result.doubts.iter().map(ToString::to_string);
    entry["extra"] = std::iter::once(rounds).chain(doubts).collect::<Vec<_>>().join("\n").into();
    Some(entry)
}
