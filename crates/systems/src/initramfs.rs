//! Writes the first file system of a virtual machine: an uncompressed cpio archive with oscost as `/init`.
//!
//! The format is that of `cpio -H newc`, see the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

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

/// Writes the archive with `init` as `/init`.
///
/// # Errors
/// If `init` cannot be read, is 4 GiB or larger, or the archive cannot be written.
pub fn write(init: &Path, archive: &Path) -> io::Result<()> {
    let mut program = File::open(init)?;
    let size = program.metadata()?.len();
    let mut archive = BufWriter::new(File::create(archive)?);
    write_to(&mut archive, &mut program, size)?;
    archive.flush()
}

fn write_to(archive: &mut impl Write, init: &mut impl Read, size: u64) -> io::Result<()> {
    let size = u32::try_from(size)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "4 GiB or larger"))?;
    let mut number = 0;
    for name in DIRECTORIES {
        number += 1;
        header(archive, &Entry { name, number, mode: DIRECTORY | 0o755, size: 0, device: (0, 0) })?;
    }
    for (name, major, minor) in DEVICES {
        number += 1;
        let device = (major, minor);
        header(archive, &Entry { name, number, mode: CHARACTER | 0o600, size: 0, device })?;
    }
    number += 1;
    header(archive, &Entry { name: "init", number, mode: REGULAR | 0o755, size, device: (0, 0) })?;
    let copied = io::copy(&mut init.take(size.into()), archive)?;
    if copied != u64::from(size) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    pad(archive, size as usize)?;
    header(archive, &Entry { name: "TRAILER!!!", number: 0, mode: 0, size: 0, device: (0, 0) })
}

struct Entry<'a> {
    name: &'a str,
    number: u32,
    mode: u32,
    size: u32,
    device: (u32, u32),
}

/// Writes the header of an entry, fields of eight hexadecimal digits: inode, mode, owner, group, links, time, size, device
/// of the file (two), device that the file is (two), length of the name with its NUL, checksum.
fn header(archive: &mut impl Write, entry: &Entry) -> io::Result<()> {
    let Entry { name, number, mode, size, device: (major, minor) } = entry;
    let name_size = name.len() as u32 + 1;
    let fields = [*number, *mode, 0, 0, 1, 0, *size, 0, 0, *major, *minor, name_size, 0];
    archive.write_all(b"070701")?;
    for field in fields {
        write!(archive, "{field:08x}")?;
    }
    archive.write_all(name.as_bytes())?;
    archive.write_all(&[0])?;
    pad(archive, 6 + 8 * fields.len() + name_size as usize)
}

/// Writes zeros up to a multiple of four.
fn pad(archive: &mut impl Write, written: usize) -> io::Result<()> {
    archive.write_all(&[0; 3][..written.next_multiple_of(4) - written])
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
            let mut archive = Vec::new();
            write_to(&mut archive, &mut &program[..], program.len() as u64).unwrap();
            let entries = read(&archive);
            let init = entries.iter().find(|(name, ..)| name == "init").unwrap();
            assert_eq!((init.1, &init.2[..]), (0o100_755, program));
            let console = entries.iter().find(|(name, ..)| name == "dev/console").unwrap();
            assert_eq!(console.1, 0o020_600);
            assert_eq!(entries[0], ("dev".to_owned(), 0o040_755, Vec::new()));
        }
    }

    #[test]
    fn a_program_that_shrinks_or_is_too_large_is_an_error() {
        let mut archive = Vec::new();
        assert!(write_to(&mut archive, &mut &b"short"[..], 6).is_err());
        assert!(write_to(&mut archive, &mut &b""[..], 1 << 32).is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn cpio_lists_the_archive() {
        use std::process::{Command, Stdio};
        if testing::skip_unless(crate::program::find("cpio").is_some(), "cpio is not installed") {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let (init, archive) = (directory.path().join("init"), directory.path().join("archive"));
        std::fs::write(&init, "four+1").unwrap();
        write(&init, &archive).unwrap();
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
