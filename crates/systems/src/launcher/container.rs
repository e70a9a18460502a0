//! `podman` and `docker`: the agent runs in a container.

use std::path::Path;
use std::process::Command;

use super::{AGENT, Argument, Launch, Launcher, Starting};
use crate::error::SystemError;
use crate::libraries;
use crate::options::{OptionSpec, Settings, ValueKind};
use crate::program;
use crate::state::Created;

/// The directory of the program's libraries in the container.
const LIBRARIES: &str = "/oscost-libraries";

/// The launcher of podman.
pub const PODMAN: Launcher = Launcher {
    name: "podman",
    needs: "podman",
    elsewhere: Some("podman moves its processes to a control group of its own choice"),
    check: |settings| check("podman", "podman", settings),
    launch: |start| launch("podman", "podman", start),
    ..EITHER
};

/// The launcher of Docker, whose commands are podman's.
pub const DOCKER: Launcher = Launcher {
    name: "docker",
    needs: "docker.io",
    elsewhere: Some("Docker's daemon starts its processes"),
    check: |settings| check("docker", "docker.io", settings),
    launch: |start| launch("docker", "docker.io", start),
    ..EITHER
};

const EITHER: Launcher = Launcher {
    about: "a container of IMAGE on this kernel; IMAGE may be empty, oscost is mounted into it",
    argument: Some(Argument { option: "image", syntax: "IMAGE", required: true }),
    options: &[
        OptionSpec {
            name: "image",
            kind: ValueKind::Text,
            meaning: "the image, such as debian:12",
        },
        OptionSpec {
            name: "network",
            kind: ValueKind::Text,
            meaning: "its network; without one it has the loopback interface only",
        },
        OptionSpec { name: "args", kind: ValueKind::Words, meaning: "further options of `run`" },
    ],
    ..Launcher::BRINGS
};

fn check(name: &'static str, package: &str, settings: &Settings) -> Result<(), SystemError> {
    program::need(name, name, package)?;
    match settings.text("image") {
        Some(image) if image.starts_with('-') => {
            Err(SystemError::Usage(format!("{image:?} is not the name of an image")))
        }
        _ => Ok(()),
    }
}

fn launch(name: &'static str, package: &str, start: &mut Starting) -> Result<Launch, SystemError> {
    let binary = start.program()?;
    let path = program::need(name, name, package)?;
    let container =
        start.state.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let program = path.to_string_lossy().into_owned();
    let removal = [&program, "rm", "--force", "--volumes", &container].map(str::to_owned).to_vec();
    let recorded = start.state.record(Created::RemovedBy(removal));
    recorded.map_err(|e| SystemError::from_io("the record of the container", &e))?;
    let mut command = Command::new(path);
    command.args(["run", "--rm", "--interactive", "--name", &container, "--label", "oscost"]);
    let network = start.settings.text("network").unwrap_or("none");
    command.args(["--network", network, "--entrypoint", "/oscost"]);
    let mut mount = |file: &Path, inside: &Path| {
        command.arg("--volume").arg(format!("{}:{}:ro", file.display(), inside.display()));
    };
    mount(&binary.path, Path::new("/oscost"));
    if let Some(libraries) = binary.libraries {
        mount(&libraries.linker, &libraries.linker);
        libraries.placed(Path::new(LIBRARIES)).for_each(|(file, inside)| mount(file, &inside));
        command.arg("--env").arg(format!("{}={LIBRARIES}", libraries::VARIABLE));
    }
    if name == "docker" {
        // Containers are no descendants of this process, but of Docker's daemon, and do not inherit its CPUs.
        let cpus: Vec<String> = start.cpus.iter().map(usize::to_string).collect();
        command.args(["--cpuset-cpus", &cpus.join(",")]);
    }
    command.args(start.settings.words("args"));
    command.arg(start.settings.text("image").unwrap_or_default()).arg(AGENT);
    Ok(Launch::of(command))
}
