//! `ssh`: the agent runs on another host, started by OpenSSH's own program with the user's configuration.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ring::digest::{SHA256, digest};

use super::{AGENT, Argument, Launch, Launcher, Runs, Starting};
use crate::error::SystemError;
use crate::options::{OptionSpec, Settings, ValueKind};
use crate::{program, state};

/// The directory of copies of oscost on the host, below the user's home directory; a copy's name is its SHA-256.
const CACHE: &str = ".cache/oscost";
/// After how many days without use a copy is removed.
const UNUSED_DAYS: u32 = 30;
/// Time limit for copying.
const COPY_TIME: Duration = Duration::from_secs(300);

/// The launcher `ssh`.
pub const SSH: Launcher = Launcher {
    name: "ssh",
    about: "another Linux host, by OpenSSH with your configuration and keys",
    needs: "openssh-client; a HOST that accepts a key without a question",
    argument: Some(Argument { option: "host", syntax: "HOST", required: true }),
    options: &[
        OptionSpec { name: "host", kind: ValueKind::Text, meaning: "the host, as ssh knows it" },
        OptionSpec {
            name: "connect-timeout",
            kind: ValueKind::Count(1, 3_600),
            meaning: "time for connecting, in s; 10 unless given",
        },
        OptionSpec { name: "args", kind: ValueKind::Words, meaning: "further options of ssh" },
    ],
    runs: |_| Runs::Static,
    is_remote: true,
    elsewhere: Some("it is another host"),
    check,
    launch,
    ..Launcher::BRINGS
};

fn check(settings: &Settings) -> Result<(), SystemError> {
    program::need("ssh", "ssh", "openssh-client")?;
    match settings.text("host") {
        Some(host) if host.starts_with('-') => {
            Err(SystemError::Usage(format!("{host:?} is not the name of a host")))
        }
        _ => Ok(()),
    }
}

fn launch(start: &mut Starting) -> Result<Launch, SystemError> {
    let settings = start.settings;
    let binary = start.static_binary()?;
    let program = std::fs::read(&binary);
    let program = program.map_err(|e| SystemError::from_io(binary.display().to_string(), &e))?;
    let copy = format!("{CACHE}/{}", hash_of(&program));
    let errors = start.state.path().join("ssh-errors");
    let run = |script: &str, input: Stdio| run(settings, script, input, &errors);
    // The time of its last change is that of its last use.
    if !run(&format!("test -x {copy} && touch {copy}"), Stdio::null())? {
        let part = format!("{copy}.$$");
        // The size shows a copy that a lost connection has cut.
        let script = format!(
            "umask 077; mkdir -p {CACHE} && cat >{part} && \
             if test $(wc -c <{part}) -ne {size}; then echo the copy is not complete >&2; false; fi && \
             chmod 700 {part} && mv {part} {copy} || {{ rm -f {part}; exit 1; }}; \
             find {CACHE} -maxdepth 1 -type f -mtime +{UNUSED_DAYS} -exec rm -f {{}} +; exit 0",
            size = program.len()
        );
        let file = File::open(&binary);
        let file = file.map_err(|e| SystemError::from_io(binary.display().to_string(), &e))?;
        if !run(&script, file.into())? {
            return Err(failure(settings, "copying oscost there failed", &errors));
        }
    }
    let cpus = settings.cpus("cpus").unwrap_or_default();
    let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
    let pinned = match cpus.is_empty() {
        true => String::new(),
        false => format!("taskset -c {} ", cpus.join(",")),
    };
    let command = ssh(settings, &format!("exec {pinned}\"$HOME\"/{copy} {AGENT}"))?;
    Ok(Launch::of(command))
}

/// The command that runs a script of sh(1) on the host, in the home directory.
fn ssh(settings: &Settings, script: &str) -> Result<Command, SystemError> {
    let mut command = Command::new(program::need("ssh", "ssh", "openssh-client")?);
    let timeout = settings.count("connect-timeout").unwrap_or(10);
    command.args(["-T", "-o", "BatchMode=yes", "-o", &format!("ConnectTimeout={timeout}")]);
    command.args(["-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"]);
    command.args(settings.words("args"));
    command.arg("--").arg(settings.text("host").unwrap_or_default());
    // The user's login shell may not be sh(1); the scripts contain no quotes that it would remove.
    command.arg(format!("sh -c '{script}'"));
    Ok(command)
}

/// Whether a script succeeds on the host.
fn run(
    settings: &Settings,
    script: &str,
    input: Stdio,
    errors: &Path,
) -> Result<bool, SystemError> {
    let mut command = ssh(settings, script)?;
    let file = File::create(errors);
    let file = file.map_err(|e| SystemError::from_io(errors.display().to_string(), &e))?;
    command.stdin(input).stdout(Stdio::null()).stderr(file);
    let code = state::code_within(&mut command, COPY_TIME);
    match code.map_err(|e| SystemError::from_io("starting ssh", &e))? {
        Some(0) => Ok(true),
        // No code, or 255, is OpenSSH's own failure; other codes are the script's.
        None | Some(255) => Err(failure(settings, "ssh failed", errors)),
        Some(_) => Ok(false),
    }
}

fn failure(settings: &Settings, what: &str, errors: &Path) -> SystemError {
    let text = std::fs::read(errors).unwrap_or_default();
    let host = settings.text("host").unwrap_or_default();
    SystemError::Failed(format!("{host}: {what}: {}", program::last_line(&text)))
}

fn hash_of(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
