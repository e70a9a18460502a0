//! The page at the end of a run of all areas.

use std::time::Duration;

use catalog::{Area, Finding, Only, Select, SummaryRow};
use insta::assert_snapshot;
use measure::Doubt;
use report::{Page, summary};
use results::{CaseResult, Document, Estimate, Interval, Outcome, SCHEMA};

use crate::pages::{ASCII, NARROW};

fn document(results: Vec<CaseResult>) -> Document {
    let facts = [
        ("os", "Linux"),
        ("release", "6.18.44"),
        ("arch", "x86_64"),
        ("cpu", "AMD EPYC 7B13"),
        ("hypervisor", "KVM"),
    ];
    let machine = facts.map(|(key, value)| (key.to_owned(), value.into())).into_iter().collect();
    Document { schema: SCHEMA, run: simulated::run_at_3_75_ghz(), machine, results }
}

fn areas() -> &'static [&'static Area] {
    areas::install();
    catalog::areas()
}

/// A result of this point with these values of its rounds; the interval reaches from the least to the greatest.
fn result(point: &Select, metric: &str, values: [f64; 3]) -> CaseResult {
    areas::install();
    let params = simulated::params(point.params);
    let described = catalog::metric(point.case, metric).expect("the metric is described");
    let [low, median, high] = values;
    CaseResult {
        estimate: Some(Estimate { median, low, high, level: 0.95 }),
        round_values: vec![low, (low + median) / 2.0, median, median, (median + high) / 2.0, high],
        rounds: 6,
        converged: Some(true),
        ..CaseResult::blank(point.case, params, metric, described.unit, described.better)
    }
}

fn without_figure(result: CaseResult, outcome: Outcome, why: &str) -> CaseResult {
    let (reason, round_values) = (Some(why.to_owned()), Vec::new());
    CaseResult { outcome, reason, estimate: None, round_values, ..result }
}

/// A figure for every row and finding of every area, different from all others of its area.
fn everything() -> Vec<CaseResult> {
    areas().iter().flat_map(|area| everything_of(area)).collect()
}

fn everything_of(area: &Area) -> Vec<CaseResult> {
    /// A point, a metric, and further parameters of the point.
    type Wanted<'a> = (&'a Select, &'a str, &'a [(&'a str, &'a str)]);
    let mut wanted: Vec<Wanted> = Vec::new();
    wanted.extend(area.summary.iter().map(|row| (&row.point, row.metric.name, &[][..])));
    for finding in area.findings {
        match finding {
            Finding::Ratio { of, to, metric, .. } => {
                wanted.extend([(of, metric.name, &[][..]), (to, metric.name, &[])])
            }
            Finding::Crossing { point, metric, .. } | Finding::Value { point, metric, .. } => {
                wanted.push((point, metric.name, &[]))
            }
        }
    }
    for application in area.applications {
        for situation in application.situations {
            let designs = application.designs.iter().flat_map(|design| design.points);
            wanted.extend(designs.map(|select| (select, situation.metric.name, situation.params)));
        }
    }
    let mut results: Vec<CaseResult> = Vec::new();
    for (nth, (point, metric, beside)) in wanted.into_iter().enumerate() {
        let is_beside = |r: &CaseResult| {
            beside.iter().all(|(key, value)| r.params.get(*key).is_none_or(|own| own == value))
        };
        let known = |r: &&CaseResult| {
            r.metric == metric && point.matches(&r.case, &r.params) && is_beside(r)
        };
        if results.iter().find(known).is_none() {
            let median = 1234.5 * (nth as f64 + 1.0);
            let mut result = result(point, metric, [median * 0.98, median, median * 1.02]);
            let case = catalog::find(point.case).expect("the case exists");
            let has = |(key, _): &&(&str, &str)| case.params.iter().any(|param| param.name == *key);
            let params = beside
                .iter()
                .filter(has)
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            result.params.extend(params);
            results.push(result);
        }
    }
    results
}

/// Whether a system has the point of this result: a run measures one system.
pub fn exists_on(system: &str, result: &CaseResult) -> bool {
    let on_windows = system == "windows";
    match result.params.get("arch").map(String::as_str) {
        Some("iocp") => return on_windows,
        Some("epoll" | "fork") => return !on_windows,
        _ => {}
    }
    match catalog::find(&result.case).expect("the case exists").only {
        Only::Windows(_) => on_windows,
        Only::Linux(_) | Only::Unix(_) => !on_windows,
        Only::Everywhere | Only::X86_64(_) => true,
    }
}

#[test]
fn a_page_has_room_for_all_that_areas_can_say_of_a_system() {
    for system in ["linux", "windows"] {
        let mut results = everything();
        results.retain(|result| exists_on(system, result));
        assert_has_room(results);
    }
}

fn assert_has_room(mut results: Vec<CaseResult>) {
    let several = [
        Doubt::Disturbed,
        Doubt::SeldomQuiet,
        Doubt::FewRounds,
        Doubt::SeveralModes,
        Doubt::OwnProcess,
    ];
    for (nth, result) in results.iter_mut().enumerate() {
        result.doubts.push(several[nth % 5].clone());
        result.quiet_share = Some(0.1);
        if result.metric == "time" {
            let Estimate { median, low, high, .. } = result.estimate.expect("a figure");
            result.cycles = Some(Interval { median, low, high });
        }
    }
    for page in [&NARROW, &ASCII] {
        let text =
            summary(&document(results.clone()), areas(), Some(Duration::from_secs(333)), page);
        assert!(text.lines().count() <= 60, "{} lines:\n{text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for area in areas() {
            let is_measured =
                |row: &&SummaryRow| results.iter().any(|r| row.point.matches(&r.case, &r.params));
            for row in area.summary.iter().filter(is_measured) {
                assert!(text.contains(row.label), "{}:\n{text}", row.label);
            }
        }
    }
}

#[test]
fn a_usual_run() {
    let all = everything();
    let of = |case: &'static str| all.iter().filter(move |r| r.case == case).cloned();
    let mut results: Vec<CaseResult> = Vec::new();
    results.extend(of("clock/std-instant").map(|r| CaseResult {
        estimate: Some(Estimate { median: 28.03, low: 28.02, high: 28.05, level: 0.95 }),
        cycles: Some(Interval { median: 91.01, low: 90.98, high: 91.07 }),
        ..r
    }));
    let failed = |result| without_figure(result, Outcome::Failed, "killed by signal 9");
    results.extend(of("syscall/getppid").map(failed));
    let missing = |result| without_figure(result, Outcome::Unsupported, "a call of Windows");
    results.extend(of("syscall/nt-get-current-processor").map(missing));
    results.extend(of("lock/std-mutex"));
    let contended = results.last_mut().expect("a mutex of two threads");
    contended.doubts.push(Doubt::Disturbed);
    results.extend(of("concurrency/worth"));
    results.extend(of("net/answer"));
    assert_snapshot!("summary_80", summary(&document(results), areas(), None, &NARROW));
}

/// Checks that a page on which most figures are marked says what disturbed the machine.
#[test]
fn a_machine_that_was_seldom_quiet_is_said_to_be_disturbed() {
    let text = |shares: &[Option<f64>]| {
        let mut results = everything_of(areas()[0]);
        for (result, share) in results.iter_mut().filter(|r| r.metric == "time").zip(shares) {
            result.quiet_share = *share;
        }
        let wide = Page { width: 200, ..NARROW };
        summary(&document(results), areas(), None, &wide)
    };
    let seldom = "The cores were quiet for only 12 % of the time";
    assert!(text(&[Some(0.04), Some(0.12), None, Some(0.9)]).contains(seldom));
    for shares in [&[Some(0.04), Some(0.7), Some(0.9)][..], &[Some(0.5)], &[None]] {
        assert!(!text(shares).contains("quiet for"), "{shares:?}");
    }
}

/// The answer for the times of two architectures.
fn said(epoll: [f64; 3], threads: [f64; 3], saturated: &str) -> Vec<String> {
    let arch = |name: &'static str| match name {
        "epoll" => &[("arch", "epoll"), ("connections", "100"), ("work", "none")][..],
        _ => &[("arch", "threads"), ("connections", "100"), ("work", "none")],
    };
    let results = [("epoll", epoll), ("threads", threads)].map(|(name, values)| {
        let mut rate = result(&Select::point("net/answer", arch(name)), "time", values);
        if saturated.contains(name) {
            rate.doubts.push(Doubt::ClientSaturated);
        }
        rate
    });
    let wide = Page { width: 200, ..NARROW };
    let text = summary(&document(results.into()), areas(), None, &wide).replace("\n  ", " ");
    text.lines().filter(|line| line.starts_with("- ")).map(str::to_owned).collect()
}

#[test]
fn a_design_that_the_generator_limited_may_be_faster() {
    let (more, less) = ([119.0, 120.0, 121.0], [99.0, 100.0, 101.0]);
    let of = "- server, 100 connections at a time:";
    let (event_loop, threads) = ("event loop", "thread per connection");
    let ahead =
        |best: &str, by: &str, other: &str| Some(format!("{of} {best}, {by} as fast as {other}"));
    for (times, saturated, says) in [
        ((less, more), "", ahead(event_loop, "1.200 times (1.198 to 1.202)", threads)),
        ((less, more), "epoll", ahead(event_loop, "at least 1.2 times", threads)),
        ((less, more), "threads", None),
        ((more, less), "", ahead(threads, "1.200 times (1.198 to 1.202)", event_loop)),
        ((more, less), "epoll", None),
        ((more, less), "threads", ahead(threads, "at least 1.2 times", event_loop)),
        (
            (less, less),
            "",
            Some(format!("{of} {threads} and {event_loop} are equally fast, within 10 %")),
        ),
        ((less, less), "epoll", None),
    ] {
        let lines = said(times.0, times.1, saturated);
        assert_eq!(lines, says.into_iter().collect::<Vec<_>>(), "{saturated}");
    }
}

#[test]
fn no_answer_is_made_of_too_few_rounds() {
    let point = |arch: &'static [(&'static str, &'static str)]| Select::point("net/answer", arch);
    let at = [("connections", "100"), ("work", "none")];
    let mut results = vec![
        result(&point(&[("arch", "epoll")]), "time", [99.0, 100.0, 101.0]),
        result(&point(&[("arch", "threads")]), "time", [990.0, 1000.0, 1010.0]),
    ];
    for result in &mut results {
        result.params.extend(simulated::params(&at));
    }
    results[1].round_values = vec![1000.0];
    results[1].estimate =
        Some(Estimate { median: 1000.0, low: f64::NEG_INFINITY, high: f64::INFINITY, level: 0.95 });
    let text = summary(&document(results), areas(), None, &NARROW);
    assert!(!text.contains("- server"), "{text}");
    assert!(text.contains("Cannot tell by this run"), "{text}");
}

#[test]
fn a_crossing_is_a_value_or_one_side_of_all_that_was_measured() {
    let point = Select::point("process/memory", &[("pages", "base")]);
    let at = |memory: &str, metric: &str, ns: f64| {
        let mut result = result(&point, metric, [ns * 0.98, ns, ns * 1.02]);
        result.params.insert("memory".to_owned(), memory.to_owned());
        result
    };
    let said = |sizes: &[(&str, f64)], crossing: CaseResult| {
        let rows = sizes.iter().flat_map(|(memory, ratio)| {
            [at(memory, "time", 1e5), at(memory, "spawn", 1e5 * ratio)]
        });
        let results = rows.chain([crossing]).collect();
        let text = summary(&document(results), areas(), None, &Page { width: 200, ..NARROW });
        let text = text.replace("\n  ", " ");
        text.lines().find(|line| line.starts_with("- ")).map(str::to_owned)
    };
    let found = result(&point, "spawn-cheaper-from", [7e6, 8e6, 9e6]);
    let none = without_figure(found.clone(), Outcome::Unsupported, "never cheaper");
    assert_snapshot!(said(&[("1m", 2.0), ("1g", 0.2)], found).unwrap(), @"- From a parent of 8.0 MB (7.0 MB to 9.0 MB) of resident memory on, posix_spawn is cheaper than fork.");
    assert_snapshot!(said(&[("1g", 0.2), ("128m", 0.8)], none.clone()).unwrap(), @"- posix_spawn is cheaper than fork from a parent of any measured size (memory=128m and more).");
    assert_snapshot!(said(&[("1g", 1.2), ("128m", 2.0)], none.clone()).unwrap(), @"- posix_spawn is not cheaper than fork from a parent of any measured size (up to memory=1g).");
    // The ratios are equal at one size, on different sides, or of too few sizes.
    for sizes in [&[("1m", 2.0), ("1g", 1.0)][..], &[("1m", 2.0), ("1g", 0.5)], &[("1m", 2.0)]] {
        assert_eq!(said(sizes, none.clone()), None);
    }
}

#[test]
fn a_doubt_about_the_time_applies_to_all_metrics_of_a_point() {
    let synced = &[("dir", "temp"), ("sync", "file")];
    let point = Select::point("file/sync", synced);
    let mut time = result(&point, "time", [1e6, 2e6, 9e6]);
    let metrics = ["create-p50", "sync-cost"].map(|metric| result(&point, metric, [1.0, 2.0, 9.0]));
    for doubtful in [false, true] {
        time.doubts = if doubtful { vec![Doubt::Disturbed] } else { Vec::new() };
        let results = [&[time.clone()][..], &metrics].concat();
        let text = summary(&document(results), areas(), None, &Page { width: 200, ..NARROW });
        let lines: Vec<&str> =
            text.lines().filter(|line| line.contains("sync") || line.contains("Sync")).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines.iter().all(|line| line.contains("busy") == doubtful), "{text}");
    }
}

#[test]
fn no_finding_without_a_difference_or_a_close_equality() {
    let wide = [60.0, 100.0, 150.0];
    assert!(said(wide, [99.0, 100.0, 101.0], "").is_empty());
}
