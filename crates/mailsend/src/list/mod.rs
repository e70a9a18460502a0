//! Recipients: a CSV file that is read where it lies, however long it is.
//!
//! [`List::open`] goes through the file once and keeps where each record is, a checksum of it, and whom each
//! domain's records are for: 20 octets for a recipient, and each domain's name once. The records themselves are
//! read again when they are needed, by [`Reader`].

mod layout;
mod names;
mod opening;
mod reader;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use csv::StringRecord;
use thiserror::Error;

use names::Names;
pub use reader::{Reader, Recipient};
use smtp::address::{Address, AddressError};

/// Octets of a record at most. More is a file without line ends, or a quotation mark that nothing ends.
pub const RECORD_OCTETS: u64 = 1 << 20;
/// Records of a list at most, so that 32 bits hold their numbers, with two to spare for marks.
pub const RECORDS: u32 = u32::MAX - 2;

/// A list of recipients that was gone through and may be read.
#[derive(Debug)]
pub struct List {
    source: Arc<Source>,
    names: Names,
    /// Numbers of the records, by domain, each domain's in the order of the file.
    members: Vec<u32>,
    /// Where in `members` each domain's begin, and the end.
    starts: Vec<u32>,
    bad: Vec<u32>,
    duplicates: u32,
    fingerprint: String,
}

/// The file, and where its records are.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    file: File,
    columns: Vec<String>,
    address_column: usize,
    /// Where to begin reading each record; line ends may be before it.
    offsets: Vec<u64>,
    /// The line that each offset is on.
    lines: Vec<u32>,
    /// What [`opening::check`] makes of each record.
    checks: Vec<u32>,
}

/// Why a file is no list of recipients.
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
    /// A pipe, say: what is read where it lies must be a file.
    #[error("the list {} is not a regular file: store it in one", path.display())]
    NoFile {
        /// What it is called.
        path: PathBuf,
    },
    /// No recipient is in it.
    #[error("the list {} has no recipients", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// More than [`RECORDS`].
    #[error("the list {} has more than 4,294,967,293 records: split it", path.display())]
    TooMany {
        /// The file.
        path: PathBuf,
    },
    /// Nothing tells which column has the addresses.
    #[error(
        "the list {} has no column named email, e-mail, address, mail or recipient, but {}: \
         --address-column says which one has the addresses. (Columns are separated by commas.)",
        path.display(),
        quoted(columns)
    )]
    NoAddressColumn {
        /// The file.
        path: PathBuf,
        /// The columns there are.
        columns: Vec<String>,
    },
    /// The column that was asked for is not there.
    #[error("the list {} has no column {asked:?}, but {}", path.display(), quoted(columns))]
    NoSuchColumn {
        /// The file.
        path: PathBuf,
        /// The column asked for.
        asked: String,
        /// The columns there are.
        columns: Vec<String>,
    },
    /// A record is unlike the first.
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
    /// Something is not UTF-8.
    #[error("{}, line {line}: this is not UTF-8: store the list in that encoding", path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        line: u64,
    },
    /// Other records, or the rest of the file, are within quotes.
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
    /// A record has more than [`RECORD_OCTETS`].
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

impl List {
    /// Goes through the file once. Its first record names the columns if one of them is called `email`,
    /// `e-mail`, `address`, `mail` or `recipient` (in whatever case), or as `address_column` says. Else, if
    /// its first field is an address, or the one whose number `address_column` is, there is no header, and columns are
    /// called `1`, `2` and so on.
    ///
    /// Records whose address is none are no error: see [`List::bad`]. Of several with the same address only the first
    /// counts.
    ///
    /// # Errors
    /// Where it cannot be read, has no recipients or no addresses, or has a record that is broken.
    pub fn open(path: &Path, address_column: Option<&str>) -> Result<Self, ListError> {
        opening::open(path, address_column)
    }

    /// How many records there are, bad ones and duplicates included: they are numbered from 0.
    pub fn len(&self) -> usize {
        self.source.offsets.len()
    }

    /// Whether there are none: never so.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.source.path
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.source.columns
    }

    /// Which column has the addresses.
    pub fn address_column(&self) -> usize {
        self.source.address_column
    }

    /// How many domains there are: they are numbered from 0, in the order of the file.
    pub fn domains(&self) -> usize {
        self.names.len()
    }

    /// The name of a domain, as [`Address::domain`] has it.
    ///
    /// # Panics
    /// Where there is no such domain.
    pub fn domain_name(&self, domain: usize) -> &str {
        self.names.get(domain)
    }

    /// The numbers of the records to be delivered to a domain, in the order of the file: at least one.
    ///
    /// # Panics
    /// Where there is no such domain.
    pub fn members(&self, domain: usize) -> &[u32] {
        &self.members[self.starts[domain] as usize..self.starts[domain + 1] as usize]
    }

    /// The domain and the number of a record to be delivered, by its place among all of these: those of the first domain
    /// come first.
    ///
    /// # Panics
    /// Where there is no such place.
    pub fn at(&self, place: u32) -> (usize, u32) {
        // No domain is empty.
        let domain = self.starts.partition_point(|&start| start <= place) - 1;
        (domain, self.members[place as usize])
    }

    /// How many records are to be delivered: all but bad ones and duplicates.
    pub fn deliverable(&self) -> usize {
        self.members.len()
    }

    /// How many records have the address of an earlier one.
    pub fn duplicates(&self) -> usize {
        self.duplicates as usize
    }

    /// The numbers of the records whose address is none, in the order of the file.
    pub fn bad_numbers(&self) -> &[u32] {
        &self.bad
    }

    /// The records whose address is none: number, line, and what is wrong, for which they are read again.
    pub fn bad(&self) -> impl Iterator<Item = (u32, u64, String)> + '_ {
        let mut reader = self.reader();
        self.bad.iter().map(move |&number| match reader.fields(number) {
            Ok((line, fields)) => (number, line, self.source.fault_of(fields)),
            Err(e) => (number, u64::from(self.source.lines[number as usize]), e.to_string()),
        })
    }

    /// Size and checksum of the file, by which to know it again.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Reads records, each caller with its own: consecutive ones cost no system call each.
    pub fn reader(&self) -> Reader {
        Reader::new(Arc::clone(&self.source))
    }

    /// Reads one record; who reads several has a [`List::reader`].
    ///
    /// # Errors
    /// As [`Reader::record`].
    pub fn record(&self, number: u32) -> io::Result<Recipient> {
        self.reader().record(number)
    }
}

impl Source {
    fn address_of(&self, fields: &StringRecord) -> Result<Address, AddressError> {
        Address::parse(trimmed(fields.get(self.address_column).unwrap_or_default()))
    }

    fn fault_of(&self, fields: &StringRecord) -> String {
        self.address_of(fields).err().map(|e| e.to_string()).unwrap_or_default()
    }
}

/// A field without the spaces around it, and without the mark some programs begin files with.
fn trimmed(field: &str) -> &str {
    field.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

#[cfg(test)]
mod tests;
