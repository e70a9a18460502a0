//! Values that differ between a default run and the original sizes: `$NAME` in a study stands for one of them.
//!
//! They are replaced in the text before it is read, so that they can be used in tables, points and claims alike. Places in the
//! changed text are converted back for messages.

use std::collections::BTreeMap;

use crate::claim::{FileError, Location};

/// How large a study is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A few minutes.
    Default,
    /// The original sizes.
    Full,
}

/// The text of a study with the values of one size.
#[derive(Debug)]
pub(super) struct SizedText {
    pub(super) text: String,
    edits: Vec<Edit>,
}

/// A replacement; columns count characters from 1.
#[derive(Debug)]
struct Edit {
    line: usize,
    /// Where the value begins in the changed text.
    column: usize,
    /// The lengths of `$NAME` and of the value.
    old: usize,
    new: usize,
}

/// Whether a value can stand in a text in quotation marks unchanged.
pub(super) fn is_plain(value: &str) -> bool {
    !value.is_empty()
        && !value.contains(|c: char| c.is_control() || matches!(c, '"' | '\'' | '\\' | '$'))
}

/// Whether a name can follow `$`.
pub(super) fn is_name(name: &str) -> bool {
    let reserved = matches!(name, "column" | "row");
    !reserved
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(is_part_of_name)
}

fn is_part_of_name(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'
}

impl SizedText {
    /// Replaces each `$NAME` that `values` has. Others stay as they are.
    pub(super) fn of(text: &str, values: &BTreeMap<String, String>) -> Self {
        let mut sized = Self { text: String::with_capacity(text.len()), edits: Vec::new() };
        for (line, content) in (1..).zip(text.split_inclusive('\n')) {
            sized.add_line(line, content, values);
        }
        sized
    }

    fn add_line(&mut self, line: usize, content: &str, values: &BTreeMap<String, String>) {
        let mut column = 1;
        let mut rest = content;
        while let Some(at) = rest.find('$') {
            let (before, from) = rest.split_at(at);
            let name = &from[1..];
            let end = name.find(|c| !is_part_of_name(c)).unwrap_or(name.len());
            let (name, after) = name.split_at(end);
            self.text.push_str(before);
            column += before.chars().count();
            let written = &from[..1 + end];
            let value = values.get(name).map_or(written, String::as_str);
            let (old, new) = (written.chars().count(), value.chars().count());
            if value != written {
                self.edits.push(Edit { line, column, old, new });
            }
            self.text.push_str(value);
            column += new;
            rest = after;
        }
        self.text.push_str(rest);
    }

    /// The place in the original text.
    pub(super) fn original(&self, at: Location) -> Location {
        let mut column = at.column;
        let before = |edit: &&Edit| edit.line == at.line && edit.column < at.column;
        for edit in self.edits.iter().filter(before) {
            let within = at.column < edit.column + edit.new;
            // A place within a value is that of its name.
            let moved = if within { at.column - edit.column } else { edit.new };
            column = column + if within { 0 } else { edit.old } - moved;
        }
        Location { line: at.line, column }
    }

    /// The error with its place in the original text.
    pub(super) fn in_original(&self, error: FileError) -> FileError {
        FileError::new(self.original(error.at), error.problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(text: &str) -> SizedText {
        let values = [("a", "30us"), ("long_name", "1")];
        SizedText::of(text, &values.map(|(k, v)| (k.to_owned(), v.to_owned())).into())
    }

    #[test]
    fn names_are_replaced_as_a_whole() {
        assert_eq!(sized("$a $ab $a-$long_name$").text, "30us $ab 30us-1$");
        assert_eq!(sized("é$a\n$column\n").text, "é30us\n$column\n");
        assert!(is_name("b1") && !is_name("column") && !is_name("1b") && !is_name(""));
        assert!(is_plain("2.43 s") && !is_plain("\"") && !is_plain("a\nb") && !is_plain(""));
    }

    #[test]
    fn places_are_those_of_the_original_text() {
        let text = "x\né $a, $long_name, z";
        let changed = sized(text);
        for (old, new) in
            [("é", 1), ("$a", 3), (", $", 7), ("$long_name", 9), (", z", 10), ("z", 12)]
        {
            let line = text.lines().nth(1).unwrap();
            let column = 1 + line[..line.find(old).unwrap()].chars().count();
            let found = changed.original(Location { line: 2, column: new });
            assert_eq!(found, Location { line: 2, column }, "{old}");
        }
        // Within a value: the place of its name.
        assert_eq!(changed.original(Location { line: 2, column: 5 }).column, 3);
        assert_eq!(changed.original(Location { line: 1, column: 9 }).column, 9);
    }
}
