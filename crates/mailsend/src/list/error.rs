//! Why a list cannot be used.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a list of recipients cannot be used.
#[derive(Debug, Error)]
pub enum ListError {
    /// It cannot be read.
    #[error("the list {} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not a regular file, which random access requires.
    #[error("the list {} is not a regular file: store it in one", path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
    },
    /// It has no recipients.
    #[error("the list {} has no recipients", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It has more than [`super::RECORDS`].
    #[error("the list {} has more than 4,294,967,293 records: split it", path.display())]
    TooMany {
        /// The file.
        path: PathBuf,
    },
    /// The column with the addresses cannot be determined.
    #[error(
        "the list {} has no column named email, e-mail, address, mail or recipient, but {}: \
         specify the column of addresses with --address-column. (Columns are separated by commas.)",
        path.display(),
        quoted(columns)
    )]
    NoAddressColumn {
        /// The file.
        path: PathBuf,
        /// The columns there are.
        columns: Vec<String>,
    },
    /// The requested column does not exist.
    #[error("the list {} has no column {asked:?}, but {}", path.display(), quoted(columns))]
    NoSuchColumn {
        /// The file.
        path: PathBuf,
        /// The requested column.
        asked: String,
        /// The columns there are.
        columns: Vec<String>,
    },
    /// A record has another number of fields than the first.
    #[error(
        "{}, line {line}: the number of fields is {found}, but that of columns is {expected}{}",
        path.display(),
        going_on(*line, *last_line)
    )]
    Fields {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        line: u64,
        /// Where it ends.
        last_line: u64,
        /// How many columns there are.
        expected: usize,
        /// How many fields the record has.
        found: usize,
    },
    /// A record is not UTF-8.
    #[error("{}, line {line}: this is not UTF-8: store the list in that encoding", path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        line: u64,
    },
    /// A quoted field has no end, so that other records are within quotes.
    #[error(
        "{}, line {line}: a field begins with a quotation mark, but none ends it where a field may end",
        path.display()
    )]
    Quote {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        line: u64,
    },
    /// A record has more than [`super::RECORD_OCTETS`].
    #[error(
        "{}, line {line}: a record of more than 1 MiB: line ends are missing, or a quotation mark",
        path.display()
    )]
    Long {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
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
