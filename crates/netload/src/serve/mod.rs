//! Servers of every architecture, one file each.
