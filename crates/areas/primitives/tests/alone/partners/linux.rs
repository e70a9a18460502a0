//! Partners that are killed, and threads that cannot be created.

use std::io;

use measure::round::Mode;
use measure::{CaseError, Params};
use platform::pid::is_alive;
use primitives::switch::{self, TokenEnd, measure_ring};
use primitives::{ipc, lock, memory, thread};
use rehearsal::round;
use testing::{Completion, Trial, until};

use super::{order, params, tasks};
use crate::children;

/// An end that the partner closes a while before it is killed, as the system does with a killed process's descriptors.
struct Dying {
    is_partner: bool,
}

impl TokenEnd for Dying {
    fn pass(&mut self, _: u32) -> io::Result<()> {
        Ok(())
    }

    fn take(&mut self) -> io::Result<u32> {
        if self.is_partner {
            // Waits until the measuring process no longer watches its children: a watch would kill the process of this test
            // too.
            until(|| !handles_ends_of_children(std::os::unix::process::parent_id()));
            // SAFETY: takes a number; this process is a partner.
            unsafe { libc::raise(libc::SIGKILL) };
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

fn handles_ends_of_children(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask >> (libc::SIGCHLD - 1) & 1 == 1)
}

pub fn a_killed_partner_is_an_interruption() {
    let order = order("switch/broken", &Params::new(), Mode::Sample);
    let ends = vec![Dying { is_partner: false }, Dying { is_partner: true }];
    let (_, result) = round(&order, |round| measure_ring(&tasks(&order, true), round, ends, 0));
    assert!(
        matches!(&result, Err(CaseError::Interrupted(why)) if why.contains("signal 9")),
        "{result:?}"
    );
}

/// Threads that could not be created were a panic, or other threads waited for them for ever.
pub fn threads_that_cannot_be_created_are_an_error() {
    let of = |name: &str, given: &[(&str, &str)]| {
        let areas = [&ipc::AREA, &lock::AREA, &memory::AREA, &switch::AREA, &thread::AREA];
        let case = rehearsal::case(&areas, name);
        let all = case.params.iter().map(|param| (param.name, param.default[0]));
        let all: Vec<_> = all.chain(given.iter().copied()).collect();
        (case, rehearsal::params(&all))
    };
    let lock = [("workers", "2"), ("as", "threads"), ("place", "unpinned")];
    let threads = [("as", "threads"), ("place", "unpinned")];
    let malloc = [("workers", "1"), ("size", "64")];
    let cases = [
        of("lock/std-mutex", &lock),
        of("switch/pipe", &threads),
        of("ipc/pipe", &threads),
        of("thread/wake-futex", &[("place", "same")]),
        of("memory/malloc-threads", &malloc),
    ];
    let orders = cases.each_ref().map(|(case, params)| order(&case.label(), params, Mode::Sample));
    let mut child = platform::process::fork(|| {
        deny_threads();
        let all = cases.iter().zip(&orders);
        let wrong = all.filter(|((case, params), order)| {
            let (_, result) = round(order, |round| (case.run)(params, round));
            let is_said = matches!(&result, Err(CaseError::Unsupported(why))
                if why.contains("cannot be created: Operation not permitted"));
            if !is_said {
                eprintln!("{}: {result:?}", case.label());
            }
            !is_said
        });
        wrong.count() as i32
    })
    .unwrap();
    assert_eq!(child.wait(), Ok(()));
}

/// Denies clone3(2), with which the C library creates threads.
fn deny_threads() {
    let step = |code: u32, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let mut filter = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_clone3 as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: 4, filter: filter.as_mut_ptr() };
    // SAFETY: the program describes the filter, which the kernel copies.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program), 0);
    }
}

/// A test for each case whose partners would wait forever, or that has objects with names.
pub fn of_killed() -> impl Iterator<Item = Trial> {
    ["switch/pipe", "switch/futex", "ipc/fifo", "ipc/udp", "ipc/posix-queue", "ipc/sysv-queue"]
        .into_iter()
        .map(|name| {
            let test = format!("partners::linux::nothing_is_left_of_{name}");
            testing::test(test, move || nothing_is_left(name))
        })
}

/// Kills a process that measures, and checks that no partner and no object remains.
fn nothing_is_left(name: &str) -> Completion {
    if let Some(left_out) = children::are_not_listed() {
        return left_out;
    }
    let case = rehearsal::case(&[&ipc::AREA, &switch::AREA], name);
    let mut params = params("message", "1");
    params.insert("as".into(), "processes".into());
    let measuring = platform::process::fork(|| {
        let mut order = order(name, &params, Mode::Sample);
        (order.quiet_samples, order.limit_ms) = (usize::MAX, 60_000);
        let (_, result) = round(&order, |round| (case.run)(&params, round));
        i32::from(result.is_err())
    });
    let mut measuring = measuring.unwrap();
    let pid = measuring.pid();
    // The process measures for a while, or ends because the case is unsupported.
    let mut partners = Vec::new();
    until(|| {
        partners = children::of(pid as i32);
        partners.iter().any(|&partner| children::has_answered(partner))
            || measuring.try_wait().is_some()
    });
    let things = recorded_by(pid as u32);
    drop(measuring); // kills it by SIGKILL
    for partner in partners {
        until(|| !is_alive(partner));
    }
    platform::cleanup::sweep(pid as u32);
    let list = std::fs::read_to_string("/proc/sysvipc/msg").unwrap_or_default();
    for thing in things {
        let is_queue = list.split_whitespace().any(|word| word == thing);
        assert!(!is_queue && !std::path::Path::new(&thing).exists(), "{name} left {thing}");
    }
    assert_eq!(recorded_by(pid as u32), Vec::<String>::new(), "{name} left its record");
    Completion::Completed
}

/// The names in the records of a process: its temporary files and directories, and keys of its queues.
fn recorded_by(pid: u32) -> Vec<String> {
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let is_record = |name: &str| name.starts_with(&format!("oscost-record-{pid}-"));
    let records = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_record));
    let texts = records.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    let name = |entry: &str| entry.split_once(' ').map(|(_, name)| name.to_owned());
    texts.flat_map(|text| text.split('\0').filter_map(name).collect::<Vec<_>>()).collect()
}
