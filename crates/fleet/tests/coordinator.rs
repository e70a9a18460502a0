//! The coordinator with a program in the place of ssh, which answers as nodes do.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fleet::{Binary, Effort, Job, Request, Row, State, TransportKind, nodes_of};
use results::Document;
use serde_json::json;

const JOB: &str = "20261127-203501-1a2b";
/// Stands for ssh: a node answers with the content of a file, after it has refused as often as it has files that say so. Each
/// connection lasts for a while, so that several are open at once.
const SSH: &str = r#"#!/bin/sh
d=$(dirname "$0")
case " $* " in *" -G "*) echo "connecttimeout 5"; echo "serveraliveinterval 5"; exit 0;; esac
for a; do if [ "$before" = -- ]; then n=$a; fi; before=$a; done
cat >/dev/null
mkdir "$d/now.$$"
ls -d "$d"/now.* | wc -l >>"$d/at-once"
echo "$n" >>"$d/calls"
sleep 0.1
rmdir "$d/now.$$"
for r in "$d/refuse.$n".*; do
    if rm "$r" 2>/dev/null; then echo "ssh: connect to host $n port 22: Connection refused" >&2; exit 255; fi
done
echo "a greeting of the login shell"
if [ -x "$d/answer.$n" ]; then "$d/answer.$n"; else cat "$d/answer.$n"; fi
"#;

/// A directory with the stand-in and the answers of nodes.
struct Lab(tempfile::TempDir);

impl Lab {
    fn new() -> Self {
        let lab = Self(tempfile::tempdir().expect("a directory"));
        fs::write(lab.0.path().join("ssh"), SSH).expect("a file");
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(lab.0.path().join("ssh"), executable).expect("our file");
        lab
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Lets a node answer with the document of a run.
    fn answers(&self, node: &str, job: &str) {
        let document = format!(
            r#"{{"schema":1,"run":{{"id":"run-{node}","started":"2026-11-27T20:35:01Z","finished":"2026-11-27T20:36:01Z",
            "seed":1,"oscost":"0.1.0","tags":{{"fleet":"{job}","node":"{node}"}},"area_seconds":{{}}}},"machine":{{}},
            "results":[]}}"#
        );
        results::parse_document(&document).expect("a document");
        let (begin, end) = document.split_at(99);
        let parts = [begin, end].map(|text| json!({ "oscost-fleet": "part", "text": text }));
        let last = json!({ "oscost-fleet": "document", "bytes": document.len() });
        let [one, two] = parts;
        self.says(node, &format!("{one}\n{two}\n{last}\n"));
    }

    /// Lets a node answer with this text.
    fn says(&self, node: &str, text: &str) {
        fs::write(self.path().join(format!("answer.{node}")), text).expect("a file");
    }

    /// Lets a node answer with what a script prints.
    fn executes(&self, node: &str, script: &str) {
        self.says(node, &format!("#!/bin/sh\n{script}\n"));
        let executable = fs::Permissions::from_mode(0o755);
        let answer = self.path().join(format!("answer.{node}"));
        fs::set_permissions(answer, executable).expect("our file");
    }

    fn refuses(&self, node: &str, times: usize) {
        for time in 0..times {
            fs::write(self.path().join(format!("refuse.{node}.{time}")), "").expect("a file");
        }
    }

    fn job(&self, nodes: &[&str], effort: Effort) -> Job {
        let names: Vec<String> = nodes.iter().map(|name| (*name).to_owned()).collect();
        let request = Request {
            id: JOB.to_owned(),
            transport: TransportKind::Ssh {
                command: vec![self.path().join("ssh").display().to_string()],
            },
            nodes: nodes_of(&names).expect("names"),
            arguments: vec!["clock".to_owned()],
            binary: Binary::of(&std::env::current_exe().expect("this program")).expect("a program"),
            effort,
        };
        Job::create(self.path(), request).expect("a job")
    }

    /// The nodes that were connected to, one for each connection.
    fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path().join("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn run(job: &mut Job, keep: &mut dyn FnMut(&Document) -> Result<(), String>) -> Vec<Row> {
    job.run(&AtomicBool::new(false), keep, &mut |_| {}).expect("it is coordinated")
}

fn effort(at_once: usize, retries: usize) -> Effort {
    let (limit, wait) = (Duration::from_secs(60), Duration::from_secs(60));
    Effort { at_once, retries, limit, wait }
}

#[test]
fn no_more_nodes_at_once_than_allowed_and_each_run_is_kept_once() {
    let lab = Lab::new();
    let names: Vec<String> = (0..12).map(|index| format!("n{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.iter().for_each(|name| lab.answers(name, JOB));
    let mut kept = Vec::new();
    let mut job = lab.job(&names, effort(3, 0));
    let rows = run(&mut job, &mut |document| {
        kept.push(document.run.id.clone());
        Ok(())
    });
    assert!(rows.iter().all(|row| row.state == State::Done), "{rows:?}");
    kept.sort();
    let mut expected: Vec<String> = names.iter().map(|name| format!("run-{name}")).collect();
    expected.sort();
    assert_eq!(kept, expected);
    let at_once = fs::read_to_string(lab.path().join("at-once")).expect("counts");
    let most = at_once.lines().filter_map(|line| line.trim().parse::<usize>().ok()).max();
    assert!(most.is_some_and(|most| (1..=3).contains(&most)), "{at_once}");
    // Nothing is left to do.
    run(&mut job, &mut |_| Err("nothing may be stored again".to_owned()));
    assert_eq!(lab.calls().len(), 12);
}

#[test]
fn what_may_succeed_later_is_tried_again_within_limits() {
    let lab = Lab::new();
    lab.answers("often", JOB);
    lab.answers("once", JOB);
    lab.answers("other", "another-job");
    lab.refuses("often", 9);
    lab.refuses("once", 1);
    let rows = run(&mut lab.job(&["often", "once", "other"], effort(3, 1)), &mut |_| Ok(()));
    let [often, once, other] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((&often.state, often.attempts), (&State::Failed, 2));
    assert!(
        often.reason.as_deref().is_some_and(|reason| reason.contains("Connection refused")),
        "{often:?}"
    );
    assert_eq!((&once.state, once.attempts), (&State::Done, 2));
    // A document of another job is refused, and would be again.
    assert_eq!((&other.state, other.attempts), (&State::Failed, 1));
    assert!(
        other.reason.as_deref().is_some_and(|reason| reason.contains("another run")),
        "{other:?}"
    );
}

#[test]
fn a_run_that_the_store_does_not_take_is_stored_later_without_its_node() {
    let lab = Lab::new();
    lab.answers("n1", JOB);
    let mut job = lab.job(&["n1"], effort(1, 0));
    let rows = run(&mut job, &mut |_| Err("the disk is full".to_owned()));
    assert_eq!(rows[0].state, State::Collected);
    let mut kept = Vec::new();
    let mut again = Job::open(&lab.path().join(JOB)).expect("the job");
    let rows = run(&mut again, &mut |document| {
        kept.push(document.run.id.clone());
        Ok(())
    });
    assert_eq!((&rows[0].state, rows[0].run.as_deref()), (&State::Done, Some("run-n1")));
    assert_eq!((kept, lab.calls().len()), (vec!["run-n1".to_owned()], 1));
    let documents = fs::read_dir(lab.path().join(JOB).join("documents")).expect("a directory");
    assert_eq!(documents.count(), 0, "the store has it");
}

/// What ended a node's run is not hidden by a stop after it.
#[test]
fn a_stop_leaves_the_reason_of_what_had_failed() {
    let lab = Lab::new();
    let says = |messages: &[&str]| {
        let lines = messages.iter().map(|message| format!("{{\"oscost-fleet\":{message}}}\n"));
        lab.says("n1", &lines.collect::<String>());
    };
    says(&[
        r#""begun""#,
        r#""failed","reason":"it ran out of memory","remedy":"more of it","again":false"#,
    ]);
    let mut job = lab.job(&["n1"], effort(1, 0));
    assert_eq!(run(&mut job, &mut |_| Ok(()))[0].state, State::Failed);
    says(&[r#""ended""#]);
    let row = job.stop().expect("stopped").remove(0);
    assert_eq!((row.state, row.reason.as_deref()), (State::Failed, Some("it ran out of memory")));
    assert_eq!(lab.calls().len(), 2, "the node was asked to end");
}

/// Whatever a node prints, for however long, costs the coordinator neither memory nor room, and the node fails with the reason.
#[test]
fn a_node_that_sends_without_end_fails_alone() {
    let lab = Lab::new();
    let message = |text: &str| format!("{{\"oscost-fleet\":{text}}}");
    let waits = message(r#""waiting","holder":"job '$i'""#);
    let part = message(r#""part","text":"'$x'""#);
    let long = "x=$(head -c 100000 /dev/zero | tr '\\0' x)";
    let is_endless = "the node sends without end";
    let nodes = [
        ("begun", format!("yes '{}'", message("\"begun\"")), is_endless),
        ("lines", "yes $(head -c 100000 /dev/zero | tr '\\0' x)".to_owned(), is_endless),
        ("line", "tr '\\0' x </dev/zero".to_owned(), is_endless),
        ("errors", "yes 'an error' >&2".to_owned(), is_endless),
        ("waits", format!("i=0; while :; do i=$((i+1)); echo '{waits}'; done"), is_endless),
        ("parts", format!("{long}; yes '{part}'"), "has more than 33554432 bytes"),
        ("tiny", format!("x=a; yes '{part}'"), is_endless),
        (
            "cut",
            format!("x=a; echo '{part}'; echo '{}'", message("\"document\",\"bytes\":2")),
            "1 of 2",
        ),
        ("after", format!("echo '{m}'; echo '{m}'", m = message("\"ended\"")), is_endless),
    ];
    for (node, script, _) in &nodes {
        lab.executes(node, script);
    }
    lab.answers("honest", JOB);
    let mut names: Vec<&str> = nodes.iter().map(|(node, ..)| *node).collect();
    names.push("honest");
    let mut job = lab.job(&names, effort(10, 0));
    let rows = run(&mut job, &mut |_| Ok(()));
    for ((node, _, reason), row) in nodes.iter().zip(&rows) {
        assert_eq!(row.state, State::Failed, "{node}: {row:?}");
        assert!(row.reason.as_deref().is_some_and(|said| said.contains(reason)), "{row:?}");
    }
    assert_eq!(rows[9].state, State::Done, "{rows:?}");
    let size = |name: &str| fs::metadata(lab.path().join(JOB).join(name)).expect("a file").len();
    assert!(size("journal.jsonl") < 200 << 10, "{}", size("journal.jsonl"));
    let documents = fs::read_dir(lab.path().join(JOB).join("documents")).expect("a directory");
    assert_eq!(documents.count(), 0, "nothing is left of them");
    let status = fs::read_to_string("/proc/self/status").expect("a file");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let peak_kb: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(peak_kb < 200 << 10, "{peak_kb} kB");
}

/// Texts of a node that are written to the journal and printed are short.
#[test]
fn a_reason_of_a_node_has_ordinary_length() {
    let lab = Lab::new();
    let failure = json!({
        "oscost-fleet": "failed", "reason": "x".repeat(99_999), "remedy": "y\n".repeat(9_999),
        "again": false,
    });
    lab.says("n1", &format!("{failure}\n"));
    let row = run(&mut lab.job(&["n1"], effort(1, 0)), &mut |_| Ok(())).remove(0);
    let lengths = [row.reason, row.remedy].map(|text| text.unwrap_or_default().chars().count());
    assert_eq!(lengths, [400, 400]);
}

/// What a job keeps is its user's alone.
#[test]
fn the_files_of_a_job_are_private() {
    let lab = Lab::new();
    lab.answers("n1", JOB);
    let mut job = lab.job(&["n1"], effort(1, 0));
    run(&mut job, &mut |_| Err("not now".to_owned()));
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let job = lab.path().join(JOB);
    assert_eq!([mode(&job), mode(&job.join("documents"))], [0o700, 0o700]);
    for name in ["job.json", "journal.jsonl", "lock", "documents/n1.json"] {
        assert_eq!(mode(&job.join(name)), 0o600, "{name}");
    }
}

#[test]
fn one_coordinator_has_a_job() {
    let lab = Lab::new();
    lab.answers("n1", JOB);
    let mut job = lab.job(&["n1"], effort(1, 0));
    let mut second = Job::open(&lab.path().join(JOB)).expect("the job");
    let mut refused = None;
    run(&mut job, &mut |_| {
        let stop = AtomicBool::new(false);
        refused =
            second.run(&stop, &mut |_| Ok(()), &mut |_| {}).err().map(|error| error.to_string());
        Ok(())
    });
    assert!(refused.is_some_and(|error| error.contains("another process coordinates job")));
    assert!(!second.is_coordinated());
}
