//! Errors of beginning or continuing a run.

use platform::CaseError;
use results::StoreError;

use crate::plan::PlanError;

/// The reason why a run cannot begin or continue.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No worker can be started.
    #[error("{}; after correcting it, continue with `oscost run --resume`", error)]
    Worker {
        /// The reason, which is part of this error's text.
        error: CaseError,
    },
    /// Another process is measuring this run.
    #[error("run {id} is being measured by process {pid}; wait for it to end, or end it")]
    UnderWay {
        /// The run.
        id: String,
        /// Pid of the other process.
        pid: u32,
    },
    /// Another process has stored rounds of this run meanwhile.
    #[error("run {id} has been resumed by another process; this process stops")]
    TakenOver {
        /// The run.
        id: String,
    },
    /// No run of the store can be resumed.
    #[error("no run is unfinished")]
    NothingToResume,
    /// The run to resume is finished.
    #[error("run {0} is finished; there is nothing to resume")]
    Finished(String),
    /// The plan of the run to resume cannot be read.
    #[error("run {0} cannot be resumed: its plan is not one this version understands")]
    Plan(String),
    /// The run to resume was made by an area's own command.
    #[error("run {0} cannot be resumed: repeat its command")]
    Recorded(String),
    /// The clock of the run to resume is not available.
    #[error("run {id} cannot be resumed here: its clock was {clock}; begin a new run")]
    NoSuchClock {
        /// The run.
        id: String,
        /// Name of the clock.
        clock: String,
    },
    /// The machine has changed since the run to resume began.
    #[error("run {id} cannot be resumed here: {key} was {was} and is {is}; begin a new run")]
    MachineChanged {
        /// The run.
        id: String,
        /// The first fact that differs.
        key: String,
        /// Value when the run began.
        was: String,
        /// Current value.
        is: String,
    },
    /// There is no plan.
    #[error(transparent)]
    NoPlan(#[from] PlanError),
    /// Systems cannot be started: nothing was measured.
    #[error("{0}; nothing was measured")]
    NotStarted(String),
    /// The user stopped the run while systems were started.
    #[error("stopped before the first round")]
    StoppedBeforeStart,
    /// A run on one of several systems cannot be resumed.
    #[error(
        "run {0} was one of several systems in turn (--on), which cannot be resumed; begin anew"
    )]
    OnSystems(String),
    /// A directory to measure in cannot be written to.
    #[error("cannot write to {dir}")]
    NotWritable {
        /// The directory.
        dir: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A directory to measure in has too little room.
    #[error("{0}")]
    NoRoom(CaseError),
}

impl From<CaseError> for RunError {
    fn from(error: CaseError) -> Self {
        Self::Worker { error }
    }
}
