//! The fields by which a message is delimited, and which decide whether its connection persists.

use super::Misframed;

/// What the fields of a message say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Fields {
    /// Content-Length.
    pub length: Option<u64>,
    /// Transfer-Encoding.
    pub encoding: Option<Encoding>,
    /// The option `close` of Connection.
    pub closes: bool,
    /// The option `keep-alive` of Connection.
    pub keeps_alive: bool,
    /// Whether the client waits for a reply 100 before it sends the content.
    pub expects_continue: bool,
    /// The number of lines of Host; more if one is invalid.
    pub hosts: usize,
}

/// The transfer codings of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// The last one is `chunked`, which delimits the message.
    Chunked,
    /// Another one is the last, so that only the end of the connection delimits the message.
    Other,
}

impl Fields {
    /// Reads the fields. Several lines of a name are one list (RFC 9110, section 5.3).
    pub fn of(headers: &[httparse::Header]) -> Result<Self, Misframed> {
        let mut fields = Self::default();
        for httparse::Header { name, value } in headers {
            // The length of a name excludes most fields at once.
            match name.len() {
                4 if name.eq_ignore_ascii_case("host") => {
                    fields.hosts += if is_host(value) { 1 } else { 2 };
                }
                6 if name.eq_ignore_ascii_case("expect") => {
                    fields.expects_continue |=
                        elements(value).any(|one| one.eq_ignore_ascii_case(b"100-continue"));
                }
                10 if name.eq_ignore_ascii_case("connection") => {
                    for option in elements(value) {
                        fields.closes |= option.eq_ignore_ascii_case(b"close");
                        fields.keeps_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                14 if name.eq_ignore_ascii_case("content-length") => fields.add_lengths(value)?,
                17 if name.eq_ignore_ascii_case("transfer-encoding") => fields.add_codings(value),
                _ => {}
            }
        }
        Ok(fields)
    }

    /// Adds the lengths of a line: more than one is accepted if all are equal (RFC 9110, section 8.6).
    fn add_lengths(&mut self, value: &[u8]) -> Result<(), Misframed> {
        for text in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            let digits = std::str::from_utf8(text).ok();
            let digits = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            let length: u64 = digits.and_then(|text| text.parse().ok()).ok_or(Misframed::Length)?;
            if *self.length.get_or_insert(length) != length {
                return Err(Misframed::Length);
            }
        }
        Ok(())
    }

    fn add_codings(&mut self, value: &[u8]) {
        for coding in elements(value) {
            // No coding may follow `chunked`, also not itself (RFC 9112, section 6.1).
            let is_chunked = coding.eq_ignore_ascii_case(b"chunked");
            let follows_chunked = self.encoding == Some(Encoding::Chunked);
            self.encoding = Some(match is_chunked && !follows_chunked {
                true => Encoding::Chunked,
                false => Encoding::Other,
            });
        }
        self.encoding.get_or_insert(Encoding::Other);
    }
}

/// The elements of a list; empty ones are ignored (RFC 9110, section 5.6.1.2).
fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|one| !one.is_empty())
}

/// Whether a value may be a host with or without a port, or empty: it has no delimiter of another part of a URI
/// (RFC 3986, section 3.2) and no space.
fn is_host(value: &[u8]) -> bool {
    !value.iter().any(|byte| matches!(byte, b' ' | b'\t' | b'/' | b'?' | b'#' | b'@' | b'\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Result<Fields, Misframed> {
        let text = format!("{text}\r\n");
        let mut headers = [httparse::EMPTY_HEADER; 8];
        let parsed = httparse::parse_headers(text.as_bytes(), &mut headers).unwrap();
        let httparse::Status::Complete((_, headers)) = parsed else { panic!("{text}") };
        Fields::of(headers)
    }

    #[test]
    fn lengths_are_digits_and_all_equal() {
        let length = |text: &str| fields(text).map(|fields| fields.length);
        assert_eq!(length("content-LENGTH: 42\r\n"), Ok(Some(42)));
        assert_eq!(length("Content-Length: 42, 42\r\nContent-Length: 42\r\n"), Ok(Some(42)));
        assert_eq!(length("X: 1\r\n"), Ok(None));
        for wrong in ["42, 43", "-1", "+1", "0x10", "", "4 2", "18446744073709551616", "1,"] {
            assert_eq!(length(&format!("Content-Length: {wrong}\r\n")), Err(Misframed::Length));
        }
        assert!(length("Content-Length: 1\r\nContent-Length: 2\r\n").is_err());
    }

    #[test]
    fn several_lines_are_one_list() {
        let of = |text: &str| fields(text).unwrap();
        let both = of("Connection: TE\r\nConnection: x, Close ,\r\n");
        assert!(both.closes && !both.keeps_alive);
        assert!(of("connection: Keep-Alive, Upgrade\r\n").keeps_alive);
        assert!(!of("Connection: closed\r\nConnections: close\r\n").closes);
        let encoding = |text: &str| of(text).encoding;
        assert_eq!(encoding("Transfer-Encoding: gzip, Chunked\r\n"), Some(Encoding::Chunked));
        assert_eq!(
            encoding("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"),
            Some(Encoding::Chunked)
        );
        for other in ["gzip", "chunked, gzip", "chunked, chunked", "", "identity"] {
            let found = encoding(&format!("Transfer-Encoding: {other}\r\n"));
            assert_eq!(found, Some(Encoding::Other), "{other}");
        }
        assert!(of("Expect: 100-Continue\r\n").expects_continue);
        assert_eq!(of("Host: a:80\r\nhost: b\r\n").hosts, 2);
        assert_eq!((of("Host: \r\n").hosts, of("Host: a b\r\n").hosts), (1, 2));
    }
}
