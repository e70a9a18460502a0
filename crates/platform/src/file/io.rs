//! Ways to read, write, allocate and copy files that differ between operating systems.

use std::fs::File;
use std::path::Path;

use crate::CaseError;

/// The purpose for which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading an existing file.
    Read,
    /// Writing a new file.
    Create,
}

impl Access {
    fn options(self) -> std::fs::OpenOptions {
        let mut options = File::options();
        match self {
            Self::Read => options.read(true),
            Self::Create => options.write(true).create_new(true),
        };
        options
    }
}

/// Opens a file past the system's cache: O_DIRECT, F_NOCACHE on macOS, FILE_FLAG_NO_BUFFERING on Windows. Buffers,
/// lengths and offsets must be multiples of [`crate::file::aligned::ALIGNMENT`].
///
/// # Errors
/// `Unsupported` where the system or the file system cannot do that.
pub fn open_direct(path: &Path, access: Access) -> Result<File, CaseError> {
    os::open_direct(path, &access.options())
}

/// Advises the system that `file` will be read in random order, so that it reads nothing ahead, where it takes such advice.
pub use os::expect_random_reads;

/// Allocates `bytes` for the empty `file`: fallocate(2), on Windows `SetFileInformationByHandle` with the allocated
/// size.
///
/// # Errors
/// Errors of the call; `Unsupported` where there is none.
pub use os::allocate;

/// Makes the allocated `file` empty: ftruncate(2), on Windows `SetFileInformationByHandle` with no allocated bytes.
///
/// # Errors
/// Errors of the call.
pub use os::free_all;

/// The number of bytes that the file system has allocated for `file`; `None` where the system does not report it.
///
/// # Errors
/// Errors of reading a file's metadata.
pub use os::allocated;

/// Copies at most `length` bytes by copy_file_range(2), from and to the files' positions. Returns the number of bytes
/// copied; 0 at the end.
///
/// # Errors
/// Errors of the call; `Unsupported` where there is none.
pub use os::copy_range;

/// Copies at most `length` bytes by sendfile(2), from and to the files' positions, as Linux permits. Returns the number of
/// bytes copied; 0 at the end.
///
/// # Errors
/// Errors of the call; `Unsupported` where there is none.
pub use os::send_file;

/// Makes `to` share all blocks of `from` until one of them is written to (reflink: FICLONE).
///
/// # Errors
/// Errors of the call; `Unsupported` where the system or the file system has no shared blocks.
pub use os::reflink;

/// Copies a file to a new one by `CopyFileExW`.
///
/// # Errors
/// Errors of the call; `Unsupported` where there is none.
pub use os::copy_file_ex;

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod unix {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    pub fn copy_file_ex(_from: &Path, _to: &Path) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "exists only on Windows"))
    }

    #[inline]
    pub fn free_all(file: &File) -> io::Result<()> {
        file.set_len(0)
    }

    pub fn allocated(file: &File) -> io::Result<Option<u64>> {
        const BLOCK: u64 = 512; // unit of st_blocks, whatever the file system's block size
        file.metadata().map(|facts| Some(facts.blocks() * BLOCK))
    }
}

/// Calls that only Linux has.
#[cfg(not(target_os = "linux"))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod linux_only {
    use std::fs::File;
    use std::io;

    pub fn lacking(call: &str) -> io::Error {
        io::Error::new(io::ErrorKind::Unsupported, format!("this system has no {call}"))
    }

    pub fn expect_random_reads(_file: &File) {}

    pub fn copy_range(_from: &File, _to: &File, _length: usize) -> io::Result<usize> {
        Err(lacking("copy_file_range"))
    }

    pub fn send_file(_from: &File, _to: &File, _length: usize) -> io::Result<usize> {
        Err(lacking("sendfile between files"))
    }

    pub fn reflink(_from: &File, _to: &File) -> io::Result<()> {
        Err(lacking("FICLONE"))
    }
}

#[cfg(target_os = "linux")]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::Path;
    use std::ptr::null_mut;

    pub use super::unix::{allocated, copy_file_ex, free_all};
    use crate::CaseError;

    pub fn open_direct(path: &Path, options: &OpenOptions) -> Result<File, CaseError> {
        let opened = options.clone().custom_flags(libc::O_DIRECT).open(path);
        opened.map_err(|e| match e.raw_os_error() {
            Some(libc::EINVAL) => {
                CaseError::Unsupported("this file system has no direct I/O (O_DIRECT)".into())
            }
            _ => CaseError::from_io("opening a file for direct I/O", &e),
        })
    }

    pub fn expect_random_reads(file: &File) {
        // SAFETY: the call has no pointers. It is advice: where it is refused, nothing is lost.
        let _ = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_RANDOM) };
    }

    #[inline]
    pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
        // SAFETY: the call has no pointers.
        match unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, bytes as libc::off_t) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn copied(result: isize) -> io::Result<usize> {
        usize::try_from(result).map_err(|_| io::Error::last_os_error())
    }

    pub fn copy_range(from: &File, to: &File, length: usize) -> io::Result<usize> {
        let (from, to) = (from.as_raw_fd(), to.as_raw_fd());
        // SAFETY: null pointers mean the positions of the files.
        copied(unsafe { libc::copy_file_range(from, null_mut(), to, null_mut(), length, 0) })
    }

    pub fn send_file(from: &File, to: &File, length: usize) -> io::Result<usize> {
        // SAFETY: a null pointer means the position of the file.
        copied(unsafe { libc::sendfile(to.as_raw_fd(), from.as_raw_fd(), null_mut(), length) })
    }

    pub fn reflink(from: &File, to: &File) -> io::Result<()> {
        // SAFETY: the request takes a descriptor, which is open.
        match unsafe { libc::ioctl(to.as_raw_fd(), libc::FICLONE, from.as_raw_fd()) } {
            0 => Ok(()),
            _ => Err(match io::Error::last_os_error() {
                // The file system does not know the request.
                e if matches!(e.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL)) => {
                    let why = "this file system has no shared blocks (FICLONE)";
                    io::Error::new(io::ErrorKind::Unsupported, why)
                }
                e => e,
            }),
        }
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::path::Path;

    use super::linux_only::lacking;
    pub use super::linux_only::{copy_range, expect_random_reads, reflink, send_file};
    pub use super::unix::{allocated, copy_file_ex, free_all};
    use crate::CaseError;

    #[cfg(target_os = "freebsd")]
    pub fn open_direct(path: &Path, options: &OpenOptions) -> Result<File, CaseError> {
        use std::os::unix::fs::OpenOptionsExt;

        let opened = options.clone().custom_flags(libc::O_DIRECT).open(path);
        opened.map_err(|e| CaseError::from_io("opening a file for direct I/O", &e))
    }

    #[cfg(target_os = "macos")]
    pub fn open_direct(path: &Path, options: &OpenOptions) -> Result<File, CaseError> {
        use std::os::fd::AsRawFd;

        let opened = options.open(path);
        let file = opened.map_err(|e| CaseError::from_io("opening a file for direct I/O", &e))?;
        // SAFETY: the call has no pointers.
        match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_NOCACHE, 1) } {
            -1 => Err(CaseError::last_os_error("fcntl F_NOCACHE")),
            _ => Ok(file),
        }
    }

    #[cfg(not(any(target_os = "freebsd", target_os = "macos")))]
    pub fn open_direct(_path: &Path, _options: &OpenOptions) -> Result<File, CaseError> {
        Err(CaseError::Unsupported("this system has no direct I/O".into()))
    }

    pub fn allocate(_file: &File, _bytes: u64) -> io::Result<()> {
        Err(lacking("fallocate"))
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::windows::ffi::OsStrExt;
    use std::os::windows::fs::OpenOptionsExt;
    use std::os::windows::io::AsRawHandle;
    use std::path::Path;
    use std::ptr::{null, null_mut};

    use windows_sys::Win32::Storage::FileSystem::{
        CopyFileExW, FILE_ALLOCATION_INFO, FILE_FLAG_NO_BUFFERING, FileAllocationInfo,
        SetFileInformationByHandle,
    };

    pub use super::linux_only::{copy_range, expect_random_reads, reflink, send_file};
    use crate::CaseError;

    pub fn open_direct(path: &Path, options: &OpenOptions) -> Result<File, CaseError> {
        let opened = options.clone().custom_flags(FILE_FLAG_NO_BUFFERING).open(path);
        opened.map_err(|e| CaseError::from_io("opening a file for direct I/O", &e))
    }

    #[inline]
    pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
        let size = FILE_ALLOCATION_INFO { AllocationSize: bytes as i64 };
        let length = size_of::<FILE_ALLOCATION_INFO>() as u32;
        let place = (&raw const size).cast();
        // SAFETY: the handle is open, and the structure is the one of that class.
        let done = unsafe {
            SetFileInformationByHandle(file.as_raw_handle(), FileAllocationInfo, place, length)
        };
        if done != 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    #[inline]
    pub fn free_all(file: &File) -> io::Result<()> {
        allocate(file, 0)
    }

    pub fn allocated(_file: &File) -> io::Result<Option<u64>> {
        Ok(None)
    }

    pub fn copy_file_ex(from: &Path, to: &Path) -> io::Result<()> {
        const FAIL_IF_EXISTS: u32 = 1;
        let [from, to] =
            [from, to].map(|path| path.as_os_str().encode_wide().chain([0]).collect::<Vec<u16>>());
        // SAFETY: both paths end with NUL; null means no progress routine and no way to cancel.
        let done = unsafe {
            CopyFileExW(from.as_ptr(), to.as_ptr(), None, null(), null_mut(), FAIL_IF_EXISTS)
        };
        if done != 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::io::{Read, Write};

    use super::*;
    use crate::file::aligned::AlignedBuffer;

    fn path(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("oscost-test-io-{name}-{}", std::process::id()))
    }

    #[test]
    fn what_is_written_directly_is_read_directly() {
        let path = path("direct");
        let mut buffer = AlignedBuffer::new(8192);
        buffer.fill(9);
        match open_direct(&path, Access::Create) {
            Err(CaseError::Unsupported(reason)) => println!("{reason}"),
            Err(other) => panic!("{other}"),
            Ok(mut file) => {
                file.write_all(&buffer).unwrap();
                assert!(open_direct(&path, Access::Create).is_err(), "it exists");
                buffer.fill(0);
                open_direct(&path, Access::Read).unwrap().read_exact(&mut buffer).unwrap();
                assert!(buffer.iter().all(|&byte| byte == 9));
                std::fs::remove_file(&path).unwrap();
            }
        }
    }

    #[test]
    fn what_is_allocated_is_freed_again() {
        let path = path("allocated");
        let file = File::create_new(&path).unwrap();
        match allocate(&file, 1 << 20) {
            Err(e) => println!("{e}"),
            Ok(()) => {
                assert!(allocated(&file).unwrap().is_none_or(|bytes| bytes >= 1 << 20));
                free_all(&file).unwrap();
                assert_eq!(file.metadata().unwrap().len(), 0);
                assert!(allocated(&file).unwrap().is_none_or(|bytes| bytes < 1 << 20));
            }
        }
        drop(file);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn all_ways_to_copy_give_the_same_or_a_reason() {
        let [from_path, to_path] = ["from", "to"].map(path);
        std::fs::write(&from_path, vec![5u8; 10_000]).unwrap();
        let expected = std::fs::read(&from_path).unwrap();
        type Copier = fn(&File, &File) -> io::Result<usize>;
        let ways: [(&str, Copier); 3] = [
            ("copy_range", |from, to| copy_range(from, to, 1 << 20)),
            ("send_file", |from, to| send_file(from, to, 1 << 20)),
            ("reflink", |from, to| reflink(from, to).map(|()| 10_000)),
        ];
        for (name, way) in ways {
            let [from, to] = [File::open(&from_path), File::create(&to_path)].map(Result::unwrap);
            match way(&from, &to) {
                Ok(bytes) => {
                    assert_eq!(bytes, 10_000, "{name}");
                    assert_eq!(std::fs::read(&to_path).unwrap(), expected, "{name}");
                }
                Err(e) => {
                    let case_error = CaseError::from_io(name, &e);
                    assert!(matches!(case_error, CaseError::Unsupported(_)), "{case_error}");
                }
            }
        }
        std::fs::remove_file(&to_path).unwrap();
        match copy_file_ex(&from_path, &to_path) {
            Ok(()) => {
                assert_eq!(std::fs::read(&to_path).unwrap(), expected);
                std::fs::remove_file(&to_path).unwrap();
            }
            Err(e) => assert_eq!(e.kind(), io::ErrorKind::Unsupported),
        }
        std::fs::remove_file(&from_path).unwrap();
    }
}
