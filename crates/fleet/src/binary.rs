//! The program that nodes execute: a file on this machine, known by its hash.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use crate::error::FleetError;

/// A program for Linux.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binary {
    /// Its file, with the full path.
    pub file: PathBuf,
    /// SHA-256 of its content, as hexadecimal digits: its name on nodes.
    pub hash: String,
    /// Its size in bytes.
    pub size: u64,
    /// The machine it is for, as `uname -sm` prints it.
    pub machine: String,
}

impl Binary {
    /// Reads a program.
    ///
    /// # Errors
    /// If it cannot be read, or is no program for Linux on a known processor.
    pub fn of(file: &Path) -> Result<Self, FleetError> {
        let unreadable = || FleetError::file(file.display());
        let full = file.canonicalize().map_err(unreadable())?;
        let mut input = File::open(&full).map_err(unreadable())?;
        let (mut context, mut buffer) = (Context::new(&SHA256), vec![0; 1 << 16]);
        let (mut size, mut machine) = (0, None);
        loop {
            let read = input.read(&mut buffer).map_err(unreadable())?;
            if read == 0 {
                break;
            }
            if size == 0 {
                machine = machine_of(&buffer[..read]);
            }
            context.update(&buffer[..read]);
            size += read as u64;
        }
        let Some(machine) = machine else {
            return Err(FleetError::Usage(format!(
                "{} is no program for Linux on x86-64 or 64-bit Arm, which nodes need: --binary FILE names one",
                full.display()
            )));
        };
        let hash = context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { file: full, hash, size, machine: format!("Linux {machine}") })
    }
}

/// The name that uname(2) has for the machine of a 64-bit little-endian ELF program (elf(5)).
fn machine_of(header: &[u8]) -> Option<&'static str> {
    const X86_64: u16 = 62;
    const AARCH64: u16 = 183;
    if header.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    match u16::from_le_bytes(header.get(18..20)?.try_into().ok()?) {
        X86_64 => Some("x86_64"),
        AARCH64 => Some("aarch64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_hash_and_its_machine() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        let mut content = b"\x7fELF\x02\x01".to_vec();
        content.resize(64, 0);
        content[18] = 183;
        std::fs::write(&path, &content).unwrap();
        let binary = Binary::of(&path).unwrap();
        assert_eq!((binary.size, binary.machine.as_str()), (64, "Linux aarch64"));
        // The value of sha256sum(1) for an empty input.
        std::fs::write(&path, "").unwrap();
        assert!(Binary::of(&path).unwrap_err().to_string().contains("is no program for Linux"));
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        assert!(Binary::of(&path).is_err() && Binary::of(&path.join("none")).is_err());
    }
}
