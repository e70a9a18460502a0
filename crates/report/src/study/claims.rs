//! The claims of a study with their verdicts.

use analysis::claim::{
    ClaimVerdict, Content, JudgedClaim, JudgedComparison, QuantityInterval, Shown, Statement,
};

use super::StudyPage;
use crate::page::{Ink, Page};
use crate::quantity::{figure, half_width};
use crate::text;

/// The comparisons that are printed of one claim; of others only their number is.
const MOST_COMPARISONS: usize = 3;

/// All claims: a verdict each, with its figures, and the counts of verdicts.
pub(super) fn claims_text(page_of: &StudyPage, page: &Page) -> String {
    if page_of.claims.is_empty() {
        return String::new();
    }
    let heading = page.paint(Ink::Heading, &format!("Claims: {}", counts(page_of.claims)));
    let mut text = format!("{heading}\n");
    for judged in page_of.claims {
        text.push_str(&claim_text(judged, page_of, page));
    }
    text
}

/// `3 hold, 1 fails, 2 are undecided, 4 are not measurable`.
fn counts(claims: &[JudgedClaim]) -> String {
    let count = |verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
    let words = |verdict| match verdict {
        ClaimVerdict::Holds => ["holds", "hold"],
        ClaimVerdict::Fails => ["fails", "fail"],
        ClaimVerdict::Undecided => ["is undecided", "are undecided"],
        ClaimVerdict::NotMeasurable => ["is not measurable here", "are not measurable here"],
    };
    let counted = ClaimVerdict::ALL.into_iter().filter_map(|verdict| match count(verdict) {
        0 => None,
        1 => Some(format!("1 {}", words(verdict)[0])),
        n => Some(format!("{n} {}", words(verdict)[1])),
    });
    counted.collect::<Vec<_>>().join(", ")
}

fn ink(verdict: ClaimVerdict) -> Ink {
    match verdict {
        ClaimVerdict::Holds => Ink::Good,
        ClaimVerdict::Fails => Ink::Bad,
        ClaimVerdict::Undecided | ClaimVerdict::NotMeasurable => Ink::Doubt,
    }
}

fn claim_text(judged: &JudgedClaim, page_of: &StudyPage, page: &Page) -> String {
    const INDENT: &str = "                ";
    let claim = &judged.claim;
    let about = page_of.study.about.get(&claim.name);
    let line = |content: &str| text::hanging(INDENT, &page.signs(content), page.prose_width());
    let derived = if about.is_some_and(|about| about.derived) { " (derived)" } else { "" };
    let word = judged.verdict.word();
    let first = format!("{}{derived}: {}", claim.name, claim.sentence);
    let first = text::hanging(&format!("{word:<16}"), &page.signs(&first), page.prose_width());
    let (verdict, rest) = first.split_at(word.len());
    let mut text = page.paint(ink(judged.verdict), verdict) + rest;
    if let Some(source) = &claim.source {
        text.push_str(&page.paint_lines(Ink::Faint, &line(&format!("published: {source}"))));
    }
    if let Content::Statement(statement) = &claim.content {
        for figures in figures(judged, statement) {
            text.push_str(&line(&figures));
        }
    }
    if !judged.note.is_empty() {
        text.push_str(&line(&judged.note));
    }
    let needs = about.and_then(|about| about.needs.as_ref());
    if let Some(needs) = needs.filter(|_| judged.verdict == ClaimVerdict::NotMeasurable) {
        text.push_str(&line(&format!("it needs {needs}")));
    }
    let today = about.and_then(|about| about.today.as_ref());
    if let Some(today) = today.filter(|_| judged.verdict != ClaimVerdict::Holds) {
        text.push_str(&line(&format!("today: {today}")));
    }
    text
}

/// The figures of a claim: of the comparisons that decide it first.
fn figures(judged: &JudgedClaim, statement: &Statement) -> Vec<String> {
    let claimed = &statement.relation.value.text;
    let all = judged.comparisons.len();
    let mut shown: Vec<&JudgedComparison> = judged.comparisons.iter().collect();
    shown.sort_by_key(|comparison| comparison.verdict != judged.verdict);
    let left_out = shown.len().saturating_sub(MOST_COMPARISONS);
    shown.truncate(MOST_COMPARISONS);
    let mut lines: Vec<String> =
        shown.into_iter().map(|comparison| comparison_text(comparison, all > 1)).collect();
    if left_out > 0 {
        let same = judged.comparisons.iter().filter(|one| one.verdict == judged.verdict).count();
        lines.push(format!("and {left_out} others: {same} of {all} {}", judged.verdict.word()));
    }
    if let Some(first) = lines.first_mut() {
        first.push_str(&format!("; claimed: {claimed}"));
        if all > 1 {
            first.push_str(&format!(", {}", statement.scope.word()));
        }
    }
    lines
}

/// `lock/futex{workers=2} 120 ns, lock/sysv-sem{workers=2} 420 ns: ratio 0.29 (0.27 to 0.31)`; of a relation of one figure
/// `lock/futex{workers=2}: 120 ns (119 ns to 121 ns)`.
fn comparison_text(comparison: &JudgedComparison, is_one_of_several: bool) -> String {
    let is_value = comparison.quantity == "value" && comparison.interval.is_some();
    let side = |shown: &Shown| if is_value { name_of(shown) } else { shown_text(shown) };
    let sides = std::iter::once(&comparison.a).chain(&comparison.b).map(side);
    let mut text = sides.collect::<Vec<_>>().join(", ");
    if let Some(interval) = &comparison.interval {
        let name = if is_value { String::new() } else { format!("{} ", comparison.quantity) };
        text.push_str(&format!(": {name}{}", interval_text(interval, &comparison.unit)));
    }
    if let Some((over, values)) = &comparison.over {
        text.push_str(&format!(", over {over} {}", values.join(", ")));
    }
    if is_one_of_several {
        text.push_str(&format!(": {}", comparison.verdict.word()));
    }
    text
}

/// The point with its metric, unless that is the time.
fn name_of(shown: &Shown) -> String {
    match shown.metric == measure::TIME.name {
        true => shown.label.clone(),
        false => format!("{} {}", shown.label, shown.metric),
    }
}

fn shown_text(shown: &Shown) -> String {
    let estimate = &shown.estimate;
    let half = half_width(estimate.median, estimate.low, estimate.high);
    format!("{} {}", name_of(shown), figure(estimate.median, half, &shown.unit))
}

/// `0.29 (0.27 to 0.31)`, or with an end that is open, `0.29 (at least 0.27)`.
fn interval_text(interval: &QuantityInterval, unit: &str) -> String {
    let QuantityInterval { mid, low, high } = *interval;
    let finite = |end: f64| if end.is_finite() { end } else { mid };
    let half = half_width(mid, finite(low), finite(high));
    let number = |value: f64| figure(value, half, unit).to_string();
    match (low.is_finite(), high.is_finite()) {
        (true, true) if low == high => number(mid),
        (true, true) => format!("{} ({} to {})", number(mid), number(low), number(high)),
        (true, false) => format!("{} (at least {})", number(mid), number(low)),
        (false, true) => format!("{} (at most {})", number(mid), number(high)),
        (false, false) => format!("{} (open)", number(mid)),
    }
}
