//! Plain loops: operations that oscost measures, written from the text that `oscost list --long` prints, by nothing but calls of
//! the C library and a clock. They share no code with oscost, whose figures the bench `independent` compares with them. The
//! program `plain-loops` takes them into other systems.
//!
//! The loops are calls of Linux, and a few of Windows for Wine: elsewhere this library has nothing in it.

#![cfg(any(target_os = "linux", windows))]

pub mod agent;
pub mod answer;
#[cfg(target_os = "linux")]
pub mod calls;
#[cfg(windows)]
#[path = "windows/calls.rs"]
mod calls;
#[cfg(target_os = "linux")]
pub mod child;
#[cfg(windows)]
#[path = "windows/child.rs"]
mod child;
#[cfg(target_os = "linux")]
pub mod init;
pub mod operation;
#[cfg(target_os = "linux")]
pub mod operations;
mod run;
mod setting;
#[cfg(target_os = "linux")]
mod sysv;
#[cfg(target_os = "linux")]
mod tasks;
#[cfg(windows)]
#[path = "windows/tasks.rs"]
mod tasks;
pub mod win32;
#[cfg(target_os = "linux")]
mod workers;

pub use run::{Ask, run};
#[cfg(windows)]
use win32 as operations;
