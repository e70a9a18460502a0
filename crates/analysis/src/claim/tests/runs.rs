//! Verdicts on constructed runs.

use measure::stats::median;
use results::{CaseResult, Direction, Document, Outcome, PerOp};

use super::super::*;
use simulated::{AsPoint, document_on, figure_of, next_run, with_extremes};

/// A result of a point.
pub(super) fn result(point: impl AsPoint, metric: &str, round_values: Vec<f64>) -> CaseResult {
    simulated::areas::install();
    let point = point.point();
    let known = catalog::metric(&point.case, metric);
    let (unit, better) =
        known.map_or(("ns/op", Direction::Lower), |metric| (metric.unit, metric.better));
    with_extremes(figure_of(&point, (metric, unit, better), round_values))
}

/// A run of a system with this name, measured in turn with the others.
pub(super) fn run(system: &str, results: Vec<CaseResult>) -> Document {
    document_on("Linux", Some(system), results)
}

/// Twelve rounds about `center` within 1 %.
pub(super) fn about(center: f64) -> Vec<f64> {
    (0..12).map(|i| center * (1.0 + 0.001 * f64::from((i * 5) % 11 - 5))).collect()
}

/// A claim with these lines in addition to its name and sentence.
pub(super) fn claim(lines: &str) -> Claim {
    let text = format!("[[claim]]\nname = \"x\"\nsentence = \"A sentence.\"\n{lines}");
    ClaimFile::parse(&text).unwrap().claims.remove(0)
}

pub(super) fn judged(lines: &str, documents: &[Document]) -> JudgedClaim {
    judge(&[claim(lines)], documents).remove(0)
}

fn verdict(lines: &str, documents: &[Document]) -> ClaimVerdict {
    judged(lines, documents).verdict
}

const RATIO: &str = "a.case = \"lock/sysv-sem\"\nb.case = \"lock/posix-sem-shared\"\n";

/// Two locks with these times, alone and with two workers.
fn locks(of_a: [f64; 2], of_b: [f64; 2]) -> Vec<CaseResult> {
    let rows = |case: &'static str, times: [f64; 2]| {
        ["1", "2"].into_iter().zip(times).map(move |(workers, time)| {
            let params = [("as", "threads"), ("workers", workers)];
            result((case, params), "time", about(time))
        })
    };
    rows("lock/sysv-sem", of_a).chain(rows("lock/posix-sem-shared", of_b)).collect()
}

/// Takes the figure from a result.
pub(super) fn end(result: &mut CaseResult, outcome: Outcome, why: &str) {
    (result.outcome, result.estimate) = (outcome, None);
    result.reason = Some(why.to_owned());
}

#[test]
fn ratios_hold_and_fail_for_all_and_for_some() {
    use ClaimVerdict::{Fails, Holds, Undecided};
    let documents = [run("native", locks([200.0, 300.0], [100.0, 250.0]))];
    for (relation, for_all, for_some) in [
        ("ratio >= 1.1", Holds, Holds),
        ("ratio >= 1.5", Fails, Holds),
        ("ratio >= 3", Fails, Fails),
        ("ratio <= 1.3", Fails, Holds),
        ("ratio <= 2.1", Holds, Holds),
        ("within 25 %", Fails, Holds),
        ("between 1.1 and 2.1", Holds, Holds),
        ("ratio >= 1.2", Undecided, Holds),
        ("ratio >= 2", Fails, Undecided),
    ] {
        for (scope, expected) in [("for all", for_all), ("for some", for_some)] {
            let lines = format!("{RATIO}relation = \"{relation}\"\nscope = \"{scope}\"\n");
            assert_eq!(verdict(&lines, &documents), expected, "{relation} {scope}");
        }
    }
}

#[test]
fn counterparts_have_the_same_parameters() {
    let documents = [run("native", locks([200.0, 300.0], [100.0, 250.0]))];
    let judged = judged(&format!("{RATIO}relation = \"> 1\"\nscope = \"for all\"\n"), &documents);
    assert_eq!(judged.comparisons.len(), 2);
    for (one, workers) in judged.comparisons.iter().zip(1..) {
        let params = format!("{{as=threads,workers={workers}}}");
        assert_eq!(one.a.point.to_string(), format!("lock/sysv-sem{params}"));
        let b = one.b.as_ref().unwrap();
        assert_eq!(b.point.to_string(), format!("lock/posix-sem-shared{params}"));
    }
    let interval = judged.comparisons[0].interval.unwrap();
    assert!(interval.low < 2.0 && 2.0 < interval.high && (interval.mid - 2.0).abs() < 0.01);
}

#[test]
fn a_scope_of_one_point_needs_one() {
    let documents = [run("native", locks([200.0, 300.0], [100.0, 250.0]))];
    let open = judged(&format!("{RATIO}relation = \"> 1\"\n"), &documents);
    assert_eq!(open.verdict, ClaimVerdict::NotMeasurable);
    assert!(open.note.starts_with("2 combinations of parameters match"), "{}", open.note);
    let fixed = format!("{RATIO}relation = \"> 1\"\na.params = {{ workers = 2 }}\n");
    assert_eq!(verdict(&fixed, &documents), ClaimVerdict::Holds);
    // A value in another notation is equal.
    let fixed = format!(
        "{RATIO}relation = \"> 1\"\na.params = {{ workers = \"2\" }}\nb.params = {{ workers = \"0002\" }}\n"
    );
    assert_eq!(verdict(&fixed, &documents), ClaimVerdict::Holds);
}

#[test]
fn what_is_missing_is_named() {
    let mut results = locks([200.0, 300.0], [100.0, 250.0]);
    let documents = [run("native", results.clone())];
    let note = |lines: &str, documents: &[Document]| {
        let judged = judged(lines, documents);
        assert_eq!(judged.verdict, ClaimVerdict::NotMeasurable, "{lines}");
        judged.note
    };
    let of = |a: &str| format!("{a}\nrelation = \"> 1 ns\"\n");
    assert_eq!(note("missing = \"Windows 95\"\n", &documents), "missing: Windows 95");
    assert_eq!(note(&of("a.case = \"lock/futex\""), &documents), "lock/futex was not measured");
    assert_eq!(
        note(&of("a = { case = \"lock/sysv-sem\", params = { workers = 9 } }"), &documents),
        "time of lock/sysv-sem{workers=9} was not measured"
    );
    assert_eq!(
        note(&of("a = { case = \"lock/sysv-sem\", system = \"windows\" }"), &documents),
        "the system \"windows\" was not measured, only native"
    );
    let windows = of("a.case = \"clock/query-performance-counter\"");
    let reason = note(&windows, &documents);
    let missing = "clock/query-performance-counter is missing: ";
    assert!(cfg!(windows) || reason.starts_with(missing), "{reason}");
    results.iter_mut().for_each(|result| end(result, Outcome::Unsupported, "no System V IPC"));
    let documents = [run("native", results)];
    assert_eq!(
        note(&of("a.case = \"lock/sysv-sem\""), &documents),
        "lock/sysv-sem{as=threads,workers=1} is unsupported: no System V IPC"
    );
}

#[test]
fn a_point_that_failed_leaves_a_claim_about_all_open() {
    let mut results = locks([200.0, 300.0], [100.0, 250.0]);
    (results[1].outcome, results[1].estimate) = (Outcome::TimedOut, None);
    let documents = [run("native", results)];
    let of_all = judged(&format!("{RATIO}relation = \"> 1\"\nscope = \"for all\"\n"), &documents);
    assert_eq!(of_all.verdict, ClaimVerdict::Undecided);
    assert!(of_all.note.contains("timed-out"), "{}", of_all.note);
    let of_some = format!("{RATIO}relation = \"> 1\"\nscope = \"for some\"\n");
    assert_eq!(verdict(&of_some, &documents), ClaimVerdict::Holds);
    let refuted = format!("{RATIO}relation = \"> 3\"\nscope = \"for all\"\n");
    assert_eq!(verdict(&refuted, &documents), ClaimVerdict::Fails);
}

/// A point without figures has one result, for the time.
#[test]
fn the_reason_of_a_point_without_figures_is_that_of_each_of_its_metrics() {
    let of = |arch: &'static str, metric: &str| {
        result(("net/answer", [("arch", arch)]), metric, about(100.0))
    };
    let lines = "a = { case = \"net/answer\", metric = \"rate\", params = { arch = [\"fork\", \"threads\"] } }\n\
                 relation = \"> 1 replies/s\"\nscope = \"for all\"\n";
    for (outcome, verdict) in
        [(Outcome::Unsupported, ClaimVerdict::Holds), (Outcome::TimedOut, ClaimVerdict::Undecided)]
    {
        let mut without = of("fork", "time");
        end(&mut without, outcome, "no fork");
        let documents =
            [run("native", vec![without, of("threads", "time"), of("threads", "rate")])];
        let judged = judged(lines, &documents);
        let why = format!("net/answer{{arch=fork}} is {}: no fork", outcome.word());
        assert_eq!(judged.verdict, verdict, "{}", judged.note);
        assert_eq!(judged.left_out.contains(&why), verdict == ClaimVerdict::Holds);
        assert_eq!(judged.note == why, verdict == ClaimVerdict::Undecided, "{}", judged.note);
        assert_eq!(lacking_points(&[claim(lines)], &documents), []);
    }
}

#[test]
fn a_point_that_is_unsupported_on_either_side_is_left_out_and_named() {
    let all = format!("{RATIO}relation = \"> 1\"\nscope = \"for all\"\n");
    // The figure is that of one worker or of two, on each side.
    for (at, label) in [
        (1, "lock/sysv-sem{as=threads,workers=2}"),
        (2, "lock/posix-sem-shared{as=threads,workers=1}"),
    ] {
        let mut results = locks([200.0, 300.0], [100.0, 250.0]);
        end(&mut results[at], Outcome::Unsupported, "no room");
        let judged = judged(&all, &[run("native", results)]);
        assert_eq!(judged.verdict, ClaimVerdict::Holds, "{}", judged.note);
        assert_eq!(judged.left_out, [format!("{label} is unsupported: no room")]);
        assert_eq!(judged.comparisons.len(), 1);
    }
    // No point is left.
    let mut results = locks([200.0, 300.0], [100.0, 250.0]);
    for at in [0, 3] {
        end(&mut results[at], Outcome::Unsupported, "no room");
    }
    let judged = judged(&all, &[run("native", results)]);
    assert_eq!(judged.verdict, ClaimVerdict::NotMeasurable);
    assert!(judged.note.ends_with(" is unsupported: no room"), "{}", judged.note);
}

#[test]
fn values_that_a_claim_gives_must_all_have_been_measured() {
    let documents = [run("native", locks([200.0, 300.0], [100.0, 250.0]))];
    let all = |params: &str, relation: &str| {
        let lines = format!(
            "{RATIO}a.params = {{ {params} }}\nrelation = \"{relation}\"\nscope = \"for all\"\n"
        );
        judged(&lines, &documents)
    };
    assert_eq!(all("workers = [1, 2]", "> 1").verdict, ClaimVerdict::Holds);
    for (params, label) in [
        ("workers = [1, 2, 4]", "lock/sysv-sem{workers=4}"),
        (
            "workers = [1, 2], as = [\"threads\", \"processes\"]",
            "lock/sysv-sem{as=processes,workers=1}",
        ),
    ] {
        let open = all(params, "> 1");
        assert_eq!(open.verdict, ClaimVerdict::Undecided);
        assert_eq!(open.note, format!("time of {label} was not measured"));
        // One combination is enough to fail.
        assert_eq!(all(params, "> 3").verdict, ClaimVerdict::Fails);
    }
    // The search does not try all combinations of these values.
    let numbers: Vec<String> = (1..4_000).map(|n| n.to_string()).collect();
    let many = format!("workers = [{0}], as = [{0}]", numbers.join(", "));
    assert_eq!(all(&many, "> 1").verdict, ClaimVerdict::NotMeasurable);
}

#[test]
fn both_sides_come_from_the_first_run_that_lacks_nothing() {
    let all = locks([200.0, 300.0], [100.0, 250.0]);
    let part = run("part", all[..3].to_vec());
    let whole = run("whole", locks([400.0, 600.0], [100.0, 250.0]));
    let given = format!(
        "{RATIO}a.params = {{ workers = [1, 2] }}\nrelation = \"> 3\"\nscope = \"for some\"\n"
    );
    assert_eq!(verdict(&given, std::slice::from_ref(&part)), ClaimVerdict::Undecided);
    assert_eq!(verdict(&given, &[part.clone(), whole.clone()]), ClaimVerdict::Holds);
    // Neither run alone has all points.
    let other = run("other", all[2..].to_vec());
    let apart = [run("part", all[..2].to_vec()), other];
    assert_eq!(verdict(&given, &apart), ClaimVerdict::NotMeasurable);
    let lacking = |documents: &[Document]| lacking_points(&[claim(&given)], documents).len();
    assert_eq!([lacking(&[part]), lacking(&apart), lacking(&[whole])], [1, 1, 0]);
    // Points that are unsupported or failed count as measured.
    let mut results = locks([200.0, 300.0], [100.0, 250.0]);
    (results[1].outcome, results[1].estimate) = (Outcome::Unsupported, None);
    (results[2].outcome, results[2].estimate) = (Outcome::TimedOut, None);
    assert_eq!(lacking(&[run("native", results)]), 0);
    assert!(lacking_points(&[claim("missing = \"x\"\n")], &[]).is_empty());
}

#[test]
fn systems_are_named_by_the_user_or_their_kernel() {
    let mut gvisor = run("gvisor", locks([900.0, 900.0], [800.0, 800.0]));
    let native = run("native", locks([200.0, 300.0], [100.0, 250.0]));
    let lines = "a = { case = \"lock/sysv-sem\", system = \"gvisor\", params = { workers = 1 } }\n\
                 b = { system = \"native\" }\nrelation = \"ratio between 4 and 5\"\n";
    let documents = [native.clone(), gvisor.clone()];
    assert_eq!(verdict(lines, &documents), ClaimVerdict::Holds);
    assert_eq!(verdict(lines, &documents[..1]), ClaimVerdict::NotMeasurable);
    let by_kernel = lines.replace("native", "linux");
    assert_eq!(verdict(&by_kernel, &documents), ClaimVerdict::Holds);
    // The order of the runs does not matter.
    assert_eq!(verdict(&by_kernel, &[gvisor.clone(), native.clone()]), ClaimVerdict::Holds);
    let systems = absent_systems(&[claim(&lines.replace("native", "wine"))], &documents);
    assert_eq!(systems.into_iter().collect::<Vec<_>>(), ["wine"]);
    // A claim without a name refers to the first run.
    let first =
        "a = { case = \"lock/sysv-sem\", params = { workers = 1 } }\nrelation = \"< 300 ns\"\n";
    assert_eq!(verdict(first, &documents), ClaimVerdict::Holds);
    gvisor.machine.insert(results::EMULATED.to_owned(), "emulated by QEMU".into());
    let emulated = judged(lines, &[native, gvisor]);
    assert_eq!(emulated.note, "the times of gvisor are not judged: emulated by QEMU");
}

/// Regression test for a ratio of separate runs, whose interval did not cover what differs from run to run.
#[test]
fn separate_runs_differ_by_more_than_their_rounds() {
    let lines = "a = { case = \"lock/sysv-sem\", system = \"new\", params = { workers = 1 } }\n\
                 b = { system = \"old\" }\nrelation = \"ratio <= 1.05\"\n";
    let [new, old] = [("new", 1.01), ("old", 1.0)]
        .map(|(name, times)| run(name, locks([200.0 * times, 300.0], [100.0, 250.0])));
    let width = |judged: &JudgedClaim| {
        let interval = judged.comparisons[0].interval.unwrap();
        (interval.high / interval.low).ln()
    };
    let in_turn = judged(lines, &[new.clone(), old.clone()]);
    assert_eq!(in_turn.verdict, ClaimVerdict::Holds);
    let [mut later, mut earlier] = [new, old].map(|mut run| {
        run.run.asked.clear();
        run
    });
    let separate = judged(lines, &[later.clone(), earlier.clone()]);
    assert_eq!(separate.verdict, ClaimVerdict::Undecided);
    assert!(separate.note.starts_with("such runs differ by "), "{}", separate.note);
    assert!(width(&separate) > 2.0 * width(&in_turn), "{separate:?}");
    // A machine that is known to repeat its figures decides it.
    for run in [&mut later, &mut earlier] {
        run.results[0].next_run = Some(next_run([0.0, 1e3], 0.001, 20.0, 21));
    }
    assert_eq!(judged(lines, &[later, earlier]).verdict, ClaimVerdict::Holds);
}

#[test]
fn cycles_are_compared_on_the_same_processor_only() {
    let machine = |system: &str, model: &str| {
        let mut results =
            vec![result("lock/sysv-sem", "time", about(if system == "a" { 200.0 } else { 100.0 }))];
        let estimate = results[0].estimate.unwrap();
        // Both operations take 300 cycles, but one core is twice as fast.
        let [median, low, high] =
            [estimate.median, estimate.low, estimate.high].map(|ns| ns * 300.0 / estimate.median);
        results[0].cycles = Some(results::Interval { median, low, high });
        let mut document = run(system, results);
        for key in ["vendor", "family", "model", "stepping", "flags", "caches"] {
            document.machine.insert(format!("cpu_{key}"), model.into());
        }
        document
    };
    let lines = "a = { case = \"lock/sysv-sem\", system = \"a\" }\nb = { system = \"b\" }\n";
    let same = [machine("a", "x"), machine("b", "x")];
    assert_eq!(verdict(&format!("{lines}relation = \"within 2 %\"\n"), &same), ClaimVerdict::Holds);
    let other = [machine("a", "x"), machine("b", "y")];
    assert_eq!(
        verdict(&format!("{lines}relation = \"ratio > 1.9\"\n"), &other),
        ClaimVerdict::Holds
    );
}

#[test]
fn counts_are_exact() {
    let mut row = result(("lock/sysv-sem", [("workers", "1")]), "time", about(900.0));
    row.per_op = Some(PerOp { syscalls: Some(2.0), ..PerOp::default() });
    let documents = [run("native", vec![row])];
    let of = |relation: &str| {
        let lines = format!(
            "a = {{ case = \"lock/sysv-sem\", metric = \"syscalls\" }}\nrelation = \"{relation}\"\n"
        );
        verdict(&lines, &documents)
    };
    use ClaimVerdict::{Fails, Holds};
    assert_eq!(
        ["= 2", "< 2", "<= 2", "> 2", ">= 2", "within 1 % of 2"].map(of),
        [Holds, Fails, Holds, Fails, Holds, Holds]
    );
}

#[test]
fn counts_of_the_host_are_metrics_of_a_system() {
    let of = |host: Option<f64>| {
        let mut row = result("syscall/getppid", "time", about(900.0));
        row.per_op = Some(PerOp { syscalls: Some(1.0), host_syscalls: host, ..PerOp::default() });
        let lines = "a = { case = \"syscall/getppid\", metric = \"host-syscalls\", system = \"gvisor\" }\n\
                     relation = \"<= 2.5\"\n";
        verdict(lines, &[run("gvisor", vec![row])])
    };
    assert_eq!(of(Some(2.02)), ClaimVerdict::Holds);
    assert_eq!(of(Some(5.95)), ClaimVerdict::Fails);
    assert_eq!(of(None), ClaimVerdict::NotMeasurable);
}

/// Results of `net/answer` with these rates of two architectures at 10, 100 and 1000 connections.
fn servers(threads: [f64; 3], epoll: [f64; 3]) -> Vec<CaseResult> {
    let row = |arch: &str, connections: u32, rate: f64| {
        let connections = connections.to_string();
        let params = [("arch", arch), ("connections", &*connections)];
        result(("net/answer", params), "rate", about(rate))
    };
    let at = [10, 100, 1_000].into_iter().zip(threads).zip(epoll);
    at.flat_map(|((at, threads), epoll)| [row("threads", at, threads), row("epoll", at, epoll)])
        .collect()
}

const CURVES: &str = "a = { case = \"net/answer\", params = { arch = \"threads\" }, metric = \"rate\" }\n\
                      b = { params = { arch = \"epoll\" } }\n";

#[test]
fn curves_cross_within_the_measured_range_only() {
    use ClaimVerdict::{Fails, Holds, Undecided};
    let documents = [run("native", servers([2e4, 1.5e4, 1e4], [1e4, 1.4e4, 2e4]))];
    let of = |relation: &str| {
        verdict(&format!("{CURVES}over = \"connections\"\nrelation = \"{relation}\"\n"), &documents)
    };
    let limits = ["between 100 and 1000", "<= 1000", ">= 500", "at 50"];
    assert_eq!(limits.map(|limit| of(&format!("crosses {limit}"))), [Holds, Holds, Fails, Fails]);
    // The ratio falls from 2 at 10 to 1.07 at 100, and is 1.5 at 29.
    assert_eq!(of("crosses 1.5 between 25 and 33"), Holds);
    assert_eq!(of("crosses 1.5 >= 50"), Fails);
    assert_eq!(of("crosses 0.9 between 100 and 1000"), Holds);
    // The curves do not cross within the range, but may cross beyond it.
    let documents = [run("native", servers([2e4, 1.5e4, 1e4], [1e4, 0.9e4, 0.8e4]))];
    let of = |relation: &str| {
        verdict(&format!("{CURVES}over = \"connections\"\nrelation = \"{relation}\"\n"), &documents)
    };
    let limits = ["<= 1000", "<= 1001", "<= 500", ">= 500", "at 5000"];
    let found = limits.map(|limit| of(&format!("crosses {limit}")));
    assert_eq!(found, [Fails, Undecided, Fails, Holds, Undecided]);
}

#[test]
fn a_disturbed_point_leaves_open_only_what_depends_on_it() {
    let mut results = servers([2e4, 1.5e4, 1e4], [1e4, 1.4e4, 2e4]);
    for result in &mut results {
        result.disturbed = result.params["connections"] == "100";
    }
    let documents = [run("native", results)];
    let of = |relation: &str| {
        judged(&format!("{CURVES}over = \"connections\"\nrelation = \"{relation}\"\n"), &documents)
    };
    assert_eq!(of("crosses <= 1000").verdict, ClaimVerdict::Holds);
    let open = of("crosses >= 100");
    assert_eq!(open.verdict, ClaimVerdict::Undecided);
    assert!(open.note.starts_with("too few rounds were quiet"), "{}", open.note);
}

#[test]
fn a_disturbed_point_decides_what_is_more_than_a_factor_of_2_from_a_claim() {
    let mut results = servers([7e4, 7e4, 7e4], [1e4, 1e4, 1e4]);
    results.iter_mut().for_each(|result| result.disturbed = true);
    let documents = [run("native", results)];
    use ClaimVerdict::{Fails, Holds, Undecided};
    for (ratio, expected) in [(20, Fails), (12, Undecided), (5, Undecided), (3, Holds)] {
        let lines = format!("{CURVES}scope = \"for all\"\nrelation = \"ratio >= {ratio}\"\n");
        let judged = judged(&lines, &documents);
        assert_eq!(judged.verdict, expected, "{ratio}");
        let is_open = expected == Undecided;
        assert_eq!(judged.note.contains("rounds were quiet"), is_open, "{}", judged.note);
    }
}

#[test]
fn trends_and_slopes() {
    use ClaimVerdict::{Fails, Holds, Undecided};
    let documents = [run("native", servers([1e4, 2e4, 4e4], [2e4, 2e4, 2e4]))];
    let of = |relation: &str, two: bool| {
        let over = if relation.starts_with("slope") { "over = \"connections\"\n" } else { "" };
        let a = CURVES.lines().next().unwrap();
        let sides = if two { CURVES.to_owned() } else { format!("{a}\n") };
        verdict(&format!("{sides}{over}relation = \"{relation}\"\n"), &documents)
    };
    for two in [false, true] {
        assert_eq!(of("increases with connections", two), Holds);
        assert_eq!(of("decreases with connections", two), Fails);
        // The figure doubles for ten times the connections: log 2 / log 10 is 0.301.
        assert_eq!(of("slope between 0.28 and 0.32", two), Holds);
        assert_eq!(of("slope > 0.5", two), Fails);
        assert_eq!(of("slope > 0.301", two), Undecided);
    }
    let flat = CURVES.replace("threads", "epoll").lines().next().unwrap().to_owned();
    let flat = judged(&format!("{flat}\nrelation = \"increases with connections\"\n"), &documents);
    assert_eq!(flat.verdict, Undecided);
}

#[test]
fn a_rate_that_the_generator_limited_is_a_lower_bound() {
    use ClaimVerdict::{Holds, Undecided};
    let mut results = servers([1e4, 2e4, 4e4], [2e4, 2e4, 2e4]);
    for result in &mut results {
        if result.params["arch"] == "threads" {
            result.doubts.push(measure::Doubt::ClientSaturated);
        }
    }
    let documents = [run("native", results)];
    let of = |relation: &str| {
        judged(&format!("{CURVES}relation = \"{relation}\"\nscope = \"for some\"\n"), &documents)
    };
    assert_eq!(of("ratio > 1.5").verdict, Holds);
    let bound = of("ratio < 1.5");
    assert_eq!(bound.verdict, Undecided);
    assert!(bound.note.contains("bottleneck"), "{}", bound.note);
}

#[test]
fn what_would_decide_it_is_reported() {
    let scattered: Vec<f64> =
        (0..12).map(|i| 100.0 * (1.0 + 0.05 * f64::from((i * 5) % 11 - 5))).collect();
    let middle = median(&mut scattered.clone());
    let documents = [run("native", vec![result("lock/futex", "time", scattered)])];
    let note = |relation: &str| {
        let judged =
            judged(&format!("a.case = \"lock/futex\"\nrelation = \"{relation}\"\n"), &documents);
        assert_eq!(judged.verdict, ClaimVerdict::Undecided, "{relation}");
        judged.note
    };
    let rounds = note("< 108 ns");
    let many = " times as many rounds would decide it";
    assert!(rounds.starts_with("about ") && rounds.ends_with(many), "{rounds}");
    let on_the_limit = note(&format!("< {middle} ns"));
    assert!(on_the_limit.contains("limit"), "{on_the_limit}");
    let mut few = result("lock/futex", "time", vec![100.0; 3]);
    let of = |few: &CaseResult, relation: &str| {
        let runs = [run("native", vec![few.clone()])];
        judged(&format!("a.case = \"lock/futex\"\nrelation = \"{relation}\"\n"), &runs)
    };
    assert_eq!(of(&few, "< 1 us").note, "3 rounds are too few: at least 6 are needed");
    // The rounds that include disturbed ones show the difference too.
    few.all_round_values = about(110.0);
    assert_eq!(of(&few, "< 1 us").verdict, ClaimVerdict::Holds);
    let open = of(&few, "< 150 ns");
    assert_eq!(open.verdict, ClaimVerdict::Undecided);
    assert!(open.note.starts_with("too few rounds were quiet"), "{}", open.note);
}

#[test]
fn claims_of_a_file_share_their_chance_of_error() {
    let documents = [run("native", locks([200.0, 300.0], [100.0, 250.0]))];
    let one = claim(&format!("{RATIO}a.params = {{ workers = 1 }}\nrelation = \"> 1\"\n"));
    let width = |claims: usize| {
        let judged = judge(&vec![one.clone(); claims], &documents);
        let interval = judged[0].comparisons[0].interval.unwrap();
        interval.high - interval.low
    };
    assert!(width(20) > 1.15 * width(1), "{} {}", width(20), width(1));
    // Claims that cannot be measured take no part of the chance.
    let missing = claim("missing = \"x\"\n");
    let judged = judge(&[one.clone(), missing], &documents);
    let interval = judged[0].comparisons[0].interval.unwrap();
    assert_eq!(interval.high - interval.low, width(1));
}
