//! `oscost time`: measures whole commands.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use command::ending::Usage;
use command::interrupt::stop_on_interrupt;
use command::measure::{Form, in_progress, show_ended};
use command::options::{Output as Shown, StoreArg, write};
use command::output::{note, print};
use command::store::store_to_write;
use command::values::{budget, from_to, share, time};
use measure::Params;
use runner::{Ending as RunEnding, Event, Point};

use super::command::{CASE_NAME, COMMAND as LINE, PREPARE, SHELL};
use super::export::{Exported, hyperfine_json, markdown};
use super::figures::Evidence;
use super::lines::{CommandLine, Expanded, Shell, expanded, filled, scan};
use super::order::Output;
use super::ranking::REFERENCE;
use super::schedule::Effort;
use super::timing::{How, Measured, Request, Timed, time_commands};
use catalog::{Arguments, Command, Ending};

/// The command.
pub const COMMAND: Command = Command { asked: Some(COMMANDS), ..Command::new::<Time>("time") };

/// The key under which the commands that were measured are kept with a run.
pub const COMMANDS: &str = "commands";
/// Minimum number of runs of a command.
const RUNS: usize = 10;
/// Most runs that the user may ask for.
const ASKED_AT_MOST: usize = 100_000;
/// Relative half-width of the interval at which a single command needs no further runs.
const PRECISION: f64 = 0.01;
/// Time for further runs of a single command, and of each of several, while the comparison has no result.
const TIME_OF_ONE: Duration = Duration::from_secs(3);
const TIME_OF_EACH: Duration = Duration::from_secs(5);

/// Measure whole commands, in turns: time, CPU time, memory, switches, faults; and compare them.
#[derive(Debug, Args)]
#[command(after_help = "\
A COMMAND_LINE that is a program with plain arguments is executed directly, any other by the shell, whose start is then part \
of its time; --shell chooses. What follows `--` is one command with its arguments, which is executed directly. Several \
commands are run in turns, in an order shuffled anew each time, and compared with the fastest.

Examples:
  oscost time 'grep -r main src' 'rg main src'
  oscost time -- sleep 0.1
  oscost time --prepare 'make clean' -L jobs 1,2,4 'make -j{jobs}'
  oscost time --warmup 3 --runs 50 --export-markdown times.md './old input' './new input'")]
pub struct Time {
    /// Command lines to measure
    #[arg(value_name = "COMMAND_LINE", required_unless_present = "command")]
    pub lines: Vec<String>,
    /// A command with its arguments
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<String>,

    /// Exact number of runs of each command [default: at least 10, more until the answer is known]
    #[arg(short, long, value_name = "N", value_parser = from_to::<1, ASKED_AT_MOST>, allow_hyphen_values = true, conflicts_with_all = ["min_runs", "max_runs"])]
    pub runs: Option<usize>,
    /// Minimum number of runs of each command
    #[arg(short, long, value_name = "N", value_parser = from_to::<1, ASKED_AT_MOST>, allow_hyphen_values = true)]
    pub min_runs: Option<usize>,
    /// Maximum number of runs of each command
    #[arg(short = 'M', long, value_name = "N", value_parser = from_to::<1, ASKED_AT_MOST>, allow_hyphen_values = true)]
    pub max_runs: Option<usize>,
    /// Untimed runs of each command before the others
    #[arg(short, long, value_name = "N", default_value = "0", value_parser = from_to::<0, ASKED_AT_MOST>, allow_hyphen_values = true)]
    pub warmup: usize,
    /// End a run that takes longer
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true, default_value = "10m")]
    pub time_limit: Duration,
    /// Time limit for everything, such as 30s or 2m; each command is run once at least [default: none]
    #[arg(long, value_name = "TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<Duration>,

    /// Run this before all runs of a command
    #[arg(short, long, value_name = "COMMAND_LINE")]
    pub setup: Option<String>,
    /// Run this before each run, off the clock; for each command another if given as often as there are commands
    #[arg(short, long, value_name = "COMMAND_LINE")]
    pub prepare: Vec<String>,
    /// Run this after each run, off the clock; for each command another, like --prepare
    #[arg(short = 'C', long, value_name = "COMMAND_LINE")]
    pub conclude: Vec<String>,
    /// Run this after all runs of a command
    #[arg(short, long, value_name = "COMMAND_LINE")]
    pub cleanup: Option<String>,

    /// Measure the commands for each value of {VAR} from MIN to MAX
    #[arg(short = 'P', long, value_names = ["VAR", "MIN", "MAX"], num_args = 3, allow_hyphen_values = true)]
    pub parameter_scan: Vec<String>,
    /// Step of --parameter-scan
    #[arg(
        short = 'D',
        long,
        value_name = "STEP",
        default_value = "1",
        requires = "parameter_scan",
        allow_hyphen_values = true
    )]
    pub parameter_step_size: String,
    /// Measure the commands for each of these values of {VAR}, separated by commas (may be repeated)
    #[arg(short = 'L', long, value_names = ["VAR", "VALUES"], num_args = 2, allow_hyphen_values = true)]
    pub parameter_list: Vec<String>,
    /// Name a command; given once for each (may be repeated)
    #[arg(short = 'n', long, value_name = "NAME")]
    pub command_name: Vec<String>,
    /// Also measure this command line, and compare the others with it instead of the fastest
    #[arg(long, value_name = "COMMAND_LINE")]
    pub reference: Option<String>,
    /// Order of the table: as given, or by time
    #[arg(long, value_name = "ORDER", default_value = "command", value_parser = ["command", "time", "mean-time", "auto"])]
    pub sort: String,

    /// Shell that runs command lines: `none`, `default`, or a program such as `bash` [default: none if not needed]
    #[arg(short = 'S', long, value_name = "SHELL", conflicts_with = "no_shell")]
    pub shell: Option<Shell>,
    /// Run command lines without a shell
    #[arg(short = 'N', long)]
    pub no_shell: bool,
    /// Also measure runs that fail
    #[arg(short, long)]
    pub ignore_failure: bool,
    /// Exit code 1 if a larger share of a command's runs fails, such as 10%; to be measured they need --ignore-failure
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "ignore_failure")]
    pub max_failures: Option<f64>,
    /// The commands' standard input: `null` or a file
    #[arg(long, value_name = "WHERE", default_value = "null")]
    pub input: String,
    /// Where the commands' output goes: `null`, `pipe` (some programs do less work if it is null), `inherit` (standard
    /// error), or a file
    #[arg(long, value_name = "WHERE", default_value = "null", conflicts_with = "show_output")]
    pub output: String,
    /// Show what the commands print, as --output inherit does
    #[arg(long)]
    pub show_output: bool,
    /// Count system calls in one more run, untimed [default: if the kernel counts and a run takes 5 ms]
    #[arg(long, conflicts_with = "no_counts")]
    pub counts: bool,
    /// Do not count system calls
    #[arg(long, alias = "no-count")]
    pub no_counts: bool,

    /// Also write the runs as JSON, as hyperfine does
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,
    /// Also write a Markdown table; `-` prints it
    #[arg(long, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub store: StoreArg,
}

impl Arguments for Time {
    /// Measures commands and compares them.
    fn run(&self) -> anyhow::Result<Ending> {
        self.shown.files.check()?;
        let named = commands(self)?;
        let commands: Vec<Timed> = named.iter().map(|named| named.timed.clone()).collect();
        let how = how(self, commands.len())?;
        let stop = stop_on_interrupt()?;
        let clock = measure::survey::monotonic_facts();
        let mut store = store_to_write(&self.store)?;
        let request = Request {
            commands: &commands,
            how: &how,
            asked: asked(self, &named),
            tags: self.shown.tags.iter().cloned().collect(),
            clock: &clock,
        };
        let timed =
            |watch: &mut dyn FnMut(Event<'_>)| time_commands(request, &mut store, stop, watch);
        let (measured, took) = in_progress(timed)?;
        let export = self.export(&named, &measured);
        let form = Form::of(self.shown.json, false);
        let ended = &measured.ended;
        let (ending, _) = show_ended(&store, ended, Some(took), form, &self.shown, &self.store)?;
        export?;
        if measured.was_stopped {
            note("stopped before all runs were made");
        }
        let has_failed = |evidence: &Evidence| {
            let all = evidence.runs().count();
            let failed = evidence.runs().filter(|run| !run.succeeded()).count();
            self.max_failures.is_some_and(|most| failed as f64 > most * all as f64)
        };
        Ok(match measured.was_stopped || ended.ending != RunEnding::Complete {
            true => Ending::NotMeasured,
            false if measured.evidence.iter().any(has_failed) => Ending::CheckFailed,
            false => ending,
        })
    }
}

impl Time {
    fn export(&self, named: &[Named], measured: &Measured) -> anyhow::Result<()> {
        let all: Vec<Exported> = named
            .iter()
            .zip(&measured.evidence)
            .map(|(Named { timed, values }, evidence)| Exported {
                name: &timed.point.params[LINE],
                parameters: values,
                evidence,
            })
            .collect();
        if let Some(path) = &self.export_json {
            let text = serde_json::to_string_pretty(&hyperfine_json(&all))? + "\n";
            put(path, &text)?;
        }
        if let Some(path) = &self.export_markdown {
            put(path, &markdown(&all, measured.seed))?;
        }
        Ok(())
    }
}

/// Writes a file; `-` is standard output.
fn put(path: &std::path::Path, text: &str) -> anyhow::Result<()> {
    match path.as_os_str() == "-" {
        true => print(text),
        false => Ok(write(path, text.as_bytes())?),
    }
}

/// The options that the user gave, by name, to be stored with the run.
fn asked(args: &Time, commands: &[Named]) -> BTreeMap<String, String> {
    let shown: Vec<&str> =
        commands.iter().map(|named| named.timed.point.params[LINE].as_str()).collect();
    let given = [
        (COMMANDS, Some(shown.join("; "))),
        ("runs", args.runs.map(|runs| runs.to_string())),
        ("budget", args.budget.map(|budget| format!("{}ms", budget.as_millis()))),
        (REFERENCE, args.reference.as_ref().map(|line| line.trim().to_owned())),
    ];
    given.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?))).collect()
}

fn how(args: &Time, commands: usize) -> Result<How, Usage> {
    let time = if commands > 1 { TIME_OF_EACH } else { TIME_OF_ONE };
    let (at_least, at_most) = match args.runs {
        Some(runs) => (runs, runs),
        None => {
            let most = args.max_runs.unwrap_or(usize::MAX);
            (args.min_runs.unwrap_or(RUNS.min(most)), most)
        }
    };
    if at_least > at_most {
        return Err(Usage("--min-runs is more than --max-runs".to_owned()));
    }
    Ok(How {
        effort: Effort { at_least, at_most, time },
        precision: PRECISION,
        warmup: args.warmup,
        limit: args.time_limit,
        budget: args.budget,
        ignores_failure: args.ignore_failure,
        counts: match (args.counts, args.no_counts) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        },
        is_sorted: ["time", "mean-time"].contains(&args.sort.as_str()),
        output: match args.output.as_str() {
            _ if args.show_output => Output::Inherit,
            "null" => Output::Null,
            "pipe" => Output::Pipe,
            "inherit" => Output::Inherit,
            path => Output::File(path.into()),
        },
        input: (args.input != "null").then(|| args.input.clone().into()),
    })
}

/// A command with the values that parameters have in it.
struct Named {
    timed: Timed,
    values: Vec<(String, String)>,
}

/// The commands for each combination of parameters.
fn commands(args: &Time) -> Result<Vec<Named>, Usage> {
    let shell = match (&args.shell, args.no_shell) {
        (_, true) => Shell::None,
        (Some(shell), _) => shell.clone(),
        (None, _) => Shell::default(),
    };
    let parameters = parameters(args)?;
    let lines: Vec<&String> = args.reference.iter().chain(&args.lines).collect();
    let count = lines.len() + usize::from(!args.command.is_empty());
    let prepares = one_or_each(&args.prepare, count, "--prepare")?;
    let concludes = one_or_each(&args.conclude, count, "--conclude")?;
    let mut all = Vec::new();
    let mut line_of = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let texts = [
            Some((*line).clone()),
            args.setup.clone(),
            prepares[at].clone(),
            concludes[at].clone(),
            args.cleanup.clone(),
        ];
        let texts = texts.map(Option::unwrap_or_default);
        let is_reference = args.reference.is_some() && at == 0;
        let of_line = if is_reference { &[][..] } else { &parameters[..] };
        for (name, _) in parameters.iter().filter(|_| is_reference) {
            let pattern = format!("{{{name}}}");
            if let Some(text) = texts.iter().find(|text| text.contains(&pattern)) {
                return Err(Usage(format!(
                    "the reference is timed once, without parameters, and has no {pattern}, as {text:?} wants: give --prepare \
                     and --conclude once for each command"
                )));
            }
        }
        for Expanded { texts, values } in expanded(&texts, of_line) {
            let command = CommandLine::of(&texts[0], &shell)?;
            all.push(Named { timed: timed(command, &texts[1..], &shell)?, values });
            line_of.push(at);
        }
    }
    if !args.command.is_empty() {
        let last = count - 1;
        let texts = [&args.setup, &prepares[last], &concludes[last], &args.cleanup];
        let texts = texts.map(|text| text.clone().unwrap_or_default());
        let command = CommandLine::of_words(&args.command);
        all.push(Named { timed: timed(command, &texts, &shell)?, values: Vec::new() });
        line_of.push(last);
    }
    name(&mut all, &line_of, &args.command_name)?;
    for (at, one) in all.iter().enumerate() {
        if all[..at].iter().any(|other| other.timed.point == one.timed.point) {
            let line = &one.timed.point.params[LINE];
            return Err(Usage(format!("{line:?} is given twice: --command-name tells them apart")));
        }
    }
    Ok(all)
}

/// Names the commands: one name for each line, in which `{name}` is the value of a parameter, or one for each command.
fn name(all: &mut [Named], line_of: &[usize], names: &[String]) -> Result<(), Usage> {
    if names.len() > all.len() {
        return Err(Usage(format!("there are {} names for {} commands", names.len(), all.len())));
    }
    let lines = line_of.last().map_or(0, |last| last + 1);
    for (at, (one, line)) in all.iter_mut().zip(line_of).enumerate() {
        let name = if names.len() <= lines { names.get(*line) } else { names.get(at) };
        if let Some(name) = name {
            one.timed.point.params.insert(LINE.to_owned(), filled(name, &one.values));
        }
    }
    Ok(())
}

/// The command line with what is run before and after its runs: setup, prepare, conclude, cleanup.
fn timed(command: CommandLine, others: &[String], shell: &Shell) -> Result<Timed, Usage> {
    let words = |at: usize| match others[at].is_empty() {
        true => Ok(Vec::new()),
        false => CommandLine::of(&others[at], shell).map(|line| line.words),
    };
    let mut params =
        Params::from([(LINE.to_owned(), command.text), (SHELL.to_owned(), command.shell)]);
    if !others[1].is_empty() {
        params.insert(PREPARE.to_owned(), others[1].trim().to_owned());
    }
    Ok(Timed {
        point: Point { case: CASE_NAME.to_owned(), params },
        words: command.words,
        setup: words(0)?,
        prepare: words(1)?,
        conclude: words(2)?,
        cleanup: words(3)?,
    })
}

/// A value for each of the commands, of an option that is given once or once for each.
fn one_or_each(
    given: &[String],
    commands: usize,
    option: &str,
) -> Result<Vec<Option<String>>, Usage> {
    match given.len() {
        0 => Ok(vec![None; commands]),
        1 => Ok(vec![Some(given[0].clone()); commands]),
        count if count == commands => Ok(given.iter().cloned().map(Some).collect()),
        count => Err(Usage(format!(
            "{option} is given {count} times for {commands} commands: give it once, or once for each"
        ))),
    }
}

/// The parameters with their values.
fn parameters(args: &Time) -> Result<Vec<(String, Vec<String>)>, Usage> {
    let mut all = Vec::new();
    for scanned in args.parameter_scan.chunks_exact(3) {
        let values = scan(&scanned[1], &scanned[2], &args.parameter_step_size)?;
        all.push((scanned[0].clone(), values));
    }
    for listed in args.parameter_list.chunks_exact(2) {
        all.push((listed[0].clone(), listed[1].split(',').map(str::to_owned).collect()));
    }
    for (at, (name, _)) in all.iter().enumerate() {
        if all[..at].iter().any(|(other, _)| other == name) {
            return Err(Usage(format!("the parameter {name} is given twice")));
        }
    }
    Ok(all)
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

    fn parsed(arguments: &[&str]) -> Result<Vec<Named>, String> {
        let line = Line::try_parse_from(["time"].iter().chain(arguments));
        commands(&line.map_err(|e| e.to_string())?.time).map_err(|e| e.to_string())
    }

    fn words_of(arguments: &[&str]) -> Vec<Vec<String>> {
        parsed(arguments).unwrap().into_iter().map(|named| named.timed.words).collect()
    }

    #[test]
    fn command_lines_may_need_a_shell_and_what_follows_the_dashes_does_not() {
        let [shell, option] = platform::process::command::shell();
        assert_eq!(words_of(&["a -x | b"]), [[shell, option, "a -x | b"]]);
        assert_eq!(words_of(&["-N", "a 'b c'"]), [["a", "b c"]]);
        let both = words_of(&["a;", "--", "b", "-x", "c d"]);
        assert_eq!(both, [vec![shell, option, "a;"], vec!["b", "-x", "c d"]]);
        let params = &parsed(&["--", "b", "c d"]).unwrap()[0].timed.point.params;
        assert_eq!((params[LINE].as_str(), params[SHELL].as_str()), ("b 'c d'", "none"));
        assert!(!params.contains_key(PREPARE));
    }

    #[test]
    fn each_command_has_what_prepares_it() {
        let prepares = |arguments: &[&str]| -> Result<Vec<String>, String> {
            let all = parsed(arguments)?;
            Ok(all.into_iter().map(|named| named.timed.point.params[PREPARE].clone()).collect())
        };
        assert_eq!(prepares(&["-p", "x", "a", "b"]).unwrap(), ["x", "x"]);
        assert_eq!(prepares(&["-p", "x", "-p", "y", "a", "b"]).unwrap(), ["x", "y"]);
        assert!(prepares(&["-p", "x", "-p", "y", "a"]).unwrap_err().contains("2 times for 1"));
    }

    #[test]
    fn parameters_are_replaced_everywhere() {
        let all =
            parsed(&["-N", "-P", "n", "1", "2", "-L", "c", "x,y", "-p", "p {n}", "{c} -j{n}"]);
        let all = all.unwrap();
        let lines: Vec<&str> =
            all.iter().map(|one| one.timed.point.params[LINE].as_str()).collect();
        assert_eq!(lines, ["x -j1", "y -j1", "x -j2", "y -j2"]);
        assert_eq!(all[3].timed.prepare, ["p", "2"]);
        assert_eq!(
            all[3].values,
            [("n".to_owned(), "2".to_owned()), ("c".to_owned(), "y".to_owned())]
        );
    }

    #[test]
    fn commands_can_be_named() {
        let all = parsed(&["-n", "one", "-n", "two", "a", "a"]).unwrap();
        let names: Vec<&str> =
            all.iter().map(|one| one.timed.point.params[LINE].as_str()).collect();
        assert_eq!(names, ["one", "two"]);
        for (arguments, expected) in [
            (&["-L", "n", "1,2", "-n", "run-{n}", "a {n}"][..], &["run-1", "run-2"][..]),
            (&["-L", "n", "1,2", "-n", "x", "-n", "y", "a {n}"], &["x", "y"]),
            (&["-L", "n", "a,{m}", "-L", "m", "x", "e {n} {m}"], &["e a x", "e {m} x"]),
        ] {
            let all = parsed(arguments).unwrap();
            let names: Vec<&str> =
                all.iter().map(|one| one.timed.point.params[LINE].as_str()).collect();
            assert_eq!(names, expected, "{arguments:?}");
        }
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        for (arguments, words) in [
            (&[][..], "COMMAND_LINE"),
            (&[" "], "empty"),
            (&["-N", "a 'b"], "not closed"),
            (&["a", "a"], "given twice"),
            (&["--runs", "0", "a"], "1 to"),
            (&["-n", "x", "-n", "y", "a"], "2 names"),
            (&["-P", "n", "2", "1", "a"], "no such values"),
            (&["-L", "n", "2", "-L", "n", "3", "a"], "twice"),
            (&["-L", "d", "1", "-p", "sleep {d}", "--reference", "true", "a"], "has no {d}"),
        ] {
            let Err(error) = parsed(arguments) else { panic!("{arguments:?}") };
            assert!(error.contains(words), "{arguments:?}: {error}");
        }
    }
}
