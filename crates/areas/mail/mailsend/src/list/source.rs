//! The file of a list, and its index of records.

use std::fs::File;
use std::path::PathBuf;

use csv::StringRecord;
use smtp::address::{Address, AddressError, is_invisible};

/// Maximum size of a record, in bytes. A larger one means missing line ends, or an unterminated quoted field.
pub const RECORD_OCTETS: u64 = 1 << 20;
/// Maximum number of records: their numbers have 32 bits, and two values are reserved.
pub const RECORDS: u32 = u32::MAX - 2;

/// The file of a list, and the positions of its records.
#[derive(Debug)]
pub(super) struct Source {
    pub path: PathBuf,
    pub file: File,
    pub columns: Vec<String>,
    pub address_column: usize,
    /// Offset of each record; line ends may precede its text.
    pub offsets: Vec<u64>,
    /// The line number of each offset.
    pub lines: Vec<u32>,
    /// The checksum of each record: see [`check`].
    pub checks: Vec<u32>,
}

impl Source {
    pub fn address_of(&self, fields: &StringRecord) -> Result<Address, AddressError> {
        Address::parse(trimmed(fields.get(self.address_column).unwrap_or_default()))
    }

    pub fn fault_of(&self, fields: &StringRecord) -> String {
        self.address_of(fields).err().map(|e| e.to_string()).unwrap_or_default()
    }
}

/// A field without surrounding white space and invisible characters, which web pages and spreadsheets leave at copied text:
/// byte order marks, zero-width spaces and joiners, soft hyphens, and marks of the direction of writing.
pub(super) fn trimmed(field: &str) -> &str {
    field.trim_matches(|c: char| c.is_whitespace() || is_invisible(c))
}

/// A checksum of a record's fields, by which changes of the file are detected.
pub fn check(fields: &StringRecord) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    for field in fields {
        sum.update(&(field.len() as u64).to_le_bytes());
        sum.update(field.as_bytes());
    }
    sum.finalize()
}

/// The number of bytes of line ends at the beginning of `raw`, and the number of these line ends.
pub fn line_ends_before(raw: &[u8]) -> (usize, u64) {
    let octets = raw.iter().position(|b| !matches!(b, b'\r' | b'\n')).unwrap_or(raw.len());
    (octets, raw[..octets].iter().filter(|b| **b == b'\n').count() as u64)
}
