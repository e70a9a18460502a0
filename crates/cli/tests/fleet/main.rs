//! `oscost fleet` on nodes that are network namespaces of this machine: hosts of OpenSSH, and a Slurm cluster.

#![cfg(target_os = "linux")]

mod nodes;
mod slurm;
mod ssh;
mod usage;
