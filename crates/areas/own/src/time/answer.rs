//! What is shown of timed commands: a table, and their comparison.

use report::{Conclusion, Page};
use results::Document;
use serde_json::{Value, json};

use super::ranking::{Ranked, Ranking, rank_commands};
use super::ranking_text::ranking_text;
use super::table::commands_table;

/// The table of a run's commands, and their comparison; `None` for other runs.
pub fn answer(document: &Document, page: &Page) -> Option<Conclusion> {
    let ranking = rank_commands(document);
    let mut text = commands_table(&document.results, page)?;
    if let Some(ranking) = &ranking {
        text.push('\n');
        text.push_str(&ranking_text(ranking, page));
    }
    let json = ranking.as_ref().map_or(Value::Null, as_json);
    Some(Conclusion { text, replaces_tables: true, is_all: true, key: "comparison", json })
}

fn as_json(ranking: &Ranking) -> Value {
    let other = |Ranked { command, compared }: &Ranked| {
        json!({
            "command": command,
            "ratio": compared.ratio,
            "verdict": compared.verdict.word(),
            "note": compared.note,
        })
    };
    let others: Vec<Value> = ranking.others.iter().map(other).collect();
    let is_faster = |other: &&Ranked| other.compared.ratio.is_some_and(|ratio| ratio.mid < 1.0);
    let faster = ranking.others.first().filter(is_faster).map(|other| &other.command);
    let fastest = faster.unwrap_or(&ranking.base);
    json!({"base": ranking.base, "fastest": fastest, "others": others})
}
