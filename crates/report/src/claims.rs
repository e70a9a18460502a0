//! Claims with their verdicts, as text; `markdown` and `junit` write them in other formats.

mod junit;
mod markdown;
mod wording;

use analysis::claim::{ClaimVerdict, Content, JudgedClaim, JudgedComparison};
use strum::VariantArray;

pub use junit::claims_junit;
pub use markdown::claims_markdown;
pub(crate) use wording::counts;
use wording::{figure_of, left_out, most_telling, name_of_side, names, quantity, statement};

use crate::page::{Ink, Page};
use crate::text;

/// Maximum number of combinations of parameters that are shown for a claim; JSON has all of them.
const COMBINATIONS: usize = 4;

/// Indentation of the lines below a claim.
pub(crate) const INDENT: &str = "    ";

/// The number of claims that hold; then each claim with its verdict, its figures and what would decide it.
pub fn claims_text(title: Option<&str>, claims: &[JudgedClaim], page: &Page) -> String {
    let mut text = String::new();
    if let Some(title) = title {
        text.push_str(&page.heading(title));
    }
    text.push_str(&page.hanging("", &counts(claims)));
    for claim in claims {
        text.push('\n');
        text.push_str(&claim_text(claim, page));
    }
    let is_measured = |claim: &JudgedClaim| !claim.comparisons.is_empty();
    if claims.iter().any(is_measured) {
        let legend = "Figures have their own 95 % intervals, of this run: the next one here may differ by more, which \
                      `oscost show` gives. The intervals of ratios and other compared quantities are those of the \
                      verdicts, which hold for all claims of the file together at 95 %.";
        text.push('\n');
        text.push_str(&page.prose(Ink::Faint, legend));
    }
    page.signs(&text)
}

fn ink(verdict: ClaimVerdict) -> Ink {
    match verdict {
        ClaimVerdict::Holds => Ink::Good,
        ClaimVerdict::Fails => Ink::Bad,
        ClaimVerdict::Undecided | ClaimVerdict::NotMeasurable => Ink::Doubt,
    }
}

/// A claim with its verdict, its figures and what would decide it.
pub(crate) fn claim_text(judged: &JudgedClaim, page: &Page) -> String {
    let claim = &judged.claim;
    let width = page.prose_width();
    let head = format!("{}: {}", judged.verdict.word().to_uppercase(), claim.title());
    let mut text = page.prose(ink(judged.verdict), &head);
    let of_figures = figure_lines(judged, width);
    let lines = std::iter::once(&claim.sentence).chain(&of_figures);
    text.extend(lines.map(|line| text::hanging(INDENT, line, width)));
    text
}

/// A claim that several systems judge: all verdicts, the sentence, and the figures of each system.
pub(crate) fn divided_text(judged: &[JudgedClaim], page: &Page) -> String {
    let Some(first) = judged.first() else { return String::new() };
    let width = page.prose_width();
    let on = |verdict: ClaimVerdict| -> Vec<String> {
        let of_verdict = judged.iter().filter(|one| one.verdict == verdict);
        of_verdict.map(|one| one.claim.on.join(" and ")).collect()
    };
    let verdicts: Vec<String> = ClaimVerdict::VARIANTS
        .iter()
        .map(|&verdict| (verdict, on(verdict)))
        .filter(|(_, on)| !on.is_empty())
        .map(|(verdict, on)| format!("{} on {}", verdict.word().to_uppercase(), on.join(", ")))
        .collect();
    let head = format!("{}: {}", verdicts.join("; "), first.claim.name);
    let are_alike = verdicts.len() == 1;
    let mut text = page.prose(if are_alike { ink(first.verdict) } else { Ink::Doubt }, &head);
    let mut lines = vec![first.claim.sentence.clone()];
    lines.extend(claimed_lines(first));
    for one in judged {
        lines.push(format!("on {}: {}", one.claim.on.join(" and "), one.verdict.word()));
        lines.extend(verdict_lines(one, width).into_iter().map(|line| format!("  {line}")));
    }
    text.extend(lines.iter().map(|line| text::hanging(INDENT, line, width)));
    text
}

/// The claimed relation, the figures, and what would decide the verdict. A figure and its name take two lines if `width` is too
/// small for both.
pub(crate) fn figure_lines(judged: &JudgedClaim, width: usize) -> Vec<String> {
    [claimed_lines(judged), verdict_lines(judged, width)].concat()
}

/// The source of a claim, and its relation.
fn claimed_lines(judged: &JudgedClaim) -> Vec<String> {
    let claim = &judged.claim;
    let mut lines = Vec::new();
    lines.extend(claim.source.as_ref().map(|source| format!("source: {source}")));
    if let Content::Statement(of_claim) = &claim.content {
        lines.push(format!("claimed: {}", statement(of_claim)));
    }
    lines
}

/// The figures of a claim, and what would decide its verdict.
fn verdict_lines(judged: &JudgedClaim, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let shown = most_telling(judged);
    for comparison in shown.iter().take(COMBINATIONS) {
        lines.extend(comparison_lines(comparison, shown.len() > 1, width));
    }
    if shown.len() > COMBINATIONS {
        let more = shown.len() - COMBINATIONS;
        lines.push(format!("and {more} more combinations of parameters; --json has all of them"));
    }
    if let Some(left_out) = left_out(judged) {
        lines.push(format!("left out: {left_out}"));
    }
    if !judged.note.is_empty() {
        lines.push(format!("{}: {}", names(judged.verdict), judged.note));
    }
    lines
}

/// Figures of a combination, one per line where there is room; the combination's own verdict if there are several.
fn comparison_lines(
    comparison: &JudgedComparison,
    is_one_of_several: bool,
    width: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    for shown in std::iter::once(&comparison.a).chain(&comparison.b) {
        let (name, figure) = (name_of_side(shown, comparison), figure_of(shown));
        let line = format!("{name}: {figure}");
        match text::width(INDENT) + text::width(&line) <= width {
            true => lines.push(line),
            false => lines.extend([format!("{name}:"), figure]),
        }
    }
    let verdict = match is_one_of_several {
        true => format!(": {}", comparison.verdict.word()),
        false => String::new(),
    };
    lines.extend(quantity(comparison).map(|quantity| format!("{quantity}{verdict}")));
    lines
}
