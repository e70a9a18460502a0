//! Indexes a list: the offsets of its records, their domains, and its errors.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use csv::{ErrorKind, ReaderBuilder, StringRecord};
use memchr::memchr2;
use platform::file::filesystem::read_at;

use super::List;
use super::error::ListError;
use super::layout::Layout;
use super::names::Names;
use super::reader::Reader;
use super::source::{RECORD_OCTETS, RECORDS, Source, check, line_ends_before, trimmed};
use smtp::address::Address;

/// Number of bytes read at a time.
const READ_OCTETS: usize = 256 << 10;
/// Stands for the domain's number if the address is invalid.
const BAD: u32 = u32::MAX;
/// Stands for the domain's number if an earlier record has the same address.
const DUPLICATE: u32 = u32::MAX - 1;

impl List {
    /// Indexes a file. The first record is a header if a column is named `email`, `e-mail address`, `address`, `mail` or
    /// `recipient` (in any case and spelling), or has the name `address_column`. Otherwise, if the first field, or the one with the
    /// number `address_column`, is an address, there is no header, and columns are named `1`, `2` and so on.
    ///
    /// Records with invalid addresses are no error: see [`List::bad`]. If several records have the same address, the first
    /// counts.
    ///
    /// # Errors
    /// If the file cannot be read, has no recipients or no addresses, or has a malformed record.
    pub fn open(path: &Path, address_column: Option<&str>) -> Result<Self, ListError> {
        open(path, address_column)
    }
}

fn open(path: &Path, address_column: Option<&str>) -> Result<List, ListError> {
    let unreadable = |source| ListError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() {
        return Err(ListError::NoFile { path: path.to_owned() });
    }
    let mut pass = Pass::new(path, file.try_clone().map_err(unreadable)?);
    let mut found = pass.go(address_column)?;
    let Tee { sum, octets, .. } = pass.csv.into_inner();
    found.shrink();
    let source = Arc::new(Source {
        path: path.to_owned(),
        file,
        columns: found.layout.columns,
        address_column: found.layout.address_column,
        offsets: found.offsets,
        lines: found.lines,
        checks: found.checks,
    });
    let (members, starts) = group(&found.domains, found.names.len());
    let bad = found.bad;
    let fingerprint = format!("{octets}-{:08x}", sum.finalize());
    let names = found.names;
    let mut longest: Vec<u32> = found.longest.iter().map(|&(_, number)| number).collect();
    longest.sort_unstable();
    longest.dedup();
    let mut list =
        List { source, names, members, starts, bad, duplicates: 0, fingerprint, longest };
    drop_duplicates(&mut list, found.domains, &found.hashes).map_err(unreadable)?;
    Ok(list)
}

/// The index, built by a pass over the file.
struct Found {
    layout: Layout,
    offsets: Vec<u64>,
    lines: Vec<u32>,
    checks: Vec<u32>,
    /// The domain number of each record, or [`BAD`].
    domains: Vec<u32>,
    /// A hash of each record's local part.
    hashes: Vec<u32>,
    names: Names,
    bad: Vec<u32>,
    /// The first other column with an address, if that of the addresses has had none so far.
    other_column: Option<usize>,
    /// The octets of each column's longest value, and its record.
    longest: Vec<(usize, u32)>,
}

impl Found {
    fn new(layout: Layout) -> Self {
        Self {
            layout,
            offsets: Vec::new(),
            lines: Vec::new(),
            checks: Vec::new(),
            domains: Vec::new(),
            hashes: Vec::new(),
            names: Names::default(),
            bad: Vec::new(),
            other_column: None,
            longest: Vec::new(),
        }
    }

    fn shrink(&mut self) {
        self.offsets.shrink_to_fit();
        self.lines.shrink_to_fit();
        self.checks.shrink_to_fit();
        self.names.close();
        self.bad.shrink_to_fit();
    }
}

struct Pass<'a> {
    path: &'a Path,
    csv: csv::Reader<Tee>,
    record: StringRecord,
    hasher: RandomState,
}

impl<'a> Pass<'a> {
    fn new(path: &'a Path, file: File) -> Self {
        let tee = Tee { file, octets: 0, until: 0, sum: crc32fast::Hasher::new() };
        let mut builder = ReaderBuilder::new();
        builder.has_headers(false).flexible(true).buffer_capacity(READ_OCTETS);
        let csv = builder.from_reader(tee);
        Self { path, csv, record: StringRecord::new(), hasher: RandomState::new() }
    }

    fn go(&mut self, address_column: Option<&str>) -> Result<Found, ListError> {
        let empty = || ListError::Empty { path: self.path.to_owned() };
        let path = self.path;
        if !self.read()? {
            return Err(empty());
        }
        let layout = Layout::of(path, &self.record, address_column)?;
        let mut is_there = !layout.has_header || self.read()?;
        let mut found = Found::new(layout);
        while is_there {
            if !self.is_blank() {
                self.take(&mut found)?;
            }
            is_there = self.read()?;
        }
        if found.offsets.is_empty() {
            return Err(ListError::Empty { path: path.to_owned() });
        }
        if let (0, Some(other)) = (found.names.len(), found.other_column) {
            let Layout { columns, address_column, .. } = &found.layout;
            let name = |column: usize| columns[column].clone();
            let (column, other) = (name(*address_column), name(other));
            return Err(ListError::OtherColumn { path: path.to_owned(), column, other });
        }
        Ok(found)
    }

    /// Reads the next record; returns `false` at the end of the file.
    fn read(&mut self) -> Result<bool, ListError> {
        let start = self.csv.position().clone();
        self.csv.get_mut().until = start.byte() + RECORD_OCTETS + READ_OCTETS as u64;
        let read = self.csv.read_record(&mut self.record);
        let end = self.csv.position().byte();
        let is_long = end - start.byte() > RECORD_OCTETS;
        match read {
            Ok(false) => return Ok(false),
            Ok(true) if !is_long && !self.is_at_end(end) && !self.has_line_end() => {}
            read => self.check_doubtful(start.byte(), start.line(), read, is_long)?,
        }
        Ok(true)
    }

    /// Whether the record is a row of a spreadsheet without any text, such as `,,,`.
    fn is_blank(&self) -> bool {
        self.record.len() > 1 && self.record.iter().all(|field| trimmed(field).is_empty())
    }

    /// Whether `offset` is the end of the bytes read.
    fn is_at_end(&self, offset: u64) -> bool {
        self.csv.get_ref().octets == offset
    }

    /// Whether a field of the record has several lines, which may be other records if a quotation mark is missing.
    fn has_line_end(&self) -> bool {
        memchr2(b'\r', b'\n', self.record.as_slice().as_bytes()).is_some()
    }

    /// Checks the record that begins at `start` for errors.
    fn check_doubtful(
        &self,
        start: u64,
        line: u64,
        read: Result<bool, csv::Error>,
        is_long: bool,
    ) -> Result<(), ListError> {
        let path = self.path.to_owned();
        let line = self.first_line(start, line);
        match read.map_err(csv::Error::into_kind) {
            Err(ErrorKind::Io(e)) if !Tee::is_limit(&e) => {
                return Err(ListError::Read { path, source: e });
            }
            Err(ErrorKind::Utf8 { .. }) if !is_long => {
                return Err(ListError::Encoding { path, line });
            }
            Ok(_) if !is_long => {}
            _ => return Err(ListError::Long { path, line }),
        }
        let end = self.csv.position().byte();
        let raw =
            self.raw(start, end).map_err(|e| ListError::Read { path: path.clone(), source: e })?;
        if are_quotes_wrong(&raw) {
            return Err(ListError::Quote { path, line });
        }
        Ok(())
    }

    /// The bytes of the file from `start` to `end`, at most [`RECORD_OCTETS`].
    fn raw(&self, start: u64, end: u64) -> io::Result<Vec<u8>> {
        let mut raw = vec![0; (end - start).min(RECORD_OCTETS) as usize];
        let mut filled = 0;
        while filled < raw.len() {
            let read =
                read_at(&self.csv.get_ref().file, &mut raw[filled..], start + filled as u64)?;
            if read == 0 {
                break;
            }
            filled += read;
        }
        raw.truncate(filled);
        Ok(raw)
    }

    /// The line of the record's text: line ends may precede it at `offset`, which is on `line`.
    fn first_line(&self, offset: u64, line: u64) -> u64 {
        let raw = self.raw(offset, offset + RECORD_OCTETS).unwrap_or_default();
        line + line_ends_before(&raw).1
    }

    /// Adds the current record to the index.
    fn take(&mut self, found: &mut Found) -> Result<(), ListError> {
        let (offset, line) =
            self.record.position().map_or((0, 1), |position| (position.byte(), position.line()));
        if self.record.len() != found.layout.columns.len() {
            let line = self.first_line(offset, line);
            let within: usize = self.record.iter().map(|f| f.matches('\n').count()).sum();
            return Err(ListError::Fields {
                path: self.path.to_owned(),
                line,
                last_line: line + within as u64,
                expected: found.layout.columns.len(),
                found: self.record.len(),
            });
        }
        let number = found.offsets.len() as u32;
        if number == RECORDS {
            return Err(ListError::TooMany { path: self.path.to_owned() });
        }
        found.offsets.push(offset);
        found.lines.push(u32::try_from(line).unwrap_or(u32::MAX));
        found.checks.push(check(&self.record));
        found.longest.resize(self.record.len(), (0, 0));
        for (longest, field) in found.longest.iter_mut().zip(&self.record) {
            if field.len() > longest.0 {
                *longest = (field.len(), number);
            }
        }
        match Address::parse(trimmed(&self.record[found.layout.address_column])) {
            Ok(address) => {
                found.domains.push(found.names.number_of(address.domain()));
                found.hashes.push(self.hasher.hash_one(address.local()) as u32);
            }
            Err(_) => {
                if found.names.len() == 0 && found.other_column.is_none() {
                    let is_address = |field: &str| Address::parse(trimmed(field)).is_ok();
                    found.other_column = self.record.iter().position(is_address);
                }
                found.bad.push(number);
                found.domains.push(BAD);
                found.hashes.push(0);
            }
        }
        Ok(())
    }
}

/// Whether a record ends within a quoted field, or has text after a closing quotation mark. The CSV reader accepts both,
/// and reads other records as part of the field.
fn are_quotes_wrong(raw: &[u8]) -> bool {
    enum At {
        Beginning,
        Plain,
        Quoted,
        QuoteInQuotes,
    }
    let raw = raw.strip_prefix("\u{feff}".as_bytes()).unwrap_or(raw);
    let mut at = At::Beginning;
    for octet in raw {
        at = match (at, octet) {
            (At::Beginning | At::QuoteInQuotes, b'"') => At::Quoted,
            (At::Quoted, b'"') => At::QuoteInQuotes,
            (At::Quoted, _) => At::Quoted,
            (_, b',' | b'\r' | b'\n') => At::Beginning,
            (At::QuoteInQuotes, _) => return true,
            _ => At::Plain,
        };
    }
    matches!(at, At::Quoted)
}

/// Reads the file from beginning to end, and computes its checksum.
struct Tee {
    file: File,
    /// Number of bytes read so far.
    octets: u64,
    /// Offset beyond which reading fails: a record must end before it.
    until: u64,
    sum: crc32fast::Hasher,
}

impl Tee {
    /// Whether the error means that `until` was reached.
    fn is_limit(error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::FileTooLarge
    }
}

impl Read for Tee {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.octets >= self.until {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let octets = self.file.read(into)?;
        self.sum.update(&into[..octets]);
        self.octets += octets as u64;
        Ok(octets)
    }
}

/// The record numbers grouped by domain, and the beginning of each group.
fn group(domains: &[u32], count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0_u32; count + 1];
    for domain in domains.iter().filter(|domain| **domain != BAD) {
        starts[*domain as usize + 1] += 1;
    }
    for domain in 0..count {
        starts[domain + 1] += starts[domain];
    }
    let mut next = starts.clone();
    let mut members = vec![0; starts[count] as usize];
    for (number, domain) in domains.iter().enumerate().filter(|(_, domain)| **domain != BAD) {
        let slot = &mut next[*domain as usize];
        members[*slot as usize] = number as u32;
        *slot += 1;
    }
    (members, starts)
}

/// Drops records whose address an earlier record has. Records with equal hashes are read again and compared.
pub fn drop_duplicates(list: &mut List, mut domains: Vec<u32>, hashes: &[u32]) -> io::Result<()> {
    let mut reader = list.reader();
    let mut suspects: Vec<(u32, u32)> = Vec::new();
    for domain in 0..list.domains() {
        suspects.clear();
        suspects.extend(list.members(domain).iter().map(|&n| (hashes[n as usize], n)));
        suspects.sort_unstable();
        for equal in suspects.chunk_by(|a, b| a.0 == b.0).filter(|equal| equal.len() > 1) {
            list.duplicates += mark_duplicates(&mut reader, equal, &mut domains)?;
        }
    }
    if list.duplicates == 0 {
        return Ok(());
    }
    let mut kept = 0;
    for domain in 0..list.names.len() {
        let range = list.starts[domain] as usize..list.starts[domain + 1] as usize;
        list.starts[domain] = kept as u32;
        for at in range {
            let number = list.members[at];
            if domains[number as usize] != DUPLICATE {
                list.members[kept] = number;
                kept += 1;
            }
        }
    }
    list.starts[list.names.len()] = kept as u32;
    list.members.truncate(kept);
    list.members.shrink_to_fit();
    Ok(())
}

/// Marks duplicates among a domain's records with the same hash: those whose address an earlier record has. Returns their
/// number.
fn mark_duplicates(
    reader: &mut Reader,
    equal: &[(u32, u32)],
    domains: &mut [u32],
) -> io::Result<u32> {
    let mut first_ones: Vec<Address> = Vec::new();
    let mut count = 0;
    for (_, number) in equal {
        let address = reader.record(*number)?.address;
        if first_ones.contains(&address) {
            domains[*number as usize] = DUPLICATE;
            count += 1;
        } else {
            first_ones.push(address);
        }
    }
    Ok(count)
}
