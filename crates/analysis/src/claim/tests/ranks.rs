//! Verdicts on claims that name systems by their ranks.

use rand::SeedableRng;
use rand::rngs::StdRng;
use results::{CaseResult, Document, Outcome};
use simulated::noise;

use super::super::*;
use super::runs::{claim, end, judged, result, run};
use ClaimVerdict::{Fails, Holds, NotMeasurable, Undecided};

const ARCHITECTURES: [&str; 2] = ["threads", "epoll"];

/// A result of rounds that were made in turns with those of other systems.
fn in_turn(arch: &str, metric: &str, system: usize, values: Vec<f64>) -> CaseResult {
    let later = 10 * system as i64;
    CaseResult {
        round_starts_ms: (0..values.len() as i64).map(|n| 1_000 * n + later).collect(),
        ..result(("net/answer", [("arch", arch)]), metric, values)
    }
}

/// Systems with these rates of threads and of epoll, and these reply times of epoll; all within 1 %.
fn systems(figures: &[(&'static str, [f64; 2], f64)]) -> Vec<Document> {
    let about = |center: f64, system: usize| -> Vec<f64> {
        let part = |n: usize| ((n * 5 + system * 3) % 11) as f64 - 5.0;
        (0..12).map(|n| center * (1.0 + 0.001 * part(n))).collect()
    };
    let of = |(at, (name, rates, reply)): (usize, &(&'static str, [f64; 2], f64))| {
        let rates = ARCHITECTURES.iter().zip(rates);
        let mut results: Vec<CaseResult> =
            rates.map(|(arch, rate)| in_turn(arch, "rate", at, about(*rate, at))).collect();
        results.push(in_turn("epoll", "reply-p50", at, about(*reply, at)));
        run(name, results)
    };
    figures.iter().enumerate().map(of).collect()
}

/// Three systems, of which `native` is the fastest, twice as fast as `gvisor`; an event loop matters more than the system.
fn three() -> Vec<Document> {
    systems(&[
        ("gvisor", [1e3, 5e3], 200.0),
        ("native", [2e3, 1e4], 100.0),
        ("bwrap", [1.6e3, 8e3], 125.0),
    ])
}

/// Three systems with the opposite order, and less difference between architectures than between systems.
fn opposite() -> Vec<Document> {
    systems(&[
        ("gvisor", [9e3, 1e4], 100.0),
        ("native", [4e3, 5e3], 200.0),
        ("bwrap", [4.2e3, 5.2e3], 190.0),
    ])
}

/// A claim about the rate of an event loop on system `a` and on system `b`.
fn rates(a: &str, b: &str, relation: &str) -> String {
    let side = format!(
        "case = \"net/answer\", params = {{ arch = \"epoll\" }}, metric = \"rate\", system = \"{a}\""
    );
    format!("a = {{ {side} }}\nb.system = \"{b}\"\nrelation = \"{relation}\"\n")
}

const ARCHITECTURE_OVER_SYSTEM: &str = "a = { case = \"net/answer\", params = { arch = \"epoll\" }, metric = \"rate\", system = \"worst\" }
     b = { params = { arch = \"threads\" }, system = \"best\" }
     relation = \"ratio > 1\"\n";

#[test]
fn systems_at_hand_decide_claims_about_ranks() {
    for (lines, of_three, of_opposite) in [
        (rates("best", "worst", "ratio >= 1.75"), Holds, Holds),
        (rates("best", "worst", "ratio >= 2.5"), Fails, Fails),
        (rates("best", "worst", "ratio between 1.9 and 2.1"), Holds, Holds),
        (rates("worst", "best", "ratio <= 0.6"), Holds, Holds),
        (rates("native", "next", "ratio >= 1.2"), Holds, Fails),
        (rates("native", "next", "ratio >= 1.35"), Fails, Fails),
        (rates("best", "next", "ratio >= 1.35"), Fails, Holds),
        (rates("best", "native", "ratio > 1.5"), Fails, Holds),
        (rates("best", "native", "ratio >= 1"), Holds, Holds),
        (rates("native", "best", "ratio < 0.9"), Fails, Holds),
        (ARCHITECTURE_OVER_SYSTEM.to_owned(), Holds, Fails),
    ] {
        assert_eq!(judged(&lines, &three()).verdict, of_three, "{lines}");
        assert_eq!(judged(&lines, &opposite()).verdict, of_opposite, "{lines}");
    }
}

#[test]
fn the_order_of_runs_does_not_matter_and_the_systems_are_named() {
    let lines = rates("best", "next", "ratio >= 1.2");
    for turned in 0..3 {
        let mut documents = three();
        documents.rotate_left(turned);
        let judged = judged(&lines, &documents);
        let shown = &judged.comparisons[0];
        let b = shown.b.as_ref().unwrap();
        assert_eq!([&*shown.a.system, &*b.system], ["native", "bwrap"]);
        assert_eq!((shown.a.rank, b.rank), (Some(Rank::Best), Some(Rank::Next)));
        assert_eq!(shown.systems, Some(3));
        assert!((shown.interval.unwrap().mid - 1.25).abs() < 0.01);
    }
}

#[test]
fn systems_are_named_by_their_ranks_also_while_rounds_are_too_few() {
    for turned in 0..3 {
        let mut documents = three();
        documents.rotate_left(turned);
        for result in documents.iter_mut().flat_map(|document| &mut document.results) {
            result.round_values.truncate(3);
            result.round_starts_ms.truncate(3);
            result.rounds = 3;
        }
        let judged = judged(ARCHITECTURE_OVER_SYSTEM, &documents);
        let shown = &judged.comparisons[0];
        assert_eq!((judged.verdict, shown.interval), (Undecided, None));
        let b = shown.b.as_ref().unwrap();
        assert_eq!([&*shown.a.system, &*b.system], ["gvisor", "native"], "turned by {turned}");
    }
}

#[test]
fn lower_times_are_better_and_one_figure_has_a_rank_too() {
    let times = |rank: &str, relation: &str| {
        format!(
            "a = {{ case = \"net/answer\", params = {{ arch = \"epoll\" }}, metric = \"reply-p50\", system = \"{rank}\" }}\n\
             relation = \"{relation}\"\n"
        )
    };
    for (lines, expected, system) in [
        (times("best", "< 110 ns"), Holds, "native"),
        (times("worst", "< 110 ns"), Fails, "gvisor"),
        (times("worst", "> 190 ns"), Holds, "gvisor"),
    ] {
        let judged = judged(&lines, &three());
        assert_eq!(judged.verdict, expected, "{lines} {judged:?}");
        assert_eq!(judged.comparisons[0].a.system, system);
    }
    let ratio = format!("b.system = \"best\"\n{}", times("worst", "ratio >= 1.9"));
    assert_eq!(judged(&ratio, &three()).verdict, Holds);
}

#[test]
fn a_system_that_may_be_the_best_leaves_the_claim_open() {
    let close = systems(&[("native", [1e3, 1e4], 100.0), ("bwrap", [1e3, 1e4], 100.0)]);
    let open = judged(&rates("native", "next", "ratio > 1"), &close);
    assert_eq!(open.verdict, Undecided, "{open:?}");
    assert!(!open.note.is_empty());
    // Rounds of all ranked systems can decide it.
    let claims = [claim(&rates("native", "next", "ratio > 1"))];
    let systems: Vec<usize> =
        undecided_points(&claims, &close).into_iter().map(|(run, _)| run).collect();
    assert_eq!(systems, [0, 1]);
}

#[test]
fn one_system_has_no_rank() {
    let lines = rates("best", "worst", "ratio >= 1.75");
    let mut documents = three();
    let alone = judged(&lines, &documents[1..2]);
    assert_eq!(alone.verdict, NotMeasurable);
    let note = "only native has figures: a rank needs two systems or more, such as `--on native --on gvisor`";
    assert_eq!(alone.note, note);
    // Two runs of one system are one system.
    let twice = [documents[1].clone(), documents[1].clone()];
    assert_eq!(judged(&lines, &twice).verdict, NotMeasurable);
    assert!(lacking_points(&[claim(&lines)], &twice).is_empty(), "points are not what it lacks");
    assert!(absent_systems(&[claim(&lines)], &twice).is_empty(), "a rank is no name");
    // Without its system a named side has no figure.
    let other = judged(&rates("windows", "next", "> 1"), &documents);
    assert!(other.note.starts_with("the system \"windows\" was not measured"), "{}", other.note);
    documents[0].machine.insert(results::EMULATED.to_owned(), "emulated by QEMU".into());
    let epoll = documents[2].results.iter_mut().find(|row| row.params["arch"] == "epoll").unwrap();
    end(epoll, Outcome::Unsupported, "no epoll");
    let alone = judged(&lines, &documents);
    assert_eq!(alone.verdict, NotMeasurable);
    for reason in ["gvisor: its times are not judged: emulated by QEMU", "is unsupported: no epoll"]
    {
        assert!(alone.note.contains(reason), "{}", alone.note);
    }
}

#[test]
fn systems_without_a_figure_are_left_out_of_the_order() {
    let mut documents = three();
    documents[0].machine.insert(results::EMULATED.to_owned(), "emulated by QEMU".into());
    let judged = judged(&rates("best", "worst", "ratio between 1.2 and 1.3"), &documents);
    assert_eq!(judged.verdict, Holds, "{judged:?}");
    assert_eq!(judged.left_out, ["gvisor: its times are not judged: emulated by QEMU"]);
    assert_eq!(judged.comparisons[0].systems, Some(2));
}

#[test]
fn ranks_that_mean_nothing_are_mistakes() {
    let mistake = |lines: &str| {
        let text = format!("[[claim]]\nname = \"x\"\nsentence = \"A sentence.\"\n{lines}");
        ClaimFile::parse(&text).unwrap_err().to_string()
    };
    for (a, b, problem) in [
        ("next", "best", "\"next\" is for side b"),
        ("worst", "next", "use \"best\""),
        ("best", "best", "both sides are the same"),
    ] {
        let error = mistake(&rates(a, b, "> 1"));
        assert!(error.starts_with("line ") && error.contains(problem), "{error}");
    }
    let error = mistake("a.case = \"lock/futex\"\nb.system = \"next\"\nrelation = \"> 1\"\n");
    assert!(error.contains("needs a system in side a"), "{error}");
    let trend =
        "a = { case = \"lock/futex\", system = \"best\" }\nrelation = \"increases with workers\"\n";
    assert!(mistake(trend).contains("not over a parameter"));
}

/// Checks the chance of a wrong verdict with five systems that are equal in truth. Whoever looks first which is the best, and
/// compares that one with the worst as if it had been named, is wrong far more often.
#[test]
fn ranks_of_equal_systems_are_rarely_taken_for_a_difference() {
    const DATA_SETS: usize = 1_500;
    const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
    let mut rng = StdRng::seed_from_u64(17);
    let mut wrong = [0; 4];
    for _ in 0..DATA_SETS {
        let of_system = |(at, name): (usize, &&str)| {
            let values = (0..10).map(|_| 1e4 * (0.02 * noise(&mut rng)).exp()).collect();
            run(name, vec![in_turn("epoll", "rate", at, values)])
        };
        let documents: Vec<Document> = NAMES.iter().enumerate().map(of_system).collect();
        let verdict = |lines: &str| judged(lines, &documents).verdict;
        wrong[0] += usize::from(verdict(&rates("best", "worst", "ratio > 1")) == Holds);
        wrong[1] += usize::from(verdict(&rates("best", "next", "ratio > 1")) == Holds);
        wrong[2] += usize::from(verdict(&rates("a", "next", "ratio >= 1")) == Fails);
        let median = |at: &usize| documents[*at].results[0].estimate.unwrap().median;
        let mut order: Vec<usize> = (0..NAMES.len()).collect();
        order.sort_by(|one, other| median(one).total_cmp(&median(other)));
        let (worst, best) = (NAMES[order[0]], NAMES[order[NAMES.len() - 1]]);
        wrong[3] += usize::from(verdict(&rates(best, worst, "ratio > 1")) == Holds);
    }
    let shares = wrong.map(|count| count as f64 / DATA_SETS as f64);
    println!("wrong: best/worst, best/next, named/next, chosen by the data: {shares:?}");
    // The limit is 2.5 % and three standard errors of the simulation.
    let allowed = 0.025 + 3.0 * (0.025 * 0.975 / DATA_SETS as f64).sqrt();
    assert!(shares[..3].iter().all(|share| *share <= allowed), "{shares:?}");
    assert!(wrong[3] > 5 * wrong[0].max(1), "{shares:?}");
}
