//! Fields of headers, and the encoding of values in them (RFC 5322, sections 2.2 and 3.4).

use super::error::TemplateError;
use super::fields::{Columns, FieldValues, Part, Source};
use super::words::{one_line, push_phrase, push_unstructured};
use smtp::address::Address;

/// Fields with addresses.
const WITH_ADDRESSES: [&str; 12] = [
    "From",
    "Sender",
    "Reply-To",
    "To",
    "Cc",
    "Resent-From",
    "Resent-Sender",
    "Resent-Reply-To",
    "Resent-To",
    "Resent-Cc",
    "Errors-To",
    "Disposition-Notification-To",
];
/// Length at which a line of addresses is folded, in octets.
const LINE_OCTETS: usize = 78;

/// A field as it is in the message's header.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a> {
    pub name: &'a str,
    /// The whole field, with its line ends.
    pub raw: &'a [u8],
}

impl Raw<'_> {
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// Splits a message in wire form into the fields of its header, and its body.
pub fn split(wire: &[u8]) -> Result<(Vec<Raw<'_>>, &[u8]), TemplateError> {
    let mut fields: Vec<Raw<'_>> = Vec::new();
    let mut start = 0;
    for (number, line) in wire.split_inclusive(|b| *b == b'\n').enumerate() {
        let end = start + line.len();
        if line == b"\r\n" {
            break;
        }
        match fields.last_mut() {
            Some(last) if matches!(line[0], b' ' | b'\t') => {
                let begun = start - last.raw.len();
                last.raw = &wire[begun..end];
            }
            _ => match name_of(line) {
                Some(name) => fields.push(Raw { name, raw: line }),
                None if number == 0 => return Err(TemplateError::NoHeader),
                None => {
                    let text = String::from_utf8_lossy(line).trim_end().chars().take(60).collect();
                    return Err(TemplateError::Header { line: number + 1, text });
                }
            },
        }
        start = end;
    }
    if fields.is_empty() {
        return Err(TemplateError::NoHeader);
    }
    let body = wire[start..].strip_prefix(b"\r\n").unwrap_or_default();
    Ok((fields, body))
}

fn name_of(line: &[u8]) -> Option<&str> {
    let name = &line[..memchr::memchr(b':', line)?];
    let is_name = !name.is_empty() && name.iter().all(|b| matches!(b, b'!'..=b'~'));
    std::str::from_utf8(name).ok().filter(|_| is_name)
}

/// A field whose value is rendered.
#[derive(Debug, Clone)]
pub struct RenderedField {
    name: String,
    value: Value,
}

#[derive(Debug, Clone)]
enum Value {
    Unstructured(Vec<Part>),
    Uris(Vec<Part>),
    Mailboxes(Vec<Mailbox>),
}

/// One of several mailboxes, separated by commas.
#[derive(Debug, Clone)]
enum Mailbox {
    /// A mailbox as in the message.
    Text(String),
    Made {
        name: Vec<Part>,
        address: Vec<Part>,
        has_brackets: bool,
    },
}

impl RenderedField {
    /// The field, if its value has placeholders or text beyond ASCII; `None` if it is sent unchanged.
    pub fn of(raw: &Raw<'_>, columns: &Columns) -> Result<Option<Self>, TemplateError> {
        let value = &raw.raw[raw.name.len() + 1..];
        if value.is_ascii() && !value.contains(&b'{') {
            return Ok(None);
        }
        let name = raw.name.to_owned();
        let value = std::str::from_utf8(value)
            .map_err(|_| TemplateError::Encoding { name: name.clone() })?
            .replace("\r\n", "");
        let parts = columns.parts(value.trim().as_bytes(), &format!("{name} of the header"))?;
        let value = if WITH_ADDRESSES.iter().any(|with| raw.is(with)) {
            Value::Mailboxes(split_at(&parts, ',').iter().map(|parts| Mailbox::of(parts)).collect())
        } else if raw.name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("List-")) {
            Value::Uris(parts)
        } else {
            Value::Unstructured(parts)
        };
        Ok(Some(Self { name, value }))
    }

    /// Whether the field has placeholders.
    pub fn is_personal(&self) -> bool {
        match &self.value {
            Value::Unstructured(parts) | Value::Uris(parts) => parts.iter().any(is_field),
            Value::Mailboxes(all) => all.iter().any(|one| match one {
                Mailbox::Text(_) => false,
                Mailbox::Made { name, address, .. } => name.iter().chain(address).any(is_field),
            }),
        }
    }

    pub fn render(&self, values: FieldValues<'_>, into: &mut Vec<u8>) {
        into.extend_from_slice(self.name.as_bytes());
        into.extend_from_slice(b": ");
        match &self.value {
            Value::Unstructured(parts) => render_unstructured(parts, values, into),
            Value::Uris(parts) => render_uris(parts, values, into),
            Value::Mailboxes(all) => {
                let mut start = into.len() - self.name.len() - 2;
                for (i, mailbox) in all.iter().enumerate() {
                    if i > 0 && into.len() - start > LINE_OCTETS / 2 {
                        into.extend_from_slice(b",\r\n ");
                        start = into.len() - 1;
                    } else if i > 0 {
                        into.extend_from_slice(b", ");
                    }
                    mailbox.render(values, into);
                }
            }
        }
        into.extend_from_slice(b"\r\n");
    }
}

fn is_field(part: &Part) -> bool {
    matches!(part, Part::Field(_))
}

fn text_of(part: &Part, values: FieldValues<'_>) -> String {
    match part {
        Part::Text(text) => one_line(&String::from_utf8_lossy(text)).collect(),
        Part::Field(source) => one_line(values.value(*source)).collect(),
    }
}

fn render_unstructured(parts: &[Part], values: FieldValues<'_>, into: &mut Vec<u8>) {
    let mut text = String::new();
    let mut hidden = Vec::new();
    for part in parts {
        let start = text.len();
        text.push_str(&text_of(part, values));
        // A value that looks like an encoded word must be shown as it is in the list.
        let made = &text.as_bytes()[start.saturating_sub(1)..];
        if is_field(part) && made.windows(2).any(|pair| pair == b"=?") {
            hidden.push(start..text.len());
        }
    }
    push_unstructured(&text, &hidden, into);
}

fn render_uris(parts: &[Part], values: FieldValues<'_>, into: &mut Vec<u8>) {
    for part in parts {
        match part {
            Part::Text(text) => {
                into.extend(one_line(&String::from_utf8_lossy(text)).collect::<String>().bytes());
            }
            Part::Field(source) => {
                values.value(*source).bytes().for_each(|octet| push_escaped(octet, into))
            }
        }
    }
}

/// Appends an octet, escaped as in a URI (RFC 3986 section 2.1).
fn push_escaped(octet: u8, into: &mut Vec<u8>) {
    if octet.is_ascii_alphanumeric() || b"-._~".contains(&octet) {
        into.push(octet);
    } else {
        into.extend_from_slice(format!("%{octet:02X}").as_bytes());
    }
}

impl Mailbox {
    fn of(parts: &[Part]) -> Self {
        let is_made = parts.iter().any(|part| match part {
            Part::Text(text) => !text.is_ascii(),
            Part::Field(_) => true,
        });
        if !is_made {
            return Self::Text(parts.iter().map(literal).collect::<String>().trim().to_owned());
        }
        match &split_at(parts, '<')[..] {
            [name, rest @ ..] if !rest.is_empty() => {
                let address = rest.concat();
                let address = split_at(&address, '>').swap_remove(0);
                Self::Made { name: unquoted(name), address, has_brackets: true }
            }
            _ => Self::Made { name: Vec::new(), address: parts.to_vec(), has_brackets: false },
        }
    }

    fn render(&self, values: FieldValues<'_>, into: &mut Vec<u8>) {
        let (name, address, has_brackets) = match self {
            Self::Text(text) => return into.extend_from_slice(text.as_bytes()),
            Self::Made { name, address, has_brackets } => (name, address, *has_brackets),
        };
        let name: String = name.iter().map(|part| text_of(part, values)).collect();
        if !name.trim().is_empty() {
            push_phrase(&name, into);
            into.push(b' ');
        }
        let address: String = address.iter().map(|part| text_of(part, values)).collect();
        into.extend_from_slice(if has_brackets { b"<" } else { b"" });
        match Address::parse(address.trim()) {
            Ok(address) => into.extend_from_slice(address.as_str().as_bytes()),
            Err(_) => into.extend(stripped(&address).bytes()),
        }
        into.extend_from_slice(if has_brackets { b">" } else { b"" });
    }
}

/// The characters of an invalid address that are harmless in a header.
fn stripped(value: &str) -> String {
    let is_harmless = |c: &char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.@".contains(*c);
    value.chars().filter(is_harmless).take(254).collect()
}

fn literal(part: &Part) -> String {
    match part {
        Part::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Part::Field(_) => String::new(),
    }
}

/// Splits `parts` at each `separator` that is not within quotes or angle brackets.
fn split_at(parts: &[Part], separator: char) -> Vec<Vec<Part>> {
    let mut all = vec![Vec::new()];
    let mut push = |part: Option<Part>| match part {
        Some(part) => {
            all.last_mut().into_iter().for_each(|last: &mut Vec<Part>| last.push(part.clone()))
        }
        None => all.push(Vec::new()),
    };
    let (mut is_quoted, mut is_escaped, mut is_bracketed) = (false, false, false);
    for part in parts {
        let Part::Text(text) = part else {
            push(Some(part.clone()));
            continue;
        };
        let mut plain = String::new();
        for c in String::from_utf8_lossy(text).chars() {
            let is_free = !is_quoted && !is_bracketed;
            if c == separator && is_free {
                push(Some(Part::Text(std::mem::take(&mut plain).into_bytes())));
                push(None);
                continue;
            }
            is_bracketed = !is_quoted && (c == '<' || (is_bracketed && c != '>'));
            is_quoted ^= c == '"' && !is_escaped;
            is_escaped = is_quoted && c == '\\' && !is_escaped;
            plain.push(c);
        }
        push(Some(Part::Text(plain.into_bytes())));
    }
    all
}

/// A name without its quotes and escapes.
fn unquoted(parts: &[Part]) -> Vec<Part> {
    let unquote = |text: &[u8]| {
        let mut is_escaped = false;
        let mut plain = String::from_utf8_lossy(text).into_owned();
        plain.retain(|c| {
            is_escaped = !is_escaped && c == '\\';
            !is_escaped && c != '"'
        });
        plain.into_bytes()
    };
    let of = |part: &Part| match part {
        Part::Text(text) => Part::Text(unquote(text)),
        Part::Field(source) => Part::Field(Source::clone(source)),
    };
    parts.iter().map(of).collect()
}
