//! `oscost noise`.

use clap::Args;

use super::run::Measuring;
use super::store::StoreArg;
use super::values::from_to;

/// `oscost noise`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  oscost noise --quick\n  oscost noise syscall --tries 5")]
pub struct Noise {
    #[command(flatten)]
    pub measuring: Measuring,
    /// Number of pairs of runs to measure and compare
    #[arg(long, value_name = "N", default_value = "1", value_parser = from_to::<1, 1000>, allow_hyphen_values = true)]
    pub tries: usize,
    /// Print the result as JSON instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArg,
}
