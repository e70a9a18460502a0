//! Verdicts on runs beside other load.

use results::CaseResult;

use super::super::*;
use super::runs::{about, judged, result, run};

/// Judges "threads take as long as serial execution (within 5 %)" by rounds beside load, with these times and CPUs in use.
fn jobs_beside_load(kind: &'static str, serial: (f64, f64), threads: (f64, f64)) -> JudgedClaim {
    let side = |executor: &'static str, (time, share): (f64, f64), later: i64| {
        let of = |metric: &str, center: f64| {
            let all = about(center);
            let starts: Vec<i64> = (0..all.len() as i64).map(|n| 1_000 * n + later).collect();
            CaseResult {
                disturbed: true,
                all_round_values: all.clone(),
                all_round_starts_ms: starts.clone(),
                round_starts_ms: starts,
                cpus: if kind == "cpu, all" { vec![0, 1] } else { vec![1] },
                ..result(("concurrency/jobs", params_of_jobs(executor, kind)), metric, all)
            }
        };
        [of("time", time), of("cpu-use", share)]
    };
    let results = [side("serial", serial, 0), side("threads-suspended", threads, 300)];
    let claim = "a = { case = \"concurrency/jobs\", params = { executor = \"threads-suspended\" } }
                 b = { case = \"concurrency/jobs\", params = { executor = \"serial\" } }
                 relation = \"ratio within 5 %\"";
    judged(claim, &[run("here", results.concat())])
}

fn params_of_jobs(executor: &'static str, kind: &'static str) -> [(&'static str, &'static str); 7] {
    let (kind, cpus) = kind.split_once(", ").unwrap_or((kind, "one"));
    [
        ("executor", executor),
        ("kind", kind),
        ("cpus", cpus),
        ("jobs", "17"),
        ("base", "1ms"),
        ("finisher", "none"),
        ("degree", "25"),
    ]
}

/// Checks CPU-bound jobs beside a busy loop: a list in one thread gets half of a CPU, and 17 threads together get nearly all of
/// it. Without other load both take the same time.
#[test]
fn beside_load_unequal_shares_of_the_cpu_decide_nothing() {
    let with_shares =
        |serial: f64, threads: f64| jobs_beside_load("cpu", (252e6, serial), (147e6, threads));
    let unequal = with_shares(0.5, 0.867);
    assert_eq!(unequal.verdict, ClaimVerdict::Undecided, "{unequal:?}");
    assert!(unequal.note.contains("quieter machine"), "{unequal:?}");
    // Sides with equal shares of the CPU are judged by their times alone.
    assert_eq!(with_shares(0.9, 0.9).verdict, ClaimVerdict::Fails);
    // No share of the CPU explains a factor of two.
    assert_eq!(with_shares(0.5, 0.55).verdict, ClaimVerdict::Fails);
}

/// Jobs that wait have no share of a CPU that load could take, and serial jobs on two CPUs use one of them on an idle machine too.
#[test]
fn only_cpu_time_that_load_took_widens_an_interval() {
    let waiting = jobs_beside_load("wait", (153e6, 0.001), (17e6, 0.02));
    assert_eq!(waiting.verdict, ClaimVerdict::Fails, "{waiting:?}");
    let on_two_cpus = jobs_beside_load("cpu, all", (153e6, 1.0), (77e6, 1.99));
    assert_eq!(on_two_cpus.verdict, ClaimVerdict::Fails, "{on_two_cpus:?}");
    // Beside a busy loop on each CPU: half of the time of one, and nearly all of both.
    let beside_loops = jobs_beside_load("cpu, all", (306e6, 0.5), (86e6, 1.78));
    let interval = beside_loops.comparisons[0].interval.expect("an interval");
    assert!(interval.low < 0.3 && interval.high > 0.49, "{interval:?}");
}
