//! The chunked transfer coding (RFC 9112, section 7.1).

use httparse::Status;

use super::{FIELDS_AT_MOST, HEAD_AT_MOST, Misframed};

/// The position in chunked content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Chunked {
    /// At the line with the size of a chunk.
    #[default]
    Size,
    /// This number of octets before the end of a chunk's data.
    Data(u64),
    /// At the end of the line after a chunk's data.
    DataEnd,
    /// In the trailer section.
    Trailer,
}

impl Chunked {
    /// Reads from the beginning of `bytes`, and passes the data of chunks to `data`. Returns how many bytes were used, and
    /// whether the content ends there. Bytes that are not used are part of a line, and must come again with more.
    ///
    /// # Errors
    /// If the content is malformed, or a line or the trailer section longer than [`HEAD_AT_MOST`].
    pub fn read(
        &mut self,
        bytes: &[u8],
        mut data: impl FnMut(&[u8]),
    ) -> Result<(usize, bool), Misframed> {
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            match *self {
                Self::Size => {
                    let Some((length, size)) = size_in(rest)? else { return Ok((used, false)) };
                    used += length;
                    *self = if size == 0 { Self::Trailer } else { Self::Data(size) };
                }
                Self::Data(left) => {
                    let now = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    data(&rest[..now]);
                    used += now;
                    *self = Self::Data(left - now as u64);
                    if left > now as u64 {
                        return Ok((used, false));
                    }
                    *self = Self::DataEnd;
                }
                Self::DataEnd => match rest {
                    [b'\r', b'\n', ..] => {
                        used += 2;
                        *self = Self::Size;
                    }
                    [] | [b'\r'] => return Ok((used, false)),
                    _ => return Err(Misframed::Chunks),
                },
                Self::Trailer => {
                    let length = trailer_in(rest)?;
                    return Ok((used + length.unwrap_or(0), length.is_some()));
                }
            }
        }
    }
}

/// The length of the line at the beginning of `bytes`, and the size of the chunk after it; `None` if the line is incomplete.
fn size_in(bytes: &[u8]) -> Result<Option<(usize, u64)>, Misframed> {
    let bytes = &bytes[..bytes.len().min(HEAD_AT_MOST)];
    // The parser takes a line without any digit for the size 0.
    if bytes.first().is_some_and(|first| !first.is_ascii_hexdigit()) {
        return Err(Misframed::Chunks);
    }
    match httparse::parse_chunk_size(bytes) {
        Ok(Status::Complete((length, size))) => Ok(Some((length, size))),
        Ok(Status::Partial) if bytes.len() < HEAD_AT_MOST => Ok(None),
        _ => Err(Misframed::Chunks),
    }
}

/// The length of the trailer section at the beginning of `bytes`; `None` if it is incomplete.
fn trailer_in(bytes: &[u8]) -> Result<Option<usize>, Misframed> {
    let bytes = &bytes[..bytes.len().min(HEAD_AT_MOST)];
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_AT_MOST];
    match httparse::parse_headers(bytes, &mut fields) {
        Ok(Status::Complete((length, _))) => Ok(Some(length)),
        Ok(Status::Partial) if bytes.len() < HEAD_AT_MOST => Ok(None),
        _ => Err(Misframed::Chunks),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads `bytes` in pieces: the data and the bytes after the content, or `None` if the content is incomplete.
    fn read(bytes: &[u8], piece: usize) -> Result<Option<(Vec<u8>, usize)>, Misframed> {
        let (mut chunked, mut data, mut from, mut to) = (Chunked::default(), Vec::new(), 0, 0);
        while to < bytes.len() {
            to = (to + piece).min(bytes.len());
            let read = chunked.read(&bytes[from..to], |now| data.extend_from_slice(now))?;
            from += read.0;
            if read.1 {
                return Ok(Some((data, bytes.len() - from)));
            }
        }
        Ok(None)
    }

    #[test]
    fn chunks_extensions_and_trailers_are_read() {
        let rfc = b"4\r\nWiki\r\n5;a=\"b\"\r\npedia\r\nE\r\n in\r\n\r\nchunks.\r\n000\r\nX: y\r\nZ: \r\n\r\nGET";
        for piece in 1..rfc.len() {
            let (data, left) = read(rfc, piece).unwrap().unwrap();
            assert_eq!(data, b"Wikipedia in\r\n\r\nchunks.");
            assert!(left >= 3, "the next message is left");
        }
        assert_eq!(read(b"5\r\npedi", 3), Ok(None));
        assert_eq!(read(b"0\r\n\r\n", 5), Ok(Some((vec![], 0))));
    }

    #[test]
    fn malformed_chunks_are_rejected() {
        for bytes in [
            &b"\r\n\r\n"[..],
            b";x\r\n\r\n",
            b" 0\r\n\r\n",
            b"-1\r\n",
            b"0x1\r\n",
            b"10000000000000000\r\n",
            b"3\r\nabcd\r\n",
            b"3\r\nabc0\r\n\r\n",
            b"0\r\n: x\r\n\r\n",
        ] {
            assert!(read(bytes, 1).is_err(), "{}", bytes.escape_ascii());
            assert!(read(bytes, 100).is_err(), "{}", bytes.escape_ascii());
        }
        let endless = [b"1;", &[b'x'; HEAD_AT_MOST][..]].concat();
        assert!(read(&endless, 7).is_err() && read(&endless, endless.len()).is_err());
        let endless = [b"0\r\nx: ", &[b'x'; HEAD_AT_MOST][..]].concat();
        assert!(read(&endless, 7).is_err() && read(&endless, endless.len()).is_err());
    }

    proptest! {
        #[test]
        fn what_was_chunked_is_read_back(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..8),
            piece in 1usize..400,
        ) {
            let mut bytes = Vec::new();
            for chunk in &chunks {
                bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                bytes.extend(chunk.iter().chain(b"\r\n"));
            }
            bytes.extend(b"0\r\n\r\n");
            prop_assert_eq!(read(&bytes, piece), Ok(Some((chunks.concat(), 0))));
        }

        #[test]
        fn pieces_do_not_matter(bytes in prop::collection::vec(prop::sample::select(&b"0123aF;\r\n x:"[..]), 0..60), piece in 1usize..20) {
            let whole = read(&bytes, bytes.len().max(1)).map(|read| read.map(|(data, _)| data));
            let in_pieces = read(&bytes, piece).map(|read| read.map(|(data, _)| data));
            prop_assert_eq!(whole, in_pieces);
        }
    }
}
