//! `bwrap`: the agent runs in separate namespaces, made by bubblewrap.

use std::path::Path;
use std::process::Command;

use super::{AGENT, Argument, Launch, Launcher, Runs, Starting};
use crate::binary;
use crate::error::SystemError;
use crate::options::{OptionSpec, Settings, ValueKind};
use crate::program;

/// The directory that has the libraries of this program.
const ROOT: &str = "/";

/// The launcher `bwrap`.
pub const BWRAP: Launcher = Launcher {
    name: "bwrap",
    about: "namespaces of its own on this kernel, by bubblewrap; the files are those of DIRECTORY, or just oscost",
    needs: "bubblewrap",
    argument: Some(Argument { option: "directory", syntax: "DIRECTORY", required: false }),
    options: &[
        OptionSpec {
            name: "directory",
            kind: ValueKind::Path,
            meaning: "the root file system, read-only, such as `/`; without it there is only oscost",
        },
        OptionSpec {
            name: "network",
            kind: ValueKind::Flag,
            meaning: "share the network of this system",
        },
        OptionSpec { name: "args", kind: ValueKind::Words, meaning: "further options of bwrap" },
    ],
    runs,
    check,
    launch,
    ..Launcher::STATIC
};

/// The oscost that the system runs: this program if the files are those of this system, which include its libraries.
fn runs(settings: &Settings) -> Runs {
    match settings.path("directory") {
        Some(path) if path == Path::new(ROOT) => Runs::ThisProgram,
        _ => Runs::Static,
    }
}

fn check(settings: &Settings) -> Result<(), SystemError> {
    program::need("bwrap", "bwrap", "bubblewrap")?;
    match runs(settings) {
        Runs::Static => {
            binary::without_libraries(settings).map(drop).map_err(|error| match error {
                SystemError::Unsupported(why) => SystemError::Unsupported(format!(
                    "{why}; bwrap:{ROOT} does without: it has this system's files, read-only"
                )),
                error => error,
            })
        }
        _ => Ok(()),
    }
}

fn launch(start: &mut Starting) -> Result<Launch, SystemError> {
    let binary = match runs(start.settings) {
        Runs::ThisProgram => start.own_binary()?,
        _ => start.static_binary()?,
    };
    let mut command = Command::new(program::need("bwrap", "bwrap", "bubblewrap")?);
    command.args(["--unshare-all", "--die-with-parent", "--new-session"]);
    if start.settings.flag("network") {
        command.arg("--share-net");
    }
    if let Some(directory) = start.settings.path("directory") {
        command.arg("--ro-bind").arg(directory).arg("/");
    }
    command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
    // The binary is mounted below /tmp, which is writable: a read-only root has no mount point for it.
    command.arg("--ro-bind").arg(binary).args(["/tmp/.oscost", "--chdir", "/"]);
    command.args(start.settings.words("args")).args(["--", "/tmp/.oscost", AGENT]);
    Ok(Launch::of(command))
}
