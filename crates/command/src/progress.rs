//! The progress bar: the share done, the time left, and the figure of the latest round.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::text::clean;
use runner::Event;

/// Number of steps of the bar.
const STEPS: u64 = 1_000;

/// Relative precision with which the figure of one round is shown.
const ABOUT: f64 = 0.01;

/// Progress of a run on stderr; without a terminal, messages only.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Creates an empty bar.
    pub fn new() -> Self {
        let target = if std::io::stderr().is_terminal() {
            // The bar is drawn rarely, because drawing takes CPU time from the measurement.
            ProgressDrawTarget::stderr_with_hz(5)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        let style = ProgressStyle::with_template("{bar:24} {prefix:>14}  {wide_msg}")
            .expect("the template is well formed");
        bar.set_style(style.progress_chars("━╸─"));
        Self { bar }
    }

    /// Shows an event.
    pub fn show(&self, event: Event) {
        match event {
            Event::Round { label, done, remaining } => {
                let spent = short(self.bar.elapsed());
                let left = remaining.map(|left| format!("  {} left", short(left)));
                self.bar.set_position((done * STEPS as f64) as u64);
                self.bar.set_prefix(spent + &left.unwrap_or_default());
                if self.bar.message().is_empty() {
                    self.bar.set_message(clean(label));
                }
            }
            Event::Figure { label, ns } => {
                let time = report::quantity::format_time(ns, ns * ABOUT);
                // The figure comes first: of a long name the end has no room.
                self.bar.set_message(format!("{time:>8}  {}", clean(label)));
            }
            Event::Note(text) => self.bar.suspend(|| crate::output::note(&text)),
        }
    }

    /// Removes the bar, and returns the duration of the run.
    pub fn finish(self) -> Duration {
        self.bar.finish_and_clear();
        self.bar.elapsed()
    }
}

fn short(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
