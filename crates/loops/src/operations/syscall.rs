//! System calls that do not wait.

use std::ffi::CString;
use std::hint::black_box;
use std::mem::zeroed;
use std::os::fd::RawFd;
use std::path::Path;

use crate::calls::{c_path, close, must, open, read, socket_pair, write};
use crate::operation::Operation;
use crate::setting::Setting;

pub const OPERATIONS: &[Operation] = &[
    Operation::new("syscall/getppid", &[], |setting| {
        setting.repeat(|| {
            // SAFETY: the call takes no arguments.
            black_box(unsafe { libc::getppid() });
        })
    }),
    Operation::new("syscall/getrusage", &[], |setting| {
        setting.repeat(|| {
            // SAFETY: an all-zero usage is valid, and the call overwrites it.
            unsafe {
                let mut usage: libc::rusage = zeroed();
                must("getrusage", libc::getrusage(libc::RUSAGE_SELF, &mut usage));
                black_box(usage);
            }
        })
    }),
    Operation::new("syscall/lseek", &[], |setting| {
        let file = open_program(setting);
        setting.repeat(|| {
            // SAFETY: takes numbers only.
            must("lseek", unsafe { libc::lseek(file, 0, libc::SEEK_SET) });
        })
    }),
    Operation::new("syscall/read-1", &[], |setting| {
        let (file, mut byte) = (open(&c_path(Path::new("/dev/zero")), libc::O_RDONLY), [1]);
        setting.repeat(|| read(file, &mut byte))
    }),
    Operation::new("syscall/write-1", &[], |setting| {
        let file = open(&c_path(Path::new("/dev/null")), libc::O_WRONLY);
        setting.repeat(|| write(file, &[1]))
    }),
    Operation::new("syscall/pread-4k", &[], |setting| {
        let (file, mut page) = (open_program(setting), [0u8; 4096]);
        setting.repeat(|| {
            // SAFETY: pointer and length describe `page`.
            let got = unsafe { libc::pread(file, page.as_mut_ptr().cast(), page.len(), 0) };
            black_box(must("pread", got));
        })
    }),
    Operation::new("syscall/pwrite-4k", &[], |setting| {
        let file = open(&c_path(&setting.folder().join("file")), libc::O_RDWR | libc::O_CREAT);
        let page = [7u8; 4096];
        setting.repeat(|| {
            // SAFETY: pointer and length describe `page`.
            let put = unsafe { libc::pwrite(file, page.as_ptr().cast(), page.len(), 0) };
            black_box(must("pwrite", put));
        })
    }),
    Operation::new("syscall/fstat", &[], |setting| {
        let file = open_program(setting);
        setting.repeat(|| {
            // SAFETY: an all-zero status is valid, and the call overwrites it.
            unsafe {
                let mut status: libc::stat = zeroed();
                must("fstat", libc::fstat(file, &mut status));
                black_box(status);
            }
        })
    }),
    Operation::new("syscall/stat", &[], |setting| {
        let path = program(setting);
        setting.repeat(|| {
            // SAFETY: an all-zero status is valid, and the call overwrites it; the path ends with NUL.
            unsafe {
                let mut status: libc::stat = zeroed();
                must("stat", libc::stat(path.as_ptr(), &mut status));
                black_box(status);
            }
        })
    }),
    Operation::new("syscall/open-close", &[], |setting| {
        let path = program(setting);
        setting.repeat(|| close(open(&path, libc::O_RDONLY)))
    }),
    Operation::new("syscall/dup-close", &[], |setting| {
        let file = open_program(setting);
        // SAFETY: takes a number only.
        setting.repeat(|| close(must("dup", unsafe { libc::dup(file) })))
    }),
    Operation::new("syscall/link-unlink", &[], |setting| {
        let [first, second] = ["first", "second"].map(|name| c_path(&setting.folder().join(name)));
        close(open(&first, libc::O_WRONLY | libc::O_CREAT));
        setting.repeat(|| {
            // SAFETY: both paths end with NUL.
            unsafe {
                must("link", libc::link(first.as_ptr(), second.as_ptr()));
                must("unlink", libc::unlink(second.as_ptr()));
            }
        })
    }),
    Operation::new("syscall/eventfd", &[], |setting| {
        // SAFETY: takes numbers only.
        let event = must("eventfd", unsafe { libc::eventfd(0, 0) });
        let mut number = 1u64.to_ne_bytes();
        setting.repeat(|| {
            write(event, &number);
            read(event, &mut number);
        })
    }),
    Operation::new("syscall/select", &[("fds", "100")], |setting| {
        let sockets = idle_sockets(100);
        // SAFETY: an all-zero set is empty; a process begins with few open descriptors, so that these numbers are below the size
        // of a set.
        let watched = unsafe {
            let mut set: libc::fd_set = zeroed();
            sockets.iter().for_each(|&socket| libc::FD_SET(socket, &mut set));
            set
        };
        let count = sockets.iter().max().expect("there are sockets") + 1;
        setting.repeat(|| {
            let mut set = watched;
            let mut timeout = libc::timeval { tv_sec: 0, tv_usec: 0 };
            let none = std::ptr::null_mut();
            // SAFETY: the set has the descriptors that it watches, and the other pointers are valid or null.
            must("select", unsafe { libc::select(count, &mut set, none, none, &mut timeout) });
            black_box(set);
        })
    }),
    Operation::new("syscall/poll", &[("fds", "100")], |setting| {
        let watched = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut entries: Vec<libc::pollfd> = idle_sockets(100).into_iter().map(watched).collect();
        setting.repeat(|| {
            // SAFETY: pointer and count describe the entries.
            must("poll", unsafe { libc::poll(entries.as_mut_ptr(), 100, 0) });
        })
    }),
    Operation::new("syscall/epoll-wait", &[("fds", "100")], |setting| {
        // SAFETY: takes a number only.
        let epoll = must("epoll_create1", unsafe { libc::epoll_create1(0) });
        for socket in idle_sockets(100) {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            // SAFETY: the event is valid.
            must("epoll_ctl", unsafe {
                libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, socket, &mut event)
            });
        }
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 16];
        setting.repeat(|| {
            // SAFETY: there is space for 16 events.
            must("epoll_wait", unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), 16, 0) });
        })
    }),
    Operation::new("syscall/proc-read", &[], |setting| {
        let (path, mut text) = (c_path(Path::new("/proc/self/stat")), [0u8; 4096]);
        setting.repeat(|| {
            let file = open(&path, libc::O_RDONLY);
            // SAFETY: pointer and length describe `text`.
            must("read", unsafe { libc::read(file, text.as_mut_ptr().cast(), text.len()) });
            close(file);
        })
    }),
];

/// Path of the program that oscost's cases open, or one as deep, because the depth of its path matters.
fn program(setting: &Setting) -> CString {
    c_path(setting.program())
}

fn open_program(setting: &Setting) -> RawFd {
    open(&program(setting), libc::O_RDONLY)
}

/// Connected Unix-domain sockets, `count` of them, that never receive data.
fn idle_sockets(count: usize) -> Vec<RawFd> {
    (0..count / 2).flat_map(|_| socket_pair(libc::SOCK_STREAM)).collect()
}
