//! The program beside others that must be installed: browsers, mail servers, databases, clusters, readers of exports.
#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;

mod fleet;
mod mail_servers;
mod packaging;
mod pages;
mod readers;
mod scripts;
mod shared_store;
