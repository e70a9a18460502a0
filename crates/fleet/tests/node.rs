//! The part of a job on a node, beside other users of the machine. The tests have a network namespace of their own, and so a lock of
//! their own, and a mount namespace, where the directory for locks belongs to root, or to all.

#[cfg(target_os = "linux")]
#[path = "node/linux.rs"]
mod linux;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
