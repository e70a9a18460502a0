//! Everything of oscost that differs between operating systems.
//!
//! This is the only crate with `cfg(target_os)`. It offers the same functions on every system;
//! what a system cannot do is a [`Refusal`] with the reason, never a missing function.
//!
//! A case that exists on one system only is written inside `on_linux!`, `on_unix!` or
//! `on_windows!`, which turn into that refusal elsewhere.

pub mod clock;
pub mod counters;
pub mod cpu;
pub mod leftovers;
pub mod machine;
pub mod process;
mod refusal;
pub mod shared;
pub mod tracer;

pub use refusal::Refusal;

/// Evaluates the block on Linux; elsewhere evaluates to `Err(Refusal::Unsupported(..))`.
#[macro_export]
macro_rules! on_linux {
    ($here:block) => {{
        #[cfg(target_os = "linux")]
        {
            $here
        }
        #[cfg(not(target_os = "linux"))]
        {
            Err($crate::Refusal::Unsupported(String::from("exists only on Linux")))
        }
    }};
}

/// Evaluates the block on Unix-like systems; elsewhere evaluates to `Err(Refusal::Unsupported(..))`.
#[macro_export]
macro_rules! on_unix {
    ($here:block) => {{
        #[cfg(unix)]
        {
            $here
        }
        #[cfg(not(unix))]
        {
            Err($crate::Refusal::Unsupported(String::from("exists only on Unix-like systems")))
        }
    }};
}

/// Evaluates the block on Windows; elsewhere evaluates to `Err(Refusal::Unsupported(..))`.
#[macro_export]
macro_rules! on_windows {
    ($here:block) => {{
        #[cfg(windows)]
        {
            $here
        }
        #[cfg(not(windows))]
        {
            Err($crate::Refusal::Unsupported(String::from("exists only on Windows")))
        }
    }};
}

/// Evaluates the block on x86-64; elsewhere evaluates to `Err(Refusal::Unsupported(..))`.
#[macro_export]
macro_rules! on_x86_64 {
    ($here:block) => {{
        #[cfg(target_arch = "x86_64")]
        {
            $here
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            Err($crate::Refusal::Unsupported(String::from("exists only on x86-64")))
        }
    }};
}
