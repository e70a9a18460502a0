//! A step of the load, with the state of the server after it.

use loadgen::Step;
use platform::process::tree::ProcessTree;

/// One step, and the state of the server's processes after it.
pub struct Taken {
    /// The step.
    pub step: Step,
    /// The server's processes; `None` if they are unknown.
    pub server: Option<ProcessTree>,
}

/// Memory in bytes that each of `open` connections has added.
pub fn growth(before: Option<ProcessTree>, after: Option<ProcessTree>, open: usize) -> Option<f64> {
    let (before, after) = (before?.memory?, after?.memory?);
    (open > 0).then(|| after.saturating_sub(before) as f64 / open as f64)
}
