//! What several modules read of Linux: the files of /proc and /sys, and control groups.

pub(crate) mod cgroup;
pub(crate) mod tree;
