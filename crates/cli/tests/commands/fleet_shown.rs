//! `oscost fleet show`, `compare` and `check`, and the report of a fleet: on a run of this machine, given to nodes with small
//! differences.

use crate::common::Bench;
use crate::common::nights::scale;
use results::{Document, Store};

const NODES: usize = 24;
/// The node that takes 1.5 times as long.
const SLOW: usize = 17;

/// A run of this machine, with the time of a reading only.
fn measured(bench: &Bench) -> Document {
    let run = bench.oscost("run clock/std-instant --precision 50% --budget 60s --json").with(0);
    let mut document: Document = serde_json::from_str(&run.out).expect("a document");
    // The step of a clock may double from one run to the next.
    document.results.retain(|result| result.metric == "time");
    assert!(!document.results.is_empty());
    document
}

/// A store with a job of 24 nodes that are `factor` times as slow as this machine.
fn fleet(bench: &Bench, like: &Document, factor: f64) {
    let mut store = Store::open(&bench.store()).expect("a store");
    for node in 0..NODES {
        let mut run = like.clone();
        run.run.id = format!("20260901-0200{node:02}-0001");
        run.run.started = format!("2026-09-01T02:00:{node:02}Z");
        run.run.finished = Some(format!("2026-09-01T02:10:{node:02}Z"));
        let firmware = if node < 12 { "1.7" } else { "1.8" };
        for (key, value) in
            [("fleet", "job-1"), ("node", &format!("n{node:02}")), ("firmware", firmware)]
        {
            run.run.tags.insert(key.to_owned(), value.to_owned());
        }
        // Small differences, the same each time, and 4 % by the firmware.
        let own = 1.0 + 0.0004 * ((node * 7 % NODES) as f64 - 12.0);
        let of_firmware = if node < 12 { 1.0 } else { 1.04 };
        let of_node = if node == SLOW { 1.5 } else { 1.0 };
        for result in &mut run.results {
            scale(result, factor * own * of_firmware * of_node);
        }
        store.import(&run).expect("imported");
    }
}

#[test]
fn the_slow_node_and_what_goes_with_differences_are_named() {
    let bench = Bench::new();
    let like = measured(&bench);
    fleet(&bench, &like, 1.0);
    let shown = bench.oscost("fleet show --json").with(0).json();
    assert_eq!(shown["nodes"].as_array().map(Vec::len), Some(NODES));
    let all = &shown["standings"][0];
    let strangers = all["do_not_belong"].as_array().expect("a list");
    let [stranger] = &strangers[..] else { panic!("{strangers:?}") };
    assert_eq!(stranger["node"], "n17");
    let factor = stranger["worse_by_factor"]["mid"].as_f64().expect("a number");
    assert!((1.4..1.6).contains(&factor), "{factor}");
    assert_eq!(shown["goes_with_differences"][0]["facts"][0], "tag.firmware");
    // The text for people names the node and the tag, too.
    bench.oscost("fleet show --all").says(&[
        "DOES NOT BELONG  n17  ",
        "tag firmware 1.8 (12 nodes) against 1.7 (12 nodes): 4.",
    ]);
    bench.oscost("fleet compare --by tag.firmware").says(&["1.8 (12)"]);
    bench.oscost("fleet compare --by tag.zone").with(2).notes(&["these have: tag.firmware"]);
    bench.oscost("fleet show job-2").with(2).notes(&["no finished run of job job-2"]);
    bench.oscost("report --fleet -o fleet.html").with(0);
    let page = bench.text("fleet.html");
    // What was measured when, and the nodes at both ends, without a pointer over the dots.
    for part in ["n17 does not belong", "job job-1", "2026-09-01", "; worst n17 ", ", best n"] {
        assert!(page.contains(part), "no {part}");
    }
}

/// Checks this machine beside others that are as fast, and beside others that are ten times as fast: then it does not belong.
#[test]
fn a_node_is_checked_by_what_others_have_measured() {
    let bench = Bench::new();
    let like = measured(&bench);
    for (factor, code, says) in [(1.0, 0, "belongs"), (0.1, 1, "does not belong")] {
        let _ = std::fs::remove_file(bench.store());
        fleet(&bench, &like, factor);
        // A busy neighbour makes this machine slower, and not by 90 %. An interval takes three rounds.
        let check = "fleet check --self --name this --budget 20s --worse-than 90%";
        let checked = bench.oscost(check).with(code).out;
        assert!(code == 0 || checked.contains(says), "{checked}");
        assert_eq!(checked.lines().count(), 1, "{checked}");
        let store = Store::open_read_only(&bench.store()).expect("a store");
        assert_eq!(store.runs().expect("runs").len(), NODES, "a check stores nothing");
    }
}

#[test]
fn a_store_without_a_fleet_says_how_to_make_one() {
    let bench = Bench::new();
    measured(&bench);
    bench.oscost("fleet show").with(2).notes(&["oscost fleet run --hosts"]);
}
