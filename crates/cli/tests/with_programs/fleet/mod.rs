//! `oscost fleet` on nodes that are network namespaces of this machine: hosts of OpenSSH, and a Slurm cluster.

mod nodes;
mod slurm;
mod ssh;
