//! A whole command of the user: `oscost time`.

mod answer;
mod command;
pub mod metrics;
mod ranking;
mod ranking_text;
mod subcommand;

use report::Layout;

use crate::{Area, Case};

/// The area.
pub const AREA: Area = Area {
    only_by: Some("oscost time"),
    command: Some(subcommand::COMMAND),
    ..Area::new("time", CASES)
};

/// The layout: the tables have a row for each point.
pub const LAYOUT: Layout = Layout { conclusion: answer::answer, ..Layout::new(AREA.name) };

/// Cases of the area.
const CASES: &[&Case] = &[&command::CASE];
