//! `uml`: the agent is the first process of User-Mode Linux.

use std::process::Command;

use super::{AGENT, Argument, Launch, Launcher, Starting};
use crate::error::SystemError;
use crate::initramfs;
use crate::options::{OptionSpec, Settings, ValueKind};
use crate::program;

const PROGRAM: &str = "linux.uml";

/// The launcher `uml`.
pub const UML: Launcher = Launcher {
    name: "uml",
    about: "User-Mode Linux: a kernel that runs as a process of this one, with oscost as its first process; it has one CPU, \
         and does not start on processors with large extended state, such as AMX",
    needs: "user-mode-linux",
    argument: Some(Argument { option: "kernel", syntax: "KERNEL", required: false }),
    options: &[
        OptionSpec {
            name: "kernel",
            kind: ValueKind::Path,
            meaning: "the kernel, a program; linux.uml in PATH unless given",
        },
        OptionSpec {
            name: "memory",
            kind: ValueKind::Count(64, 1 << 20),
            meaning: "its memory in MiB; 512, or what a larger program takes, unless given",
        },
        OptionSpec {
            name: "append",
            kind: ValueKind::Words,
            meaning: "further words of the kernel's command line",
        },
    ],
    has_helpers: true,
    check,
    launch,
    ..Launcher::BRINGS
};

fn check(settings: &Settings) -> Result<(), SystemError> {
    kernel(settings).map(|_| ())
}

fn launch(start: &mut Starting) -> Result<Launch, SystemError> {
    let binary = start.program()?;
    let directory = start.state.path().to_owned();
    let archive = directory.join("initramfs");
    let usual_memory = initramfs::write(&binary, &archive)
        .map_err(|e| SystemError::from_io(archive.display().to_string(), &e))?;
    let mut command = Command::new(kernel(start.settings)?);
    let memory = start.settings.count("memory").unwrap_or(usual_memory);
    command.arg(format!("mem={memory}M"));
    // The state directory gets the pid file, the management socket, and the memory, which is a file.
    command.arg(format!("uml_dir={}/", directory.display())).arg("umid=uml");
    command.env("TMPDIR", &directory);
    command.arg(format!("initrd={}", archive.display()));
    // The kernel's log goes to the error output; the agent has a serial line.
    command.args(["con=null", "con0=null,fd:2", "ssl=null", "ssl0=fd:0,fd:1"]);
    command.args(["panic=-1".to_owned(), format!("{}=/dev/ttyS0", initramfs::CHANNEL)]);
    command.args(binary.libraries.is_some().then(initramfs::library_path));
    command.args(start.settings.words("append")).args(["--", AGENT]);
    Ok(Launch::until_killed(command))
}

fn kernel(settings: &Settings) -> Result<std::path::PathBuf, SystemError> {
    match settings.path("kernel") {
        Some(path) => program::existing("uml", path),
        None => program::need("uml", PROGRAM, "user-mode-linux"),
    }
}
