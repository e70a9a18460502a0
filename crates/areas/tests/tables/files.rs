//! The tables of the area `file`, at usual widths.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use measure::Doubt;
use proptest::prelude::*;
use report::{below_tables, results_tables};
use results::{CaseResult, Direction, Estimate, Outcome, PerOp};
use serde_json::{Map, Value, json};
use simulated::params;
use simulated::text::check_figures;

use crate::pages::{ASCII, NARROW, any_page, check};

/// Phases of an empty file, with their latency in us.
const PHASES: [(&str, f64); 6] = [
    ("create", 8.4),
    ("read", 1.71),
    ("stat", 0.94),
    ("rename", 7.01),
    ("list", 0.21),
    ("delete", 3.05),
];

fn figure(
    case: &str,
    of: &BTreeMap<String, String>,
    metric: &str,
    unit: &str,
    value: f64,
) -> CaseResult {
    areas::install();
    let estimate = Estimate { median: value, low: value * 0.98, high: value * 1.013, level: 0.95 };
    let blank = CaseResult::blank(case, of.clone(), metric, unit, Direction::Neither);
    CaseResult { estimate: Some(estimate), rounds: 10, ..blank }
}

/// All metrics of one point with files of `kib` KiB, whose creation takes `more` us longer.
fn point(case: &str, of: &[(&str, &str)], kib: f64, more: f64) -> Vec<CaseResult> {
    let of = params(of);
    let mut time = figure(case, &of, "time", "ns/op", 24_000.0 + more * 1e3);
    time.per_op = Some(PerOp { syscalls: Some(9.0), ..PerOp::default() });
    let mut all = vec![time];
    for (phase, us) in PHASES {
        let us = match phase {
            "create" => us + kib * 0.6 + more,
            "read" => us + kib * 0.13,
            "delete" => us + kib * 0.1,
            _ => us,
        };
        let unit = if phase == "list" { "names/s" } else { "files/s" };
        all.push(figure(case, &of, &format!("{phase}-rate"), unit, 1e6 / us));
        if phase != "list" {
            for (part, times) in [("p50", 0.95), ("p90", 1.2), ("p99", 3.1), ("max", 70.0)] {
                all.push(figure(case, &of, &format!("{phase}-{part}"), "ns", us * 1e3 * times));
            }
        }
        if kib > 0.0 && matches!(phase, "create" | "read") {
            let name = if phase == "create" { "write-bandwidth" } else { "read-bandwidth" };
            all.push(figure(case, &of, name, "bytes/s", kib * 1024.0 / us * 1e6));
        }
    }
    all.push(figure(case, &of, "cpu", "ns", 23_500.0 + kib * 800.0));
    all
}

fn ended(case: &str, of: &[(&str, &str)], outcome: Outcome, why: &str) -> CaseResult {
    simulated::ended((case, &params(of)), outcome, why)
}

fn run() -> Vec<CaseResult> {
    let mut results = Vec::new();
    for (size, kib) in [("0", 0.0), ("128k", 128.0), ("16k", 16.0), ("1k", 1.0), ("4k", 4.0)] {
        let of = [("dir", "temp"), ("files", "10000"), ("size", size)];
        results.extend(point("file/small", &of, kib, 0.0));
    }
    for (sync, more) in [("none", 0.0), ("file", 650.0), ("file+dir", 1_150.0)] {
        let of = [("dir", "temp"), ("files", "100"), ("size", "4k"), ("sync", sync)];
        results.extend(point("file/sync", &of, 4.0, more));
        if more > 0.0 {
            results.push(figure("file/sync", &params(&of), "sync-cost", "x", more / 9.0));
        }
    }
    for how in ["io_uring", "open", "tmpfile+link"] {
        let of = [("dir", "temp"), ("files", "1000"), ("how", how), ("size", "4k")];
        match how {
            "io_uring" => results.push(ended(
                "file/create",
                &of,
                Outcome::Unsupported,
                "io_uring with fixed descriptors: Operation not permitted (os error 1)",
            )),
            _ => results.extend(point("file/create", &of, 4.0, 1.0)),
        }
    }
    results
}

fn odd() -> Vec<CaseResult> {
    let mut results = Vec::new();
    for dir in ["/dev/shm", "/srv/files"] {
        for (sync, more) in [("none", 0.0), ("file", 0.4)] {
            let of = [("dir", dir), ("files", "100"), ("size", "4k"), ("sync", sync)];
            let mut point = point("file/sync", &of, 4.0, more);
            if dir == "/dev/shm" && sync == "file" {
                let file_system = "tmpfs".to_owned();
                point[0].doubts.push(Doubt::NothingToSync { file_system });
            }
            results.extend(point);
        }
        let of = [("dir", dir), ("dropped", "contents"), ("files", "200"), ("size", "4k")];
        results.push(match dir {
            "/dev/shm" => ended(
                "file/cold",
                &of,
                Outcome::Unsupported,
                "tmpfs stores files in memory only, so that no read is cold",
            ),
            _ => ended(
                "file/cold",
                &of,
                Outcome::Failed,
                "creating a file: No space left on device (os error 28)",
            ),
        });
    }
    for (workers, place) in [("1", "same"), ("16", "same"), ("2", "separate")] {
        let of = [
            ("dir", "temp"),
            ("files", "1000"),
            ("size", "4k"),
            ("where", place),
            ("workers", workers),
        ];
        results.extend(point("file/workers", &of, 4.0, 0.0));
    }
    results
}

#[test]
fn a_usual_run() {
    assert_snapshot!("files_80", results_tables(&run(), &NARROW));
    assert_snapshot!("files_ascii", results_tables(&run(), &ASCII));
}

#[test]
fn several_directories_and_what_went_wrong() {
    assert_snapshot!("files_odd_80", results_tables(&odd(), &NARROW));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn all_widths_show_all_cases_and_rates(page in any_page()) {
        for results in [run(), odd()] {
            let text = results_tables(&results, &page);
            check(&text, &page, results.iter().map(|result| result.case.clone()))?;
            check_figures(&text, &results, |result| result.metric.ends_with("-rate"))?;
        }
    }
}

#[test]
fn file_systems_of_the_directories() {
    let facts = [
        ("type", json!("ext4")),
        ("device", json!("/dev/nvme0n1p2")),
        ("mounted_on", json!("/")),
        ("options", json!("rw,relatime,errors=remount-ro")),
        ("block_bytes", json!(4096)),
        ("free_bytes", json!(57_000_000_000u64)),
        ("free_files", json!(16_200_000)),
    ];
    let mut machine: Map<String, Value> = facts
        .iter()
        .map(|(fact, value)| (format!("filesystem.temp.{fact}"), value.clone()))
        .collect();
    machine.insert("os".into(), json!("Linux"));
    assert_snapshot!("file_systems_80", below_tables(&run(), &machine, &NARROW));
    assert_eq!(below_tables(&odd(), &Map::new(), &NARROW), "", "a run may know nothing of it");
    assert_eq!(below_tables(&[], &machine, &NARROW), "");
}

#[test]
fn unknown_shapes_have_the_tables_of_all_areas() {
    let unknown = figure("file/other", &params(&[("dir", "temp")]), "time", "ns/op", 17.0);
    let bare = figure("file/small", &params(&[]), "time", "ns/op", 17.0);
    let text = results_tables(&[unknown, bare], &NARROW);
    assert!(text.contains("cost") && !text.contains("create"), "{text}");
}
