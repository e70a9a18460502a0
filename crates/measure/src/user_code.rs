//! The user's own function that a round measures, with settings that are no parameters of the case, since they do not
//! distinguish points.

use serde::{Deserialize, Serialize};

/// A shared library with a function to measure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserLibrary {
    /// Absolute path.
    pub path: String,
    /// Checksum of the contents when the run was planned.
    pub checksum: u32,
    /// Maximum memory that the function may use, in bytes.
    pub memory: u64,
}
