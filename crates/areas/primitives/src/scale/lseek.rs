use super::on_an_object;
use crate::{Case, syscall};

/// Setting the position of an open file, which has its own lock.
pub const CASE: Case = Case {
    operation: "One lseek to the beginning of an open temporary file.",
    comparable_to: "will-it-scale's lseek1 has a file for each task, its lseek2 one for all.",
    core_bound: true,
    run: syscall::lseek::CASE.run,
    ..on_an_object("lseek").on_unix()
};
