//! A whole command of the user: `oscost time`.

mod answer;
mod command;
mod export;
mod figures;
mod lines;
pub mod metrics;
mod order;
mod ranking;
mod ranking_text;
mod schedule;
mod session;
mod subcommand;
mod table;
mod timing;
mod worker;

use report::Layout;

use catalog::{Area, Case};

/// The area.
pub static AREA: Area = Area {
    only_by: Some("oscost time"),
    command: Some(subcommand::COMMAND),
    tasks: &[&worker::COMMANDS],
    ..Area::new("time", CASES)
};

/// The layout: one table of the commands, and the comparison.
pub const LAYOUT: Layout = Layout { conclusion: answer::answer, ..Layout::new(AREA.name) };

/// Cases of the area.
const CASES: &[&Case] = &[&command::CASE];
