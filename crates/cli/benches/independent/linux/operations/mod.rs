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

use crate::linux::operation::Operation;

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
