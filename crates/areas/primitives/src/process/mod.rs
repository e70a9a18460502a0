//! Costs of starting, ending and waiting for processes.
//!
//! The measuring process stays on one CPU, and its children inherit that CPU: a figure includes the switch to the child and back,
//! and no wake-up of another CPU.

mod clone3_pidfd;
mod common;
mod create_process;
mod designs;
mod exit;
mod fork;
mod fork_exec;
mod memory;
pub mod metrics;
mod posix_spawn;
#[cfg(unix)]
mod resident_memory;
mod sh;
#[cfg(unix)]
mod sleeping_children;
mod spawning;
mod vfork_exec;
mod wait;

pub use common::time;

use measure::TIME;
use metrics::{SPAWN, SPAWN_FROM};

use crate::{Area, Case, Counterpart, Finding, Need, Select, SummaryRow};

/// The area.
pub static AREA: Area = Area {
    needs: &[
        Need {
            cases: &["memory"],
            what: "free memory of the parent's size: 1 GiB by default, 4 GiB with --full; huge pages on request (/sys/kernel/mm/transparent_hugepage/enabled)",
        },
        Need { cases: &["wait"], what: "1,000 processes (ulimit -u, pids.max of the cgroup)" },
        Need { cases: &["clone3-pidfd"], what: "Linux 5.4; a seccomp filter that permits clone3" },
        Need {
            cases: &["fork-exec", "vfork-exec", "posix-spawn"],
            what: "for program=static: a temporary directory that is not mounted noexec",
        },
    ],
    includes: wait::includes,
    summary: &[
        SummaryRow::time("process (fork, exit, wait)", Select::case("process/fork")),
        SummaryRow::time("process (CreateProcess, wait)", Select::case("process/create-process")),
    ],
    findings: &[Finding::Crossing {
        point: Select::point("process/memory", &[("pages", "base")]),
        metric: &SPAWN_FROM,
        param: "memory",
        of: &SPAWN,
        to: &TIME,
        says: "From a parent of {} of resident memory on, posix_spawn is cheaper than fork.",
        always: "posix_spawn is cheaper than fork from a parent of any measured size (memory={} and more).",
        never: "posix_spawn is not cheaper than fork from a parent of any measured size (up to memory={}).",
    }],
    applications: designs::APPLICATIONS,
    counterparts: &[Counterpart {
        unix: Select::point("process/posix-spawn", &[("program", "static")]),
        windows: Select::case("process/create-process"),
    }],
    derived: &[spawning::spawn_crossings],
    ..Area::new("process", CASES)
};

/// Cases of the area.
const CASES: &[&Case] = &[
    &fork::CASE,
    &fork_exec::CASE,
    &vfork_exec::CASE,
    &posix_spawn::CASE,
    &sh::CASE,
    &clone3_pidfd::CASE,
    &create_process::CASE,
    &exit::CASE,
    &wait::CASE,
    &memory::CASE,
];
