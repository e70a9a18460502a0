//! Cases that this system does not support: listed below the table of an area in few lines.

use results::Outcome;

use crate::first_seen::grouped;
use crate::labels::{self, Label};
use crate::page::{Ink, Page};
use crate::rows::{Area, Row};

/// Maximum number of lines about unsupported rows per area.
const MOST_LINES: usize = 6;

/// A reason, and the rows that are unsupported for it.
type Missing<'a, 'r> = (String, Vec<&'a Row<'r>>);

/// Whether a row is listed below the table instead of in it.
pub fn is_folded(row: &Row) -> bool {
    row.outcome() == Outcome::Unsupported
}

/// Lists the commonest reasons with their rows, then the other rows.
///
/// Cases of other operating systems are left out, unless there is nothing else.
///
/// Names all rows if they fit into [`MOST_LINES`], as many as possible with their reason; otherwise counts the
/// other rows.
pub fn folded_lines(area: &Area, page: &Page) -> String {
    let missing = by_reason(area);
    let most_to_none = || (0..=missing.len()).rev();
    let named = most_to_none().map(|shown| lines(area, &missing, shown, named_rest, page));
    let counted = most_to_none().map(|shown| lines(area, &missing, shown, counted_rest, page));
    let fits = |text: &String| text.lines().count() <= MOST_LINES;
    let text = named.chain(counted).find(fits).unwrap_or_default();
    page.paint_lines(Ink::Faint, &text)
}

/// Lists the first `shown` entries of `missing` with their reasons, and formats the other rows with `rest`.
fn lines(
    area: &Area,
    missing: &[Missing],
    shown: usize,
    rest: fn(&Area, &[&Row]) -> String,
    page: &Page,
) -> String {
    let (shown, others) = missing.split_at(shown);
    let say = |text: &str| page.hanging("unsupported here ", text);
    let mut lines: String = shown
        .iter()
        .map(|(reason, rows)| say(&format!("({reason}): {}", names(area, rows).join(", "))))
        .collect();
    let others: Vec<&Row> = others.iter().flat_map(|(_, rows)| rows).copied().collect();
    if !others.is_empty() {
        lines.push_str(&say(&rest(area, &others)));
    }
    lines
}

fn named_rest(area: &Area, rows: &[&Row]) -> String {
    format!("(reasons: `oscost list`): {}", names(area, rows).join(", "))
}

fn counted_rest(_: &Area, rows: &[&Row]) -> String {
    format!("(reasons: `oscost list`): {} more", rows.len())
}

/// The unsupported rows by reason, the reason with most rows first.
fn by_reason<'a, 'r>(area: &'a Area<'r>) -> Vec<Missing<'a, 'r>> {
    let has_others = area.rows.iter().any(|row| !row.is_of_other_system());
    let is_listed = |row: &&Row| is_folded(row) && !(has_others && row.is_of_other_system());
    let mut missing = grouped(area.rows.iter().filter(is_listed).map(|row| {
        let mut reasons: Vec<&str> =
            row.results.iter().filter_map(|r| r.reason.as_deref()).collect();
        reasons.dedup();
        (reasons.join("; "), row)
    }));
    missing.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
    missing
}

/// Lines such as `unsupported here (reason): names`, one for each reason.
pub fn unsupported_lines<'a>(
    missing: impl Iterator<Item = (Option<&'a str>, String)>,
    page: &Page,
) -> String {
    let line = |(reason, names): (Option<&str>, Vec<String>)| {
        let reason = reason.unwrap_or("no reason was given");
        let text = format!("({reason}): {}", names.join(", "));
        page.hanging("unsupported here ", &text)
    };
    let lines: String = grouped(missing).into_iter().map(line).collect();
    page.paint_lines(Ink::Faint, &lines)
}

/// Names of `rows`. A case of which all rows are listed is named once, with the number of rows.
fn names(area: &Area, rows: &[&Row]) -> Vec<String> {
    let labels: Vec<Label> = rows.iter().map(|row| row.label.clone()).collect();
    let mut names = Vec::new();
    for (row, name) in rows.iter().zip(labels::shortened(&labels, 0)) {
        let case = &row.label.name;
        let of_case = |row: &&Row| row.label.name == *case;
        let all = area.rows.iter().filter(|row| of_case(row)).count();
        let whole = all > 1 && rows.iter().copied().filter(|row| of_case(row)).count() == all;
        let name = if whole { format!("{case} (all {all})") } else { name };
        if !whole || !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
