//! Plain loops: operations that oscost measures, written from the text that `oscost list --long` prints, by nothing but calls of
//! the C library and a clock. They share no code with oscost, whose figures the bench `independent` compares with them. The
//! program `plain-loops` takes them into other systems.
//!
//! The loops are calls of Linux: elsewhere this library has nothing in it.

#![cfg(target_os = "linux")]

pub mod agent;
pub mod answer;
pub mod calls;
pub mod child;
mod init;
pub mod operation;
pub mod operations;
mod run;
mod setting;
mod sysv;
mod tasks;
mod workers;

pub use run::{Ask, run};
