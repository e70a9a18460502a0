//! Ways to read blocks of a file: one at a time, or several at once.

mod choice;
mod io_uring;
mod mapping;
mod overlapped;
mod posix_aio;
mod pread;
pub mod reader;
mod schedule;
mod slots;
mod threads;

pub use choice::Engine;
pub use reader::Mode;
pub use schedule::{Reads, Schedule, one_at_a_time, several_at_a_time};
pub use threads::read_by_threads;
