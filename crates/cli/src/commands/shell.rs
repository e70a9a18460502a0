//! `oscost completions` and `oscost man`: completion scripts and manual pages.

use std::path::Path;

use analysis::study::NAMES;
use anyhow::Context;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use command::ending::{Ending, Usage};
use command::output::{note, print_document};

use crate::args::definition;

/// Stands for the names of runs in a script, until the shell's own call replaces it.
const RUNS: &str = "@runs@";
/// The command with which a script finds the names of runs and tags when they are completed.
const NAMES_OF_RUNS: &str = "oscost runs --names 2>/dev/null";

/// Prints a completion script.
pub fn completions(shell: Shell) -> anyhow::Result<Ending> {
    print_document(&script(shell)?)?;
    Ok(Ending::Done)
}

/// The completion script: it has the names of areas, cases, studies and launchers, and asks for those of runs and tags.
fn script(shell: Shell) -> anyhow::Result<String> {
    // Scripts of other shells have no way to run a command for the values of an argument.
    let asks = matches!(shell, Shell::Bash | Shell::Zsh | Shell::Fish);
    let mut definition = with_values(definition(), if asks { &[RUNS] } else { &[] });
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition, "oscost", &mut script);
    let script = String::from_utf8(script).context("the script is not text")?;
    Ok(match shell {
        Shell::Fish => {
            let script = script.replace(&format!("{RUNS}\\t''"), &format!("({NAMES_OF_RUNS})"));
            script + &positionals_in_fish(&definition)
        }
        _ => script.replace(RUNS, &format!("$({NAMES_OF_RUNS})")),
    })
}

/// The command with the possible values of arguments that name cases, systems, studies and runs.
fn with_values(command: clap::Command, runs: &[&str]) -> clap::Command {
    let values = |arg: &clap::Arg| -> Vec<String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        match arg.get_id().as_str() {
            "filters" | "only" => {
                let areas = catalog::areas().iter().map(|area| area.name.to_owned());
                areas.chain(catalog::all().iter().map(|case| case.label())).collect()
            }
            "on" => {
                let all = systems::descriptions();
                let name = |syntax: &str| syntax.split([':', '[']).next().map(str::to_owned);
                all.iter().filter_map(|launcher| name(&launcher.syntax)).collect()
            }
            "study" => owned(&NAMES),
            "run" | "runs" | "base" | "news" | "delete" | "resume" => owned(runs),
            _ => Vec::new(),
        }
    };
    command
        .mut_args(|arg| match values(&arg) {
            none if none.is_empty() || !arg.get_action().takes_values() => arg,
            // The names are few, and this process prints a script and ends.
            values => {
                let values = values.into_iter().map(|name| &*name.leak());
                arg.value_parser(PossibleValuesParser::new(values))
            }
        })
        .mut_subcommands(|command| with_values(command, runs))
}

/// Lines for the arguments without a name, which the generator of fish leaves out.
fn positionals_in_fish(definition: &clap::Command) -> String {
    let mut lines = String::new();
    for command in definition.get_subcommands() {
        for arg in command.get_positionals() {
            let values = arg.get_possible_values();
            let words: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
            let words = words.join(" ").replace(RUNS, &format!("({NAMES_OF_RUNS})"));
            if !words.is_empty() {
                let name = command.get_name();
                lines.push_str(&format!(
                    "complete -c oscost -n \"__fish_oscost_using_subcommand {name}\" -f -a \"{words}\"\n"
                ));
            }
        }
    }
    lines
}

/// Writes the manual pages.
pub fn man(dir: &Path) -> anyhow::Result<Ending> {
    if !dir.is_dir() {
        return Err(Usage(format!("{} is not a folder", dir.display())).into());
    }
    clap_mangen::generate_to(definition(), dir)
        .map_err(|e| Usage(format!("cannot write manual pages into {}: {e}", dir.display())))?;
    note(&format!("manual pages are in {}", dir.display()));
    Ok(Ending::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_know_cases_studies_systems_and_ask_for_runs() {
        areas::install();
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell).unwrap();
            for word in ["lock/futex", "gvisor", "locks", NAMES_OF_RUNS] {
                assert!(script.contains(word), "{shell} does not complete {word}");
            }
            assert!(!script.contains(RUNS), "{shell}");
        }
        for shell in [Shell::PowerShell, Shell::Elvish] {
            assert!(!script(shell).unwrap().contains(RUNS), "{shell}");
        }
    }
}
