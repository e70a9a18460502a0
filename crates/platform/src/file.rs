//! Files and file systems: what differs between operating systems.

pub mod access;
pub mod aligned;
pub mod filesystem;
pub mod io;
pub mod mapping;
pub mod path;
pub mod private;
pub mod system_path;
