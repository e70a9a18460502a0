//! A study as text: the published table, the figures of a run, the ratio, and a verdict for each claim.

use report::{Page, StudyLine, studies_table, study_text};

use super::*;

fn page(width: usize) -> Page {
    Page { width, colour: false, unicode: true, this_run: false }
}

fn text(name: &str, results: Vec<CaseResult>, width: usize) -> String {
    let study = parsed(name, Size::Default);
    let mut run = document("Linux", None, results);
    run.run.id = "20260101-000000-0001".to_owned();
    run.machine
        .extend([("release", "6.12.0"), ("arch", "x86_64")].map(|(k, v)| (k.to_owned(), v.into())));
    study_text(&StudyFindings::of(&study, &[run]), &page(width))
}

fn timers() -> Vec<CaseResult> {
    let via = |via, ns| result("clock/gettimeofday", &[("via", via)], "time", "ns/op", ns);
    vec![via("vdso", 31.74), via("syscall", 245.2)]
}

fn locks() -> Vec<CaseResult> {
    let lock = |case: &str, workers: &str, ns| {
        let params =
            [("workers", workers), ("work", "9us"), ("as", "threads"), ("place", "unpinned")];
        result(case, &params, "million-pairs", "ms", ns)
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
            let study = parsed(name, Size::Default);
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
