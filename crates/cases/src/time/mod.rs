//! A whole command of the user: `oscost time`.

mod command;
pub mod metrics;
mod ranking;

pub use command::{CASE_NAME, COMMAND, PREPARE, SHELL};
pub use ranking::{Ranked, Ranking, rank_commands};

use crate::{Area, Case};

/// The area.
pub const AREA: Area = Area { only_by: Some("oscost time"), ..Area::new("time", CASES) };

/// Cases of the area.
const CASES: &[&Case] = &[&command::CASE];
