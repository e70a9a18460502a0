use super::on_an_object;
use crate::{Case, syscall};

/// Setting an event that no thread waits for.
pub const CASE: Case = Case {
    operation: "One SetEvent of an automatic event that is set already and that nobody waits for.",
    comparable_to: "The counterpart of the write in scale/eventfd.",
    core_bound: true,
    run: syscall::set_event::CASE.run,
    ..on_an_object("set-event").on_windows()
};
