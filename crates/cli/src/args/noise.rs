//! `oscost noise`.

use clap::Args;
use command::options::StoreArg;
use command::values::from_to;

use super::run::Measuring;

/// `oscost noise`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oscost noise --quick\n  oscost noise syscall --runs 12\n  oscost noise --validate"
)]
pub struct Noise {
    #[command(flatten)]
    pub measuring: Measuring,
    /// Number of runs to measure, one after the other
    #[arg(long, value_name = "N", default_value = "8", value_parser = from_to::<2, 1000>, allow_hyphen_values = true)]
    pub runs: usize,
    /// Measure nothing: say how often the stored runs lay where the run before each had said
    #[arg(long)]
    pub validate: bool,
    /// Print the result as JSON instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArg,
}
