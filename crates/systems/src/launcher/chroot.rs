//! `chroot`: the agent runs in another root directory of this system.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{AGENT, Argument, Launch, Launcher, Starting};
use crate::error::SystemError;
use crate::libraries;
use crate::options::{OptionSpec, Settings, ValueKind};
use crate::program;
use crate::state::Created;

/// Mounts /proc and /dev in a mount namespace that ends with the agent, if the root has these directories, and a dynamic linker
/// over the root's own, and starts the agent.
const SCRIPT: &str = r#"
if [ "$5" ]; then mount --bind "$4" "$5"; fi
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
    ..Launcher::BRINGS
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
    let binary = start.program()?;
    let directory = start.settings.path("directory").cloned().unwrap_or_default();
    let name = start.state.path().file_name().unwrap_or_default().to_owned();
    let failed = |e| SystemError::from_io(directory.display().to_string(), &e);
    let root = std::path::absolute(&directory).map_err(failed)?;
    let files = root.join(&name);
    start.state.record(Created::Directory(files.clone())).map_err(failed)?;
    fs::create_dir(&files).map_err(failed)?;
    let copy = files.join("oscost");
    fs::copy(binary.path, &copy).map_err(failed)?;
    platform::process::hosted::make_executable(&copy).map_err(failed)?;
    let inside = Path::new("/").join(name);
    let mut command = Command::new(program::need("chroot", "unshare", "util-linux")?);
    command.args(["--mount", "--propagation", "private", "--", "/bin/sh", "-c", SCRIPT, "sh"]);
    command.arg(&root).arg(inside.join("oscost")).arg(AGENT);
    if let Some(libraries) = binary.libraries {
        for (file, copy) in libraries.placed(&files) {
            fs::copy(file, copy).map_err(failed)?;
        }
        command.args(place_linker(start, &root, &libraries.linker).map_err(failed)?);
        command.env(libraries::VARIABLE, inside);
    }
    Ok(Launch::of(command))
}

/// Copies the dynamic linker into a root that has none at its path; else returns it, and the file over which it is to be mounted.
fn place_linker(start: &mut Starting, root: &Path, linker: &Path) -> io::Result<Vec<PathBuf>> {
    let inside = libraries::resolve_in(root, linker)
        .ok_or_else(|| io::Error::other("too many symbolic links"))?;
    let copy = root.join(&inside);
    if copy.exists() {
        return Ok(vec![linker.to_owned(), copy]);
    }
    let above: Vec<&Path> = inside.ancestors().skip(1).collect();
    for directory in above.into_iter().rev().map(|path| root.join(path)) {
        if !directory.exists() {
            start.state.record(Created::EmptyDirectory(directory.clone()))?;
            fs::create_dir(directory)?;
        }
    }
    start.state.record(Created::File(copy.clone()))?;
    fs::copy(linker, copy)?;
    Ok(Vec::new())
}
