//! Scaling of operations that several workers carry out at the same time, as threads or processes, on objects of their own or on
//! the same one.

mod brk;
mod create_unlink;
mod dup_close;
mod eventfd;
mod fallocate;
mod fcntl_lock;
mod futex_wake;
mod getppid;
mod lseek;
mod malloc;
mod mmap_munmap;
mod mprotect;
mod open_close;
mod page_fault;
mod page_fault_file;
mod pipe;
mod poll;
mod pread_4k;
mod pwrite_4k;
mod read_seek;
mod sched_yield;
mod set_event;
mod signal;
mod unix_stream;
mod workers;

pub(crate) use crate::scaled::*;
pub use crate::scaled::{SCALING, scale};

use crate::{Area, Case, Counterpart};

/// The area.
pub static AREA: Area = Area {
    includes,
    extended: &[
        "scale/brk",
        "scale/dup-close",
        "scale/eventfd",
        "scale/fallocate",
        "scale/fcntl-lock",
        "scale/lseek",
        "scale/mprotect",
        "scale/page-fault-file",
        "scale/pipe",
        "scale/poll",
        "scale/pread-4k",
        "scale/read-seek",
        "scale/sched-yield",
        "scale/signal",
        "scale/unix-stream",
    ],
    repeats: true,
    counterparts: &[Counterpart::cases("scale/eventfd", "scale/set-event")],
    derived: &[workers::worker_scaling],
    ..Area::new("scale", CASES)
};

/// Cases of the area.
const CASES: &[&Case] = &[
    &getppid::CASE,
    &sched_yield::CASE,
    &open_close::CASE,
    &create_unlink::CASE,
    &lseek::CASE,
    &pread_4k::CASE,
    &pwrite_4k::CASE,
    &read_seek::CASE,
    &fallocate::CASE,
    &fcntl_lock::CASE,
    &dup_close::CASE,
    &poll::CASE,
    &eventfd::CASE,
    &pipe::CASE,
    &unix_stream::CASE,
    &futex_wake::CASE,
    &signal::CASE,
    &malloc::CASE,
    &brk::CASE,
    &mmap_munmap::CASE,
    &mprotect::CASE,
    &page_fault::CASE,
    &page_fault_file::CASE,
    &set_event::CASE,
];
