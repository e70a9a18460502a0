//! Claims with their verdicts as tests of JUnit.

use analysis::claim::{ClaimVerdict, JudgedClaim};
use results::Document;

use super::wording::{left_out, quantity, side};
use crate::junit::{TestCase, TestOutcome, junit};

/// A test suite with one test case for each claim. A claim that fails is a failure; one that is undecided or not measurable is
/// skipped.
pub fn claims_junit(title: Option<&str>, claims: &[JudgedClaim], runs: &[Document]) -> String {
    let tests: Vec<TestCase> = claims.iter().map(test).collect();
    junit(title.unwrap_or("claims"), "figures", &tests, runs)
}

fn test(judged: &JudgedClaim) -> TestCase {
    let said = match judged.note.is_empty() {
        true => judged.verdict.word().to_owned(),
        false => format!("{}: {}", judged.verdict.word(), judged.note),
    };
    let outcome = match judged.verdict {
        ClaimVerdict::Holds => TestOutcome::Passed,
        ClaimVerdict::Fails => TestOutcome::Failure(said),
        ClaimVerdict::Undecided | ClaimVerdict::NotMeasurable => TestOutcome::Skipped(said),
    };
    TestCase { name: judged.claim.title(), outcome, output: details(judged) }
}

/// The claim's sentence, and the figures.
fn details(judged: &JudgedClaim) -> String {
    let mut lines = vec![judged.claim.sentence.clone()];
    for comparison in &judged.comparisons {
        lines.push(side(&comparison.a, comparison));
        lines.extend(comparison.b.as_ref().map(|b| side(b, comparison)));
        lines.extend(
            quantity(comparison).map(|said| format!("{said}: {}", comparison.verdict.word())),
        );
    }
    lines.extend(left_out(judged).map(|points| format!("left out: {points}")));
    lines.join("\n")
}
