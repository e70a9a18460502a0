//! Studies that are part of oscost.

/// Names of the included studies, in the order in which they are listed.
pub const NAMES: [&str; 5] = ["timers", "syscall", "threads", "locks", "network"];

/// A commented study as a template.
pub const TEMPLATE: &str = include_str!("../../studies/template.toml");

/// The text of the included study with this name.
pub fn included(name: &str) -> Option<&'static str> {
    Some(match name {
        "timers" => include_str!("../../studies/timers.toml"),
        "syscall" => include_str!("../../studies/syscall.toml"),
        "threads" => include_str!("../../studies/threads.toml"),
        "locks" => include_str!("../../studies/locks.toml"),
        "network" => include_str!("../../studies/network.toml"),
        _ => return None,
    })
}
