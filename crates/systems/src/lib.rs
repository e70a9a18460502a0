//! Starts an agent in a system: this one, a sandbox, a container, a virtual machine or another host.
//!
//! A system is named on the command line (`--on gvisor`) or in `systems.toml`. Each way to start one is a file under
//! `launcher/`. Launchers record everything before they create it ([`state`]), so that it is removed when the system ends,
//! or by the next start if this process was killed.

mod binary;
mod error;
mod file;
mod initramfs;
mod launcher;
mod launchers;
mod libraries;
mod options;
mod program;
mod running;
pub mod state;
mod system;

pub use error::SystemError;
pub use file::SystemsFile;
pub use initramfs::CHANNEL;
pub use launcher::qemu::kvm;
pub use launchers::{Description, descriptions};
pub use running::Running;
pub use system::{Placement, System, by_reason};
