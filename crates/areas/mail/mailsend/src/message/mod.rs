//! Renders the message for each recipient: fills in placeholders, completes the header, and signs the message.
//!
//! # Fields
//!
//! `{name}` is a field: a brace, the name of one of the list's columns (at most 64 octets), a brace, without spaces in
//! between. A name of letters, digits, `_`, `-` and `.` also matches a column regardless of case, with `_` for any other
//! character of the column's name: `{First Name}` and `{first_name}` are both the column `First Name`. `{address}` is the
//! recipient's address, unless a column has that name.
//!
//! A name of these characters that begins with a letter or `_` and is no column is an error. All other braces are text,
//! such as in `{ color: red }`, `{"a": 1}` or `\d{3}`. `{{` stands for one brace: `{{name}` is the text `{name}`.
//!
//! # Where fields are filled in
//!
//! Fields are filled in in the header, in a text body, and in the text parts of a multipart body. The headers of parts,
//! other kinds of parts, and encoded text (base64 or quoted-printable) are sent unchanged, and [`Template::notes`] warns if
//! they seem to have fields. Send such text as 8bit.
//!
//! Values are inserted as UTF-8, which the text's charset should declare. In HTML, `&`, `<`, `>` and quotation marks of a
//! value are escaped. In the header a value cannot add a line: its control characters become spaces or are removed, text
//! beyond ASCII becomes encoded words (RFC 2047), names are quoted where necessary, and an invalid address (RFC 5322) is
//! stripped to the characters that an address may have. In `List-Unsubscribe` and other list fields, values are escaped as
//! in URIs.

mod body;
mod error;
mod fields;
mod header;
mod sign;
mod words;

use csv::StringRecord;

use crate::list::Recipient;
pub use error::TemplateError;
use fields::{Columns, Part, Source};
use header::RenderedField;
pub use sign::{SignError, Signer};
use smtp::data::{LINE_OCTETS, LongLine, extend_wire, to_wire, too_long, without_mark};

/// Maximum number of notes.
const NOTES: usize = 20;

/// Fields to add to the header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heads {
    /// The domain of Message-IDs: the sender's domain.
    pub message_id_domain: String,
    /// The value of `List-Unsubscribe` (RFC 2369), which may have fields: `<https://x.test/u?{id}>, <mailto:u@x.test>`. It
    /// replaces the message's own.
    pub list_unsubscribe: Option<String>,
    /// Whether to add `List-Unsubscribe-Post` (RFC 8058), by which mail programs unsubscribe without a visit of the page.
    /// Requires an https URI.
    pub one_click: bool,
}

/// Values that distinguish a message from others with the same contents. The same seed makes the same octets.
#[derive(Debug, Clone, Copy)]
pub struct Seed<'a> {
    /// Identifier of the run, the beginning of Message-IDs.
    pub run: &'a str,
    /// The recipient's number.
    pub number: u64,
    /// The value of `Date` if the message has none: see [`date`].
    pub date: &'a str,
}

/// A parsed message, in pieces that are rendered for each recipient.
#[derive(Debug, Clone)]
pub struct Template {
    pieces: Vec<Piece>,
    is_personal: bool,
    message_id_domain: String,
    notes: Vec<String>,
}

#[derive(Debug, Clone)]
enum Piece {
    /// Text in wire form.
    Text(Vec<u8>),
    /// A header field whose value depends on the recipient.
    Field(RenderedField),
    /// A placeholder in a body.
    Body {
        source: Source,
        is_html: bool,
    },
    MessageId,
    Date,
}

impl Template {
    /// Parses the message `raw`: a header, an empty line, a body, with any line ends. `columns` are the list's columns.
    /// `Return-Path` and `Bcc` are dropped, `Message-ID` and `Date` are added if missing. A message with fields gets a new
    /// `Message-ID` for each recipient.
    ///
    /// # Errors
    /// If the message has no valid header, or a field is no column.
    pub fn parse(raw: &[u8], columns: &[String], heads: &Heads) -> Result<Self, TemplateError> {
        let wire = to_wire(without_mark(raw));
        let columns = Columns::new(columns);
        let (lines, body) = header::split(&wire)?;
        check_heads(heads)?;
        let mut made = Making { columns, pieces: Vec::new(), notes: Vec::new() };
        made.header(&lines, heads)?;
        let first_line =
            wire[..wire.len() - body.len()].iter().filter(|b| **b == b'\n').count() + 1;
        made.body(&lines, body, first_line)?;
        if !lines.iter().any(|line| line.is("From")) {
            made.notes.push("the message has no From: servers may refuse it".into());
        }
        let is_personal = made.pieces.iter().any(Piece::is_personal);
        let message_id = lines.iter().find(|line| line.is("Message-ID") && !is_personal);
        for piece in &mut made.pieces {
            if let (Piece::MessageId, Some(own)) = (&*piece, message_id) {
                *piece = Piece::Text(own.raw.to_vec());
            }
        }
        if let Some(long) = too_long(&wire) {
            made.notes.push(long_line_note(long));
        }
        if let Some(at) = memchr::memchr(0, &wire) {
            let line = wire[..at].iter().filter(|b| **b == b'\n').count() + 1;
            made.notes.push(format!(
                "line {line} has a NUL octet, which a message cannot have (RFC 5322): servers may cut or refuse it"
            ));
        }
        made.notes.truncate(NOTES);
        let message_id_domain = heads.message_id_domain.clone();
        Ok(Self { pieces: made.pieces, is_personal, message_id_domain, notes: made.notes })
    }

    /// Whether the message differs between recipients.
    pub fn is_personal(&self) -> bool {
        self.is_personal
    }

    /// Warnings about the message, which can be sent nevertheless: at most 20, one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A warning if a line of the message for this recipient is too long, because of the recipient's values.
    pub fn note_for(&self, recipient: &Recipient) -> Option<String> {
        let mut wire = Vec::new();
        self.render(Some(recipient), Seed { run: "", number: 0, date: "" }, &mut wire);
        let long = long_line_note(too_long(&wire)?);
        Some(format!("as sent to the recipient in line {} of the list, {long}", recipient.line))
    }

    /// Appends the message for `recipient`, in wire form. Without a recipient, placeholders are empty.
    pub fn render(&self, recipient: Option<&Recipient>, seed: Seed<'_>, into: &mut Vec<u8>) {
        let empty = StringRecord::new();
        let values = fields::FieldValues {
            address: recipient.map_or("", |recipient| recipient.address.as_str()),
            values: recipient.map_or(&empty, |recipient| &recipient.values),
        };
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => into.extend_from_slice(text),
                Piece::Field(field) => field.render(values, into),
                Piece::Body { source, is_html: false } => {
                    extend_wire(into, values.value(*source).as_bytes());
                }
                Piece::Body { source, is_html: true } => {
                    body::push_html(values.value(*source), into)
                }
                Piece::MessageId => self.push_message_id(seed, into),
                Piece::Date => {
                    into.extend_from_slice(b"Date: ");
                    into.extend(seed.date.bytes().filter(|b| matches!(b, b' '..=b'~')));
                    into.extend_from_slice(b"\r\n");
                }
            }
        }
    }

    fn push_message_id(&self, seed: Seed<'_>, into: &mut Vec<u8>) {
        into.extend_from_slice(b"Message-ID: <");
        let is_plain = |b: &u8| b.is_ascii_alphanumeric() || *b == b'-';
        let begun = into.len();
        into.extend(seed.run.bytes().filter(is_plain).take(64));
        if into.len() == begun {
            into.push(b'm');
        }
        if self.is_personal {
            into.extend_from_slice(format!(".{}", seed.number).as_bytes());
        }
        into.push(b'@');
        into.extend_from_slice(self.message_id_domain.as_bytes());
        into.extend_from_slice(b">\r\n");
    }
}

fn long_line_note(long: LongLine) -> String {
    format!(
        "line {} has {} octets, more than the {LINE_OCTETS} allowed (RFC 5322): servers may cut or refuse it; encode it \
         as quoted-printable",
        long.line, long.octets
    )
}

/// The value of `Date` for `time` (RFC 5322 3.3), in UTC.
///
/// # Errors
/// If the year does not have four digits.
pub fn date(time: jiff::Timestamp) -> Result<String, jiff::Error> {
    jiff::fmt::rfc2822::to_string(&time.to_zoned(jiff::tz::TimeZone::UTC))
}

impl Piece {
    fn is_personal(&self) -> bool {
        matches!(self, Self::Field(_) | Self::Body { .. })
    }
}

fn check_heads(heads: &Heads) -> Result<(), TemplateError> {
    let domain = &heads.message_id_domain;
    let is_plain =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'[' | b']' | b':');
    if domain.is_empty() || domain.len() > 255 || !domain.bytes().all(is_plain) {
        return Err(TemplateError::MessageIdDomain(domain.clone()));
    }
    let Some(value) = &heads.list_unsubscribe else { return Ok(()) };
    let is_printable = value.bytes().all(|b| matches!(b, b' '..=b'~'));
    if !is_printable || !value.trim().starts_with('<') || !value.trim().ends_with('>') {
        return Err(TemplateError::Unsubscribe(value.clone()));
    }
    Ok(())
}

/// A template that is being parsed.
struct Making {
    columns: Columns,
    pieces: Vec<Piece>,
    notes: Vec<String>,
}

impl Making {
    fn push_text(&mut self, text: &[u8]) {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.extend_from_slice(text),
            _ => self.pieces.push(Piece::Text(text.to_vec())),
        }
    }

    fn header(&mut self, lines: &[header::Raw<'_>], heads: &Heads) -> Result<(), TemplateError> {
        let mut has_date = false;
        let mut has_https = false;
        for line in lines {
            let is_replaced = line.is("List-Unsubscribe") && heads.list_unsubscribe.is_some()
                || line.is("List-Unsubscribe-Post") && heads.one_click;
            if is_replaced
                || ["Return-Path", "Bcc", "Resent-Bcc", "Message-ID"].iter().any(|n| line.is(n))
            {
                continue;
            }
            has_date |= line.is("Date");
            has_https |= line.is("List-Unsubscribe") && has_https_uri(line.raw);
            self.line(line)?;
        }
        if !has_date {
            self.pieces.push(Piece::Date);
        }
        self.pieces.push(Piece::MessageId);
        if let Some(value) = &heads.list_unsubscribe {
            has_https = has_https_uri(value.as_bytes());
            let raw = format!("List-Unsubscribe: {}\r\n", value.trim());
            self.line(&header::Raw { name: "List-Unsubscribe", raw: raw.as_bytes() })?;
        }
        if heads.one_click && !has_https {
            return Err(TemplateError::OneClick);
        }
        if heads.one_click {
            self.push_text(b"List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n");
        }
        self.push_text(b"\r\n");
        Ok(())
    }

    fn line(&mut self, line: &header::Raw<'_>) -> Result<(), TemplateError> {
        match RenderedField::of(line, &self.columns)? {
            None => self.push_text(line.raw),
            Some(made) if made.is_personal() => self.pieces.push(Piece::Field(made)),
            Some(made) => {
                let mut text = Vec::new();
                let values = &StringRecord::new();
                made.render(fields::FieldValues { address: "", values }, &mut text);
                self.push_text(&text);
            }
        }
        Ok(())
    }

    fn body(
        &mut self,
        lines: &[header::Raw<'_>],
        body: &[u8],
        first_line: usize,
    ) -> Result<(), TemplateError> {
        let top: Vec<u8> = lines.iter().flat_map(|line| line.raw).copied().collect();
        for section in body::sections(&top, body) {
            let before = &body[..section.range.start];
            let text = &body[section.range.clone()];
            let line = first_line + before.iter().filter(|b| **b == b'\n').count();
            let body::SectionKind::Text { is_html } = section.kind else {
                if let Some(name) = self.columns.first_field_of(text) {
                    self.notes.push(format!(
                        "{{{name}}} from line {line} on stands where fields are not filled in: in what is encoded \
                         (base64, quoted-printable), no text, or a part's header"
                    ));
                }
                self.push_text(text);
                continue;
            };
            for part in self.columns.parts(text, &format!("the body, from line {line} on"))? {
                match part {
                    Part::Text(text) => self.push_text(&text),
                    Part::Field(source) => self.pieces.push(Piece::Body { source, is_html }),
                }
            }
        }
        Ok(())
    }
}

fn has_https_uri(value: &[u8]) -> bool {
    value.windows(7).any(|w| w.eq_ignore_ascii_case(b"<https:"))
}

#[cfg(test)]
mod tests;
