//! Files that survive a kill and a loss of power.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use platform::file::private;

use crate::failure::Failure;

/// Maximum length of a document that a node returns, in bytes: thirty times that of a run of all cases.
pub(crate) const DOCUMENT_AT_MOST: u64 = 32 << 20;

/// Writes a file so that a kill or a loss of power leaves the old content or the new one; the new one once this has returned.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_extension("part");
    let mut file = private::create(&part)?;
    file.write_all(bytes)?;
    put_in_place(&file, &part, path)
}

fn put_in_place(file: &File, part: &Path, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    fs::rename(part, path)?;
    path.parent().map_or(Ok(()), private::sync_directory)
}

/// A document that arrives in parts: a file beside its place until it is whole.
pub struct Arriving {
    path: PathBuf,
    part: PathBuf,
    file: Option<File>,
    /// Number of bytes that have arrived.
    bytes: u64,
}

impl Arriving {
    /// A document of which nothing has arrived, for this place.
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), part: path.with_extension("part"), file: None, bytes: 0 }
    }

    /// The file that has what has arrived.
    pub(crate) fn part(&self) -> &Path {
        &self.part
    }

    /// Appends a part.
    pub(crate) fn add(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes += text.len() as u64;
        if self.bytes > DOCUMENT_AT_MOST {
            let reason = format!("the node's document has more than {DOCUMENT_AT_MOST} bytes");
            return Err(Failure::lasting(reason, "measure fewer points, or look at the node"));
        }
        self.append(text).map_err(|error| self.failure(&error))
    }

    fn append(&mut self, text: &str) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(private::create(&self.part)?),
        };
        file.write_all(text.as_bytes())
    }

    /// Checks that all of the document has arrived, which has this number of bytes.
    pub(crate) fn check_length(&self, bytes: u64) -> Result<(), Failure> {
        match self.bytes == bytes && self.file.is_some() {
            true => Ok(()),
            false => Err(Failure::passing(
                format!("{} of {bytes} bytes of the node's document arrived", self.bytes),
                "fleet resume collects it again",
            )),
        }
    }

    /// Moves the document to its place, durably.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        let file = self.file.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into());
        let kept = file.and_then(|file| put_in_place(file, &self.part, &self.path));
        kept.map_err(|error| self.failure(&error))
    }

    /// Removes what has arrived.
    pub(crate) fn discard(self) {
        // What cannot be removed costs room only; the next attempt overwrites it.
        let _ = fs::remove_file(&self.part);
    }

    fn failure(&self, error: &io::Error) -> Failure {
        let remedy = "make room in the data directory; fleet resume collects it again";
        Failure::lasting(format!("{}: {error}", self.part.display()), remedy)
    }
}
