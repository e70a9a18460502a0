//! Location of a value in a file, for messages.

use std::fmt;

/// A location in a file; both numbers begin with 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// Line number.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

impl Location {
    /// Location of the byte at `offset` of `text`, or of the text's end.
    pub fn of(text: &str, offset: usize) -> Self {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        Self { line: 1 + before.matches('\n').count(), column: 1 + before[begin..].chars().count() }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A value of a file with its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Location of the value.
    pub at: Location,
}

/// A mistake in a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct FileError {
    /// Location of the mistake.
    pub at: Location,
    /// Description of the mistake, and its correction.
    pub problem: String,
}

impl FileError {
    /// A mistake at this place.
    pub fn new(at: Location, problem: impl Into<String>) -> Self {
        Self { at, problem: problem.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters_from_one() {
        let at = |offset| {
            let Location { line, column } = Location::of("aé\nb", offset);
            (line, column)
        };
        assert_eq!(
            [at(0), at(1), at(3), at(4), at(5), at(99)],
            [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 2)]
        );
        // The offset lies within the two bytes of é.
        assert_eq!(at(2), (1, 2));
    }
}
