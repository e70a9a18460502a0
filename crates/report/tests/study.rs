//! A study as text: the published table, the figures of a run, the ratio, and a verdict for each claim.

use analysis::study::{Size, Study, StudyFindings, included};
use report::{Page, StudyLine, studies_table, study_text};
use results::{CaseResult, Direction, Document, Estimate, RunInfo, SCHEMA};

/// Installs the areas of the program before the tests run.
#[ctor::ctor(unsafe)]
fn install_areas() {
    areas::install();
}

fn page(width: usize) -> Page {
    Page { width, colour: false, unicode: true, this_run: false }
}

/// Twelve rounds that differ by a part in a thousand.
fn result(
    case: &str,
    params: &[(&str, &str)],
    (metric, unit): (&str, &str),
    value: f64,
) -> CaseResult {
    let params = params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    CaseResult {
        estimate: Some(Estimate {
            median: value,
            low: value * 0.999,
            high: value * 1.001,
            level: 0.95,
        }),
        round_values: (0..12).map(|i| value * (1.0 + 2e-4 * f64::from(i % 5 - 2))).collect(),
        rounds: 12,
        ..CaseResult::blank(case, params, metric, unit, Direction::Lower)
    }
}

fn document(results: Vec<CaseResult>) -> Document {
    let run = RunInfo {
        id: "20260101-000000-0001".to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        finished: Some("2026-01-01T00:01:00Z".to_owned()),
        seed: 1,
        oscost: "0.1.0".to_owned(),
        tags: Default::default(),
        asked: Default::default(),
        core_clock_ghz: None,
        area_seconds: Default::default(),
    };
    let facts = [("os", "Linux"), ("release", "6.12.0"), ("arch", "x86_64")];
    let machine = facts.map(|(key, fact)| (key.to_owned(), fact.into())).into_iter().collect();
    Document { schema: SCHEMA, run, machine, results }
}

fn text(name: &str, results: Vec<CaseResult>, width: usize) -> String {
    let study = Study::parse(included(name).unwrap(), Size::Default).unwrap();
    study_text(&StudyFindings::of(&study, &[document(results)]), &page(width))
}

fn timers() -> Vec<CaseResult> {
    let via = |via, ns| result("clock/gettimeofday", &[("via", via)], ("time", "ns/op"), ns);
    vec![via("vdso", 31.74), via("syscall", 245.2)]
}

fn locks() -> Vec<CaseResult> {
    let lock = |case: &str, workers: &str, ns| {
        let params =
            [("workers", workers), ("work", "9us"), ("as", "threads"), ("place", "unpinned")];
        result(case, &params, ("million-pairs", "ms"), ns)
    };
    let all = [("1", 9_300.0), ("2", 9_700.0), ("3", 9_800.0), ("4", 9_900.0), ("5", 9_950.0)];
    let of_case = |case, factor| all.map(|(workers, ns)| lock(case, workers, ns * factor)).to_vec();
    [of_case("lock/sysv-sem", 1.05), of_case("lock/posix-sem-shared", 1.0)].concat()
}

#[test]
fn a_study_of_one_column_has_published_and_measured_figures_side_by_side() {
    insta::assert_snapshot!(text("timers", timers(), 80));
}

#[test]
fn a_study_of_several_columns_has_them_below_each_other() {
    insta::assert_snapshot!(text("locks", locks(), 80));
}

#[test]
fn no_line_is_wider_than_the_page_and_every_claim_has_a_verdict() {
    for width in [60, 80, 100] {
        for name in analysis::study::NAMES {
            let study = Study::parse(included(name).unwrap(), Size::Default).unwrap();
            let text = text(name, [timers(), locks()].concat(), width);
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{name}: {line}");
            }
            let verdicts = ["HOLDS: ", "FAILS: ", "UNDECIDED: ", "NOT MEASURABLE: "];
            for claim in &study.claims {
                let is_verdict = |line: &&str| verdicts.iter().any(|word| line.starts_with(word));
                let mut lines = text.lines().filter(is_verdict);
                assert!(lines.any(|line| line.contains(&claim.name)), "{name}: {}", claim.name);
            }
        }
    }
}

#[test]
fn studies_are_listed_with_both_durations() {
    let line = StudyLine {
        name: "locks".to_owned(),
        question: "How much faster is one than the other?".to_owned(),
        takes: std::time::Duration::from_secs(14),
        takes_in_full: std::time::Duration::from_secs(4_000),
    };
    let text = studies_table(&[line], &page(80));
    assert!(text.contains("14.0 s") && text.contains("1 h 6 min"), "{text}");
}
