//! Names of areas, cases, parameters and metrics, in the sources of other crates and in documents.

// The sources are the same on every system, so that one system suffices.
#[cfg(unix)]
mod names;
mod peers;
