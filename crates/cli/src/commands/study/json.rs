//! Studies as JSON.

use analysis::claim::{ClaimVerdict, Content, JudgedClaim, JudgedComparison, Shown};
use analysis::study::MeasuredTable;
use report::{StudyLine, StudyPage};
use results::Estimate;
use serde::Serialize;

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
    let line = |line: &'_ StudyLine| -> (f64, f64) {
        (line.takes.as_secs_f64(), line.takes_in_full.as_secs_f64())
    };
    let studies = lines.iter().map(|one| {
        let (duration_s, full_duration_s) = line(one);
        LineJson { name: &one.name, question: &one.question, duration_s, full_duration_s }
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
    claims: Vec<ClaimJson<'a>>,
    differences: &'a [String],
}

#[derive(Serialize)]
struct RunJson<'a> {
    id: &'a str,
    system: Option<&'a str>,
    machine: String,
}

#[derive(Serialize)]
struct ClaimJson<'a> {
    name: &'a str,
    sentence: &'a str,
    source: Option<&'a str>,
    derived: bool,
    relation: Option<&'a str>,
    scope: Option<&'static str>,
    verdict: ClaimVerdict,
    note: &'a str,
    needs: Option<&'a str>,
    today: Option<&'a str>,
    comparisons: Vec<ComparisonJson<'a>>,
}

#[derive(Serialize)]
struct ComparisonJson<'a> {
    a: ShownJson<'a>,
    b: Option<ShownJson<'a>>,
    over: Option<&'a str>,
    values: &'a [String],
    quantity: &'static str,
    unit: &'a str,
    mid: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    verdict: ClaimVerdict,
    note: &'a str,
}

#[derive(Serialize)]
struct ShownJson<'a> {
    point: &'a str,
    metric: &'a str,
    system: &'a str,
    estimate: Estimate,
    unit: &'a str,
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
        claims: page.claims.iter().map(|claim| claim_json(claim, page)).collect(),
        differences: &study.differences,
    };
    Ok(serde_json::to_string_pretty(&json)?)
}

fn claim_json<'a>(judged: &'a JudgedClaim, page: &'a StudyPage) -> ClaimJson<'a> {
    let claim = &judged.claim;
    let about = page.study.about.get(&claim.name);
    let (relation, scope) = match &claim.content {
        Content::Statement(statement) => {
            (Some(statement.relation.value.text.as_str()), Some(statement.scope.word()))
        }
        Content::Missing(_) => (None, None),
    };
    ClaimJson {
        name: &claim.name,
        sentence: &claim.sentence,
        source: claim.source.as_deref(),
        derived: about.is_some_and(|about| about.derived),
        relation,
        scope,
        verdict: judged.verdict,
        note: &judged.note,
        needs: about.and_then(|about| about.needs.as_deref()),
        today: about.and_then(|about| about.today.as_deref()),
        comparisons: judged.comparisons.iter().map(comparison_json).collect(),
    }
}

fn comparison_json(comparison: &JudgedComparison) -> ComparisonJson<'_> {
    let finite = |end: fn(&analysis::claim::QuantityInterval) -> f64| {
        comparison.interval.as_ref().map(end).filter(|number| number.is_finite())
    };
    let over = comparison.over.as_ref();
    ComparisonJson {
        a: shown_json(&comparison.a),
        b: comparison.b.as_ref().map(shown_json),
        over: over.map(|(name, _)| name.as_str()),
        values: over.map_or(&[], |(_, values)| values),
        quantity: comparison.quantity,
        unit: &comparison.unit,
        mid: finite(|interval| interval.mid),
        low: finite(|interval| interval.low),
        high: finite(|interval| interval.high),
        verdict: comparison.verdict,
        note: &comparison.note,
    }
}

fn shown_json(shown: &Shown) -> ShownJson<'_> {
    ShownJson {
        point: &shown.label,
        metric: &shown.metric,
        system: &shown.system,
        estimate: shown.estimate,
        unit: &shown.unit,
    }
}
