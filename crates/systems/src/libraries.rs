//! The libraries of a program, for systems that have none: its dynamic linker and what that loads, as ldd(1) lists them.
//!
//! The kernel finds the dynamic linker by its path in the program, so the linker has the same path in each system. The libraries
//! may be in any directory, which [`VARIABLE`] names: the linker looks there before it uses what the system has itself. So the
//! program starts itself anew by its own path, as it does on this system.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::error::SystemError;
use crate::program;

/// The variable with the directory of libraries (ld.so(8)).
pub const VARIABLE: &str = "LD_LIBRARY_PATH";

/// A program for Linux.
#[derive(Debug)]
pub struct Program {
    /// Its path on this system.
    pub path: PathBuf,
    /// What it is linked with; `None` if it is static.
    pub libraries: Option<Libraries>,
}

impl Program {
    /// The program at `path`.
    ///
    /// # Errors
    /// If the file is no program for 64-bit Linux, or lacks a library.
    pub fn of(path: PathBuf) -> Result<Self, SystemError> {
        let linkage = linkage(&path);
        let linkage = linkage.map_err(|e| SystemError::from_io(path.display().to_string(), &e))?;
        let libraries = match linkage {
            Linkage::Static => None,
            Linkage::Linked(linker) => Some(Libraries::of(&path, linker)?),
            Linkage::Foreign => {
                let problem = format!("{} is no program for 64-bit Linux", path.display());
                return Err(SystemError::Unsupported(problem));
            }
        };
        Ok(Self { path, libraries })
    }
}

/// The libraries of a program.
#[derive(Debug, PartialEq, Eq)]
pub struct Libraries {
    /// The path of the dynamic linker, here and in each system.
    pub linker: PathBuf,
    /// The names by which libraries are requested, and their files.
    named: Vec<(String, PathBuf)>,
}

impl Libraries {
    /// The dynamic linker lists what it would load, without starting the program.
    fn of(program: &Path, linker: PathBuf) -> Result<Self, SystemError> {
        let failed = |why: &dyn std::fmt::Display| {
            let command = format!("{} --list {}", linker.display(), program.display());
            SystemError::Failed(format!("{command}: {why}"))
        };
        let mut command = Command::new(&linker);
        let listed = command.arg("--list").arg(program).env_remove("LD_PRELOAD").output();
        let listed = listed.map_err(|e| failed(&e))?;
        if !listed.status.success() {
            return Err(failed(&program::last_line(&listed.stderr)));
        }
        let named = parse(&String::from_utf8_lossy(&listed.stdout));
        match named.map_err(|library| failed(&format!("{library} was not found"))) {
            Ok(named) => Ok(Self { linker, named }),
            Err(error) => Err(error),
        }
    }

    /// The files of all libraries but the linker, and their paths in a system where they are in `directory`.
    pub fn placed(&self, directory: &Path) -> impl Iterator<Item = (&Path, PathBuf)> {
        self.named.iter().map(move |(name, file)| (file.as_path(), directory.join(name)))
    }
}

/// The names and files of libraries in a list such as `libc.so.6 => /lib/libc.so.6 (0x7f0123456000)`; other lines name the linker,
/// or what the kernel maps.
///
/// # Errors
/// The name of a library that was not found.
fn parse(list: &str) -> Result<Vec<(String, PathBuf)>, String> {
    let lines = list.lines().filter_map(|line| line.trim().split_once(" => "));
    let library = |(name, found): (&str, &str)| {
        let file = found.rsplit_once(" (0x").map_or(found, |(file, _)| file);
        match file.starts_with('/') {
            true => Ok((name.to_owned(), PathBuf::from(file))),
            false => Err(name.to_owned()),
        }
    };
    lines.map(library).collect()
}

/// The path below `root` that `path` has for a process with this root directory: symbolic links, also absolute ones, are followed
/// within it. The last parts need not exist. `None` if there are too many links.
pub fn resolve_in(root: &Path, path: &Path) -> Option<PathBuf> {
    const MOST_LINKS: usize = 40;
    let parts = |path: &Path| path.iter().rev().map(PathBuf::from).collect::<Vec<_>>();
    let (mut rest, mut resolved, mut links) = (parts(path), PathBuf::new(), 0);
    while let Some(part) = rest.pop() {
        match part.components().next()? {
            Component::ParentDir => drop(resolved.pop()),
            Component::Normal(name) => match fs::read_link(root.join(&resolved).join(name)) {
                Ok(_) if links == MOST_LINKS => return None,
                Ok(target) => {
                    links += 1;
                    rest.extend(parts(&target));
                }
                Err(_) => resolved.push(name),
            },
            Component::RootDir => resolved.clear(),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Some(resolved)
}

/// How a file is linked.
#[derive(Debug, PartialEq, Eq)]
pub enum Linkage {
    /// No program for 64-bit Linux.
    Foreign,
    /// A program that needs no dynamic linker.
    Static,
    /// A program that needs the dynamic linker at this path.
    Linked(PathBuf),
}

/// How a file is linked.
///
/// # Errors
/// If the file cannot be read.
pub fn linkage(path: &Path) -> io::Result<Linkage> {
    match read_linkage(&mut File::open(path)?) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(Linkage::Foreign),
        linkage => linkage,
    }
}

/// The type of the program header that names the dynamic linker (elf(5)), and the size of a program header.
const PT_INTERP: u32 = 3;
const HEADER_SIZE: usize = 56;
/// Maximum number of program headers that are read; no program has as many.
const MOST_HEADERS: u16 = 512;
/// Maximum length of a path.
const LONGEST_PATH: u64 = 4_096;

fn read_linkage(file: &mut (impl Read + Seek)) -> io::Result<Linkage> {
    let mut header = [0u8; 64];
    file.read_exact(&mut header)?;
    if header[..6] != *b"\x7fELF\x02\x01" {
        return Ok(Linkage::Foreign);
    }
    let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let offset = u64_at(&header, 32);
    let (size, count) = (half(54), half(56));
    if usize::from(size) < HEADER_SIZE || count == 0 || count > MOST_HEADERS {
        return Ok(Linkage::Foreign);
    }
    for index in 0..u64::from(count) {
        let Some(at) = offset.checked_add(index * u64::from(size)) else {
            return Ok(Linkage::Foreign);
        };
        file.seek(SeekFrom::Start(at))?;
        let mut header = [0u8; HEADER_SIZE];
        file.read_exact(&mut header)?;
        if header[..4] == PT_INTERP.to_le_bytes() {
            file.seek(SeekFrom::Start(u64_at(&header, 8)))?;
            let mut path = vec![0; u64_at(&header, 32).min(LONGEST_PATH) as usize];
            file.read_exact(&mut path)?;
            let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
            let path = PathBuf::from(String::from_utf8_lossy(path).into_owned());
            return Ok(if path.has_root() { Linkage::Linked(path) } else { Linkage::Foreign });
        }
    }
    Ok(Linkage::Static)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default())
}

/// An ELF header, one program header of type 1, and one for each dynamic linker.
#[cfg(test)]
pub fn elf(linkers: &[&str]) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    (bytes[32], bytes[54], bytes[56]) = (64, HEADER_SIZE as u8, 1 + linkers.len() as u8);
    bytes.push(1);
    bytes.resize(64 + HEADER_SIZE * (1 + linkers.len()), 0);
    for (index, linker) in linkers.iter().enumerate() {
        let (at, end) = (64 + HEADER_SIZE * (1 + index), bytes.len() as u64);
        bytes[at] = PT_INTERP as u8;
        bytes[at + 8..at + 16].copy_from_slice(&end.to_le_bytes());
        bytes[at + 32..at + 40].copy_from_slice(&(linker.len() as u64 + 1).to_le_bytes());
        bytes.extend(linker.bytes().chain([0]));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_program_names_its_linker_or_is_static() {
        let read = |bytes: Vec<u8>| read_linkage(&mut Cursor::new(bytes)).unwrap();
        assert_eq!(read(elf(&[])), Linkage::Static);
        assert_eq!(read(elf(&["/lib/ld.so"])), Linkage::Linked("/lib/ld.so".into()));
        assert_eq!(read(elf(&["lib/ld.so"])), Linkage::Foreign);
        assert_eq!(read(b"#!/bin/sh\n".repeat(9)), Linkage::Foreign);
    }

    #[test]
    fn what_is_no_program_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let short = directory.path().join("short");
        fs::write(&short, "\x7fELF").unwrap();
        let error = Program::of(short).unwrap_err().to_string();
        assert!(error.ends_with("short is no program for 64-bit Linux"), "{error}");
        let missing = directory.path().join("missing");
        assert!(matches!(Program::of(missing), Err(SystemError::Failed(_))));
        let odd = directory.path().join("odd");
        fs::write(&odd, elf(&["/nosuch/ld.so"])).unwrap();
        let error = Program::of(odd).unwrap_err().to_string();
        assert!(error.starts_with("/nosuch/ld.so --list "), "{error}");
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu", not(target_feature = "crt-static")))]
    fn this_test_is_linked_with_files_that_it_has_mapped() {
        let program = Program::of(std::env::current_exe().unwrap()).unwrap();
        let libraries = program.libraries.unwrap();
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let mapped = |file: &Path| maps.contains(file.canonicalize().unwrap().to_str().unwrap());
        assert!(mapped(&libraries.linker));
        let placed: Vec<_> = libraries.placed(Path::new("/libraries")).collect();
        assert!(placed.iter().all(|(file, _)| mapped(file)), "{placed:?}");
        let libc = Path::new("/libraries/libc.so.6");
        assert!(placed.iter().any(|(_, inside)| inside == libc), "{placed:?}");
    }

    #[test]
    fn lists_of_glibc_and_of_musl_are_read() {
        let library = |name: &str, file: &str| (name.to_owned(), PathBuf::from(file));
        let glibc = "\tlinux-vdso.so.1 (0x00007ffc6a7c5000)\n\
                     \tlibc.so.6 => /lib/x86 (1)/libc.so.6 (0x00007f0f9c3d1000)\n\
                     \t/lib64/ld-linux-x86-64.so.2 (0x00007f0f9c5c5000)\n";
        assert_eq!(parse(glibc), Ok(vec![library("libc.so.6", "/lib/x86 (1)/libc.so.6")]));
        let musl = "\t/lib/ld-musl-x86_64.so.1 (0x7f8)\n\tlibgcc_s.so.1 => /usr/lib/libgcc_s.so.1 (0x7f9)\n";
        assert_eq!(parse(musl), Ok(vec![library("libgcc_s.so.1", "/usr/lib/libgcc_s.so.1")]));
        assert_eq!(parse("\tlibx.so.1 => not found\n"), Err("libx.so.1".to_owned()));
    }

    #[test]
    #[cfg(unix)]
    fn links_are_followed_within_a_root() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("usr/lib64")).unwrap();
        symlink("usr/lib64", path("lib64")).unwrap();
        symlink("/lib/x/ld.so", path("usr/lib64/ld.so")).unwrap();
        symlink("loop", path("loop")).unwrap();
        let resolved = |path: &str| resolve_in(root.path(), Path::new(path));
        assert_eq!(resolved("/lib64/ld.so"), Some("lib/x/ld.so".into()));
        assert_eq!(resolved("/lib64/../../../etc/./x"), Some("etc/x".into()));
        assert_eq!(resolved("/loop/x"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300), elf in any::<bool>()) {
            if elf && bytes.len() > 6 {
                bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
            }
            let _ = read_linkage(&mut Cursor::new(bytes));
        }
    }
}
