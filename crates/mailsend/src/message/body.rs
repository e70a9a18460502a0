//! Bodies: which sections of them are text to be filled in (RFC 2045, RFC 2046).

use std::ops::Range;

/// Nested multiparts at most; deeper ones go out as they are.
const BOUNDARIES: usize = 100;

/// What a section of a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text as it is read.
    Text {
        /// With tags.
        is_html: bool,
    },
    /// Goes out as it is: encoded, no text, or between parts.
    Other,
}

#[derive(Debug)]
pub struct Section {
    pub range: Range<usize>,
    pub kind: Kind,
}

/// The sections of `body`, whose message has the header `top`, one after the other; both are in wire form.
pub fn sections(top: &[u8], body: &[u8]) -> Vec<Section> {
    let mut boundaries = Vec::new();
    let mut kind = kind_of(top, &mut boundaries);
    let mut sections: Vec<Section> = Vec::new();
    // The header of a part begins there.
    let mut header: Option<usize> = None;
    let mut at = 0;
    for line in body.split_inclusive(|b| *b == b'\n') {
        let end = at + line.len();
        let mut next = kind;
        match boundary_at(line, &boundaries) {
            Some(is_last) => {
                header = (!is_last).then_some(end);
                kind = Kind::Other;
                next = Kind::Other;
            }
            None if header.is_some() && line == b"\r\n" => {
                let begun = header.take().unwrap_or(at);
                next = kind_of(&body[begun..at], &mut boundaries);
            }
            None => {}
        }
        match sections.last_mut() {
            Some(last) if last.kind == kind => last.range.end = end,
            _ => sections.push(Section { range: at..end, kind }),
        }
        kind = next;
        at = end;
    }
    sections
}

/// Whether the line is a boundary; `true` for the one that ends a multipart.
fn boundary_at(line: &[u8], boundaries: &[Vec<u8>]) -> Option<bool> {
    let line = line.strip_prefix(b"--")?.trim_ascii_end();
    boundaries.iter().rev().find_map(|boundary| match line.strip_prefix(&boundary[..])? {
        b"" => Some(false),
        b"--" => Some(true),
        _ => None,
    })
}

/// What follows that header. The boundary of a multipart is added to those known.
fn kind_of(header: &[u8], boundaries: &mut Vec<Vec<u8>>) -> Kind {
    let encoding = value_of(header, "content-transfer-encoding").unwrap_or_default();
    let is_plain =
        ["", "7bit", "8bit", "binary"].contains(&encoding.trim().to_lowercase().as_str());
    let Some(value) = value_of(header, "content-type") else {
        return if is_plain { Kind::Text { is_html: false } } else { Kind::Other };
    };
    let kind = value.split(';').next().unwrap_or_default().trim().to_lowercase();
    if kind.starts_with("multipart/") {
        if let Some(boundary) = boundary_of(&value).filter(|_| boundaries.len() < BOUNDARIES) {
            boundaries.push(boundary.into_bytes());
        }
        return Kind::Other;
    }
    match kind.strip_prefix("text/") {
        Some(text) if is_plain => Kind::Text { is_html: text == "html" },
        _ => Kind::Other,
    }
}

/// The value of a header's first field of that name, unfolded.
fn value_of(header: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(header);
    let mut lines = text.split("\r\n");
    let mut value = lines.by_ref().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.trim_end().eq_ignore_ascii_case(name).then(|| value.to_owned())
    })?;
    lines.take_while(|line| line.starts_with([' ', '\t'])).for_each(|line| value.push_str(line));
    Some(value)
}

fn boundary_of(value: &str) -> Option<String> {
    let lower = value.to_ascii_lowercase();
    let at = lower.match_indices("boundary").map(|(at, name)| at + name.len());
    let rest = at.filter_map(|at| value[at..].trim_start().strip_prefix('=')).next()?.trim_start();
    let boundary = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?.replace('\\', ""),
        None => rest.split([';', ' ', '\t']).next()?.to_owned(),
    };
    let boundary = boundary.trim_end().to_owned();
    (!boundary.is_empty()).then_some(boundary)
}

/// Adds a value to text with tags, in wire form.
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
