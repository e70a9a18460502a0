//! Reads claim files and studies: TOML into types (serde) whose values know their locations, so that every mistake is reported
//! with its line and column.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::de::{DeTable, Error as TomlError};

use super::location::{FileError, Located, Location};

/// The text of a file, which converts byte offsets into locations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileText<'t>(&'t str);

impl<'t> FileText<'t> {
    /// Checks that the text has at most this many KiB.
    pub(crate) fn of(text: &'t str, longest_kib: usize) -> Result<Self, FileError> {
        let longest = longest_kib << 10;
        match text.len() > longest {
            true => {
                let problem = format!("the file is longer than {longest_kib} KiB");
                Err(FileError::new(Location::of(text, longest), problem))
            }
            false => Ok(Self(text)),
        }
    }

    /// The file as a table of values.
    pub(crate) fn table(self) -> Result<Spanned<DeTable<'t>>, FileError> {
        DeTable::parse(self.0).map_err(|error| self.wrong(&error, error.message()))
    }

    /// A table or a value of the file, converted to a type.
    pub(crate) fn read<'de, T: Deserialize<'de>>(
        self,
        from: impl Deserializer<'de, Error = TomlError>,
    ) -> Result<T, FileError> {
        // The displayed error has the key, unlike its message.
        T::deserialize(from).map_err(|error| self.wrong(&error, &error.to_string()))
    }

    fn wrong(self, error: &TomlError, problem: &str) -> FileError {
        let mut problem = in_one_line(problem);
        for (of_serde, of_toml) in [(" field `", " key `"), ("a sequence", "an array")] {
            problem = problem.replacen(of_serde, of_toml, 1);
        }
        self.mistake(&error.span().unwrap_or(0..0), problem)
    }

    pub(crate) fn mistake(self, span: &Range<usize>, problem: impl Into<String>) -> FileError {
        FileError::new(Location::of(self.0, span.start), problem)
    }

    /// A value converted by `check`, which describes a mistake in it.
    pub(crate) fn checked<T, U>(
        self,
        value: Spanned<T>,
        check: impl FnOnce(T) -> Result<U, String>,
    ) -> Result<U, FileError> {
        let span = value.span();
        check(value.into_inner()).map_err(|problem| self.mistake(&span, problem))
    }

    pub(crate) fn located<T>(self, value: Spanned<T>) -> Located<T> {
        let at = Location::of(self.0, value.span().start);
        Located { value: value.into_inner(), at }
    }

    /// Location of the byte at `offset` within a text of the file. If the text as read differs from the file before that (an
    /// escape, or a name that stands for a size), the location of the first difference.
    pub(crate) fn place_within(self, text: &Spanned<Text>, offset: usize) -> Location {
        let written = &self.0[text.span()];
        let is_long = written.starts_with("\"\"\"") || written.starts_with("'''");
        let quotes = if is_long { 3 } else { 1 };
        let equal = written[quotes..].bytes().zip(text.get_ref().0.bytes());
        let equal = equal.take_while(|(written, read)| written == read).count();
        Location::of(self.0, text.span().start + quotes + offset.min(equal))
    }

    /// Values of parameters, each with the location of the parameter.
    pub(crate) fn params(
        self,
        params: BTreeMap<Spanned<String>, Words>,
    ) -> Result<BTreeMap<String, Located<Vec<String>>>, FileError> {
        let param = |(name, words): (Spanned<String>, Words)| match words.0.is_empty() {
            true => Err(self.mistake(&name.span(), format!("{} has no value", name.get_ref()))),
            false => {
                let at = Location::of(self.0, name.span().start);
                Ok((name.into_inner(), Located { value: words.texts(), at }))
            }
        };
        params.into_iter().map(param).collect()
    }
}

/// A text that is not empty.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Text(pub(crate) String);

impl TryFrom<String> for Text {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.trim().is_empty() { Err("the text is empty") } else { Ok(Self(text)) }
    }
}

/// Reads a text that is not empty.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Text::deserialize(deserializer).map(|text| text.0)
}

/// Reads a text that is not empty, and may be written on several lines, as one line.
pub(crate) fn line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Text::deserialize(deserializer).map(|text| in_one_line(&text.0))
}

pub(crate) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One word, or an array of words. Words are strings, or integers and booleans without quotation marks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words(pub(crate) Vec<Spanned<String>>);

impl Words {
    pub(crate) fn texts(self) -> Vec<String> {
        self.0.into_iter().map(Spanned::into_inner).collect()
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Spanned::<OneOrSeveral>::deserialize(deserializer)?;
        let span = read.span();
        Ok(Self(match read.into_inner() {
            OneOrSeveral::One(word) => vec![Spanned::new(span, word)],
            OneOrSeveral::Several(words) => words,
        }))
    }
}

enum OneOrSeveral {
    One(String),
    Several(Vec<Spanned<String>>),
}

impl<'de> Deserialize<'de> for OneOrSeveral {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordsVisitor)
    }
}

struct WordsVisitor;

impl<'de> Visitor<'de> for WordsVisitor {
    type Value = OneOrSeveral;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a text in quotation marks, an integer, true or false, or an array of them")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        match text.is_empty() {
            true => Err(E::custom("the value is empty")),
            false => Ok(OneOrSeveral::One(text.to_owned())),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(OneOrSeveral::One(number.to_string()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(OneOrSeveral::One(value.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut words = Vec::new();
        while let Some(element) = elements.next_element::<Spanned<OneOrSeveral>>()? {
            let span = element.span();
            match element.into_inner() {
                OneOrSeveral::One(word) => words.push(Spanned::new(span, word)),
                OneOrSeveral::Several(_) => {
                    return Err(A::Error::custom("an array within an array"));
                }
            }
        }
        Ok(OneOrSeveral::Several(words))
    }
}
