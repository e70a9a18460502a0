//! The file of the smallest program: ELF headers and the few instructions that end a process (elf(5), System V ABI).

use std::ffi::CStr;
#[cfg(target_os = "linux")]
use std::ffi::CString;

/// The program's exit code, which neither success nor a shell nor a crash gives.
pub(super) const EXIT_CODE: libc::c_int = 7;

/// The file, removed when this is dropped.
#[cfg(target_os = "linux")]
pub(super) struct TinyFile {
    path: CString,
    _recorded: crate::cleanup::Recorded,
}

#[cfg(target_os = "linux")]
impl TinyFile {
    pub(super) fn path(&self) -> &CStr {
        &self.path
    }
}

/// The file of the smallest program: there is none on this system.
#[cfg(not(target_os = "linux"))]
pub(super) enum TinyFile {}

#[cfg(not(target_os = "linux"))]
impl TinyFile {
    pub(super) fn create() -> Result<Self, crate::CaseError> {
        let reason = "static programs are made for Linux only";
        Err(crate::CaseError::Unsupported(reason.to_owned()))
    }

    pub(super) fn path(&self) -> &CStr {
        match *self {}
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::CString;
    use std::fs::OpenOptions;
    use std::io::{self, Write};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::Path;

    use super::TinyFile;
    use crate::CaseError;
    use crate::cleanup::Recorded;

    impl TinyFile {
        /// Writes the file.
        pub(in super::super) fn create() -> Result<Self, CaseError> {
            let contents = elf(super::code::EM_MACHINE, super::code::EXIT);
            let failed = |e| CaseError::from_io("writing a program to a temporary file", &e);
            let recorded = Recorded::file()?;
            let path = CString::new(recorded.path().as_os_str().as_bytes())
                .map_err(|e| CaseError::Failed(format!("the path of temporary files: {e}")))?;
            write(recorded.path(), &contents).map_err(failed)?;
            Ok(Self { path, _recorded: recorded })
        }
    }

    fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o700).open(path)?;
        file.write_all(contents)
    }

    /// An ELF file whose only segment is the whole file, with a stack that is not executable.
    fn elf(machine: u16, code: &[u8]) -> Vec<u8> {
        const BASE: u64 = 0x40_0000;
        const HEADER: u16 = 64;
        const SEGMENT: u16 = 56;
        const SEGMENTS: u16 = 2;
        const PAGE: u64 = 0x1_0000; // the largest of any architecture
        let code_at = u64::from(HEADER + SEGMENT * SEGMENTS);
        let size = code_at + code.len() as u64;
        let mut file = Vec::with_capacity(size as usize);
        // The identification: ELF, 64 bits, little-endian, version 1, System V.
        file.extend([0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let half = |file: &mut Vec<u8>, values: &[u16]| {
            values.iter().for_each(|value| file.extend(value.to_le_bytes()));
        };
        let word = |file: &mut Vec<u8>, values: &[u32]| {
            values.iter().for_each(|value| file.extend(value.to_le_bytes()));
        };
        let long = |file: &mut Vec<u8>, values: &[u64]| {
            values.iter().for_each(|value| file.extend(value.to_le_bytes()));
        };
        half(&mut file, &[2 /* ET_EXEC */, machine]);
        word(&mut file, &[1]);
        long(&mut file, &[BASE + code_at, u64::from(HEADER), 0]); // entry, segments, sections
        word(&mut file, &[0]);
        half(&mut file, &[HEADER, SEGMENT, SEGMENTS, 64, 0, 0]);
        word(&mut file, &[1 /* PT_LOAD */, 5 /* read and execute */]);
        long(&mut file, &[0, BASE, BASE, size, size, PAGE]);
        word(&mut file, &[0x6474_e551 /* PT_GNU_STACK */, 6 /* read and write */]);
        long(&mut file, &[0, 0, 0, 0, 0, 16]);
        file.extend(code);
        file
    }
}

/// `exit_group(EXIT_CODE)`.
#[cfg(target_os = "linux")]
mod code {
    #[cfg(target_arch = "x86_64")]
    pub const EM_MACHINE: u16 = 62;
    /// Machine code of mov edi, 7; mov eax, 231; syscall.
    #[cfg(target_arch = "x86_64")]
    pub const EXIT: &[u8] = &[0xbf, 7, 0, 0, 0, 0xb8, 231, 0, 0, 0, 0x0f, 0x05];
    #[cfg(target_arch = "aarch64")]
    pub const EM_MACHINE: u16 = 183;
    /// Machine code of mov x0, #7; mov x8, #94; svc #0.
    #[cfg(target_arch = "aarch64")]
    pub const EXIT: &[u8] = &[0xe0, 0, 0x80, 0xd2, 0xc8, 0x0b, 0x80, 0xd2, 0x01, 0, 0, 0xd4];
}
