use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

/// Why there is no result for an object.
///
/// It can be serialised, because that of a process is read from a pipe.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Failure {
    /// The handler panicked, with this message.
    #[error("the handler panicked: {0}")]
    Panicked(String),
    /// The system could not create a thread, for this reason.
    #[error("no thread could be made: {0}")]
    NoThread(String),
    /// The system could not create a process or a pipe to it, for this reason.
    #[error("no process could be made: {0}")]
    NoProcess(String),
    /// The process ended in this way before the result was complete.
    #[error("the handler's process gave no result: {0}")]
    ProcessEnded(String),
    /// The result could not be transferred from the handler's process, for this reason.
    #[error("the result could not be passed between processes: {0}")]
    NotPassed(String),
}

impl Failure {
    /// The failure of a handler that panicked with `payload`.
    fn panicked(payload: Box<dyn Any + Send>) -> Self {
        let message = payload
            .downcast_ref::<&str>()
            .map(|text| String::from(*text))
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| String::from("its payload is no text"));
        // A payload that panics when it is dropped would end the thread before it reports its result, and the caller
        // would wait for ever.
        std::mem::forget(catch_unwind(AssertUnwindSafe(|| drop(payload))));
        Self::Panicked(message)
    }
}

/// What `work` returns, or how it panicked.
pub(crate) fn caught<R>(work: impl FnOnce() -> R) -> Result<R, Failure> {
    catch_unwind(AssertUnwindSafe(work)).map_err(Failure::panicked)
}
