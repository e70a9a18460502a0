//! The list of recipients: a CSV file of any length, which is indexed, not loaded.
//!
//! [`List::open`] reads the file once, and keeps the offset and a checksum of each record, and the numbers of each domain's
//! records: 20 bytes per recipient, and each domain's name once. [`Reader`] reads records again when they are needed.

mod error;
mod layout;
mod names;
mod opening;
mod reader;
mod source;

use std::io;
use std::path::Path;
use std::sync::Arc;

pub use error::ListError;
use names::Names;
pub use reader::{Reader, Recipient};
use source::Source;
pub use source::{RECORD_OCTETS, RECORDS};

/// An indexed list of recipients.
#[derive(Debug)]
pub struct List {
    source: Arc<Source>,
    names: Names,
    /// Record numbers, grouped by domain; within a domain in the order of the file.
    members: Vec<u32>,
    /// The index in `members` of each domain's first record, and the end.
    starts: Vec<u32>,
    bad: Vec<u32>,
    duplicates: u32,
    fingerprint: String,
    longest: Vec<u32>,
}

impl List {
    /// Number of records, including invalid ones and duplicates. Records are numbered from 0.
    pub fn len(&self) -> usize {
        self.source.offsets.len()
    }

    /// Always false: [`List::open`] rejects a list without records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.source.path
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.source.columns
    }

    /// The index of the column with the addresses.
    pub fn address_column(&self) -> usize {
        self.source.address_column
    }

    /// Number of domains. Domains are numbered from 0, in the order of the file.
    pub fn domains(&self) -> usize {
        self.names.len()
    }

    /// The name of a domain, as [`smtp::address::Address::domain`] returns it.
    ///
    /// # Panics
    /// If there is no such domain.
    pub fn domain_name(&self, domain: usize) -> &str {
        self.names.get(domain)
    }

    /// The numbers of the records to be delivered to a domain, at least one, in the order of the file.
    ///
    /// # Panics
    /// If there is no such domain.
    pub fn members(&self, domain: usize) -> &[u32] {
        &self.members[self.starts[domain] as usize..self.starts[domain + 1] as usize]
    }

    /// The domain and the record number of the recipient with the index `recipient`. Indexes are assigned domain by domain.
    ///
    /// # Panics
    /// If there is no such recipient.
    pub fn at(&self, recipient: u32) -> (usize, u32) {
        // No domain is empty.
        let domain = self.starts.partition_point(|&start| start <= recipient) - 1;
        (domain, self.members[recipient as usize])
    }

    /// Number of recipients: all records except invalid ones and duplicates.
    pub fn deliverable(&self) -> usize {
        self.members.len()
    }

    /// Number of records whose address an earlier record has.
    pub fn duplicates(&self) -> usize {
        self.duplicates as usize
    }

    /// The numbers of the records with invalid addresses, in the order of the file.
    pub fn bad_numbers(&self) -> &[u32] {
        &self.bad
    }

    /// Reads the records with invalid addresses again: number, line, and error.
    pub fn bad(&self) -> impl Iterator<Item = (u32, u64, String)> + '_ {
        let mut reader = self.reader();
        self.bad.iter().map(move |&number| match reader.fields(number) {
            Ok((line, fields)) => (number, line, self.source.fault_of(fields)),
            Err(e) => (number, u64::from(self.source.lines[number as usize]), e.to_string()),
        })
    }

    /// The numbers of the records that have the longest value of a column, for checks of what values do to a message.
    pub fn longest(&self) -> &[u32] {
        &self.longest
    }

    /// Size and checksum of the file, as text.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// A reader of records, for one caller; consecutive records share system calls.
    pub fn reader(&self) -> Reader {
        Reader::new(Arc::clone(&self.source))
    }

    /// Reads one record; for several use [`List::reader`].
    ///
    /// # Errors
    /// See [`Reader::record`].
    pub fn record(&self, number: u32) -> io::Result<Recipient> {
        self.reader().record(number)
    }
}

#[cfg(test)]
mod tests;
