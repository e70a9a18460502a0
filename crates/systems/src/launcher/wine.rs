//! `wine`: the agent is a Windows program under Wine.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{AGENT, Argument, Launch, Launcher, Runs, Starting};
use crate::error::SystemError;
use crate::options::{OptionSpec, Settings, ValueKind};
use crate::program;
use crate::state::{self, Created};

/// The directory of Debian's 64-bit programs, which is not in PATH.
const DEBIAN: &str = "/usr/lib/wine";
/// A file that marks a complete prefix.
const COMPLETE: &str = "oscost-complete";
/// Time limit for making a prefix, which usually takes 7 s.
const PREFIX_TIME: Duration = Duration::from_secs(180);

/// The launcher `wine`.
pub const WINE: Launcher = Launcher {
    name: "wine",
    about: "Wine with the oscost of Windows, PROGRAM.exe; its times are Wine's, not Windows'",
    needs: "wine64; an oscost.exe (`scripts/windows-build`)",
    argument: Some(Argument { option: "binary", syntax: "PROGRAM.exe", required: true }),
    options: &[OptionSpec {
        name: "prefix",
        kind: ValueKind::Path,
        meaning: "the Wine prefix, made if there is none; its server is stopped at the end, so that one run at a time \
                      can use it; oscost/wine in the user's cache unless given",
    }],
    runs: |_| Runs::Named,
    has_helpers: true,
    check,
    launch,
    ..Launcher::NATIVE
};

fn check(settings: &Settings) -> Result<(), SystemError> {
    wine()?;
    server()?;
    match settings.path("binary") {
        Some(path) if !path.is_file() => Err(SystemError::Failed(format!(
            "{}: there is no such file; scripts/windows-build builds it",
            path.display()
        ))),
        _ => Ok(()),
    }
}

fn launch(start: &mut Starting) -> Result<Launch, SystemError> {
    let prefix = prefix(start.settings)?;
    let program = start.own_binary()?;
    let server = server()?;
    let words = ["env".into(), format!("WINEPREFIX={}", prefix.display())];
    let removal = words.into_iter().chain([server.display().to_string(), "-k".to_owned()]);
    let recorded = start.state.record(Created::RemovedBy(removal.collect()));
    recorded.map_err(|e| SystemError::from_io("the record of Wine's server", &e))?;
    make_prefix(&prefix, &server)?;
    let mut command = in_prefix(wine()?, &prefix);
    command.arg(program).arg(AGENT);
    Ok(Launch::of(command))
}

fn wine() -> Result<PathBuf, SystemError> {
    found(&["wine64"])
}

fn server() -> Result<PathBuf, SystemError> {
    found(&["wineserver64", "wineserver"])
}

fn found(names: &[&str]) -> Result<PathBuf, SystemError> {
    let places = names.iter().flat_map(|name| [(*name).to_owned(), format!("{DEBIAN}/{name}")]);
    let found = places.into_iter().find_map(|name| program::find(&name));
    found.map_or_else(|| program::need("wine", names[0], "wine64"), Ok)
}

fn prefix(settings: &Settings) -> Result<PathBuf, SystemError> {
    let variable = |name| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let path = settings.path("prefix").cloned().or_else(|| Some(cache()?.join("oscost/wine")));
    let path =
        path.ok_or_else(|| SystemError::Usage("wine needs the option \"prefix\"".to_owned()))?;
    std::path::absolute(&path).map_err(|e| SystemError::from_io(path.display().to_string(), &e))
}

/// A command that runs a program of Wine without a display and without questions.
fn in_prefix(program: PathBuf, prefix: &std::path::Path) -> Command {
    let mut command = Command::new(program);
    command.env("WINEPREFIX", prefix).env("WINEDEBUG", "-all");
    command.env("WINEDLLOVERRIDES", "mscoree,mshtml=");
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    command
}

fn make_prefix(prefix: &std::path::Path, server: &std::path::Path) -> Result<(), SystemError> {
    let complete = prefix.join(COMPLETE);
    // A prefix that other tools made is complete if it has the file `made`.
    if complete.exists() || prefix.join("made").exists() {
        return Ok(());
    }
    let failed = |e| SystemError::from_io(format!("the Wine prefix {}", prefix.display()), &e);
    std::fs::create_dir_all(prefix).map_err(failed)?;
    let mut boot = in_prefix(wine()?, prefix);
    boot.args(["wineboot", "-i"]);
    let mut wait = in_prefix(server.to_owned(), prefix);
    wait.arg("-w");
    for command in [&mut boot, &mut wait] {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if state::code_within(command, PREFIX_TIME).map_err(failed)? != Some(0) {
            let prefix = prefix.display();
            return Err(SystemError::Failed(format!("making the Wine prefix {prefix} failed")));
        }
    }
    std::fs::write(complete, "").map_err(failed)
}
