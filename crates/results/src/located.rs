//! JSON values with their position in the whole text, so that an error can name the line.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The longest excerpt of a text that an error quotes, in characters.
const MAX_QUOTED_CHARS: usize = 200;

/// Why a text is not a document, and on which line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ImportError {
    /// The wrong line of the text, from 1.
    pub line: u64,
    /// What is wrong there, in one line.
    pub message: String,
}

/// A JSON value inside a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located<'t> {
    text: &'t str,
    part: &'t str,
}

impl<'t> Located<'t> {
    pub(crate) fn whole(text: &'t str) -> Located<'t> {
        Located { text, part: text.trim_start() }
    }

    fn inside(&self, value: &'t RawValue) -> Located<'t> {
        Located { text: self.text, part: value.get() }
    }

    /// The JSON text of the value.
    pub(crate) fn as_str(&self) -> &'t str {
        self.part
    }

    /// The line (from 1) of the value's beginning. Counted only for errors.
    pub(crate) fn line(&self) -> u64 {
        let offset = self.part.as_ptr() as usize - self.text.as_ptr() as usize;
        line_at(self.text, offset)
    }

    /// An error with `message` at this value.
    pub(crate) fn error(&self, message: impl fmt::Display) -> ImportError {
        ImportError { line: self.line(), message: one_line(&message.to_string()) }
    }

    /// Reads the value as a `T`; an error names the line at which serde stopped.
    pub(crate) fn read<T: Deserialize<'t>>(&self) -> Result<T, ImportError> {
        serde_json::from_str(self.part).map_err(|error| self.located(&error))
    }

    /// Reads the value as an object without parsing its members.
    pub(crate) fn object(&self) -> Result<Object<'t>, ImportError> {
        let Members(members) = self.read()?;
        Ok(Object { at: *self, members })
    }

    /// Reads the value as an array of at most `MOST` elements without parsing them.
    pub(crate) fn array<const MOST: usize>(&self) -> Result<Vec<Located<'t>>, ImportError> {
        let Elements::<MOST>(elements) = self.read()?;
        Ok(elements.into_iter().map(|element| self.inside(element)).collect())
    }

    /// The innermost value on `path` that exists.
    pub(crate) fn follow(&self, path: &[&str]) -> Located<'t> {
        let mut here = *self;
        for key in path {
            match here.object().ok().and_then(|object| object.get(key)) {
                Some(member) => here = member,
                None => break,
            }
        }
        here
    }

    fn located(&self, error: &serde_json::Error) -> ImportError {
        let suffix = format!(" at line {} column {}", error.line(), error.column());
        let text = error.to_string();
        let message = text.strip_suffix(&suffix).unwrap_or(&text);
        let message = match error.classify() {
            serde_json::error::Category::Data => message.to_owned(),
            _ => format!("not valid JSON: {message}"),
        };
        // A serde error without a position has line 0.
        let lines_below = (error.line() as u64).saturating_sub(1);
        ImportError { line: self.line() + lines_below, message: one_line(&message) }
    }
}

/// The members of a JSON object, each still unread.
pub(crate) struct Object<'t> {
    at: Located<'t>,
    members: BTreeMap<String, &'t RawValue>,
}

impl<'t> Object<'t> {
    /// The member of that name; `null` counts as absent.
    pub(crate) fn get(&self, key: &str) -> Option<Located<'t>> {
        let value = self.members.get(key)?;
        (value.get() != "null").then(|| self.at.inside(value))
    }

    /// All members, by key.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Located<'t>)> {
        self.members.iter().map(|(key, value)| (key.as_str(), self.at.inside(value)))
    }

    /// Rejects an object that lacks one of `keys`, at its first line.
    pub(crate) fn require(&self, keys: &[&str]) -> Result<(), ImportError> {
        match keys.iter().find(|key| self.get(key).is_none()) {
            Some(key) => Err(self.at.error(format_args!("{key:?} is missing"))),
            None => Ok(()),
        }
    }
}

struct Members<'t>(BTreeMap<String, &'t RawValue>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            if members.contains_key(&key) {
                return Err(de::Error::custom(format_args!("{key:?} is there twice")));
            }
            members.insert(key, map.next_value()?);
        }
        Ok(Members(members))
    }
}

struct Elements<'t, const MOST: usize>(Vec<&'t RawValue>);

impl<'de, const MOST: usize> Deserialize<'de> for Elements<'de, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ElementsVisitor::<MOST>)
    }
}

struct ElementsVisitor<const MOST: usize>;

impl<'de, const MOST: usize> Visitor<'de> for ElementsVisitor<MOST> {
    type Value = Elements<'de, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element()? {
            if elements.len() == MOST {
                return Err(de::Error::custom(format_args!("more than {MOST} of them")));
            }
            elements.push(element);
        }
        Ok(Elements(elements))
    }
}

/// The line (from 1) of a byte offset.
pub(crate) fn line_at(text: &str, offset: usize) -> u64 {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// `text` as one short line, because a message may quote any content of a file.
pub(crate) fn one_line(text: &str) -> String {
    let mut chars = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = chars.by_ref().take(MAX_QUOTED_CHARS).collect();
    if chars.next().is_some() {
        line.push_str("...");
    }
    line
}
