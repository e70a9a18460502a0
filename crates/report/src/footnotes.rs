//! Footnotes of a table: each reason once, with a letter that marks the rows it applies to.

use crate::page::{Ink, Page};
use crate::text;

/// Reasons in the order they were first given.
#[derive(Debug, Default)]
pub(crate) struct Footnotes {
    notes: Vec<Note>,
}

#[derive(Debug)]
struct Note {
    text: String,
    marked: usize,
}

impl Footnotes {
    /// The mark for a figure that all of `reasons` apply to: `a`, or `a,c`; empty without reasons.
    pub(crate) fn mark(&mut self, reasons: &[String]) -> String {
        let mut marks: Vec<usize> = reasons.iter().map(|reason| self.number(reason)).collect();
        marks.sort_unstable();
        marks.dedup();
        for &number in &marks {
            self.notes[number].marked += 1;
        }
        let letters: Vec<String> = marks.into_iter().map(letters).collect();
        letters.join(",")
    }

    fn number(&mut self, text: &str) -> usize {
        if let Some(known) = self.notes.iter().position(|note| note.text == text) {
            return known;
        }
        let text = text.to_owned();
        self.notes.push(Note { text, marked: 0 });
        self.notes.len() - 1
    }

    /// The notes as lines below the table, with how many figures each one marks where it is more than one.
    pub(crate) fn lines(&self, page: &Page) -> String {
        let mut lines = String::new();
        for (number, note) in self.notes.iter().enumerate() {
            let text = match note.marked {
                1 => note.text.clone(),
                n => format!("{} ({n} figures)", note.text),
            };
            let mark = letters(number);
            let wrapped = text::hanging(&format!("{mark}  "), &text, page.prose_width());
            let rest = &wrapped[mark.len()..];
            lines.push_str(&page.paint(Ink::Doubt, &mark));
            lines.push_str(rest);
        }
        lines
    }
}

/// 0 is `a`, 25 is `z`, 26 is `aa`.
fn letters(number: usize) -> String {
    let last = char::from(b'a' + (number % 26) as u8);
    match number / 26 {
        0 => last.to_string(),
        more => letters(more - 1) + &last.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_reason_has_one_note() {
        let mut notes = Footnotes::default();
        let reasons = |list: &[&str]| list.iter().map(|r| (*r).to_owned()).collect::<Vec<_>>();
        assert_eq!(notes.mark(&reasons(&["few quiet samples"])), "a");
        assert_eq!(notes.mark(&reasons(&["time was up", "few quiet samples"])), "a,b");
        assert_eq!(notes.mark(&[]), "");
        let page = Page { width: 80, colour: false, unicode: true };
        assert_eq!(notes.lines(&page), "a  few quiet samples (2 figures)\nb  time was up\n");
    }

    #[test]
    fn letters_do_not_run_out() {
        assert_eq!([0, 25, 26, 51, 52, 702].map(letters), ["a", "z", "aa", "az", "ba", "aaa"]);
    }
}
