//! The arguments of the bench.

use std::path::PathBuf;

use clap::Parser;

use crate::linux::operation::Operation;
use crate::linux::operations;

/// Compares oscost's figures with plain loops that share no code with it.
#[derive(Debug, Parser)]
#[command(name = "independent")]
pub struct Arguments {
    /// Operations whose name contains one of these texts, such as `switch/` or `size=4m` [default: all]
    filters: Vec<String>,
    /// How many times both are measured, at least 2
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(2..=1000))]
    turns: u16,
    /// Print the operations and measure nothing
    #[arg(long)]
    list: bool,
    /// Compare oscost with itself instead: with batches and warm-up half and twice as long where tasks answer each other
    #[arg(long, conflicts_with = "filters")]
    lengths: bool,
    /// Write all turns and ratios to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Keep all CPUs awake while plain loops run, as oscost does, to see what waking them costs
    #[arg(long)]
    awake: bool,
    /// Run the plain loop of this operation and print its time: what the bench starts in a child process
    #[arg(long, hide = true, value_name = "OPERATION")]
    plain_loop: Option<String>,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

/// Task of the bench.
pub enum Mode {
    /// Run the plain loop of the operation with this name.
    PlainLoop {
        /// Name of the operation.
        name: String,
        /// Whether all CPUs are kept awake meanwhile.
        awake: bool,
    },
    /// Print the names of these operations.
    List(Vec<&'static Operation>),
    /// Compare lengths of batches and warm-up.
    Lengths {
        /// Number of turns.
        turns: usize,
        /// File for the results, in addition to the output.
        json: Option<PathBuf>,
    },
    /// Compare these operations.
    Compare {
        /// Operations to compare.
        operations: Vec<&'static Operation>,
        /// Number of turns.
        turns: usize,
        /// Whether all CPUs are kept awake while plain loops run.
        awake: bool,
        /// File for the results, in addition to the output.
        json: Option<PathBuf>,
    },
}

impl Arguments {
    /// Reads the arguments of this process; a wrong one ends it with exit code 2.
    pub fn parse() -> Self {
        Parser::parse()
    }

    /// The task that the arguments select; a filter that selects nothing ends the process with exit code 2.
    pub fn mode(self) -> Mode {
        if let Some(name) = self.plain_loop {
            return Mode::PlainLoop { name, awake: self.awake };
        }
        for filter in &self.filters {
            if !operations::all().any(|operation| operation.to_string().contains(filter)) {
                eprintln!(
                    "independent: no operation contains {filter:?}; --list prints all of them"
                );
                std::process::exit(2);
            }
        }
        if self.lengths {
            return Mode::Lengths { turns: self.turns.into(), json: self.json };
        }
        let selected = |operation: &&Operation| {
            let name = operation.to_string();
            self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter))
        };
        let operations = operations::all().filter(selected).collect();
        if self.list {
            return Mode::List(operations);
        }
        Mode::Compare { operations, turns: self.turns.into(), awake: self.awake, json: self.json }
    }
}
