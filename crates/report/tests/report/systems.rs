//! The verdict on several systems, the layers between them, and the counts that explain it, at usual widths.

use analysis::{
    Condition, Dimension, Question, Selection, Settings, Table, differing_counts, ladders, tabulate,
};
use insta::assert_snapshot;
use proptest::prelude::*;
use report::{Page, counts_table, ladder_table, systems_summary as summary};
use results::{CaseResult, Document, EMULATED, Outcome, PerOp, PointKey, SYSTEM};
use simulated::{rounds_of, with_extremes};

use crate::pages::{NARROW, WIDE, any_page, check};

/// A time whose rounds are spread evenly within 1 %, in a different order for each `salt`.
fn time(point: PointKey, ns: f64, salt: u64, syscalls: f64) -> CaseResult {
    let round = |n: u64| ns * (1.0 + 0.001 * ((n * 7 + salt * 3) % 11) as f64);
    let rounds: Vec<f64> = (0..8).map(round).collect();
    CaseResult {
        per_op: Some(PerOp { syscalls: Some(syscalls), ..PerOp::default() }),
        ..with_extremes(rounds_of(&point, &rounds))
    }
}

/// A run on the system `name`, where each point costs `factor` times as much as on the others.
fn system(name: &str, factor: impl Fn(&PointKey) -> f64, calls: f64) -> Document {
    crate::install();
    let mut results = Vec::new();
    let mut add = |case: &str, params: &[(&str, &str)], ns: f64, syscalls: f64| {
        let salt = results.len() as u64 + name.len() as u64;
        let point = PointKey { case: case.to_owned(), params: simulated::params(params) };
        let ns = ns * factor(&point);
        results.push(time(point, ns, salt, syscalls * calls));
    };
    add("clock/std-instant", &[], 25.0, 0.0);
    add("syscall/getppid", &[], 85.0, 1.0);
    add("syscall/read-0", &[], 120.0, 1.0);
    add("syscall/open-close", &[], 900.0, 2.0);
    for workers in ["1", "2"] {
        add("lock/sysv-sem", &[("workers", workers)], 400.0, 2.0);
        add("lock/futex", &[("workers", workers)], 18.0, 0.0);
    }
    for connections in ["10", "100", "1000"] {
        for (arch, ns) in [("fork", 9e4), ("threads", 3e4), ("epoll", 2e4), ("io_uring", 1.8e4)] {
            add("net/answer", &[("arch", arch), ("connections", connections)], ns, 4.0);
        }
    }
    let core_clock_ghz = simulated::run_at_3_75_ghz().core_clock_ghz;
    let mut document = simulated::document(name, results);
    document.run.core_clock_ghz = core_clock_ghz;
    document
}

fn gvisor() -> Document {
    let factor = |point: &PointKey| match point.area() {
        "syscall" => 8.0,
        _ if point.params.get("arch").is_some_and(|arch| arch == "io_uring") => 4.0,
        _ if point.name().contains("sysv") => 6.0,
        "net" => 1.5,
        _ => 1.0,
    };
    let mut run = system("gvisor", factor, 3.0);
    let lacking = run.results.iter_mut().find(|result| result.case == "syscall/open-close");
    let lacking = lacking.unwrap();
    (lacking.outcome, lacking.estimate) = (Outcome::Unsupported, None);
    lacking.reason = Some("the sandbox denies it".to_owned());
    lacking.round_values.clear();
    run
}

fn systems() -> [Document; 3] {
    let bwrap = |point: &PointKey| if point.area() == "syscall" { 1.2 } else { 1.0 };
    [system("native", |_| 1.0, 1.0), system("bwrap", bwrap, 1.0), gvisor()]
}

fn table(runs: &[Document]) -> Table<'_> {
    tabulate(runs, &Dimension::System, &Question::default()).unwrap()
}

#[test]
fn verdicts_on_systems() {
    let runs = systems();
    let two = [runs[0].clone(), runs[2].clone()];
    assert_snapshot!("systems_two_80", summary(&two, &NARROW));
    assert_snapshot!("systems_three_80", summary(&runs, &NARROW));
}

/// Checks the sentence about designs and systems for a system that is little slower, for one that is slower than any design,
/// and for one where neither is certain.
#[test]
fn what_matters_more_follows_from_the_figures() {
    let sentence = |slower: f64| {
        let runs = [system("native", |_| 1.0, 1.0), system("slow", move |_| slower, 1.0)];
        summary(&runs, &WIDE).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let little = sentence(1.2);
    assert!(little.contains("The design matters more than the system for "), "{little}");
    let much = sentence(1e4);
    assert!(much.contains("The system matters more than the design for "), "{much}");
    // The slowest of the four servers takes five times as long as the fastest.
    let alike = sentence(5.0);
    let open = "it cannot be told whether the design or the system matters more for server";
    assert!(alike.contains(open), "{alike}");
}

/// A few rounds that are far apart gave factors of sixty digits.
#[test]
fn what_is_not_known_has_no_digits() {
    let mut runs = [system("native", |_| 1.0, 1.0), system("slow", |_| 5.0, 1.0)];
    for result in &mut runs[1].results {
        for (value, factor) in result.round_values.iter_mut().zip([1e-9, 1e9, 1.0].iter().cycle()) {
            *value *= factor;
        }
    }
    let text = summary(&runs, &WIDE);
    let longest = text.split(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').map(str::len);
    assert!(longest.max() < Some(16), "{text}");
    assert!(text.contains("cannot be told"), "{text}");
}

#[test]
fn one_system_has_no_verdict_and_an_emulated_one_says_why() {
    let mut runs = systems();
    assert_eq!(summary(&runs[..1], &NARROW), "");
    emulate(&mut runs[2]);
    let text = summary(&[runs[0].clone(), runs[2].clone()], &NARROW);
    let why = "- gvisor: no verdict: gvisor is not judged against real processors: emulated by";
    assert_eq!(text.lines().next(), Some(why));
}

/// The rows of a matrix that have figures, whose last column is `last`, and the lines above them.
fn matrix_rows<'t>(text: &'t str, last: &str) -> (Vec<&'t str>, Vec<&'t str>) {
    let lines: Vec<&str> = text.lines().collect();
    let heading = lines.iter().position(|line| line.trim_start().starts_with("native  "));
    let heading = heading.unwrap_or_else(|| panic!("no heading: {text}"));
    assert!(lines[heading].ends_with(last), "{text}");
    let rows = lines[heading + 2..].iter().take_while(|line| !line.starts_with("native:"));
    let rows = rows.filter(|line| line.contains(" ns") || line.contains(" us"));
    (lines[..heading].to_vec(), rows.copied().collect())
}

fn emulate(run: &mut Document) {
    run.machine.insert(EMULATED.to_owned(), "emulated by QEMU (TCG)".into());
}

#[test]
fn an_emulated_system_beside_real_ones_has_no_figure_in_the_matrix() {
    let mut runs = systems();
    let (says, rows) = (summary(&runs, &WIDE), 8);
    let (above, judged) = matrix_rows(&says, "gvisor");
    assert!(above.iter().any(|line| line.starts_with("- gvisor: slower")), "{says}");
    assert_eq!(judged.iter().filter(|row| row.contains(" x") && !row.ends_with('-')).count(), rows);
    emulate(&mut runs[2]);
    let says = summary(&runs, &WIDE);
    let (above, unjudged) = matrix_rows(&says, "gvisor");
    assert!(above.iter().any(|line| line.starts_with("- gvisor: no verdict: ")), "{says}");
    assert_eq!(unjudged.iter().filter(|row| row.ends_with('-')).count(), rows, "{says}");
    let of_gvisor = above.iter().filter(|line| line.contains("gvisor"));
    for line in of_gvisor {
        assert!(!["faster", "slower", "same"].iter().any(|word| line.contains(word)), "{line}");
    }
}

#[test]
fn emulated_systems_beside_each_other_have_ratios_and_no_marks_in_the_matrix() {
    let mut runs = systems();
    runs.iter_mut().for_each(emulate);
    let says = summary(&runs, &WIDE);
    let (above, rows) = matrix_rows(&says, "gvisor");
    for line in &above {
        let words = ["faster", "slower", "same", "matters more", "Fastest"];
        assert!(!words.iter().any(|word| line.contains(word)), "{line} in {says}");
    }
    assert_eq!(rows.len(), 8, "{says}");
    for row in &rows {
        assert!(!row.contains(['*', '+']), "{row} in {says}");
        assert_eq!(row.matches("~x").count(), 2, "{row} in {says}");
    }
    assert!(says.contains("emulated"), "{says}");
}

#[test]
fn the_hosts_system_calls_are_shown_where_there_is_room() {
    let mut runs = systems();
    for (run, calls) in runs.iter_mut().zip([Some(1.0), None, Some(3.25)]) {
        for result in &mut run.results {
            result.per_op.as_mut().unwrap().host_syscalls = calls;
        }
    }
    let table = table(&runs);
    let steps = ladders(&table, &Settings::default());
    let text = ladder_table(&steps[1..2], &Page { width: 100, ..NARROW });
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with("host calls"), "{text}");
    assert!(lines[2].ends_with(" 1") && lines[4].ends_with(" 3.25"), "{text}");
    assert!(!lines[3].trim_end().ends_with(['0', '1']), "unknown is not zero: {text}");
    assert!(text.ends_with("per operation\n"), "{text}");
    let narrow = ladder_table(&steps[1..2], &Page { width: 50, ..NARROW });
    assert!(!narrow.contains("host calls"), "{narrow}");
    let counts = counts_table(&differing_counts(&table), &table.columns, true, &WIDE);
    assert!(counts.contains("host system calls"), "{counts}");
}

#[test]
fn layers_and_counts() {
    let runs = systems();
    let table = table(&runs);
    let steps = ladders(&table, &Settings::default());
    assert_snapshot!("ladder_80", ladder_table(&steps[..4], &NARROW));
    let counts = differing_counts(&table);
    assert_snapshot!("counts_80", counts_table(&counts, &table.columns, false, &NARROW));
    assert_eq!(counts_table(&[], &table.columns, false, &NARROW), "");
}

#[test]
fn counts_of_cases_are_named_by_their_parameters() {
    let runs = systems();
    let at = Selection(vec![Condition::parse("case=lock").unwrap()]);
    let question = Question { at, ..Question::default() };
    let table = tabulate(&runs[..1], &Dimension::Case, &question).unwrap();
    let counts = differing_counts(&table);
    assert_snapshot!("counts_of_cases_80", counts_table(&counts, &table.columns, false, &NARROW));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn all_widths_show_all_systems_and_operations(page in any_page()) {
        let mut runs = systems();
        runs[1].machine.insert(SYSTEM.to_owned(), "a-system-with-a-name-that-is-long".into());
        let table = table(&runs);
        let steps = ladders(&table, &Settings::default());
        let counts = differing_counts(&table);
        let names = || runs.iter().map(|run| run.system().unwrap().to_owned());
        check(&summary(&runs, &page), &page, names())?;
        // On a narrow page, names beside a long name of a system continue on the next line.
        let whole = steps.iter().filter(|_| page.width >= 80);
        let operations = whole.map(|ladder| ladder.point.name().to_owned());
        check(&ladder_table(&steps, &page), &page, operations)?;
        let counted = counts.iter().map(|row| row.point.name().to_owned());
        check(&counts_table(&counts, &table.columns, true, &page), &page, counted)?;
    }
}
