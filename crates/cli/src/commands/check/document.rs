//! The verdicts as a JSON document.

use analysis::claim::{ClaimVerdict, Content, JudgedClaim, JudgedComparison, Scope};
use results::Document;
use serde::Serialize;

/// The schema number of the document.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct CheckJson<'a> {
    schema: u32,
    title: Option<&'a str>,
    runs: Vec<&'a str>,
    claims: Vec<ClaimJson<'a>>,
}

/// A claim with its verdict.
#[derive(Serialize)]
pub struct ClaimJson<'a> {
    name: &'a str,
    sentence: &'a str,
    source: Option<&'a str>,
    relation: Option<&'a str>,
    scope: Option<Scope>,
    verdict: ClaimVerdict,
    note: &'a str,
    left_out: &'a [String],
    comparisons: &'a [JudgedComparison],
}

/// The JSON document of verdicts on these runs.
///
/// # Errors
/// If a number cannot be written.
pub fn to_json(
    title: Option<&str>,
    judged: &[JudgedClaim],
    documents: &[Document],
) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&CheckJson {
        schema: SCHEMA,
        title,
        runs: documents.iter().map(|document| document.run.id.as_str()).collect(),
        claims: judged.iter().map(claim_json).collect(),
    })
}

/// A claim with its verdict, to be written as JSON.
pub fn claim_json(judged: &JudgedClaim) -> ClaimJson<'_> {
    let statement = match &judged.claim.content {
        Content::Statement(statement) => Some(statement),
        Content::Missing(_) => None,
    };
    ClaimJson {
        name: &judged.claim.name,
        sentence: &judged.claim.sentence,
        source: judged.claim.source.as_deref(),
        relation: statement.map(|statement| statement.relation.value.text.as_str()),
        scope: statement.map(|statement| statement.scope),
        verdict: judged.verdict,
        note: &judged.note,
        left_out: &judged.left_out,
        comparisons: &judged.comparisons,
    }
}
