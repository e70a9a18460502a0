//! The workbook, as other programs read it.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::Path;
use std::process::Command;

use measure::Doubt;
use report::workbook;
use results::{CaseResult, Document, Outcome};
use simulated::params;
use zip::ZipArchive;

use crate::executors;

/// The parts of a ZIP archive, by name.
fn parts(bytes: &[u8]) -> BTreeMap<String, String> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut parts = BTreeMap::new();
    for at in 0..archive.len() {
        let mut part = archive.by_index(at).unwrap();
        let mut text = Vec::new();
        part.read_to_end(&mut text).unwrap();
        let name = part.name().unwrap().into_owned();
        parts.insert(name, String::from_utf8_lossy(&text).into_owned());
    }
    parts
}

fn parts_of(document: &Document) -> BTreeMap<String, String> {
    parts(&workbook(document).unwrap())
}

/// All texts between `start` and the next `end`.
fn between<'a>(text: &'a str, start: &'a str, end: &'a str) -> Vec<&'a str> {
    text.split(start).skip(1).filter_map(|rest| Some(rest.split_once(end)?.0)).collect()
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// Cells of the sheet `name`, row by row; numbers as they are written in the file.
fn cells(parts: &BTreeMap<String, String>, name: &str) -> Vec<BTreeMap<String, String>> {
    let names = between(&parts["xl/workbook.xml"], "<sheet name=\"", "\"");
    let number = 1 + names.iter().position(|other| *other == name).unwrap();
    let texts: Vec<String> = parts.get("xl/sharedStrings.xml").map_or(Vec::new(), |strings| {
        let text =
            |item: &str| unescaped(item.split_once('>').unwrap().1.split("</t>").next().unwrap());
        between(strings, "<si><t", "</si>").into_iter().map(text).collect()
    });
    let cell = |cell: &str| {
        let column = cell.split('"').next().unwrap().trim_end_matches(|c: char| c.is_ascii_digit());
        let value = between(cell, "<v>", "</v>").first().map_or("", |value| value).to_owned();
        let value = match value.parse::<usize>() {
            Ok(at) if cell.contains("t=\"s\"") => texts[at].clone(),
            _ => value,
        };
        (column.to_owned(), value)
    };
    let sheet = &parts[&format!("xl/worksheets/sheet{number}.xml")];
    let row = |row: &str| between(row, "<c r=\"", "</c>").into_iter().map(cell).collect();
    between(sheet, "<row ", "</row>").into_iter().map(row).collect()
}

/// Values of the columns with these headings, row by row.
fn columns(rows: &[BTreeMap<String, String>], headings: &[&str]) -> Vec<Vec<String>> {
    let place = |heading: &&str| rows[0].iter().find(|(_, text)| text == heading).unwrap().0;
    let places: Vec<&String> = headings.iter().map(place).collect();
    let value = |row: &BTreeMap<String, String>, place: &&String| {
        row.get(*place).cloned().unwrap_or_default()
    };
    rows[1..].iter().map(|row| places.iter().map(|place| value(row, place)).collect()).collect()
}

fn charts(parts: &BTreeMap<String, String>) -> Vec<&String> {
    let charts = parts.iter().filter(|(name, _)| name.starts_with("xl/charts/chart"));
    charts.map(|(_, text)| text).collect()
}

/// A run with all cases of the area.
fn whole_run() -> Document {
    let cases =
        [executors::default_jobs(), executors::degrees(), executors::worth(), executors::answer()];
    executors::document(cases.concat())
}

#[test]
fn raw_values_are_those_of_the_document() {
    let document = whole_run();
    let rows = cells(&parts_of(&document), "raw");
    let headings = ["case", "executor", "jobs", "metric", "unit", "round", "value"];
    let mut rows = columns(&rows, &headings).into_iter();
    for result in &document.results {
        let param = |key: &str| result.params.get(key).cloned().unwrap_or_default();
        for (round, value) in (1..).zip(&result.round_values) {
            let row = rows.next().unwrap();
            let (executor, jobs) = (param("executor"), param("jobs"));
            let words = [&result.case, &executor, &jobs, &result.metric, &result.unit];
            assert!(words.into_iter().eq(&row[..5]), "{row:?} for {}", result.label());
            assert_eq!(row[5], format!("{round}"));
            assert_eq!(row[6].parse::<f64>().unwrap(), *value);
        }
    }
    assert_eq!(rows.next(), None);
}

#[test]
fn core_cycles_stand_beside_ns() {
    let mut document = whole_run();
    let result = &mut document.results[0];
    let median = result.estimate.unwrap().median;
    result.cycles =
        Some(results::Interval { median: 4.0 * median, low: 3.0 * median, high: 5.0 * median });
    let rounds = result.round_values.clone();
    let parts = parts_of(&document);
    let summary = columns(&cells(&parts, "summary"), &["core cycles", "core cycles high"]);
    let number = |text: &str| text.parse::<f64>().unwrap();
    assert_eq!([number(&summary[0][0]), number(&summary[0][1])], [4.0 * median, 5.0 * median]);
    assert_eq!(summary[1], ["", ""]);
    let raw = columns(&cells(&parts, "raw"), &["core cycles"]);
    for (row, round) in raw.iter().zip(&rounds) {
        assert!((number(&row[0]) / round - 4.0).abs() < 1e-9, "{row:?}");
    }
    assert_eq!(raw[rounds.len()], [""]);
}

#[test]
fn the_summary_has_a_row_for_every_result_and_the_run_its_facts() {
    let document = whole_run();
    let parts = parts_of(&document);
    let summary = cells(&parts, "summary");
    let rows =
        columns(&summary, &["case", "metric", "outcome", "reason", "median", "low", "level"]);
    assert_eq!(rows.len(), document.results.len());
    for (row, result) in rows.iter().zip(&document.results) {
        let estimate = result.estimate.filter(|_| result.outcome == Outcome::Measured);
        let number = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
        assert_eq!(row[..3], [result.case.as_str(), &result.metric, result.outcome.word()]);
        assert_eq!(row[3], result.reason.as_deref().unwrap_or_default());
        assert_eq!(row[4], number(estimate.map(|e| e.median)));
        assert_eq!(row[5], number(estimate.map(|e| e.low)));
        assert_eq!(row[6], number(estimate.map(|e| e.level)));
    }
    let run = columns(&cells(&parts, "run"), &["of", "what", "value"]);
    for line in [
        ["run", "id", "20261121-203655-4f2a"],
        ["run", "seed", "18446744073709551615"],
        ["tag", "kernel", "old"],
        ["asked", "budget", "2m"],
        ["machine", "cpus", "2"],
        ["machine", "sandbox", "unknown"],
    ] {
        assert!(run.iter().any(|row| *row == line), "{line:?} in {run:?}");
    }
}

#[test]
fn charts_refer_to_cells_and_show_every_figure() {
    let document = whole_run();
    let parts = parts_of(&document);
    // There are two charts for each kind on each set of CPUs and each base, one of degrees and one of `worth`.
    let charts = charts(&parts);
    assert_eq!(charts.len(), 2 * 3 * 2 * 3 + 1 + 1);
    for chart in &charts {
        let series = between(chart, "<c:ser>", "</c:ser>");
        assert!([2, 3, 4].contains(&series.len()), "{}", series.len());
        for series in series {
            let references = between(series, "<c:f>", "</c:f>");
            assert_eq!(references.len(), 5, "name, both bars, x and y: {references:?}");
            assert!(references.iter().all(|r| r.starts_with("'charts-data'!$")), "{references:?}");
        }
        assert!(!chart.contains("numLit") && !chart.contains("strLit"));
        let titles = chart.matches("<c:title>").count();
        assert_eq!(titles, 3, "of the chart and of both axes");
    }
    let names = between(&parts["xl/workbook.xml"], "<sheet name=\"", "\"");
    assert_eq!(
        names,
        [
            "run",
            "cpu on one CPU",
            "wait on one CPU",
            "mixed on one CPU",
            "cpu on all CPUs",
            "wait on all CPUs",
            "mixed on all CPUs",
            "degree",
            "worth",
            "charts-data",
            "summary",
            "raw",
        ]
    );
}

#[test]
fn the_figures_of_a_chart_are_those_of_the_document() {
    let jobs = executors::default_jobs();
    let wanted = |r: &&CaseResult| {
        let is = |key: &str, value: &str| r.params[key] == value;
        r.metric == "time"
            && is("base", "4.05ms")
            && is("kind", "cpu")
            && is("cpus", "one")
            && is("executor", "threads")
    };
    let estimates = jobs.iter().filter(wanted).map(|r| (r.params["jobs"].clone(), r.estimate));
    let rows = cells(&parts_of(&executors::document(jobs.clone())), "charts-data");
    let title =
        "Elapsed, base 4.05 ms: CPU-bound jobs on one CPU, longest first, at most 25 at once";
    let start =
        rows.iter().position(|row| row.values().any(|text| text.starts_with(title))).unwrap();
    for ((jobs, estimate), row) in estimates.zip(&rows[start + 2..]) {
        let estimate = estimate.unwrap();
        assert_eq!(row["A"], jobs);
        let number = |column: &str| row[column].parse::<f64>().unwrap() * 1e6;
        let near = |a: f64, b: f64| (a - b).abs() < 1.0;
        assert!(near(number("E"), estimate.median), "{row:?}");
        assert!(near(number("F"), estimate.median - estimate.low), "{row:?}");
        assert!(near(number("G"), estimate.high - estimate.median), "{row:?}");
    }
}

#[test]
fn failed_results_are_not_in_charts() {
    let mut jobs = executors::default_jobs();
    for result in
        jobs.iter_mut().filter(|r| r.params["executor"] == "tokio" && r.params["jobs"] == "8")
    {
        result.outcome = Outcome::Failed;
        result.reason = Some("worker killed by SIGSEGV".to_owned());
        result.estimate = None;
        result.round_values.clear();
    }
    let rows = cells(&parts_of(&executors::document(jobs)), "charts-data");
    let eights = rows.iter().filter(|row| row["A"] == "8");
    assert!(eights.clone().count() > 0);
    assert!(eights.into_iter().all(|row| row["H"] == "#N/A" && row["B"] != "#N/A"));
}

#[test]
fn odd_texts_and_numbers_stay_what_they_are() {
    let of = params(&[("=1+1", "@x"), ("workers", "007")]);
    let reason = "r".repeat(40_000);
    let named = ("time", "ns/op");
    let mut odd = executors::without_figure("lock/spin", &of, named, Outcome::Failed, &reason);
    odd.doubts.push(Doubt::Emulated { reason: "=cmd|' /C calc'!A0".to_owned() });
    let bell =
        executors::without_figure("lock/bell", &of, named, Outcome::TimedOut, "a\u{7}\u{0}<&\"b");
    let mut not_a_number = executors::figure("lock/nan", &of, named, 1.0, 0.1);
    not_a_number.round_values[3] = f64::NAN;
    not_a_number.estimate.as_mut().unwrap().high = f64::INFINITY;
    let parts = parts_of(&executors::document(vec![odd, bell, not_a_number]));
    assert!(charts(&parts).is_empty());
    let summary = cells(&parts, "summary");
    let rows = columns(&summary, &["=1+1", "workers", "outcome", "reason", "doubts", "median"]);
    assert_eq!(rows[0][..3], ["@x", "007", "failed"]);
    assert!(rows[0][3].ends_with("(cut: 40000 characters in total, see JSON)"));
    assert!(rows[0][3].len() <= 32_767);
    assert_eq!(rows[0][4], "=cmd|' /C calc'!A0: its times are not this processor's");
    assert_eq!(rows[1][3], "a\u{fffd}\u{fffd}<&\"b");
    assert_eq!(rows[2][2], "failed", "as every export has it");
    let sheets = parts.iter().filter(|(name, _)| name.starts_with("xl/worksheets/"));
    for (name, sheet) in sheets {
        assert!(!sheet.contains("<f>"), "no formula in {name}");
        let is_no_number = |v: &&str| ["nan", "inf", "-inf"].contains(&v.to_lowercase().as_str());
        assert_eq!(between(sheet, "<v>", "</v>").iter().find(|v| is_no_number(v)), None);
    }
}

#[test]
fn a_run_without_results_has_its_sheets_too() {
    let parts = parts_of(&executors::document(Vec::new()));
    let names = between(&parts["xl/workbook.xml"], "<sheet name=\"", "\"");
    assert_eq!(names, ["run", "summary", "raw"]);
    assert_eq!(cells(&parts, "raw").len(), 1);
}

#[test]
fn the_same_document_gives_the_same_bytes() {
    let document = whole_run();
    assert!(workbook(&document).unwrap() == workbook(&document).unwrap());
}

/// Converts the workbook with LibreOffice, which tests that another program can read it.
fn converted(bytes: &[u8], folder: &Path) -> BTreeMap<String, String> {
    std::fs::write(folder.join("run.xlsx"), bytes).unwrap();
    let profile = format!("-env:UserInstallation=file://{}", folder.join("profile").display());
    let output = Command::new("soffice")
        .args(["--headless", "--norestore", &profile, "--convert-to", "ods", "run.xlsx"])
        .current_dir(folder)
        .output()
        .expect("soffice starts");
    let said = String::from_utf8_lossy(&output.stderr);
    let ods = std::fs::read(folder.join("run.ods"));
    parts(&ods.unwrap_or_else(|_| panic!("soffice did not convert the workbook: {said}")))
}

#[test]
fn libreoffice_opens_the_workbook_and_keeps_its_charts() {
    let is_there = Command::new("soffice").arg("--version").output().is_ok();
    if testing::skip_unless(is_there, "LibreOffice is not installed") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut document = whole_run();
    for result in &mut document.results {
        result.round_values.truncate(1);
    }
    let parts = converted(&workbook(&document).unwrap(), folder.path());
    let is_chart = |(name, text): &(&String, &String)| {
        name.starts_with("Object ")
            && name.ends_with("/content.xml")
            && text.contains("<chart:chart ")
    };
    let charts: Vec<&String> = parts.iter().filter(is_chart).map(|(_, text)| text).collect();
    assert_eq!(charts.len(), 2 * 3 * 2 * 3 + 1 + 1);
    for chart in charts {
        let series = between(chart, "<chart:series ", "</chart:series>");
        assert!([2, 3, 4].contains(&series.len()), "{}", series.len());
        for series in series {
            let values = between(series, "chart:values-cell-range-address=\"", "\"");
            assert!(values[0].contains("charts-data"), "{values:?}");
            assert!(series.contains("<chart:error-indicator "), "{series}");
        }
    }
    let content = &parts["content.xml"];
    assert!(content.contains("table:name=\"raw\"") && content.contains("18446744073709551615"));
}
