//! Checks that the command of a new area appears in the help and runs, without a change outside of the area's folder.

#[path = "../../src/args/of_area.rs"]
mod of_area;

use std::sync::atomic::{AtomicUsize, Ordering};

use catalog::{Area, Arguments, Case, Command, Ending};
use clap::{Args, CommandFactory, Parser, Subcommand};
use of_area::OfArea;

const TOAST: Case = Case {
    operation: "One slice of bread toasted.",
    comparable_to: "Nothing else.",
    run: |_, _| Ok(()),
    ..Case::new("kitchen", "toast")
};

const AREA: Area =
    Area { command: Some(Command::new::<Toast>("toast")), ..Area::new("kitchen", &[&TOAST]) };

/// Toast bread.
#[derive(Debug, Args)]
struct Toast {
    /// Number of slices
    #[arg(long, default_value = "1")]
    slices: usize,
}

static TOASTED: AtomicUsize = AtomicUsize::new(0);

impl Arguments for Toast {
    fn run(&self) -> anyhow::Result<Ending> {
        TOASTED.fetch_add(self.slices, Ordering::Relaxed);
        Ok(Ending::CheckFailed)
    }
}

/// A program with commands of its own before and after those of areas.
#[derive(Parser)]
struct Program {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// Measure.
    Run,
    #[command(flatten)]
    OfArea(OfArea),
    /// Compare.
    Compare,
}

#[test]
fn its_command_is_listed_among_the_others_and_runs() {
    catalog::install(&[&AREA]);
    Program::command().debug_assert();
    let help = Program::command().render_help().to_string();
    let at = |what: &str| help.find(what).unwrap_or_else(|| panic!("{what:?} in\n{help}"));
    assert!(at("  run ") < at("  toast    Toast bread"), "{help}");
    assert!(at("  toast ") < at("  compare "), "{help}");

    let parse = |line: &str| Program::try_parse_from(line.split(' '));
    let Ok(Program { command: Commands::OfArea(command) }) = parse("program toast --slices 3")
    else {
        panic!("no command of an area");
    };
    assert_eq!(command.run().expect("toast"), Ending::CheckFailed);
    assert_eq!(TOASTED.load(Ordering::Relaxed), 3);
    assert!(parse("program toast --slices many").is_err_and(|e| e.to_string().contains("many")));
    assert!(matches!(parse("program run"), Ok(Program { command: Commands::Run })));
    assert!(parse("program bake").is_err());
}
