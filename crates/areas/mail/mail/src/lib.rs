//! The rate and cost of delivering mail to a list of recipients, by a sender with an event loop, or with a thread or a
//! process per connection.
//!
//! All architectures are those of `oscost mail send`, with the same queue and the same SMTP session; they differ in
//! what drives a connection. The sender runs in the round's process, and `oscost mail sink` in another: [`test_bed`]
//! chooses their CPUs, [`list`] writes the list of recipients, and [`sampler`] reads the counters at the beginning and
//! the end of the counted time. Each round is one trial: a delivery in test mode, stopped after the counted time.

mod command;
mod designs;
pub mod knee;
mod list;
pub mod metrics;
mod sampler;
mod send;
mod tables;
mod test_bed;
mod trial;
mod worker;

pub use tables::LAYOUT;

use catalog::{Area, Case, Finding, Need, Select, SummaryRow};

/// The area.
pub static AREA: Area = Area {
    experiments: &["message"],
    command: Some(command::COMMAND),
    tasks: &[&worker::SINK],
    needs: &[Need {
        cases: &[],
        what: "descriptors for both sides of all connections (ulimit -n); for process architectures as many processes (ulimit -u)",
    }],
    summary: &[SummaryRow::time("mail to one recipient (event loop sender)", LOOP)],
    findings: &[
        Finding::Ratio {
            of: LOOP,
            to: PROCESSES,
            metric: &metrics::RATE,
            greater: "A mail sender as an event loop reaches {} as many recipients as one with a process per connection.",
            less: "A mail sender with a process per connection reaches {} as many recipients as an event loop.",
            equal: "A mail sender as an event loop reaches as many recipients as one with a process per connection ({}).",
        },
        Finding::Ratio {
            of: PROCESSES,
            to: LOOP,
            metric: &metrics::SENDER_CPU,
            greater: "A mail sender with a process per connection takes {} the CPU time of an event loop.",
            less: "A mail sender as an event loop takes {} the CPU time of one with a process per connection.",
            equal: "A mail sender as an event loop takes as much CPU time as one with processes ({}).",
        },
    ],
    applications: designs::APPLICATIONS,
    derived: &[knee::knees],
    ..Area::new("mail", CASES)
};

const LOOP: Select = Select::point("mail/send", &[("arch", "loop"), ("connections", "100")]);
const PROCESSES: Select =
    Select::point("mail/send", &[("arch", "processes"), ("connections", "100")]);

/// Cases of the area.
const CASES: &[&Case] = &[&send::CASE];
