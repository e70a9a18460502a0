use super::on_an_object;
use crate::{Case, syscall};

/// Duplicating and closing descriptors: threads share a descriptor table, processes do not.
pub const CASE: Case = Case {
    operation: "One dup of the descriptor of a temporary file and one close of the copy.",
    comparable_to: "will-it-scale's dup1 does the same with a file for each task.",
    core_bound: true,
    run: syscall::dup_close::CASE.run,
    ..on_an_object("dup-close").on_unix()
};
