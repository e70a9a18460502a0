//! Events of a run, for the display of its progress.

use std::time::Duration;

/// Something that happens during a run.
#[derive(Debug, Clone)]
pub enum Event<'a> {
    /// A round begins.
    Round {
        /// The point's label.
        label: &'a str,
        /// Share of the run that is done, 0 to 1.
        done: f64,
        /// Maximum remaining time, if it is known.
        remaining: Option<Duration>,
    },
    /// A round gave a figure.
    Figure {
        /// The point's label.
        label: &'a str,
        /// The time of one operation in this round, in ns.
        ns: f64,
    },
    /// A message for the user; the run continues.
    Note(String),
}
