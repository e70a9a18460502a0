//! The included studies: what they state, what is planned for them, their verdicts by runs, and their text.

mod planned;
mod published;
mod text;
mod verdicts;

use analysis::study::{NAMES, Size, Study, StudyFindings, included};
use proptest::prelude::*;
use results::{CaseResult, Direction, Document};
use simulated::{document_on as document, result};

fn parsed(name: &str, size: Size) -> Study {
    areas::install();
    let study = Study::parse(included(name).unwrap(), size);
    study.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The figures of `timers` with gettimeofday at `ns`.
fn linux_timers(ns: f64) -> Vec<CaseResult> {
    let via = |via, ns| result("clock/gettimeofday", &[("via", via)], "time", "ns/op", ns);
    vec![via("vdso", ns), via("syscall", ns * 3.0)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Checks that a damaged file gives a location within it, or is a study that can be evaluated without a panic.
    #[test]
    fn damaged_studies_do_not_panic(
        which in 0usize..5, at in 0.0f64..1.0, removed in 0usize..30, put in "[ -~\\n$é\"]{0,12}"
    ) {
        areas::install();
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
