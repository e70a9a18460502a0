//! Workers and coordinators killed at random moments: no round is lost, and no process, file or semaphore is left.
//!
//! `OSCOST_KILLS=100 cargo test -p oscost --test commands kills:: -- --nocapture` kills more often than a default test, and prints its
//! findings.

use std::process::Child;
use std::time::Duration;

use crate::common::linux::{
    self, denied, left_in_system, nobody_is_left, signal, signal_group, started_apart,
};
use crate::common::{
    Bench, Said, finish, kill_some, kills, run_on, said_by, short, started, times, until,
};
use results::{RoundRow, Store};
use serde_json::Value;

/// Locks whose objects remain in the system when their processes are killed.
const LOCKS: &str = "lock/sysv-sem lock/posix-sem-named lock/flock lock/fcntl \
                     --param as=processes --param workers=2";
const POINTS: usize = 4;

/// Areas whose cases start processes and threads, and create objects that may outlive them.
const PRIMITIVES: &str = "process thread switch ipc signal timer memory atomic scale";
/// Tasks that wait for each other, and queues that outlive them.
const PARTNERS: &str = "switch/pipe switch/futex ipc/fifo ipc/shm-futex ipc/posix-queue ipc/sysv-queue \
                        --param as=processes --param place=same";
const PARTNER_POINTS: usize = 6;

fn spawn(bench: &Bench, arguments: &str) -> Child {
    started_apart(&mut bench.command(arguments))
}

fn rounds(bench: &Bench, id: &str) -> Vec<RoundRow> {
    let store = Store::open_read_only(&bench.store()).expect("the store opens");
    store.rounds(id).expect("the rounds can be read")
}

/// The run in the store, as soon as there is one.
fn run_begun(bench: &Bench) -> Option<String> {
    let store = Store::open_read_only(&bench.store()).ok()?;
    store.runs().ok()?.last().map(|run| run.id.clone())
}

fn until_a_round_is_stored(bench: &Bench) {
    until("a round is stored", || {
        run_begun(bench).is_some_and(|id| !rounds(bench, &id).is_empty())
    });
}

/// Checks that the run is complete: each point occurs once, measured or with a reason.
#[track_caller]
fn is_whole(said: &Said, points: usize) -> Value {
    let document = said.json();
    assert!(document["run"]["finished"].is_string(), "{}", document["run"]);
    let all = times(&document);
    assert_eq!(all.len(), points, "{document}");
    for result in all {
        match result["outcome"].as_str() {
            Some("measured") => {}
            Some("failed") => {
                let reason = result["reason"].as_str().expect("a reason");
                assert!(reason.contains("signal"), "{reason}");
            }
            other => panic!("{other:?}: {result}"),
        }
    }
    document.clone()
}

/// Checks that no process, file or semaphore of the bench is left.
#[track_caller]
fn nothing_is_left(bench: &Bench) {
    linux::nothing_is_left(bench);
    // Another worker may still be removing files.
    until(&format!("nothing of {:?} is left", left_in_system()), || left_in_system().is_empty());
}

#[test]
fn killed_workers_cost_only_their_own_rounds() {
    kill_workers(LOCKS, POINTS);
}

#[test]
fn killed_partners_cost_only_their_own_rounds() {
    kill_workers(PARTNERS, PARTNER_POINTS);
}

fn kill_workers(what: &str, points: usize) {
    let wanted = kills(5);
    let (mut killed, mut runs, mut given_up) = (0, 0, 0);
    while killed < wanted {
        let bench = Bench::new();
        let run = spawn(&bench, &short(what));
        // The victim is the worker, or one of the processes that contend.
        let victims = kill_some(&run, wanted - killed, 2, 220, Duration::from_millis(3500));
        killed += victims;
        let said = said_by(run).ended();
        let document = is_whole(&said, points);
        let failed = times(&document).iter().filter(|r| r["outcome"] == "failed").count();
        assert_eq!(said.code, Some(if failed == 0 { 0 } else { 3 }), "{document}");
        let rounds = rounds(&bench, &said.saved());
        let died = rounds.iter().filter(|row| !row.outcome.contains("measured")).count();
        assert!(died <= victims, "{died} of {} died of {victims}", rounds.len());
        nothing_is_left(&bench);
        (runs, given_up) = (runs + 1, given_up + failed);
    }
    println!("{killed} workers killed in {runs} runs; {given_up} cases given up");
}

#[test]
fn killed_workers_of_the_primitives_leave_nothing() {
    let wanted = kills(6);
    let mut killed = 0;
    while killed < wanted {
        let bench = Bench::new();
        let run = spawn(&bench, &format!("run {PRIMITIVES} --quick --budget 1s --json"));
        // The victim is the worker, or one of its children, partners and sleepers.
        killed += kill_some(&run, wanted - killed, 1, 420, Duration::from_secs(20));
        let said = said_by(run).ended();
        let document = said.json();
        assert!(document["run"]["finished"].is_string(), "{}", document["run"]);
        for result in times(&document) {
            let has_reason = result["reason"].is_string();
            assert!(result["outcome"] == "measured" || has_reason, "{result}");
        }
        nothing_is_left(&bench);
    }
    println!("{killed} processes of the primitives killed");
}

#[test]
fn a_killed_coordinator_loses_no_finished_round() {
    let (wanted, mut begun, mut kept) = (kills(4), 0, 0);
    for nth in 0..wanted {
        let bench = Bench::new();
        let run = format!("run {LOCKS} --quick --precision 20% --budget 60s");
        let mut command = bench.command(&run);
        // Every second time the coordinator is killed early, while it traces its workers.
        let within_ms = if nth % 2 == 0 { 1_900 } else { 400 };
        let traces = nth % 2 == 1;
        if traces {
            denied(&mut command, &[libc::SYS_perf_event_open]);
        }
        let mut run = started(&mut command);
        run_on(within_ms);
        run.kill().expect("our own child");
        if said_by(run).code.is_some() {
            // The run had ended before.
            continue;
        }
        // The workers end by themselves, and clean up.
        nobody_is_left(&bench);

        let Some(id) = run_begun(&bench) else { continue };
        let before = rounds(&bench, &id);
        let numbers: Vec<u64> = before.iter().map(|row| row.seq).collect();
        assert_eq!(numbers, (0..before.len() as u64).collect::<Vec<u64>>(), "none is missing");
        let mut resume = bench.command("run --resume --json");
        if traces {
            // Without the filter, the machine differs from the one on which the run began.
            bench.oscost("run --resume").with(2).complains(&["cannot be resumed here", "seccomp"]);
            denied(&mut resume, &[libc::SYS_perf_event_open]);
        }
        let resumed = finish(&mut resume).with(0);
        let document = is_whole(&resumed, POINTS);
        assert_eq!(document["run"]["id"], *id);
        assert_eq!(rounds(&bench, &id)[..before.len()], before[..], "what was stored stays");
        nothing_is_left(&bench);
        (begun, kept) = (begun + 1, kept + before.len());
    }
    println!("{wanted} coordinators killed, {begun} in a run, with {kept} rounds; all resumed");
}

#[test]
fn a_stopped_run_prints_the_command_to_resume() {
    // Ctrl-C goes to all processes at the terminal, a request to terminate to one.
    let to_all = |run: &Child| signal_group(run.id(), libc::SIGINT);
    let to_one = |run: &Child| signal(run, libc::SIGTERM);
    for stop in [&to_all as &dyn Fn(&Child), &to_one] {
        let stopped = || {
            let bench = Bench::new();
            let run = spawn(&bench, &format!("run {LOCKS} --precision 20% --budget 15s --json"));
            until_a_round_is_stored(&bench);
            stop(&run);
            (bench, said_by(run))
        };
        // A run may have ended before.
        let (bench, said) = (0..10)
            .map(|_| stopped())
            .find(|(_, said)| said.code != Some(0))
            .expect("one was stopped");
        let said = said.with(3);
        let id = run_begun(&bench).expect("it was begun");
        let way_on = format!("oscost: stopped; to continue: oscost run --resume {id}");
        assert!(said.err.lines().any(|line| line == way_on), "{}", said.err);
        for result in times(&said.json()) {
            let reason = result["reason"].as_str().unwrap_or_default();
            assert!(!reason.contains("signal"), "its worker was not hit: {result}");
        }
        nothing_is_left(&bench);
        // Without a figure so far it is not `last`.
        let shown = bench.oscost(&format!("show {id}")).with(0);
        shown.complains(&["is not finished", &format!("oscost run --resume {id}")]);
        let resumed = bench.oscost("run --resume --json").with(0);
        assert!(resumed.err.contains(&format!("resuming run {id}")), "{}", resumed.err);
        is_whole(&resumed, POINTS);
    }
}

/// Checks that the claims for which a run was begun still decide how many rounds its points get after it was stopped: they are
/// read again.
#[test]
fn a_resumed_check_reads_its_claims_again() {
    const CLAIMS: &str = r#"[[claim]]
name = "free-locks"
sentence = "A free System V semaphore costs more than a free futex-based lock."
a = { case = "lock/sysv-sem", params = { workers = 1, as = "threads" } }
b = { case = "lock/futex", params = { workers = 1, as = "threads" } }
relation = "ratio > 1"
"#;
    for is_kept in [true, false] {
        let bench = Bench::new();
        let file = bench.write("claims.toml", CLAIMS);
        let run = spawn(&bench, "check claims.toml --budget 5s --precision 0.01%");
        until_a_round_is_stored(&bench);
        signal_group(run.id(), libc::SIGINT);
        said_by(run);
        if !is_kept {
            std::fs::remove_file(&file).expect("our own file");
        }
        // The run may have ended before.
        if bench.oscost("show").with(0).err.contains("is not finished") {
            let resumed = bench.oscost("run --resume").with(0);
            let cannot_read = resumed.err.contains("its claims do not decide");
            assert_eq!(cannot_read, !is_kept, "{}", resumed.err);
        }
        nothing_is_left(&bench);
    }
}

#[test]
fn a_run_under_way_is_left_alone() {
    let bench = Bench::new();
    let run = spawn(&bench, &format!("run {LOCKS} --quick --budget 4s --precision 0.01% --json"));
    until("the run has begun", || run_begun(&bench).is_some());
    let pid = run.id().to_string();
    bench.oscost("run --resume").with(2).complains(&["being measured by process", &pid]);
    let other = bench.oscost(&short("clock/std-instant")).with(0);
    other.notes(&[&format!("process {pid}"), "disturb"]);
    said_by(run).ended();
}
