use super::on_nothing;
use crate::{Case, syscall};

/// Yielding a CPU that no other thread wants.
pub const CASE: Case = Case {
    operation: "One sched_yield.",
    comparable_to: "will-it-scale's sched_yield makes the same call.",
    core_bound: true,
    run: syscall::sched_yield::CASE.run,
    ..on_nothing("sched-yield").on_unix()
};
