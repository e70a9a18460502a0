//! The servers under test, each in a child process that executes this program, and the resources of such a process as Linux
//! reports them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use platform::CaseError;
use servers::Protocol;
use servers::hosted::{Hosted, host};
use servers::{Architecture, ServerOptions, Task};

/// The argument with which this program is a server.
const SERVE: &str = "serve";
/// The argument with which this program serves one connection.
const STDIO: &str = "stdio";

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct Setting {
    pub protocol: Protocol,
    pub timeout: Duration,
    pub workers: usize,
    pub task: Task,
    /// Limit of descriptors of the server's process.
    pub descriptors: Option<u64>,
    /// Limit of processes and threads, which does not apply to root.
    pub processes: Option<u64>,
}

impl Setting {
    pub fn of(protocol: &str) -> Self {
        let protocol = protocol.parse().expect("a protocol");
        let timeout = Duration::from_secs(20);
        let task = Task::None;
        Self { protocol, timeout, workers: 32, task, descriptors: None, processes: None }
    }

    pub fn timeout_ms(self, ms: u64) -> Self {
        Self { timeout: Duration::from_millis(ms), ..self }
    }

    pub fn workers(self, workers: usize) -> Self {
        Self { workers, ..self }
    }

    pub fn task(self, task: Task) -> Self {
        Self { task, ..self }
    }

    /// Starts a server of an architecture.
    pub fn start(&self, architecture: &Architecture) -> Hosted {
        self.try_to_start(architecture).expect("the server starts")
    }

    /// Starts a server like [`Setting::start`], which may fail for lack of resources.
    pub fn try_to_start(&self, architecture: &Architecture) -> Result<Hosted, CaseError> {
        let program = std::env::current_exe().expect("this program");
        // An ordinary user may have no access to the folder of this program.
        let for_all = self.processes.map(|_| copy_for_all());
        let mut command = Command::new(for_all.as_ref().unwrap_or(&program));
        let limit = |limit: Option<u64>| limit.map_or("-".to_owned(), |limit| limit.to_string());
        command.args([SERVE, architecture.name, &self.protocol.to_string()]).args([
            self.timeout.as_millis().to_string(),
            self.workers.to_string(),
            serde_json::to_string(&self.task).expect("plain values"),
            limit(self.descriptors),
            limit(self.processes),
        ]);
        Hosted::start(&mut command)
    }
}

/// The path of a copy of the program that every user may execute.
fn copy_for_all() -> PathBuf {
    folder_for_all().join("conformance")
}

fn folder_for_all() -> PathBuf {
    std::env::temp_dir().join(format!("oscost-conformance-{}", std::process::id()))
}

/// Makes the copy of the program. It must exist before the first scenario: a process that another scenario starts while the
/// copy is written holds it open, and an open file cannot be executed.
pub fn set_up() {
    let folder = folder_for_all();
    fs::create_dir_all(&folder).expect("a folder");
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&folder, all).expect("the folder's permissions");
    let program = std::env::current_exe().expect("this program");
    fs::copy(program, copy_for_all()).expect("a copy");
}

/// Removes the copy of the program.
pub fn clean_up() {
    let _ = fs::remove_dir_all(folder_for_all());
}

/// Runs a server, or a program that it starts, if the arguments request that; returns the exit code.
pub fn serve_if_requested() -> Option<i32> {
    let arguments: Vec<String> = std::env::args().collect();
    let outcome = match arguments.get(1).map(String::as_str) {
        Some(SERVE) => serve(&arguments[2..]),
        Some(STDIO) => serve_stdio(&arguments[2..]),
        _ => return None,
    };
    match outcome {
        Ok(()) => Some(0),
        Err(error) => {
            eprintln!("{error}");
            Some(1)
        }
    }
}

fn serve(arguments: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let [name, protocol, timeout_ms, workers, task, descriptors, processes] = arguments else {
        return Err("wrong arguments".into());
    };
    match descriptors.parse() {
        Ok(descriptors) => os::limit(libc::RLIMIT_NOFILE, descriptors)?,
        Err(_) => drop(platform::process::limits::raise_descriptors()),
    }
    if let Ok(processes) = processes.parse() {
        os::become_user_with(processes)?;
    }
    let options = ServerOptions {
        protocol: protocol.parse()?,
        timeout: Duration::from_millis(timeout_ms.parse()?),
        workers: workers.parse()?,
        cpus: platform::cpu::allowed(),
        stdio_arguments: [STDIO, protocol, timeout_ms, task, &std::process::id().to_string()]
            .map(str::to_owned)
            .into(),
        task: serde_json::from_str(task)?,
        memory: 0,
        backlog: None,
    };
    let architecture = Architecture::find(name).ok_or("no such architecture")?;
    let server = architecture.bind(([127, 0, 0, 1], 0).into(), &options)?;
    Ok(host(&server, None)?)
}

fn serve_stdio(arguments: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let [protocol, timeout_ms, task, server] = arguments else {
        return Err("wrong arguments".into());
    };
    let timeout = Duration::from_millis(timeout_ms.parse()?);
    let (protocol, task) = (protocol.parse()?, serde_json::from_str(task)?);
    Ok(servers::architecture::exec::serve_stdio(protocol, timeout, task, server.parse()?)?)
}

mod os {
    use std::io;

    /// The first user id of servers with few processes. The ids must be unused, so that a user's only processes are its
    /// server's.
    const USERS: libc::uid_t = 61_347;

    pub fn limit(resource: libc::__rlimit_resource_t, limit: u64) -> io::Result<()> {
        let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
        // SAFETY: the limit is valid and only read.
        done(unsafe { libc::setrlimit(resource, &limit) })
    }

    pub fn become_user_with(processes: u64) -> io::Result<()> {
        limit(libc::RLIMIT_NPROC, processes)?;
        // Each server has its own user: the limit counts all processes of a user, and scenarios run in parallel.
        let user = USERS + std::process::id() % 1_000;
        // SAFETY: the list has length 0 and is not read.
        unsafe {
            done(libc::setgroups(0, std::ptr::null()))?;
            done(libc::setgid(user))?;
            done(libc::setuid(user))
        }
    }

    fn done(result: libc::c_int) -> io::Result<()> {
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// The resources of a server's process and its descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub descriptors: usize,
    /// Number of descendants, including zombies.
    pub processes: usize,
    pub memory_kib: u64,
}

impl Held {
    pub fn by(pid: u32) -> Self {
        let below = descendants(pid);
        let memory = below.iter().chain([&pid]).map(|&pid| memory_kib(pid)).sum();
        Self { descriptors: descriptors(pid), processes: below.len(), memory_kib: memory }
    }
}

fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// The last of the process's consecutive descriptors from 0 on; inherited descriptors may have any number.
pub fn last_descriptor(pid: u32) -> u64 {
    let is_open = |number: &u64| Path::new(&format!("/proc/{pid}/fd/{number}")).exists();
    (0..).take_while(is_open).last().expect("its descriptors are listed")
}

/// The process's proportional share of memory (Pss), in KiB.
fn memory_kib(pid: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let pss = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    pss.and_then(|kib| kib.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// All descendants of `pid`.
pub fn descendants(pid: u32) -> BTreeSet<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc is read").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if let Some(parent) = stat(pid).and_then(|(_, parent)| parent.parse().ok()) {
            parents.push((pid, parent));
        }
    }
    let mut found = BTreeSet::from([pid]);
    loop {
        let before = found.len();
        let below = parents.iter().filter(|(_, parent)| found.contains(parent));
        let below: Vec<u32> = below.map(|&(pid, _)| pid).collect();
        found.extend(below);
        if found.len() == before {
            found.remove(&pid);
            return found;
        }
    }
}

/// The state and the parent of a process.
fn stat(pid: u32) -> Option<(String, String)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split_whitespace();
    Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
}

/// Whether a process runs; a zombie does not.
pub fn runs(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != "Z" && state != "X")
}
