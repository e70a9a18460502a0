//! Hands a list of objects to a handler, at most n at a time, and finishes each on the caller's thread.
//!
//! ```
//! use concurrency::{ConcurrentExecution, Execution};
//!
//! let texts = [String::from("one"), String::from("three"), String::from("eleven")];
//! let mut letters = 0;
//! ConcurrentExecution::new(2.try_into()?).do_for_all_objects(
//!     &texts,
//!     |text| text.len(),
//!     |text, length| match length {
//!         Ok(length) => letters += length,
//!         Err(failure) => eprintln!("{text}: {failure}"),
//!     },
//! );
//! assert_eq!(letters, 14);
//! # Ok::<(), std::num::TryFromIntError>(())
//! ```
//!
//! # Slots
//!
//! A call has as many slots as its executor's `max_degree`. Objects take the free slots in the order
//! of the list. When a handler is done, the finisher is called with its result on the caller's thread,
//! for one object at a time, so that it needs no locks and may change the caller's data; only when
//! it has returned does the next object take the slot. So at any time at most `max_degree`
//! objects are begun and not finished. Finishers are called about in the order in which handlers end,
//! which need not be that of the list. The call returns after the last finisher.
//!
//! Objects, handler, finisher and results may borrow from the caller. A handler's result goes to
//! the finisher by value.
//!
//! A waiting thread yields for a few microseconds, then sleeps, so that handlers have the CPUs.
//!
//! # Dependencies
//!
//! With the schedule of [`Dependencies`] an object is begun only when the finishers of all objects that it depends on have
//! returned. Among objects that can be begun, the first of the list is begun first. All other guarantees hold as well.
//!
//! ```
//! use concurrency::{ConcurrentExecution, Dependencies, Execution};
//!
//! let steps = ["link", "compile a", "compile b"];
//! let dependencies = Dependencies::new(3, &[(0, 1), (0, 2)])?;
//! let mut last = "";
//! ConcurrentExecution::new(2.try_into()?).do_scheduled(
//!     dependencies.schedule(),
//!     &steps,
//!     |_| (),
//!     |&step, _| last = step,
//! );
//! assert_eq!(last, "link");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Failures
//!
//! If a handler panics, a thread or process cannot be created, or a process dies, the finisher of the object gets a
//! [`Failure`] instead of a result, and the other objects continue. A panic is caught as by
//! [`catch_unwind`](std::panic::catch_unwind): data that the handler has partly changed stays so. In a program built
//! with `panic = "abort"` a handler's panic ends the program, except in [`Processes`], where it ends the handler's
//! process.
//!
//! If a finisher panics, no further object is begun. The call waits for the running handlers, drops their results, and
//! resumes the panic in the caller.
//!
//! # Which executor
//!
//! | executor | an object is handled | choose it |
//! |---|---|---|
//! | [`ConcurrentExecution`] | on a fresh thread | for few or long objects; no thread state passes from one to the next |
//! | [`ConcurrentExecution`] with [`Threads::UpFront`] | on a thread of the call | for many short objects |
//! | [`ConcurrentExecution`] with [`Threads::Suspended`] | on its own thread, created before the first object is handed out | where threads must not be created during the call |
//! | [`Pool`] | on a thread of the pool | for many short calls |
//! | [`Rayon`] | on a thread of a rayon pool | where handlers use rayon themselves |
//! | [`Tokio`] | as a task | for many objects that mostly wait |
//! | [`Processes`] | in a forked process | where a handler may crash, or change its process |
//!
//! [`Execution::do_serial`] handles the objects on the caller's thread, for comparison.
//!
//! [`by_kind`] makes one handler of an array of handlers, for objects of several kinds.
//!
//! A handler may itself use an executor. The documentation of [`Pool`], [`Rayon`] and [`Tokio`] describes a handler
//! that uses the executor it runs on.

mod dependencies;
mod execution;
mod failure;
mod kinds;
mod lend;

mod pool;
mod processes;
mod rayon_pool;
mod schedule;
mod slots;
mod suspended_thread;
mod team;
mod threads;
mod tokio_tasks;
mod waiter;

pub use dependencies::{Cycle, Dependencies};
pub use execution::Execution;
pub use failure::Failure;
pub use kinds::{KindHandler, by_kind};
pub use pool::Pool;
pub use processes::Processes;
pub use rayon_pool::Rayon;
pub use schedule::{InOrder, Schedule};
pub use threads::{ConcurrentExecution, Finishers, Threads};
pub use tokio_tasks::{Handling, Tokio};
