//! Opens the store that the user named, or the default one.

use std::path::PathBuf;

use results::{Store, StoreError};

use crate::options::StoreArg;

fn store_path(arg: &StoreArg) -> Result<PathBuf, StoreError> {
    arg.store.clone().map_or_else(Store::default_path, Ok)
}

/// Opens the store for writing, and creates it if it does not exist.
///
/// # Errors
/// The error of opening the store.
pub fn store_to_write(arg: &StoreArg) -> Result<Store, StoreError> {
    Store::open(&store_path(arg)?)
}

/// Opens the store for reading.
///
/// # Errors
/// An error if the store does not exist or cannot be opened.
pub fn store_to_read(arg: &StoreArg) -> Result<Store, StoreError> {
    Store::open_read_only(&store_path(arg)?)
}
