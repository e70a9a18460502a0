//! The command line.

mod agent;
mod baseline;
mod check;
mod fleet;
mod fleet_shown;
mod gate;
mod history;
mod list;
mod noise;
mod of_area;
mod on;
mod report;
mod run;
mod shared_store;
mod store;
mod study;

use std::ffi::OsString;
use std::path::PathBuf;

use catalog::worker::WORKER;
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use command::ending::Ending;
use command::output::note;

pub use agent::Agent;
pub use check::Check;
pub use fleet::{
    Fleet, FleetAction, FleetEffort, FleetJob, FleetNodes, FleetResume, FleetRun, FleetStatus,
};
pub use fleet_shown::{FleetCheck, FleetCompare, FleetRuns, FleetShow};
pub use gate::{Gate, Undecided};
pub use history::{History, WatchArgs};
pub use list::{Env, List};
pub use noise::Noise;
pub use of_area::OfArea;
pub use on::OnSystems;
pub use report::Report;
pub use run::Run;
pub use shared_store::{StoreCommand, Sync};
pub use store::{Compare, Export, Format, Import, Runs, Show, ShownColumn};
pub use study::Study;

/// Measure the costs of an operating system: clocks, system calls, locks, files, servers and mail.
#[derive(Debug, Parser)]
#[command(
    name = "oscost",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  oscost run --quick syscall      a first look at system calls
  oscost run                      measure all areas
  oscost show syscall             system calls of the last run again
  oscost compare last~1 last      what changed between the last two runs"
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure all cases, or those you name, print tables and save the run.
    Run(Box<Run>),
    /// List the cases: what each one measures, and which are unsupported here.
    List(List),
    /// Describe this machine: CPUs, kernel, clocks, limits.
    Env(Env),
    /// Print a saved run, or some of its areas and cases.
    Show(Show),
    /// List the runs in the store, or delete one.
    Runs(Runs),
    #[command(flatten)]
    OfArea(OfArea),
    /// Compare runs: ratios with confidence intervals, and a verdict for each case.
    Compare(Compare),
    /// What changed over the runs of the store, when, and by how much.
    History(History),
    /// Judge the newest run by those before it: exit code 1 if something is worse twice.
    Watch(WatchArgs),
    /// Judge claims about costs: each holds, fails or is undecided here.
    Check(Check),
    /// Rerun a published comparison: its tables beside the values here, and a verdict for each claim.
    Study(Study),
    /// Write a run, or a comparison of runs, as one HTML page with charts.
    Report(Report),
    /// Learn how figures differ from run to run here, by equal runs, and what `compare` can find.
    Noise(Noise),
    /// Measure on many machines with one command: over OpenSSH, or as Slurm jobs.
    Fleet(Fleet),
    /// Make rounds inside the system to be measured, as `run --on` orders on standard input.
    Agent(Agent),
    /// Write a run as JSON or CSV, or in the formats of other tools.
    Export(Export),
    /// Add a run from a file to the store: oscost's own, or another tool's.
    Import(Import),
    /// Create a store in a PostgreSQL server, which several machines share.
    #[command(subcommand)]
    Store(StoreCommand),
    /// Send runs that are on this machine only to the shared store.
    Sync(Sync),
    /// Print a completion script for a shell.
    #[command(
        after_help = "Example:\n  oscost completions bash > ~/.local/share/bash-completion/completions/oscost"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder.
    #[command(after_help = "Example:\n  oscost man ~/.local/share/man/man1")]
    Man {
        /// The folder; it must exist.
        dir: PathBuf,
    },
    /// One task in a fresh process. This program starts it; it appears in no help and no completion.
    #[command(skip)]
    Worker {
        /// Name of the task.
        task: String,
        /// The order, which is JSON.
        order: String,
    },
}

/// What the program says without a command.
const FIRST_STEPS: &str = "\
oscost run --quick            measure everything, in about 80 s
oscost run syscall            measure one area; `oscost list` names them all
oscost compare last~1 last    what changed between the last two runs
oscost report -o run.html     the last run as a page with charts
oscost --help                 all commands
";

/// Parses the command line.
///
/// # Errors
/// The exit code after a usage error or a request for help, which has been printed.
pub fn parse() -> Result<Command, Ending> {
    let mut arguments = std::env::args_os().skip(1);
    if platform::process::init::is_init_of_kernel() {
        return Ok(Command::Agent(Agent { init: true, ..Agent::default() }));
    }
    if arguments.next().is_some_and(|first| first == WORKER) {
        let mut next = || arguments.next().unwrap_or_default().to_string_lossy().into_owned();
        return Ok(Command::Worker { task: next(), order: next() });
    }
    match Cli::try_parse() {
        Ok(cli) => Ok(cli.command),
        Err(error) => {
            // An error of printing is ignored: the exit code reports the original error.
            let print = || drop(error.print());
            match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                    print();
                    return Err(Ending::Done);
                }
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                    if std::env::args_os().len() < 2 =>
                {
                    eprint!("{FIRST_STEPS}");
                }
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => print(),
                ErrorKind::InvalidUtf8 => note(&not_text(std::env::args_os().skip(1))),
                _ => note(&in_one_line(&error.render().to_string())),
            }
            Err(Ending::WrongUsage)
        }
    }
}

/// Parses arguments of `run` for another machine.
///
/// # Errors
/// What is wrong with them, in one line.
pub fn parse_run(arguments: &[String]) -> Result<Run, String> {
    let words = ["oscost", "run"].into_iter().chain(arguments.iter().map(String::as_str));
    match Cli::try_parse_from(words)
        .map_err(|error| in_one_line(&error.render().to_string()))?
        .command
    {
        Command::Run(run) => Ok(*run),
        _ => Err("it is not run".to_owned()),
    }
}

/// Names the arguments that are not UTF-8, which clap does not.
fn not_text(arguments: impl Iterator<Item = OsString>) -> String {
    let named: Vec<String> = arguments
        .filter(|argument| argument.to_str().is_none())
        .map(|argument| format!("{argument:?}"))
        .collect();
    let are = if named.len() == 1 { "the argument is" } else { "these arguments are" };
    format!("{are} not text in UTF-8: {}; see --help", named.join(", "))
}

/// clap's message of several paragraphs in one line, without the usage.
fn in_one_line(text: &str) -> String {
    let paragraphs = text.trim_start_matches("error: ").split("\n\n").map(|paragraph| {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        words.join(" ")
    });
    let kept = paragraphs.filter(|words| {
        !words.is_empty() && !words.starts_with("Usage:") && !words.starts_with("For more ")
    });
    kept.chain(["see --help".to_owned()]).collect::<Vec<_>>().join("; ")
}

/// The command line's definition, for completions and manual pages.
pub fn definition() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound_and_every_command_has_an_example() {
        areas::install();
        definition().debug_assert();
        for command in definition().get_subcommands().filter(|c| !c.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("oscost "), "{} has no example", command.get_name());
        }
    }

    #[test]
    #[cfg(unix)]
    fn an_argument_that_is_not_text_is_named() {
        use std::os::unix::ffi::OsStringExt;
        let of = |arguments: &[&[u8]]| {
            not_text(arguments.iter().map(|bytes| OsString::from_vec(bytes.to_vec())))
        };
        assert_eq!(
            of(&[b"run", b"a\xff"]),
            "the argument is not text in UTF-8: \"a\\xFF\"; see --help"
        );
        assert!(of(&[b"\xff", b"\xfe"]).starts_with("these arguments are not text"));
    }

    #[test]
    fn a_mistake_is_reported_in_one_line() {
        for (arguments, message) in [
            (
                &["run", "--budget", "5"][..],
                "invalid value '5' for '--budget <TIME>': it is not a duration: a number and ns, us, \
                 ms, s, m or h, as in 10ms or 2s; see --help",
            ),
            (
                &["run", "--budget", "-5s"],
                "invalid value '-5s' for '--budget <TIME>': it is not a duration: a number and ns, us, \
                 ms, s, m or h, as in 10ms or 2s; see --help",
            ),
            (
                &["compare", "last"],
                "the following required arguments were not provided: <NEWS>...; see --help",
            ),
            (
                &["run", "--quikc"],
                "unexpected argument '--quikc' found; tip: a similar argument exists: '--quick'; \
                 see --help",
            ),
            (
                &["completions", "dos"],
                "invalid value 'dos' for '<SHELL>' [possible values: bash, elvish, fish, \
                 powershell, zsh]; see --help",
            ),
        ] {
            let arguments = ["oscost"].iter().chain(arguments);
            let error = Cli::try_parse_from(arguments).unwrap_err();
            assert_eq!(in_one_line(&error.render().to_string()), message);
        }
    }
}
