//! What oscost measures: one small file per case, one folder per area.
//!
//! To add a case, add a file to its area's folder and a line to that folder's list; `CONTRIBUTING.md`
//! shows it with a real one.

mod case;
pub mod clock;
pub mod lock;
pub mod syscall;

pub use case::{Case, Only, Param, count_of, value_of};

/// All cases, in the order they are listed.
pub fn all() -> Vec<&'static Case> {
    [clock::CASES, syscall::CASES, lock::CASES].concat()
}

/// The case of that name, `area/name`.
pub fn find(name: &str) -> Option<&'static Case> {
    all().into_iter().find(|case| case.label() == name)
}
