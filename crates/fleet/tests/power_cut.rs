//! Power cuts while runs of nodes are collected and stored: a node that was called done has its run in the store, whatever the cut
//! leaves, and the job goes on. Also a file system that has no locks.

#[cfg(target_os = "linux")]
#[path = "power_cut/linux.rs"]
mod linux;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
