//! Clocks, calibration, sentinel, sampling and statistics.
//!
//! Read in this order: [`time`] (clocks), [`survey`] (which clock is used, and the length of a batch), [`cycles`] (the
//! core's frequency), [`sentinel`] (disturbances), [`round`] (sampling), [`worker_group`] (sampling with several workers),
//! [`trial`] (a whole list of jobs as one operation), [`work`] (CPU-bound work of a known length), [`doubt`] (reasons to
//! doubt a figure), [`record`] (a worker's output), [`estimate`] (from rounds to a figure with its interval), [`stats`],
//! [`change_point`] (of a series of figures).
//!
//! # Use in other programs
//!
//! A program that times itself needs only these three modules:
//!
//! - [`time::Stopwatch`]: start, elapsed, stop. It uses the system's monotonic clock; [`time::Stopwatch::start_on`] takes
//!   another [`time::Clock`], such as the cheapest one that [`survey::survey`] finds.
//! - [`count::parse_count`], [`count::parse_duration`] and [`count::parse_percentage`]: the values of command lines, such
//!   as `10k`, `2.5ms` and `0.5%`, with errors that say what is expected. [`count::format_duration`] is the inverse of
//!   [`count::parse_duration`].
//! - [`stats`]: medians, quantiles and their intervals.
//!
//! ```
//! use measure::count::{format_duration, parse_count, parse_duration};
//! use measure::stats::median;
//! use measure::survey::survey;
//! use measure::time::{Clock, Stopwatch};
//!
//! // What a user typed: a number of repetitions, and a time limit.
//! let repetitions = parse_count("1k").expect("a count");
//! let limit = parse_duration("2.5s").expect("a duration");
//! assert_eq!((repetitions, format_duration(limit)), (1_000, "2.5s".to_owned()));
//! assert_eq!(parse_count("1.5k").unwrap_err().problem(), "is not a count: digits, then k, m or g if you like, as in 10k");
//!
//! // The system's monotonic clock; a watch that was stopped is gone, one that is read goes on.
//! let watch = Stopwatch::start();
//! let sum: u64 = (0..repetitions).sum();
//! let first = watch.elapsed();
//! let all = watch.stop();
//! assert!(sum == 499_500 && first <= all);
//!
//! // The cheapest clock of this machine that is fine enough, and what one reading of it costs.
//! let best = &survey()[0];
//! let clock = best.clock().unwrap_or_else(Clock::monotonic);
//! let mut times: Vec<f64> = (0..100)
//!     .map(|_| {
//!         let watch = Stopwatch::start_on(clock);
//!         std::hint::black_box((0..repetitions).sum::<u64>());
//!         watch.stop().get() - best.cost.get()
//!     })
//!     .collect();
//! println!("{:.0} ns with {}", median(&mut times), best.name);
//! ```
//!
//! `examples/repeat.rs` is a whole program. To measure a function with all of oscost, in fresh processes, beside the
//! sentinel and with an interval, write it as a library for `oscost run --op` (`docs/op.md`).

mod approach;
mod call;
pub mod change_point;
pub mod count;
pub mod cycles;
pub mod doubt;
pub mod estimate;
pub mod frequency;
pub mod metric;
mod mode;
mod order;
mod oversubscription;
pub mod paths;
pub mod record;
pub mod round;
mod sampler;
pub mod sentinel;
pub mod server_work;
pub mod stats;
pub mod survey;
pub mod time;
pub mod together;
pub mod trial;
pub mod user_code;
pub mod watch;
pub mod work;
pub mod worker_group;

pub use doubt::Doubt;
pub use metric::{Metric, Role, TIME};
pub use platform::CaseError;
pub use record::{Combine, Direction, Params};
pub use round::{Round, RoundOrder};
