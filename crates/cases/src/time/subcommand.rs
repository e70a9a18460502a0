//! `oscost time`: measures whole commands.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use command::ending::Usage;
use command::interrupt::stop_on_interrupt;
use command::measure::{Form, measure, plan_of};
use command::options::{Output, StoreArg};
use command::values::{budget, from_to, time};
use measure::Params;
use measure::user_code::CommandLine;
use runner::Options;

use super::command::{COMMAND as LINE, PREPARE, SHELL, points};
use crate::{Arguments, Command, Ending};

/// The command.
pub const COMMAND: Command = Command { asked: Some(COMMANDS), ..Command::new::<Time>("time") };

/// Number of timed runs of a command, and maximum number if its runs differ much.
const RUNS: usize = 10;
const RUNS_AT_MOST: usize = 40;
/// Relative half-width of the interval at which no further runs are made.
const PRECISION: f64 = 0.02;
/// Time limit of a plan, which needs one: practically none.
const NO_LIMIT: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The key under which the commands that were measured are kept with a run.
pub const COMMANDS: &str = "commands";
/// Most runs that the user may ask for.
const ASKED_AT_MOST: usize = 100_000;

/// Measure whole commands: time, memory, switches, faults, system calls; and compare them.
#[derive(Debug, Args)]
#[command(after_help = "\
Each COMMAND_LINE is run by the shell, whose start is part of its time; with --no-shell it is split into words, and run \
directly. What follows `--` is one command with its arguments, which is run directly. Several commands are run in turns, \
in an order shuffled anew each time, and compared with the fastest.

Examples:
  oscost time 'grep -r main src' 'rg main src'
  oscost time -- sleep 0.1
  oscost time --prepare 'make clean' 'make -j1' 'make -j2'
  oscost time --no-shell --runs 50 './old input' './new input'")]
pub struct Time {
    /// Command lines to measure
    #[arg(value_name = "COMMAND_LINE", required_unless_present = "command")]
    pub lines: Vec<String>,
    /// A command with its arguments
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<String>,
    /// Run this before each run, off the clock; for each command another if given as often as there are commands
    #[arg(short, long, value_name = "COMMAND_LINE")]
    pub prepare: Vec<String>,
    /// Number of timed runs of each command [default: 10; up to 40 if they differ much and are short]
    #[arg(short, long, value_name = "N", value_parser = from_to::<1, ASKED_AT_MOST>, allow_hyphen_values = true)]
    pub runs: Option<usize>,
    /// Run command lines without a shell
    #[arg(short = 'N', long)]
    pub no_shell: bool,
    /// Also measure commands whose exit code is not 0
    #[arg(short, long)]
    pub ignore_failure: bool,
    /// Show what the commands print, on standard error, instead of discarding it
    #[arg(long)]
    pub show_output: bool,
    /// End a command that takes longer
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true, default_value = "10m")]
    pub time_limit: Duration,
    /// Leave out the untimed run of each command in which its system calls are counted
    #[arg(long)]
    pub no_count: bool,
    /// Time limit for everything, such as 30s or 2m; each command gets one timed run at least [default: none]
    #[arg(long, value_name = "TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<Duration>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub store: StoreArg,
}

impl Arguments for Time {
    /// Measures commands and compares them.
    fn run(&self) -> anyhow::Result<Ending> {
        self.output.files.check()?;
        let stop = stop_on_interrupt()?;
        let commands = commands(self)?;
        let shown: Vec<&str> = commands.iter().map(|(params, _)| params[LINE].as_str()).collect();
        let asked = asked(self, &shown.join("; "));
        let options = Options {
            user: points(commands),
            trials: Some(self.runs.unwrap_or(RUNS)),
            trials_at_most: Some(self.runs.unwrap_or(RUNS_AT_MOST)),
            precision: self.runs.is_none().then_some(PRECISION),
            budget: Some(self.budget.unwrap_or(NO_LIMIT)),
            ..Options::default()
        };
        let plan = plan_of(&options)?;
        let form = Form::of(self.output.json, false);
        measure(&plan, asked, form, &self.output, &self.store, &stop)
    }
}

/// The options that the user gave, by name, to be stored with the run.
fn asked(args: &Time, commands: &str) -> BTreeMap<String, String> {
    let given = [
        (COMMANDS, Some(commands.to_owned())),
        ("runs", args.runs.map(|runs| runs.to_string())),
        ("budget", args.budget.map(|budget| format!("{}ms", budget.as_millis()))),
    ];
    given.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?))).collect()
}

/// The commands, with the parameters that distinguish them.
fn commands(args: &Time) -> Result<Vec<(Params, CommandLine)>, Usage> {
    let mut commands: Vec<(String, Vec<String>, bool)> = Vec::new();
    for line in &args.lines {
        commands.push((line.trim().to_owned(), words(line, args.no_shell)?, !args.no_shell));
    }
    if !args.command.is_empty() {
        commands.push((quoted(&args.command), args.command.clone(), false));
    }
    let prepares = prepares(args, commands.len())?;
    let mut all: Vec<(Params, CommandLine)> = Vec::new();
    for ((shown, words, by_shell), prepare) in commands.into_iter().zip(prepares) {
        let mut params = Params::from([
            (LINE.to_owned(), shown.clone()),
            (SHELL.to_owned(), if by_shell { "sh" } else { "none" }.to_owned()),
        ]);
        if let Some((shown, _)) = &prepare {
            params.insert(PREPARE.to_owned(), shown.clone());
        }
        if all.iter().any(|(other, _)| *other == params) {
            return Err(Usage(format!(
                "{shown:?} is given twice: compare it with itself by two runs"
            )));
        }
        let command = CommandLine {
            words,
            prepare: prepare.map(|(_, words)| words).unwrap_or_default(),
            limit_ms: args.time_limit.as_millis().max(1) as u64,
            show_output: args.show_output,
            ignore_failure: args.ignore_failure,
            count: !args.no_count,
        };
        all.push((params, command));
    }
    Ok(all)
}

/// A command line as text, and the words that are executed for it.
type LineAndWords = (String, Vec<String>);

/// The command that prepares each of the commands.
fn prepares(args: &Time, commands: usize) -> Result<Vec<Option<LineAndWords>>, Usage> {
    let given: Vec<LineAndWords> = args
        .prepare
        .iter()
        .map(|line| Ok((line.trim().to_owned(), words(line, args.no_shell)?)))
        .collect::<Result<_, Usage>>()?;
    match given.len() {
        0 => Ok(vec![None; commands]),
        1 => Ok(vec![Some(given[0].clone()); commands]),
        count if count == commands => Ok(given.into_iter().map(Some).collect()),
        count => Err(Usage(format!(
            "--prepare is given {count} times for {commands} commands: give it once, or once for each"
        ))),
    }
}

/// The words that are executed for a command line.
fn words(line: &str, no_shell: bool) -> Result<Vec<String>, Usage> {
    if line.trim().is_empty() {
        return Err(Usage("a command line is empty".to_owned()));
    }
    if !no_shell {
        let shell = platform::process::command::shell().map(str::to_owned);
        return Ok(shell.into_iter().chain([line.to_owned()]).collect());
    }
    let words = shlex::split(line).filter(|words| !words.is_empty());
    words
        .ok_or_else(|| Usage(format!("{line:?} cannot be split into words: a quote is not closed")))
}

/// A command as the user would type it in a shell.
fn quoted(words: &[String]) -> String {
    let quoted = shlex::try_join(words.iter().map(String::as_str));
    // A word with a NUL can be neither quoted nor executed.
    quoted.unwrap_or_else(|_| words.join(" "))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        time: Time,
    }

    fn parsed(arguments: &[&str]) -> Result<Vec<(Params, CommandLine)>, String> {
        let line = Line::try_parse_from(["time"].iter().chain(arguments));
        commands(&line.map_err(|e| e.to_string())?.time).map_err(|e| e.to_string())
    }

    fn words_of(arguments: &[&str]) -> Vec<Vec<String>> {
        parsed(arguments).unwrap().into_iter().map(|(_, command)| command.words).collect()
    }

    #[test]
    fn command_lines_go_to_the_shell_and_what_follows_the_dashes_does_not() {
        let [shell, option] = platform::process::command::shell();
        assert_eq!(words_of(&["a -x | b"]), [[shell, option, "a -x | b"]]);
        assert_eq!(words_of(&["-N", "a 'b c'"]), [["a", "b c"]]);
        let both = words_of(&["a", "--", "b", "-x", "c d"]);
        assert_eq!(both, [vec![shell, option, "a"], vec!["b", "-x", "c d"]]);
        let (params, _) = &parsed(&["--", "b", "c d"]).unwrap()[0];
        assert_eq!((params[LINE].as_str(), params[SHELL].as_str()), ("b 'c d'", "none"));
        assert!(!params.contains_key(PREPARE));
    }

    #[test]
    fn each_command_has_what_prepares_it() {
        let prepares = |arguments: &[&str]| -> Result<Vec<String>, String> {
            let all = parsed(arguments)?;
            Ok(all.into_iter().map(|(params, _)| params[PREPARE].clone()).collect())
        };
        assert_eq!(prepares(&["-p", "x", "a", "b"]).unwrap(), ["x", "x"]);
        assert_eq!(prepares(&["-p", "x", "-p", "y", "a", "b"]).unwrap(), ["x", "y"]);
        assert!(prepares(&["-p", "x", "-p", "y", "a"]).unwrap_err().contains("2 times for 1"));
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        for (arguments, words) in [
            (&[][..], "COMMAND_LINE"),
            (&[" "], "empty"),
            (&["-N", "a 'b"], "not closed"),
            (&["a", "a"], "given twice"),
            (&["--runs", "0", "a"], "1 to"),
        ] {
            let error = parsed(arguments).unwrap_err();
            assert!(error.contains(words), "{arguments:?}: {error}");
        }
    }
}
