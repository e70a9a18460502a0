//! A Docker daemon for these tests only.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Name of an empty image.
const IMAGE: &str = "oscost-test-empty";
/// The variable by which docker's programs find the daemon.
const ADDRESS: &str = "DOCKER_HOST";
/// Time limit for the daemon's start, and for its end.
const LONGEST: Duration = Duration::from_secs(60);

static DAEMON: OnceLock<Result<Mutex<Child>, String>> = OnceLock::new();

fn directory() -> PathBuf {
    std::env::temp_dir().join(format!("oscost-docker-{}", std::process::id()))
}

/// Makes docker's programs use the daemon of these tests, whether it runs or not.
///
/// # Safety
/// No other thread may run.
pub unsafe fn use_own_daemon() {
    let address = format!("unix://{}", directory().join("socket").display());
    // SAFETY: as the caller promises.
    unsafe { std::env::set_var(ADDRESS, address) };
}

/// Returns the image, and starts the daemon for it; the reason if that is not possible.
pub fn image() -> Result<&'static str, String> {
    let daemon = DAEMON.get_or_init(|| start().map(Mutex::new));
    daemon.as_ref().map(|_| IMAGE).map_err(Clone::clone)
}

/// Containers whose names contain `name`.
pub fn containers(name: &str) -> Vec<String> {
    if !matches!(DAEMON.get(), Some(Ok(_))) {
        return Vec::new();
    }
    let listed = Command::new("docker").args(["ps", "--all", "--format", "{{.Names}}"]).output();
    let listed = listed.map(|output| output.stdout).unwrap_or_default();
    let names = String::from_utf8_lossy(&listed).into_owned();
    names.lines().filter(|line| line.contains(name)).map(str::to_owned).collect()
}

/// Ends the daemon, if one was started, and removes its directory.
pub fn end() {
    if let Some(Ok(daemon)) = DAEMON.get() {
        end_daemon(daemon);
    }
    let _ = std::fs::remove_dir_all(directory());
}

fn end_daemon(daemon: &Mutex<Child>) {
    let mut daemon = daemon.lock().expect("no test panicked with it");
    let _ = Command::new("docker").args(["rmi", IMAGE]).output();
    // On SIGTERM the daemon also ends its children.
    let _ = Command::new("kill").arg(daemon.id().to_string()).status();
    let began = Instant::now();
    while began.elapsed() < LONGEST && matches!(daemon.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn start() -> Result<Child, String> {
    if !testing::is_root() {
        return Err("root: needed by docker's daemon".to_owned());
    }
    let directory = directory();
    std::fs::create_dir_all(&directory).map_err(|e| e.to_string())?;
    let path = |name: &str| directory.join(name).display().to_string();
    let log = std::fs::File::create(path("log")).map_err(|e| e.to_string())?;
    // These options work wherever containers do: no network, no rules of a firewall, and layers as plain directories.
    let mut command = Command::new("dockerd");
    command.args(["--iptables=false", "--bridge=none", "--storage-driver=vfs"]);
    command.args(["--host", &format!("unix://{}", path("socket")), "--pidfile", &path("pid")]);
    command.args(["--data-root", &path("data"), "--exec-root", &path("exec")]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).process_group(0);
    let mut daemon = command.spawn().map_err(|e| format!("systems: dockerd: {e}"))?;
    let archive = path("empty.tar");
    // A tar archive ends with two blocks of zeros.
    std::fs::write(&archive, [0; 10_240]).map_err(|e| e.to_string())?;
    let began = Instant::now();
    while began.elapsed() < LONGEST && matches!(daemon.try_wait(), Ok(None)) {
        let import = Command::new("docker").arg("import").arg(&archive).arg(IMAGE).output();
        if import.map_err(|e| format!("docker: {e}"))?.status.success() {
            return Ok(daemon);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let (_, _) = (daemon.kill(), daemon.wait());
    let said = std::fs::read_to_string(path("log")).unwrap_or_default();
    Err(format!("dockerd: {}", said.lines().last().unwrap_or("it does not answer")))
}
