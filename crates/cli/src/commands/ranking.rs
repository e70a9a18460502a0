//! The comparison of a run's commands as JSON.

use cases::time::{Ranked, Ranking};
use results::Document;
use serde_json::{Value, json};

/// The run as one document in JSON, with the comparison of its commands.
pub fn with_ranking(document: &Document, ranking: &Ranking) -> anyhow::Result<Value> {
    let mut whole: Value = serde_json::from_str(&results::to_json(document))?;
    let other = |Ranked { command, compared }: &Ranked| {
        json!({
            "command": command,
            "ratio": compared.ratio,
            "verdict": compared.verdict.word(),
            "note": compared.note,
        })
    };
    let others: Vec<Value> = ranking.others.iter().map(other).collect();
    whole["comparison"] = json!({"fastest": ranking.fastest, "others": others});
    Ok(whole)
}
