//! The cost of single system calls.

mod access;
mod chdir;
mod chmod;
mod common;
mod create_file_close;
mod dup2;
pub(crate) mod dup_close;
mod duplicate_handle_close;
mod epoll_ctl;
mod epoll_wait;
pub(crate) mod eventfd;
mod fcntl;
mod fstat;
mod get_file_attributes;
mod get_process_times;
mod getcwd;
mod getppid;
mod getrandom_16;
mod getrusage;
mod getxattr;
pub mod idle_sockets;
mod inotify;
mod io_uring_nop;
mod link_unlink;
pub(crate) mod lseek;
pub mod named_files;
mod nt_get_current_processor;
pub(crate) mod open_close;
mod poll;
mod pread;
mod pread_4k;
mod proc_read;
mod pwrite;
pub(crate) mod pwrite_4k;
mod query_file_size;
mod read_0;
mod read_1;
mod read_file_0;
mod read_file_4k;
mod read_whole;
mod readv;
pub(crate) mod sched_yield;
mod seccomp;
mod select;
pub(crate) mod set_event;
mod setxattr;
mod sigaction;
mod sigprocmask;
mod spaced;
mod stat;
mod statx;
mod switch_to_thread;
mod sys_read;
mod uname;
mod unimplemented;
pub mod unnamed_file;
mod utime;
mod virtual_query;
mod wait_0;
mod write_1;
mod write_file_nul;
mod writev;

pub(crate) use common::*;

use measure::Params;

use crate::{Area, Case, Counterpart, Extent, Need, Select, SummaryRow};

/// The area.
pub static AREA: Area = Area {
    needs: &[
        Need {
            cases: &["poll", "select", "epoll-wait", "poll-active", "select-active"],
            what: "the descriptors that it waits for (ulimit -n)",
        },
        Need {
            cases: &["io-uring-nop"],
            what: "io_uring (kernel.io_uring_disabled=0, a seccomp filter that permits it)",
        },
        Need {
            cases: &["inotify"],
            what: "a free inotify instance (fs.inotify.max_user_instances)",
        },
        Need {
            cases: &["getxattr", "setxattr"],
            what: "a temporary directory whose file system has user attributes",
        },
        Need { cases: &["seccomp"], what: "a kernel with seccomp filters (CONFIG_SECCOMP_FILTER)" },
    ],
    includes,
    extended: &[
        "syscall/access",
        "syscall/chdir",
        "syscall/chmod",
        "syscall/dup2",
        "syscall/select-active",
        "syscall/setxattr",
        "syscall/spaced",
        "syscall/utime",
        "syscall/writev",
    ],
    summary: &[
        SummaryRow::time("system call (getppid)", Select::case("syscall/getppid")),
        SummaryRow::time(
            "system call (NtGetCurrentProcessorNumber)",
            Select::case("syscall/nt-get-current-processor"),
        ),
    ],
    counterparts: &[
        Counterpart::cases("syscall/getppid", "syscall/nt-get-current-processor"),
        Counterpart::cases("syscall/sched-yield", "syscall/switch-to-thread"),
        Counterpart::cases("syscall/getrusage", "syscall/get-process-times"),
        Counterpart::cases("syscall/read-0", "syscall/read-file-0"),
        Counterpart::cases("syscall/pread-4k", "syscall/read-file-4k"),
        Counterpart::cases("syscall/write-1", "syscall/write-file-nul"),
        Counterpart::cases("syscall/fstat", "syscall/query-file-size"),
        Counterpart::cases("syscall/stat", "syscall/get-file-attributes"),
        Counterpart::cases("syscall/open-close", "syscall/create-file-close"),
        Counterpart::cases("syscall/dup-close", "syscall/duplicate-handle-close"),
        Counterpart::cases("syscall/eventfd", "syscall/set-event"),
    ],
    ..Area::new("syscall", CASES)
};

/// Whether a run measures the point: a filter without rules reads no system call number.
fn includes(params: &Params, _extent: Extent) -> bool {
    let has = |name: &str, value: &str| params.get(name).is_some_and(|own| own == value);
    !(has("rules", "0") && has("reads", "number"))
}

/// Cases of the area.
const CASES: &[&Case] = &[
    &getppid::CASE,
    &unimplemented::CASE,
    &sched_yield::CASE,
    &uname::CASE,
    &getrusage::CASE,
    &sigaction::CASE,
    &sigprocmask::CASE,
    &getrandom_16::CASE,
    &lseek::CASE,
    &read_0::CASE,
    &read_1::CASE,
    &readv::CASE,
    &write_1::CASE,
    &writev::CASE,
    &pread_4k::CASE,
    &pread::CASE,
    &pwrite_4k::CASE,
    &pwrite::CASE,
    &fstat::CASE,
    &stat::CASE,
    &statx::CASE,
    &access::CASE,
    &chmod::CASE,
    &utime::CASE,
    &link_unlink::CASE,
    &getxattr::CASE,
    &setxattr::CASE,
    &open_close::CASE,
    &dup_close::CASE,
    &dup2::CASE,
    &fcntl::CASE,
    &chdir::CASE,
    &getcwd::CASE,
    &eventfd::CASE,
    &select::CASE,
    &select::PARTLY_ACTIVE,
    &poll::CASE,
    &poll::PARTLY_ACTIVE,
    &epoll_wait::CASE,
    &epoll_ctl::CASE,
    &inotify::CASE,
    &proc_read::CASE,
    &sys_read::CASE,
    &seccomp::CASE,
    &spaced::CASE,
    &io_uring_nop::CASE,
    &nt_get_current_processor::CASE,
    &switch_to_thread::CASE,
    &get_process_times::CASE,
    &virtual_query::CASE,
    &read_file_0::CASE,
    &read_file_4k::CASE,
    &write_file_nul::CASE,
    &query_file_size::CASE,
    &get_file_attributes::CASE,
    &create_file_close::CASE,
    &duplicate_handle_close::CASE,
    &set_event::CASE,
    &wait_0::CASE,
];

#[cfg(test)]
mod tests {
    use std::fs::File;

    use measure::CaseError;
    use measure::round::Mode;

    use super::*;

    #[test]
    fn every_case_gives_samples_and_counts_as_declared() {
        rehearsal::check(CASES);
    }

    #[test]
    fn a_failure_is_an_error() {
        let order = rehearsal::order("test/x", &measure::Params::new(), Mode::Sample);
        let missing = std::env::temp_dir().join("oscost-has-no-such-file");
        let (lines, result) = rehearsal::round(&order, |round| {
            round.time_call("open", || File::open(&missing).is_ok())
        });
        assert!(
            matches!(&result, Err(CaseError::Failed(text)) if text.starts_with("open: ")),
            "{result:?}"
        );
        assert_eq!(lines, []);
        let mut calls = 0;
        let of_tenth = || {
            platform::cpu::null_call();
            calls += 1;
            calls != 10
        };
        let (_, result) = rehearsal::round(&order, |round| round.time_call("read", of_tenth));
        let expected = "read worked at first, then failed 1 times";
        assert_eq!(result, Err(CaseError::Failed(expected.into())));
    }
}
