//! Figures over many runs: where they changed, and whether the newest ones did.

mod creep;
mod event;
mod series;
#[cfg(test)]
mod tests;
mod trend;
mod watch;

pub use event::{Event, events};
pub(crate) use series::visits_of;
pub use series::{By, FactChange, HistoryRun, RunSeries, fact_changes, series_of};
pub use trend::{Change, Kind, Segment, Trend, Visit};
pub use watch::{Again, State, Watch, Watched};
