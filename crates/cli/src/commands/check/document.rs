//! The verdicts as a JSON document.

use analysis::claim::{
    ClaimVerdict, Content, JudgedClaim, JudgedComparison, QuantityInterval, Shown,
};
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
    scope: Option<&'static str>,
    verdict: ClaimVerdict,
    note: &'a str,
    left_out: &'a [String],
    comparisons: Vec<ComparisonJson<'a>>,
}

#[derive(Serialize)]
struct ComparisonJson<'a> {
    a: &'a Shown,
    b: Option<&'a Shown>,
    over: Option<&'a str>,
    values: Option<&'a [String]>,
    quantity: &'static str,
    unit: &'a str,
    interval: Option<QuantityInterval>,
    verdict: ClaimVerdict,
    note: &'a str,
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
        scope: statement.map(|statement| statement.scope.word()),
        verdict: judged.verdict,
        note: &judged.note,
        left_out: &judged.left_out,
        comparisons: judged.comparisons.iter().map(comparison_json).collect(),
    }
}

fn comparison_json(comparison: &JudgedComparison) -> ComparisonJson<'_> {
    ComparisonJson {
        a: &comparison.a,
        b: comparison.b.as_ref(),
        over: comparison.over.as_ref().map(|(over, _)| over.as_str()),
        values: comparison.over.as_ref().map(|(_, values)| values.as_slice()),
        quantity: comparison.quantity,
        unit: &comparison.unit,
        interval: comparison.interval,
        verdict: comparison.verdict,
        note: &comparison.note,
    }
}
