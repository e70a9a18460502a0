//! Nodes on this machine: each is a network namespace with an address, a name and a home directory of its own. The lock of a node
//! belongs to the namespace. Nothing leaves them: the bridge between them is in a namespace, too.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::linux::set_mode;
use crate::common::{PROGRAM, Said, holds_within, needs, run, said_within, until};

/// The coordinator's host.
pub const FRONT: &str = "front";
/// What runs a command on a node; arguments: directory, name, options of the node's home directory, command.
const ENTER: &str = r#"d=$1; n=$2; o=$3; shift 3; hostname "$n"
mount --bind "$d/hosts" /etc/hosts || exit 125
if [ "$o" = kept ]; then mount --bind "$d/homes/$n" "$d/home"; else mount -t tmpfs -o "$o" tmpfs "$d/home"; fi || exit 125
exec "$@""#;

/// Nodes, and what runs on them. Dropping it ends all of it.
pub struct Nodes {
    directory: tempfile::TempDir,
    /// Begins the names of the namespaces.
    prefix: String,
    names: Vec<String>,
    daemons: Vec<(String, Child)>,
}

impl Nodes {
    /// Makes nodes; `None`, and the test is skipped, where that is not possible.
    pub fn new(names: &[&str], programs: &[&str]) -> Option<Self> {
        let programs = [&["ip", "nsenter", "unshare", "strip"], programs].concat();
        if !(needs::root("nodes are network namespaces") && needs::fleet(&programs)) {
            return None;
        }
        sweep();
        // The directory must be one that users of daemons can enter.
        let directory = tempfile::Builder::new()
            .prefix("oscost-fleet-")
            .tempdir_in("/tmp")
            .expect("a directory");
        set_mode(directory.path(), 0o755);
        let prefix = format!("oc{}-{:?}-", std::process::id(), std::thread::current().id());
        let prefix = prefix.replace("ThreadId", "").replace(['(', ')'], "");
        let nodes = Self { directory, prefix, names: Vec::new(), daemons: Vec::new() };
        nodes.build(names)
    }

    fn build(mut self, names: &[&str]) -> Option<Self> {
        let bridge = self.namespace("sw");
        let made = run(Command::new("ip").args(["netns", "add", &bridge]));
        if !needs::granted((made.code != Some(0)).then_some(&made.err)) {
            return None;
        }
        self.names.push("sw".to_owned());
        ip(&format!("-n {bridge} link add br0 type bridge"));
        ip(&format!("-n {bridge} link set br0 up"));
        let all: Vec<&str> = [FRONT].iter().chain(names).copied().collect();
        let mut hosts = "127.0.0.1 localhost\n".to_owned();
        for (index, name) in all.iter().enumerate() {
            let (space, address) = (self.namespace(name), address(index));
            ip(&format!("netns add {space}"));
            self.names.push((*name).to_owned());
            let link = format!("v-{name}");
            ip(&format!("-n {space} link add eth0 type veth peer name {link} netns {bridge}"));
            ip(&format!("-n {bridge} link set {link} master br0 up"));
            ip(&format!("-n {space} addr add {address}/24 dev eth0"));
            ip(&format!("-n {space} link set eth0 up"));
            ip(&format!("-n {space} link set lo up"));
            hosts += &format!("{address} {name}\n");
            fs::create_dir_all(self.path("homes").join(name)).expect("a directory");
        }
        fs::create_dir(self.path("home")).expect("a directory");
        fs::write(self.path("hosts"), hosts).expect("a file");
        // Debug information would take most of the time of copying.
        run(Command::new("strip").arg("-o").arg(self.program()).arg(PROGRAM)).with(0);
        Some(self)
    }

    /// A path in the directory of these nodes.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The program, without debug information.
    pub fn program(&self) -> PathBuf {
        self.path("oscost")
    }

    /// The home directory of a node, as this test sees it.
    pub fn home(&self, name: &str) -> PathBuf {
        self.path("homes").join(name)
    }

    fn namespace(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// A command on a node. `home` is `kept`, or has the options of an empty file system. The command has the process id of the
    /// child.
    pub fn on(&self, name: &str, home: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.namespace(name)));
        command
            .args("unshare --mount --uts --propagation private sh -c".split(' '))
            .args([ENTER, "sh"]);
        command.arg(self.directory.path()).args([name, home]).arg(program);
        command.env("HOME", self.path("home")).env("LC_ALL", "C.UTF-8").env("COLUMNS", "200");
        command.env_remove("XDG_DATA_HOME").env_remove("XDG_CACHE_HOME").env_remove("OSCOST_STORE");
        command.env_remove("OSCOST_STATIC").stdin(Stdio::null());
        command
    }

    /// Starts a daemon, whose output is a file of its name.
    pub fn start(&mut self, name: &str, mut command: Command) -> u32 {
        let log = File::create(self.path(&format!("{name}.log"))).expect("a file");
        command.stdout(log.try_clone().expect("a copy")).stderr(log);
        let child = command.spawn().expect("it starts");
        let pid = child.id();
        self.daemons.push((name.to_owned(), child));
        pid
    }

    /// What a daemon wrote.
    pub fn log(&self, name: &str) -> String {
        fs::read_to_string(self.path(&format!("{name}.log"))).unwrap_or_default()
    }

    /// The command `oscost` of the coordinator with these arguments, separated by spaces.
    pub fn oscost(&self, arguments: &str) -> Command {
        let mut command = self.on(FRONT, "kept", self.program());
        command.args(arguments.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The rows of the latest job.
    pub fn rows(&self) -> Vec<Value> {
        let output = self.oscost("fleet status --json").output().expect("it starts");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        document["nodes"].as_array().cloned().unwrap_or_default()
    }

    /// Whether the latest job has so many rows, all in this state.
    pub fn are_all(&self, state: &str, count: usize) -> bool {
        let rows = self.rows();
        rows.len() == count && rows.iter().all(|row| row["state"] == state)
    }

    /// The coordinator's store.
    pub fn store(&self) -> PathBuf {
        self.home(FRONT).join(".local/share/oscost/store.sqlite")
    }

    /// The runs in the coordinator's store: id, job and node.
    pub fn runs(&self) -> Vec<(String, String, String)> {
        runs_in(&self.store())
    }

    /// The processes in the namespace of a node, without those of daemons that this test started.
    pub fn processes(&self, name: &str) -> Vec<u32> {
        let pids = pids_in(&self.namespace(name)).into_iter();
        pids.filter(|pid| !self.daemons.iter().any(|(_, child)| child.id() == *pid)).collect()
    }

    /// Kills everything on a node at once, as a loss of power does.
    pub fn crash(&mut self, name: &str) {
        let all = pids_in(&self.namespace(name));
        all.iter().for_each(|pid| signal(*pid, libc::SIGKILL));
        self.daemons.retain_mut(|(_, child)| !all.contains(&child.id()) || child.wait().is_err());
    }

    /// Cuts a node from the network (`down`), or connects it again (`up`).
    pub fn link(&self, name: &str, state: &str) {
        ip(&format!("-n {} link set v-{name} {state}", self.namespace("sw")));
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for (name, _) in &self.daemons {
                let log = self.log(name);
                let tail: Vec<&str> = log.lines().rev().take(12).collect();
                eprintln!("{name}: {}", tail.into_iter().rev().collect::<Vec<_>>().join("\n"));
            }
        }
        for (_, child) in self.daemons.iter_mut().rev() {
            signal(child.id(), libc::SIGCONT);
            signal(child.id(), libc::SIGTERM);
        }
        for (_, mut child) in self.daemons.drain(..) {
            let has_ended = || child.try_wait().is_ok_and(|status| status.is_some());
            if !holds_within(Duration::from_secs(5), has_ended) {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
        for name in &self.names {
            for pid in self.processes(name) {
                signal(pid, libc::SIGKILL);
            }
            let _ = Command::new("ip").args(["netns", "del", &self.namespace(name)]).status();
        }
    }
}

/// Removes what tests left that were killed: namespaces with the number of a process that is gone, and all that runs in them.
fn sweep() {
    let output = Command::new("ip").args(["netns", "list"]).output().expect("ip");
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let name = line.split_whitespace().next().unwrap_or_default();
        let pid =
            name.strip_prefix("oc").and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            pids_in(name).into_iter().for_each(|pid| signal(pid, libc::SIGKILL));
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

/// The processes in a namespace.
fn pids_in(namespace: &str) -> Vec<u32> {
    let output = Command::new("ip").args(["netns", "pids", namespace]).output().expect("ip");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Sends a signal to a process that this test started, or that is in a namespace of it.
pub fn signal(pid: u32, number: libc::c_int) {
    // SAFETY: takes numbers only.
    unsafe { libc::kill(pid as libc::pid_t, number) };
}

/// The address of the node with this number.
pub fn address(index: usize) -> String {
    format!("10.83.0.{}", index + 1)
}

/// Runs `ip` with these arguments, separated by spaces.
fn ip(arguments: &str) {
    run(Command::new("ip").args(arguments.split(' '))).with(0);
}

/// The runs of a store: id, job and node.
pub fn runs_in(store: &Path) -> Vec<(String, String, String)> {
    let store = results::Store::open_read_only(store).expect("a store");
    let runs = store.runs().expect("runs");
    let tag = |run: &results::RunSummary, key: &str| run.tags.get(key).cloned().unwrap_or_default();
    runs.iter().map(|run| (run.id.clone(), tag(run, "fleet"), tag(run, "node"))).collect()
}

/// Waits for a job that was started.
pub fn ended(child: Child) -> Said {
    said_within(child, Duration::from_secs(600))
}

/// The row of a node.
#[track_caller]
pub fn row<'a>(rows: &'a [Value], node: &str) -> &'a Value {
    rows.iter()
        .find(|row| row["node"] == node)
        .unwrap_or_else(|| panic!("no row {node} in {rows:?}"))
}

/// The rows that a command printed as JSON.
#[track_caller]
pub fn rows_of(said: &Said) -> Vec<Value> {
    said.json()["nodes"].as_array().expect("rows").clone()
}

/// Checks that a row has failed with a reason that contains this text, and with a remedy.
#[track_caller]
pub fn failed_with(rows: &[Value], node: &str, reason: &str) {
    let row = row(rows, node);
    assert_eq!(row["state"], "failed", "{row}");
    assert!(row["reason"].as_str().is_some_and(|said| said.contains(reason)), "{row}");
    assert!(row["remedy"].as_str().is_some_and(|said| !said.is_empty()), "{row}");
}

/// Waits until a condition holds while a command runs, which must not end before.
#[track_caller]
pub fn until_while(child: &mut Child, what: &str, mut so: impl FnMut() -> bool) {
    until(what, || {
        if so() {
            return true;
        }
        if let Some(status) = child.try_wait().expect("it was started") {
            let mut said = String::new();
            let _ = child.stderr.take().map(|mut errors| errors.read_to_string(&mut said));
            panic!("it ended with {status} before {what}: {said}");
        }
        false
    });
}
