//! Errors of planning.

use analysis::claim::FileError;

/// The reason why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A filter matches no case.
    #[error("no case matches {filter:?}{hint}; `oscost list` shows all cases")]
    UnknownCase {
        /// The filter.
        filter: String,
        /// A similar name, if there is one.
        hint: String,
    },
    /// A parameter belongs to none of the selected cases.
    #[error("none of the chosen cases has a parameter {name:?}; {known}")]
    UnknownParam {
        /// Name of the parameter.
        name: String,
        /// The parameters that the cases have.
        known: String,
    },
    /// A parameter has an invalid value.
    #[error("{name} cannot be {value:?}: {problem}")]
    BadValue {
        /// The parameter.
        name: String,
        /// The value.
        value: String,
        /// The problem.
        problem: String,
    },
    /// A claim's points cannot be measured as given; with the place in the file.
    #[error(transparent)]
    Claim(#[from] FileError),
    /// The selected case is measured by another command only.
    #[error("{case} is measured by `{command}`")]
    AskedForOtherwise {
        /// The case.
        case: String,
        /// The command.
        command: &'static str,
    },
    /// This process may not use the CPU.
    #[error("CPU {cpu} is not available to this process ({allowed})")]
    NoSuchCpu {
        /// The CPU.
        cpu: usize,
        /// The CPUs that this process may use.
        allowed: String,
    },
}
