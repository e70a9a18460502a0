//! The comparison of the commands of a run.

use report::{Conclusion, Page};
use results::Document;
use serde_json::{Value, json};

use super::ranking::{Ranked, Ranking, rank_commands};
use super::ranking_text::ranking_text;

/// The comparison of a run's commands; `None` if it has fewer than two.
pub fn answer(document: &Document, page: &Page) -> Option<Conclusion> {
    let ranking = rank_commands(document)?;
    let text = ranking_text(&ranking, page);
    Some(Conclusion { text, replaces_tables: false, key: "comparison", json: as_json(&ranking) })
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
    json!({"fastest": ranking.fastest, "others": others})
}
