use std::path::{Path, PathBuf};
use std::time::SystemTime;

use measure::Doubt;
use measure::doubt::OtherSpread;
use proptest::prelude::*;
use serde_json::Value;
use testing::rows;

use super::*;
use crate::document::{CaseResult, Direction, Document, Estimate, Outcome};
use crate::export::{TEXT_FORMATS, to_csv, to_json};
use crate::import::parse_document;

/// When the file was written, as the tests have it.
const WRITTEN: SystemTime = SystemTime::UNIX_EPOCH;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/other_tools").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(data(name)).expect("a file of the repository").replace("\r\n", "\n")
}

fn format(name: &str) -> &'static ToolFormat {
    TOOL_FORMATS.iter().find(|format| format.name == name).expect("a format")
}

fn import(tool: &str, file: &str) -> Document {
    let path = data(file);
    let text = if path.is_dir() { String::new() } else { text(file) };
    format(tool).document(&path, &text, WRITTEN).expect(file).0
}

/// The message about a text, without the file's name.
fn problem(tool: &str, text: &str) -> String {
    let read = format(tool).document(Path::new("x"), text, WRITTEN);
    read.expect_err(text).error.to_string()
}

/// The result of this point, such as `go/Copy{size=64}`, and metric.
#[track_caller]
fn result<'d>(document: &'d Document, label: &str, metric: &str) -> &'d CaseResult {
    let found = document.results.iter().find(|r| r.label() == label && r.metric == metric);
    let all = || document.results.iter().map(|r| format!("{} {}", r.label(), r.metric));
    found
        .unwrap_or_else(|| panic!("{label} {metric} is not among {:#?}", all().collect::<Vec<_>>()))
}

#[track_caller]
fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{value}, expected {expected}");
}

fn spread(result: &CaseResult) -> OtherSpread {
    match result.doubts.first() {
        Some(Doubt::OtherTool { spread, .. }) => *spread,
        other => panic!("not marked as another tool's: {other:?}"),
    }
}

const FILES: [(&str, &str); 10] = [
    ("hyperfine", "hyperfine.json"),
    ("hyperfine", "hyperfine-2.json"),
    ("hyperfine", "hyperfine-params.json"),
    ("pyperf", "pyperf.json"),
    ("criterion", "criterion"),
    ("go", "go.txt"),
    ("google-benchmark", "google-benchmark.json"),
    ("google-benchmark", "google-benchmark-aggregates.json"),
    ("lmbench", "lmbench.txt"),
    ("perf-bench", "perf-bench.txt"),
];

#[test]
fn files_that_the_tools_wrote_become_valid_documents_in_which_every_figure_is_marked() {
    for (tool, file) in FILES {
        let document = import(tool, file);
        assert_eq!(document.check(), Ok(()), "{file}");
        assert_eq!(parse_document(&to_json(&document)), Ok(document.clone()), "{file}");
        assert!(document.other_tool().is_some_and(|named| named.starts_with(tool)), "{file}");
        for result in &document.results {
            assert!(result.case.starts_with(&format!("{tool}/")), "{}", result.case);
            if result.outcome == Outcome::Measured {
                let kind = spread(result);
                let estimate = result.estimate.expect("measured");
                // Without several values there is no interval, unless the tool has one.
                let has_evidence = result.round_values.len() >= 3 || kind == OtherSpread::Samples;
                assert_eq!(estimate.has_interval(), has_evidence, "{file}: {}", result.label());
            }
        }
        assert!(to_csv(&document).contains(&format!("measured by {tool}")), "{file}");
        assert_eq!(import(tool, file), document, "{file}: the same file is the same run");
    }
}

#[test]
fn hyperfine_keeps_the_time_of_each_process() {
    let document = import("hyperfine", "hyperfine.json");
    let theirs: Value = serde_json::from_str(&text("hyperfine.json")).unwrap();
    let theirs = &theirs["results"][0];
    assert_eq!(theirs["command"], "sleep 0.001");
    let time = result(&document, "hyperfine/sleep-0.001{command=sleep 0.001}", "time");
    assert_eq!((time.rounds, time.unit.as_str(), time.better), (12, "ns/op", Direction::Lower));
    assert_eq!(spread(time), OtherSpread::Processes);
    close(time.estimate.unwrap().median, theirs["median"].as_f64().unwrap() * 1e9);
    close(time.seen.unwrap().mean, theirs["mean"].as_f64().unwrap() * 1e9);
    close(time.seen.unwrap().min, theirs["min"].as_f64().unwrap() * 1e9);
    close(time.round_values[0], theirs["times"][0].as_f64().unwrap() * 1e9);
    let user = result(&document, "hyperfine/sleep-0.001{command=sleep 0.001}", "user");
    close(user.estimate.unwrap().median, theirs["user"].as_f64().unwrap() * 1e9);
    assert_eq!(user.estimate.unwrap().low, f64::NEG_INFINITY);
    assert_eq!(document.run.started, "1970-01-01T00:00:00Z");
    let swept = import("hyperfine", "hyperfine-params.json");
    result(&swept, "hyperfine/expr-2-+-1{command=expr 2 + 1,n=2}", "time");
}

#[test]
fn version_2_of_hyperfine_has_values_of_every_metric() {
    let document = import("hyperfine", "hyperfine-2.json");
    assert_eq!(document.other_tool(), Some("hyperfine 2.0.0"));
    assert_eq!(document.run.started, "2026-11-27T14:02:40Z");
    assert_eq!(document.machine_line(), "Linux x86_64");
    let theirs: Value = serde_json::from_str(&text("hyperfine-2.json")).unwrap();
    let summary = &theirs["results"][1]["summary"];
    assert_eq!(theirs["results"][1]["command"], "true");
    for (metric, of, factor) in [
        ("time", "time_wall_clock", 1e9),
        ("user", "time_user", 1e9),
        ("system", "time_system", 1e9),
        ("memory_peak_resident", "memory_peak_resident", 1.0),
    ] {
        let ours = result(&document, "hyperfine/true", metric);
        assert_eq!((ours.rounds, spread(ours)), (8, OtherSpread::Processes));
        close(ours.estimate.unwrap().median, factor * summary[of]["median"].as_f64().unwrap());
    }
}

#[test]
fn a_command_that_failed_is_doubted() {
    let text = text("hyperfine.json").replacen("        0,\n", "        3,\n", 2);
    let document = format("hyperfine").document(Path::new("x"), &text, WRITTEN).unwrap().0;
    let doubt = Doubt::CommandFailed { how: "failed in 2 of 12 runs".to_owned() };
    assert!(document.results[0].doubts.contains(&doubt), "{:?}", document.results[0].doubts);
}

#[test]
fn pyperf_has_a_value_for_each_process() {
    let document = import("pyperf", "pyperf.json");
    assert_eq!(document.other_tool(), Some("pyperf 2.11.0"));
    let time = result(&document, "pyperf/getppid", "time");
    // Four processes of three values; `pyperf show` prints 204 ns +- 3 ns.
    assert_eq!((time.rounds, time.samples), (4, 12));
    let mean = time.round_values.iter().sum::<f64>() / 4.0;
    assert!((203.5..204.5).contains(&mean), "{mean}");
    assert_eq!(spread(time), OtherSpread::Processes);
    assert_eq!(document.machine["cpu"], "AMD EPYC");
}

#[test]
fn criterion_keeps_its_own_interval_and_has_no_rounds() {
    let document = import("criterion", "criterion");
    let time = result(&document, "criterion/getpid", "time");
    let Some(Estimate { median, low, high, level }) = time.estimate else { panic!() };
    close(median, 212.649_211_494_763_88);
    close(low, 193.376_596_964_402_72);
    close(high, 255.876_094_974_642_68);
    close(level, 0.95);
    assert_eq!((spread(time), time.rounds, time.samples), (OtherSpread::Samples, 1, 20));
    assert!(time.round_values.is_empty());
    // 534,664 ns of 3,856 iterations, and 5,648,626 of 11,568.
    let seen = time.seen.unwrap();
    assert!(seen.min <= 534_664.0 / 3_856.0 && seen.p99 > 480.0, "{seen:?}");
    result(&document, "criterion/copy-bytes-memcpy-64{name=copy bytes/memcpy/64}", "time");
}

#[test]
fn go_has_a_value_for_each_line_in_every_unit() {
    let document = import("go", "go.txt");
    let time = result(&document, "go/Getppid{procs=2}", "time");
    assert_eq!(time.round_values, [165.6, 176.6, 190.8, 255.9, 247.0]);
    close(time.estimate.unwrap().median, 190.8);
    assert_eq!(spread(time), OtherSpread::Repetitions);
    let label = "go/Copy{procs=2,size=4096}";
    let bandwidth = result(&document, label, "bandwidth");
    assert_eq!((bandwidth.unit.as_str(), bandwidth.better), ("bytes/s", Direction::Higher));
    close(bandwidth.round_values[0], 72_030.14e6);
    close(result(&document, label, "half/op").estimate.unwrap().median, 2048.0);
    close(result(&document, "go/Getppid{procs=2}", "allocated").estimate.unwrap().median, 0.0);
    let failed = result(&document, "go/Fails", "time");
    assert_eq!((failed.outcome, failed.reason.as_deref()), (Outcome::Failed, Some("it failed")));
    assert_eq!(document.machine["os"], "Linux");
    assert_eq!(document.machine["arch"], "x86_64");
}

#[test]
fn our_own_text_for_benchstat_is_read_as_go_s() {
    let ours = crate::samples::document();
    let text = crate::export::to_benchstat(&ours);
    let read = format("go").document(Path::new("x"), &text, WRITTEN).unwrap().0;
    let time = result(&read, "go/SyscallGetppid{as=threads,workers=2}", "time");
    assert_eq!(time.round_values, ours.results[0].round_values);
}

#[test]
fn google_benchmark_has_repetitions_or_its_median() {
    let document = import("google-benchmark", "google-benchmark.json");
    let theirs: Value = serde_json::from_str(&text("google-benchmark.json")).unwrap();
    let entries = theirs["benchmarks"].as_array().unwrap();
    let of = |name: &str, key: &str| {
        entries.iter().find(|entry| entry["name"] == name).unwrap()[key].as_f64().unwrap()
    };
    let time = result(&document, "google-benchmark/BM_getppid", "time");
    assert_eq!((time.rounds, spread(time)), (5, OtherSpread::Repetitions));
    close(time.estimate.unwrap().median, of("BM_getppid_median", "real_time"));
    let label = "google-benchmark/BM_copy-4096{name=BM_copy/4096}";
    // The unit of this one is us.
    let copy = result(&document, label, "time").estimate.unwrap();
    close(copy.median, 1e3 * of("BM_copy/4096_median", "real_time"));
    let bandwidth = result(&document, label, "bandwidth");
    close(bandwidth.estimate.unwrap().median, of("BM_copy/4096_median", "bytes_per_second"));
    assert_eq!(bandwidth.better, Direction::Higher);
    assert_eq!(result(&document, label, "half").better, Direction::Neither);
    let skipped = result(&document, "google-benchmark/BM_skipped", "time");
    assert_eq!(skipped.reason.as_deref(), Some("no such device"));
    assert_eq!(document.run.started, "2026-11-27T13:18:31+00:00");

    let aggregates = import("google-benchmark", "google-benchmark-aggregates.json");
    let time = result(&aggregates, "google-benchmark/BM_getppid", "time");
    assert_eq!((time.rounds, spread(time)), (1, OtherSpread::Nothing));
}

#[test]
fn lmbench_has_single_numbers_and_its_two_tables() {
    let document = import("lmbench", "lmbench.txt");
    assert_eq!(document.other_tool(), Some("lmbench 3.0"));
    assert_eq!(document.machine["release"], "6.18.44-fc-v595");
    let figure = |label: &str, metric: &str| {
        let result = result(&document, label, metric);
        assert_eq!(spread(result), OtherSpread::Nothing);
        result.estimate.unwrap().median
    };
    close(figure("lmbench/Simple-syscall", "time"), 416.4);
    close(figure("lmbench/Process-fork+exit", "time"), 269_107.1);
    close(figure("lmbench/Pipe-bandwidth", "bandwidth"), 2_925.25e6);
    close(figure("lmbench/integer-div", "time"), 2.75);
    close(figure("lmbench/context-switch{processes=4,size=0k}", "time"), 3_570.0);
    close(figure("lmbench/context-switch{processes=2,size=16k}", "time"), 2_040.0);
    close(figure("lmbench/memory-read-latency{megabytes=1.00000,stride=128}", "time"), 7.075);
}

#[test]
fn perf_bench_has_one_number_for_each_heading() {
    let document = import("perf-bench", "perf-bench.txt");
    let figure =
        |label: &str, metric: &str| result(&document, label, metric).estimate.unwrap().median;
    close(figure("perf-bench/syscall-basic", "time"), 247.37);
    close(figure("perf-bench/sched-pipe", "time"), 10_818.9);
    let copy = "perf-bench/mem-memcpy{function=default}";
    close(figure(copy, "bandwidth"), 44.7144 * 1024.0 * 1024.0 * 1024.0);
    close(figure("perf-bench/futex-hash", "rate"), 1_692_160.0);
    assert_eq!(result(&document, "perf-bench/sched-messaging", "elapsed").unit, "ns");
    let unknown = result(&document, "perf-bench/internals-synthesize", "time");
    assert_eq!(unknown.outcome, Outcome::Failed);
    assert!(unknown.reason.as_deref().unwrap().contains("knows no figure"));
}

#[test]
fn malformed_files_are_refused_with_the_line_and_the_problem() {
    let hyperfine = text("hyperfine.json");
    let pyperf = text("pyperf.json");
    let whole = [
        ("hyperfine", "", "line 1: not valid JSON: EOF"),
        ("hyperfine", &hyperfine[..400], "line 17: not valid JSON: EOF"),
        ("hyperfine", "{}", "line 1: the document: missing field `results`"),
        ("hyperfine", "{\"results\": []}", "line 1: no results of hyperfine are in it"),
        ("hyperfine", &*pyperf, "line 1: metadata.platform: invalid type: string"),
        ("pyperf", &*hyperfine, "missing field `"),
        ("go", "PASS\nok x 1s\n", "line 1: no line of it is a benchmark's"),
        ("lmbench", "hello\n", "line 1: no line of it is one of lmbench's"),
        ("lmbench", "\n\nPipe latency: fast microseconds\n", "line 3: \"fast\" is not a number"),
        ("lmbench", "\"size=0k ovr=1\n2 1.5\n4 x\n", "line 3: \"x\" is not a number"),
        ("perf-bench", "# Executed 5\n", "line 1: no line of it is a heading"),
        (
            "perf-bench",
            "# Running 'sched/pipe' benchmark:\n fast usecs/op\n",
            "line 2: \"fast\" is not a number",
        ),
    ];
    let whole = whole.map(|(tool, text, expected)| (tool, text.to_owned(), expected));
    let changed = rows(
        r#"
        hyperfine.json | 0.002137594 | "fast" | line 13: results[0].times[0]: invalid type: string "fast", expected a number
        hyperfine.json | 0.002137594 | -0.002 | line 13: results[0].times[0]: -0.002 is below 0
        hyperfine.json | "command" | "comand" | missing field `command`
        hyperfine-2.json | 0.002152797 | -1.0 | line 18: results[0].measurements[0].time_wall_clock.value: -1 is below 0
        pyperf.json | "version":"1.0" | "version":"9" | version 9 is not 1.0
        google-benchmark.json | "us" | "fortnights" | unknown variant `fortnights`
        go.txt | 165.6 | fast | line 5: "fast" is not a value in ns/op
        go.txt | 142464 | many | line 5: "many" is not the number of iterations
        go.txt | ns/op |  | line 5: the values and units of a benchmark are not in pairs
        "#,
    );
    let changed = changed.map(|[file, old, new, expected]| {
        let tool = FILES.iter().find(|(_, name)| *name == file).unwrap().0;
        (tool, text(file).replacen(old, new, 1), expected)
    });
    for (tool, text, expected) in whole.into_iter().chain(changed) {
        let said = problem(tool, &text);
        assert!(said.contains(expected), "{tool}: {said}, expected {expected}");
    }
}

#[test]
fn a_folder_of_criterion_names_the_file_that_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("a/new");
    std::fs::create_dir_all(&new).unwrap();
    for file in ["benchmark.json", "estimates.json", "sample.json"] {
        std::fs::copy(data("criterion/getpid/new").join(file), new.join(file)).unwrap();
    }
    let read = || format("criterion").document(folder.path(), "", WRITTEN);
    assert_eq!(read().unwrap().0.results.len(), 1);
    std::fs::write(new.join("sample.json"), "{\n\"iters\": [1.0],\n\"times\": [1.0, 2.0]}")
        .unwrap();
    let said = read().unwrap_err();
    assert_eq!(said.file, new.join("sample.json"));
    assert_eq!(said.error.to_string(), "line 1: 1 iterations for 2 times");
    std::fs::write(new.join("estimates.json"), "{\n\"median\": 7}").unwrap();
    let said = read().unwrap_err().to_string();
    assert!(said.contains("estimates.json: line 2: median: invalid type"), "{said}");
    std::fs::remove_dir_all(&new).unwrap();
    assert!(read().unwrap_err().to_string().contains("no results of criterion"));
}

#[test]
fn a_name_that_is_there_twice_gets_a_number() {
    let text = text("hyperfine.json").replace("\"true\"", "\"sleep 0.001\"");
    let document = format("hyperfine").document(Path::new("x"), &text, WRITTEN).unwrap().0;
    assert_eq!(document.check(), Ok(()));
    result(&document, "hyperfine/sleep-0.001{command=sleep 0.001,entry=2}", "time");
}

#[test]
fn a_command_without_a_time_is_a_failure_and_no_missing_row() {
    let text = "{\"results\": [{\"command\": \"a\"}]}";
    let document = format("hyperfine").document(Path::new("x"), text, WRITTEN).unwrap().0;
    let result = result(&document, "hyperfine/a", "time");
    assert_eq!(result.reason.as_deref(), Some("the file has no time of it"));
}

proptest! {
    #[test]
    fn a_cut_or_spliced_file_never_panics_and_is_a_document_or_an_error(
        at in 0..FILES.len(),
        cut in any::<prop::sample::Index>(),
        skip in any::<prop::sample::Index>(),
        piece in r#"[\[\]{}",:0-9eE.+\n -]{0,6}|null|"[a-z/]{0,5}":|ns/op"#,
    ) {
        let (tool, file) = FILES[at];
        if !data(file).is_dir() {
            let text = text(file);
            let cut = cut.index(text.len());
            let rest = cut + skip.index((text.len() - cut).min(200));
            // All files are ASCII.
            let spliced = format!("{}{piece}{}", &text[..cut], &text[rest..]);
            match format(tool).document(Path::new("x"), &spliced, WRITTEN) {
                Ok((document, _)) => {
                    prop_assert_eq!(document.check(), Ok(()));
                    for format in TEXT_FORMATS {
                        (format.write)(&document);
                    }
                }
                Err(error) => prop_assert!(error.error.line >= 1 && !error.error.message.is_empty()),
            }
        }
    }
}

/// google-benchmark's entries of one benchmark beside its fits in the old form.
#[test]
fn what_did_not_run_or_is_a_fit_has_no_figure() {
    let entry = |rest: &str| {
        let text = format!(
            r#"{{"context": {{}}, "benchmarks": [{{"name": "sort", {rest}}},
                {{"name": "sort_BigO", "cpu_coefficient": 1.5, "real_coefficient": 1.5, "big_o": "N", "time_unit": "ns"}},
                {{"name": "sort_RMS", "cpu_time": 0.1, "real_time": 0.1, "rms": 0.01}}]}}"#
        );
        format("google-benchmark").document(Path::new("x"), &text, WRITTEN).expect("a document")
    };
    for (rest, outcome, reason) in [
        (
            r#""skipped": true, "skip_message": "no GPU", "iterations": 0, "real_time": 0"#,
            Outcome::Unsupported,
            "skipped: no GPU",
        ),
        (r#""iterations": 0, "real_time": 0"#, Outcome::Failed, "it ran 0 iterations"),
        (r#""iterations": 9, "real_time": 0"#, Outcome::Failed, "its time is 0"),
    ] {
        let (document, left_out) = entry(rest);
        assert_eq!(left_out, ["sort_BigO", "sort_RMS"]);
        assert_eq!(document.results.len(), 1, "{rest}: {:?}", document.results);
        let result = result(&document, "google-benchmark/sort", "time");
        assert_eq!((result.outcome, result.reason.as_deref()), (outcome, Some(reason)), "{rest}");
        assert_eq!(result.estimate, None, "{rest}");
    }
    let (document, _) = entry(r#""iterations": 9, "real_time": 50"#);
    assert_eq!(result(&document, "google-benchmark/sort", "time").outcome, Outcome::Measured);
}

#[test]
fn both_forms_of_perfs_headings_name_the_benchmark() {
    for heading in ["# Running 'sched/pipe' benchmark:", "# Running sched/pipe benchmark..."] {
        let text = format!("{heading}\n\n       4.1 usecs/op\n");
        let (document, _) =
            format("perf-bench").document(Path::new("x"), &text, WRITTEN).expect(heading);
        let time = result(&document, "perf-bench/sched-pipe", "time");
        close(time.estimate.expect("a figure").median, 4_100.0);
    }
}
