//! Everything of oscost that differs between operating systems.
//!
//! This is the only crate with `cfg(target_os)`. It offers the same functions on every system;
//! what a system cannot do is a [`Refusal`] with the reason, never a missing function.
//!
//! A case that exists on one system only is written inside `on_linux!`, `on_unix!` or
//! `on_windows!`, which turn into that refusal elsewhere.

pub mod chain;
#[cfg(unix)]
pub mod children;
pub mod clock;
pub mod counters;
pub mod cpu;
pub mod environment;
pub mod filesystem;
pub mod leftovers;
pub mod limits;
pub mod machine;
pub mod net;
pub mod network;
pub mod process;
pub mod readiness;
mod refusal;
pub mod shared;
pub mod socket;
pub mod tracer;
pub mod tree;
pub mod usage;

pub use refusal::Refusal;

/// Evaluates the block on Linux; elsewhere evaluates to `Err(Refusal::Unsupported(..))`.
///
/// Variables that only the block uses are named before it, so that they are not called unused
/// elsewhere: `on_linux!(round, { .. })`.
#[macro_export]
macro_rules! on_linux {
    ($($used:ident,)* $here:block) => {{
        #[cfg(target_os = "linux")]
        {
            $here
        }
        #[cfg(not(target_os = "linux"))]
        {
            $(let _ = &$used;)*
            Err($crate::Refusal::Unsupported(String::from("exists only on Linux")))
        }
    }};
}

/// As [`on_linux!`], on Unix-like systems.
#[macro_export]
macro_rules! on_unix {
    ($($used:ident,)* $here:block) => {{
        #[cfg(unix)]
        {
            $here
        }
        #[cfg(not(unix))]
        {
            $(let _ = &$used;)*
            Err($crate::Refusal::Unsupported(String::from("exists only on Unix-like systems")))
        }
    }};
}

/// As [`on_linux!`], on Windows.
#[macro_export]
macro_rules! on_windows {
    ($($used:ident,)* $here:block) => {{
        #[cfg(windows)]
        {
            $here
        }
        #[cfg(not(windows))]
        {
            $(let _ = &$used;)*
            Err($crate::Refusal::Unsupported(String::from("exists only on Windows")))
        }
    }};
}

/// As [`on_linux!`], on x86-64.
#[macro_export]
macro_rules! on_x86_64 {
    ($($used:ident,)* $here:block) => {{
        #[cfg(target_arch = "x86_64")]
        {
            $here
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            $(let _ = &$used;)*
            Err($crate::Refusal::Unsupported(String::from("exists only on x86-64")))
        }
    }};
}
