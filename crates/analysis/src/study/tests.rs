use measure::count::{parse_duration, parse_size};
use proptest::prelude::*;
use results::{CaseResult, Direction, Document, Estimate, RunInfo, SCHEMA};

use super::*;
use crate::claim::{ClaimVerdict, Content, Side};

fn parsed(name: &str, size: Size) -> Study {
    let study = Study::parse(included(name).unwrap(), size);
    study.unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn all_included_studies_parse_in_both_sizes() {
    for name in NAMES {
        for size in [Size::Default, Size::Full] {
            let study = parsed(name, size);
            assert_eq!(study.name, name);
            assert!(!study.claims.is_empty() && !study.tables.is_empty(), "{name}");
            assert!(study.differences.len() >= 3, "{name}");
            assert!(study.claims.iter().all(|claim| claim.source.is_some()), "{name}");
        }
    }
    assert_eq!(included("nothing"), None);
    assert_eq!(Study::parse(TEMPLATE, Size::Default).unwrap().claims.len(), 1);
    let full = parsed("threads", Size::Full);
    assert!(full.measure[0].params["base"].contains(&"2.43s".to_owned()), "{:?}", full.measure);
}

/// The cells of one column of a published table, row by row.
fn published(study: &Study, table: usize, row: usize) -> Vec<&str> {
    let cells = &study.tables[table].rows[row].cells;
    cells.iter().map(|cell| cell.published.as_deref().unwrap_or("-")).collect()
}

/// Compares all published figures with copies made from their sources independently of the data files.
#[test]
fn every_published_figure_is_present() {
    let timers = parsed("timers", Size::Default);
    let of_timers: Vec<&str> = (0..5).flat_map(|row| published(&timers, 0, row)).collect();
    assert_eq!(of_timers, ["0.740", "0.729", "0.806", "0.806", "1.945"]);
    let syscall = parsed("syscall", Size::Default);
    let of_calls: Vec<f64> =
        syscall.tables[0].rows.iter().filter_map(|row| row.cells[0].number()).collect();
    let figures = [0.5831, 0.5984, 0.5941, 0.5956, 0.6010, 0.6157, 0.6069, 0.5891, 0.5955, 0.5849];
    assert_eq!(of_calls, figures);
    assert_eq!(published(&syscall, 1, 0), ["0 or 1"]);
    let locks = parsed("locks", Size::Default);
    let columns: Vec<&str> = locks.tables[0].columns.iter().map(String::as_str).collect();
    assert_eq!(columns, ["1", "2", "3", "4", "5", "10"]);
    assert_eq!(published(&locks, 0, 0), ["9593", "24292", "38750", "50919", "61979", "126403"]);
    assert_eq!(published(&locks, 0, 1), ["9162", "21992", "33610", "45872", "56515", "112752"]);
    // The other studies have no tables of figures: theirs are sizes, and numbers in sentences.
    for (name, figures) in [
        ("timers", &["2.2.16", "2.4.2", "2^20", "0.2 %", "10.6 %", "2.6 times", "10 ms"][..]),
        ("syscall", &["10,000 calls", "0.6 us", "0 or 1 us"]),
        (
            "threads",
            &[
                "2, 5, 8, 11, 14 and 17",
                "10, 30, 90, 270, 810 or 2430 ms",
                "at most 25 at once",
                "ten times",
                "10 % slower",
                "50 %",
                "up to 10 jobs",
                "beyond 10",
                "within 20 %",
                "Windows NT",
                "Windows 95",
            ],
        ),
        (
            "locks",
            &["10^6", "9 us", "10 %", "2, 3, 4 and 10 threads", "3 and 10 threads", "two semop"],
        ),
        (
            "network",
            &[
                "200,000 recipients",
                "9,113 domains",
                "2,500 connections",
                "10,000 files",
                "4 to 128 KiB",
                "450 too busy",
                "12 charts",
                "75 %",
                "35 %",
                "1,500",
                "6 and 10 times",
                "12 times",
                "5 %",
                "1,000",
                "500 to 1,000",
            ],
        ),
    ] {
        let study = parsed(name, Size::Default);
        let mut text = format!("{} {} ", study.source, study.differences.join(" "));
        for claim in &study.claims {
            text += &format!("{} {} ", claim.sentence, claim.source.as_deref().unwrap_or_default());
        }
        for figure in figures {
            assert!(text.contains(figure), "{name} lacks {figure:?}");
        }
    }
}

/// The quantities that a text names: times in ns, numbers of bytes, and counts with the parameter that they are of.
fn named_quantities(text: &str) -> Vec<(&'static str, f64)> {
    let words: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_matches(['(', ')', ':', ';', '.', ',']))
        .collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let Ok(number) = digits.replace(',', "").parse::<f64>() else { continue };
        let unit = match &word[digits.len()..] {
            "" => words.get(at + 1).copied().unwrap_or_default(),
            unit => unit,
        };
        found.extend(match unit {
            "ns" => Some(("time", number)),
            "us" => Some(("time", number * 1e3)),
            "ms" => Some(("time", number * 1e6)),
            "s" => Some(("time", number * 1e9)),
            "KiB" | "k" => Some(("size", number * 1024.0)),
            "connections" => Some(("connections", number)),
            "jobs" => Some(("jobs", number)),
            "files" => Some(("files", number)),
            "thread" | "threads" => Some(("workers", number)),
            _ => None,
        });
    }
    found
}

/// The quantities that parameters have, likewise.
fn quantities_of(side: &Side) -> Vec<(&str, f64)> {
    let of_param = |(name, values): (&'static str, &str)| {
        let time = parse_duration(values).ok().map(|time| ("time", time.as_nanos() as f64));
        let size = parse_size(values).ok().map(|size| (name, size as f64));
        time.into_iter().chain(size).collect::<Vec<_>>()
    };
    let named = ["size", "connections", "jobs", "files", "workers"];
    let params = side.params.iter().flat_map(|(name, values)| {
        let name = named.into_iter().find(|known| known == name).unwrap_or("other");
        values.value.iter().map(move |value| (name, value.as_str()))
    });
    params.flat_map(of_param).collect()
}

#[test]
fn what_is_measured_has_the_size_that_its_label_gives() {
    assert_eq!(named_quantities("jobs (10 ms), 17 jobs"), [("time", 1e7), ("jobs", 17.0)]);
    assert_eq!(
        named_quantities("2.43s; 1,500 connections"),
        [("time", 2.43e9), ("connections", 1500.0)]
    );
    let mut checked = 0;
    let mut check = |label: &str, also: &str, sides: &[&Side], place: &str| {
        let mut known: Vec<(&str, f64)> =
            sides.iter().flat_map(|side| quantities_of(side)).collect();
        known.extend(named_quantities(also));
        for (what, number) in named_quantities(label) {
            // A time or a count of a kind that no parameter has is a figure.
            let is_parameter = known.iter().any(|(of, _)| *of == what);
            let is_it = |&(of, own): &(&str, f64)| of == what && (own / number - 1.0).abs() < 1e-9;
            assert!(!is_parameter || known.iter().any(is_it), "{place}: {label}: {what} {number}");
            checked += usize::from(is_parameter);
        }
    };
    for (name, size) in NAMES.iter().flat_map(|name| [(name, Size::Default), (name, Size::Full)]) {
        let study = parsed(name, size);
        for table in &study.tables {
            for row in &table.rows {
                for (column, cell) in table.columns.iter().zip(&row.cells) {
                    let Some(here) = &cell.here else { continue };
                    let sides: Vec<&Side> =
                        std::iter::once(&here.point).chain(&here.over).collect();
                    for label in [&row.title, column, &table.title] {
                        check(label, "", &sides, name);
                    }
                }
            }
        }
        for claim in &study.claims {
            let Content::Statement(statement) = &claim.content else { continue };
            let sides: Vec<&Side> = claim.sides().collect();
            check(&claim.sentence, &statement.relation.value.text, &sides, &claim.name);
        }
    }
    assert!(checked > 100, "{checked}");
}

/// Compares the claims of the publications; those with `true` follow from figures without being stated.
#[test]
fn every_published_claim_is_present() {
    let all: [(&str, &[(&str, bool)]); 5] = [
        (
            "timers",
            &[
                ("linux-below-1us", false),
                ("windows-below-2us", false),
                ("windows-much-slower", false),
                ("windows-2.6-times", true),
                ("smp-slower", true),
                ("share-of-a-millisecond", false),
                ("share-of-a-millisecond-windows", false),
                ("tick-count-10ms", false),
            ],
        ),
        (
            "syscall",
            &[
                ("about-0.6us", false),
                ("pairs-0-or-1us", false),
                ("one-reading-cannot-show-it", false),
                ("no-clock-shows-it", true),
            ],
        ),
        (
            "threads",
            &[
                ("cpu-never-faster", false),
                ("cpu-shortest-10-percent", false),
                ("short-equivalent-slower", true),
                ("cpu-long-elapsed-equal", false),
                ("cpu-long-turnaround", false),
                ("cpu-short-turnaround-serial", false),
                ("wait-short-serial-up-to-10", false),
                ("wait-short-concurrent-beyond-10", false),
                ("wait-short-crossing", false),
                ("long-overhead-cpu", false),
                ("long-overhead-wait", false),
                ("equal-lengths-elapsed", false),
                ("equal-lengths-turnaround", false),
                ("shortest-first-serial", false),
                ("shortest-first-best-serially", false),
                ("order-same-concurrently", false),
                ("several-cpus-faster", true),
                ("calibration-not-above-20", false),
                ("calibration-not-below-20", false),
                ("nt-short-waiting-better", false),
                ("nt-long-waiting-alike", false),
            ],
        ),
        (
            "locks",
            &[
                ("nptl-10-percent-by-ratio", false),
                ("nptl-10-percent-saved", false),
                ("depends-on-work", false),
                ("10-percent-up-to-10us", true),
                ("sysv-two-calls", false),
                ("nptl-no-call", false),
            ],
        ),
        (
            "network",
            &[
                ("architecture-over-system", false),
                ("architecture-over-windows-and-linux", false),
                ("spread-75-percent", false),
                ("linux-35-percent-ahead", false),
                ("gain-marginal-beyond-1500", false),
                ("gain-none-beyond-2500", true),
                ("files-linux-like-windows", false),
                ("files-6-times-the-third", false),
                ("files-10-times-the-fourth", false),
                ("loop-12-times-process", false),
                ("loop-12-times-process-by-rate", false),
                ("loop-20-times-process", false),
                ("loop-20-times-process-by-rate", false),
                ("loop-35-percent-over-threads", false),
                ("loop-35-percent-over-threads-by-rate", false),
                ("loop-advantage-grows", false),
                ("threads-limited", false),
                ("threads-lower-latency-at-low-load", false),
                ("more-cpus-slow-threads", false),
                ("prefork-over-fork", false),
                ("exec-slowest", false),
                ("memory-process-over-thread", false),
                ("memory-thread-over-connection", false),
                ("more-cpus-speed-loops", false),
                ("loop-keeps-under-overload", false),
            ],
        ),
    ];
    for (name, claims) in all {
        let study = parsed(name, Size::Default);
        let derived = |claim: &str| study.about.get(claim).is_some_and(|about| about.derived);
        let found: Vec<(&str, bool)> =
            study.claims.iter().map(|claim| (claim.name.as_str(), derived(&claim.name))).collect();
        assert_eq!(found, claims, "{name}");
    }
}

/// Checks that the published figures of the locks decide the two readings of `10 % better` as the study says.
#[test]
fn the_published_lock_figures_are_better_by_ratio_at_four_points_and_by_time_saved_at_two() {
    let locks = parsed("locks", Size::Default);
    let row = |at: usize| -> Vec<f64> {
        locks.tables[0].rows[at].cells.iter().filter_map(|cell| cell.number()).collect()
    };
    let ratios: Vec<f64> = row(0).iter().zip(row(1)).map(|(sysv, nptl)| sysv / nptl).collect();
    let above = |limit: f64| ratios.iter().map(|ratio| *ratio >= limit).collect::<Vec<_>>();
    assert_eq!(above(1.1), [false, true, true, true, false, true]);
    assert_eq!(above(1.0 / 0.9), [false, false, true, false, false, true]);
    let printed: Vec<f64> =
        locks.tables[1].rows[0].cells.iter().filter_map(|cell| cell.number()).collect();
    for (ratio, printed) in ratios.iter().zip(printed) {
        assert!((ratio - printed).abs() < 0.0006, "{ratio} {printed}");
    }
}

fn document(os: &str, system: Option<&str>, results: Vec<CaseResult>) -> Document {
    let mut machine = serde_json::Map::new();
    machine.insert("os".to_owned(), os.into());
    if let Some(system) = system {
        machine.insert(results::SYSTEM.to_owned(), system.into());
    }
    let run = RunInfo {
        id: format!("20260101-000000-{os}{}", system.unwrap_or_default()),
        started: "2026-01-01T00:00:00Z".to_owned(),
        finished: Some("2026-01-01T00:00:09Z".to_owned()),
        seed: 1,
        oscost: "0.1.0".to_owned(),
        tags: Default::default(),
        // The systems were measured in turn.
        asked: [(results::GROUP.to_owned(), "together".to_owned())].into(),
        core_clock_ghz: None,
        area_seconds: Default::default(),
    };
    Document { schema: SCHEMA, run, machine, results }
}

/// A result of twelve rounds that differ by a part in a thousand.
fn result(case: &str, params: &[(&str, &str)], metric: &str, unit: &str, value: f64) -> CaseResult {
    let params = params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let rounds: Vec<f64> = (0..12).map(|i| value * (1.0 + 2e-4 * f64::from(i % 5 - 2))).collect();
    CaseResult {
        estimate: Some(Estimate {
            median: value,
            low: value * 0.999,
            high: value * 1.001,
            level: 0.95,
        }),
        rounds: 12,
        round_values: rounds,
        ..CaseResult::blank(case, params, metric, unit, Direction::Lower)
    }
}

fn rate(case: &str, params: &[(&str, &str)], value: f64) -> CaseResult {
    CaseResult { better: Direction::Higher, ..result(case, params, "rate", "/s", value) }
}

/// Parameters of a server of 1,000 connections.
fn server(arch: &str) -> [(&str, &str); 4] {
    [("arch", arch), ("connections", "1000"), ("cpus", "1"), ("work", "none")]
}

/// The figures of `timers` with gettimeofday at `ns`.
fn linux_timers(ns: f64) -> Vec<CaseResult> {
    let via = |via, ns| result("clock/gettimeofday", &[("via", via)], "time", "ns/op", ns);
    vec![via("vdso", ns), via("syscall", ns * 3.0)]
}

fn windows_timers(ns: f64) -> Vec<CaseResult> {
    vec![
        result("clock/query-performance-counter", &[], "time", "ns/op", ns),
        result("clock/get-tick-count-64", &[], "granularity", "ns", 10e6),
    ]
}

fn verdicts(study: &Study, runs: &[Document]) -> Vec<(String, ClaimVerdict)> {
    let judged = StudyFindings::of(study, runs).claims;
    judged.into_iter().map(|judged| (judged.claim.name, judged.verdict)).collect()
}

fn verdict(study: &Study, runs: &[Document], claim: &str) -> ClaimVerdict {
    let all = verdicts(study, runs);
    all.into_iter().find(|(name, _)| name == claim).map(|(_, verdict)| verdict).unwrap()
}

#[test]
fn claims_are_judged_by_one_system_or_by_two() {
    use ClaimVerdict::{Fails, Holds, NotMeasurable};
    let study = parsed("timers", Size::Default);
    let linux = document("Linux", None, linux_timers(740.0));
    let one = [linux.clone()];
    // gettimeofday takes 740 ns by the library and 2,220 ns by a system call: the claim is about both.
    assert_eq!(verdict(&study, &one, "linux-below-1us"), Fails);
    assert_eq!(verdict(&study, &one, "share-of-a-millisecond"), Fails);
    assert_eq!(verdict(&study, &one, "windows-much-slower"), NotMeasurable);
    let fast = [document("Linux", None, linux_timers(100.0))];
    assert_eq!(verdict(&study, &fast, "linux-below-1us"), Holds);
    let two = [linux.clone(), document("Windows", Some("wine"), windows_timers(1945.0))];
    let meant = [("linux", &two[0]), ("windows", &two[1])];
    let meant = meant.map(|(name, run)| (name.to_owned(), run.run.id.clone()));
    let found = StudyFindings::of(&study, &two);
    assert_eq!(found.named, meant);
    let of_wine = found.claims.iter().find(|judged| judged.claim.name == "windows-below-2us");
    assert_eq!(of_wine.unwrap().claim.on, ["wine"], "Wine is shown as what it is");
    assert_eq!(verdict(&study, &two, "windows-below-2us"), Holds);
    assert_eq!(verdict(&study, &two, "windows-much-slower"), Holds);
    assert_eq!(verdict(&study, &two, "windows-2.6-times"), Holds);
    assert_eq!(verdict(&study, &two, "tick-count-10ms"), Holds);
    assert_eq!(verdict(&study, &two, "smp-slower"), NotMeasurable);
    let two = [
        document("Linux", Some("up"), linux_timers(243.0)),
        document("Linux", Some("smp"), linux_timers(243.0 * 1.106)),
    ];
    assert_eq!(verdict(&study, &two, "smp-slower"), Holds);
}

#[test]
fn a_claim_about_an_operating_system_is_judged_by_each_system_on_it() {
    use ClaimVerdict::{Fails, Holds, NotMeasurable};
    let study = parsed("timers", Size::Default);
    let mut qemu = document("Linux", Some("qemu"), linux_timers(300.0));
    qemu.machine.insert(results::EMULATED.to_owned(), "no KVM".into());
    let runs = [
        document("Linux", Some("native"), linux_timers(100.0)),
        document("Linux", Some("uml"), linux_timers(14_800.0)),
        qemu,
        document("Windows", Some("wine"), windows_timers(400.0)),
    ];
    let found = StudyFindings::of(&study, &runs);
    let verdicts = |name: &str| -> Vec<(String, ClaimVerdict)> {
        let of_claim = found.claims.iter().filter(|judged| judged.claim.name == name);
        of_claim.map(|judged| (judged.claim.on.join("/"), judged.verdict)).collect()
    };
    let named = |all: &[(&str, ClaimVerdict)]| -> Vec<(String, ClaimVerdict)> {
        all.iter().map(|(name, verdict)| ((*name).to_owned(), *verdict)).collect()
    };
    let below = [("native", Holds), ("uml", Fails), ("qemu", NotMeasurable)];
    assert_eq!(verdicts("linux-below-1us"), named(&below));
    assert_eq!(verdicts("windows-below-2us"), named(&[("wine", Holds)]));
    let slower = [("wine/native", Holds), ("wine/uml", Fails), ("wine/qemu", NotMeasurable)];
    assert_eq!(verdicts("windows-much-slower"), named(&slower));
    assert_eq!(verdicts("smp-slower"), named(&[("", NotMeasurable)]));
    // Each system has its own figures.
    let table = &found.tables[0];
    assert_eq!(table.systems, ["native", "uml", "qemu", "wine"]);
    let here = |row: usize| -> Vec<Option<f64>> {
        table.rows[row].cells[0].here.iter().map(|here| here.value.map(|it| it.value)).collect()
    };
    assert_eq!(here(3)[1], Some(14.8));
    assert_eq!(here(4), [None, None, None, Some(0.4)]);
}

#[test]
fn the_event_loop_of_windows_is_compared_with_that_of_unix() {
    use ClaimVerdict::{Fails, Holds};
    let study = parsed("network", Size::Default);
    let rate = |arch, value| rate("net/answer", &server(arch), value);
    let linux = [rate("threads", 1e4), rate("epoll", 4e4)].to_vec();
    let on_windows = |value| {
        let lacking = CaseResult {
            outcome: results::Outcome::Unsupported,
            reason: Some("Linux only".to_owned()),
            estimate: None,
            ..rate("epoll", 1.0)
        };
        document("Windows", Some("wine"), vec![rate("threads", 2e3), lacking, rate("iocp", value)])
    };
    let runs = |value| [document("Linux", Some("native"), linux.clone()), on_windows(value)];
    let claim = "architecture-over-system";
    assert_eq!(verdict(&study, &runs(2e4), claim), Holds);
    assert_eq!(verdict(&study, &runs(5e3), claim), Fails, "the system matters more");
    let claim = "architecture-over-windows-and-linux";
    assert_eq!(verdict(&study, &runs(2e4), claim), Holds);
}

#[test]
fn a_table_has_the_geometric_mean_over_systems() {
    let study = SMALL.replace("rows-are = \"r\"", "rows-are = \"r\"\nmean = true");
    let study = Study::parse(&study, Size::Default).unwrap();
    let of = |system, ns| {
        let result = result("lock/futex", &[("workers", "1")], "time", "ns/op", ns);
        document("Linux", Some(system), vec![result])
    };
    let runs = [of("one", 100.0), of("other", 400.0)];
    let table = StudyFindings::of(&study, &runs).tables.remove(0);
    assert_eq!(table.systems, ["one", "other", "mean"]);
    let mean = table.rows[0].cells[0].here[2].value.unwrap();
    assert!((mean.value - 200.0).abs() < 1e-6, "{mean:?}");
    // Each interval is 0.1 % on either side; that of the mean of two is narrower by the root of two.
    assert!((mean.high / mean.low - 1.0 - 2e-3 / 2_f64.sqrt()).abs() < 1e-5, "{mean:?}");
}

#[test]
fn a_row_can_show_the_quantity_of_a_claim() {
    let study = SMALL.replace(
        "point = { case = \"lock/futex\", params = { workers = \"$n\" } }\n[[claim]]",
        "claim = \"c\"\n[[claim]]",
    );
    let study = Study::parse(&study, Size::Default).unwrap();
    let result = result("lock/futex", &[("workers", "1")], "time", "ns/op", 100.0);
    let runs = [document("Linux", None, vec![result])];
    let found = StudyFindings::of(&study, &runs);
    let (cell, claim) = (&found.tables[0].rows[0].cells[0], &found.claims[0]);
    assert_eq!(cell.here[0].value.unwrap().value, claim.comparisons[0].interval.unwrap().mid);
    assert!((cell.here[0].ratio.unwrap() - 100.0).abs() < 1e-9);
    let unknown = SMALL.replace(
        "point = { case = \"lock/futex\", params = { workers = \"$n\" } }\n[[claim]]",
        "claim = \"d\"\n[[claim]]",
    );
    let error = Study::parse(&unknown, Size::Default).unwrap_err();
    assert!(error.to_string().contains("\"d\", which is none"), "{error}");
}

#[test]
fn any_two_systems_give_claims_about_ranks_a_verdict() {
    use ClaimVerdict::{Fails, Holds, NotMeasurable};
    let study = parsed("network", Size::Default);
    let mail = [("arch", "loop"), ("connections", "1500"), ("delay", "10ms")];
    let of = |system, rates: [f64; 3], time| {
        let results = vec![
            rate("mail/send", &mail, rates[0]),
            rate("net/answer", &server("threads"), rates[1]),
            rate("net/answer", &server("epoll"), rates[2]),
            result("file/small", &[("size", "32k")], "create-read", "ns", time),
        ];
        document("Linux", Some(system), results)
    };
    let claims = [
        "architecture-over-system",
        "spread-75-percent",
        "linux-35-percent-ahead",
        "files-6-times-the-third",
    ];
    let verdicts = |runs: &[Document]| claims.map(|claim| verdict(&study, runs, claim));
    let (native, sandbox) =
        (of("native", [2e4, 1e4, 4e4], 1e5), of("sandbox", [1e4, 5e3, 2e4], 8e5));
    assert_eq!(verdicts(std::slice::from_ref(&native)), [NotMeasurable; 4]);
    assert_eq!(verdicts(&[native.clone(), sandbox]), [Holds; 4]);
    let like_native = of("sandbox", [2.1e4, 3e4, 4e4], 1.1e5);
    let slow_loop = of("slow", [1.9e4, 1e4, 2e4], 1.2e5);
    assert_eq!(verdicts(&[native, like_native, slow_loop]), [Fails; 4]);
}

#[test]
fn a_name_that_no_run_has_is_given_to_a_run_on_the_operating_system_of_the_study() {
    let study = SMALL.replace(
        "[sizes]",
        "[[system]]\nname = \"old\"\nos = \"Linux\"\n[[system]]\nname = \"new\"\nos = \"Linux\"\n[sizes]",
    );
    // Tables of TOML come after the plain keys.
    let study = Study::parse(&study, Size::Default).unwrap();
    let run = |os| document(os, None, Vec::new());
    let mut runs = [run("Windows"), run("Linux")];
    runs[0].run.id = "other".to_owned();
    let meant = StudyFindings::of(&study, &runs).named;
    let id = &runs[1].run.id;
    assert_eq!(meant, ["old", "new"].map(|name| (name.to_owned(), id.clone())));
}

/// Checks a claim that compares two names which both mean the only system on Linux.
#[test]
fn two_names_of_one_system_are_no_comparison() {
    let study = SMALL
        .replace(
            "[sizes]",
            "[[system]]\nname = \"old\"\nos = \"Linux\"\n[[system]]\nname = \"new\"\nos = \"Linux\"\n[sizes]",
        )
        .replace(
            "a = { case = \"lock/futex\", params = { workers = \"$n\" } }\nrelation = \"value < 1 us\"",
            "a = { case = \"lock/futex\", system = \"old\" }\nb.system = \"new\"\nrelation = \"within 5 %\"",
        );
    let study = Study::parse(&study, Size::Default).unwrap();
    let of = |os, system| {
        let result = result("lock/futex", &[("workers", "1")], "time", "ns/op", 100.0);
        document(os, Some(system), vec![result])
    };
    let one = [of("Linux", "native")];
    assert_eq!(verdict(&study, &one, "c"), ClaimVerdict::NotMeasurable);
    let beside = [of("Linux", "native"), of("Windows", "wine")];
    assert_eq!(verdict(&study, &beside, "c"), ClaimVerdict::NotMeasurable);
    let two = [of("Linux", "native"), of("Linux", "gvisor")];
    assert_eq!(verdict(&study, &two, "c"), ClaimVerdict::Holds);
}

#[test]
fn systems_with_names_of_their_own_keep_them() {
    let study = parsed("timers", Size::Default);
    let run = |os, name| document(os, Some(name), Vec::new());
    let runs = [run("Linux", "linux"), run("Linux", "gvisor"), run("Windows", "windows")];
    let meant = StudyFindings::of(&study, &runs).named;
    // The user's name goes before the operating system.
    let expected = [("linux", &runs[0]), ("windows", &runs[2])];
    assert_eq!(meant, expected.map(|(name, run)| (name.to_owned(), run.run.id.clone())));
}

#[test]
fn measured_figures_take_the_layout_of_the_published_table() {
    let study = parsed("timers", Size::Default);
    let runs = [document("Linux", None, linux_timers(74.0))];
    let table = &StudyFindings::of(&study, &runs).tables[0];
    let cell = |row: usize| &table.rows[row].cells[0].here[0];
    assert!((cell(0).value.unwrap().value - 0.222).abs() < 1e-9);
    assert!((cell(0).ratio.unwrap() - 0.3).abs() < 1e-9);
    assert!((cell(3).value.unwrap().value - 0.074).abs() < 1e-9);
    assert!(cell(4).value.is_none() && cell(4).reason.as_ref().unwrap().contains("windows"));

    let study = parsed("syscall", Size::Default);
    let runs =
        [document("Linux", None, vec![result("syscall/read-0", &[], "time", "ns/op", 100.0)])];
    let table = &StudyFindings::of(&study, &runs).tables[0];
    let here: Vec<f64> =
        table.rows.iter().filter_map(|row| Some(row.cells[0].here[0].value?.value)).collect();
    let rounds: Vec<f64> =
        runs[0].results[0].round_values[..10].iter().map(|ns| ns * 1e-3).collect();
    assert_eq!(here, rounds, "each row is a round");

    let study = parsed("locks", Size::Default);
    let lock = |case, workers, ms| {
        result(
            case,
            &[("workers", workers), ("work", "9us"), ("as", "threads")],
            "million-pairs",
            "ms",
            ms,
        )
    };
    let results = vec![
        lock("lock/sysv-sem", "1", 9_593.0),
        lock("lock/sysv-sem", "10", 126_403.0),
        lock("lock/posix-sem-shared", "10", 112_752.0),
    ];
    let runs = [document("Linux", None, results)];
    let table = &StudyFindings::of(&study, &runs).tables[0];
    assert!((table.rows[0].cells[0].here[0].ratio.unwrap() - 1.0).abs() < 1e-9);
    assert!((table.rows[0].cells[5].here[0].value.unwrap().value - 126_403.0).abs() < 1e-6);
    assert!((table.rows[1].cells[5].here[0].ratio.unwrap() - 1.0).abs() < 1e-9);
    assert!(table.rows[1].cells[0].here[0].reason.is_some());
    let ratio = &StudyFindings::of(&study, &runs).tables[1].rows[0].cells[5].here[0];
    assert!((ratio.value.unwrap().value - 1.121).abs() < 1e-3, "{ratio:?}");
}

#[test]
fn claims_are_missing_only_where_a_system_or_a_case_is() {
    for name in NAMES {
        for claim in parsed(name, Size::Default).claims {
            if let Content::Missing(what) = &claim.content {
                assert!(what.contains("system") || what.contains("parameter"), "{name}: {what}");
            }
        }
    }
}

const SMALL: &str = r#"
name = "s"
title = "t"
question = "q"
source = "o"
[sizes]
n = ["1", "2"]
[[measure]]
cases = ["lock/futex"]
params = { workers = ["$n"] }
[[table]]
title = "t"
rows-are = "r"
columns = [{ title = "c" }]
[[table.row]]
title = "r"
published = ["1"]
point = { case = "lock/futex", params = { workers = "$n" } }
[[claim]]
name = "c"
sentence = "s"
a = { case = "lock/futex", params = { workers = "$n" } }
relation = "value < 1 us"
[[about]]
claim = "c"
"#;

#[test]
fn mistakes_are_reported_with_line_and_column() {
    assert_eq!(Study::parse(SMALL, Size::Full).unwrap().measure[0].params["workers"], ["2"]);
    for (old, new, message) in [
        ("name = \"s\"", "name = \"a b\"", "line 2, column 8: a name consists of"),
        ("title = \"t\"\nquestion", "question", "missing key `title`"),
        ("n = [\"1\", \"2\"]", "n = [\"1\"]", "line 7, column 1: n needs two values"),
        ("n = [\"1\", \"2\"]", "n = [\"1\", \"$m\"]", "line 7, column 1: \"$m\" has a $"),
        ("n = [\"1\", \"2\"]", "row = [\"1\", \"2\"]", "cannot be the name of a size"),
        ("cases = [\"lock/futex\"]", "", "line 8, column 1: missing key `cases` in `measure`"),
        ("workers = [\"$n\"]", "workers = [\"$m\"]", "line 10, column 12: \"$m\" names no value"),
        ("columns = [{ title = \"c\" }]", "columns = []", "a table has 1 to 40 columns"),
        (
            "columns = [{ title = \"c\" }]",
            "columns = [{ titel = \"c\" }]",
            "line 14, column 14: unknown key `titel`, expected",
        ),
        (
            "published = [\"1\"]",
            "published = [\"1\", \"2\"]",
            "line 17, column 14: published has 2",
        ),
        (
            "published = [\"1\"]",
            "publisched = [\"1\"]",
            "line 17, column 1: unknown key `publisched`, expected",
        ),
        (
            "point = { case = \"lock/futex\"",
            "point = { case = \"lock/futx\"",
            "line 18, column 18: no case",
        ),
        (
            "point = { case = \"lock/futex\", params",
            "over = { case = \"lock/futex\", params",
            "the row has no point",
        ),
        ("$n\" } }\n[[claim]]", "$column\" } }\n[[claim]]", "$column stands for nothing"),
        (
            "a = { case = \"lock/futex\", params = { workers = \"$n\" } }",
            "a = { case = \"lock/futex\", params = { workers = \"$n\", as = \"$x\" } }",
            "line 22, column 55: \"$x\" names no value",
        ),
        ("value < 1 us", "value < 1 kg", "\"kg\" is no unit of time"),
        (
            "title = \"t\"\nquestion",
            "precision = 2\ntitle = \"t\"\nquestion",
            "precision is a share",
        ),
        (
            "title = \"t\"\nquestion",
            "budget = \"2\"\ntitle = \"t\"\nquestion",
            "line 3, column 10: budget: ",
        ),
        ("claim = \"c\"", "claim = \"d\"", "[[about]] of \"d\", which is no claim"),
        (
            "claim = \"c\"",
            "claim = \"c\"\nderived = 3",
            "line 26, column 11: invalid type: integer `3`, expected a boolean",
        ),
    ] {
        let text = SMALL.replace(old, new);
        assert_ne!(text, SMALL, "{old}");
        let error = Study::parse(&text, Size::Default).unwrap_err().to_string();
        assert!(error.starts_with("line ") && error.contains(message), "{message:?}: {error}");
    }
    let long = format!("{SMALL}# {}", "x".repeat(1 << 20));
    assert!(Study::parse(&long, Size::Default).unwrap_err().to_string().contains("1024 KiB"));
    let nothing = "name = \"s\"\ntitle = \"t\"\nquestion = \"q\"\nsource = \"o\"";
    assert!(
        Study::parse(nothing, Size::Default).unwrap_err().to_string().contains("neither points")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Checks that a damaged file gives a location within it, or is a study that can be evaluated without a panic.
    #[test]
    fn damaged_studies_do_not_panic(
        which in 0usize..5, at in 0.0f64..1.0, removed in 0usize..30, put in "[ -~\\n$é\"]{0,12}"
    ) {
        let text = included(NAMES[which]).unwrap();
        let boundary = |mut at: usize| {
            while !text.is_char_boundary(at) { at -= 1; }
            at
        };
        let from = boundary((text.len() as f64 * at) as usize);
        let to = boundary((from + removed).min(text.len())).max(from);
        let damaged = format!("{}{put}{}", &text[..from], &text[to..]);
        match Study::parse(&damaged, Size::Default) {
            Err(error) => {
                let lines = damaged.lines().count() + 1;
                prop_assert!((1..=lines).contains(&error.at.line), "{error}");
                prop_assert!(error.at.column >= 1, "{error}");
            }
            Ok(study) => {
                let runs = [document("Linux", None, linux_timers(100.0))];
                let measured = StudyFindings::of(&study, &runs).tables;
                for (measured, table) in measured.iter().zip(&study.tables) {
                    prop_assert_eq!(measured.rows.len(), table.rows.len());
                }
            }
        }
    }
}
