//! The user's own operation: a function in a shared library that implements `include/oscost.h`.

mod function;
mod functions;
mod library;
mod loading;

pub use functions::functions;

use catalog::{Area, Case};

/// The area.
pub static AREA: Area = Area {
    only_by: Some("oscost run --op FILE"),
    tasks: &[&functions::NAME_LIBRARY],
    ..Area::new("op", CASES)
};

/// Cases of the area.
const CASES: &[&Case] = &[&function::CASE];
