//! What tests need that a machine may lack: one function for each, which is true where it is there, and otherwise reports the
//! test as skipped. Each reason begins with the group of `scripts/install-test-needs` that installs it, or with `root`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// Chromium on Debian.
pub const CHROMIUM: &str = "/usr/bin/chromium";
/// Postfix's sink on Debian.
pub const SMTP_SINK: &str = "/usr/sbin/smtp-sink";

#[track_caller]
fn is_there(condition: bool, group: &str, what: &str) -> bool {
    !testing::skip_unless(condition, &format!("{group}: {what}"))
}

/// Whether a program starts and ends with exit code 0.
fn works(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(argument).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A browser, and the packages that drive it.
#[must_use]
#[track_caller]
pub fn browser() -> bool {
    let packages = super::browser::script().with_file_name("node_modules/puppeteer-core");
    let condition = packages.exists() && Path::new(CHROMIUM).exists();
    is_there(condition, "browser", "needs Chromium and the packages of tests/browser")
}

/// The folder with the readers of exported formats, where `scripts/install-test-needs` puts them.
pub fn folder_of_readers() -> PathBuf {
    super::of_repository("target/readers")
}

/// The readers of exported formats.
#[must_use]
#[track_caller]
pub fn readers() -> bool {
    let [python, hyperfine] = ["bin/python", "hyperfine"].map(|it| folder_of_readers().join(it));
    let what = "needs pyperf, Otava and other readers in target/readers";
    is_there(python.exists() && hyperfine.exists(), "readers", what)
}

/// Python, in which scripts are written.
#[must_use]
#[track_caller]
pub fn python() -> bool {
    is_there(works("python3", "--version"), "readers", "needs the program python3")
}

/// These compilers.
#[must_use]
#[track_caller]
pub fn compilers(names: &[&str]) -> bool {
    let condition = names.iter().all(|name| works(name, "--version"));
    is_there(condition, "systems", &format!("needs the compilers {names:?}"))
}

/// Podman, or what verifies systemd's units: the argument lets the program end well where it works.
#[must_use]
#[track_caller]
pub fn program(name: &str, argument: &str) -> bool {
    is_there(works(name, argument), "systems", &format!("{name} is missing, or does not work"))
}

/// A mail server, which `is_started` if it is installed.
#[must_use]
#[track_caller]
pub fn mail_server(is_started: bool, name: &str, why: &str) -> bool {
    is_there(is_started, "mail", &format!("nothing is tested with {name}: {why}"))
}

/// The programs of nodes of a fleet.
#[must_use]
#[track_caller]
pub fn fleet(programs: &[&str]) -> bool {
    let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    let exists = |program: &&&str| folders.iter().any(|it| Path::new(it).join(program).exists());
    let missing = programs.iter().find(|program| !exists(program));
    is_there(missing.is_none(), "fleet", &format!("needs the program {}", missing.unwrap_or(&"")))
}

/// The rights of root.
#[must_use]
#[track_caller]
pub fn root(why: &str) -> bool {
    is_there(testing::is_root(), "root", why)
}

/// The right to mount file systems in a mount namespace, which root may lack in a container.
#[must_use]
#[track_caller]
pub fn mounts() -> bool {
    static MAY_MOUNT: LazyLock<bool> = LazyLock::new(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new("true");
        super::linux::with_file_system(&mut command, folder.path(), "size=4k")
            .status()
            .is_ok_and(|status| status.success())
    });
    is_there(*MAY_MOUNT, "root", "to mount a file system")
}

/// The right to create network namespaces, which root may lack in a container.
#[must_use]
#[track_caller]
pub fn network_namespaces() -> bool {
    static MAY_CREATE: LazyLock<bool> = LazyLock::new(|| {
        super::linux::without_network(&mut Command::new("true"))
            .status()
            .is_ok_and(|status| status.success())
    });
    is_there(*MAY_CREATE, "root", "to create a network namespace")
}

/// What root has, such as network namespaces that `oscost --netns` uses, and counts of the system calls of other processes;
/// `why_not` is the reason why they are not there.
#[must_use]
#[track_caller]
pub fn granted(why_not: Option<&str>) -> bool {
    is_there(why_not.is_none(), "root", why_not.unwrap_or_default())
}

/// A file system in memory.
#[must_use]
#[track_caller]
pub fn shared_memory() -> bool {
    is_there(Path::new("/dev/shm").exists(), "root", "there is no /dev/shm")
}
