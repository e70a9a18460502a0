//! The definitions of cases: one line per case, or the whole definition.

use results::Direction;
use serde::Serialize;

use crate::page::{Ink, Page};
use crate::text;

/// The definition of a case as `oscost list` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    /// Full name of the case: `area/name`.
    pub case: String,
    /// Description of one operation, in a sentence.
    pub operation: String,
    /// Unit of the cost, or of the main metric.
    pub unit: String,
    /// Better direction of the cost.
    pub better: Direction,
    /// Similar measurements of other tools, and how they differ; may be empty.
    pub comparable_to: String,
    /// Parameters of the case.
    pub params: Vec<CardParam>,
    /// Privileges, limits and settings that the case needs.
    pub needs: Vec<String>,
    /// Metrics besides the cost.
    pub metrics: Vec<CardMetric>,
    /// Reason why this system does not support the case; `None` if it does.
    pub unsupported: Option<String>,
}

/// A metric of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CardMetric {
    /// Name, such as `rate`.
    pub name: String,
    /// Meaning of the metric.
    pub meaning: String,
}

/// A parameter of a case and the values it takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CardParam {
    /// Name, such as `workers`.
    pub name: String,
    /// Meaning of the parameter.
    pub meaning: String,
    /// Values that `oscost run` measures.
    pub default: Vec<String>,
    /// Values that `oscost run --full` measures.
    pub full: Vec<String>,
}

/// One entry per case with its name and operation; empty lines separate areas.
pub fn cards_short(cards: &[Card], page: &Page) -> String {
    const WIDEST_NAME: usize = 28;
    let widths = cards.iter().map(|card| text::width(&card.case));
    let column = widths.max().unwrap_or(0).min(WIDEST_NAME);
    let mut lines = String::new();
    let mut area = None;
    for card in cards {
        let this = card.case.split_once('/').map(|(area, _)| area);
        if area.is_some_and(|before| before != this) {
            lines.push('\n');
        }
        area = Some(this);
        lines.push_str(&short(card, column, page));
    }
    lines
}

fn short(card: &Card, column: usize, page: &Page) -> String {
    let label = text::clean(&card.case);
    let what = match &card.unsupported {
        Some(reason) => format!("{} (unsupported here: {reason})", card.operation),
        None => card.operation.clone(),
    };
    let fits = text::width(&label) <= column;
    let pad = " ".repeat(column.saturating_sub(text::width(&label)));
    let first = if fits { format!("{label}{pad}  ") } else { " ".repeat(column + 2) };
    let mut lines = page.hanging(&first, &what);
    if !fits {
        lines.insert_str(0, &page.hanging("", &label));
    }
    if card.unsupported.is_none() {
        return lines;
    }
    page.paint_lines(Ink::Faint, &lines)
}

/// The whole definition of each case, separated by empty lines.
pub fn cards(cards: &[Card], page: &Page) -> String {
    let texts: Vec<String> = cards.iter().map(|card| whole(card, page)).collect();
    texts.join("\n")
}

fn whole(card: &Card, page: &Page) -> String {
    let better = match card.better {
        Direction::Lower => ", lower is better",
        Direction::Higher => ", higher is better",
        Direction::Neither => ", neither direction is better",
    };
    let mut lines = page.paint(Ink::Heading, &text::clean(&card.case)) + "\n";
    let mut say = |name: &str, value: &str| {
        if !value.is_empty() {
            lines.push_str(&page.hanging(&format!("  {name:<13}  "), value));
        }
    };
    say("operation", &card.operation);
    say("unit", &format!("{}{better}", card.unit));
    say("comparable to", &card.comparable_to);
    let params: Vec<String> = card.params.iter().map(param_text).collect();
    let metric = |CardMetric { name, meaning }: &CardMetric| format!("{name}: {meaning}");
    let metrics: Vec<String> = card.metrics.iter().map(metric).collect();
    for (heading, values) in
        [("parameters", &params), ("metrics", &metrics), ("needs", &card.needs)]
    {
        for (at, value) in values.iter().enumerate() {
            say(if at == 0 { heading } else { "" }, value);
        }
    }
    if let Some(reason) = &card.unsupported {
        say("unsupported", &format!("here: {reason}"));
    }
    lines
}

fn param_text(param: &CardParam) -> String {
    let default = param.default.join(", ");
    if param.full.is_empty() || param.full == param.default {
        return format!("{}: {}; {default}", param.name, param.meaning);
    }
    let full = param.full.join(", ");
    format!("{}: {}; {default} (with --full: {full})", param.name, param.meaning)
}
