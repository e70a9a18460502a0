//! The arguments of the bench.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use loops::Ask;
use loops::operation::Operation;
use loops::operations;

/// Compares oscost's figures with plain loops that share no code with it.
#[derive(Debug, Parser)]
#[command(name = "independent")]
pub struct Arguments {
    /// Operations whose name contains one of these texts, such as `switch/` or `size=4m` [default: all; with --on some 20]
    filters: Vec<String>,
    /// Compare in this system, as for `oscost run --on`, such as gvisor or gvisor@one-cpu (may be repeated)
    #[arg(long, value_name = "SYSTEM", conflicts_with_all = ["lengths", "awake"])]
    on: Vec<String>,
    /// How many times both are measured, at least 2 [default: 10; with --on 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=1000))]
    turns: Option<u16>,
    /// Budget of each run of oscost [default: 1s; with --on 3s]
    #[arg(long, value_name = "TIME")]
    budget: Option<String>,
    /// Time for which a plain loop is timed [default: 500; with --on 1000]
    #[arg(long, value_name = "N")]
    ms: Option<u64>,
    /// Time for which a plain loop runs before that [default: 50; with --on 500]
    #[arg(long, value_name = "N")]
    warm_up_ms: Option<u64>,
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
    /// Run this plain loop.
    PlainLoop(Ask),
    /// Print the names of these operations.
    List(Vec<&'static Operation>),
    /// Compare lengths of batches and warm-up.
    Lengths,
    /// Compare these operations on this system.
    Compare(Vec<&'static Operation>),
    /// Compare in other systems.
    CompareInside,
}

impl Arguments {
    /// Reads the arguments of this process; a wrong one ends it with exit code 2.
    pub fn parse() -> Self {
        Parser::parse()
    }

    /// The systems to compare in; none for this one.
    pub fn on(&self) -> &[String] {
        &self.on
    }

    /// Number of turns.
    pub fn turns(&self) -> usize {
        self.turns.unwrap_or(if self.on.is_empty() { 10 } else { 5 }).into()
    }

    /// Budget of each run of oscost.
    pub fn budget(&self) -> &str {
        self.budget.as_deref().unwrap_or(if self.on.is_empty() { "1s" } else { "3s" })
    }

    /// File for the results, in addition to the output.
    pub fn json(&self) -> Option<&std::path::Path> {
        self.json.as_deref()
    }

    /// The loop of the operation with this name. In other systems it is longer: operations may become faster for half a second.
    pub fn ask(&self, operation: String) -> Ask {
        let (length, warm_up) = if self.on.is_empty() { (500, 50) } else { (1000, 500) };
        let length = Duration::from_millis(self.ms.unwrap_or(length));
        let warm_up = Duration::from_millis(self.warm_up_ms.unwrap_or(warm_up));
        Ask { operation, length, warm_up, awake: self.awake }
    }

    /// The task that the arguments select; a filter that selects nothing ends the process with exit code 2.
    pub fn mode(&self) -> Mode {
        if let Some(name) = &self.plain_loop {
            return Mode::PlainLoop(self.ask(name.clone()));
        }
        if self.lengths {
            return Mode::Lengths;
        }
        if self.list {
            return Mode::List(self.selected(operations::all()));
        }
        match self.on.is_empty() {
            true => Mode::Compare(self.selected(operations::all())),
            false => Mode::CompareInside,
        }
    }

    /// Selects operations by the filters, or the usual ones without any; a filter that selects nothing ends the process with exit
    /// code 2.
    pub fn selected(
        &self,
        all: impl Iterator<Item = &'static Operation>,
    ) -> Vec<&'static Operation> {
        let all: Vec<(String, &Operation)> = all.map(|one| (one.to_string(), one)).collect();
        for filter in &self.filters {
            if !all.iter().any(|(name, _)| name.contains(filter)) {
                eprintln!(
                    "independent: no operation contains {filter:?}; --list prints all of them"
                );
                std::process::exit(2);
            }
        }
        // All operations are usual where there are few, as on Windows.
        let is_some = !self.on.is_empty() && all.len() > operations::INSIDE.len();
        let selects = |name: &str| match self.filters.is_empty() {
            true => !is_some || operations::INSIDE.contains(&name),
            false => self.filters.iter().any(|filter| name.contains(filter)),
        };
        all.into_iter().filter(|(name, _)| selects(name)).map(|(_, operation)| operation).collect()
    }
}
