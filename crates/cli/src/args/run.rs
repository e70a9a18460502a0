//! `oscost run`, and the options of all commands that measure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use command::ending::Usage;
use command::measure::{FILTERS, OP};
use command::options::{Output, StoreArg};
use command::values::{budget, count, cpu, share, size};
use measure::count::parse_count;
use runner::Options;

use super::baseline::Baseline;
use super::on::OnSystems;

/// What is measured, and how precisely.
#[derive(Debug, Clone, Args)]
pub struct Measuring {
    /// Areas (`clock`), cases (`lock/futex`) or patterns (`lock/pthread*`) to measure [default: all]
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Fewer rounds: about 80 seconds for everything
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Measure each case with all values of its parameters; takes long
    #[arg(long)]
    pub full: bool,
    /// Measure these values of a parameter: workers=1,8 or workers=1..10 (may be repeated)
    #[arg(long = "param", value_name = "NAME=VALUES", value_parser = param, allow_hyphen_values = true)]
    pub params: Vec<(String, Vec<String>)>,
    /// Directory in which `file` cases create files (may be repeated) [default: the temporary directory]
    #[arg(long = "dir", value_name = "PATH")]
    pub dirs: Vec<PathBuf>,
    /// Connect servers and clients over a virtual network (veth) instead of loopback; needs root on Linux
    #[arg(long)]
    pub netns: bool,
    /// A point is complete when its interval's half-width is below this share [default: 0.5%; trials and contended
    /// locks: 15%]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub precision: Option<f64>,
    /// Time limit for the whole run, such as 30s or 2m; each point gets one round at least
    #[arg(long, value_name = "TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<Duration>,
    /// Multiply the lengths of all jobs of `concurrency` cases by this factor, such as 0.01
    #[arg(long, value_name = "FACTOR", value_parser = scale, allow_hyphen_values = true)]
    pub scale: Option<f64>,
    /// Seed for the random order of the rounds [default: random]
    #[arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// Run cases that need one CPU on this one [default: the last allowed CPU]
    #[arg(long, value_name = "N", value_parser = cpu, allow_hyphen_values = true)]
    pub cpu: Option<usize>,
    /// Add this share of extra work to each operation of a single worker, to check that `compare` detects it
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub slow_down: Option<f64>,
    /// Multiply the length of batches and warm-up where tasks answer each other, to check that no figure depends on it
    #[arg(long, value_name = "FACTOR", value_parser = scale, allow_hyphen_values = true, hide = true)]
    pub partner_batches: Option<f64>,
}

impl Run {
    /// What a plan is made from, with the user's functions.
    ///
    /// # Errors
    /// If a directory cannot be named as text, or a library cannot be used.
    pub fn options(&self) -> anyhow::Result<Options> {
        let user = own::op::functions(&self.ops, self.op_memory)?;
        let (boots, fresh) = (self.boots, self.fresh);
        Ok(Options { user, boots, fresh, ..self.measuring.options()? })
    }

    /// The options that were given, as text by name, to be kept with the run.
    pub fn asked(&self) -> BTreeMap<String, String> {
        let mut asked = self.measuring.asked();
        let paths: Vec<String> = self.ops.iter().map(|path| path.display().to_string()).collect();
        if !paths.is_empty() {
            asked.insert(OP.to_owned(), paths.join(" "));
        }
        if let Some(boots) = self.boots {
            asked.insert("boots".to_owned(), boots.to_string());
        }
        if self.fresh {
            asked.insert("fresh".to_owned(), "yes".to_owned());
        }
        asked
    }
}

impl Measuring {
    /// The options of a plan.
    ///
    /// # Errors
    /// If a directory cannot be named as text.
    pub fn options(&self) -> Result<Options, Usage> {
        let mut params: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut add = |name: &str, values: Vec<String>| {
            params.entry(name.to_owned()).or_default().extend(values);
        };
        for (name, values) in &self.params {
            add(name, values.clone());
        }
        if !self.dirs.is_empty() {
            add("dir", self.dirs.iter().map(|dir| full_path(dir)).collect::<Result<_, _>>()?);
        }
        if self.netns {
            add("network", vec!["veth".to_owned()]);
        }
        Ok(Options {
            filters: self.filters.clone(),
            params,
            full: self.full,
            quick: self.quick,
            precision: self.precision,
            budget: self.budget,
            seed: self.seed,
            cpu: self.cpu,
            slow_down: self.slow_down,
            partner_batches: self.partner_batches,
            scale: self.scale,
            ..Options::default()
        })
    }

    /// The arguments of `oscost run` that say the same, for another machine: directories are named as they were given.
    ///
    /// # Errors
    /// If a directory cannot be named as text.
    pub fn arguments(&self) -> Result<Vec<String>, Usage> {
        let mut arguments = self.filters.clone();
        let flags = [("--quick", self.quick), ("--full", self.full), ("--netns", self.netns)];
        arguments.extend(flags.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned()));
        let percent = |share: f64| format!("{}%", share * 100.0);
        let mut add = |name: &str, value: Option<String>| {
            arguments.extend(value.map(|value| format!("--{name}={value}")));
        };
        for (name, values) in &self.params {
            add("param", Some(format!("{name}={}", values.join(","))));
        }
        for dir in &self.dirs {
            let named = dir.to_str().map(str::to_owned);
            let unnamed = || Usage(format!("--dir {}: its name is not UTF-8", dir.display()));
            add("dir", Some(named.ok_or_else(unnamed)?));
        }
        add("precision", self.precision.map(percent));
        add("budget", self.budget.map(|budget| format!("{}ms", budget.as_millis())));
        add("scale", self.scale.map(|scale| scale.to_string()));
        add("seed", self.seed.map(|seed| seed.to_string()));
        add("cpu", self.cpu.map(|cpu| cpu.to_string()));
        add("slow-down", self.slow_down.map(percent));
        add("partner-batches", self.partner_batches.map(|times| times.to_string()));
        Ok(arguments)
    }

    /// The options that were given, as text by name, to be kept with the run.
    pub fn asked(&self) -> BTreeMap<String, String> {
        let percent = |share: f64| format!("{}%", share * 100.0);
        let words = |words: Vec<String>| Some(words.join(" ")).filter(|text| !text.is_empty());
        let params =
            self.params.iter().map(|(name, values)| format!("{name}={}", values.join(",")));
        let size = [("quick", self.quick), ("full", self.full)];
        let given = [
            (FILTERS, words(self.filters.clone())),
            ("size", size.iter().find(|(_, on)| *on).map(|(name, _)| (*name).to_owned())),
            ("params", words(params.collect())),
            ("precision", self.precision.map(percent)),
            ("budget", self.budget.map(|budget| format!("{}ms", budget.as_millis()))),
            ("scale", self.scale.map(|scale| scale.to_string())),
            ("slow-down", self.slow_down.map(percent)),
            ("partner-batches", self.partner_batches.map(|times| times.to_string())),
            ("dir", words(self.dirs.iter().map(|dir| dir.display().to_string()).collect())),
            ("cpu", self.cpu.map(|cpu| cpu.to_string())),
        ];
        given.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?))).collect()
    }
}

/// A directory as a parameter value: absolute.
fn full_path(dir: &Path) -> Result<String, Usage> {
    let path =
        std::path::absolute(dir).map_err(|e| Usage(format!("--dir {}: {e}", dir.display())))?;
    let named = path.to_str().map(str::to_owned);
    named.ok_or_else(|| Usage(format!("--dir {}: its name is not UTF-8", path.display())))
}

/// `oscost run`.
#[derive(Debug, Args)]
#[command(mut_arg("on", |on| on.conflicts_with_all(["ops", "slow_down"])))]
#[command(after_help = "\
Examples:
  oscost run --quick
  oscost run syscall/getppid --precision 0.2%
  oscost run lock/futex --param workers=1..8 --param place=same,spread
  oscost run file --dir /srv --dir /dev/shm
  oscost run --op ./mine.so
  oscost run syscall lock --on native --on gvisor --on qemu:/boot/vmlinuz-6.12
  oscost run syscall --baseline main.json --fail-above 5%
  oscost run --quick --dry-run
  oscost run --resume")]
pub struct Run {
    #[command(flatten)]
    pub measuring: Measuring,
    /// Measure the function in this shared library, written as include/oscost.h says (may be repeated); without filters
    /// nothing else
    #[arg(long = "op", value_name = "FILE")]
    pub ops: Vec<PathBuf>,
    /// How much memory the library of --op may use
    #[arg(long, value_name = "BYTES", value_parser = op_memory, allow_hyphen_values = true, default_value = "1g")]
    pub op_memory: u64,
    #[command(flatten)]
    pub on: OnSystems,
    /// Start the systems of --on anew for each round
    #[arg(long, requires = "on")]
    pub fresh: bool,
    /// Start the systems of --on this number of times; intervals then cover the differences between starts
    #[arg(long, value_name = "N", value_parser = boots, requires = "on", conflicts_with = "fresh")]
    pub boots: Option<usize>,
    /// Print what would be measured and how long that takes, and measure nothing
    #[arg(long, conflicts_with = "resume")]
    pub dry_run: bool,
    /// Continue the latest unfinished run, or the run named
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "",
          conflicts_with_all = ["filters", "quick", "full", "params", "dirs", "netns", "precision", "budget", "scale", "seed", "cpu", "slow_down", "tags", "ops", "on"])]
    pub resume: Option<String>,
    /// Print all tables of a run of all areas instead of its summary
    #[arg(long, conflicts_with = "json")]
    pub tables: bool,
    #[command(flatten)]
    pub baseline: Baseline,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub store: StoreArg,
}

fn scale(text: &str) -> Result<f64, String> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match text.parse::<f64>() {
        Ok(scale) if plain && scale > 0.0 && scale <= 1_000.0 => Ok(scale),
        _ => Err("it is not a factor above 0 and up to 1000, as in 0.01".into()),
    }
}

fn boots(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(boots @ 2..=20) => Ok(boots),
        _ => Err("it is not a number from 2 to 20".into()),
    }
}

fn op_memory(text: &str) -> Result<u64, String> {
    match size(text)? {
        bytes if bytes < 1 << 20 => Err("it must be at least 1m".into()),
        bytes => Ok(bytes),
    }
}

fn param(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, values) =
        text.split_once('=').ok_or("it is not NAME=VALUES, as in workers=1,2,8")?;
    let mut list = Vec::new();
    for value in values.split(',') {
        match value.split_once("..") {
            None => list.push(value.to_owned()),
            Some((from, to)) => {
                let number = |text| parse_count(text).map_err(|e| e.to_string());
                let (from, to) = (number(from)?, number(to)?);
                if from > to || to - from > 1_000 {
                    return Err(format!("{value} is not a range of up to 1,000 values"));
                }
                list.extend((from..=to).map(|n| n.to_string()));
            }
        }
    }
    if list.iter().any(String::is_empty) {
        return Err("it has an empty value".into());
    }
    Ok((name.to_owned(), list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists_of_values() {
        assert_eq!(param("workers=1..3,8").unwrap().1, ["1", "2", "3", "8"]);
        for bad in ["workers", "workers=", "workers=1,,2", "workers=3..1", "workers=1..g"] {
            assert!(param(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn arguments_say_what_was_parsed() {
        use clap::Parser;

        #[derive(Debug, Parser)]
        struct Line {
            #[command(flatten)]
            measuring: Measuring,
        }
        let all = "run lock net/a* --full --param workers=1..3 --param place=same --dir /a --dir b --netns \
                   --precision 0.5% --budget 2s --scale 0.01 --seed 7 --cpu 1 --slow-down 50% --partner-batches 2";
        for line in ["run", "run syscall --quick", all] {
            let parsed = Line::parse_from(line.split_whitespace());
            let arguments = parsed.measuring.arguments().expect("they are text");
            let again = Line::parse_from(["run".to_owned()].into_iter().chain(arguments));
            assert_eq!(format!("{again:?}"), format!("{parsed:?}"));
        }
        // No field is forgotten: all of them differ from what nothing says.
        let [none, all] =
            ["run", all].map(|line| format!("{:#?}", Line::parse_from(line.split_whitespace())));
        let quiet = |text: &str| {
            text.lines().filter(|line| line.ends_with("None,") || line.ends_with("[],")).count()
        };
        assert_eq!((quiet(&none), quiet(&all)), (10, 0), "{all}");
    }

    #[test]
    fn only_options_that_were_given_are_kept_with_the_run() {
        use clap::Parser;

        #[derive(Parser)]
        struct Line {
            #[command(flatten)]
            measuring: Measuring,
        }
        let asked = |line: &str| Line::parse_from(line.split(' ')).measuring.asked();
        assert_eq!(asked("run"), BTreeMap::new());
        let all =
            asked("run lock net --quick --param workers=1,2 --precision 0.5% --budget 2s --cpu 1");
        let expected = [
            ("budget", "2000ms"),
            ("cpu", "1"),
            ("filters", "lock net"),
            ("params", "workers=1,2"),
            ("precision", "0.5%"),
            ("size", "quick"),
        ];
        let all: Vec<(&str, &str)> = all.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(all, expected);
    }
}
