//! Writes the first file system of a virtual machine: an uncompressed cpio archive with oscost as `/init`, and its libraries.
//!
//! The format is that of `cpio -H newc`, see the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use crate::libraries::{self, Program};

/// The variable with the path of the device that the agent speaks over; on the kernel's command line, and so in the
/// environment of `/init`. Without it, or if the device cannot be opened, the agent uses the console, its standard input
/// and output.
pub const CHANNEL: &str = "OSCOST_CHANNEL";

/// File types of inode(7).
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const CHARACTER: u32 = 0o020_000;

/// Directories on which the agent mounts file systems.
const DIRECTORIES: [&str; 5] = ["dev", "proc", "sys", "tmp", "root"];
/// The directory of the program's libraries.
const LIBRARIES: &str = "oscost-libraries";
/// Devices for kernels without devtmpfs: name, major and minor number.
const DEVICES: [(&str, u32, u32); 7] = [
    ("dev/console", 5, 1),
    ("dev/null", 1, 3),
    ("dev/zero", 1, 5),
    ("dev/urandom", 1, 9),
    ("dev/ttyS0", 4, 64),
    ("dev/ttyS1", 4, 65),
    ("dev/hvc0", 229, 0),
];

/// The word of the kernel's command line, and so of the environment of `/init`, for a program with libraries.
pub fn library_path() -> String {
    format!("{}=/{LIBRARIES}", libraries::VARIABLE)
}

/// Writes the archive with `init` as `/init`, and returns the memory that its machine gets unless the user says otherwise, in MiB.
///
/// # Errors
/// If a file cannot be read, is 4 GiB or larger, or the archive cannot be written.
pub fn write(init: &Program, archive: &Path) -> io::Result<u64> {
    const USUAL: u64 = 512;
    const BESIDE_FILES: u64 = 256;
    let mut archive = Archive { output: BufWriter::new(File::create(archive)?), number: 0 };
    archive.begin()?;
    archive.copy("init", &init.path)?;
    if let Some(libraries) = &init.libraries {
        let linker = libraries.linker.strip_prefix("/").unwrap_or(&libraries.linker);
        let above: Vec<&Path> = linker.ancestors().skip(1).collect();
        // The last of them is empty: the root.
        for directory in above.iter().rev().skip(1).copied().chain([Path::new(LIBRARIES)]) {
            archive.directory(&directory.to_string_lossy())?;
        }
        archive.copy(&linker.to_string_lossy(), &libraries.linker)?;
        for (file, inside) in libraries.placed(Path::new(LIBRARIES)) {
            archive.copy(&inside.to_string_lossy(), file)?;
        }
    }
    let file = archive.end()?.into_inner()?;
    // The kernel has the archive in memory until it has copied the files from it.
    Ok(USUAL.max(BESIDE_FILES + 2 * (file.metadata()?.len() >> 20)))
}

/// An archive that is being written.
struct Archive<Output> {
    output: Output,
    /// The inode number of the last entry.
    number: u32,
}

impl<Output: Write> Archive<Output> {
    /// Writes the directories and devices.
    fn begin(&mut self) -> io::Result<()> {
        DIRECTORIES.iter().try_for_each(|name| self.directory(name))?;
        DEVICES.iter().try_for_each(|&(name, major, minor)| {
            self.header(&Entry { name, mode: CHARACTER | 0o600, size: 0, device: (major, minor) })
        })
    }

    fn directory(&mut self, name: &str) -> io::Result<()> {
        self.header(&Entry { name, mode: DIRECTORY | 0o755, size: 0, device: (0, 0) })
    }

    fn copy(&mut self, name: &str, file: &Path) -> io::Result<()> {
        let mut file = File::open(file)?;
        let size = file.metadata()?.len();
        self.file(name, &mut file, size)
    }

    fn file(&mut self, name: &str, content: &mut impl Read, size: u64) -> io::Result<()> {
        let size = u32::try_from(size)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "4 GiB or larger"))?;
        self.header(&Entry { name, mode: REGULAR | 0o755, size, device: (0, 0) })?;
        let copied = io::copy(&mut content.take(size.into()), &mut self.output)?;
        if copied != u64::from(size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.pad(size as usize)
    }

    fn end(mut self) -> io::Result<Output> {
        self.header(&Entry { name: "TRAILER!!!", mode: 0, size: 0, device: (0, 0) })?;
        Ok(self.output)
    }

    /// Writes the header of an entry, fields of eight hexadecimal digits: inode, mode, owner, group, links, time, size, device
    /// of the file (two), device that the file is (two), length of the name with its NUL, checksum.
    fn header(&mut self, entry: &Entry) -> io::Result<()> {
        let Entry { name, mode, size, device: (major, minor) } = entry;
        self.number += 1;
        let name_size = name.len() as u32 + 1;
        let fields = [self.number, *mode, 0, 0, 1, 0, *size, 0, 0, *major, *minor, name_size, 0];
        self.output.write_all(b"070701")?;
        for field in fields {
            write!(self.output, "{field:08x}")?;
        }
        self.output.write_all(name.as_bytes())?;
        self.output.write_all(&[0])?;
        self.pad(6 + 8 * fields.len() + name_size as usize)
    }

    /// Writes zeros up to a multiple of four.
    fn pad(&mut self, written: usize) -> io::Result<()> {
        self.output.write_all(&[0; 3][..written.next_multiple_of(4) - written])
    }
}

struct Entry<'a> {
    name: &'a str,
    mode: u32,
    size: u32,
    device: (u32, u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names, modes and contents of an archive.
    fn read(archive: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut at = 0;
        let mut entries = Vec::new();
        loop {
            assert_eq!(&archive[at..at + 6], b"070701");
            let field = |index: usize| {
                let digits = &archive[at + 6 + 8 * index..at + 14 + 8 * index];
                usize::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap()
            };
            let (mode, size, name_size) = (field(1), field(6), field(11));
            let name = &archive[at + 110..at + 110 + name_size - 1];
            let name = String::from_utf8(name.to_vec()).unwrap();
            let data = (at + 110 + name_size).next_multiple_of(4);
            if name == "TRAILER!!!" {
                assert_eq!(data, archive.len());
                return entries;
            }
            entries.push((name, mode as u32, archive[data..data + size].to_vec()));
            at = (data + size).next_multiple_of(4);
        }
    }

    #[test]
    fn the_archive_has_the_program_and_what_it_needs() {
        for program in [&b"\x7fELF and so on"[..], b"", b"1234"] {
            let mut archive = Archive { output: Vec::new(), number: 0 };
            archive.begin().unwrap();
            archive.file("init", &mut &program[..], program.len() as u64).unwrap();
            let entries = read(&archive.end().unwrap());
            let init = entries.iter().find(|(name, ..)| name == "init").unwrap();
            assert_eq!((init.1, &init.2[..]), (0o100_755, program));
            let console = entries.iter().find(|(name, ..)| name == "dev/console").unwrap();
            assert_eq!(console.1, 0o020_600);
            assert_eq!(entries[0], ("dev".to_owned(), 0o040_755, Vec::new()));
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu", not(target_feature = "crt-static")))]
    fn a_program_has_its_libraries_in_the_archive_with_the_directories_above() {
        let program = Program::of(std::env::current_exe().unwrap()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("archive");
        write(&program, &path).unwrap();
        let entries = read(&std::fs::read(path).unwrap());
        let names: Vec<&str> = entries.iter().map(|(name, ..)| name.as_str()).collect();
        let linker = program.libraries.unwrap().linker;
        let linker = linker.to_str().unwrap().trim_start_matches('/');
        let libc = format!("{LIBRARIES}/libc.so.6");
        for name in [linker, &libc] {
            let at = names.iter().position(|other| *other == name).expect(name);
            assert!(!entries[at].2.is_empty());
            let (above, _) = name.rsplit_once('/').unwrap();
            assert!(names[..at].contains(&above), "{names:?}");
        }
    }

    #[test]
    fn a_program_that_shrinks_or_is_too_large_is_an_error() {
        let mut archive = Archive { output: Vec::new(), number: 0 };
        assert!(archive.file("init", &mut &b"short"[..], 6).is_err());
        assert!(archive.file("init", &mut &b""[..], 1 << 32).is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn cpio_lists_the_archive() {
        use std::process::{Command, Stdio};
        if testing::skip_unless(crate::program::find("cpio").is_some(), "systems: needs cpio") {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let (init, archive) = (directory.path().join("init"), directory.path().join("archive"));
        std::fs::write(&init, "four+1").unwrap();
        write(&Program { path: init, libraries: None }, &archive).unwrap();
        let output = Command::new("cpio")
            .args(["-tv", "--quiet"])
            .stdin(Stdio::from(File::open(&archive).unwrap()))
            .output()
            .unwrap();
        let list = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(
            list.lines().any(|line| line.starts_with("-rwxr-xr-x") && line.ends_with(" init")),
            "{list}"
        );
        assert!(list.contains("crw-------") && list.contains("dev/console"), "{list}");
    }
}
