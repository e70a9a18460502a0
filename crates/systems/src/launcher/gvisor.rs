//! `gvisor`: the agent is a process of gVisor's kernel, started by runsc.

use std::process::Command;

use super::{AGENT, Argument, Launch, Launcher, Starting};
use crate::error::SystemError;
use crate::options::{OptionSpec, Settings, ValueKind};
use crate::program;

/// The launcher `gvisor`.
pub const GVISOR: Launcher = Launcher {
    name: "gvisor",
    about: "gVisor's kernel, which runs as a process of this one; PLATFORM is systrap, ptrace or kvm",
    needs: "root; runsc in PATH (`scripts/runsc` builds it) or in RUNSC",
    argument: Some(Argument { option: "platform", syntax: "PLATFORM", required: false }),
    options: &[
        OptionSpec {
            name: "platform",
            kind: ValueKind::Choice(&["systrap", "ptrace", "kvm"]),
            meaning: "how system calls of its processes reach it; systrap unless given",
        },
        OptionSpec {
            name: "program",
            kind: ValueKind::Path,
            meaning: "the path of runsc, instead of that in RUNSC or PATH",
        },
        OptionSpec {
            name: "args",
            kind: ValueKind::Words,
            meaning: "further options of runsc, before `do`",
        },
    ],
    has_helpers: true,
    check,
    launch,
    ..Launcher::BRINGS
};

fn check(settings: &Settings) -> Result<(), SystemError> {
    runsc(settings).map(|_| ())
}

fn launch(start: &mut Starting) -> Result<Launch, SystemError> {
    // The sandbox has this system's files, with the libraries of the program.
    let binary = start.program()?.path;
    // runsc keeps its state in one directory, and mounts file systems in another for a sandbox without a network. Both are
    // in the state directory, where they are found again.
    let [root, temporary] = ["root", "tmp"].map(|name| start.state.path().join(name));
    for directory in [&root, &temporary] {
        std::fs::create_dir(directory)
            .map_err(|e| SystemError::from_io(directory.display().to_string(), &e))?;
    }
    let mut command = Command::new(runsc(start.settings)?);
    command.arg("--root").arg(root).env("TMPDIR", temporary);
    let platform = start.settings.text("platform").unwrap_or("systrap");
    command.args(["--ignore-cgroups", "--network=none", &format!("--platform={platform}")]);
    command.args(start.settings.words("args"));
    // The variable is for runsc; inside the sandbox, the directory that it names is empty.
    command.args(["do", "/usr/bin/env", "TMPDIR=/tmp"]).arg(binary).arg(AGENT);
    Ok(Launch::of(command))
}

fn runsc(settings: &Settings) -> Result<std::path::PathBuf, SystemError> {
    program::given_or_found(
        "gvisor",
        settings.path("program"),
        "RUNSC",
        "runsc",
        "Debian has none; scripts/runsc builds it, and RUNSC=FILE names it",
    )
}
