//! `bwrap`: the agent runs in separate namespaces, made by bubblewrap.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{AGENT, Argument, Launch, Launcher, Runs, Starting};
use crate::error::SystemError;
use crate::libraries::{self, Program};
use crate::options::{OptionSpec, Settings, ValueKind};
use crate::program;

/// The directory that has the libraries of this program.
const ROOT: &str = "/";
/// The directory of the program's libraries in the system.
const LIBRARIES: &str = "/tmp/.oscost-libraries";

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
    ..Launcher::BRINGS
};

/// The oscost that the system runs: this program if the files are those of this system, which include its libraries.
fn runs(settings: &Settings) -> Runs {
    match settings.path("directory") {
        Some(path) if path == Path::new(ROOT) => Runs::ThisProgram,
        _ => Runs::Brought,
    }
}

fn check(_: &Settings) -> Result<(), SystemError> {
    program::need("bwrap", "bwrap", "bubblewrap").map(drop)
}

fn launch(start: &mut Starting) -> Result<Launch, SystemError> {
    let directory = start.settings.path("directory");
    let binary = match runs(start.settings) {
        Runs::ThisProgram => Program { path: start.own_binary()?, libraries: None },
        _ => start.program()?,
    };
    let mut command = Command::new(program::need("bwrap", "bwrap", "bubblewrap")?);
    command.args(["--unshare-all", "--die-with-parent", "--new-session"]);
    if start.settings.flag("network") {
        command.arg("--share-net");
    }
    if let Some(directory) = directory {
        command.arg("--ro-bind").arg(directory).arg("/");
    }
    command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
    // The files are mounted below /tmp, which is writable: a read-only root has no mount points for them.
    command.arg("--ro-bind").arg(binary.path).args(["/tmp/.oscost", "--chdir", "/"]);
    if let Some(libraries) = binary.libraries {
        let linker = linker_in(directory, &libraries.linker)?;
        command.arg("--ro-bind").arg(&libraries.linker).arg(linker);
        for (file, inside) in libraries.placed(Path::new(LIBRARIES)) {
            command.arg("--ro-bind").arg(file).arg(inside);
        }
        command.args(["--setenv", libraries::VARIABLE, LIBRARIES]);
    }
    command.args(start.settings.words("args")).args(["--", "/tmp/.oscost", AGENT]);
    Ok(Launch::of(command))
}

/// Where the dynamic linker is mounted: in a given root, over the one that it has.
fn linker_in(root: Option<&PathBuf>, linker: &Path) -> Result<PathBuf, SystemError> {
    let Some(root) = root else { return Ok(linker.to_owned()) };
    let inside = libraries::resolve_in(root, linker);
    inside.filter(|inside| root.join(inside).is_file()).map(|inside| Path::new("/").join(inside)).ok_or_else(|| {
        SystemError::Unsupported(format!(
            "{} is read-only, and has no {} that this program needs: it takes a static oscost, as released",
            root.display(),
            linker.display()
        ))
    })
}
