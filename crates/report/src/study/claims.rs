//! The claims of a study with their verdicts.

use analysis::claim::{ClaimVerdict, JudgedClaim};

use super::model::StudyPage;
use crate::claims::{INDENT, claim_text, counts};
use crate::page::Page;

/// All claims: the number of claims by verdict, and each claim with its figures and remarks.
pub(super) fn claims_text(page_of: &StudyPage, page: &Page) -> String {
    if page_of.claims.is_empty() {
        return String::new();
    }
    let mut text = page.heading(&counts(page_of.claims));
    for judged in page_of.claims {
        text.push('\n');
        text.push_str(&claim_text(judged, page));
        let line = |line: &String| page.hanging(INDENT, line);
        text.extend(about_lines(judged, page_of).iter().map(line));
    }
    page.signs(&text)
}

/// Remarks on a claim besides its verdict. Reasons for another answer are left out if the answer is the same.
pub(crate) fn about_lines(judged: &JudgedClaim, page_of: &StudyPage) -> Vec<String> {
    let Some(about) = page_of.study.about.get(&judged.claim.name) else { return Vec::new() };
    let derived =
        about.derived.then(|| "derived from the published figures, not stated".to_owned());
    let needs = about.needs.as_ref().filter(|_| judged.verdict == ClaimVerdict::NotMeasurable);
    let today = about.today.as_ref().filter(|_| judged.verdict != ClaimVerdict::Holds);
    let lines = [
        derived,
        needs.map(|needs| format!("it needs {needs}")),
        today.map(|today| format!("today: {today}")),
    ];
    lines.into_iter().flatten().collect()
}
