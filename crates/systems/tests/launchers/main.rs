//! Tests that each launcher starts a small program, exchanges lines with it, and leaves nothing: neither after the end of a static
//! one, nor, of one with libraries, after a SIGKILL of the process that started it and the next start.
//!
//! A launcher is skipped, with the reason, if this machine lacks something that it requires. `OSCOST_TEST_KERNEL` names a
//! kernel image for QEMU; without it `scripts/test-kernels` has put one in target/kernels.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod docker;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    linux::main()
}

/// Runs nothing: all launchers with tests start systems on Linux.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    testing::not_applicable("systems other than this one are started on Linux");
    ExitCode::SUCCESS
}
