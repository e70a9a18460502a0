//! Each launcher starts a small static program, exchanges lines with it, and leaves nothing: neither when it is ended, nor
//! after a SIGKILL of the process that started it and the next start.
//!
//! What a launcher needs and this machine lacks is skipped with the reason. `OSCOST_TEST_KERNEL` names a kernel image for
//! QEMU; without it `scripts/test-kernels` has put one in target/kernels.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod docker;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    linux::main()
}

/// All launchers with tests start systems on Linux.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    testing::not_applicable("systems other than this one are started on Linux");
    ExitCode::SUCCESS
}
