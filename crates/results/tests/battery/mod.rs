//! What a store does, whatever database it is in. The tests of each engine run all of these, each with a new store.

use std::collections::BTreeMap;

use results::{
    CaseResult, Direction, Document, Estimate, Imported, Interval, Outcome, RoundRow, RunInfo,
    SCHEMA, Store, StoreError,
};
use serde_json::json;

/// A test of a new store.
pub type Test = fn(Store);

/// All tests, by name.
pub const TESTS: [(&str, Test); 11] = [
    ("a_run_is_kept_as_it_arrives", a_run_is_kept_as_it_arrives),
    ("what_cannot_be_stored_changes_nothing", what_cannot_be_stored_changes_nothing),
    ("a_document_reads_back_equal", a_document_reads_back_equal),
    ("any_text_reads_back_equal", any_text_reads_back_equal),
    ("runs_have_short_names", runs_have_short_names),
    ("runs_of_one_invocation_are_a_group", runs_of_one_invocation_are_a_group),
    ("runs_with_a_tag_are_found", runs_with_a_tag_are_found),
    ("figures_of_many_runs_are_those_of_their_documents", figures_are_those_of_documents),
    ("thinning_keeps_results", thinning_keeps_results),
    ("levels_and_cycles_are_kept", levels_and_cycles_are_kept),
    ("accepted_events_are_kept", accepted_events_are_kept),
];

pub fn strings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

pub fn run(id: &str, started: &str) -> RunInfo {
    RunInfo {
        id: id.to_owned(),
        started: started.to_owned(),
        finished: None,
        seed: u64::MAX,
        oscost: "0.1.0".to_owned(),
        tags: BTreeMap::new(),
        asked: strings(&[("precision", "0.5%")]),
        core_clock_ghz: None,
        area_seconds: BTreeMap::new(),
    }
}

pub fn machine() -> serde_json::Map<String, serde_json::Value> {
    let machine =
        json!({"os": "Linux", "release": "6.1.0", "arch": "x86_64", "cpu": "A CPU", "cpus": 2});
    machine.as_object().expect("an object").clone()
}

pub fn round(seq: u64) -> RoundRow {
    RoundRow {
        seq,
        case: "lock/futex".to_owned(),
        params: strings(&[("workers", "2")]),
        kind: if seq.is_multiple_of(7) { "count" } else { "round" }.to_owned(),
        outcome: "done".to_owned(),
        started_ms: 1_795_000_000_000 + seq as i64,
        lines: format!("{{\"sample\": {seq}}}\n").repeat(20),
    }
}

pub fn measured(case: &str, median: f64) -> CaseResult {
    CaseResult {
        estimate: Some(Estimate { median, low: median - 1.0, high: median + 2.0, level: 0.95 }),
        cycles: Some(Interval { median: 3.0 * median, low: 2.0 * median, high: 4.0 * median }),
        rounds: 9,
        outcome: Outcome::Measured,
        ..CaseResult::blank(case, strings(&[("as", "threads")]), "time", "ns/op", Direction::Lower)
    }
}

fn begin(store: &mut Store, id: &str, started: &str) {
    store.begin_run(&run(id, started), &machine(), "{}").expect("a new run");
}

const NIGHT: &str = "2026-11-21T20:36:55Z";

fn a_run_is_kept_as_it_arrives(mut store: Store) {
    store.begin_run(&run("a", NIGHT), &machine(), "{\"cases\": []}").expect("begins");
    for seq in [2, 0, 7, 1] {
        store.add_round("a", &round(seq)).expect("stored");
    }
    assert_eq!(store.rounds("a").expect("rounds"), [0, 1, 2, 7].map(round));
    assert_eq!(store.counts("a").expect("counts"), [0, 7].map(round));
    assert_eq!(store.plan("a").expect("a plan").as_deref(), Some("{\"cases\": []}"));
    assert_eq!(store.unfinished().expect("one"), Some("a".to_owned()));
    let twice = [measured("lock/futex", 20.0), measured("lock/mutex", 30.0)];
    store.put_results("a", &twice).expect("put");
    store.put_results("a", &[measured("lock/futex", 21.0)]).expect("replaced");
    let clock = Interval { low: 3.35, median: 3.75, high: 3.85 };
    let seconds = BTreeMap::from([("lock".to_owned(), 20.5)]);
    store.put_run_facts("a", Some(clock), &seconds).expect("put");
    // A clock that was set back during a run.
    store.finish_run("a", "2026-11-20T00:00:00Z").expect("finished");
    assert_eq!(store.unfinished().expect("none"), None);
    let document = store.document("a").expect("a document");
    let run = RunInfo {
        finished: Some(NIGHT.to_owned()),
        core_clock_ghz: Some(clock),
        area_seconds: seconds,
        ..run("a", NIGHT)
    };
    assert_eq!(document.check(), Ok(()));
    assert!(document.machine.keys().eq(machine().keys()), "the machine keeps its order");
    assert_eq!((document.run, document.machine), (run, machine()));
    assert_eq!(document.results, [measured("lock/futex", 21.0)]);
    let listed = store.runs().expect("runs");
    assert_eq!((listed[0].rounds, listed[0].results), (4, 1));
    assert_eq!(listed[0].machine, "Linux 6.1.0 x86_64, A CPU, 2 CPUs");
    assert_eq!(store.finished_runs().expect("runs").len(), 1);
    assert_eq!(store.latest_machines("a", 5).expect("machines"), [("a".to_owned(), machine())]);
    assert_eq!(store.latest_machines_with(("node", "n1"), "a", 5).expect("machines"), []);
    store.delete_run("a").expect("deleted");
    assert_eq!(store.runs().expect("runs"), []);
    let gone = store.rounds("a").expect_err("deleted");
    assert!(matches!(gone, StoreError::UnknownRun { .. }), "{gone}");
}

fn what_cannot_be_stored_changes_nothing(mut store: Store) {
    begin(&mut store, "a", NIGHT);
    store.put_results("a", &[measured("lock/futex", 20.0)]).expect("put");
    store.add_round("a", &round(1)).expect("stored");
    let twice = [measured("lock/futex", 1.0), measured("lock/futex", 2.0)];
    let nameless = [CaseResult { case: "futex".to_owned(), ..measured("lock/futex", 1.0) }];
    let odd = RoundRow { kind: "?".to_owned(), ..round(2) };
    let table: [(Result<(), StoreError>, &str); 11] = [
        (store.put_results("a", &twice), "lock/futex{as=threads} time appears twice"),
        (store.put_results("a", &nameless), "not of the form area/name"),
        (store.put_results("b", &[]), "no run \"b\" in the store"),
        (store.add_round("a", &round(1)), "round 1 of run a is already in the store"),
        (store.add_round("b", &round(1)), "no run \"b\" in the store"),
        (store.add_round("a", &odd), "its kind is none of `round`, `count` and `kept`"),
        (store.add_round("a", &round(u64::MAX / 2 + 1)), "its number is too high"),
        (store.begin_run(&run("a", NIGHT), &machine(), ""), "run a is already in the store"),
        (store.finish_run("a", "soon"), "is not an RFC 3339 time"),
        (store.finish_run("b", NIGHT), "no run \"b\" in the store"),
        (store.delete_run("b"), "no run \"b\" in the store"),
    ];
    for (result, expected) in table {
        let error = result.expect_err(expected).to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }
    assert_eq!(store.document("a").expect("still there").results, [measured("lock/futex", 20.0)]);
    assert_eq!(store.rounds("a").expect("still there"), [round(1)]);
    assert_eq!(store.runs().expect("runs")[0].rounds, 1);
    store.finish_run("a", "2026-11-21T20:40:00Z").expect("finished");
    let finished = store.document("a").expect("a document").run.finished;
    assert_eq!(finished.as_deref(), Some("2026-11-21T20:40:00Z"));
}

fn document(id: &str, results: Vec<CaseResult>) -> Document {
    let finished = Some("2026-11-21T20:37:55Z".to_owned());
    let run = RunInfo { finished, tags: strings(&[("kernel", "new")]), ..run(id, NIGHT) };
    Document { schema: SCHEMA, run, machine: machine(), results }
}

fn a_document_reads_back_equal(mut store: Store) {
    // As many as a run of everything has, so that statements with lists of all lengths are used.
    let results = (0..1500).map(|n| measured(&format!("area/case-{n}"), 20.0 + n as f64 / 7.0));
    let whole = document("a", results.collect());
    assert_eq!(store.import(&whole).expect("new"), Imported::Added);
    assert_eq!(store.document("a").expect("there"), whole);
    assert_eq!(store.import(&whole).expect("the same"), Imported::AlreadyThere);
    let mut other = whole.clone();
    other.results[0].samples += 1;
    let error = store.import(&other).expect_err("it differs").to_string();
    assert!(error.contains("differs from this one"), "{error}");
    let mut unsound = document("b", vec![measured("lock/futex", 20.0)]);
    unsound.results.push(unsound.results[0].clone());
    let error = store.import(&unsound).expect_err("a duplicate").to_string();
    assert!(error.contains("appears twice"), "{error}");
    assert_eq!(store.runs().expect("runs").len(), 1);
    assert_eq!(store.document("a").expect("as it was"), whole);
    assert_eq!(store.unfinished().expect("none"), None);
    assert_eq!(store.plan("a").expect("none"), None, "an imported run is never resumed");
    assert_eq!(store.figures(&["a"], |_| true).expect("figures").len(), 1500);
}

fn any_text_reads_back_equal(mut store: Store) {
    begin(&mut store, "a", NIGHT);
    let long = "a long reason \u{1f600} ".repeat(5_000);
    for (seq, text) in (0..).zip(["", "'; DROP TABLE runs; --", "?1 $1 \\ \"", "\u{10ffff}", &long])
    {
        let row = RoundRow { outcome: text.to_owned(), lines: format!("{text}\0\n"), ..round(seq) };
        store.add_round("a", &row).expect("stored");
        assert_eq!(store.rounds("a").expect("rounds").pop(), Some(row));
    }
    let tags =
        BTreeMap::from([("note".to_owned(), long.clone()), ("".to_owned(), "?1".to_owned())]);
    let tagged = RunInfo { tags, ..run("b", NIGHT) };
    store.begin_run(&tagged, &machine(), "{}").expect("begins");
    assert_eq!(store.document("b").expect("there").run, tagged);
    assert_eq!(store.resolve(&format!("note={long}")).expect("a run"), "b");
}

fn runs_have_short_names(mut store: Store) {
    let none = store.resolve("last").expect_err("an empty store");
    assert!(none.to_string().contains("it has no runs"), "{none}");
    for (id, started, kernel) in [
        ("20261119-1", "2026-11-19T00:00:00Z", "old"),
        ("20261120-2", "2026-11-20T00:00:00Z", "new"),
        ("20261120-23", "2026-11-20T01:00:00Z", "new"),
    ] {
        let tagged = RunInfo { tags: strings(&[("kernel", kernel)]), ..run(id, started) };
        store.begin_run(&tagged, &machine(), "").expect("begins");
        store.put_results(id, &[measured("lock/futex", 20.0)]).expect("results");
    }
    for (name, id) in [
        ("20261119-1", "20261119-1"),
        ("20261120-2", "20261120-2"),
        ("20261119", "20261119-1"),
        ("last", "20261120-23"),
        ("last~0", "20261120-23"),
        ("last~2", "20261119-1"),
        ("kernel=old", "20261119-1"),
        ("kernel=new", "20261120-23"),
    ] {
        assert_eq!(store.resolve(name).expect(name), id, "{name}");
    }
    for name in ["2026", "20261119", "last~x", "lock"] {
        assert_eq!(store.resolve_whole_name(name).expect(name), None, "{name}");
    }
    let whole = store.resolve_whole_name("kernel=old").expect("a tag");
    assert_eq!(whole.as_deref(), Some("20261119-1"));
    for (name, expected) in [
        ("20261120", "matches several runs: 20261120-2, 20261120-23; use a longer name"),
        ("kernel=", "no run has the tag kernel="),
        ("last~3", "it has only 3 runs with results"),
        ("last~-1", "no id begins like that"),
        ("last~99999999999999999999", "no id begins like that"),
        ("", "no id begins like that"),
        ("%", "no id begins like that"),
    ] {
        let error = store.resolve(name).expect_err(name).to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
    assert_eq!(store.unfinished().expect("none has a plan"), None);
}

fn runs_of_one_invocation_are_a_group(mut store: Store) {
    for (id, group) in [("a", Some("a")), ("b", None), ("c", Some("a")), ("d", Some("d"))] {
        let asked = group.map(|group| (results::GROUP.to_owned(), group.to_owned()));
        let one = RunInfo { asked: asked.into_iter().collect(), ..run(id, NIGHT) };
        store.begin_run(&one, &machine(), "").expect("begins");
    }
    for (id, group) in [("a", &["a", "c"][..]), ("c", &["a", "c"]), ("b", &["b"]), ("d", &["d"])] {
        assert_eq!(store.group_of(id).expect(id), group, "{id}");
    }
    store.group_of("e").expect_err("no such run");
}

fn runs_with_a_tag_are_found(mut store: Store) {
    for (id, started, tags) in [
        ("b", "2026-11-20T00:00:00Z", &[("noise", "1")][..]),
        ("a", "2026-11-19T00:00:00Z", &[("kernel", "new"), ("noise", "1")]),
        ("c", "2026-11-21T00:00:00Z", &[("kernel", "old")]),
    ] {
        let one = RunInfo { tags: strings(tags), ..run(id, started) };
        store.begin_run(&one, &machine(), "").expect("begins");
    }
    let found = store.tagged("noise").expect("read");
    assert_eq!(found, [("1".to_owned(), "a".to_owned()), ("1".to_owned(), "b".to_owned())]);
    assert_eq!(store.tagged("noi").expect("read"), []);
    (0..3).for_each(|at| store.add_round(["a", "b", "c"][at], &round(0)).expect("stored"));
    let measured = store.latest_machines_with(("noise", "1"), "a", 5).expect("read");
    assert_eq!(measured, [("b".to_owned(), machine()), ("a".to_owned(), machine())]);
    assert_eq!(store.latest_machines_with(("noise", "1"), "a", 1).expect("read"), measured[..1]);
}

fn figures_are_those_of_documents(mut store: Store) {
    // More runs than are read with one statement.
    let ids: Vec<String> = (0..70).map(|night| format!("night-{night:02}")).collect();
    for (night, id) in ids.iter().enumerate() {
        let results =
            vec![measured("lock/futex", 20.5 + night as f64), measured("lock/spin", 7.25)];
        store.import(&document(id, results)).expect("imported");
    }
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    let series = store.figures(&names, |case| case != "lock/spin").expect("figures");
    assert_eq!(series.len(), 1);
    let found: Vec<(usize, f64)> =
        series[0].figures.iter().map(|(run, figure)| (run, figure.figure.median)).collect();
    let expected: Vec<(usize, f64)> = (0..70).map(|night| (night, 20.5 + night as f64)).collect();
    assert_eq!(found, expected);
    assert_eq!(series[0].unit, "ns/op");
    store.figures(&["nobody"], |_| true).expect_err("no such run");
}

fn thinning_keeps_results(mut store: Store) {
    for (id, started) in [
        ("old", "2026-08-01T02:00:00Z"),
        ("unfinished", "2026-08-02T02:00:00Z"),
        ("new", "2026-11-20T02:00:00Z"),
    ] {
        begin(&mut store, id, started);
        (0..5).for_each(|seq| store.add_round(id, &round(seq)).expect("stored"));
        store.put_results(id, &[measured("lock/futex", 20.0)]).expect("put");
        if id != "unfinished" {
            store.finish_run(id, started).expect("finished");
        }
    }
    let before = store.document("old").expect("a document");
    const OCTOBER_US: i64 = 1_790_812_800_000_000;
    let thinned = store.thin(OCTOBER_US).expect("thinned");
    assert_eq!(thinned.runs, 1);
    assert!(thinned.before > 0 && thinned.after > 0, "{thinned:?}");
    assert_eq!(store.document("old").expect("still there"), before);
    let left = ["old", "unfinished", "new"].map(|id| store.rounds(id).expect("rounds").len());
    assert_eq!(left, [0, 5, 5]);
    assert_eq!(store.thin(OCTOBER_US).expect("again").runs, 0);
    assert_eq!(store.runs().expect("runs")[0].rounds, 5, "their number is kept");
}

fn levels_and_cycles_are_kept(mut store: Store) {
    for (key, alu) in [("a", 0.7), ("b", 0.9), ("a", 0.8), ("a", 0.75)] {
        store.add_quiet_level(key, alu, 1.0).expect("kept");
    }
    assert_eq!(store.quiet_levels("a", "run", 2).expect("read"), [(0.75, 1.0), (0.8, 1.0)]);
    assert_eq!(store.quiet_levels("c", "run", 2).expect("read"), []);
    assert_eq!(store.multiplication_cycles("a").expect("read"), None);
    store.put_multiplication_cycles("a", 4).expect("kept");
    store.put_multiplication_cycles("a", 3).expect("kept");
    assert_eq!(store.multiplication_cycles("a").expect("read"), Some(3));
}

fn accepted_events_are_kept(mut store: Store) {
    assert_eq!(store.accepted_events().expect("none"), BTreeMap::new());
    let error = store.accept_event("a/lock/futex/worse", "early", NIGHT).expect_err("no run");
    assert!(matches!(error, StoreError::UnknownRun { .. }), "{error}");
    begin(&mut store, "a", NIGHT);
    for why in ["known", "a new kernel"] {
        store.accept_event("a/lock/futex/worse", why, NIGHT).expect("accepted");
    }
    assert_eq!(
        store.accepted_events().expect("one"),
        strings(&[("a/lock/futex/worse", "a new kernel")])
    );
}
