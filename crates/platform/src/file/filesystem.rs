//! File systems: type and free space, and the operations on files that differ between operating systems.

use std::path::PathBuf;

/// A file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// Type, such as `ext4`, `tmpfs`, `NTFS`.
    pub kind: Option<String>,
    /// Device, such as `/dev/vda1`, or the name that the system shows instead.
    pub device: Option<String>,
    /// Mount point.
    pub mounted_on: Option<PathBuf>,
    /// Mount options, as the system writes them.
    pub options: Option<String>,
    /// Free space.
    pub room: Room,
}

/// The free space of a file system for this user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Block size, in bytes: files occupy whole blocks.
    pub block_bytes: u64,
    /// Free bytes for this user.
    pub free_bytes: u64,
    /// Number of files that can still be created; `None` if the file system has no fixed number.
    pub free_files: Option<u64>,
}

/// The file system that holds `directory`.
///
/// # Errors
/// If `directory` does not exist or is not accessible.
pub use os::of;

/// Checks whether this user may create files in `directory`, without creating one.
///
/// # Errors
/// If this user may not, as far as the system reports it.
pub use os::may_write_to;

/// The free space in `directory`.
///
/// # Errors
/// See [`of`].
pub use os::room_in;

/// A directory opened for [`File::sync_all`](std::fs::File::sync_all), which makes its entries durable.
///
/// # Errors
/// `Unsupported` where the system cannot do that.
pub use os::directory_to_sync;

/// The number of entries of `directory`, read by the most direct call.
///
/// # Errors
/// Errors of reading a directory.
pub use os::count_entries;

/// Reads from `file` at `offset`, in one call; 0 bytes at the end. Threads may share the file; on Windows this changes
/// its position.
///
/// # Errors
/// Errors of reading a file.
pub use os::read_at;

/// Drops the contents of `file` from the system's cache, and verifies that. They must have been written to the device
/// before.
///
/// # Errors
/// `Unsupported` where the system cannot drop the contents, or kept them.
pub use os::drop_contents;

/// Drops all clean entries from the system's caches: contents, names and inodes, of all programs.
///
/// # Errors
/// `Unsupported` where the system cannot, or does not permit it to this user.
pub use os::drop_everything;

/// Makes the file system place directories that will be created in `directory` apart from one another, where it has such a
/// flag (`chattr +T`: ext2 to ext4).
///
/// ext4 does not reuse an inode within minutes of its deletion, and skips each deleted one when it creates a file in that
/// block group: 20 times as slow after the deletion of thousands of files.
pub use os::spread_directories_of;

/// Whether a file system of that type is in memory only.
pub fn is_in_memory(kind: &str) -> bool {
    matches!(kind, "tmpfs" | "ramfs" | "devtmpfs" | "mfs")
}

/// Whether a file system of that type has a cache that no program can reliably empty: its own, or another machine's.
pub fn keeps_own_cache(kind: &str) -> bool {
    const KINDS: [&str; 12] = [
        "zfs",
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "9p",
        "ceph",
        "virtiofs",
        "glusterfs",
        "afs",
        "vboxsf",
        "lustre",
    ];
    KINDS.contains(&kind) || kind.starts_with("fuse")
}

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod unix {
    use std::ffi::CString;
    use std::fs::File;
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use super::Room;
    use crate::CaseError;

    pub fn c_path(path: &Path) -> io::Result<CString> {
        CString::new(path.as_os_str().as_bytes()).map_err(|e| io::Error::other(e.to_string()))
    }

    pub fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(file, into, offset)
    }

    pub fn room_in(directory: &Path) -> io::Result<Room> {
        let path = c_path(directory)?;
        // SAFETY: an all-zero structure is valid, the path ends with NUL, and the call fills the structure.
        let stat = unsafe {
            let mut stat: libc::statvfs = std::mem::zeroed();
            match libc::statvfs(path.as_ptr(), &mut stat) {
                0 => stat,
                _ => return Err(io::Error::last_os_error()),
            }
        };
        let block_bytes = if stat.f_frsize > 0 { stat.f_frsize } else { stat.f_bsize } as u64;
        Ok(Room {
            block_bytes,
            free_bytes: (stat.f_bavail as u64).saturating_mul(block_bytes),
            free_files: (stat.f_files > 0).then_some(stat.f_favail as u64),
        })
    }

    pub fn may_write_to(directory: &Path) -> io::Result<()> {
        let path = c_path(directory)?;
        // SAFETY: the path ends with NUL.
        match unsafe { libc::access(path.as_ptr(), libc::W_OK | libc::X_OK) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub fn directory_to_sync(directory: &Path) -> Result<File, CaseError> {
        File::open(directory)
            .map_err(|e| CaseError::from_io("opening the directory to sync it", &e))
    }
}

#[cfg(target_os = "linux")]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    use super::FileSystem;
    pub use super::unix::{directory_to_sync, may_write_to, read_at, room_in};
    use crate::CaseError;
    use crate::linux::tree::unescaped;

    pub fn of(directory: &Path) -> io::Result<FileSystem> {
        let path = directory.canonicalize()?;
        let device = path.metadata()?.dev();
        let number = format!("{}:{}", libc::major(device), libc::minor(device));
        let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mounts: Vec<Mount> = text.lines().filter_map(Mount::parse).collect();
        let mount = mount_of(&mounts, &path, &number);
        Ok(FileSystem {
            kind: mount.map(|mount| mount.kind.clone()),
            device: mount.map(|mount| mount.device.clone()),
            mounted_on: mount.map(|mount| mount.point.clone()),
            options: mount.map(|mount| mount.options.clone()),
            room: room_in(directory)?,
        })
    }

    /// A line of `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
    #[derive(Debug, PartialEq)]
    pub(super) struct Mount {
        number: String,
        pub point: PathBuf,
        pub options: String,
        pub kind: String,
        pub device: String,
    }

    impl Mount {
        pub fn parse(line: &str) -> Option<Self> {
            let (mount, file_system) = line.split_once(" - ")?;
            let mut mount = mount.split(' ').skip(2);
            let (number, _root) = (mount.next()?.to_owned(), mount.next()?);
            let (point, own) = (unescaped(mount.next()?.as_bytes()), mount.next()?);
            let mut file_system = file_system.split(' ');
            let (kind, device) = (file_system.next()?, file_system.next()?);
            // The file system's own options repeat some of the mount's.
            let mut options: Vec<&str> = own.split(',').collect();
            for option in file_system.next().unwrap_or_default().split(',') {
                if !option.is_empty() && !options.contains(&option) {
                    options.push(option);
                }
            }
            let [kind, device] = [kind, device]
                .map(|text| unescaped(text.as_bytes()).to_string_lossy().into_owned());
            Some(Self { number, point, options: options.join(","), kind, device })
        }
    }

    /// The mount that `path` is on: the deepest mount point, and the last mount on it; preferably one of that device (some
    /// file systems give files a device number that no mount has).
    pub(super) fn mount_of<'a>(
        mounts: &'a [Mount],
        path: &Path,
        number: &str,
    ) -> Option<&'a Mount> {
        let above = || mounts.iter().filter(|mount| path.starts_with(&mount.point));
        let depth = |mount: &&Mount| mount.point.components().count();
        above()
            .filter(|m| m.number == number)
            .max_by_key(depth)
            .or_else(|| above().max_by_key(depth))
    }

    pub fn count_entries(directory: &Path) -> io::Result<usize> {
        const BYTES: usize = 32 << 10; // size of the C library's buffer
        // An array of words, for the alignment of the entries.
        let mut buffer = [0u64; BYTES / 8];
        let opened = File::open(directory)?;
        let mut count = 0;
        loop {
            // SAFETY: the buffer is writable and of the stated size.
            let got = unsafe {
                libc::syscall(
                    libc::SYS_getdents64,
                    opened.as_raw_fd(),
                    buffer.as_mut_ptr(),
                    size_of_val(&buffer),
                )
            };
            match got {
                0 => return Ok(count),
                1.. => count += entries_in(&buffer, got as usize),
                _ => return Err(io::Error::last_os_error()),
            }
        }
    }

    /// The number of entries, except `.` and `..`, in the first `bytes` that getdents64(2) returned.
    fn entries_in(buffer: &[u64], bytes: usize) -> usize {
        const LENGTH_AT: usize = 16; // after the inode and the offset
        const NAME_AT: usize = 19; // after the length and the type
        let byte = |at: usize| buffer[at / 8].to_ne_bytes()[at % 8];
        let (mut at, mut count) = (0, 0);
        while at + NAME_AT < bytes {
            let length = u16::from_ne_bytes([byte(at + LENGTH_AT), byte(at + LENGTH_AT + 1)]);
            let name = [0, 1, 2].map(|nth| byte(at + NAME_AT + nth));
            let is_dots = name[0] == b'.' && (name[1] == 0 || (name[1] == b'.' && name[2] == 0));
            count += usize::from(!is_dots);
            at += usize::from(length.max(1));
        }
        count
    }

    pub fn spread_directories_of(directory: &Path) {
        const TOP_DIRECTORY: libc::c_long = 0x0002_0000; // FS_TOPDIR_FL of linux/fs.h
        let Ok(opened) = File::open(directory) else { return };
        let mut flags: libc::c_long = 0;
        // SAFETY: both requests get a valid pointer; the kernel reads or writes an int there, which fits.
        unsafe {
            if libc::ioctl(opened.as_raw_fd(), libc::FS_IOC_GETFLAGS, &mut flags) == 0 {
                flags |= TOP_DIRECTORY;
                // The call fails on file systems without the flag, which do not need it.
                libc::ioctl(opened.as_raw_fd(), libc::FS_IOC_SETFLAGS, &flags);
            }
        }
    }

    pub fn drop_contents(file: &File) -> Result<(), CaseError> {
        let length = file.metadata()?.len() as usize;
        // SAFETY: the call has no pointers; the descriptor is open.
        let error =
            unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        if error != 0 {
            return Err(CaseError::from_io("posix_fadvise", &io::Error::from_raw_os_error(error)));
        }
        match pages_kept(file, length)? {
            0 => Ok(()),
            kept => Err(CaseError::Unsupported(format!(
                "{kept} pages of a file stayed in the cache when it was to be dropped"
            ))),
        }
    }

    /// The number of a file's pages in the page cache (mincore(2)).
    pub(super) fn pages_kept(file: &File, length: usize) -> Result<usize, CaseError> {
        if length == 0 {
            return Ok(0);
        }
        // SAFETY: a new mapping that is only queried, never read, and unmapped again; the vector has a byte for
        // each page.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE).max(1) as usize;
            let mut there = vec![0u8; length.div_ceil(page)];
            let (read, shared) = (libc::PROT_READ, libc::MAP_SHARED);
            let none = std::ptr::null_mut();
            let place = libc::mmap(none, length, read, shared, file.as_raw_fd(), 0);
            if place == libc::MAP_FAILED {
                return Err(CaseError::last_os_error("mmap of a file"));
            }
            let result = libc::mincore(place, length, there.as_mut_ptr());
            let case_error = CaseError::last_os_error("mincore");
            libc::munmap(place, length);
            match result {
                0 => Ok(there.iter().filter(|&&page| page & 1 == 1).count()),
                _ => Err(case_error),
            }
        }
    }

    pub fn drop_everything() -> Result<(), CaseError> {
        // Contents, names and inodes (proc_sys_vm(5)).
        std::fs::write("/proc/sys/vm/drop_caches", "3").map_err(|e| {
            CaseError::Unsupported(format!("/proc/sys/vm/drop_caches may not be written: {e}"))
        })
    }
}

#[cfg(not(target_os = "linux"))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod elsewhere {
    use std::io;
    use std::path::Path;

    pub fn count_entries(directory: &Path) -> io::Result<usize> {
        std::fs::read_dir(directory)?.try_fold(0, |count, entry| entry.map(|_| count + 1))
    }

    pub fn spread_directories_of(_directory: &Path) {}
}

#[cfg(all(unix, not(target_os = "linux")))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::ffi::{CStr, OsStr};
    use std::fs::File;
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    use super::FileSystem;
    pub use super::elsewhere::{count_entries, spread_directories_of};
    use super::unix::c_path;
    pub use super::unix::{directory_to_sync, may_write_to, read_at, room_in};
    use crate::CaseError;

    pub fn of(directory: &Path) -> io::Result<FileSystem> {
        let path = c_path(directory)?;
        // SAFETY: an all-zero structure is valid, the path ends with NUL, and the call fills the structure.
        let stat = unsafe {
            let mut stat: libc::statfs = std::mem::zeroed();
            match libc::statfs(path.as_ptr(), &mut stat) {
                0 => stat,
                _ => return Err(io::Error::last_os_error()),
            }
        };
        // SAFETY: the system ends these names with NUL, within the structure.
        let word =
            |name: &[libc::c_char]| unsafe { CStr::from_ptr(name.as_ptr()) }.to_bytes().to_vec();
        let text = |name: &[libc::c_char]| String::from_utf8_lossy(&word(name)).into_owned();
        let flags = [
            (libc::MNT_RDONLY as u64, "read-only"),
            (libc::MNT_SYNCHRONOUS as u64, "synchronous"),
            (libc::MNT_ASYNC as u64, "asynchronous"),
            (libc::MNT_NOATIME as u64, "noatime"),
        ];
        let set = flags.iter().filter(|(flag, _)| stat.f_flags as u64 & flag != 0);
        let options: Vec<&str> = set.map(|(_, name)| *name).collect();
        Ok(FileSystem {
            kind: Some(text(&stat.f_fstypename)),
            device: Some(text(&stat.f_mntfromname)),
            mounted_on: Some(PathBuf::from(OsStr::from_bytes(&word(&stat.f_mntonname)))),
            options: Some(options.join(",")),
            room: room_in(directory)?,
        })
    }

    pub fn drop_contents(_file: &File) -> Result<(), CaseError> {
        Err(CaseError::Unsupported(
            "this system has no call that drops a file from its cache".into(),
        ))
    }

    pub fn drop_everything() -> Result<(), CaseError> {
        Err(CaseError::Unsupported("this system has no call that empties its caches".into()))
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::fs::File;
    use std::io;
    use std::os::windows::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    use windows_sys::Win32::Storage::FileSystem::{
        GetDiskFreeSpaceExW, GetDiskFreeSpaceW, GetVolumeInformationW, GetVolumePathNameW,
    };

    pub use super::elsewhere::{count_entries, spread_directories_of};
    use super::{FileSystem, Room};
    use crate::CaseError;

    const LONGEST: usize = 1024;

    fn wide(path: &Path) -> Vec<u16> {
        path.as_os_str().encode_wide().chain([0]).collect()
    }

    fn text(wide: &[u16]) -> String {
        let end = wide.iter().position(|&unit| unit == 0).unwrap_or(wide.len());
        String::from_utf16_lossy(&wide[..end])
    }

    /// The root of the volume that a path is on, such as `C:\`.
    fn volume_of(directory: &Path) -> io::Result<String> {
        let (path, mut root) = (wide(&std::path::absolute(directory)?), [0u16; LONGEST]);
        // SAFETY: the path ends with NUL, and the buffer has the stated length.
        match unsafe { GetVolumePathNameW(path.as_ptr(), root.as_mut_ptr(), LONGEST as u32) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(text(&root)),
        }
    }

    pub fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(file, into, offset)
    }

    pub fn of(directory: &Path) -> io::Result<FileSystem> {
        directory.metadata()?;
        let root = volume_of(directory)?;
        let (mut kind, mut flags) = ([0u16; LONGEST], 0u32);
        let none = std::ptr::null_mut;
        // SAFETY: the path ends with NUL, the buffer has the stated length, and null asks for nothing.
        let result = unsafe {
            GetVolumeInformationW(
                wide(Path::new(&root)).as_ptr(),
                none(),
                0,
                none().cast(),
                none().cast(),
                &mut flags,
                kind.as_mut_ptr(),
                LONGEST as u32,
            )
        };
        const READ_ONLY_VOLUME: u32 = 0x0008_0000;
        let options = if flags & READ_ONLY_VOLUME != 0 { "read-only" } else { "" };
        Ok(FileSystem {
            kind: (result != 0).then(|| text(&kind)),
            device: Some(root.clone()),
            mounted_on: Some(PathBuf::from(root)),
            options: (result != 0).then(|| options.to_owned()),
            room: room_in(directory)?,
        })
    }

    /// Checks only that the directory exists: access control lists depend on many conditions, which only creating a file
    /// would show.
    pub fn may_write_to(directory: &Path) -> io::Result<()> {
        directory.metadata().map(drop)
    }

    pub fn room_in(directory: &Path) -> io::Result<Room> {
        let mut free_bytes = 0u64;
        let path = wide(&std::path::absolute(directory)?);
        let none = std::ptr::null_mut();
        // SAFETY: the path ends with NUL, and `free_bytes` is a valid place.
        if unsafe { GetDiskFreeSpaceExW(path.as_ptr(), &mut free_bytes, none, none) } == 0 {
            return Err(io::Error::last_os_error());
        }
        let root = wide(Path::new(&volume_of(directory)?));
        let (mut sectors, mut bytes, mut free, mut all) = (0, 0, 0, 0);
        // SAFETY: the path ends with NUL, and all four are valid places.
        let result = unsafe {
            GetDiskFreeSpaceW(root.as_ptr(), &mut sectors, &mut bytes, &mut free, &mut all)
        };
        let block_bytes = if result != 0 { u64::from(sectors) * u64::from(bytes) } else { 4096 };
        Ok(Room { block_bytes: block_bytes.max(1), free_bytes, free_files: None })
    }

    pub fn directory_to_sync(_directory: &Path) -> Result<File, CaseError> {
        Err(CaseError::Unsupported("Windows has no call that syncs a directory".into()))
    }

    pub fn drop_contents(_file: &File) -> Result<(), CaseError> {
        Err(CaseError::Unsupported("Windows has no call that drops a file from its cache".into()))
    }

    pub fn drop_everything() -> Result<(), CaseError> {
        Err(CaseError::Unsupported("Windows has no call that empties its caches".into()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_temporary_folder_is_on_a_file_system_with_room() {
        let facts = of(&std::env::temp_dir()).unwrap();
        assert!(facts.kind.is_some_and(|kind| !kind.is_empty()));
        assert!(facts.room.free_bytes > 0 && facts.room.block_bytes > 0);
        assert!(of(Path::new("/no/such/folder")).is_err());
    }

    #[test]
    fn a_file_is_read_at_an_offset() {
        let path = std::env::temp_dir().join(format!("oscost-test-at-{}", std::process::id()));
        std::fs::write(&path, b"0123456789").unwrap();
        let file = File::open(&path).unwrap();
        let mut into = [0; 4];
        let read = [3, 8, 10, 0].map(|at| {
            let octets = read_at(&file, &mut into, at).unwrap();
            String::from_utf8_lossy(&into[..octets]).into_owned()
        });
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read, ["3456", "89", "", "0123"]);
    }

    #[test]
    fn entries_are_counted_without_the_dots() {
        let folder =
            std::env::temp_dir().join(format!("oscost-test-entries-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        for number in 0..1_234 {
            File::create(folder.join(format!("{number}"))).unwrap();
        }
        File::create(folder.join("..three dots")).unwrap();
        let count = count_entries(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(count.unwrap(), 1_235);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_deepest_mount_of_the_right_device_is_found() {
        let mounts: Vec<os::Mount> = [
            "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro",
            "23 22 0:30 / /a\\040b rw - tmpfs none rw,size=8k",
            "24 22 0:31 / /a\\040b ro,noexec - xfs /dev/sdb ro,noquota",
            "no mount",
        ]
        .iter()
        .filter_map(|line| os::Mount::parse(line))
        .collect();
        assert_eq!(mounts.len(), 3);
        let of = |path: &str, number| os::mount_of(&mounts, Path::new(path), number).unwrap();
        assert_eq!(of("/home", "8:1").options, "rw,relatime,errors=remount-ro");
        assert_eq!(of("/a b/c", "0:31").kind, "xfs");
        assert_eq!(of("/a b/c", "0:30").kind, "tmpfs");
        assert_eq!(of("/a bc", "8:1").device, "/dev/sda1");
        // Subvolumes of btrfs have device numbers that no mount has.
        assert_eq!(of("/a b/c", "0:99").point, Path::new("/a b"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn contents_in_memory_only_cannot_be_dropped() {
        use crate::CaseError;

        let path = Path::new("/dev/shm").join(format!("oscost-test-drop-{}", std::process::id()));
        let written = std::fs::write(&path, [7u8; 9_000]);
        if testing::skip_unless(written.is_ok(), "/dev/shm cannot be written to") {
            return;
        }
        let file = File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(os::pages_kept(&file, 9_000).unwrap(), 3);
        let case_error = drop_contents(&file).unwrap_err();
        assert!(
            matches!(&case_error, CaseError::Unsupported(why) if why.contains("3 pages")),
            "{case_error}"
        );
    }
}
