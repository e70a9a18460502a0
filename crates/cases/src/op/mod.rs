//! The user's own operation: a function in a shared library, as `include/oscost.h` describes it.

mod function;
pub mod library;

pub use function::{CASE_NAME, NAME};

use crate::{Area, Case};

/// The area.
pub const AREA: Area = Area { only_by: Some("oscost run --op FILE"), ..Area::new("op", CASES) };

/// Its cases.
const CASES: &[&Case] = &[&function::CASE];
