//! The code of oscost that differs between operating systems.
//!
//! This is the only crate with `cfg(target_os)`. Every function exists on every system; if a system cannot do something,
//! the function returns a [`CaseError`] with the reason.
//!
//! A case for one system only is written inside `on_linux!`, `on_unix!` or `on_windows!`, which evaluate to that error
//! elsewhere.

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
pub mod context;
pub mod control_group;
pub mod counters;
pub mod cpu;
pub mod detached_thread;
pub mod environment;
pub mod file_io;
pub mod file_mapping;
pub mod filesystem;
pub mod forbidden_page;
pub mod hosted;
pub mod init;
pub mod jump;
pub mod kept_awake;
pub mod library;
pub mod limits;
pub mod machine;
pub mod mapped_file;
pub mod memory;
pub mod memory_limit;
pub mod network_namespace;
pub mod owned;
pub mod pages;
pub mod pointer_chase;
pub mod process;
pub mod process_status;
#[cfg(unix)]
pub mod program;
pub mod readiness;
#[cfg(unix)]
pub mod resident_memory;
pub mod seccomp;
pub mod server_socket;
pub mod shared;
#[cfg(unix)]
pub mod signal;
#[cfg(unix)]
pub mod sleeping_children;
#[cfg(target_os = "linux")]
mod smaps;
pub mod socket_io;
pub mod stream;
pub mod suspended_thread;
pub mod system_calls;
pub mod system_path;
pub mod thread_key;
pub mod timer;
pub mod topology;
pub mod tracer;
pub mod tree;
pub mod usage;
pub mod userfault;
#[cfg(windows)]
mod windows_process;

pub use case_error::CaseError;

/// Evaluates the block on Linux; elsewhere evaluates to `Err(CaseError::Unsupported(..))`.
///
/// Variables that only the block uses are named before it, so that they are not reported as unused elsewhere:
/// `on_linux!(round, { .. })`. A closure of two arguments, such as a case's `run`, is written as one: `on_linux!(|params,
/// round| { .. })`.
#[macro_export]
macro_rules! on_linux {
    ($($given:tt)*) => { $crate::only_where!(target_os = "linux", "Linux", $($given)*) };
}

/// Evaluates the block on Unix-like systems, like [`on_linux!`] on Linux.
#[macro_export]
macro_rules! on_unix {
    ($($given:tt)*) => { $crate::only_where!(unix, "Unix-like systems", $($given)*) };
}

/// Evaluates the block on Windows, like [`on_linux!`] on Linux.
#[macro_export]
macro_rules! on_windows {
    ($($given:tt)*) => { $crate::only_where!(windows, "Windows", $($given)*) };
}

/// Evaluates the block on x86-64 processors, like [`on_linux!`] on Linux.
#[macro_export]
macro_rules! on_x86_64 {
    ($($given:tt)*) => { $crate::only_where!(target_arch = "x86_64", "x86-64", $($given)*) };
}

/// The common part of the macros above.
#[doc(hidden)]
#[macro_export]
macro_rules! only_where {
    ($here:meta, $named:literal, |$params:tt, $round:tt| $block:block) => {{
        #[cfg($here)]
        {
            |$params, $round| $block
        }
        #[cfg(not($here))]
        {
            |_, _| Err($crate::CaseError::Unsupported(concat!("exists only on ", $named).into()))
        }
    }};
    ($here:meta, $named:literal, $($used:ident,)* $block:block) => {{
        #[cfg($here)]
        {
            $block
        }
        #[cfg(not($here))]
        {
            $(let _ = &$used;)*
            Err($crate::CaseError::Unsupported(concat!("exists only on ", $named).into()))
        }
    }};
}
