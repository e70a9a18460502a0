//! Compression of stored texts.

use std::io::{self, BufReader, Read, Write};

use flate2::read::{DeflateDecoder, ZlibDecoder};
use flate2::write::{DeflateEncoder, ZlibEncoder};
use flate2::{Compression, Crc};

use super::rows::MAX_LINES_BYTES;
use crate::document::CaseResult;
use crate::shape::check_results;

/// A preset dictionary of common output of rounds, the most common last, which saves a quarter. It must not change within a
/// version of the store.
const DICTIONARY: &str = include_str!("rounds.dictionary");

const IN_MEMORY: &str = "writing to memory cannot fail";

/// Compresses text with zlib (RFC 1950); leaves it as it is if that is not shorter. `sqlar_uncompress` of SQLite's shell
/// reads both.
pub(super) fn pack(text: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let packed = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    let packed = packed.expect(IN_MEMORY);
    if packed.len() < text.len() { packed } else { text.as_bytes().to_vec() }
}

/// Maximum length of the results of a run as text, in bytes: several times what a run of all points has.
const MAX_RESULTS_BYTES: u64 = 256 << 20;
/// Length of results that are read from memory.
const KEPT_BYTES: u64 = 16 << 20;

/// Unpacks results whose text has `bytes` bytes, packed by [`pack`]. Neither that length nor the text is believed: a store may be
/// of anybody. Both passes over a long text unpack it, so that it is never in memory.
pub(super) fn unpack_results(packed: &[u8], bytes: u64) -> io::Result<Vec<CaseResult>> {
    if bytes > MAX_RESULTS_BYTES {
        let most = MAX_RESULTS_BYTES >> 20;
        return Err(io::Error::other(format!("{bytes} bytes, more than {most} MiB, the limit")));
    }
    let reader = || BufReader::new(reader(packed, bytes)).take(bytes + 1);
    let of_length = |is_it: bool| match is_it {
        true => Ok(()),
        false => Err(io::Error::other(format!("not of {bytes} bytes"))),
    };
    if bytes <= KEPT_BYTES {
        let mut text = String::new();
        reader().read_to_string(&mut text)?;
        of_length(text.len() as u64 == bytes)?;
        check_results(serde_json::Deserializer::from_str(&text))?;
        return Ok(serde_json::from_str(&text)?);
    }
    let mut first = reader();
    check_results(serde_json::Deserializer::from_reader(&mut first))?;
    of_length(first.limit() == 1)?;
    Ok(serde_json::from_reader(reader())?)
}

/// Reads a text of `bytes` bytes, which [`pack`] may have left as it is.
fn reader(packed: &[u8], bytes: u64) -> Box<dyn Read + '_> {
    match packed.len() as u64 == bytes {
        true => Box::new(packed),
        false => Box::new(ZlibDecoder::new(packed)),
    }
}

/// A round's output, compressed with deflate (RFC 1951) after [`DICTIONARY`], and its CRC-32.
pub(super) fn pack_lines(lines: &str) -> (Vec<u8>, u32) {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    // A flush ends the compressed dictionary at a byte boundary, and keeps the window.
    encoder.write_all(DICTIONARY.as_bytes()).and_then(|()| encoder.flush()).expect(IN_MEMORY);
    let of_dictionary = encoder.get_ref().len();
    let packed = encoder.write_all(lines.as_bytes()).and_then(|()| encoder.finish());
    (packed.expect(IN_MEMORY).split_off(of_dictionary), crc32(lines))
}

/// Unpacks lines packed by [`pack_lines`].
pub(super) fn unpack_lines(packed: &[u8], crc: u32) -> io::Result<String> {
    // The block is not compressed and not the last one (RFC 1951, 3.2.4).
    let length = u16::try_from(DICTIONARY.len()).expect("a dictionary of at most 32 KiB");
    let [low, high] = length.to_le_bytes();
    let block = [0, low, high, !low, !high];
    let mut decoder = DeflateDecoder::new(block.chain(DICTIONARY.as_bytes()).chain(packed));
    io::copy(&mut decoder.by_ref().take(length.into()), &mut io::sink())?;
    let mut lines = String::new();
    decoder.take(MAX_LINES_BYTES as u64 + 1).read_to_string(&mut lines)?;
    match crc32(&lines) == crc {
        true => Ok(lines),
        false => Err(io::Error::other("wrong CRC")),
    }
}

fn crc32(text: &str) -> u32 {
    let mut crc = Crc::new();
    crc.update(text.as_bytes());
    crc.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_dictionary_needs_a_new_version_of_the_store() {
        assert_eq!(crc32(DICTIONARY), 3498780510);
    }

    #[test]
    fn lines_like_the_dictionary_take_a_few_bytes_and_damaged_ones_are_refused() {
        let lines = &DICTIONARY[DICTIONARY.len() - 300..];
        let (packed, crc) = pack_lines(lines);
        assert!(packed.len() < 20, "{} bytes", packed.len());
        assert_eq!(unpack_lines(&packed, crc).expect("whole"), lines);
        unpack_lines(&packed, crc ^ 1).expect_err("another text");
        unpack_lines(&packed[..packed.len() - 1], crc).expect_err("cut short");
        unpack_lines(&[], crc).expect_err("nothing");
    }
}
