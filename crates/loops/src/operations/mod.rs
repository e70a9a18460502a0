//! Operations by area. Each is written from the text that `oscost list --long CASE` prints.

mod atomic;
mod clock;
mod concurrency;
mod file;
mod ipc;
mod lock;
mod memory;
mod net;
mod process;
mod signal;
mod switch;
mod syscall;
mod thread;
mod timer;

use crate::operation::Operation;

const AREAS: &[&[Operation]] = &[
    clock::OPERATIONS,
    syscall::OPERATIONS,
    memory::OPERATIONS,
    atomic::OPERATIONS,
    signal::OPERATIONS,
    timer::OPERATIONS,
    lock::OPERATIONS,
    process::OPERATIONS,
    thread::OPERATIONS,
    switch::OPERATIONS,
    ipc::OPERATIONS,
    concurrency::OPERATIONS,
    file::OPERATIONS,
    net::OPERATIONS,
];

/// All operations.
pub fn all() -> impl Iterator<Item = &'static Operation> {
    AREAS.iter().copied().flatten()
}

/// The operation with this name.
pub fn named(name: &str) -> Option<&'static Operation> {
    all().find(|operation| operation.to_string() == name)
}

/// Operations that are compared inside other systems unless others are asked for: their names.
pub const INSIDE: &[&str] = &[
    "syscall/getppid",
    "syscall/read-1",
    "syscall/pread-4k",
    "syscall/open-close",
    "syscall/stat",
    "file/stat-missing",
    "memory/fault-anonymous",
    "memory/mmap-munmap size=4k touch=no",
    "memory/mmap-munmap size=4k touch=yes",
    "switch/pipe as=processes place=same",
    "switch/pipe as=threads place=same",
    "switch/futex as=processes place=same",
    "ipc/pipe message=1 as=processes place=same",
    "ipc/tcp message=1 as=processes place=same",
    "process/fork",
    "process/fork-exec program=static",
    "process/posix-spawn program=static",
    "thread/pthread-create threads=1",
    "file/mkdir-rmdir",
    "file/small size=0 files=2000 dir=/dev/shm 1/create-rate",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_those_inside_systems_exist() {
        let mut names: Vec<String> = all().map(ToString::to_string).collect();
        names.sort();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        INSIDE.iter().for_each(|name| assert!(named(name).is_some(), "{name}"));
        assert!(INSIDE.len() >= 15);
    }
}
