//! The cost of acquiring and releasing a lock, uncontended and contended.
//!
//! Each file implements one lock: creating it, acquiring and releasing it, and the state that a worker needs for that. All locks
//! share the workers, their CPUs, the timing and the check of mutual exclusion.

mod common;
mod critical_section;
mod designs;
mod file_lock;
mod futex;
mod lock_share;
mod parking_lot_mutex;
mod posix_sem;
mod pthread_mutex;
mod rwlock;
mod spin;
mod srwlock;
mod std_mutex;
mod sysv_sem;
mod token;
mod win_objects;

pub(crate) use common::*;
pub use common::{
    HANDOVER, LOCK_SHARE, Lock, MILLION_PAIRS, WORK_FOR_HUNDREDTH, WORK_FOR_TENTH, measure,
};

use measure::TIME;
use measure::worker_group::HANDOVER_TO_WAITER;

use self::designs::{ALONE, TWO};
use crate::{Area, Case, Counterpart, Finding, Need, Select, SummaryRow};

/// The area.
pub static AREA: Area = Area {
    needs: &[
        Need {
            cases: &["sysv-sem", "sysv-sem-no-undo"],
            what: "a free System V semaphore set (kernel.sem)",
        },
        Need { cases: &["posix-sem-named", "posix-sem-shared"], what: "/dev/shm, writable" },
    ],
    includes,
    // These cases differ little from lock/sysv-sem, lock/posix-sem-shared, lock/pthread-mutex and lock/pipe-token.
    extended: &[
        "lock/sysv-sem-no-undo",
        "lock/posix-sem-named",
        "lock/pthread-mutex-errorcheck",
        "lock/pthread-mutex-recursive",
        "lock/pthread-mutex-pshared",
        "lock/eventfd-token",
    ],
    summary: &[
        SummaryRow::time(
            "lock and unlock, free (Rust Mutex)",
            Select::point("lock/std-mutex", ALONE),
        ),
        SummaryRow::time(
            "lock and unlock, contended by 2 threads",
            Select::point("lock/std-mutex", TWO),
        ),
    ],
    findings: &[
        Finding::Ratio {
            of: Select::point("lock/std-mutex", TWO),
            to: Select::point("lock/std-mutex", ALONE),
            metric: &TIME,
            greater: "A second thread that contends for a Rust Mutex makes it {} as expensive.",
            less: "A Rust Mutex that two threads contend for is cheaper: alone it costs {} as much.",
            equal: "A second thread that contends for a Rust Mutex changes its cost little ({}).",
        },
        Finding::Value {
            point: Select::point("lock/std-mutex", BY_ONE),
            metric: &WORK_FOR_TENTH,
            says: "A free Rust Mutex around less than {} of work costs more than 10 % of the time.",
        },
        Finding::Value {
            point: Select::point("lock/std-mutex", TWO),
            metric: &HANDOVER_TO_WAITER,
            says: "A thread that waits for a Rust Mutex acquires it {} after the beginning of its release.",
        },
    ],
    applications: designs::APPLICATIONS,
    counterparts: &[
        Counterpart::cases("lock/pthread-mutex", "lock/critical-section"),
        Counterpart::cases("lock/rwlock-write", "lock/srwlock"),
        Counterpart::cases("lock/pthread-mutex-pshared", "lock/win-mutex"),
        Counterpart::cases("lock/posix-sem-named", "lock/win-semaphore"),
        Counterpart::cases("lock/eventfd-token", "lock/win-event"),
        Counterpart::cases("lock/futex", "lock/wait-on-address"),
    ],
    derived: &[lock_share::lock_shares],
    ..Area::new("lock", CASES)
};

/// Parameters of a point whose metric is derived from work of several lengths.
const BY_ONE: &[(&str, &str)] = &[("as", "threads"), ("workers", "1")];

/// Cases of the area.
const CASES: &[&Case] = &[
    &sysv_sem::WITH_UNDO,
    &sysv_sem::WITHOUT_UNDO,
    &posix_sem::PRIVATE,
    &posix_sem::SHARED,
    &posix_sem::NAMED,
    &pthread_mutex::NORMAL,
    &pthread_mutex::ERRORCHECK,
    &pthread_mutex::RECURSIVE,
    &pthread_mutex::ADAPTIVE,
    &pthread_mutex::ROBUST,
    &pthread_mutex::PI,
    &pthread_mutex::PSHARED,
    &rwlock::READ,
    &rwlock::WRITE,
    &futex::CASE,
    &spin::TEST_AND_TEST_AND_SET,
    &spin::TICKET,
    &std_mutex::CASE,
    &parking_lot_mutex::CASE,
    &file_lock::FCNTL,
    &file_lock::FLOCK,
    &token::PIPE,
    &token::EVENTFD,
    &critical_section::CASE,
    &srwlock::CASE,
    &win_objects::MUTEX,
    &win_objects::SEMAPHORE,
    &win_objects::EVENT,
    &futex::WAIT_ON_ADDRESS,
];
