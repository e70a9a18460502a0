//! Reads TOML key by key, so that every mistake is reported with its line and column.
//!
//! A table is read by asking for its keys; [`TableReader::finish`] then reports a key that nobody asked for.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::location::{FileError, Located, Location};

/// A parsed file.
#[derive(Debug)]
pub struct TomlFile<'t> {
    text: &'t str,
    root: Spanned<DeTable<'t>>,
}

impl<'t> TomlFile<'t> {
    /// Parses a file.
    ///
    /// # Errors
    /// If it is not TOML.
    pub fn parse(text: &'t str) -> Result<Self, FileError> {
        let root = DeTable::parse(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            let message: Vec<&str> = error.message().split_whitespace().collect();
            FileError::new(Location::of(text, offset), message.join(" "))
        })?;
        Ok(Self { text, root })
    }

    /// The file's own keys.
    pub fn root(&self) -> TableReader<'_> {
        TableReader::new(self.text, "the file", 0, self.root.get_ref())
    }
}

/// A table of a file.
#[derive(Debug)]
pub struct TableReader<'f> {
    text: &'f str,
    /// What the table is called in messages.
    name: &'f str,
    at: Location,
    entries: &'f DeTable<'f>,
    /// The keys that were asked for, in this order.
    known: RefCell<Vec<&'static str>>,
}

impl<'f> TableReader<'f> {
    fn new(text: &'f str, name: &'f str, offset: usize, entries: &'f DeTable<'f>) -> Self {
        let at = Location::of(text, offset);
        Self { text, name, at, entries, known: RefCell::default() }
    }

    /// Where it begins.
    pub fn at(&self) -> Location {
        self.at
    }

    /// A mistake in this table, at its beginning.
    pub fn mistake(&self, problem: impl Into<String>) -> FileError {
        FileError::new(self.at, problem)
    }

    /// Checks that every key was asked for.
    ///
    /// # Errors
    /// If one was not.
    pub fn finish(&self) -> Result<(), FileError> {
        let known = self.known.borrow();
        let unknown = self.entries.iter().map(|(key, _)| key);
        let mut unknown = unknown.filter(|key| !known.contains(&key.get_ref().as_ref()));
        let Some(key) = unknown.next() else { return Ok(()) };
        let at = Location::of(self.text, key.span().start);
        let (name, known) = (self.name, known.join(", "));
        let key: &str = key.get_ref();
        Err(FileError::new(at, format!("unknown key {key:?} in {name}: it has {known}")))
    }

    /// A text that may be left out.
    ///
    /// # Errors
    /// If the key has something else.
    pub fn text(&self, key: &'static str) -> Result<Option<Located<String>>, FileError> {
        self.value(key).map(|(span, value)| self.text_of(key, span, value)).transpose()
    }

    /// A text, without which the table is wrong.
    ///
    /// # Errors
    /// If the key is missing, or has something else, or an empty text.
    pub fn required_text(&self, key: &'static str) -> Result<Located<String>, FileError> {
        match self.text(key)? {
            Some(text) if text.value.trim().is_empty() => {
                Err(FileError::new(text.at, format!("{key} is empty")))
            }
            Some(text) => Ok(text),
            None => Err(self.mistake(format!("{key} is missing in {}", self.name))),
        }
    }

    /// The place of the byte at `offset` within the text of `key`, as far as the text is written without escapes.
    pub fn place_within(&self, key: &str, offset: usize) -> Location {
        let Some((_, value)) = self.entries.get_key_value(key) else { return self.at };
        let written = &self.text[value.span()];
        let quotes = written.len() - written.trim_start_matches(['"', '\'']).len();
        let plain = quotes == 1 && !written.contains('\\');
        Location::of(self.text, value.span().start + if plain { 1 + offset } else { 0 })
    }

    /// A number that may be left out.
    ///
    /// # Errors
    /// If the key has something else, or a number that is not finite.
    pub fn number(&self, key: &'static str) -> Result<Option<Located<f64>>, FileError> {
        let Some((span, value)) = self.value(key) else { return Ok(None) };
        let at = Location::of(self.text, span.start);
        match number_of(value) {
            Some(value) => Ok(Some(Located { value, at })),
            None => Err(FileError::new(at, format!("{key} is no number"))),
        }
    }

    /// `true` or `false`, which may be left out.
    ///
    /// # Errors
    /// If the key has something else.
    pub fn truth(&self, key: &'static str) -> Result<Option<bool>, FileError> {
        match self.value(key) {
            None => Ok(None),
            Some((_, DeValue::Boolean(value))) => Ok(Some(*value)),
            Some((span, _)) => {
                let at = Location::of(self.text, span.start);
                Err(FileError::new(at, format!("{key} is neither true nor false")))
            }
        }
    }

    /// Numbers: an empty list if the key is missing.
    ///
    /// # Errors
    /// If the key has something else than an array of finite numbers.
    pub fn numbers(&self, key: &'static str) -> Result<Vec<Located<f64>>, FileError> {
        let Some((span, value)) = self.value(key) else { return Ok(Vec::new()) };
        let wrong = |span: &Range<usize>, problem: &str| {
            FileError::new(Location::of(self.text, span.start), format!("{key} {problem}"))
        };
        let DeValue::Array(array) = value else {
            return Err(wrong(&span, "is no array of numbers"));
        };
        let element = |element: &Spanned<DeValue>| {
            let at = Location::of(self.text, element.span().start);
            let value = number_of(element.get_ref());
            let value =
                value.ok_or_else(|| wrong(&element.span(), "has something else than numbers"))?;
            Ok(Located { value, at })
        };
        array.iter().map(element).collect()
    }

    /// Texts, integers or booleans as texts: one, or an array of them; empty if the key is missing.
    ///
    /// # Errors
    /// If the key has something else.
    pub fn texts(&self, key: &'static str) -> Result<Vec<Located<String>>, FileError> {
        match self.value(key) {
            Some((span, value)) => self.words_of(key, span, value),
            None => Ok(Vec::new()),
        }
    }

    /// A table that may be left out, called `name` in messages.
    ///
    /// # Errors
    /// If the key has something else.
    pub fn table(
        &self,
        key: &'static str,
        name: &'f str,
    ) -> Result<Option<TableReader<'f>>, FileError> {
        match self.value(key) {
            None => Ok(None),
            Some((span, DeValue::Table(entries))) => {
                Ok(Some(Self::new(self.text, name, span.start, entries)))
            }
            Some((span, _)) => {
                let at = Location::of(self.text, span.start);
                Err(FileError::new(at, format!("{key} is no table: {{ ... }}")))
            }
        }
    }

    /// The tables of an array, such as `[[claim]]`, each called `name` in messages; empty if the key is missing.
    ///
    /// # Errors
    /// If the key has something else.
    pub fn tables(
        &self,
        key: &'static str,
        name: &'f str,
    ) -> Result<Vec<TableReader<'f>>, FileError> {
        let Some((span, value)) = self.value(key) else { return Ok(Vec::new()) };
        let wrong = |span: Range<usize>| {
            FileError::new(
                Location::of(self.text, span.start),
                format!("{key} must be tables: [[{key}]]"),
            )
        };
        let DeValue::Array(array) = value else { return Err(wrong(span)) };
        let table = |element: &'f Spanned<DeValue<'f>>| match element.get_ref() {
            DeValue::Table(entries) => {
                Ok(Self::new(self.text, name, element.span().start, entries))
            }
            _ => Err(wrong(element.span())),
        };
        array.iter().map(table).collect()
    }

    /// All keys of this table with one or several texts each, as of [`TableReader::texts`].
    ///
    /// # Errors
    /// If a key has something else, or an empty array.
    pub fn all_texts(&self) -> Result<BTreeMap<String, Located<Vec<String>>>, FileError> {
        let entry =
            |(key, value): (&Spanned<std::borrow::Cow<'f, str>>, &'f Spanned<DeValue<'f>>)| {
                let name: &str = key.get_ref();
                let values = self.words_of(name, value.span(), value.get_ref())?;
                let at = Location::of(self.text, key.span().start);
                if values.is_empty() {
                    return Err(FileError::new(at, format!("{name} has no value")));
                }
                let value = values.into_iter().map(|text| text.value).collect();
                Ok((name.to_owned(), Located { value, at }))
            };
        self.entries.iter().map(entry).collect()
    }

    /// The value of a key, which is known from now on.
    fn value(&self, key: &'static str) -> Option<(Range<usize>, &'f DeValue<'f>)> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&key) {
            known.push(key);
        }
        self.entries.get(key).map(|value| (value.span(), value.get_ref()))
    }

    fn text_of(
        &self,
        key: &str,
        span: Range<usize>,
        value: &DeValue,
    ) -> Result<Located<String>, FileError> {
        let at = Location::of(self.text, span.start);
        match value {
            DeValue::String(text) => Ok(Located { value: text.clone().into_owned(), at }),
            _ => Err(FileError::new(at, format!("{key} is no text: it needs quotation marks"))),
        }
    }

    /// One text or several; integers and booleans are written without quotation marks as well.
    fn words_of(
        &self,
        key: &str,
        span: Range<usize>,
        value: &DeValue,
    ) -> Result<Vec<Located<String>>, FileError> {
        let at = Location::of(self.text, span.start);
        let text = match value {
            DeValue::Array(array) => {
                let texts = array.iter().map(|element| match element.get_ref() {
                    DeValue::Array(_) => {
                        let at = Location::of(self.text, element.span().start);
                        Err(FileError::new(at, format!("{key} has an array within an array")))
                    }
                    value => self.words_of(key, element.span(), value),
                });
                let texts: Vec<Vec<_>> = texts.collect::<Result<_, _>>()?;
                return Ok(texts.into_iter().flatten().collect());
            }
            DeValue::Integer(_) => self.text[span].replace('_', ""),
            DeValue::Boolean(value) => value.to_string(),
            value => self.text_of(key, span, value)?.value,
        };
        match text.is_empty() {
            true => Err(FileError::new(at, format!("{key} has an empty value"))),
            false => Ok(vec![Located { value: text, at }]),
        }
    }
}

fn number_of(value: &DeValue) -> Option<f64> {
    let text = match value {
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
        DeValue::Float(float) => float.as_str(),
        _ => return None,
    };
    text.replace('_', "").parse::<f64>().ok().filter(|number| number.is_finite())
}
