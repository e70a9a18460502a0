//! What runs of the areas print, which points they have, and the included studies.

mod answer;
mod concurrency;
mod default_run;
mod executors;
mod files;
mod mail;
mod net;
#[path = "../../../report/tests/report/pages.rs"]
mod pages;
mod plans;
mod senders;
mod servers;
mod studies;
mod summary;
mod workbook;
