//! `oscost noise`.

use clap::Args;

use super::run::Measuring;
use super::store::StoreArg;
use super::values::count;

/// `oscost noise`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  oscost noise --quick\n  oscost noise syscall --tries 5")]
pub struct Noise {
    #[command(flatten)]
    pub measuring: Measuring,
    /// Number of pairs of runs to measure and compare
    #[arg(long, value_name = "N", default_value = "1", value_parser = tries, allow_hyphen_values = true)]
    pub tries: u64,
    /// Print the result as JSON instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArg,
}

fn tries(text: &str) -> Result<u64, String> {
    match count(text)? {
        count @ 1..=1000 => Ok(count),
        _ => Err("it must be 1 to 1000".into()),
    }
}
