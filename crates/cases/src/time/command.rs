use std::process::{Command, Stdio};
use std::time::Duration;

use measure::trial::TrialContext;
use measure::user_code::{CommandLine, UserCode};
use measure::{CaseError, Doubt, Metric, Params, Round};
use platform::counters::{Counts, SyscallCounting};
use platform::process::command::{Finished, run as run_command};

use runner::Point;

use super::metrics;
use crate::{Case, Param, Trials};

/// Full name of the case.
pub const CASE_NAME: &str = "time/command";
/// The parameter `command`: the command line that the user typed.
pub const COMMAND: &str = "command";
/// The parameter `prepare`: the command line that runs before each run of the command.
pub const PREPARE: &str = "prepare";
/// The parameter `shell`: the shell that runs the command lines.
pub const SHELL: &str = "shell";

pub const CASE: Case = Case {
    operation: "The command from before its process is started until it has ended and been waited for.",
    comparable_to: "hyperfine's time includes the same, but it subtracts the mean time of starting the shell.",
    trials: Some(Trials { counted: true, ..Trials::new(takes) }),
    params: &[
        Param::new(COMMAND, &["true"]).meaning("the command"),
        Param::new(PREPARE, &["true"])
            .meaning("a command that is run before each run of it, off the clock"),
        Param::new(SHELL, &["sh"])
            .meaning("the shell that runs it, which is part of the time")
            .full(&["sh", "none"]),
    ],
    metrics: metrics::COMMAND,
    runs_user_code: true,
    run,
    ..Case::new("time", "command")
};

/// A point for each of these commands, with the parameters that distinguish them.
pub fn points(commands: Vec<(Params, CommandLine)>) -> Vec<(Point, UserCode)> {
    let point = |params| Point { case: CASE_NAME.to_owned(), params };
    let points =
        commands.into_iter().map(|(params, command)| (point(params), UserCode::Command(command)));
    points.collect()
}

/// The duration of the user's command is unknown: `oscost time` plans its runs by their number.
fn takes(_params: &Params) -> Duration {
    Duration::from_secs(1)
}

fn run(_params: &Params, round: &mut Round) -> Result<(), CaseError> {
    let Some(UserCode::Command(line)) = round.order().user.clone() else {
        return Err(CaseError::Failed("no command was given: oscost time".to_owned()));
    };
    if round.is_counting() {
        return if line.count { count(&line, round) } else { Ok(()) };
    }
    prepare(&line)?;
    let cpus = round.order().cpus.clone();
    let context = TrialContext::new(round, &cpus)?;
    let mut command = command_of(&line.words, line.show_output)?;
    let trials = round.trials(&context, 1, || run_command(&mut command, SyscallCounting::None))?;
    let finished = trials[0].value;
    check(&line, finished.code)?;
    report(&finished, &line, round);
    Ok(())
}

/// Counts system calls in a separate run of the command: a tracer would change the other figures.
fn count(line: &CommandLine, round: &mut Round) -> Result<(), CaseError> {
    prepare(line)?;
    let mut command = command_of(&line.words, false)?;
    let finished = run_command(&mut command, round.order().mode.counting())?;
    check(line, finished.code)?;
    round.report_counts(1, &[Counts { syscalls: finished.syscalls, ..Counts::default() }]);
    Ok(())
}

fn prepare(line: &CommandLine) -> Result<(), CaseError> {
    if line.prepare.is_empty() {
        return Ok(());
    }
    let mut command = command_of(&line.prepare, line.show_output)?;
    match run_command(&mut command, SyscallCounting::None)?.code {
        0 => Ok(()),
        code => Err(CaseError::Failed(format!(
            "the command of --prepare ended with exit code {code}; --show-output shows what it prints"
        ))),
    }
}

fn command_of(words: &[String], show_output: bool) -> Result<Command, CaseError> {
    let command = platform::process::command::of_words(words);
    let mut command =
        command.ok_or_else(|| CaseError::Failed("the command is empty".to_owned()))?;
    let output = || if show_output { Stdio::from(std::io::stderr()) } else { Stdio::null() };
    command.stdin(Stdio::null()).stdout(output()).stderr(output());
    Ok(command)
}

fn check(line: &CommandLine, code: i32) -> Result<(), CaseError> {
    if code == 0 || line.ignore_failure {
        return Ok(());
    }
    Err(CaseError::Failed(format!(
        "the command ended with exit code {code}; --show-output shows what it prints, --ignore-failure measures it all the same"
    )))
}

fn report(finished: &Finished, line: &CommandLine, round: &mut Round) {
    let ns = |time: Option<Duration>| time.map(|time| time.as_nanos() as f64);
    let count = |count: Option<u64>| count.map(|count| count as f64);
    let mut report = |metric: &Metric, value: Option<f64>| {
        round.metric(metric, value);
    };
    report(&metrics::USER, ns(finished.user));
    report(&metrics::SYSTEM, ns(finished.system));
    report(&metrics::MAX_RESIDENT, count(finished.max_resident));
    report(&metrics::VOLUNTARY_SWITCHES, count(finished.voluntary_switches));
    report(&metrics::INVOLUNTARY_SWITCHES, count(finished.involuntary_switches));
    report(&metrics::PAGE_FAULTS, count(finished.page_faults));
    report(&metrics::EXIT_CODE, Some(f64::from(finished.code)));
    if line.ignore_failure {
        let failures = u32::from(finished.code != 0);
        report(&metrics::FAILURES, Some(f64::from(failures)));
        if failures > 0 {
            round.doubt(Doubt::CommandFailed);
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::round::Mode;

    use super::*;
    use crate::syscall::rehearsal::order;
    use measure::record::{Line, parse_lines};

    fn line(script: &str) -> CommandLine {
        let shell = platform::process::command::shell().map(str::to_owned);
        CommandLine {
            words: shell.into_iter().chain([script.to_owned()]).collect(),
            prepare: Vec::new(),
            limit_ms: 10_000,
            show_output: false,
            ignore_failure: false,
            count: true,
        }
    }

    fn measured(line: CommandLine, mode: Mode) -> (Vec<Line>, Result<(), CaseError>) {
        let params = Params::new();
        let order = measure::RoundOrder {
            user: Some(UserCode::Command(line)),
            ..order(CASE_NAME, &params, mode)
        };
        let mut out = Vec::new();
        let result = run(&params, &mut Round::new(&order, &mut out));
        (parse_lines(std::str::from_utf8(&out).unwrap()), result)
    }

    #[test]
    fn the_command_is_run_once_and_prepared_before() {
        let dir = tempfile_dir();
        let file = |name: &str| dir.join(name).display().to_string();
        let (once, prepared) = (file("once"), file("prepared"));
        let both = CommandLine {
            prepare: line(&format!("echo {}> {prepared}", 'p')).words,
            ..line(&format!("echo x>> {once}&& echo y>> {prepared}"))
        };
        let (lines, result) = measured(both, Mode::Sample);
        assert_eq!(result, Ok(()));
        let text = |path: &str| std::fs::read_to_string(path).unwrap();
        assert_eq!(text(&once).trim(), "x");
        assert_eq!(text(&prepared).split_whitespace().collect::<Vec<_>>(), ["p", "y"]);
        assert!(lines.iter().any(|line| matches!(line, Line::Series(s) if s.samples.len() == 1)));
        std::fs::remove_dir_all(dir).unwrap();
    }

    fn tempfile_dir() -> std::path::PathBuf {
        let dir = std::env::temp_dir().join(format!("oscost-time-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn a_failing_command_is_an_error_unless_asked_otherwise() {
        for mode in [Mode::Sample, Mode::CountRest] {
            let (_, result) = measured(line("exit 3"), mode);
            let Err(CaseError::Failed(reason)) = result else { panic!("{result:?}") };
            assert!(reason.contains("the command ended with exit code 3"), "{reason}");
        }
        let ignored = CommandLine { ignore_failure: true, ..line("exit 3") };
        let (lines, result) = measured(ignored, Mode::Sample);
        assert_eq!(result, Ok(()));
        let value = |name: &str| {
            lines.iter().find_map(|line| match line {
                Line::Metric(metric) if metric.name == name => Some(metric.value),
                _ => None,
            })
        };
        assert_eq!((value("exit-code"), value("failures")), (Some(3.0), Some(1.0)));
        assert!(lines.contains(&Line::Doubt(Doubt::CommandFailed)));
    }

    #[test]
    fn what_prepares_it_must_succeed() {
        let unprepared = CommandLine { prepare: line("exit 1").words, ..line("exit 0") };
        let (_, result) = measured(unprepared, Mode::Sample);
        assert!(result.is_err_and(|e| e.to_string().contains("--prepare ended with exit code 1")));
    }
}
