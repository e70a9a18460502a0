//! What runs of the areas print, which points they have, the included studies, and names of cases in other crates and documents.

mod alike;
mod answer;
mod concurrency;
mod default_run;
mod executors;
mod files;
mod mail;
#[cfg(unix)]
mod names;
mod net;
#[path = "../../../report/tests/report/pages.rs"]
mod pages;
mod peers;
mod plans;
mod senders;
mod servers;
mod studies;
mod summary;
mod workbook;
