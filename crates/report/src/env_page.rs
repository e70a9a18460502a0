//! What a machine is, on one page.

use crate::page::{Ink, Page};
use crate::text;

/// Labels longer than this do not push all values to the right.
const WIDEST_LABEL: usize = 24;

/// Groups of labelled values, such as `("cpu", [("model", "AMD EPYC 7B13"), ...])`, wrapped at the page's width.
pub fn env_page(groups: &[(String, Vec<(String, String)>)], page: &Page) -> String {
    let labels = groups.iter().flat_map(|(_, lines)| lines).map(|(label, _)| text::width(label));
    let column = labels.filter(|width| *width <= WIDEST_LABEL).max().unwrap_or(0);
    let group_text = |(name, lines): &(String, Vec<(String, String)>)| {
        let heading = page.paint(Ink::Heading, &text::clean(name));
        let lines: String =
            lines.iter().map(|(label, value)| line(label, value, column, page)).collect();
        format!("{heading}\n{lines}")
    };
    let texts: Vec<String> = groups.iter().map(group_text).collect();
    texts.join("\n")
}

fn line(label: &str, value: &str, column: usize, page: &Page) -> String {
    let value = if value.trim().is_empty() { "-" } else { value };
    let label = text::clean(label);
    let pad = " ".repeat(column.saturating_sub(text::width(&label)));
    if text::width(&label) <= column {
        return text::hanging(&format!("  {label}{pad}  "), value, page.prose_width());
    }
    let indent = " ".repeat(column + 4);
    let label = text::hanging("  ", &label, page.prose_width());
    label + &text::hanging(&indent, value, page.prose_width())
}
