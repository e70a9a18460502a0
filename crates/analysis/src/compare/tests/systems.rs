//! Systems that were measured in turn.

use super::*;

/// The run as one of several systems in turn: a round every 150 ms, `later` ms after those of the first.
pub(super) fn in_turn(mut run: Document, id: &str, later: i64) -> Document {
    run.run.id = id.into();
    run.run.asked.insert(results::GROUP.into(), "a".into());
    for result in &mut run.results {
        let starts = (0..).map(|round| 150 * round + later).take(result.round_values.len());
        result.round_starts_ms = starts.collect();
    }
    run
}

/// Regression test for a system that was slower by 1 %, which was detected in none of ten tries, although adjacent rounds were in
/// the same state.
#[test]
fn systems_in_turn_are_compared_round_by_round() {
    // Each state lasts for ten rounds; the states are 5 % apart.
    let in_states = |cycles: f64, salt: usize| {
        let state = |n: usize| 1.0 + 0.05 * (n / 10 % 2) as f64;
        let noise = rounds(cycles, 0.004, 40, salt);
        let values = noise.iter().enumerate().map(|(n, cycles)| cycles * state(n));
        run_at(4.0, &[("syscall/getppid", values.collect())])
    };
    let system = |cycles: f64, salt: usize, id: &str| in_turn(in_states(cycles, salt), id, 7);
    let base = in_turn(in_states(450.0, 1), "a", 0);
    let row = first(&base, &system(454.5, 2, "b"));
    assert_eq!(row.verdict, Verdict::Slower, "{row:?}");
    let ratio = row.ratio.unwrap();
    assert!(ratio.low > 1.007 && ratio.high < 1.013, "{ratio:?}");
    assert_eq!(first(&base, &system(450.0, 2, "b")).verdict, Verdict::Same);
    // The medians are compared without the times of the rounds, and for runs that only overlap.
    assert_eq!(first(&base, &in_states(454.5, 2)).verdict, Verdict::CannotTell);
    let mut unknown = system(454.5, 2, "b");
    unknown.results[0].round_starts_ms.clear();
    assert_eq!(first(&base, &unknown).verdict, Verdict::CannotTell);
}

/// Regression test for the integer chains of two equal agents, which were 0.7 % apart: the address of the code differs from
/// process to process.
#[test]
fn the_sentinel_is_no_floor_between_systems_in_turn() {
    let with_alu = |cycles: f64, alu: f64, id: &str, later: i64| {
        let mut run = run_at(4.0, &[("a/b", rounds(cycles, 1e-3, 20, 3))]);
        run.results[0].reference = Some(Reference { alu, chase: 990.0, chain: 720.0 });
        if id.is_empty() { run } else { in_turn(run, id, later) }
    };
    let slower = |[one, other]: [&str; 2]| {
        first(&with_alu(100.0, 930.0, one, 0), &with_alu(100.5, 937.0, other, 9))
    };
    assert_eq!(slower(["a", "b"]).verdict, Verdict::Slower);
    let floor = slower(["", ""]).floor;
    assert!((0.007..0.008).contains(&floor), "{floor}");
}

/// Regression test for a share of errors that was 0 in all rounds of both sides: it had the variance of the times beside it.
#[test]
fn figures_that_are_zero_on_both_sides_are_the_same_beside_times_that_vary() {
    let of = |id: &str, later: i64| {
        let times = (0..8).map(|salt| (format!("net/{salt}"), rounds(450.0, 0.2, 12, salt)));
        let mut results: Vec<CaseResult> =
            times.map(|(case, values)| result(&case, values)).collect();
        results.push(lower("net/0", "errors", "share", vec![0.0; 12]));
        in_turn(run(results), id, later)
    };
    let rows = compared(&of("a", 0), &of("b", 7));
    let errors = rows.iter().find(|row| row.metric == "errors").unwrap();
    assert_eq!((errors.verdict, errors.note.as_str()), (Verdict::Same, ""));
}
