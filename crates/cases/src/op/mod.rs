//! The user's own operation: a function in a shared library that implements `include/oscost.h`.

mod function;
pub mod library;
mod loading;

pub use function::{CASE_NAME, NAME};

use crate::{Area, Case};

/// The area.
pub const AREA: Area = Area { only_by: Some("oscost run --op FILE"), ..Area::new("op", CASES) };

/// Cases of the area.
const CASES: &[&Case] = &[&function::CASE];
