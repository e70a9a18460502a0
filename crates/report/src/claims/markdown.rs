//! Claims with their verdicts as Markdown.

use analysis::claim::{ClaimVerdict, Content, JudgedClaim, JudgedComparison};

use results::{Document, announcement_of};

use super::wording::{counts, figure_of, left_out, names, quantity, statement};
use crate::markdown::{MOST, escaped, limited};

/// A heading, an announcement of emulated systems, the counts, and a table with one row for each combination of parameters of each
/// claim. Claims beyond the [`MOST`] characters are only named.
pub fn claims_markdown(title: Option<&str>, claims: &[JudgedClaim], runs: &[Document]) -> String {
    let emulated = announcement_of("figures", runs);
    let emulated = emulated.map(|line| format!("**{}**\n\n", escaped(&line)));
    let (title, emulated) = (escaped(title.unwrap_or("Claims")), emulated.unwrap_or_default());
    let mut text = format!("# {title}\n\n{emulated}{}.\n", counts(claims));
    let room = MOST.saturating_sub(text.len());
    let name = |claim: &JudgedClaim| format!("{} ({})", claim.claim.title(), claim.verdict.word());
    text.push_str(&limited(claims, room, section, name));
    text
}

fn section(judged: &JudgedClaim) -> String {
    let claim = &judged.claim;
    let mark = match judged.verdict {
        ClaimVerdict::Holds => "✓",
        ClaimVerdict::Fails => "✗",
        ClaimVerdict::Undecided | ClaimVerdict::NotMeasurable => "?",
    };
    let mut text = format!(
        "\n## {mark} {}: {}\n\n{}\n",
        escaped(&claim.title()),
        judged.verdict.word(),
        escaped(&claim.sentence)
    );
    let mut paragraph = |what: &str, said: &str| {
        text.push_str(&format!("\n{what}: {}\n", escaped(said)));
    };
    if let Some(source) = &claim.source {
        paragraph("Source", source);
    }
    if let Content::Statement(of_claim) = &claim.content {
        paragraph("Claimed", &statement(of_claim));
    }
    if let Some(left_out) = left_out(judged) {
        paragraph("Left out", &left_out);
    }
    if !judged.note.is_empty() {
        let what = names(judged.verdict);
        let (first, rest) = what.split_at(1);
        paragraph(&format!("{}{rest}", first.to_uppercase()), &judged.note);
    }
    if !judged.comparisons.is_empty() {
        text.push_str(
            "\n| a | figure | b | figure | compared | verdict |\n|---|---|---|---|---|---|\n",
        );
    }
    judged.comparisons.iter().for_each(|comparison| text.push_str(&row(comparison)));
    text
}

fn row(comparison: &JudgedComparison) -> String {
    let a = &comparison.a;
    let (label, figure) = match &comparison.b {
        Some(b) => (b.point.to_string(), figure_of(b)),
        None => (String::new(), String::new()),
    };
    let quantity = quantity(comparison).unwrap_or_else(|| comparison.note.clone());
    let cells = [a.point.to_string(), figure_of(a), label, figure, quantity];
    let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
    format!("| {} | {} |\n", cells.join(" | "), comparison.verdict.word())
}
