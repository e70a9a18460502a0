//! `oscost time`: whole commands.

use std::collections::BTreeMap;
use std::time::Duration;

use cases::time::{COMMAND, PREPARE, SHELL};
use measure::Params;
use measure::user_code::CommandLine;
use runner::Options;

use super::measure::{Form, measure, plan_of};
use crate::args::{COMMANDS, Time};
use crate::ending::{Ending, Usage};
use crate::interrupt::stop_on_interrupt;

/// Number of timed runs of a command, and maximum number if its runs differ much.
const RUNS: usize = 10;
const RUNS_AT_MOST: usize = 40;
/// Relative half-width of the interval at which no further runs are made.
const PRECISION: f64 = 0.02;
/// Time limit of a plan, which needs one: practically none.
const NO_LIMIT: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Measures commands and compares them.
pub fn time(args: &Time) -> anyhow::Result<Ending> {
    args.output.files.check()?;
    let stop = stop_on_interrupt()?;
    let commands = commands(args)?;
    let shown: Vec<&str> = commands.iter().map(|(params, _)| params[COMMAND].as_str()).collect();
    let asked = asked(args, &shown.join("; "));
    let options = Options {
        user: cases::time::points(commands),
        trials: Some(args.runs.unwrap_or(RUNS)),
        trials_at_most: Some(args.runs.unwrap_or(RUNS_AT_MOST)),
        precision: args.runs.is_none().then_some(PRECISION),
        budget: Some(args.budget.unwrap_or(NO_LIMIT)),
        ..Options::default()
    };
    let plan = plan_of(&options)?;
    let form = Form::of(args.output.json, false);
    measure(&plan, asked, form, &args.output, &args.store, &stop)
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
            (COMMAND.to_owned(), shown.clone()),
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
        let shell = platform::command::shell().map(str::to_owned);
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
        let [shell, option] = platform::command::shell();
        assert_eq!(words_of(&["a -x | b"]), [[shell, option, "a -x | b"]]);
        assert_eq!(words_of(&["-N", "a 'b c'"]), [["a", "b c"]]);
        let both = words_of(&["a", "--", "b", "-x", "c d"]);
        assert_eq!(both, [vec![shell, option, "a"], vec!["b", "-x", "c d"]]);
        let (params, _) = &parsed(&["--", "b", "c d"]).unwrap()[0];
        assert_eq!((params[COMMAND].as_str(), params[SHELL].as_str()), ("b 'c d'", "none"));
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
