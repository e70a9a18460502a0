//! A short list of the undecided rows of a comparison: their number by case, and the reasons.

use std::collections::BTreeMap;

use analysis::Verdict;

use crate::comparison::CompareRow;
use crate::first_seen::grouped;
use crate::labels::Label;
use crate::page::{Ink, Page};
use crate::text;

/// Maximum number of lines of reasons; further reasons share the last one.
const MOST_REASONS: usize = 6;

/// Whether the row is undecided in any column.
pub(crate) fn is_undecided(row: &CompareRow) -> bool {
    row.news.iter().flatten().any(|cell| !cell.verdict.is_decided())
}

/// The cases of `rows` by area with their number of rows, and the reasons with their number of rows.
pub(crate) fn undecided_text(rows: &[&CompareRow], page: &Page) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let verdicts: Vec<Verdict> = rows
        .iter()
        .flat_map(|row| row.news.iter().flatten())
        .map(|cell| cell.verdict)
        .filter(|verdict| !verdict.is_decided())
        .collect();
    let heading = format!("{} (`--all` shows them)", Verdict::counted(&verdicts));
    let mut text = page.prose(Ink::Doubt, &heading);
    let areas = grouped(rows.iter().map(|row| {
        let Label { area, name, .. } = Label::of(&row.point);
        (area, (name, ()))
    }));
    let widest = areas.iter().map(|(area, _)| text::width(area)).max().unwrap_or(0).min(16);
    for (area, cases) in areas {
        let case = |(name, rows): (String, Vec<()>)| match rows.len() {
            1 => name,
            rows => format!("{name} ({rows})"),
        };
        let cases: Vec<String> = grouped(cases).into_iter().map(case).collect();
        let first = format!("  {area:<widest$}  ");
        text.push_str(&page.hanging(&first, &cases.join(", ")));
    }
    let mut reasons = reasons(rows);
    if reasons.len() > MOST_REASONS {
        let others = reasons.split_off(MOST_REASONS - 1);
        let rows = others.iter().map(|(_, rows)| rows).sum();
        reasons.push((text::number_of(others.len(), "other reason"), rows));
    }
    for (reason, rows) in reasons {
        text.push_str(&page.hanging(&format!("{rows:>5}  "), &reason));
    }
    text
}

/// Reasons, those of most rows first. Reasons that differ only in numbers are combined, with the range of the numbers.
fn reasons(rows: &[&CompareRow]) -> Vec<(String, usize)> {
    let mut kinds: BTreeMap<Vec<String>, Vec<Vec<String>>> = BTreeMap::new();
    let cells = rows.iter().flat_map(|row| row.news.iter().flatten());
    let notes = cells.filter(|cell| !cell.verdict.is_decided()).map(|cell| &cell.note);
    for note in notes.filter(|note| !note.is_empty()) {
        let (words, numbers) = numbers_apart(note);
        kinds.entry(words).or_default().push(numbers);
    }
    let mut reasons: Vec<(String, usize)> = kinds
        .into_iter()
        .map(|(words, numbers)| (ranged(&words, &numbers), numbers.len()))
        .collect();
    reasons.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
    reasons
}

/// The text between the numbers of `note`, and the numbers.
fn numbers_apart(note: &str) -> (Vec<String>, Vec<String>) {
    let (mut words, mut numbers) = (vec![String::new()], Vec::new());
    let mut rest = note;
    while let Some(c) = rest.chars().next() {
        let is_part = |c: char| c.is_ascii_digit() || c == '.';
        let length = match c.is_ascii_digit() {
            true => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            false => rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()),
        };
        let (part, after) = rest.split_at(length);
        match c.is_ascii_digit() {
            true => {
                numbers.push(part.to_owned());
                words.push(String::new());
            }
            false => words.last_mut().expect("never empty").push_str(part),
        }
        rest = after;
    }
    (words, numbers)
}

/// One text for notes that differ only in numbers, with ranges: `about 2 to 40 times`.
fn ranged(words: &[String], numbers: &[Vec<String>]) -> String {
    let mut text = words[0].clone();
    for (place, words) in words[1..].iter().enumerate() {
        let mut values: Vec<&String> = numbers.iter().map(|numbers| &numbers[place]).collect();
        values.sort_by(|a, b| as_number(a).total_cmp(&as_number(b)));
        match (values.first(), values.last()) {
            (Some(least), Some(most)) if least != most => {
                text.push_str(&format!("{least} to {most}"))
            }
            (Some(only), _) => text.push_str(only),
            _ => {}
        }
        text.push_str(words);
    }
    text
}

fn as_number(text: &str) -> f64 {
    text.parse().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::CompareCell;
    use crate::labels::point;

    const PAGE: Page = Page { width: 80, colour: false, unicode: true, this_run: false };

    fn row(case: &str, params: &[(&str, &str)], note: &str) -> CompareRow {
        let cell = CompareCell {
            figure: None,
            ratio: None,
            floor: 0.0,
            verdict: Verdict::CannotTell,
            note: note.to_owned(),
        };
        CompareRow {
            point: point(case, params),
            metric: "time".to_owned(),
            base: None,
            news: vec![Some(cell)],
            host_calls: Vec::new(),
        }
    }

    #[test]
    fn rows_are_counted_by_case_and_reasons_by_their_words() {
        let rows = [
            row("lock/futex", &[("workers", "2")], "about 40 times as many rounds would decide it"),
            row("lock/futex", &[("workers", "4")], "about 3 times as many rounds would decide it"),
            row("net/answer", &[], "the machine itself varies by 4.0 %"),
        ];
        let text = undecided_text(&rows.iter().collect::<Vec<_>>(), &PAGE);
        let lines = [
            "3 cannot tell (`--all` shows them)",
            "  lock  futex (2)",
            "  net   answer",
            "    2  about 3 to 40 times as many rounds would decide it",
            "    1  the machine itself varies by 4.0 %",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
        assert_eq!(undecided_text(&[], &PAGE), "");
    }

    /// The numbers of rows by reason were fewer than the rows: the seventh reason was left out.
    #[test]
    fn all_rows_have_a_reason() {
        let reasons = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let rows: Vec<CompareRow> = reasons.iter().map(|why| row("a/b", &[], why)).collect();
        let text = undecided_text(&rows.iter().collect::<Vec<_>>(), &PAGE);
        assert!(text.ends_with("    1  e\n    3  3 other reasons\n"), "{text}");
    }
}
