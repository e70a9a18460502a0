//! Why there is no plan.

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A filter that fits no case.
    #[error("no case matches {filter:?}{hint}; `oscost list` shows all cases")]
    UnknownCase {
        /// What was asked for.
        filter: String,
        /// A near name, if there is one.
        hint: String,
    },
    /// A parameter that none of the chosen cases has.
    #[error("none of the chosen cases has a parameter {name:?}; {known}")]
    UnknownParam {
        /// Its name.
        name: String,
        /// Those they have.
        known: String,
    },
    /// A value the parameter cannot take.
    #[error("{name} cannot be {value:?}: {problem}")]
    BadValue {
        /// The parameter.
        name: String,
        /// The value.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A case that has a command of its own.
    #[error("{case} is measured by `{command}`")]
    AskedForOtherwise {
        /// The case.
        case: String,
        /// The command.
        command: &'static str,
    },
    /// A CPU we may not use.
    #[error("CPU {cpu} is not one this process may use ({allowed})")]
    NoSuchCpu {
        /// The CPU asked for.
        cpu: usize,
        /// Those that may be used.
        allowed: String,
    },
}
