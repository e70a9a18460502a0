//! Why there is no plan.

use analysis::claim::FileError;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A filter that matches no case.
    #[error("no case matches {filter:?}{hint}; `oscost list` shows all cases")]
    UnknownCase {
        /// The filter.
        filter: String,
        /// A similar name, if there is one.
        hint: String,
    },
    /// A parameter of none of the selected cases.
    #[error("none of the chosen cases has a parameter {name:?}; {known}")]
    UnknownParam {
        /// Its name.
        name: String,
        /// The parameters that they have.
        known: String,
    },
    /// An invalid value of a parameter.
    #[error("{name} cannot be {value:?}: {problem}")]
    BadValue {
        /// The parameter.
        name: String,
        /// The value.
        value: String,
        /// The problem.
        problem: String,
    },
    /// A claim whose points cannot be measured as it gives them, with its place in the file.
    #[error(transparent)]
    Claim(#[from] FileError),
    /// A case that another command measures.
    #[error("{case} is measured by `{command}`")]
    AskedForOtherwise {
        /// The case.
        case: String,
        /// The command.
        command: &'static str,
    },
    /// A CPU that this process may not use.
    #[error("CPU {cpu} is not available to this process ({allowed})")]
    NoSuchCpu {
        /// The CPU.
        cpu: usize,
        /// The CPUs that it may use.
        allowed: String,
    },
    /// A library of the user that cannot be read.
    #[error("--op {path}: {problem}")]
    Library {
        /// Its path.
        path: String,
        /// The problem.
        problem: String,
    },
    /// Two libraries whose functions have one name.
    #[error(
        "{first} and {second} are both named {name:?}: measure them in two runs, and compare these with `oscost compare`"
    )]
    SameName {
        /// The name.
        name: String,
        /// The first library.
        first: String,
        /// The second library.
        second: String,
    },
}
