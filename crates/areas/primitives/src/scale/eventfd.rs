use super::on_an_object;
use crate::{Case, syscall};

/// Changing a counter in the kernel.
pub const CASE: Case = Case {
    operation: "One write of 8 bytes to an eventfd that works as a semaphore, and one read of 8 bytes: never waits, \
                because each worker adds before it takes.",
    comparable_to: "will-it-scale's eventfd1 does the same with an eventfd for each task.",
    core_bound: true,
    run: syscall::eventfd::CASE.run,
    ..on_an_object("eventfd").on_linux()
};
