//! Nodes of a Slurm cluster: a controller on the coordinator's host, and a daemon on each node.

use std::fs;
use std::process::Command;

use super::nodes::{FRONT, Nodes, address, ended, failed_with, row, rows_of, runs_in, until_while};
use crate::common::linux::set_mode;
use crate::common::{Said, kill, run, started, until};

/// Options of a run that takes little time: as few rounds as an interval needs, without which a node is not compared.
const SHORT: &str = "--quick --precision 50% --budget 60s";
/// Options of a run that takes all of its time, since its precision is out of reach.
const LONG: &str = "--precision 0.001%";
const NODES: [&str; 3] = ["n1", "n2", "n3"];

/// A cluster.
struct Cluster {
    nodes: Nodes,
}

impl Cluster {
    fn new() -> Option<Self> {
        let programs = ["slurmctld", "slurmd", "srun", "sbatch", "munged", "setpriv"];
        let nodes = Nodes::new(&NODES, &programs)?;
        let mut cluster = Self { nodes };
        cluster.configure();
        let path = |name: &str| cluster.nodes.path(name).display().to_string();
        let munge = path("munge");
        let mut munged = cluster.nodes.on(FRONT, "kept", "setpriv");
        munged.args(["--reuid=munge", "--regid=munge", "--clear-groups", "munged", "--foreground"]);
        for (option, file) in [
            ("key-file", "key"),
            ("socket", "sock"),
            ("pid-file", "pid"),
            ("log-file", "log"),
            ("seed-file", "seed"),
        ] {
            munged.arg(format!("--{option}={munge}/{file}"));
        }
        let mut controller = cluster.nodes.on(FRONT, "kept", "setpriv");
        let identity = "--reuid=slurm --regid=slurm --clear-groups";
        controller.args(identity.split(' ')).args(["slurmctld", "-D", "-f"]);
        controller.arg(path("slurm.conf"));
        let socket = cluster.nodes.path("munge").join("sock");
        cluster.nodes.start("munged", munged);
        until("munged has its socket", || socket.exists());
        cluster.nodes.start("slurmctld", controller);
        NODES.into_iter().for_each(|node| cluster.start_node(node));
        until("all nodes are idle", || cluster.idle() == 3);
        Some(cluster)
    }

    /// Writes the configuration: no plugin needs control groups, accounting or a shared file system.
    fn configure(&self) {
        let path = |name: &str| self.nodes.path(name);
        for (name, owner) in [("munge", "munge"), ("state", "slurm"), ("spool", "root")] {
            fs::create_dir(path(name)).expect("a directory");
            set_mode(&path(name), 0o755);
            own(owner, &path(name).display().to_string());
        }
        let key = path("munge").join("key");
        let random = std::iter::repeat_with(|| {
            use std::hash::{BuildHasher, Hasher, RandomState};
            RandomState::new().build_hasher().finish() as u8
        });
        fs::write(&key, random.take(1_024).collect::<Vec<u8>>()).expect("a key");
        set_mode(&key, 0o400);
        own("munge", &key.display().to_string());
        let [munge, state, spool] =
            ["munge", "state", "spool"].map(|name| path(name).display().to_string());
        let mut text = format!(
            "ClusterName=test\nSlurmctldHost={FRONT}({})\nSlurmUser=slurm\nSlurmdUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={munge}/sock\nCredType=cred/munge\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\nMpiDefault=none\n\
             SwitchType=switch/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2\n\
             SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1\nSlurmdTimeout=8\nSlurmctldTimeout=8\n\
             KillWait=3\nMinJobAge=300\nMessageTimeout=8\nUnkillableStepTimeout=10\nStateSaveLocation={state}\n\
             SlurmdSpoolDir={spool}/%n\nSlurmctldPidFile={state}/pid\nSlurmdPidFile={spool}/%n.pid\n",
            address(0)
        );
        for (index, node) in NODES.iter().enumerate() {
            let at = address(index + 1);
            text += &format!(
                "NodeName={node} NodeHostname={node} NodeAddr={at} CPUs=2 RealMemory=1000 State=UNKNOWN\n"
            );
        }
        text += "PartitionName=fleet Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO\n";
        fs::write(path("slurm.conf"), text).expect("a file");
    }

    fn start_node(&mut self, node: &str) {
        let configuration = self.nodes.path("slurm.conf");
        let mut command = self.nodes.on(node, "kept", "slurmd");
        command.args(["-D", "-N", node, "-f"]).arg(configuration);
        self.nodes.start(&format!("slurmd-{node}"), command);
    }

    /// A command on the coordinator's host.
    fn ask(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = self.nodes.on(FRONT, "kept", program);
        command.args(arguments).env("SLURM_CONF", self.nodes.path("slurm.conf"));
        String::from_utf8_lossy(&command.output().expect("it starts").stdout).into_owned()
    }

    /// The number of nodes that are idle and answer.
    fn idle(&self) -> usize {
        let states = self.ask("sinfo", &["-h", "-N", "-o", "%N %T"]);
        states.lines().filter(|line| line.ends_with(" idle")).count()
    }

    fn fleet(&self, arguments: &str) -> Said {
        run(&mut self.command(arguments))
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = self.nodes.oscost(&format!("fleet {arguments}"));
        command.env("SLURM_CONF", self.nodes.path("slurm.conf"));
        command
    }

    fn rows(&self) -> Vec<serde_json::Value> {
        self.nodes.rows()
    }
}

fn own(owner: &str, path: &str) {
    let owned = Command::new("chown").args([&format!("{owner}:"), path]).status();
    assert!(owned.expect("chown").success());
}

#[test]
fn a_lost_node_and_a_lost_result_have_rows_and_resume_completes_them() {
    let Some(mut cluster) = Cluster::new() else { return };
    // The second node does nearly as much again for nothing, and the third one is lost while it measures.
    let hosts = cluster.nodes.path("nodes");
    fs::write(&hosts, format!("n1 {SHORT}\nn2 {SHORT} --slow-down 99%\nn3 {LONG} --budget 8s\n"))
        .expect("a file");
    let arguments = format!(
        "run clock/std-instant --slurm partition=fleet --hostfile {} --json",
        hosts.display()
    );
    let mut running = started(&mut cluster.command(&arguments));
    until_while(&mut running, "the third node measures", || {
        let rows = cluster.rows();
        rows.iter().any(|row| row["node"] == "n3" && row["state"] == "measuring")
    });
    let store = cluster.nodes.home("n3").join(".cache/oscost/fleet");
    let run_is_begun = || {
        let job = fs::read_dir(&store).into_iter().flatten().flatten().next();
        let path = job.map(|job| job.path().join("n3/store.sqlite"));
        let rounds = path.and_then(|path| {
            let runs = results::Store::open_read_only(&path).ok()?.runs().ok()?;
            Some(runs.first()?.rounds)
        });
        rounds.is_some_and(|rounds| rounds > 0)
    };
    until_while(&mut running, "the third node has begun its run", run_is_begun);
    cluster.nodes.crash("n3");
    let rows = rows_of(&ended(running).with(3));
    failed_with(&rows, "n3", "the node was lost: Slurm's state of job ");
    for name in ["n1", "n2"] {
        assert_eq!(row(&rows, name)["state"], "done", "{rows:?}");
        assert!(row(&rows, name)["slurm_job"].is_string());
    }
    let asked = |node: &str| {
        let store = results::Store::open_read_only(&cluster.nodes.store());
        let runs = store.expect("a store").runs().expect("runs");
        let run = runs.into_iter().find(|run| run.tags["node"] == node).expect("a run");
        run.asked.get("slow-down").cloned()
    };
    assert_eq!((asked("n1"), asked("n2")), (None, Some("99%".to_owned())));
    // While it is away, Slurm does not grant it, and says why.
    let arguments = format!(
        "run clock/std-instant {SHORT} --slurm partition=fleet --hosts n3 --retries 0 --json"
    );
    let refused = rows_of(&cluster.fleet(&arguments));
    failed_with(&refused, "n3", "Slurm does not grant the node: ");
    // The node comes back, and its run is continued, not begun again.
    cluster.start_node("n3");
    until("the third node is back", || cluster.idle() == 3);
    let job = fs::read_dir(&store).expect("jobs").flatten().next().expect("a job");
    let path = job.path().join("n3/store.sqlite");
    let [begun] = &runs_in(&path)[..] else { panic!("a run was begun") };
    let name = path.ancestors().nth(2).and_then(|job| job.file_name()).expect("a job");
    let resumed = cluster.fleet(&format!("resume {} --json", name.display())).with(0);
    assert_eq!(row(&rows_of(&resumed), "n3")["run"], begun.0.as_str());
    assert_eq!(cluster.nodes.runs().len(), 3);
    // The second node takes twice as long as the others. Whether so few rounds suffice to name it depends on the machine's load.
    let shown = cluster.fleet("show --json").with(0).json();
    let standings = shown["standings"].as_array().expect("a list");
    let own =
        standings.iter().find(|standing| standing["figures"] == "user code").expect("a group");
    let factor = |node: &str| own["worse_by_factor"][node].as_f64();
    assert!(factor("n2") > factor("n1") && factor("n2") > factor("n3"), "{own}");
}

#[test]
fn a_result_that_srun_loses_without_an_error_is_missed() {
    let Some(cluster) = Cluster::new() else { return };
    let directory = cluster.nodes.path("losing");
    fs::create_dir(&directory).expect("a directory");
    let losing = directory.join("srun");
    fs::write(&losing, "#!/bin/sh\n/usr/bin/srun \"$@\" | grep -v '\"document\"'\nexit 0\n")
        .expect("a file");
    set_mode(&losing, 0o755);
    let path = std::env::var("PATH").unwrap_or_default();
    let once = "--slurm nodes=n[1-2] --retries 0 --json";
    let mut command = cluster.command(&format!("run clock/std-instant {SHORT} {once}"));
    command.env("PATH", format!("{}:{path}", directory.display()));
    let rows = rows_of(&run(&mut command).with(3));
    for name in ["n1", "n2"] {
        failed_with(&rows, name, "srun ended with exit code 0, but no result came from the node");
    }
    cluster.fleet("resume --json").with(0);
    let stored = cluster.nodes.runs();
    assert_eq!(stored.len(), 2, "{stored:?}");
    // What had been measured was collected.
    for (run, job, node) in &stored {
        let store =
            cluster.nodes.home(node).join(format!(".cache/oscost/fleet/{job}/{node}/store.sqlite"));
        assert_eq!(runs_in(&store), [(run.clone(), job.clone(), node.clone())]);
    }
    // No job of Slurm is left.
    until("no job is left", || cluster.ask("squeue", &["-h"]).is_empty());

    // A coordinator that is killed leaves its jobs, and `stop` ends them.
    let endless = format!("run clock/std-instant {LONG} --budget 10m --slurm nodes=n[1-2]");
    let mut running = started(&mut cluster.command(&endless));
    until_while(&mut running, "both nodes measure", || cluster.nodes.are_all("measuring", 2));
    kill(&mut running);
    assert_eq!(cluster.ask("squeue", &["-h"]).lines().count(), 2);
    cluster.fleet("stop").with(0);
    assert_eq!(cluster.ask("squeue", &["-h"]), "");
    assert!(cluster.rows().iter().all(|row| row["state"] == "stopped"));
}
