//! The tables of the area `concurrency`, at usual widths.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use measure::Doubt;
use proptest::prelude::*;
use report::{Page, closing_line, results_tables};
use results::{CaseResult, Outcome};
use simulated::text::any_ending;

use crate::executors;
use crate::pages::{ASCII, NARROW, check_colour, check_results};

/// Jobs of two kinds with more executors than fit a page, some of which failed, are doubtful or unsupported.
fn odd_jobs() -> Vec<CaseResult> {
    const EXECUTORS: [&str; 7] =
        ["serial", "threads", "threads-up-front", "pool", "rayon", "tokio", "tokio-current"];
    let ways = [("one", "longest", "25"), ("one", "shortest", "25"), ("all", "longest", "4")];
    let bases = [("450us", 4.5e5), ("2430ms", 2.43e9)];
    let mut results = executors::jobs(&EXECUTORS, &["mixed"], &ways, &bases);
    for result in &mut results {
        let is = |key: &str, value: &str| result.params[key] == value;
        if is("executor", "tokio") && is("base", "2430ms") && is("jobs", "17") {
            result.doubts.push(Doubt::FewRounds);
        }
    }
    let ended = |executor: &str, base: &str, outcome: Outcome, why: &str| -> Vec<CaseResult> {
        let cells = executors::jobs(&[executor], &["mixed"], &ways, &[(base, 1e6)]);
        let times = cells.into_iter().filter(|result| result.metric == "time");
        let unit = ("time", "ns/op");
        times.map(|r| executors::without_figure(&r.case, &r.params, unit, outcome, why)).collect()
    };
    let denied = "pthread_create: resource temporarily unavailable (EAGAIN)";
    results.retain(|r| r.params["executor"] != "threads" || r.params["base"] != "2430ms");
    results.extend(ended("threads", "2430ms", Outcome::Failed, denied));
    results.extend(ended("processes", "2430ms", Outcome::Unsupported, "no fork on Windows"));
    results.retain(|r| r.params["executor"] != "serial" || r.params["jobs"] != "17");
    results
}

#[test]
fn each_case_has_its_tables() {
    for (name, run) in [
        ("executors_80", executors::default_jobs()),
        ("executors_odd_80", odd_jobs()),
        ("degrees_80", executors::degrees()),
        ("worth_80", executors::worth()),
        ("candidates_80", executors::answer()),
    ] {
        assert_snapshot!(name, results_tables(&run, &NARROW));
    }
    let executors = ["serial", "threads", "tokio"];
    let (ways, bases) = ([("one", "longest", "25")], [("50us", 5e4), ("4.05ms", 4.05e6)]);
    let part = executors::jobs(&executors, &["cpu", "wait"], &ways, &bases);
    assert_snapshot!("executors_ascii", results_tables(&part, &ASCII));
    assert_snapshot!("degrees_ascii", results_tables(&executors::degrees(), &ASCII));
}

#[test]
fn derived_metrics_are_not_counted_as_cases() {
    let closing = |results: &[CaseResult]| closing_line(results, None, &NARROW);
    assert_eq!(closing(&executors::default_jobs()), "162 points: 162 measured\n");
    assert_eq!(closing(&executors::degrees()), "16 points: 16 measured\n");
    assert_eq!(closing(&executors::worth()), "50 points: 50 measured\n");
}

#[test]
fn other_areas_and_unknown_shapes_have_the_tables_of_all_areas() {
    let mut run = executors::answer();
    let mut later = run[0].clone();
    later.case = "concurrency/jobs".to_owned();
    later.params.insert("numa".to_owned(), "node0".to_owned());
    let again = CaseResult { outcome: Outcome::Failed, ..run[1].clone() };
    run.extend([later, again]);
    let text = results_tables(&run, &NARROW);
    let generic = text.split_once("concurrency/answer").unwrap().0;
    assert!(generic.contains("node0"), "{text}");
    assert!(generic.contains("failed: no reason was given"), "{text}");
}

#[test]
fn colour_adds_nothing_but_colour() {
    let run = [odd_jobs(), executors::degrees(), executors::worth(), executors::answer()].concat();
    check_colour(|page| results_tables(&run, page));
}

/// A case of the area, with values of its parameters that may be odd.
fn named() -> impl Strategy<Value = (String, BTreeMap<String, String>)> {
    let values = |list: &'static [&'static str]| prop::sample::select(list);
    let executor = values(&["serial", "threads", "rayon", "tokio", "fibres", "Fibre"]);
    let kind = values(&["cpu", "wait", "mixed", "odd-kind"]);
    let length = values(&["1us", "450us", "4.05ms", "2430ms", "long", "999999999s"]);
    let number = values(&["1", "2", "17", "999999", "many"]);
    let way = (values(&["one", "all", "0-3"]), values(&["longest", "shuffled", "given"]));
    let case = values(&["jobs", "degree", "worth", "answer", "later"]);
    let lacks = prop::option::weighted(0.2, 0..6usize);
    (case, executor, kind, length, (number.clone(), number), way, lacks).prop_map(
        |(case, executor, kind, length, (jobs, degree), (cpus, order), lacks)| {
            let own: &[&str] = match case {
                "jobs" => &["base", "cpus", "degree", "executor", "jobs", "kind", "order"],
                "degree" => &["degree", "executor", "jobs", "kind", "length"],
                "worth" => &["degree", "executor", "jobs", "length"],
                "answer" => &["degree", "executor", "list", "order"],
                _ => &["executor", "numa"],
            };
            let value = |key: &str| match key {
                "base" | "length" => length,
                "executor" => executor,
                "kind" => kind,
                "jobs" => jobs,
                "degree" => degree,
                "cpus" => cpus,
                "order" => order,
                _ => "jobs.txt#1a2b3c4d",
            };
            let kept = own.iter().enumerate().filter(|(at, _)| Some(*at) != lacks);
            let params = kept.map(|(_, key)| ((*key).to_owned(), value(key).to_owned()));
            (format!("concurrency/{case}"), params.collect())
        },
    )
}

fn result() -> impl Strategy<Value = CaseResult> {
    const METRICS: [(&str, &str); 10] = [
        ("time", "ns/op"),
        ("time", "ns/op"),
        ("turnaround", "x"),
        ("turnaround-worst", "x"),
        ("overhead", "share"),
        ("work-error", "share"),
        ("rate", "jobs/s"),
        ("usl-knee", "degree"),
        ("amdahl-serial", "share"),
        ("shortest-job", "ns"),
    ];
    (named(), prop::sample::select(&METRICS[..]), any_ending()).prop_map(
        |((case, params), (metric, unit), ending)| {
            let (metric, unit) = (metric.to_owned(), unit.to_owned());
            CaseResult { case, params, metric, unit, ..ending }
        },
    )
}

/// Forms in which tables may show the value of a parameter.
fn words_of(value: &str) -> Vec<String> {
    let spaced = value.replacen(|c: char| c.is_ascii_alphabetic(), "\0", 1);
    let unit = spaced.find('\0').map(|at| format!("{} {}", &value[..at], &value[at..]));
    let said = if value == "cpu" { "CPU-bound" } else { value };
    [Some(said.to_owned()), Some(value.to_owned()), unit.filter(|unit| !unit.starts_with(' '))]
        .into_iter()
        .flatten()
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_line_is_wider_than_the_page(
        results in prop::collection::vec(result(), 0..24), width in 60usize..200, unicode: bool
    ) {
        let page = Page { width, colour: false, unicode, this_run: false };
        check_results(&results, &page)?;
    }

    #[test]
    fn every_distinguishing_parameter_is_shown(
        results in prop::collection::vec(result(), 1..12), width in 60usize..200
    ) {
        let text = results_tables(&results, &Page { width, colour: false, unicode: true, this_run: false });
        let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // Unsupported rows are folded: the executor is named with the reason.
        let exists = |result: &&CaseResult| result.outcome != Outcome::Unsupported;
        for (key, value) in results.iter().filter(exists).flat_map(|result| &result.params) {
            let found = words_of(value).iter().any(|words| said.contains(words.as_str()));
            prop_assert!(found || said.contains("list`): "), "{key}={value} in\n{text}");
        }
    }
}
