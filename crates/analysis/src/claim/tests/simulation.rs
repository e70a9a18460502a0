//! Simulated runs with known true values: how often a verdict is wrong.
//!
//! A true claim judged *fails*, or a false one judged *holds*, may occur in at most 2.5 % of the data sets, plus three standard
//! errors of the simulation, also with the true value exactly at the limit.

use rand::SeedableRng;
use rand::rngs::StdRng;
use results::{CaseResult, Document, PointKey};

use super::super::*;
use super::runs::{result, run};
use simulated::{AsPoint, noise, outlier};

/// Number of data sets for each claim.
const DATA_SETS: usize = 2_500;

/// A claim, and the true medians of its points.
struct Trial {
    /// Lines of the claim in addition to name and sentence.
    lines: String,
    is_true: bool,
    points: Vec<(PointKey, f64)>,
}

/// `a` and `b` at one, two and four workers.
fn curves(of_a: [f64; 3], of_b: [f64; 3]) -> Vec<(PointKey, f64)> {
    let at = |case: &str, times: [f64; 3]| {
        let point = |workers| (case, [("workers", workers)]).point();
        ["1", "2", "4"].map(point).into_iter().zip(times).collect::<Vec<_>>()
    };
    [at("lock/sysv-sem", of_a), at("lock/futex", of_b)].concat()
}

const SIDES: &str = "a.case = \"lock/sysv-sem\"\nb.case = \"lock/futex\"\n";

fn trials() -> Vec<Trial> {
    let one = "a = { case = \"lock/sysv-sem\", params = { workers = 2 } }\n";
    let two = &format!("{one}b.case = \"lock/futex\"\n");
    let a = "a.case = \"lock/sysv-sem\"\n";
    let over = "over = \"workers\"\n";
    let all = "scope = \"for all\"\n";
    let some = "scope = \"for some\"\n";
    let flat = [100.0; 3];
    let at = |ratio: f64| curves([100.0 * ratio; 3], flat);
    let root = || curves([100.0, 100.0 * 2f64.sqrt(), 200.0], flat);
    // By logarithms the lines cross half way between 2 and 4.
    let crossing = || curves([150.0, 130.0, 100.0 / 1.3], flat);
    let middle = 8f64.sqrt();
    let of = |lines: &[&str], relation: &str, is_true: bool, points: Vec<(PointKey, f64)>| {
        let lines = format!("{}relation = \"{relation}\"\n", lines.concat());
        Trial { lines, is_true, points }
    };
    vec![
        // Claims about one figure.
        of(&[one], "<= 100 ns", true, at(1.0)),
        of(&[one], "< 100 ns", false, at(1.0)),
        of(&[one], "within 10 % of 100 ns", true, at(1.1)),
        of(&[one], "between 90 ns and 99.99 ns", false, at(1.0)),
        // Claims about a ratio.
        of(&[two], "ratio >= 1.1", true, at(1.1)),
        of(&[two], "ratio > 1.1", false, at(1.1)),
        of(&[two], "within 10 %", true, at(1.1)),
        of(&[two], "within 50 %", false, at(1.501)),
        of(&[two], "between 1.099 and 1.101", true, at(1.1)),
        // Claims about several combinations, all of them at the limit or one of them.
        of(&[SIDES, all], "ratio >= 1.1", true, at(1.1)),
        of(&[SIDES, all], "ratio > 1.1", false, curves([110.0, 300.0, 300.0], flat)),
        of(&[SIDES, some], "ratio >= 1.1", true, curves([110.0, 50.0, 50.0], flat)),
        of(&[SIDES, some], "ratio > 1.1", false, at(1.1)),
        // Claims about slopes: 0.5 is the root.
        of(&[a, over], "slope >= 0.5", true, root()),
        of(&[SIDES, over], "slope < 0.5", false, root()),
        // Claims about trends: an unchanged figure is no step, but a tiny change is one.
        of(&[a], "increases with workers", false, curves([100.0, 300.0, 300.0], flat)),
        of(&[SIDES], "increases with workers", true, curves([100.0, 100.01, 100.02], flat)),
        // Claims about crossings.
        of(&[SIDES, over], &format!("crosses >= {middle}"), true, crossing()),
        of(&[SIDES, over], &format!("crosses < {middle}"), false, crossing()),
        of(&[SIDES, over], "crosses between 1.5 and 2.82", false, crossing()),
    ]
}

/// Rounds of a machine that is disturbed at times, or not at all.
fn data(
    points: &[(PointKey, f64)],
    rounds: usize,
    is_shared: bool,
    rng: &mut StdRng,
) -> Vec<CaseResult> {
    let of_point = |(point, center): &(PointKey, f64)| {
        let mut round = || {
            let slower = if is_shared { outlier(rng) } else { 1.0 };
            (center.ln() + 0.1 * noise(rng)).exp() * slower
        };
        let values = (0..rounds).map(|_| round()).collect();
        result(point, "time", values)
    };
    points.iter().map(of_point).collect()
}

/// The verdicts on the claims of a file in each of several data sets.
fn verdicts(
    lines: &[&str],
    points: &[(PointKey, f64)],
    (sets, rounds, is_shared): (usize, usize, bool),
) -> Vec<Vec<ClaimVerdict>> {
    let claim = |(at, lines): (usize, &&str)| {
        format!("[[claim]]\nname = \"x{at}\"\nsentence = \"s\"\n{lines}")
    };
    let text: String = lines.iter().enumerate().map(claim).collect();
    let claims = ClaimFile::parse(&text).unwrap().claims;
    let mut rng = StdRng::seed_from_u64(rounds as u64);
    let mut document: Document = run("native", Vec::new());
    let mut one = || {
        document.results = data(points, rounds, is_shared, &mut rng);
        let judged = judge(&claims, std::slice::from_ref(&document));
        judged.iter().map(|claim| claim.verdict).collect()
    };
    (0..sets).map(|_| one()).collect()
}

/// Share of data sets with a wrong verdict.
fn wrong_share(verdicts: &[Vec<ClaimVerdict>], truths: &[bool]) -> f64 {
    let is_wrong = |(verdict, is_true): (&ClaimVerdict, &bool)| match verdict {
        ClaimVerdict::Holds => !is_true,
        ClaimVerdict::Fails => *is_true,
        ClaimVerdict::Undecided => false,
        ClaimVerdict::NotMeasurable => panic!("it is measured"),
    };
    let wrong = verdicts.iter().filter(|set| set.iter().zip(truths).any(is_wrong)).count();
    wrong as f64 / verdicts.len() as f64
}

/// This chance, plus three standard errors of the simulation.
fn allowed(chance: f64) -> f64 {
    chance + 3.0 * (chance * (1.0 - chance) / DATA_SETS as f64).sqrt()
}

#[test]
fn wrong_verdicts_are_rare_at_the_limit() {
    for Trial { lines, is_true, points } in trials() {
        let verdicts = verdicts(&[&lines], &points, (DATA_SETS, 8, false));
        let wrong = wrong_share(&verdicts, &[is_true]);
        println!("{:.2} % wrong: {}", wrong * 100.0, lines.replace('\n', " "));
        assert!(wrong <= allowed(0.025), "{wrong} wrong: {lines}");
    }
}

#[test]
fn disturbed_rounds_do_not_make_verdicts_wrong() {
    let two =
        "a = { case = \"lock/sysv-sem\", params = { workers = 2 } }\nb.case = \"lock/futex\"\n";
    let line = format!("{two}relation = \"ratio >= 1.1\"\n");
    let points = curves([110.0; 3], [100.0; 3]);
    for rounds in [6, 20] {
        let verdicts = verdicts(&[&line], &points, (DATA_SETS, rounds, true));
        let wrong = wrong_share(&verdicts, &[true]);
        println!("{rounds} rounds: {:.2} % wrong", wrong * 100.0);
        assert!(wrong <= allowed(0.025), "{wrong} with {rounds} rounds");
    }
}

#[test]
fn all_claims_of_a_file_hold_together() {
    let one = "a = { case = \"lock/sysv-sem\", params = { workers = 2 } }\n";
    let of = |workers: usize, relation: &str| {
        format!("{}relation = \"{relation}\"\n", one.replace('2', &workers.to_string()))
    };
    // There are six claims at the limit, half of them false.
    let lines = [
        (1, "<= 100 ns"),
        (1, "> 100 ns"),
        (2, "<= 100 ns"),
        (2, "> 100 ns"),
        (4, ">= 100 ns"),
        (4, "< 100 ns"),
    ];
    let lines = lines.map(|(workers, relation)| of(workers, relation));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let points = curves([100.0; 3], [100.0; 3]);
    let verdicts = verdicts(&lines, &points, (DATA_SETS, 8, false));
    let wrong = wrong_share(&verdicts, &[true, false, true, false, true, false]);
    println!("{:.2} % of the files have a wrong verdict", wrong * 100.0);
    assert!(wrong <= allowed(0.05), "{wrong}");
}

#[test]
fn clear_claims_are_decided() {
    // The figures exceed the limit by a third or more, with errors of a tenth in 20 rounds.
    let clear = [
        ("ratio >= 1.1", 1.5, true),
        ("ratio <= 1.1", 1.5, false),
        ("within 50 %", 1.0, true),
        ("within 10 %", 1.5, false),
    ];
    for (relation, ratio, is_true) in clear {
        for scope in ["for all", "for some"] {
            let line = format!("{SIDES}relation = \"{relation}\"\nscope = \"{scope}\"\n");
            let verdicts =
                verdicts(&[&line], &curves([100.0 * ratio; 3], [100.0; 3]), (500, 20, false));
            let expected = if is_true { ClaimVerdict::Holds } else { ClaimVerdict::Fails };
            let right = verdicts.iter().filter(|set| set[0] == expected).count();
            assert!(right >= 400, "{relation} {scope}: {right} of 500");
        }
    }
    let over = "over = \"workers\"\n";
    let crossing = curves([200.0, 150.0, 50.0], [100.0; 3]);
    for (relation, expected) in
        [("crosses between 2 and 4", ClaimVerdict::Holds), ("crosses <= 2", ClaimVerdict::Fails)]
    {
        let line = format!("{SIDES}{over}relation = \"{relation}\"\n");
        let verdicts = verdicts(&[&line], &crossing, (500, 20, false));
        let right = verdicts.iter().filter(|set| set[0] == expected).count();
        assert!(right >= 400, "{relation}: {right} of 500");
    }
}
