//! `oscost report`.

use std::path::PathBuf;

use clap::Args;

use super::store::StoreArg;

/// `oscost report`.
#[derive(Debug, Args)]
#[command(after_help = "\
A run is named by its id, the start of its id, `last`, `last~1` (the run before the last), a tag `key=value`, or a \
JSON file. With several runs, the first one is the base that the others are compared with.

Examples:
  oscost report -o run.html
  oscost report last~1 last -o change.html --title 'Kernel 6.18 against 6.12'
  oscost report last --section net -o net.html")]
pub struct Report {
    /// The runs to show [default: last]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// The file to write
    #[arg(long, short, value_name = "FILE.html")]
    pub output: PathBuf,
    /// The heading of the page
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Show only this area
    #[arg(long, value_name = "AREA")]
    pub section: Option<String>,
    #[command(flatten)]
    pub store: StoreArg,
}
