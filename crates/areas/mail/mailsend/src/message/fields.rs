//! Placeholders: braces with a column's name between them, and their values.

use csv::StringRecord;

use super::error::TemplateError;

/// Maximum octets of a field's name.
const NAME_OCTETS: usize = 64;

/// The source of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The recipient's address.
    Address,
    /// The column with this index.
    Column(usize),
}

/// Text, or a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Text(Vec<u8>),
    Field(Source),
}

/// The values of one recipient.
#[derive(Debug, Clone, Copy)]
pub struct FieldValues<'a> {
    pub address: &'a str,
    pub values: &'a StringRecord,
}

impl<'a> FieldValues<'a> {
    pub fn value(self, source: Source) -> &'a str {
        match source {
            Source::Address => self.address,
            Source::Column(number) => self.values.get(number).unwrap_or_default(),
        }
    }
}

/// The list's columns, by name.
pub struct Columns {
    names: Vec<String>,
}

impl Columns {
    pub fn new(names: &[String]) -> Self {
        Self { names: names.to_vec() }
    }

    fn find(&self, name: &str) -> Option<Source> {
        let exactly = self.names.iter().position(|column| column == name);
        if !is_identifier(name) {
            return exactly.map(Source::Column);
        }
        let folded = || self.names.iter().position(|column| folded(column) == folded(name));
        let column = exactly.or_else(folded).map(Source::Column);
        column.or_else(|| (name == "address").then_some(Source::Address))
    }

    /// Splits `text` into text and placeholders; `location` names its place in errors.
    pub fn parts(&self, text: &[u8], location: &str) -> Result<Vec<Part>, TemplateError> {
        let mut parts = Vec::new();
        let mut plain = Vec::new();
        let mut rest = text;
        while let Some(at) = memchr::memchr(b'{', rest) {
            plain.extend_from_slice(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(b"{") {
                plain.push(b'{');
                rest = after;
                continue;
            }
            let Some(name) = name_at(rest) else {
                plain.push(b'{');
                continue;
            };
            match self.find(name) {
                Some(source) => {
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(Part::Field(source));
                    rest = &rest[name.len() + 1..];
                }
                None if is_identifier(name) && name.starts_with(is_letter) => {
                    return Err(self.unknown(name, location));
                }
                None => plain.push(b'{'),
            }
        }
        plain.extend_from_slice(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(parts)
    }

    /// The first placeholder that `text` would have, if placeholders were filled in there.
    pub fn first_field_of<'a>(&self, text: &'a [u8]) -> Option<&'a str> {
        let mut names = memchr::memchr_iter(b'{', text).filter_map(|at| name_at(&text[at + 1..]));
        names.find(|name| self.find(name).is_some())
    }

    fn unknown(&self, name: &str, location: &str) -> TemplateError {
        const SHOWN: usize = 20;
        let mut shown: Vec<&str> = self.names.iter().take(SHOWN).map(String::as_str).collect();
        if self.names.len() > SHOWN {
            shown.push("others");
        }
        let columns = if shown.is_empty() { "none at all".into() } else { shown.join(", ") };
        TemplateError::Unknown { field: name.to_owned(), location: location.to_owned(), columns }
    }
}

/// The text up to a closing brace, if it can be a column's name.
fn name_at(text: &[u8]) -> Option<&str> {
    let text = &text[..text.len().min(NAME_OCTETS + 1)];
    let name = &text[..memchr::memchr(b'}', text)?];
    let is_plain = !name.is_empty() && memchr::memchr3(b'{', b'\r', b'\n', name).is_none();
    std::str::from_utf8(name).ok().filter(|_| is_plain)
}

fn is_identifier(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// The form in which names are compared if there is no exact match.
fn folded(name: &str) -> String {
    let name = name.trim().to_lowercase();
    name.chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '.') { c } else { '_' })
        .collect()
}
