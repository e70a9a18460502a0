//! `chroot`: the agent runs in another root directory of this system.

use std::fs;
use std::process::Command;

use super::{AGENT, Argument, Launch, Launcher, Starting};
use crate::error::SystemError;
use crate::options::{OptionSpec, Settings, ValueKind};
use crate::program;
use crate::state::Created;

/// Mounts /proc and /dev in a mount namespace that ends with the agent, if the root has these directories, and starts the
/// agent.
const SCRIPT: &str = r#"
if [ -d "$1/proc" ]; then mount -t proc proc "$1/proc"; fi
if [ -d "$1/dev" ]; then mount --rbind /dev "$1/dev"; fi
exec chroot "$1" "$2" "$3"
"#;

/// The launcher `chroot`.
pub const CHROOT: Launcher = Launcher {
    name: "chroot",
    about: "this kernel with the files of DIRECTORY",
    needs: "root; a DIRECTORY, which may be empty",
    argument: Some(Argument { option: "directory", syntax: "DIRECTORY", required: true }),
    options: &[OptionSpec {
        name: "directory",
        kind: ValueKind::Path,
        meaning: "the root directory",
    }],
    check,
    launch,
    ..Launcher::STATIC
};

fn check(settings: &Settings) -> Result<(), SystemError> {
    program::need("chroot", "chroot", "coreutils")?;
    program::need("chroot", "unshare", "util-linux")?;
    program::need("chroot", "mount", "mount")?;
    match settings.path("directory") {
        Some(path) if path.is_dir() => Ok(()),
        Some(path) => {
            Err(SystemError::Failed(format!("{}: there is no such directory", path.display())))
        }
        None => Ok(()),
    }
}

fn launch(start: &mut Starting) -> Result<Launch, SystemError> {
    let binary = start.static_binary()?;
    let directory = start.settings.path("directory").cloned().unwrap_or_default();
    let name = start.state.path().file_name().unwrap_or_default().to_owned();
    let copy = directory.join(&name);
    let failed = |e| SystemError::from_io(copy.display().to_string(), &e);
    let absolute = std::path::absolute(&copy).map_err(failed)?;
    start.state.record(Created::File(absolute)).map_err(failed)?;
    fs::copy(binary, &copy).map_err(failed)?;
    platform::process::hosted::make_executable(&copy).map_err(failed)?;
    let mut command = Command::new(program::need("chroot", "unshare", "util-linux")?);
    command.args(["--mount", "--propagation", "private", "--", "/bin/sh", "-c", SCRIPT, "sh"]);
    let inside = std::path::Path::new("/").join(name);
    command.arg(directory).arg(inside).arg(AGENT);
    Ok(Launch::of(command))
}
