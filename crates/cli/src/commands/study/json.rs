//! Studies as JSON.

use analysis::claim::JudgedClaim;
use analysis::study::MeasuredTable;
use report::{StudyLine, StudyPage};
use serde::Serialize;

use crate::commands::check::document::{ClaimJson, claim_json};

const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct ListJson<'a> {
    schema: u32,
    studies: Vec<LineJson<'a>>,
}

#[derive(Serialize)]
struct LineJson<'a> {
    name: &'a str,
    question: &'a str,
    duration_s: f64,
    full_duration_s: f64,
}

/// The list of studies.
pub fn list(lines: &[StudyLine]) -> anyhow::Result<String> {
    let studies = lines.iter().map(|line| LineJson {
        name: &line.name,
        question: &line.question,
        duration_s: line.takes.as_secs_f64(),
        full_duration_s: line.takes_in_full.as_secs_f64(),
    });
    Ok(serde_json::to_string_pretty(&ListJson { schema: SCHEMA, studies: studies.collect() })?)
}

#[derive(Serialize)]
struct StudyJson<'a> {
    schema: u32,
    name: &'a str,
    title: &'a str,
    question: &'a str,
    source: &'a str,
    runs: Vec<RunJson<'a>>,
    tables: &'a [MeasuredTable],
    claims: Vec<StudyClaimJson<'a>>,
    differences: &'a [String],
}

#[derive(Serialize)]
struct RunJson<'a> {
    id: &'a str,
    system: Option<&'a str>,
    machine: String,
}

#[derive(Serialize)]
struct StudyClaimJson<'a> {
    #[serde(flatten)]
    claim: ClaimJson<'a>,
    derived: bool,
    needs: Option<&'a str>,
    today: Option<&'a str>,
}

/// A study with its figures and verdicts.
pub fn study(page: &StudyPage) -> anyhow::Result<String> {
    let study = page.study;
    let runs = page.runs.iter().map(|run| RunJson {
        id: &run.run.id,
        system: run.system(),
        machine: run.machine_line(),
    });
    let json = StudyJson {
        schema: SCHEMA,
        name: &study.name,
        title: &study.title,
        question: &study.question,
        source: &study.source,
        runs: runs.collect(),
        tables: page.tables,
        claims: page.claims.iter().map(|claim| study_claim_json(claim, page)).collect(),
        differences: &study.differences,
    };
    Ok(serde_json::to_string_pretty(&json)?)
}

fn study_claim_json<'a>(judged: &'a JudgedClaim, page: &'a StudyPage) -> StudyClaimJson<'a> {
    let about = page.study.about.get(&judged.claim.name);
    StudyClaimJson {
        claim: claim_json(judged),
        derived: about.is_some_and(|about| about.derived),
        needs: about.and_then(|about| about.needs.as_deref()),
        today: about.and_then(|about| about.today.as_deref()),
    }
}
