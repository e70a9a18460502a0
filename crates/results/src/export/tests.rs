use proptest::prelude::*;

use super::*;
use crate::document::{CaseResult, Direction, Outcome};
use crate::import::parse_document;
use crate::samples::{any_document, document, measured, strings, unsupported};

#[test]
fn json_has_one_key_a_line_and_ends_with_a_newline() {
    let text = to_json(&document());
    let start = "{\n  \"schema\": 1,\n  \"run\": {\n    \"id\": \"20261121-203655-4f2a\",\n";
    assert!(text.starts_with(start));
    assert!(text.ends_with("}\n"));
    assert!(text.lines().all(|line| line.matches("\": ").count() <= 1));
}

#[test]
fn figures_that_cannot_be_true_are_exported_as_failures() {
    let mut broken = document();
    broken.results[0].estimate.as_mut().expect("measured").median = f64::NAN;
    let read = parse_document(&to_json(&broken)).expect("still a document");
    assert_eq!(read.results[0].outcome, Outcome::Failed);
    let reason = read.results[0].reason.as_deref();
    assert_eq!(reason, Some("the figures cannot be true: estimate.median is not a finite number"));
    assert_eq!(read.results[1], document().results[1]);
    assert!(to_csv(&broken).contains(",failed,"));
    assert!(to_benchstat(&broken).contains("# syscall/getppid{as=threads,workers=2}: failed: "));
}

#[test]
fn no_text_of_a_csv_is_a_formula_and_numbers_stay_numbers() {
    let mut odd = document();
    let link = "=HYPERLINK(\"https://example.com\")";
    for (result, reason) in odd.results.iter_mut().zip(["-2.5", link]) {
        *result = CaseResult {
            reason: Some(reason.to_owned()),
            ..unsupported(&format!("+{}", result.case))
        };
        result.params.insert("@SUM(1+1)".to_owned(), "x".to_owned());
    }
    let text = to_csv(&odd);
    let mut rows = ::csv::Reader::from_reader(text.as_bytes());
    let headers = rows.headers().expect("a header").clone();
    let column = |name: &str| headers.iter().position(|header| header == name);
    let columns = ["case", "params", "reason", "median"].map(|name| column(name).expect(name));
    let rows: Vec<_> = rows.records().map(|row| row.expect("a row")).collect();
    let cells = |row: usize| columns.map(|column| rows[row][column].to_owned());
    let case = |row: usize| format!("'{}", odd.results[row].case);
    assert_eq!(cells(0), [&case(0), "'@SUM(1+1)=x", "-2.5", ""]);
    assert_eq!(cells(1), [&case(1), "'@SUM(1+1)=x", &format!("'{link}"), ""]);
}

#[test]
fn csv_has_a_row_for_each_result_and_no_zero_for_what_was_not_measured() {
    let text = to_csv(&document());
    let (header, rows) = text.split_once("\r\n").expect("a header");
    let names = "run,case,params,metric,unit,better,outcome,reason,median,low,high,level,min,";
    assert!(header.starts_with(names));
    let (measured, unsupported) = rows.split_once("\r\n").expect("two rows");
    assert_eq!(
        measured,
        "20261121-203655-4f2a,syscall/getppid,as=threads;workers=2,time,ns/op,lower,measured,,165.2,164.2,167.2,\
         0.95,160,161,164,166,170,220.5,300,171.25,0.93,3,1501,true,1,,,,,,,660.8,656.8,668.8,,,,162.2,169.2,14,164.7,\
         166.2"
    );
    assert_eq!(
        unsupported,
        format!(
            "20261121-203655-4f2a,lock/sysv-sem,,time,ns/op,lower,unsupported,\
             \"no SysV IPC,\nsays \"\"the sandbox\"\"\"{}\r\n",
            ",".repeat(34)
        )
    );
}

#[test]
fn benchstat_text_has_a_line_for_each_round() {
    assert_eq!(
        to_benchstat(&document()),
        "goos: linux\ngoarch: amd64\npkg: oscost\ncpu: AMD EPYC 7B13\n\
         BenchmarkSyscallGetppid/as=threads/workers=2 500 165.2 ns/op 660.8 cycles/op\n\
         BenchmarkSyscallGetppid/as=threads/workers=2 500 165.7 ns/op 662.8 cycles/op\n\
         BenchmarkSyscallGetppid/as=threads/workers=2 500 164.95 ns/op 659.8 cycles/op\n\
         # lock/sysv-sem: unsupported: no SysV IPC, says \"the sandbox\"\n"
    );
}

#[test]
fn benchstat_names_and_units_are_plain_and_have_no_cpu_suffix() {
    let mut odd = document();
    odd.machine.clear();
    let params = strings(&[("how many", "1/2 x"), ("kernel", "fork-2")]);
    let case = CaseResult::blank("net/accept-many", params, "rate", "pairs/s", Direction::Higher);
    odd.results = vec![CaseResult { estimate: measured("a/b", 5.0).estimate, ..case }];
    assert_eq!(
        to_benchstat(&odd),
        "pkg: oscost\nUnit rate-pairs/s better=higher\n\
         BenchmarkNetAcceptMany/how_many=1_2_x/kernel=fork_2 1 5 rate-pairs/s\n"
    );
}

/// A reader of RFC 4180, written independently of the writer.
fn read_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !quoted && chars.peek() == Some(&'\n') => {
                chars.next();
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            other => cell.push(other),
        }
    }
    rows
}

proptest! {
    #[test]
    fn csv_reads_back_whatever_the_texts_hold(document in any_document()) {
        let rows = read_csv(&to_csv(&document));
        prop_assert_eq!(rows.len(), 1 + document.results.len());
        for (row, result) in rows[1..].iter().zip(&document.results) {
            prop_assert_eq!(row.len(), rows[0].len());
            prop_assert_eq!(&row[1], &result.case);
            prop_assert_eq!(&row[7], result.reason.as_deref().unwrap_or_default());
            prop_assert_eq!(row[8].parse().ok(), result.estimate.map(|estimate| estimate.median));
        }
    }

    #[test]
    fn benchstat_lines_are_all_of_the_format(document in any_document()) {
        for line in to_benchstat(&document).lines() {
            prop_assert!(!line.contains(char::is_control));
            if let Some(line) = line.strip_prefix("Benchmark") {
                let fields: Vec<&str> = line.split(' ').collect();
                match fields.len() {
                    4 => {}
                    6 => {
                        prop_assert!(fields[4].parse::<f64>().expect("cycles").is_finite());
                        prop_assert_eq!(fields[5], "cycles/op");
                    }
                    n => prop_assert!(false, "{} fields", n),
                }
                prop_assert!(fields[1].parse::<u64>().expect("iterations") >= 1);
                prop_assert!(fields[2].parse::<f64>().expect("a value").is_finite());
            }
        }
    }

    #[test]
    fn json_formats_are_json_of_what_was_measured(document in any_document()) {
        let measured = document.results.iter().filter(|result| result.estimate.is_some());
        let are_times = |result: &&CaseResult| ["ns/op", "ns"].contains(&result.unit.as_str());
        let times = measured.clone().filter(are_times).count();
        for format in TEXT_FORMATS {
            let text = (format.write)(&document);
            let json = || serde_json::from_str::<serde_json::Value>(&text).expect("JSON");
            match format.name {
                "hyperfine" => {
                    prop_assert_eq!(json()["results"].as_array().map(Vec::len), Some(times));
                }
                "github-smaller" => {
                    let smaller = measured.clone().filter(|r| r.better == Direction::Lower);
                    prop_assert_eq!(json().as_array().map(Vec::len), Some(smaller.count()));
                }
                "bencher" | "pyperf" => drop(json()),
                _ => {}
            }
        }
    }

    #[test]
    fn openmetrics_is_one_sample_a_line_and_no_series_twice(document in any_document()) {
        let format = TEXT_FORMATS.iter().find(|format| format.name == "openmetrics");
        let text = (format.expect("the format").write)(&document);
        prop_assert!(text.ends_with("# EOF\n"));
        let mut families = std::collections::BTreeSet::new();
        let mut known = std::collections::BTreeSet::new();
        let mut family = String::new();
        for line in text.trim_end_matches('\n').split('\n') {
            if let Some(of_type) = line.strip_prefix("# TYPE ") {
                family = of_type.trim_end_matches(" gauge").to_owned();
                prop_assert!(families.insert(family.clone()), "{} begins twice", family);
            }
            if line.starts_with('#') {
                continue;
            }
            let (series, value) = line.rsplit_once(' ').expect("a value");
            prop_assert!(value.parse::<f64>().expect("a number").is_finite());
            let labels = series.strip_prefix(family.as_str()).expect("the family's name");
            let is_set = labels.starts_with('{') && labels.ends_with('}');
            prop_assert!(labels.is_empty() || is_set);
            prop_assert!(known.insert(series.to_owned()), "{} is there twice", series);
        }
    }
}
