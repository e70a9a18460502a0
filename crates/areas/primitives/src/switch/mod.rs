//! Costs of passing a token, and the CPU, from one task to another.
//!
//! Each mechanism is one file: creating its ends, passing the token and waiting for it. All mechanisms share the tasks, their
//! places and the check of the token. One operation is one hand-over.

mod common;
mod context;
mod event;
mod eventfd;
mod futex;
mod pipe;
mod ring;
mod socketpair;
mod yielding;

pub use common::*;

use crate::partner::AS_THREADS;
use measure::TIME;

use crate::{Area, Case, Counterpart, Finding, Select, SummaryRow};

/// The area.
pub static AREA: Area = Area {
    includes,
    summary: &[SummaryRow::time(
        "context switch (pipe, one CPU)",
        Select::point("switch/pipe", ONE_CPU_POINT),
    )],
    findings: &[
        Finding::Ratio {
            of: Select::point("switch/futex", AS_PROCESSES),
            to: Select::point("switch/futex", AS_THREADS_POINT),
            metric: &TIME,
            greater: "On one CPU, a switch between processes costs {} as much as between threads.",
            less: "On one CPU, a switch between threads costs {} as much as between processes.",
            equal: "On one CPU, a switch between processes costs as much as between threads ({}).",
        },
        Finding::Ratio {
            of: Select::point("switch/futex", OTHER_CPU),
            to: Select::point("switch/futex", AS_THREADS_POINT),
            metric: &TIME,
            greater: "Waking a thread on another CPU takes {} as long as switching to it on the same CPU.",
            less: "Switching to a thread on the same CPU takes {} as long as waking it on another CPU.",
            equal: "Waking a thread on another CPU takes as long as switching to it on the same CPU ({}).",
        },
    ],
    counterparts: &[
        Counterpart::cases("switch/futex", "switch/wait-on-address"),
        Counterpart::cases("switch/eventfd", "switch/event"),
        Counterpart::cases("switch/swapcontext", "switch/fiber"),
    ],
    ..Area::new("switch", CASES)
};

const ONE_CPU_POINT: &[(&str, &str)] = &[("place", "same")];
const AS_PROCESSES: &[(&str, &str)] = &[("as", "processes"), ("place", "same")];
const AS_THREADS_POINT: &[(&str, &str)] = &[("as", "threads"), ("place", "same")];
const OTHER_CPU: &[(&str, &str)] = &[("as", "threads"), ("place", "other")];

/// Cases of the area.
const CASES: &[&Case] = &[
    &pipe::CASE,
    &socketpair::CASE,
    &eventfd::CASE,
    &futex::FUTEX,
    &futex::WAIT_ON_ADDRESS,
    &event::CASE,
    &ring::CASE,
    &yielding::SCHED_YIELD,
    &yielding::SWITCH_TO_THREAD,
    &context::SWAPCONTEXT,
    &context::FIBER,
];
