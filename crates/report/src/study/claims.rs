//! The claims of a study with their verdicts.

use std::collections::BTreeSet;

use analysis::claim::{ClaimVerdict, JudgedClaim};

use analysis::study::StudyFindings;

use crate::claims::{INDENT, claim_text, counts, divided_text};
use crate::page::Page;

/// All claims: the number of claims by verdict, and each claim with its figures and remarks.
pub(super) fn claims_text(page_of: &StudyFindings, page: &Page) -> String {
    if page_of.claims.is_empty() {
        return String::new();
    }
    let mut text = page.heading(&counts(&page_of.claims));
    let is_same = |one: &JudgedClaim, next: &JudgedClaim| one.claim.name == next.claim.name;
    for judged in page_of.claims.chunk_by(is_same) {
        text.push('\n');
        text.push_str(&match judged {
            [only] => claim_text(only, page),
            several => divided_text(several, page),
        });
        let mut about: Vec<String> =
            judged.iter().flat_map(|one| about_lines(one, page_of)).collect();
        let mut seen = BTreeSet::new();
        about.retain(|line| seen.insert(line.clone()));
        text.extend(about.iter().map(|line| page.hanging(INDENT, line)));
    }
    page.signs(&text)
}

/// Remarks on a claim besides its verdict. Reasons for another answer are left out if the answer is the same.
pub(crate) fn about_lines(judged: &JudgedClaim, page_of: &StudyFindings) -> Vec<String> {
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
