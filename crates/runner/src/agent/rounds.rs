//! The ways in which an agent makes rounds: each in a fresh process, or in its own.

use std::sync::atomic::AtomicBool;

use measure::RoundOrder;
use platform::CaseError;

use super::capabilities::Capabilities;
use super::examine::examine;
use crate::launch::{Phases, Report, RoundEnd, launch};
use crate::wire::{ExamineOrder, Hello, Machine};
use crate::worker::write_round;

/// An agent's work for its coordinator.
pub(crate) trait Rounds {
    /// The greeting.
    fn greeting(&self) -> Hello;
    /// Examines the machine.
    fn examine(&mut self, what: &ExamineOrder) -> Machine;
    /// Makes one round, whose result is no longer needed when `stop` is set.
    fn make(&mut self, order: RoundOrder, stop: &AtomicBool) -> Result<Report, CaseError>;
}

/// Makes each round in a fresh process, as a run without an agent does.
pub(crate) struct FreshProcesses(Capabilities);

impl FreshProcesses {
    pub(crate) fn new(capabilities: Capabilities) -> Self {
        Self(capabilities)
    }
}

impl Rounds for FreshProcesses {
    fn greeting(&self) -> Hello {
        self.0.greeting()
    }

    fn examine(&mut self, what: &ExamineOrder) -> Machine {
        examine(what)
    }

    fn make(&mut self, order: RoundOrder, stop: &AtomicBool) -> Result<Report, CaseError> {
        let order = RoundOrder { parent: Some(std::process::id()), ..order };
        let report = launch(&order, stop, &Phases::NONE);
        // The only children between rounds are orphans, which a system's first process inherits.
        platform::process::init::reap();
        report
    }
}

/// Makes all rounds in the agent's own process, for systems that cannot start another one. Nothing limits their time.
pub(crate) struct OwnProcess(Capabilities);

impl OwnProcess {
    pub(crate) fn new(capabilities: Capabilities) -> Self {
        Self(capabilities)
    }
}

impl Rounds for OwnProcess {
    fn greeting(&self) -> Hello {
        self.0.greeting()
    }

    fn examine(&mut self, what: &ExamineOrder) -> Machine {
        examine(what)
    }

    fn make(&mut self, order: RoundOrder, _stop: &AtomicBool) -> Result<Report, CaseError> {
        let mut output = Vec::new();
        write_round(&order, &mut output);
        let text = String::from_utf8_lossy(&output).into_owned();
        let end = crate::launch::reported_end(&text);
        let end = end.unwrap_or_else(|| RoundEnd::Died("the round ended without a report".into()));
        Ok(Report { text, end })
    }
}
