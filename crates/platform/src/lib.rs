//! The code of oscost that differs between operating systems.
//!
//! This is the only crate with `cfg(target_os)`. Every function exists on every system; if a system cannot do something,
//! the function returns a [`CaseError`] with the reason.
//!
//! A function of a case that exists on one system only has the attribute [`only`], and returns that error elsewhere.

// The attribute `only` names this crate in what it makes.
extern crate self as platform;

mod case_error;
pub mod cleanup;
pub mod counters;
pub mod cpu;
pub mod file;
pub mod machine;
pub mod memory;
pub mod owned;
pub mod process;
pub mod socket;
pub mod time;

pub use case_error::CaseError;
pub use only::only;
