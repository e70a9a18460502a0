//! How much is read or written at once.

use crate::{Param, Takes};

/// The number of bytes.
pub const BYTES: Param = Param::new("bytes", &["1k", "100k"])
    .meaning("how many bytes one call transfers")
    .full(&["1k", "2k", "5k", "10k", "20k", "50k", "100k"])
    .takes(Takes::Size(1 << 30));
