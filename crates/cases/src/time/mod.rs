//! A whole command of the user: `oscost time`.

mod command;
pub mod metrics;
mod ranking;
mod ranking_text;

pub use command::{COMMAND, PREPARE, SHELL, points};
pub use ranking::{Ranked, Ranking, rank_commands};
pub use ranking_text::ranking_text;

use crate::{Area, Case};

/// The area.
pub const AREA: Area = Area { only_by: Some("oscost time"), ..Area::new("time", CASES) };

/// Cases of the area.
const CASES: &[&Case] = &[&command::CASE];
