//! `command`: the user's own command line starts the agent.

use std::process::Command;

use super::{Argument, Launch, Launcher, Runs, Starting};
use crate::error::SystemError;
use crate::options::{OptionSpec, Settings, ValueKind};
use crate::program;

/// Stands in the command line for the path of the oscost to start; see the option `static`.
pub const PLACEHOLDER: &str = "{oscost}";

/// The launcher `command`.
pub const COMMAND: Launcher = Launcher {
    name: "command",
    about: "whatever your own command starts; {oscost} in it is the program's path",
    needs: "the command",
    argument: Some(Argument { option: "line", syntax: "COMMAND", required: true }),
    options: &[
        OptionSpec {
            name: "line",
            kind: ValueKind::Text,
            meaning: "the command, in words as a shell splits them; it runs `{oscost} agent` in the system",
        },
        OptionSpec {
            name: "static",
            kind: ValueKind::Flag,
            meaning: "{oscost} is the static binary instead of this program",
        },
    ],
    runs,
    has_helpers: true,
    check,
    launch,
    ..Launcher::BRINGS
};

fn runs(settings: &Settings) -> Runs {
    let line = settings.text("line").unwrap_or_default();
    match settings.flag("static") {
        _ if !line.contains(PLACEHOLDER) => Runs::Named,
        true => Runs::Static,
        false => Runs::ThisProgram,
    }
}

fn check(settings: &Settings) -> Result<(), SystemError> {
    let words = words_of(settings)?;
    match words.first().map(String::as_str) {
        Some(PLACEHOLDER) => Ok(()),
        Some(name) if program::find(name).is_some() => Ok(()),
        Some(name) => Err(SystemError::Missing {
            launcher: "command",
            program: name.to_owned(),
            remedy: "there is none in PATH".to_owned(),
        }),
        None => Err(SystemError::Usage("the command has no words".to_owned())),
    }
}

fn launch(start: &mut Starting) -> Result<Launch, SystemError> {
    let mut words = words_of(start.settings)?;
    if words.iter().any(|word| word.contains(PLACEHOLDER)) {
        let binary = match start.settings.flag("static") {
            true => start.static_binary()?,
            false => start.own_binary()?,
        };
        let binary = binary.to_str().ok_or_else(|| {
            SystemError::Failed(format!("{}: the path is no UTF-8", binary.display()))
        })?;
        for word in &mut words {
            *word = word.replace(PLACEHOLDER, binary);
        }
    }
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    Ok(Launch::of(command))
}

/// The words of the command line: at least one.
fn words_of(settings: &Settings) -> Result<Vec<String>, SystemError> {
    let line = settings.text("line").unwrap_or_default();
    match shlex::split(line) {
        Some(words) if words.iter().any(|word| !word.is_empty()) => Ok(words),
        Some(_) => Err(SystemError::Usage("the command has no words".to_owned())),
        None => Err(SystemError::Usage(format!("a quote is not closed in: {line}"))),
    }
}
