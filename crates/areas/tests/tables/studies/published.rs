//! The included studies against their sources, and their labels against what is measured.

use analysis::claim::{Content, Side};
use analysis::study::TEMPLATE;
use measure::count::{parse_duration, parse_size};

use super::*;

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
        ("timers", "2.2.16 | 2.4.2 | 2^20 | 0.2 % | 10.6 % | 2.6 times | 10 ms"),
        ("syscall", "10,000 calls | 0.6 us | 0 or 1 us"),
        (
            "threads",
            "2, 5, 8, 11, 14 and 17 | 10, 30, 90, 270, 810 or 2430 ms | at most 25 at once | ten times | 10 % slower | 50 % | up to 10 jobs | beyond 10 | within 20 % | Windows NT | Windows 95",
        ),
        ("locks", "10^6 | 9 us | 10 % | 2, 3, 4 and 10 threads | 3 and 10 threads | two semop"),
        (
            "network",
            "200,000 recipients | 9,113 domains | 2,500 connections | 10,000 files | 4 to 128 KiB | 450 too busy | 12 charts | 75 % | 35 % | 1,500 | 6 and 10 times | 12 times | 5 % | 1,000 | 500 to 1,000",
        ),
    ] {
        let study = parsed(name, Size::Default);
        let mut text = format!("{} {} ", study.source, study.differences.join(" "));
        for claim in &study.claims {
            text += &format!("{} {} ", claim.sentence, claim.source.as_deref().unwrap_or_default());
        }
        for figure in figures.split(" | ") {
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

/// The claims of each publication; those with a star follow from its figures without being stated.
const CLAIMS: &str = "
    timers: linux-below-1us windows-below-2us windows-much-slower windows-2.6-times* smp-slower* share-of-a-millisecond
        share-of-a-millisecond-windows tick-count-10ms
    syscall: about-0.6us pairs-0-or-1us one-reading-cannot-show-it no-clock-shows-it*
    threads: cpu-never-faster cpu-shortest-10-percent short-equivalent-slower* cpu-long-elapsed-equal cpu-long-turnaround
        cpu-short-turnaround-serial wait-short-serial-up-to-10 wait-short-concurrent-beyond-10 wait-short-crossing
        long-overhead-cpu long-overhead-wait equal-lengths-elapsed equal-lengths-turnaround shortest-first-serial
        shortest-first-best-serially order-same-concurrently several-cpus-faster* calibration-not-above-20
        calibration-not-below-20 nt-short-waiting-better nt-long-waiting-alike
    locks: nptl-10-percent-by-ratio nptl-10-percent-saved depends-on-work 10-percent-up-to-10us* sysv-two-calls nptl-no-call
    network: architecture-over-system architecture-over-windows-and-linux spread-75-percent linux-35-percent-ahead
        gain-marginal-beyond-1500 gain-none-beyond-2500* files-linux-like-windows files-6-times-the-third
        files-10-times-the-fourth loop-12-times-process loop-12-times-process-by-rate loop-20-times-process
        loop-20-times-process-by-rate loop-35-percent-over-threads loop-35-percent-over-threads-by-rate loop-advantage-grows
        threads-limited threads-lower-latency-at-low-load more-cpus-slow-threads prefork-over-fork exec-slowest
        memory-process-over-thread memory-thread-over-connection more-cpus-speed-loops loop-keeps-under-overload
";

#[test]
fn every_published_claim_is_present() {
    let words = CLAIMS.split_whitespace();
    let found = NAMES.iter().flat_map(|name| {
        let study = parsed(name, Size::Default);
        let derived = |claim: &str| study.about.get(claim).is_some_and(|about| about.derived);
        let claim = |name: &str| format!("{name}{}", if derived(name) { "*" } else { "" });
        let claims: Vec<String> = study.claims.iter().map(|one| claim(&one.name)).collect();
        std::iter::once(format!("{name}:")).chain(claims)
    });
    assert_eq!(found.collect::<Vec<_>>(), words.collect::<Vec<_>>());
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
