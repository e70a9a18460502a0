//! The verdicts as a JSON document.

use analysis::claim::{Content, JudgedClaim};
use results::Document;
use serde_json::{Value, json};

/// The JSON document of verdicts on these runs.
pub fn to_json(title: Option<&str>, judged: &[JudgedClaim], documents: &[Document]) -> Value {
    json!({
        "schema": 1,
        "title": title,
        "runs": documents.iter().map(|document| &document.run.id).collect::<Vec<_>>(),
        "claims": judged.iter().map(claim_json).collect::<Vec<_>>(),
    })
}

/// A claim with its verdict, to be written as JSON.
pub fn claim_json(judged: &JudgedClaim) -> Value {
    let statement = match &judged.claim.content {
        Content::Statement(statement) => Some(statement),
        Content::Missing(_) => None,
    };
    json!({
        "name": judged.claim.name,
        "sentence": judged.claim.sentence,
        "source": judged.claim.source,
        "relation": statement.map(|statement| &statement.relation.value.text),
        "scope": statement.map(|statement| statement.scope),
        "verdict": judged.verdict,
        "note": judged.note,
        "left_out": judged.left_out,
        "comparisons": judged.comparisons,
    })
}
