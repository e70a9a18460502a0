//! Reads records of an indexed list, in any order.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use csv::{Position, ReaderBuilder, StringRecord};
use platform::file::filesystem::read_at;

use super::source::{RECORD_OCTETS, Source, check, line_ends_before};
use smtp::address::Address;

/// Number of bytes read at a time: adjacent records cost one system call.
const READ_AHEAD: usize = 16 << 10;
/// Number of bytes buffered by the CSV reader, which drops them when it seeks.
const CSV_BUFFER: usize = 2 << 10;

/// A recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    /// The number of the record, from 0.
    pub number: u32,
    /// The line at which the record begins.
    pub line: u64,
    /// The address.
    pub address: Address,
    /// The fields, in the order of the columns.
    pub values: StringRecord,
}

/// Reads records of a list, for one caller.
#[derive(Debug)]
pub struct Reader {
    source: Arc<Source>,
    csv: csv::Reader<Window>,
    record: StringRecord,
}

impl Reader {
    pub(super) fn new(source: Arc<Source>) -> Self {
        let csv = csv_of(&source);
        Self { source, csv, record: StringRecord::new() }
    }

    /// Reads the record `number`.
    ///
    /// # Errors
    /// If the file cannot be read. `InvalidData` if the file has changed since the list was opened, or the address is
    /// invalid; `InvalidInput` if there is no such record.
    pub fn record(&mut self, number: u32) -> io::Result<Recipient> {
        let (line, _) = self.fields(number)?;
        let address = self.source.address_of(&self.record).map_err(|e| {
            let path = self.source.path.display();
            io::Error::new(io::ErrorKind::InvalidData, format!("{path}, line {line}: {e}"))
        })?;
        Ok(Recipient { number, line, address, values: self.record.clone() })
    }

    /// The line at which a record begins, and its fields, whether its address is valid or not.
    pub(super) fn fields(&mut self, number: u32) -> io::Result<(u64, &StringRecord)> {
        let read = self.read(number);
        if read.is_err() {
            self.csv = csv_of(&self.source);
        }
        read.map(|line| (line, &self.record))
    }

    fn read(&mut self, number: u32) -> io::Result<u64> {
        let Some(&offset) = self.source.offsets.get(number as usize) else {
            let why = format!("the list has no record {number}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        };
        let line = u64::from(self.source.lines[number as usize]);
        let line = line + self.csv.get_mut().lines_ended_at(offset)?;
        // The first record always needs a seek: the CSV reader would return its header otherwise.
        if offset == 0 || self.csv.position().byte() != offset {
            // The seek goes to the line end before the record: the CSV reader strips a byte order mark where it begins to
            // read.
            let mut position = Position::new();
            position.set_byte(offset.saturating_sub(1));
            self.csv.seek(position)?;
        }
        self.csv.get_mut().until = offset + RECORD_OCTETS + READ_AHEAD as u64;
        let is_there = self.csv.read_record(&mut self.record).map_err(|e| match e.into_kind() {
            csv::ErrorKind::Io(e) => e,
            _ => changed(&self.source, line),
        })?;
        let is_same = is_there
            && self.record.len() == self.source.columns.len()
            && check(&self.record) == self.source.checks[number as usize];
        if is_same { Ok(line) } else { Err(changed(&self.source, line)) }
    }
}

fn changed(source: &Source, line: u64) -> io::Error {
    let path = source.path.display();
    let why = format!("{path}, line {line}: the list was changed while it was in use");
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn csv_of(source: &Arc<Source>) -> csv::Reader<Window> {
    let window = Window {
        source: Arc::clone(source),
        at: 0,
        block: Vec::new(),
        start: 0,
        until: READ_AHEAD as u64,
    };
    let mut builder = ReaderBuilder::new();
    builder.has_headers(false).flexible(true).buffer_capacity(CSV_BUFFER);
    let mut csv = builder.from_reader(window);
    // Without this the first seek would read a header.
    csv.set_headers(StringRecord::new());
    csv
}

/// Reads the file in blocks.
#[derive(Debug)]
struct Window {
    source: Arc<Source>,
    /// The position at which reading continues.
    at: u64,
    block: Vec<u8>,
    /// The offset of the block in the file.
    start: u64,
    /// Offset beyond which reading fails: a record must end before it.
    until: u64,
}

impl Window {
    /// The rest of the block from `offset` on; reads the block if necessary. Empty at the end of the file.
    fn from(&mut self, offset: u64) -> io::Result<&[u8]> {
        let is_within = offset >= self.start && offset - self.start < self.block.len() as u64;
        if !is_within {
            self.block.resize(READ_AHEAD, 0);
            let read = read_at(&self.source.file, &mut self.block, offset);
            self.block.truncate(*read.as_ref().unwrap_or(&0));
            self.start = offset;
            read?;
        }
        Ok(&self.block[(offset - self.start) as usize..])
    }

    /// Number of consecutive line ends at `offset`.
    fn lines_ended_at(&mut self, offset: u64) -> io::Result<u64> {
        let (mut at, mut lines) = (offset, 0);
        while at - offset < RECORD_OCTETS {
            let rest = self.from(at)?;
            let (octets, ended) = line_ends_before(rest);
            lines += ended;
            at += octets as u64;
            if octets == 0 || octets < rest.len() {
                break;
            }
        }
        Ok(lines)
    }
}

impl Read for Window {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.until {
            let why = "the list was changed while it was in use: a record has no end any more";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let rest = self.from(self.at)?;
        let octets = rest.len().min(into.len());
        into[..octets].copy_from_slice(&rest[..octets]);
        self.at += octets as u64;
        Ok(octets)
    }
}

impl Seek for Window {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Start(at) => self.at = at,
            SeekFrom::Current(0) => {}
            _ => return Err(io::ErrorKind::Unsupported.into()),
        }
        Ok(self.at)
    }
}
