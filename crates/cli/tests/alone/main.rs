//! Tests that want the processors, or the process, for themselves.

#[cfg(target_os = "linux")]
#[path = "../common/mod.rs"]
mod common;

#[cfg(target_os = "linux")]
mod host_counts;
mod new_area;
#[cfg(target_os = "linux")]
mod placement;
