use super::on_an_object;
use crate::{Case, syscall};

/// Opening and closing a file: several workers may use its path at once.
pub const CASE: Case = Case {
    operation: "One open of a temporary file for reading, by its absolute path, and one close.",
    comparable_to: "will-it-scale's open1 opens a file of each task for writing; lmbench's `lat_syscall open` has one \
                    task.",
    core_bound: true,
    run: syscall::open_close::CASE.run,
    ..on_an_object("open-close").on_unix()
};
