//! The places where rounds are made: this system, or an agent in another one.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use measure::RoundOrder;
use platform::CaseError;
use platform::counters::syscall_tracepoint;

use analysis::claim::NATIVE;
use systems::Placement;

use crate::agent::TRACER;
use crate::launch::{Phases, Report, launch};
use crate::link::{RoundOf, SystemLink};

/// The place where rounds are made.
pub(crate) enum Place<'a> {
    /// This process's workers make rounds.
    Here,
    /// An agent makes rounds.
    System {
        /// The connection with the agent.
        link: Box<SystemLink<'a>>,
        /// How the agent counts system calls.
        counting: Counting,
    },
}

/// How system calls can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counting {
    /// The tracepoint that counts, if there is one.
    pub(crate) tracepoint: Option<u64>,
    /// Whether a tracer of the worker can count.
    pub(crate) tracer: bool,
}

/// The outcome of a round.
pub(crate) enum Made {
    /// The output and end of the round.
    Report(Report),
    /// No worker can be started.
    Refused(CaseError),
    /// The round was ended since this process was requested to stop.
    Stopped,
    /// The system is given up, for this reason.
    Gone(String),
}

impl<'a> Place<'a> {
    /// The place of an agent's rounds.
    pub(crate) fn of(link: SystemLink<'a>, counting: Counting) -> Self {
        Self::System { link: Box::new(link), counting }
    }

    /// How system calls are counted.
    pub(crate) fn counting(&self) -> Counting {
        match self {
            Self::Here => Counting { tracepoint: syscall_tracepoint(), tracer: true },
            Self::System { counting, .. } => *counting,
        }
    }

    /// The name of the agent's system.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::System { link, .. } => Some(link.name()),
            Self::Here => None,
        }
    }

    /// Where the helpers of the agent's system run; `None` if it has none.
    pub(crate) fn placement(&self) -> Option<Placement> {
        match self {
            Self::System { link, .. } => link.placement(),
            Self::Here => None,
        }
    }

    /// Whether operations may become cheaper there while they are repeated: helpers of the system, or its translation, may adapt.
    pub(crate) fn may_become_steady(&self) -> bool {
        matches!(self, Self::System { link, .. } if link.launcher() != Some(NATIVE))
    }

    /// The number of the current start of the agent's system.
    pub(crate) fn boot(&self) -> Option<u32> {
        match self {
            Self::System { link, .. } => Some(link.boot()),
            Self::Here => None,
        }
    }

    /// Makes a round, and reports its phases.
    pub(crate) fn make(&mut self, order: &RoundOrder, stop: &AtomicBool, phases: &Phases) -> Made {
        match self {
            Self::Here => match launch(order, stop, phases) {
                Ok(report) => Made::Report(report),
                Err(error) => Made::Refused(error),
            },
            Self::System { link, .. } => match link.round(order, stop, phases) {
                RoundOf::Made(report) => Made::Report(report),
                RoundOf::Refused(error) => Made::Refused(error),
                RoundOf::Stopped => Made::Stopped,
                RoundOf::Gone(reason) => Made::Gone(reason),
            },
        }
    }

    /// Whether the work of the agent's system on this one can be counted.
    pub(crate) fn can_be_counted(&self) -> bool {
        matches!(self, Self::System { link, .. } if link.can_be_counted())
    }

    /// Begins to count the work of the agent's system on this one, during rounds that request it.
    pub(crate) fn begin_counting(&mut self) {
        if let Self::System { link, .. } = self {
            link.begin_counting();
        }
    }

    /// Ends counting, so that it does not affect later rounds.
    pub(crate) fn end_counting(&mut self) {
        if let Self::System { link, .. } = self {
            link.end_counting();
        }
    }

    /// The time that starts of the agent's system took since the last call.
    pub(crate) fn take_start_time(&mut self) -> Duration {
        match self {
            Self::System { link, .. } => link.take_start_time(),
            Self::Here => Duration::ZERO,
        }
    }

    /// Ends the agent's system; it starts again for the next round.
    pub(crate) fn end(&mut self) {
        if let Self::System { link, .. } = self {
            link.end();
        }
    }
}

impl Counting {
    /// The counting of an agent that has introduced itself.
    pub(crate) fn of(introduction: &crate::link::Introduction) -> Self {
        Self { tracepoint: introduction.machine.tracepoint, tracer: introduction.hello.can(TRACER) }
    }
}
