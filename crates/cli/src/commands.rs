//! The commands, one file each.

mod answer;
mod compare;
mod concurrency;
mod describe;
mod exchange;
mod files;
mod mail;
mod measure;
mod net;
mod noise;
mod ranking;
mod report;
mod run;
mod shell;
mod show;
mod time;
mod worker;

pub use compare::compare;
pub use concurrency::concurrency;
pub use describe::{env, list};
pub use exchange::{export, import};
pub use mail::mail;
pub use net::net;
pub use noise::noise;
pub use report::report;
pub use run::run;
pub use shell::{completions, man};
pub use show::{runs, show};
pub use time::time;
pub use worker::worker;
