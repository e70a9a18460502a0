//! Answers in words: which design is the fastest in a situation, and by how much.

use analysis::answer::{Answer, DesignFigure, answers};
use measure::Doubt;
use results::Document;

use crate::first_seen::distinct;
use crate::quantity::factor;
use crate::text;

/// Designs are called equally fast only if the whole interval of each ratio is within this factor of 1.
const EQUAL_WITHIN: f64 = 1.1;

/// Maximum number of slower designs that one sentence names.
const SLOWER_AT_MOST: usize = 2;

/// The answer as a sentence without a full stop; `None` if the run does not decide it.
pub fn sentence(answer: &Answer) -> Option<String> {
    let fastest: Vec<&DesignFigure> = answer.fastest().collect();
    let mut slower: Vec<&DesignFigure> = answer.slower().collect();
    // The slowest one, and the next best.
    if slower.len() > SLOWER_AT_MOST {
        slower.drain(1..slower.len() + 1 - SLOWER_AT_MOST);
    }
    let (best, equals) = fastest.split_first()?;
    let says = if slower.is_empty() {
        let is_equal = |design: &&DesignFigure| {
            let within = 1.0 / EQUAL_WITHIN..EQUAL_WITHIN;
            let near = |ratio: analysis::Ratio| {
                within.contains(&ratio.low) && within.contains(&ratio.high)
            };
            !design.is_bound && design.behind.is_some_and(near)
        };
        if best.is_bound || equals.is_empty() || !equals.iter().all(is_equal) {
            return None;
        }
        format!("{} are equally fast, within 10 %", names(&fastest, "and"))
    } else {
        let than = |design: &&DesignFigure| {
            let factor = factor(design.behind?, best.is_bound);
            Some(format!("{factor} {} {}", answer.than, design.name))
        };
        let than: Vec<String> = slower.iter().filter_map(than).collect();
        format!("{}, {}", names(&fastest, "or"), than.join(", "))
    };
    let doubts = std::iter::once(best).chain(&slower).flat_map(|design| &design.doubts);
    // Saturation is left out: the sentence states it as "at least".
    let marks = distinct(doubts.filter(|doubt| !doubt.is_saturated()).filter_map(Doubt::mark));
    let marks = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
    Some(format!("{}: {says}{marks}", answer.of))
}

/// The answers of a run about designs that are columns of a table by this dimension, as sentences.
pub(crate) fn about(run: &Document, by: &str, columns: &[String]) -> Vec<String> {
    let is_column = |design: &&DesignFigure| {
        let mut parts = design.point.split(['{', ',', '}']);
        let case = parts.next().unwrap_or_default();
        let name = case.split_once('/').map_or(case, |(_, name)| name);
        columns.iter().any(|column| match by {
            "case" => column == name || column == case,
            _ => parts.clone().any(|part| part.split_once('=') == Some((by, column))),
        })
    };
    let answers = answers(&run.results, catalog::areas());
    let of_columns =
        answers.iter().filter(|answer| answer.designs.iter().filter(is_column).count() > 1);
    of_columns.filter_map(sentence).collect()
}

/// Situations whose answer the run does not decide, as one line; `None` if it decides all.
pub fn undecided_line(answers: &[Answer]) -> Option<String> {
    let undecided = answers.iter().filter(|answer| sentence(answer).is_none());
    let names: Vec<String> = undecided.map(|answer| format!("\"{}\"", answer.of)).collect();
    (!names.is_empty())
        .then(|| format!("Cannot tell by this run: {}.", text::listed(names, usize::MAX)))
}

fn names(designs: &[&DesignFigure], last: &str) -> String {
    let names: Vec<&str> = designs.iter().map(|design| design.name).collect();
    text::joined(&names, last)
}
