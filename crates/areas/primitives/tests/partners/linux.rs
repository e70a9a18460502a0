//! Partners that are killed, and threads that cannot be created.

use std::io;
use std::time::{Duration, Instant};

use measure::round::Mode;
use measure::{CaseError, Params};
use platform::pid::is_alive;
use primitives::ipc;
use primitives::switch::{self, TokenEnd, measure_ring};

use super::{order, params, round_of, tasks};

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
            while handles_ends_of_children(std::os::unix::process::parent_id()) {
                std::thread::sleep(Duration::from_millis(1));
            }
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

pub fn a_killed_partner() {
    let order = order("switch/broken", &Params::new(), Mode::Sample);
    let ends = vec![Dying { is_partner: false }, Dying { is_partner: true }];
    let (_, result) = round_of(&order, |round| measure_ring(&tasks(&order, true), round, ends, 0));
    assert!(
        matches!(&result, Err(CaseError::Interrupted(why)) if why.contains("signal 9")),
        "{result:?}"
    );
}

/// Threads that could not be created were a panic, or other threads waited for them for ever.
pub fn no_threads() {
    let of = |name: &str, given: &[(&str, &str)]| {
        let case = rehearsal::case(&[&ipc::AREA, &switch::AREA], name);
        let all = case.params.iter().map(|param| (param.name, param.default[0]));
        let all = all.chain(given.iter().copied());
        (case, all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Params>())
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
            let (_, result) = round_of(order, |round| (case.run)(params, round));
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

/// Cases whose partners would wait forever, or that have objects with names.
pub const KILLED: [&str; 6] =
    ["switch/pipe", "switch/futex", "ipc/fifo", "ipc/udp", "ipc/posix-queue", "ipc/sysv-queue"];

/// Kills a process that measures, and checks that no partner and no object remains.
pub fn nothing_is_left(name: &str) {
    let case = rehearsal::case(&[&ipc::AREA, &switch::AREA], name);
    let mut params = params("message", "1");
    params.insert("as".into(), "processes".into());
    let measuring = platform::process::fork(|| {
        let mut order = order(name, &params, Mode::Sample);
        (order.quiet_samples, order.limit_ms) = (usize::MAX, 60_000);
        let (_, result) = round_of(&order, |round| (case.run)(&params, round));
        i32::from(result.is_err())
    });
    let mut measuring = measuring.unwrap();
    let pid = measuring.pid();
    let partners = until(|| {
        let partners = children_of(pid as i32);
        (!partners.is_empty()).then_some(partners)
    });
    // The process measures for a while, or ends because the case is unsupported.
    std::thread::sleep(Duration::from_millis(50));
    let ended = measuring.try_wait().is_some();
    assert!(partners.is_some() || ended, "{name} has no partner");
    drop(measuring); // kills it by SIGKILL
    for partner in partners.unwrap_or_default() {
        until(|| (!is_alive(partner)).then_some(())).expect("the partner ends");
    }
    platform::cleanup::sweep(pid as u32);
    let list = std::fs::read_to_string("/proc/sysvipc/msg").unwrap_or_default();
    let key = (0x5c00_0000 | pid & 0x00ff_ffff).to_string();
    assert!(!list.split_whitespace().any(|word| word == key), "{name} left a queue:\n{list}");
    let file = std::env::temp_dir().join(format!("oscost-worker-{pid}"));
    assert!(!file.exists(), "{name} left {}", file.display());
}

fn until<T>(found: impl Fn() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        if let Some(found) = found() {
            return Some(found);
        }
        if began.elapsed() > Duration::from_secs(60) {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn children_of(pid: i32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let list = std::fs::read_to_string(path).unwrap_or_default();
    list.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}
