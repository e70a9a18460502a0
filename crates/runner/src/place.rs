//! Where the rounds of a run are made: on this system, or by an agent in another.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use measure::RoundOrder;
use platform::CaseError;
use platform::counters::syscall_tracepoint;

use crate::agent::TRACER;
use crate::launch::{Phases, Report, launch};
use crate::link::{RoundOf, SystemLink};

/// Where rounds are made.
pub(crate) enum Place<'a> {
    /// By workers of this process.
    Here,
    /// By an agent.
    System {
        /// The connection with it.
        link: Box<SystemLink<'a>>,
        /// How it counts system calls.
        counting: Counting,
    },
    /// In a system that cannot be started; the reason.
    Nowhere(String),
}

/// How system calls can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counting {
    /// By this tracepoint.
    pub(crate) tracepoint: Option<u64>,
    /// By tracing the worker.
    pub(crate) tracer: bool,
}

/// What became of a round.
pub(crate) enum Made {
    /// Its output and end.
    Report(Report),
    /// No worker can be started.
    Refused(CaseError),
    /// It was ended since this process was requested to stop.
    Stopped,
    /// The system is given up; the reason.
    Gone(String),
}

impl<'a> Place<'a> {
    /// An agent's system.
    pub(crate) fn of(link: SystemLink<'a>, counting: Counting) -> Self {
        Self::System { link: Box::new(link), counting }
    }

    /// How system calls are counted.
    pub(crate) fn counting(&self) -> Counting {
        match self {
            Self::Here => Counting { tracepoint: syscall_tracepoint(), tracer: true },
            Self::System { counting, .. } => *counting,
            Self::Nowhere(_) => Counting { tracepoint: None, tracer: false },
        }
    }

    /// The name of the agent's system.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::System { link, .. } => Some(link.name()),
            Self::Here | Self::Nowhere(_) => None,
        }
    }

    /// The number of the present start of the agent's system.
    pub(crate) fn boot(&self) -> Option<u32> {
        match self {
            Self::System { link, .. } => Some(link.boot()),
            Self::Here | Self::Nowhere(_) => None,
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
            Self::Nowhere(reason) => Made::Gone(reason.clone()),
        }
    }

    /// Whether what the agent's system does on this one can be counted.
    pub(crate) fn can_be_counted(&self) -> bool {
        matches!(self, Self::System { link, .. } if link.can_be_counted())
    }

    /// Counts that during rounds which ask for it.
    pub(crate) fn begin_counting(&mut self) {
        if let Self::System { link, .. } = self {
            link.begin_counting();
        }
    }

    /// Ends that: nothing of it affects later rounds.
    pub(crate) fn end_counting(&mut self) {
        if let Self::System { link, .. } = self {
            link.end_counting();
        }
    }

    /// The time that starts of the agent's system have taken since the last call.
    pub(crate) fn take_start_time(&mut self) -> Duration {
        match self {
            Self::System { link, .. } => link.take_start_time(),
            Self::Here | Self::Nowhere(_) => Duration::ZERO,
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
    /// Of an agent that has introduced itself.
    pub(crate) fn of(introduction: &crate::link::Introduction) -> Self {
        Self { tracepoint: introduction.machine.tracepoint, tracer: introduction.hello.can(TRACER) }
    }
}
