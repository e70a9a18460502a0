//! Chooses the oscost binary for a system: this program, or a static one where the system has no libraries.

use std::env;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::SystemError;
use crate::options::Settings;

/// The environment variable with the path of a static binary to be used instead of this program.
const VARIABLE: &str = "OSCOST_STATIC";

/// The path of the oscost to start in a system that has this one's libraries: the option `binary`, else this program.
///
/// # Errors
/// If the option's file does not exist, or the path of this program is unknown.
pub fn own(settings: &Settings) -> Result<PathBuf, SystemError> {
    match settings.path("binary") {
        Some(path) => existing(path, "the option `binary`"),
        None => this_program(),
    }
}

/// The path of the oscost to start in a system without libraries: the option `binary`, else the variable `OSCOST_STATIC`,
/// else this program, which is static as released.
///
/// # Errors
/// If there is no such binary; the message says how to get one.
pub fn without_libraries(settings: &Settings) -> Result<PathBuf, SystemError> {
    if let Some(path) = settings.path("binary") {
        return existing(path, "the option `binary`").and_then(checked);
    }
    if let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return existing(Path::new(&path), VARIABLE).and_then(checked);
    }
    if_static(this_program()?)
}

/// This program, if it is static.
fn if_static(own: PathBuf) -> Result<PathBuf, SystemError> {
    match is_static(&own) {
        Ok(true) => Ok(own),
        _ => Err(SystemError::Unsupported(format!(
            "this system needs a static oscost, and this program is linked with libraries: use a released oscost, or build \
             one with scripts/static-build and name it by {VARIABLE}=FILE"
        ))),
    }
}

fn this_program() -> Result<PathBuf, SystemError> {
    env::current_exe().map_err(|e| SystemError::from_io("the path of this program", &e))
}

fn existing(path: &Path, from: &str) -> Result<PathBuf, SystemError> {
    let found = path.canonicalize();
    found.map_err(|e| SystemError::from_io(format!("{from}: {}", path.display()), &e))
}

fn checked(path: PathBuf) -> Result<PathBuf, SystemError> {
    match is_static(&path) {
        Ok(true) => Ok(path),
        Ok(false) => Err(SystemError::Unsupported(format!(
            "{} is not a static program for Linux, as a released oscost is, or one built by scripts/static-build",
            path.display()
        ))),
        Err(e) => Err(SystemError::from_io(path.display().to_string(), &e)),
    }
}

/// The type of the program header that names the dynamic linker (elf(5)).
const PT_INTERP: u32 = 3;
/// Maximum number of program headers that are read; no program has as many.
const MOST_HEADERS: u16 = 512;

/// Whether a file is a program for 64-bit Linux that needs no dynamic linker.
///
/// # Errors
/// If the file cannot be read.
pub fn is_static(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    match needs_linker(&mut file) {
        Ok(Some(needs)) => Ok(!needs),
        Ok(None) => Ok(false),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}

/// Whether a 64-bit little-endian ELF program names a dynamic linker; `None` if the file is no such program.
fn needs_linker(file: &mut (impl Read + Seek)) -> io::Result<Option<bool>> {
    let mut header = [0u8; 64];
    file.read_exact(&mut header)?;
    if header[..6] != *b"\x7fELF\x02\x01" {
        return Ok(None);
    }
    let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let offset = u64::from_le_bytes(header[32..40].try_into().unwrap_or_default());
    let (size, count) = (half(54), half(56));
    if size < 4 || count == 0 || count > MOST_HEADERS {
        return Ok(None);
    }
    for index in 0..u64::from(count) {
        let Some(at) = offset.checked_add(index * u64::from(size)) else { return Ok(None) };
        file.seek(SeekFrom::Start(at))?;
        let mut kind = [0u8; 4];
        file.read_exact(&mut kind)?;
        if u32::from_le_bytes(kind) == PT_INTERP {
            return Ok(Some(true));
        }
    }
    Ok(Some(false))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    /// An ELF header followed by program headers of these types.
    fn program(kinds: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = kinds.len() as u8;
        for kind in kinds {
            bytes.extend(kind.to_le_bytes());
            bytes.extend([0; 52]);
        }
        bytes
    }

    #[test]
    fn a_program_with_a_linker_is_not_static() {
        let needs = |bytes: Vec<u8>| needs_linker(&mut Cursor::new(bytes)).unwrap();
        assert_eq!(needs(program(&[1, 2])), Some(false));
        assert_eq!(needs(program(&[1, 3])), Some(true));
        assert_eq!(needs(b"#!/bin/sh\n".repeat(9)), None);
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn this_test_needs_a_linker_and_a_script_is_no_program() {
        assert!(!is_static(&env::current_exe().unwrap()).unwrap());
        let directory = tempfile::tempdir().unwrap();
        let short = directory.path().join("short");
        std::fs::write(&short, "\x7fELF").unwrap();
        assert!(!is_static(&short).unwrap());
        assert!(is_static(&directory.path().join("missing")).is_err());
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn a_static_program_serves_itself_and_another_says_what_to_get() {
        let directory = tempfile::tempdir().unwrap();
        let released = directory.path().join("oscost");
        std::fs::write(&released, program(&[1, 2])).unwrap();
        assert_eq!(if_static(released.clone()).unwrap(), released);
        let error = if_static(env::current_exe().unwrap()).unwrap_err().to_string();
        assert!(error.contains("use a released oscost") && error.contains(VARIABLE), "{error}");
    }

    #[test]
    fn an_option_that_names_no_file_is_an_error() {
        let mut settings = Settings::default();
        settings.set("binary", crate::options::Value::Path("/nosuch/oscost".into()));
        for error in [own(&settings).unwrap_err(), without_libraries(&settings).unwrap_err()] {
            assert!(
                error.to_string().starts_with("the option `binary`: /nosuch/oscost: "),
                "{error}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300), elf in any::<bool>()) {
            if elf && bytes.len() > 6 {
                bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
            }
            let _ = needs_linker(&mut Cursor::new(bytes));
        }
    }
}
