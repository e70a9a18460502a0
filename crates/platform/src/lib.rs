//! What several cases or crates need of the operating system, in modules by subject.
//!
//! Every function exists on every system; if a system cannot do something, the function returns a [`CaseError`] with the
//! reason. A module for one system only, such as `process::signal`, exists where it is needed. A function that each system has in
//! its own module `os` is documented where it is re-exported.
//!
//! A function of a case that exists on one system only has the attribute [`only`], and returns that error elsewhere.

// The attribute `only` names this crate in what it makes.
extern crate self as platform;

mod case_error;
pub mod cleanup;
pub mod counters;
pub mod cpu;
pub mod file;
mod format;
pub mod incoming;
#[cfg(target_os = "linux")]
mod linux;
pub mod machine;
pub mod memory;
pub mod owned;
pub mod pid;
pub mod process;
pub mod socket;
pub mod time;
#[cfg(target_os = "linux")]
pub mod uring;
#[cfg(unix)]
pub mod user;
#[cfg(windows)]
pub mod windows;

/// Whether this system is Linux.
pub const IS_LINUX: bool = cfg!(target_os = "linux");
/// Whether this system is FreeBSD.
pub const IS_FREEBSD: bool = cfg!(target_os = "freebsd");
/// Whether this system is macOS.
pub const IS_MACOS: bool = cfg!(target_os = "macos");
/// Whether this system is Unix-like.
pub const IS_UNIX: bool = cfg!(unix);
/// Whether this system is Windows.
pub const IS_WINDOWS: bool = cfg!(windows);

pub use case_error::CaseError;
pub use only::only;
