//! `oscost fleet show`, `compare` and `check`, and the report of a fleet: on a run of this machine, given to nodes with small
//! differences.

use crate::common::Bench;
use results::{CaseResult, Document, Estimate, Interval, Store};
use serde_json::Value;

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

fn scaled(result: &mut CaseResult, factor: f64) {
    if let Some(Estimate { median, low, high, .. }) = &mut result.estimate {
        for figure in [median, low, high] {
            *figure *= factor;
        }
    }
    if let Some(Interval { median, low, high }) = &mut result.cycles {
        for figure in [median, low, high] {
            *figure *= factor;
        }
    }
    result.round_values.iter_mut().for_each(|value| *value *= factor);
    result.all_round_values.iter_mut().for_each(|value| *value *= factor);
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
            scaled(result, factor * own * of_firmware * of_node);
        }
        store.import(&run).expect("imported");
    }
}

#[test]
fn the_slow_node_and_what_goes_with_differences_are_named() {
    let bench = Bench::new();
    let like = measured(&bench);
    fleet(&bench, &like, 1.0);
    let shown = bench.oscost("fleet show --json");
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    let shown: Value = serde_json::from_str(&shown.out).expect("JSON");
    assert_eq!(shown["nodes"].as_array().map(Vec::len), Some(NODES));
    let all = &shown["standings"][0];
    let strangers = all["do_not_belong"].as_array().expect("a list");
    let [stranger] = &strangers[..] else { panic!("{strangers:?}") };
    assert_eq!(stranger["node"], "n17");
    let factor = stranger["worse_by_factor"]["mid"].as_f64().expect("a number");
    assert!((1.4..1.6).contains(&factor), "{factor}");
    assert_eq!(shown["goes_with_differences"][0]["facts"][0], "tag.firmware");
    // The text for people names the node and the tag, too.
    let text = bench.oscost("fleet show --all").out;
    assert!(text.contains("DOES NOT BELONG  n17  "), "{text}");
    assert!(text.contains("tag firmware 1.8 (12 nodes) against 1.7 (12 nodes): 4."), "{text}");
    let compared = bench.oscost("fleet compare --by tag.firmware");
    assert!(compared.out.contains("1.8 (12)"), "{}", compared.out);
    let wrong = bench.oscost("fleet compare --by tag.zone");
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("these have: tag.firmware"), "{}", wrong.err);
    let unknown = bench.oscost("fleet show job-2");
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("no finished run of job job-2"), "{}", unknown.err);
    let page = bench.path("fleet.html");
    let report = bench.oscost(&format!("report --fleet -o {}", page.display()));
    assert_eq!(report.code, Some(0), "{}", report.err);
    let page = std::fs::read_to_string(&page).expect("a page");
    assert!(page.contains("n17 does not belong"));
}

/// Checks this machine beside others that are as fast, and beside others that are ten times as fast: then it does not belong.
#[test]
fn a_node_is_checked_by_what_others_have_measured() {
    let bench = Bench::new();
    let like = measured(&bench);
    for (factor, code, says) in [(1.0, 0, "belongs"), (0.1, 1, "does not belong")] {
        let _ = std::fs::remove_file(bench.store());
        fleet(&bench, &like, factor);
        // A busy neighbour makes this machine slower, and not by 90 %.
        let checked = bench.oscost("fleet check --self --name this --budget 2s --worse-than 90%");
        assert_eq!(checked.code, Some(code), "{} {}", checked.out, checked.err);
        if code == 1 {
            assert!(checked.out.contains(says), "{}", checked.out);
        }
        assert_eq!(checked.out.lines().count(), 1, "{}", checked.out);
        let store = Store::open_read_only(&bench.store()).expect("a store");
        assert_eq!(store.runs().expect("runs").len(), NODES, "a check stores nothing");
    }
}

#[test]
fn a_store_without_a_fleet_says_how_to_make_one() {
    let bench = Bench::new();
    measured(&bench);
    let shown = bench.oscost("fleet show");
    assert_eq!(shown.code, Some(2));
    assert!(shown.err.contains("oscost fleet run --hosts"), "{}", shown.err);
}
