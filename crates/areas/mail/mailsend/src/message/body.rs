//! Sections of bodies, and which of them are text with placeholders (RFC 2045, RFC 2046).

use std::ops::Range;

use mail_parser::{MessageParser, MessagePart, MimeHeaders, PartType};

/// The kind of a section of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    /// Text that is not encoded.
    Text {
        /// Whether the text is HTML.
        is_html: bool,
    },
    /// A section that is sent unchanged: encoded, no text, or between parts.
    Other,
}

#[derive(Debug)]
pub struct Section {
    pub range: Range<usize>,
    pub kind: SectionKind,
}

/// The successive sections of `body`, whose message has the header `top`; both are in wire form.
pub fn sections(top: &[u8], body: &[u8]) -> Vec<Section> {
    let message = [top, b"\r\n", body].concat();
    let parsed = MessageParser::default().parse(&message);
    let parts = parsed.iter().flat_map(|parsed| &parsed.parts);
    let begins = message.len() - body.len();
    let mut sections = Vec::new();
    let mut at = 0;
    for (part, is_html) in parts.filter_map(|part| Some((part, plain_text(part)?))) {
        let offset = |offset: u32| (offset as usize).saturating_sub(begins).min(body.len());
        let range = offset(part.offset_body).max(at)..offset(part.offset_end);
        if range.is_empty() {
            continue;
        }
        if at < range.start {
            sections.push(Section { range: at..range.start, kind: SectionKind::Other });
        }
        at = range.end;
        sections.push(Section { range, kind: SectionKind::Text { is_html } });
    }
    if at < body.len() {
        sections.push(Section { range: at..body.len(), kind: SectionKind::Other });
    }
    sections
}

/// Whether an unencoded text part is HTML; `None` for other parts.
fn plain_text(part: &MessagePart) -> Option<bool> {
    let encoding = part.content_transfer_encoding().unwrap_or("7bit").trim().to_ascii_lowercase();
    let kind = part.content_type();
    let is_text = kind.is_none_or(|kind| kind.ctype().eq_ignore_ascii_case("text"))
        && matches!(part.body, PartType::Text(_) | PartType::Html(_));
    let is_plain = ["7bit", "8bit", "binary"].contains(&encoding.as_str());
    let is_html = matches!(part.body, PartType::Html(_));
    (is_text && is_plain).then_some(is_html)
}

/// Adds a value to HTML text, escaped, in wire form.
pub fn push_html(value: &str, into: &mut Vec<u8>) {
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            '\'' => text.push_str("&#39;"),
            c => text.push(c),
        }
    }
    smtp::data::extend_wire(into, text.as_bytes());
}
