//! Studies as JSON.

use analysis::claim::JudgedClaim;
use analysis::study::StudyFindings;
use report::StudyLine;
use results::Document;
use serde_json::{Value, json};

use crate::commands::check::document::claim_json;

const SCHEMA: u32 = 2;

/// The list of studies.
pub fn list(lines: &[StudyLine]) -> Value {
    let study = |line: &StudyLine| {
        json!({
            "name": line.name,
            "question": line.question,
            "duration_s": line.takes.as_secs_f64(),
            "full_duration_s": line.takes_in_full.as_secs_f64(),
        })
    };
    json!({"schema": SCHEMA, "studies": lines.iter().map(study).collect::<Vec<_>>()})
}

/// A study with its figures and verdicts.
pub fn study(page: &StudyFindings) -> Value {
    let study = page.study;
    let run = |run: &Document| json!({"id": run.run.id, "system": run.system(), "machine": run.machine_line()});
    json!({
        "schema": SCHEMA,
        "name": study.name,
        "title": study.title,
        "question": study.question,
        "source": study.source,
        "runs": page.runs.iter().map(run).collect::<Vec<_>>(),
        "tables": page.tables,
        "claims": page.claims.iter().map(|claim| study_claim_json(claim, page)).collect::<Vec<_>>(),
        "differences": study.differences,
    })
}

fn study_claim_json(judged: &JudgedClaim, page: &StudyFindings) -> Value {
    let about = page.study.about.get(&judged.claim.name);
    let mut claim = claim_json(judged);
    claim["on"] = json!(judged.claim.on);
    claim["derived"] = about.is_some_and(|about| about.derived).into();
    claim["needs"] = json!(about.and_then(|about| about.needs.as_ref()));
    claim["today"] = json!(about.and_then(|about| about.today.as_ref()));
    claim
}
