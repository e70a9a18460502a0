//! Operations that Unix and Windows have under different names, so that a comparison of systems can match them.

use crate::Select;

/// The same purpose served by a case of Unix and one of Windows. Parameters that are not named have equal values.
pub struct Counterpart {
    /// The point on Unix, under whose name both are shown.
    pub unix: Select,
    /// The point on Windows.
    pub windows: Select,
}

const fn cases(unix: &'static str, windows: &'static str) -> Counterpart {
    Counterpart { unix: Select::case(unix), windows: Select::case(windows) }
}

type Named = &'static [(&'static str, &'static str)];

const fn points(unix: (&'static str, Named), windows: (&'static str, Named)) -> Counterpart {
    Counterpart {
        unix: Select::point(unix.0, unix.1),
        windows: Select::point(windows.0, windows.1),
    }
}

/// All counterparts. No case of Windows occurs twice.
pub const COUNTERPARTS: &[Counterpart] = &[
    points(("clock/gettimeofday", &[("via", "vdso")]), ("clock/query-performance-counter", &[])),
    points(
        ("clock/gettime", &[("id", "monotonic-coarse"), ("via", "vdso")]),
        ("clock/get-tick-count-64", &[]),
    ),
    points(
        ("clock/gettime", &[("id", "realtime-coarse"), ("via", "vdso")]),
        ("clock/get-system-time-as-file-time", &[]),
    ),
    points(
        ("clock/gettime", &[("id", "realtime"), ("via", "vdso")]),
        ("clock/get-system-time-precise", &[]),
    ),
    cases("syscall/getppid", "syscall/nt-get-current-processor"),
    cases("syscall/sched-yield", "syscall/switch-to-thread"),
    cases("syscall/getrusage", "syscall/get-process-times"),
    cases("syscall/read-0", "syscall/read-file-0"),
    cases("syscall/pread-4k", "syscall/read-file-4k"),
    cases("syscall/write-1", "syscall/write-file-nul"),
    cases("syscall/fstat", "syscall/query-file-size"),
    cases("syscall/stat", "syscall/get-file-attributes"),
    cases("syscall/open-close", "syscall/create-file-close"),
    cases("syscall/dup-close", "syscall/duplicate-handle-close"),
    cases("syscall/eventfd", "syscall/set-event"),
    cases("memory/mmap-munmap", "memory/virtual-alloc"),
    cases("memory/mprotect", "memory/virtual-protect"),
    cases("memory/mlock", "memory/virtual-lock"),
    cases("signal/install", "signal/add-exception-handler"),
    cases("signal/raise", "signal/raise-exception"),
    cases("signal/sigqueue", "signal/queue-apc"),
    cases("signal/kill", "signal/apc-thread"),
    cases("timer/nanosleep", "timer/waitable-timer-high-resolution"),
    cases("timer/clock-nanosleep", "timer/sleep"),
    cases("timer/timerfd", "timer/waitable-timer"),
    cases("timer/create-timer", "timer/create-waitable-timer"),
    cases("timer/arm-timerfd", "timer/arm-waitable-timer"),
    cases("lock/pthread-mutex", "lock/critical-section"),
    cases("lock/rwlock-write", "lock/srwlock"),
    cases("lock/pthread-mutex-pshared", "lock/win-mutex"),
    cases("lock/posix-sem-named", "lock/win-semaphore"),
    cases("lock/eventfd-token", "lock/win-event"),
    cases("lock/futex", "lock/wait-on-address"),
    points(("process/posix-spawn", &[("program", "static")]), ("process/create-process", &[])),
    cases("thread/pthread-create", "thread/create-thread"),
    cases("thread/wake-futex", "thread/wake-address"),
    cases("thread/wake-condvar", "thread/wake-srw-condvar"),
    cases("thread/wake-eventfd", "thread/wake-event"),
    cases("switch/futex", "switch/wait-on-address"),
    cases("switch/eventfd", "switch/event"),
    cases("switch/swapcontext", "switch/fiber"),
    cases("ipc/shm-futex", "ipc/shm-wait-on-address"),
    cases("ipc/shm-futex-bandwidth", "ipc/shm-wait-on-address-bandwidth"),
    cases("ipc/pipe", "ipc/named-pipe"),
    cases("ipc/pipe-bandwidth", "ipc/named-pipe-bandwidth"),
    points(("net/answer", &[("arch", "epoll")]), ("net/answer", &[("arch", "iocp")])),
    points(("net/requests", &[("arch", "epoll")]), ("net/requests", &[("arch", "iocp")])),
    points(("net/hold", &[("arch", "epoll")]), ("net/hold", &[("arch", "iocp")])),
    cases("scale/eventfd", "scale/set-event"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::find;

    #[test]
    fn counterparts_exist_and_no_point_of_windows_has_two() {
        let mut seen = BTreeSet::new();
        for Counterpart { unix, windows } in COUNTERPARTS {
            for side in [unix, windows] {
                let case = find(side.case).unwrap_or_else(|| panic!("no case {}", side.case));
                let named = |name: &str| case.params.iter().any(|param| param.name == name);
                assert!(side.params.iter().all(|(name, _)| named(name)), "{}", side.case);
            }
            let area = |select: &Select| select.case.split('/').next();
            assert_eq!(area(unix), area(windows), "{}", unix.case);
            assert!(seen.insert((windows.case, windows.params)), "{} twice", windows.case);
        }
    }
}
