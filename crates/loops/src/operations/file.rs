//! Files and directories.

use std::ffi::CString;
use std::fs;
use std::hint::black_box;
use std::mem::zeroed;
use std::os::fd::RawFd;
use std::ptr::null_mut;

use crate::calls::{c_path, close, fail, must, open, read, unmap, write};
use crate::operation::{Figure, Operation, Params};
use crate::setting::{Setting, Timed};

const FILES: usize = 2000;
const MIB: usize = 1 << 20;
const LARGE: usize = 32 * MIB;
const NEW: i32 = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;

/// The directory is in memory: ext4 takes the longer to find a free inode, the more inodes were deleted within the last minutes,
/// as other loops do.
const DIR: (&str, &str) = ("dir", "/dev/shm");
const EMPTY: Params = &[("size", "0"), ("files", "2000"), DIR];
const OF_4K: Params = &[("size", "4k"), ("files", "2000"), DIR];

const BUFFERED: Params = &[("mode", "buffered"), ("size", "32m"), DIR];

/// A phase of file/small.
const fn phase(metric: &'static str, params: Params, plain: fn(&Setting) -> Timed) -> Operation {
    Operation { figure: Figure::Rate(metric), ..Operation::new("file/small", params, plain) }
}

pub const OPERATIONS: &[Operation] = &[
    phase("create-rate", EMPTY, |setting| of_files(setting, 0, create, |_| ())),
    phase("create-rate", OF_4K, |setting| of_files(setting, 4096, create, |_| ())),
    phase("stat-rate", EMPTY, |setting| {
        let stat = |files: &Files| files.paths.iter().for_each(stat);
        of_files(setting, 0, stat, create)
    }),
    phase("delete-rate", EMPTY, |setting| {
        let delete = |files: &Files| files.paths.iter().for_each(unlink);
        of_files(setting, 0, delete, create)
    }),
    Operation::new("file/mkdir-rmdir", &[], |setting| {
        let path = c_path(&setting.folder().join("folder"));
        setting.repeat(|| {
            // SAFETY: the path ends with NUL.
            unsafe {
                must("mkdir", libc::mkdir(path.as_ptr(), 0o700));
                must("rmdir", libc::rmdir(path.as_ptr()));
            }
        })
    }),
    Operation::new("file/stat-missing", &[], |setting| {
        let path = c_path(&setting.folder().join("missing"));
        setting.repeat(|| {
            // SAFETY: an all-zero status is valid; the path ends with NUL.
            let result = unsafe {
                let mut status: libc::stat = zeroed();
                libc::stat(path.as_ptr(), &mut status)
            };
            assert_eq!(result, -1, "there is no such file");
        })
    }),
    Operation::new("file/truncate", &[], |setting| {
        let file = open(&c_path(&setting.folder().join("file")), NEW);
        let mut length = 0;
        setting.repeat(|| {
            length ^= 4096;
            // SAFETY: takes numbers only.
            must("ftruncate", unsafe { libc::ftruncate(file, length) });
        })
    }),
    Operation::new("file/fallocate", &[("size", "1m")], |setting| {
        let file = open(&c_path(&setting.folder().join("file")), NEW);
        setting.repeat(|| {
            // SAFETY: takes numbers only.
            unsafe {
                must("fallocate", libc::fallocate(file, 0, 0, MIB as i64));
                must("ftruncate", libc::ftruncate(file, 0));
            }
        })
    }),
    Operation::new("file/mmap", &[("size", "64k")], |setting| {
        const SIZE: usize = 64 << 10;
        let file = written(setting, "file", SIZE);
        setting.repeat(|| {
            // SAFETY: a new mapping, wherever the kernel puts it; all of its bytes are within the file.
            unsafe {
                let memory =
                    libc::mmap(null_mut(), SIZE, libc::PROT_READ, libc::MAP_SHARED, file, 0);
                if memory == libc::MAP_FAILED {
                    fail("mmap");
                }
                for at in (0..SIZE).step_by(4096) {
                    black_box(memory.cast::<u8>().add(at).read_volatile());
                }
                unmap(memory.cast(), SIZE);
            }
        })
    }),
    Operation::new("file/sequential-read", BUFFERED, |setting| {
        let (file, mut piece) = (written(setting, "file", LARGE), vec![1u8; MIB]);
        setting.once(1, || (0..LARGE / MIB).for_each(|_| read(file, &mut piece)))
    }),
    Operation::new("file/copy", &[("how", "read+write"), ("size", "32m"), DIR], |setting| {
        let (old, mut piece) = (written(setting, "file", LARGE), vec![1u8; 256 << 10]);
        let new = open(&c_path(&setting.folder().join("copy")), NEW);
        setting.once(1, || {
            for _ in 0..LARGE / piece.len() {
                read(old, &mut piece);
                write(new, &piece);
            }
        })
    }),
];

/// Files of one directory.
struct Files {
    paths: Vec<CString>,
    contents: Vec<u8>,
}

/// Times `phase` for all files of a new directory, after `before`. Only one directory is used: the first files of a process take
/// up to twice as long as later ones, and oscost measures a process's first.
fn of_files(setting: &Setting, size: usize, phase: fn(&Files), before: fn(&Files)) -> Timed {
    let path = |number| c_path(&setting.folder().join(format!("{number:05}")));
    let files = Files { paths: (0..FILES).map(path).collect(), contents: vec![7; size] };
    before(&files);
    setting.once(FILES as u64, || phase(&files))
}

fn create(files: &Files) {
    for path in &files.paths {
        let file = open(path, NEW);
        if !files.contents.is_empty() {
            write(file, &files.contents);
        }
        close(file);
    }
}

fn stat(path: &CString) {
    // SAFETY: an all-zero status is valid, and the call overwrites it; the path ends with NUL.
    unsafe {
        let mut status: libc::stat = zeroed();
        must("stat", libc::stat(path.as_ptr(), &mut status));
        black_box(status);
    }
}

fn unlink(path: &CString) {
    // SAFETY: the path ends with NUL.
    must("unlink", unsafe { libc::unlink(path.as_ptr()) });
}

/// A new file of this size, open for reading, which is cached because it was just written.
fn written(setting: &Setting, name: &str, size: usize) -> RawFd {
    let path = setting.folder().join(name);
    fs::write(&path, vec![7u8; size]).expect("space for a file");
    open(&c_path(&path), libc::O_RDONLY)
}
