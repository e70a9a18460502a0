//! The page at the end of a run of all areas.

#[path = "support/run.rs"]
mod run;

use std::time::Duration;

use catalog::{Area, Finding, Only, Select, SummaryRow, areas};
use insta::assert_snapshot;
use measure::Doubt;
use report::{Page, summary};
use results::{CaseResult, Document, Estimate, Interval, Outcome, SCHEMA};

/// Installs the areas of the program before the tests run.
#[ctor::ctor(unsafe)]
fn install_areas() {
    cases::install();
}

const NARROW: Page = Page { width: 80, colour: false, unicode: true, this_run: false };
const ASCII: Page = Page { unicode: false, ..NARROW };

fn document(results: Vec<CaseResult>) -> Document {
    let facts = [
        ("os", "Linux"),
        ("release", "6.18.44"),
        ("arch", "x86_64"),
        ("cpu", "AMD EPYC 7B13"),
        ("hypervisor", "KVM"),
    ];
    let machine = facts.map(|(key, value)| (key.to_owned(), value.into())).into_iter().collect();
    Document { schema: SCHEMA, run: run::run_at_3_75_ghz(), machine, results }
}

/// A result of this point with these values of its rounds; the interval reaches from the least to the greatest.
fn result(point: &Select, metric: &str, values: [f64; 3]) -> CaseResult {
    let params = point.params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
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

/// A figure for every row and finding of every area, different from all others of its area.
fn everything() -> Vec<CaseResult> {
    areas().iter().flat_map(|area| everything_of(area)).collect()
}

fn everything_of(area: &Area) -> Vec<CaseResult> {
    /// A point, a metric, and a further parameter of the point.
    type Wanted<'a> = (&'a Select, &'a str, Option<(&'a str, &'a str)>);
    let mut wanted: Vec<Wanted> = Vec::new();
    wanted.extend(area.summary.iter().map(|row| (&row.point, row.metric.name, None)));
    for finding in area.findings {
        match finding {
            Finding::Ratio { of, to, metric, .. } => {
                wanted.extend([(of, metric.name, None), (to, metric.name, None)])
            }
            Finding::Levels { of, to, metric, levels: (param, values), .. } => {
                for value in *values {
                    let level = Some((*param, *value));
                    wanted.extend([(of, metric.name, level), (to, metric.name, level)]);
                }
            }
            Finding::Crossing { point, metric, .. } | Finding::Value { point, metric, .. } => {
                wanted.push((point, metric.name, None))
            }
        }
    }
    let mut results: Vec<CaseResult> = Vec::new();
    for (nth, (point, metric, level)) in wanted.into_iter().enumerate() {
        let has_level = |r: &CaseResult| {
            level.is_none_or(|(key, value)| r.params.get(key).is_some_and(|own| own == value))
        };
        let known = |r: &&CaseResult| {
            r.metric == metric && point.matches(&r.case, &r.params) && has_level(r)
        };
        if results.iter().find(known).is_none() {
            let median = 1234.5 * (nth as f64 + 1.0);
            let mut result = result(point, metric, [median * 0.98, median, median * 1.02]);
            result.params.extend(level.map(|(key, value)| (key.to_owned(), value.to_owned())));
            results.push(result);
        }
    }
    results
}

/// Whether a system has the point of this result: a run measures one system.
fn exists_on(system: &str, result: &CaseResult) -> bool {
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
        assert!(text.lines().count() <= 45, "{} lines:\n{text}", text.lines().count());
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
    results.extend(of("syscall/getppid").map(|r| CaseResult {
        outcome: Outcome::Failed,
        reason: Some("killed by signal 9".to_owned()),
        estimate: None,
        ..r
    }));
    results.extend(of("syscall/nt-get-current-processor").map(|r| CaseResult {
        outcome: Outcome::Unsupported,
        reason: Some("a call of Windows".to_owned()),
        estimate: None,
        ..r
    }));
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

/// The finding for the rates of two architectures.
fn said(epoll: [f64; 3], threads: [f64; 3], saturated: &str) -> Vec<String> {
    let arch = |name: &'static str| match name {
        "epoll" => &[("arch", "epoll"), ("connections", "100"), ("work", "none")][..],
        _ => &[("arch", "threads"), ("connections", "100"), ("work", "none")],
    };
    let results = [("epoll", epoll), ("threads", threads)].map(|(name, values)| {
        let mut rate = result(&Select::point("net/answer", arch(name)), "rate", values);
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
fn a_rate_that_the_generator_limited_is_a_lower_bound() {
    let (more, fewer) = ([119.0, 120.0, 121.0], [99.0, 100.0, 101.0]);
    let epoll = "- An event loop (epoll) answers";
    for (rates, saturated, start) in [
        ((more, fewer), "", Some(format!("{epoll} 1.20"))),
        ((more, fewer), "epoll", Some(format!("{epoll} at least 1.20"))),
        // The rate of threads is a lower bound, so that it may be the higher one.
        ((more, fewer), "threads", None),
        ((fewer, more), "", Some("- A thread per connection answers 1.20".to_owned())),
        ((fewer, more), "epoll", None),
        ((fewer, more), "threads", Some("- A thread per connection answers at least".to_owned())),
        ((fewer, fewer), "", Some(format!("{epoll} as many connections as"))),
        ((fewer, fewer), "epoll", None),
    ] {
        let lines = said(rates.0, rates.1, saturated);
        match start {
            Some(start) => assert!(lines.len() == 1 && lines[0].starts_with(&start), "{lines:?}"),
            None => assert!(lines.is_empty(), "{lines:?}"),
        }
    }
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
    let none = CaseResult {
        outcome: Outcome::Unsupported,
        reason: Some("never cheaper".to_owned()),
        estimate: None,
        round_values: Vec::new(),
        ..found.clone()
    };
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
