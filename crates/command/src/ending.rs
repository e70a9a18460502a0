//! The ending of a command.

pub use catalog::Ending;
use platform::CaseError;
use results::StoreError;
use runner::{PlanError, RunError};

/// Wrong usage, with the remedy.
#[derive(Debug)]
pub struct Usage(pub String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The error of an option whose value cannot be used: what the system denies whatever the value is no wrong usage.
pub fn of_option(option: &str, case_error: &CaseError) -> anyhow::Error {
    match case_error {
        CaseError::Unsupported(reason) => {
            CaseError::Unsupported(format!("{option}: {reason}")).into()
        }
        other => Usage(format!("{option}: {other}")).into(),
    }
}

/// The error of a server that does not begin to serve: of its address or other options, unless the system denies it.
pub fn of_server(case_error: CaseError) -> anyhow::Error {
    match case_error {
        CaseError::Unsupported(_) => case_error.into(),
        other => Usage(other.to_string()).into(),
    }
}

/// Prints the error in one line on stderr. Returns the corresponding ending.
pub fn of_error(error: &anyhow::Error) -> Ending {
    let is_unsupported = matches!(error.downcast_ref(), Some(CaseError::Unsupported(_)));
    let before = if is_unsupported { "unsupported on this system: " } else { "" };
    crate::output::note(&one_line(&format!("{before}{error:#}")));
    let wrong_usage = error.is::<Usage>()
        || error.is::<PlanError>()
        || error.is::<results::ImportError>()
        || error.downcast_ref().is_some_and(is_wrong_store)
        || error.downcast_ref().is_some_and(is_wrong_run);
    if wrong_usage { Ending::WrongUsage } else { Ending::NotMeasured }
}

/// Whether the user named a store that cannot be used, as opposed to one whose server cannot be reached now.
fn is_wrong_store(error: &StoreError) -> bool {
    !matches!(error, StoreError::Lost { .. })
}

/// Whether the user named a run that cannot be resumed on this machine or at present.
fn is_wrong_run(error: &RunError) -> bool {
    use StoreError::{AmbiguousRun, Damaged, UnknownRun};
    match error {
        RunError::Store(UnknownRun { .. } | AmbiguousRun { .. } | Damaged { .. })
        | RunError::UnderWay { .. }
        | RunError::TakenOver { .. }
        | RunError::NothingToResume
        | RunError::Finished(_)
        | RunError::OnSystems(_)
        | RunError::NotStarted(_)
        | RunError::NoPlan(_)
        | RunError::Plan(_)
        | RunError::Recorded(_)
        | RunError::NoSuchClock { .. }
        | RunError::MachineChanged { .. } => true,
        RunError::Store(_)
        | RunError::Worker { .. }
        | RunError::StoppedBeforeStart
        | RunError::NotWritable { .. }
        | RunError::NoRoom(_) => false,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
