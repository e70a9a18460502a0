//! Errors of lists.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The reason why a list of recipients cannot be used.
#[derive(Debug, Error)]
pub enum ListError {
    /// The file cannot be read.
    #[error("the list {} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path is not a regular file, which random access requires.
    #[error("the list {} is not a regular file: store it in one", path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
    },
    /// The list has no recipients.
    #[error("the list {} has no recipients", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The list has more than [`super::RECORDS`] records.
    #[error("the list {} has more than 4,294,967,293 records: split it", path.display())]
    TooMany {
        /// The file.
        path: PathBuf,
    },
    /// The column with the addresses cannot be determined.
    #[error(
        "the list {} has no column named email, e-mail address, address, mail or recipient, but {}: \
         specify the column of addresses with --address-column. (Columns are separated by commas.)",
        path.display(),
        quoted(columns)
    )]
    NoAddressColumn {
        /// The file.
        path: PathBuf,
        /// The list's columns.
        columns: Vec<String>,
    },
    /// The requested column does not exist.
    #[error("the list {} has no column {asked:?}, but {}", path.display(), quoted(columns))]
    NoSuchColumn {
        /// The file.
        path: PathBuf,
        /// The requested column.
        asked: String,
        /// The list's columns.
        columns: Vec<String>,
    },
    /// The column has no address, and another one has.
    #[error(
        "the list {} has no address in its column {column:?}, but in {other:?}: specify the column of addresses with \
         --address-column",
        path.display()
    )]
    OtherColumn {
        /// The file.
        path: PathBuf,
        /// The column of addresses by its name.
        column: String,
        /// The first column with an address.
        other: String,
    },
    /// The number of fields of a record differs from the first record's.
    #[error(
        "{}, line {line}: the number of fields is {found}, but that of columns is {expected}{}",
        path.display(),
        going_on(*line, *last_line)
    )]
    Fields {
        /// The file.
        path: PathBuf,
        /// Line at which the record begins.
        line: u64,
        /// Line at which the record ends.
        last_line: u64,
        /// Number of columns.
        expected: usize,
        /// Number of fields of the record.
        found: usize,
    },
    /// A record is not UTF-8.
    #[error("{}, line {line}: this is not UTF-8: store the list in that encoding", path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// Line at which the record begins.
        line: u64,
    },
    /// A quoted field has no end, so that it contains other records.
    #[error(
        "{}, line {line}: a field begins with a quotation mark, but none ends it where a field may end",
        path.display()
    )]
    Quote {
        /// The file.
        path: PathBuf,
        /// Line at which the record begins.
        line: u64,
    },
    /// A record has more than [`super::RECORD_OCTETS`] bytes.
    #[error(
        "{}, line {line}: a record of more than 1 MiB: line ends are missing, or a quotation mark",
        path.display()
    )]
    Long {
        /// The file.
        path: PathBuf,
        /// Line at which the record begins.
        line: u64,
    },
}

fn quoted(columns: &[String]) -> String {
    const SHOWN: usize = 20;
    let mut all: Vec<String> = columns.iter().take(SHOWN).map(|c| format!("{c:?}")).collect();
    if columns.len() > SHOWN {
        all.push(format!("{} more", columns.len() - SHOWN));
    }
    all.join(", ")
}

fn going_on(line: u64, last_line: u64) -> String {
    if last_line <= line {
        return String::new();
    }
    format!(" (the record goes on to line {last_line}: is a quotation mark missing?)")
}
