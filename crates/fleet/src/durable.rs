//! Files that survive a kill.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Writes a file so that a kill or a loss of power leaves the old content or the new one.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let part = path.with_extension("part");
    let mut file = File::create(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&part, path)
}
