//! The real program as a user drives it, on a machine with nothing installed but Rust and a C compiler.

#[path = "../common/mod.rs"]
mod common;

mod check;
mod commands;
mod compare_by;
mod concurrency;
#[cfg(target_os = "linux")]
mod counts;
#[cfg(target_os = "linux")]
mod decisions;
#[cfg(target_os = "linux")]
mod faults;
mod file_phases;
#[cfg(target_os = "linux")]
mod files;
mod fleet_shown;
#[cfg(target_os = "linux")]
mod fleet_usage;
#[cfg(target_os = "linux")]
mod formats;
mod history;
#[cfg(target_os = "linux")]
mod independent;
#[cfg(target_os = "linux")]
mod inherited;
#[cfg(target_os = "linux")]
mod kills;
mod mail_delivery;
#[cfg(target_os = "linux")]
mod mail_faults;
#[cfg(target_os = "linux")]
mod mail_health;
mod mail_input;
#[cfg(target_os = "linux")]
mod mail_kills;
#[cfg(target_os = "linux")]
mod mail_memory;
#[cfg(target_os = "linux")]
mod mail_runs;
#[cfg(target_os = "linux")]
mod mail_security;
#[cfg(target_os = "linux")]
mod mail_sink;
mod net;
mod net_architectures;
#[cfg(target_os = "linux")]
mod net_runs;
#[cfg(target_os = "linux")]
mod net_serve;
mod on;
#[cfg(target_os = "linux")]
mod op;
#[cfg(target_os = "linux")]
mod others;
#[cfg(target_os = "linux")]
mod packaging;
#[cfg(target_os = "linux")]
mod pipeline;
mod report;
mod study;
#[cfg(target_os = "linux")]
mod time;
mod wrong_input;
