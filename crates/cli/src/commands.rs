//! The commands, one file each.

mod again;
mod agent;
mod check;
mod compare;
mod describe;
mod dry_run;
mod exchange;
mod fleet;
mod further_systems;
mod gate;
mod history;
mod needed;
mod noise;
mod on;
mod report;
mod run;
mod shell;
mod show;
mod study;
mod watch;
mod worker;

pub use agent::agent;
pub use check::check;
pub use compare::compare;
pub use describe::{env, list};
pub use exchange::{export, import};
pub use fleet::fleet;
pub use history::history;
pub use noise::noise;
pub use report::report;
pub use run::run;
pub use shell::{completions, man};
pub use show::{runs, show};
pub use study::study;
pub use watch::watch;
pub use worker::worker;
