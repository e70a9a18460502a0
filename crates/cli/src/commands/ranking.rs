//! The commands of a run compared, as JSON.

use analysis::{Ranking, Ratio};
use results::Document;
use serde::Serialize;
use serde_json::{Map, Value};

/// A run's document, with the comparison of its commands.
#[derive(Serialize)]
struct WithRanking<'a> {
    #[serde(flatten)]
    document: Map<String, Value>,
    comparison: RankingJson<'a>,
}

#[derive(Serialize)]
struct RankingJson<'a> {
    fastest: &'a str,
    others: Vec<RankedJson<'a>>,
}

#[derive(Serialize)]
struct RankedJson<'a> {
    command: &'a str,
    ratio: Option<Ratio>,
    verdict: &'static str,
    note: &'a str,
}

/// The run as one document in JSON, with the comparison of its commands.
pub fn with_ranking(document: &Document, ranking: &Ranking) -> anyhow::Result<String> {
    let document = serde_json::from_str(&results::to_json(document))?;
    let others = ranking.others.iter().map(|ranked| RankedJson {
        command: &ranked.command,
        ratio: ranked.compared.ratio,
        verdict: ranked.compared.verdict.word(),
        note: &ranked.compared.note,
    });
    let comparison = RankingJson { fastest: &ranking.fastest, others: others.collect() };
    Ok(serde_json::to_string_pretty(&WithRanking { document, comparison })?)
}
