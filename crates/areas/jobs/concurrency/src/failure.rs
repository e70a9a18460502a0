use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

/// The reason why an object has no result.
///
/// A failure can be serialised, because a process's is read from a pipe.
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
    /// The process ended before the result was complete, in this way.
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
        // A payload may panic when it is dropped. That second panic is caught and its payload leaked: otherwise the thread
        // would end before it reports its result, and the caller would wait for ever.
        std::mem::forget(catch_unwind(AssertUnwindSafe(|| drop(payload))));
        Self::Panicked(message)
    }
}

/// The result of `work`, or the failure if it panicked.
pub(crate) fn caught<R>(work: impl FnOnce() -> R) -> Result<R, Failure> {
    catch_unwind(AssertUnwindSafe(work)).map_err(Failure::panicked)
}
