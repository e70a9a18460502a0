use super::on_an_object;
use crate::{Case, syscall};

/// Writing a page, for which a file has a lock.
pub const CASE: Case = Case {
    operation: "One pwrite of the first 4,096 bytes of a temporary file.",
    comparable_to: "will-it-scale's pwrite1 has a file for each task, its pwrite2 one for all.",
    run: syscall::pwrite_4k::CASE.run,
    ..on_an_object("pwrite-4k").on_unix()
};
