//! A whole command of the user: `oscost time`.

mod command;
pub mod metrics;

pub use command::{CASE_NAME, COMMAND, PREPARE, SHELL};

use crate::{Area, Case};

/// The area.
pub const AREA: Area = Area { only_by: Some("oscost time"), ..Area::new("time", CASES) };

/// Its cases.
const CASES: &[&Case] = &[&command::CASE];
