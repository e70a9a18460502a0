//! Clocks, calibration, sentinel, sampling and statistics.
//!
//! Read in this order: [`time`] (clocks), [`survey`] (which clock is used, and the length of a batch), [`cycles`] (the
//! core's frequency), [`sentinel`] (disturbances), [`round`] (sampling), [`worker_group`] (sampling with several
//! workers), [`trial`] (a whole list of jobs as one operation), [`work`] (CPU-bound work of a known length), [`doubt`]
//! (texts that reports recognise), [`record`] (a worker's output), [`estimate`] (from rounds to a figure with its
//! interval), [`stats`].
//!
//! The timing primitives can be used alone:
//!
//! ```
//! use measure::time::Stopwatch;
//!
//! let watch = Stopwatch::start();
//! let sum: u64 = (0..1000).sum();
//! let spent = watch.elapsed();
//! assert_eq!(sum, 499_500);
//! println!("{} ns", spent.get());
//! ```

pub mod count;
pub mod cycles;
pub mod estimate;
pub mod frequency;
pub mod metric;
mod oversubscription;
pub mod record;
pub mod round;
pub mod sentinel;
pub mod stats;
pub mod survey;
pub mod time;
pub mod trial;
pub mod user_code;
pub mod work;
pub mod worker_group;

pub use metric::{Metric, Role, TIME};
pub use platform::CaseError;
pub use record::{Combine, Direction, Params};
pub use round::{Round, RoundOrder};
