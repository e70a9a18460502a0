//! The recommendation for the user's jobs, at usual widths.

use std::collections::BTreeMap;

use analysis::Ratio;
use insta::assert_snapshot;
use jobs::choice::{Answer, Candidate, Choice, Goal, SettledBy, choose};
use jobs::{answer_text, within_text};
use measure::Doubt;
use proptest::prelude::*;
use report::Page;
use results::{CaseResult, Direction, Estimate, Outcome};
use simulated::text::{self, any_doubt};
use simulated::{ended, figure_of};

use crate::pages::{ASCII, NARROW, WIDE};

const CASE: &str = "concurrency/answer";

fn params(executor: &str, degree: &str, order: &str) -> BTreeMap<String, String> {
    areas::install();
    simulated::params(&[
        ("executor", executor),
        ("degree", degree),
        ("order", order),
        ("jobs", "40"),
    ])
}

/// Rows of one candidate, whose rounds lie up to five times `spread` from the median.
fn measured(params: BTreeMap<String, String>, figures: [f64; 3], spread: f64) -> Vec<CaseResult> {
    // The rounds of each candidate have a different order.
    let step = figures[0] as i32 % 10 + 1;
    let row = |(metric, unit, center): (&str, &str, f64)| {
        let round_values: Vec<f64> =
            (0..10).map(|i| center * (1.0 + spread * f64::from(i * step % 11 - 5))).collect();
        let [low, high] = [-2.0, 2.0].map(|times| center * (1.0 + times * spread));
        CaseResult {
            estimate: Some(Estimate { median: center, low, high, level: 0.95 }),
            ..figure_of((CASE, &params), (metric, unit, Direction::Lower), round_values)
        }
    };
    let [elapsed, turnaround, worst] = figures;
    let rows = [
        ("time", "ns/op", elapsed * 1e6),
        ("turnaround", "x", turnaround),
        ("turnaround-worst", "x", worst),
    ];
    rows.map(row).into()
}

fn candidates(spread: f64) -> Vec<CaseResult> {
    let mut rows = [
        measured(params("serial", "1", "given"), [803.0, 21.4, 160.0], spread),
        measured(params("serial", "1", "shortest"), [801.0, 6.61, 17.3], spread),
        measured(params("threads", "4", "given"), [412.0, 2.31, 4.1], spread),
        measured(params("pool", "2", "given"), [408.2, 4.16, 31.0], spread),
        measured(params("tokio", "2", "given"), [409.5, 4.31, 33.0], spread),
    ]
    .concat();
    rows[6].doubts = vec![Doubt::SeveralModes];
    let late = params("threads", "40", "given");
    rows.push(ended((CASE, &late), Outcome::TimedOut, "not done within 60 s"));
    rows
}

#[test]
fn the_best_candidate_is_named() {
    let choice = choose(&candidates(0.004), Goal::Turnaround);
    let text = answer_text(&choice, "these 40 jobs", &NARROW);
    assert!(text.starts_with(
        "For the mean turnaround of these 40 jobs, take threads (at most 4 at once):"
    ));
    assert!(text.contains("not done within 60 s"));
    assert_snapshot!("answer_best_80", text);
    assert_snapshot!("answer_best_ascii", answer_text(&choice, "these 40 jobs", &ASCII));
}

#[test]
fn ties_are_reported() {
    let choice = choose(&candidates(0.0007), Goal::Elapsed);
    assert!(choice.advised().is_some());
    assert_snapshot!("answer_tie_80", answer_text(&choice, "these 40 jobs", &NARROW));
}

#[test]
fn undecided_choices_are_reported() {
    let choice = choose(&candidates(0.006), Goal::Elapsed);
    assert!(choice.rounds_that_would_settle().is_some());
    assert_snapshot!("answer_open_80", answer_text(&choice, "these 40 jobs", &NARROW));
}

#[test]
fn few_candidates_and_none() {
    let failed = &candidates(0.01)[15..];
    let none = answer_text(&choose(failed, Goal::Elapsed), "these 40 jobs", &NARROW);
    assert!(none.starts_with("There is no figure for the elapsed time of these 40 jobs.\n"));
    assert!(none.contains("timed out") && none.contains("a  not done within 60 s"), "{none}");
    let one = answer_text(&choose(&candidates(0.01)[..3], Goal::Elapsed), "jobs.txt", &NARROW);
    assert!(one.starts_with(
        "For the elapsed time of jobs.txt, take serial (in the given order): it was the\nonly candidate.\n"
    ));
    let empty = answer_text(&choose(&[], Goal::WorstTurnaround), "jobs.txt", &NARROW);
    assert_eq!(empty, "There is no figure for the worst turnaround of jobs.txt.\n");
}

#[test]
fn the_delay_of_a_foreground_task_is_a_goal_with_its_column() {
    let delay = |executor, degree, ms: f64| {
        let mut rows = measured(params(executor, degree, "given"), [100.0, 2.0, ms], 0.004);
        rows[2].metric = "foreground-delay-p90".to_owned();
        rows[2].unit = "ns".to_owned();
        let estimate = rows[2].estimate.as_mut().unwrap();
        for value in [&mut estimate.median, &mut estimate.low, &mut estimate.high] {
            *value *= 1e6;
        }
        rows[2].round_values.iter_mut().for_each(|value| *value *= 1e6);
        rows
    };
    let rows = [delay("threads", "4", 2.9), delay("serial", "1", 0.021)].concat();
    let choice = choose(&rows, Goal::ForegroundDelay);
    assert_eq!(choice.candidates[0].params["executor"], "serial");
    let text = answer_text(&choice, "these 40 jobs", &NARROW);
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.starts_with(
        "For the wake-up delay of a foreground task beside these 40 jobs, take serial (in the given order):"
    ));
    assert!(said.contains("21.0 us") && said.contains("2.90 ms"), "{text}");
    assert!(said.contains("delay: how much later than planned"), "{text}");
    let within = |limit, ns| {
        let text = within_text(&choice, limit, ns, &NARROW);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(within("1ms", 1e6), "The delay stays within 1ms with serial (in the given order).");
    assert_eq!(
        within("10ms", 1e7),
        "The delay stays within 10ms with serial (in the given order) and threads (at most 4 at once). Of these, serial \
         (in the given order) has the shortest elapsed time."
    );
    assert_eq!(
        within("2.9ms", 2.9e6),
        "The delay stays within 2.9ms with serial (in the given order). The measurements do not show whether it does with \
         threads (at most 4 at once)."
    );
    assert_eq!(within("1us", 1e3), "No candidate surely keeps the delay within 1us.");
    // Candidates without a foreground task have no column for its delay.
    let without = answer_text(&choose(&candidates(0.004), Goal::Elapsed), "these 40 jobs", &WIDE);
    assert!(!without.contains("delay"), "{without}");
}

fn candidate() -> impl Strategy<Value = Candidate> {
    let figure = prop::option::of((-3.0f64..12.0).prop_map(|exponent| {
        let median = 10f64.powf(exponent);
        Estimate { median, low: median * 0.9, high: median * 1.2, level: 0.95 }
    }));
    let ratio = prop::option::of((-1.0f64..6.0, 0.0f64..2.0).prop_map(|(exponent, width)| {
        let mid = 10f64.powf(exponent);
        Ratio { mid, low: mid / (1.0 + width), high: mid * (1.0 + width) }
    }));
    let executor = prop::sample::select(&["serial", "threads", "pool", "tokio", "rayon"][..]);
    let ending = prop::option::of("\\PC{1,60}".prop_map(|reason| (Outcome::Failed, reason)));
    let doubts = prop::collection::vec(any_doubt(), 0..3);
    (
        (executor, 1u32..100, prop::bool::ANY),
        [figure.clone(), figure.clone(), figure],
        ratio,
        ending,
        doubts,
    )
        .prop_map(
            |((executor, degree, sorted), [elapsed, turnaround, worst], ratio, ending, doubts)| {
                Candidate {
                    params: params(
                        executor,
                        &degree.to_string(),
                        if sorted { "shortest" } else { "given" },
                    ),
                    elapsed,
                    turnaround,
                    worst,
                    foreground_delay: None,
                    against_best: ratio,
                    ending,
                    doubts,
                }
            },
        )
}

proptest! {
    #[test]
    fn no_line_is_wider_than_the_page(
        candidates in prop::collection::vec(candidate(), 0..8),
        which in 0usize..5,
        width in 60usize..200,
        unicode: bool,
    ) {
        let all: Vec<usize> = (0..candidates.len()).collect();
        let by = candidates.get(1).and_then(|candidate| candidate.against_best);
        let tied = SettledBy::DoesNotMatter { within: 0.01, simplest: 0 };
        let answer = match which {
            _ if all.is_empty() => Answer::NoFigure,
            0 => Answer::NoFigure,
            1 => Answer::Best { by },
            2 => Answer::CannotTell { among: all, settled_by: tied },
            3 => Answer::CannotTell { among: all, settled_by: SettledBy::Rounds(40) },
            _ => Answer::CannotTell { among: vec![0], settled_by: SettledBy::Nothing },
        };
        let choice = Choice { goal: Goal::Elapsed, candidates, answer };
        let page = Page { width, colour: false, unicode, this_run: false };
        let text = answer_text(&choice, "these 40 jobs", &page);
        prop_assert!(text.ends_with('\n'));
        text::check(&text, width, true, [])?;
    }
}
