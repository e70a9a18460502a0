//! Footnotes of an area: each reason once, with the mark of its rows. The mark is a word if the interval itself may be wrong
//! ([`Doubt::mark`]), otherwise a letter.

use std::fmt;

use measure::Doubt;

use crate::first_seen::distinct;
use crate::grid::{Cell, Column};
use crate::page::{Ink, Page};

/// Maximum number of letters; all further reasons share the last one.
const MOST_NOTES: usize = 6;

/// Reason why a figure is missing or doubtful.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// The figure is missing. Such reasons are dropped last if there are too many.
    Missing(String),
    /// A remark on a figure.
    Note(String),
    /// The figure may be wrong.
    Doubt(Doubt),
}

impl Reason {
    fn is_missing(&self) -> bool {
        matches!(self, Reason::Missing(_))
    }

    fn word(&self) -> Option<&'static str> {
        match self {
            Reason::Doubt(doubt) => doubt.mark(),
            Reason::Missing(_) | Reason::Note(_) => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Reason::Missing(text) | Reason::Note(text) => f.write_str(text),
            Reason::Doubt(doubt) => doubt.fmt(f),
        }
    }
}

/// The distinct reasons as one text.
pub fn joined(reasons: impl IntoIterator<Item = Reason>) -> String {
    distinct(reasons).iter().map(Reason::to_string).collect::<Vec<_>>().join("; ")
}

/// Reasons with their marks, those of most rows first.
#[derive(Debug)]
pub struct Footnotes {
    notes: Vec<Note>,
    /// Number of rows with a reason that shares the last letter.
    rows_with_others: usize,
    /// Whether a reason that has a word is marked by it.
    has_words: bool,
}

#[derive(Debug)]
struct Note {
    reason: Reason,
    rows: usize,
}

impl Footnotes {
    /// Footnotes for rows with these reasons.
    pub fn of(rows: &[Vec<Reason>]) -> Footnotes {
        Self::marked(rows, true)
    }

    /// Footnotes with letters only, for tables without room for words.
    pub fn lettered(rows: &[Vec<Reason>]) -> Footnotes {
        Self::marked(rows, false)
    }

    fn marked(rows: &[Vec<Reason>], has_words: bool) -> Footnotes {
        let mut notes: Vec<Note> = Vec::new();
        for reason in rows.iter().flatten() {
            if position(&notes, reason).is_none() {
                let has = |row: &&Vec<Reason>| row.contains(reason);
                notes.push(Note { reason: reason.clone(), rows: rows.iter().filter(has).count() });
            }
        }
        let (mut worded, mut notes): (Vec<Note>, Vec<Note>) =
            notes.into_iter().partition(|note| has_words && note.reason.word().is_some());
        // One reason more than `MOST_NOTES` is kept, since it takes no more room than the line about other reasons.
        if notes.len() > MOST_NOTES + 1 {
            notes.sort_by_key(|note| std::cmp::Reverse((note.reason.is_missing(), note.rows)));
            notes.truncate(MOST_NOTES);
        }
        notes.sort_by_key(|note| std::cmp::Reverse(note.rows));
        worded.sort_by_key(|note| std::cmp::Reverse(note.rows));
        // Notes with a word come last, so that letters count from the first note.
        notes.extend(worded);
        let left_out = |reason: &Reason| position(&notes, reason).is_none();
        let rows_with_others = rows.iter().filter(|row| row.iter().any(left_out)).count();
        Footnotes { notes, rows_with_others, has_words }
    }

    /// The mark for a figure that all of `reasons` apply to: `a`, `ac`, or `a modes`; empty without reasons.
    pub fn mark(&self, reasons: &[Reason]) -> String {
        let lettered = reasons.iter().filter(|reason| self.word(reason).is_none());
        let number = |reason| position(&self.notes, reason).unwrap_or(self.letters());
        let mut numbers: Vec<usize> = lettered.map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let letters: String = numbers.into_iter().map(letter).collect();
        let words = distinct(reasons.iter().filter_map(|reason| self.word(reason)));
        let parts = Some(letters.as_str()).filter(|text| !text.is_empty()).into_iter().chain(words);
        parts.collect::<Vec<_>>().join(" ")
    }

    /// Number of notes with a letter, which come first.
    fn letters(&self) -> usize {
        self.notes.iter().filter(|note| self.word(&note.reason).is_none()).count()
    }

    fn word(&self, reason: &Reason) -> Option<&'static str> {
        reason.word().filter(|_| self.has_words)
    }

    /// A column of the marks of rows with these reasons, close to the figures before it.
    pub fn column(&self, rows: impl IntoIterator<Item: AsRef<[Reason]>>) -> Column {
        let mark = |row: &[Reason]| Cell::inked(self.mark(row), Ink::Doubt);
        Column::words("", rows.into_iter().map(|row| mark(row.as_ref()))).close()
    }

    /// The notes as lines below the table, each with its number of rows if that is more than one.
    pub fn lines(&self, page: &Page) -> String {
        let (lettered, worded) = self.notes.split_at(self.letters());
        let notes = lettered.iter().map(|note| (note.reason.to_string(), note.rows));
        let others = ("other reasons: see `--json`".to_owned(), self.rows_with_others);
        let others = Some(others).filter(|(_, rows)| *rows > 0);
        let numbered = notes.chain(others).enumerate();
        let lettered = numbered
            .map(|(number, (text, rows))| line(&letter(number).to_string(), &text, rows, page));
        let worded = worded.iter().map(|note| {
            let word = self.word(&note.reason).unwrap_or_default();
            line(word, &note.reason.to_string(), note.rows, page)
        });
        lettered.chain(worded).collect()
    }
}

fn line(mark: &str, text: &str, rows: usize, page: &Page) -> String {
    let text = match rows {
        1 => text.to_owned(),
        n => format!("{text} ({n} rows)"),
    };
    let wrapped = page.hanging(&format!("{mark}  "), &text);
    let (mark, rest) = wrapped.split_at(mark.len());
    page.paint(Ink::Doubt, mark) + rest
}

fn position(notes: &[Note], reason: &Reason) -> Option<usize> {
    notes.iter().position(|note| note.reason == *reason)
}

/// The letter of a number: 0 is `a`; numbers are small.
fn letter(number: usize) -> char {
    char::from(b'a' + number as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Page = Page { width: 80, colour: false, unicode: true, this_run: false };

    fn reasons(texts: &[&str]) -> Vec<Reason> {
        texts.iter().map(|text| Reason::Note((*text).to_owned())).collect()
    }

    #[test]
    fn the_same_reason_has_one_note_and_the_commonest_comes_first() {
        let rows =
            [reasons(&["time was up", "few quiet samples"]), reasons(&["few quiet samples"])];
        let notes = Footnotes::of(&rows);
        assert_eq!(notes.mark(&rows[0]), "ab");
        assert_eq!(notes.mark(&rows[1]), "a");
        assert_eq!(notes.mark(&[]), "");
        assert_eq!(notes.lines(&PAGE), "a  few quiet samples (2 rows)\nb  time was up\n");
    }

    #[test]
    fn rare_reasons_share_a_letter_but_not_those_of_failures() {
        let mut rows: Vec<Vec<Reason>> = (0..9).map(|i| reasons(&[&format!("r{i}")])).collect();
        rows[8][0] = Reason::Missing("r8".to_owned());
        let notes = Footnotes::of(&rows);
        let marks: Vec<String> = rows.iter().map(|row| notes.mark(row)).collect();
        assert_eq!(marks, ["b", "c", "d", "e", "f", "g", "g", "g", "a"]);
        let last = "g  other reasons: see `--json` (3 rows)\n";
        assert!(notes.lines(&PAGE).ends_with(last));
    }
}
