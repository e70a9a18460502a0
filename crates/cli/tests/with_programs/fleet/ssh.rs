//! Nodes as hosts of OpenSSH.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};

use super::nodes::{FRONT, Nodes, ended, failed_with, row, rows_of, runs_in, signal, until_while};
use crate::common::{Said, kill, kills, run, run_on, started, until};

/// A run that takes little time: as few rounds as an interval needs, without which a node is not compared.
const SHORT: &str = "clock/std-instant --quick --precision 50% --budget 60s";
/// A run that takes all of its time, since its precision is out of reach.
const LONG: &str = "clock/std-instant --precision 0.001%";

/// Three hosts with a server each, further servers on them for what goes wrong, and ssh's configuration for all.
struct Hosts {
    nodes: Nodes,
    config: String,
}

impl Hosts {
    fn new() -> Option<Self> {
        let nodes = Nodes::new(&["n1", "n2", "n3"], &["sshd", "ssh", "ssh-keygen", "setarch"])?;
        // The server needs it, and does not make it.
        fs::create_dir_all("/run/sshd").expect("a directory");
        let config = "Host *\nIdentitiesOnly yes\nStrictHostKeyChecking yes\nConnectTimeout 3\n\
                      ServerAliveInterval 1\nServerAliveCountMax 3\n"
            .to_owned();
        let mut hosts = Self { nodes, config };
        hosts.key("user");
        for name in ["n1", "n2", "n3"] {
            hosts.serve(name, name, "kept", &[]);
        }
        Some(hosts)
    }

    fn path(&self, name: &str) -> String {
        self.nodes.path(name).display().to_string()
    }

    fn key(&self, name: &str) {
        let words = ["-q", "-t", "ed25519", "-N", "", "-f", &self.path(name)];
        assert!(Command::new("ssh-keygen").args(words).status().expect("ssh-keygen").success());
    }

    /// Starts a server on a node, known as `alias`; returns its process.
    fn serve(&mut self, alias: &str, node: &str, home: &str, prefix: &[&str]) -> u32 {
        let port = 2200 + self.config.matches("\nHost ").count();
        self.key(&format!("host-{alias}"));
        let base = self.path("");
        let path = |name: &str| format!("{base}{name}");
        let directory = path("home");
        let server = format!(
            "Port {port}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
             PermitRootLogin yes\nPidFile none\n\
             ForceCommand cd {directory} && HOME={directory} sh -c \"$SSH_ORIGINAL_COMMAND\"\n",
            path(&format!("host-{alias}")),
            path("user.pub"),
        );
        fs::write(path(&format!("sshd-{alias}")), server).expect("a file");
        let public = fs::read_to_string(path(&format!("host-{alias}.pub"))).expect("a key");
        self.config += &format!(
            "\nHost {alias}\nHostName {node}\nPort {port}\nIdentityFile {}\nUserKnownHostsFile {}\n",
            path("user"),
            path(&format!("known-{alias}"))
        );
        fs::write(path(&format!("known-{alias}")), format!("[{node}]:{port} {public}"))
            .expect("a file");
        let words = ["/usr/sbin/sshd", "-D", "-e", "-f", &path(&format!("sshd-{alias}"))]
            .map(str::to_owned);
        let words: Vec<String> =
            prefix.iter().map(|word| (*word).to_owned()).chain(words).collect();
        let mut command = self.nodes.on(node, home, &words[0]);
        command.args(&words[1..]);
        let name = format!("sshd-on-{alias}");
        let pid = self.nodes.start(&name, command);
        until("the server listens", || self.nodes.log(&name).contains("Server listening"));
        pid
    }

    /// Runs `oscost fleet` with these arguments on the coordinator's host.
    fn fleet(&self, arguments: &str) -> Said {
        run(&mut self.command(arguments))
    }

    /// Starts `oscost fleet` with these arguments.
    fn begin(&self, arguments: &str) -> Child {
        started(&mut self.command(arguments))
    }

    /// The command `oscost fleet` with these arguments.
    fn command(&self, arguments: &str) -> Command {
        let config = PathBuf::from(self.path("ssh_config"));
        fs::write(&config, &self.config).expect("a file");
        let mut command = self.nodes.oscost(&format!("fleet {arguments}"));
        if arguments.starts_with("run") || arguments.starts_with("check") {
            command.args(["--ssh", &format!("ssh -F {}", config.display())]);
        }
        command
    }

    /// The job that was begun last.
    fn latest_job(&self) -> String {
        self.jobs().into_iter().max().expect("a job")
    }

    fn jobs(&self) -> Vec<String> {
        let jobs = fs::read_dir(self.nodes.home(FRONT).join(".local/share/oscost/fleet"));
        // A kill may leave a directory without the request, which is no job yet.
        let begun = |job: &fs::DirEntry| job.path().join("job.json").exists();
        let names = jobs.into_iter().flatten().flatten().filter(begun);
        names.filter_map(|job| job.file_name().into_string().ok()).collect()
    }

    /// The runs that a node has in its own stores of jobs.
    fn runs_on(&self, node: &str, job: &str) -> Vec<(String, String, String)> {
        let store = format!(".cache/oscost/fleet/{job}/{node}/store.sqlite");
        runs_in(&self.nodes.home(node).join(store))
    }
}

#[test]
fn each_host_has_a_run_or_a_reason() {
    let Some(mut hosts) = Hosts::new() else { return };
    hosts.serve("other-key", "n1", "kept", &[]);
    let public = fs::read_to_string(hosts.path("host-n2.pub")).expect("a key");
    let known = hosts.path("known-other-key");
    let entry = fs::read_to_string(&known).expect("a file");
    let host = entry.split(' ').next().expect("a host").to_owned();
    fs::write(&known, format!("{host} {public}")).expect("a file");
    hosts.serve("full", "n2", "size=1m", &[]);
    hosts.serve("unwritable", "n2", "ro", &[]);
    hosts.serve("old-machine", "n3", "kept", &["setarch", "i686"]);
    let hanging = hosts.serve("hanging", "n3", "kept", &[]);
    signal(hanging, libc::SIGSTOP);
    hosts.serve("refusing", "n1", "kept", &[]);
    hosts.key("stranger");
    // The server knows another key only.
    let at = hosts.config.find("\nHost refusing\n").expect("it is there");
    let rest = hosts.config.split_off(at);
    hosts.config += &rest.replace(&hosts.path("user"), &hosts.path("stranger"));
    let all = "n1,n2,n3,other-key,full,unwritable,old-machine,hanging,refusing,nosuch";
    let said = hosts.fleet(&format!("run {SHORT} --hosts {all} --retries 1 --json"));
    let rows = rows_of(&said.with(3));
    let stored = hosts.nodes.runs();
    for name in ["n1", "n2", "n3"] {
        let row = row(&rows, name);
        assert_eq!(row["state"], "done", "{row}");
        let of_node: Vec<_> = stored.iter().filter(|(_, _, node)| node == name).collect();
        assert_eq!(of_node.len(), 1, "{stored:?}");
        assert_eq!(row["run"], of_node[0].0.as_str());
        assert_eq!(hosts.runs_on(name, &of_node[0].1), [of_node[0].clone()]);
    }
    assert_eq!(stored.len(), 3, "{stored:?}");
    failed_with(&rows, "other-key", "host key mismatch");
    failed_with(&rows, "full", "no space on the node");
    failed_with(&rows, "unwritable", "no permission on the node");
    failed_with(&rows, "old-machine", "another architecture: the node is Linux i686");
    failed_with(&rows, "hanging", "does not answer");
    failed_with(&rows, "refusing", "no permission to log in");
    failed_with(&rows, "nosuch", "resolve");
    // A directory that is not there is no reason to try again, and the node says which.
    let without = rows_of(&hosts.fleet("run file/small --quick --dir /nosuch --hosts n1 --json"));
    failed_with(&without, "n1", "/nosuch");
    assert_eq!(row(&without, "n1")["attempts"], 1);
    // Only what may be over later is tried again.
    for (name, count) in [("hanging", 2), ("full", 1), ("n1", 1)] {
        assert_eq!(row(&rows, name)["attempts"], count, "{name}");
    }
    // A host that answers again is measured by `resume`, and the others are not measured again.
    signal(hanging, libc::SIGCONT);
    let job = &stored[0].1;
    let resumed = rows_of(&hosts.fleet(&format!("resume {job} --retries 0 --json")));
    assert_eq!(row(&resumed, "hanging")["state"], "done");
    assert_eq!(hosts.nodes.runs().len(), 4);
    assert_eq!(row(&resumed, "n1")["attempts"], 1);
    // Each node is this machine, so that none is worse; one that cannot be checked is not worse either.
    for (node, code, says) in [("n1", 0, "n1 "), ("refusing", 3, "no permission to log in")] {
        let check = format!("check {node} --job {job} --budget 20s --worse-than 90%");
        let said = hosts.fleet(&check).with(code).says(&[says]).out;
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert_eq!(hosts.nodes.runs().len(), 4, "a check stores nothing");
}

#[test]
fn a_killed_coordinator_loses_nothing_and_a_stop_ends_what_was_started() {
    let Some(hosts) = Hosts::new() else { return };
    let all = ["n1", "n2", "n3"];
    let mut first = hosts.begin(&format!("run {LONG} --budget 8s --hosts n1,n2,n3"));
    until_while(&mut first, "all nodes measure", || hosts.nodes.are_all("measuring", 3));
    kill(&mut first);
    let job = hosts.latest_job();
    hosts.fleet(&format!("status {job} --json")).with(3);
    hosts.fleet(&format!("resume {job} --json")).with(0);
    let stored = hosts.nodes.runs();
    assert_eq!(stored.len(), 3, "{stored:?}");
    for name in all {
        // The run that the first coordinator had started was continued or collected, not made again.
        assert_eq!(hosts.runs_on(name, &job).len(), 1);
    }
    // The journal as kills at other moments would have left it, also within a line: no run is made or stored again.
    let directory = hosts.nodes.home(FRONT).join(".local/share/oscost/fleet").join(&job);
    let journal = fs::read(directory.join("journal.jsonl")).expect("a journal");
    for share in [0, 1, 2, 3] {
        fs::write(directory.join("journal.jsonl"), &journal[..journal.len() * share / 4])
            .expect("a file");
        hosts.fleet(&format!("resume {job} --json")).with(0);
        assert_eq!(hosts.nodes.runs(), stored);
    }

    let mut second = hosts.begin(&format!("run {LONG} --budget 10m --hosts n1,n2,n3"));
    until_while(&mut second, "all nodes measure", || hosts.nodes.are_all("measuring", 3));
    // A node that measures refuses others, with the name of the one that has it.
    let job = hosts.latest_job();
    let other = hosts.fleet(&format!("run {SHORT} --hosts n1 --wait 100ms --retries 0 --json"));
    failed_with(&rows_of(&other), "n1", &format!("held by job {job} of "));
    hosts.fleet(&format!("stop {job}")).with(0);
    assert_eq!(second.wait().expect("it was started").code(), Some(3));
    let rows = rows_of(&hosts.fleet(&format!("status {job} --json")));
    for name in all {
        assert_eq!(row(&rows, name)["state"], "stopped");
        // The server ends a moment after the connection.
        until("nothing runs on the node", || hosts.nodes.processes(name).is_empty());
    }
}

/// `OSCOST_KILLS=50 cargo test -p oscost --test with_programs killed_at_random` kills more often.
#[test]
fn a_coordinator_killed_at_random_has_each_run_that_it_called_measured_once() {
    let Some(hosts) = Hosts::new() else { return };
    for nth in 0..kills(2) {
        let mut running = hosts.begin(&format!("run {SHORT} --hosts n1,n2"));
        until_while(&mut running, "the job has begun", || hosts.jobs().len() > nth);
        run_on(4_000);
        kill(&mut running);
        let job = hosts.latest_job();
        // The first kill may come before there is a store.
        let stored = if hosts.nodes.store().exists() { hosts.nodes.runs() } else { Vec::new() };
        for row in rows_of(&hosts.fleet(&format!("status {job} --json")).ended()) {
            let is_stored = stored.iter().any(|(run, ..)| row["run"] == run.as_str());
            assert!(row["state"] != "done" || is_stored, "{row}");
        }
        hosts.fleet(&format!("resume {job} --json")).with(0);
        assert_eq!(hosts.nodes.runs().len(), 2 * (nth + 1));
    }
}

#[test]
fn a_node_measures_on_while_its_connection_is_lost() {
    let Some(hosts) = Hosts::new() else { return };
    let run = format!("run {LONG} --budget 8s --hosts n1 --retries 20 --json");
    let mut running = hosts.begin(&run);
    until_while(&mut running, "the node measures", || hosts.nodes.are_all("measuring", 1));
    hosts.nodes.link("n1", "down");
    until_while(&mut running, "the connection is lost", || hosts.nodes.are_all("failed", 1));
    hosts.nodes.link("n1", "up");
    let rows = rows_of(&ended(running).with(0));
    let row = row(&rows, "n1");
    assert!(row["attempts"].as_u64().is_some_and(|attempts| attempts > 1), "{row}");
    let stored = hosts.nodes.runs();
    let [(run, job, _)] = &stored[..] else { panic!("{stored:?}") };
    // The run that was begun before is the one that was stored.
    assert_eq!(row["run"], run.as_str());
    assert_eq!(hosts.runs_on("n1", job), stored);
}
