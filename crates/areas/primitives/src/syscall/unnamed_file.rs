//! An unnamed file to write to, which disappears when it is closed.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use measure::{CaseError, Params};
use platform::only;

use crate::scaled::is_scaled;

/// Opens a file without a name in the temporary directory for reading and writing.
///
/// # Errors
/// Errors of creating a file in that directory.
pub fn open() -> Result<File, CaseError> {
    never_named(&std::env::temp_dir()).or_else(|_| named_no_longer())
}

/// Like [`open`], for a file that contains these bytes.
///
/// # Errors
/// Errors of [`open`] and of write(2).
pub fn containing(bytes: &[u8]) -> Result<File, CaseError> {
    let mut file = open()?;
    let written = file.write_all(bytes);
    written.map_err(|e| CaseError::from_io("a temporary file", &e)).map(|()| file)
}

/// A file that the operation does not change: this program's own file, or an unnamed one per worker if `params` have workers.
///
/// # Errors
/// Errors of opening the file.
pub fn unless_alone(params: &Params) -> Result<File, CaseError> {
    if is_scaled(params) { open() } else { super::own_program() }
}

/// Opens a file that never had a name (O_TMPFILE), which not every file system supports.
#[only(linux)]
fn never_named(directory: &Path) -> Result<File, CaseError> {
    use std::os::unix::fs::OpenOptionsExt;

    let mut options = File::options();
    let opened = options.read(true).write(true).custom_flags(libc::O_TMPFILE).open(directory);
    opened.map_err(|e| CaseError::from_io("a file without a name", &e))
}

/// Creates a file and removes its name at once.
#[only(unix)]
fn named_no_longer() -> Result<File, CaseError> {
    let recorded = platform::cleanup::Recorded::file()?;
    let file = recorded.create()?;
    std::fs::remove_file(recorded.path())
        .map_err(|e| CaseError::from_io("removing its name", &e))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_kind_can_be_written_and_has_no_name() {
        for opened in [never_named(&std::env::temp_dir()), named_no_longer()] {
            match opened {
                Ok(mut file) => file.write_all(b"x").unwrap(),
                Err(reason) => assert!(matches!(reason, CaseError::Unsupported(_)), "{reason}"),
            }
        }
    }
}
