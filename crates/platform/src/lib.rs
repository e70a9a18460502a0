//! The code of oscost that differs between operating systems.
//!
//! This is the only crate with `cfg(target_os)`. Every function exists on every system; if a system cannot do something,
//! the function returns a [`CaseError`] with the reason.
//!
//! A function of a case that exists on one system only has the attribute [`only`], and returns that error elsewhere.

// The attribute `only` names this crate in what it makes.
extern crate self as platform;

pub mod address_wait;
pub mod aligned;
pub mod allocator;
#[cfg(target_os = "linux")]
mod call_log;
mod case_error;
pub mod chain;
#[cfg(unix)]
pub mod children;
pub mod cleanup;
pub mod client_socket;
pub mod clock;
pub mod command;
pub mod control_group;
pub mod counters;
pub mod cpu;
pub mod environment;
pub mod file_io;
pub mod file_mapping;
pub mod filesystem;
pub mod hosted;
pub mod init;
pub mod limits;
pub mod machine;
pub mod memory;
pub mod owned;
pub mod pages;
pub mod process;
pub mod process_status;
#[cfg(unix)]
pub mod program;
pub mod readiness;
pub mod server_socket;
pub mod shared;
#[cfg(unix)]
pub mod signal;
#[cfg(target_os = "linux")]
pub mod smaps;
pub mod socket_io;
pub mod system_calls;
pub mod system_path;
pub mod timer;
pub mod topology;
pub mod tracer;
pub mod tree;
pub mod usage;
#[cfg(windows)]
pub mod windows_process;

pub use case_error::CaseError;
pub use only::only;
