//! What is shown of one set of figures never contradicts itself: over simulated runs on two systems, some of whose figures have too
//! few rounds for an interval.

use std::collections::BTreeSet;

use analysis::claim::{ClaimFile, ClaimVerdict, judge};
use analysis::{Dimension, Question, Settings, Verdict, compare_columns, overview, tabulate};
use measure::Doubt;
use measure::stats::ROUNDS_FOR_INTERVAL;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use report::{Page, overview_text, results_tables, summary};
use results::{CaseResult, Document, EMULATED};
use simulated::{AsPoint, document, noise, rounds_of, with_extremes};

const PAGE: Page = Page { width: 200, colour: false, unicode: true, this_run: false };

/// Cases of several areas, with their usual times in ns.
const CASES: [(&str, f64); 12] = [
    ("clock/std-instant", 25.0),
    ("clock/rdtsc", 26.0),
    ("syscall/getppid", 90.0),
    ("syscall/read-0", 120.0),
    ("syscall/getcwd", 310.0),
    ("syscall/lseek", 95.0),
    ("memory/fault-anonymous", 800.0),
    ("process/fork", 90_000.0),
    ("process/fork-exec", 400_000.0),
    ("thread/std-spawn", 12_000.0),
    ("signal/raise", 700.0),
    ("signal/kill", 650.0),
];

/// A figure of `rounds` rounds, without an interval if they are too few.
fn figure(
    point: impl AsPoint,
    ns: f64,
    rounds: usize,
    spread: f64,
    rng: &mut StdRng,
) -> CaseResult {
    let values: Vec<f64> = (0..rounds).map(|_| ns * (spread * noise(rng)).exp()).collect();
    let mut result = with_extremes(rounds_of(point, &values));
    if rounds < ROUNDS_FOR_INTERVAL {
        result.doubts.push(Doubt::FewRounds);
        let estimate = result.estimate.as_mut().expect("a median");
        (estimate.low, estimate.high) = (f64::NEG_INFINITY, f64::INFINITY);
    }
    result
}

/// Two systems, one of which is slower in some areas. In each pair some points have few rounds, and some are noisy.
fn systems(seed: u64) -> [Document; 2] {
    crate::install();
    let mut rng = StdRng::seed_from_u64(seed);
    let few = rng.random::<f64>();
    let spread = [0.001, 0.01, 0.1][rng.random_range(0..3)];
    let slower = [1.0, 1.01, 1.05, 2.0][rng.random_range(0..4)];
    let mut of_system = |name: &str, factor: f64| {
        let results = CASES.iter().map(|(case, ns)| {
            let rounds = if rng.random::<f64>() < few { 1 + rng.random_range(0..5) } else { 12 };
            let factor = if case.starts_with("s") { factor } else { 1.0 };
            figure(*case, ns * factor, rounds, spread, &mut rng)
        });
        document(name, results.collect())
    };
    [of_system("native", 1.0), of_system("gvisor", slower)]
}

/// The run with points that findings are made of, each of which has few rounds by chance.
fn with_findings(mut run: Document, seed: u64) -> Document {
    const ALONE: [(&str, &str); 3] = [("as", "threads"), ("work", "none"), ("workers", "1")];
    let mut rng = StdRng::seed_from_u64(seed);
    let mut rounds = || [1, 2, 12, 12][rng.random_range(0..4)];
    let counts = [rounds(), rounds(), rounds(), rounds()];
    for (via, ns, rounds) in [("syscall", 110.0, counts[0]), ("vdso", 25.0, counts[1])] {
        let point = ("clock/gettime", [("id", "monotonic"), ("via", via)]);
        run.results.push(figure(point, ns, rounds, 0.01, &mut rng));
    }
    for (case, ns, rounds) in [("lock/sysv-sem", 400.0, counts[2]), ("lock/futex", 20.0, counts[3])]
    {
        run.results.push(figure((case, ALONE), ns, rounds, 0.01, &mut rng));
    }
    run
}

fn without_intervals(run: &Document) -> impl Iterator<Item = &CaseResult> {
    run.results.iter().filter(|result| !result.has_interval())
}

#[test]
fn areas_say_what_rows_say_and_nothing_of_figures_without_interval() {
    let mut decided = 0;
    for seed in 0..300 {
        let mut runs = systems(seed);
        let is_emulated = seed % 10 == 9;
        if is_emulated {
            for run in &mut runs {
                run.machine.insert(EMULATED.to_owned(), "emulated by QEMU (TCG)".into());
            }
        }
        let (by, question, settings) =
            (Dimension::System, Question::default(), Settings::default());
        let table = tabulate(&runs, &by, &question).unwrap();
        let columns = table.columns.clone();
        let compared = compare_columns(table, &settings);
        let found = overview(&compared, &question.at, &settings);
        let rows: Vec<_> = compared.rows.iter().flatten().flatten().collect();
        let has_interval = |case: &str| {
            runs.iter().all(|run| run.results.iter().any(|r| r.case == case && r.has_interval()))
        };
        for row in &rows {
            assert!(has_interval(&row.point.case) || !row.verdict.is_decided(), "{seed}: {row:?}");
            assert!(!is_emulated || row.verdict == Verdict::Emulated, "{seed}: {row:?}");
        }
        let text = overview_text(&runs, &found, &columns, &by, &PAGE);
        for area in &found.areas {
            let of_area = || rows.iter().filter(|row| row.point.area() == area.name);
            let sound = of_area().filter(|row| has_interval(&row.point.case)).count();
            let Some(mean) = area.columns[0].mean else { continue };
            assert_eq!(mean.points, sound, "{seed}: {}", area.name);
            assert!(mean.agree <= mean.points);
            if !mean.verdict.is_difference() {
                continue;
            }
            decided += 1;
            assert!(of_area().any(|row| row.verdict == mean.verdict), "{seed}: {mean:?}");
            // The number of points that agree is beside each mean that not all of them agree with.
            let agree = format!("{} of {} points", mean.agree, mean.points);
            assert!(mean.agree == mean.points || text.contains(&agree), "{seed}: {text}");
        }
    }
    assert!(decided > 50, "only {decided} areas have a verdict");
}

#[test]
fn tables_mark_figures_without_interval_and_sentences_leave_them_out() {
    let findings = |run: &Document| -> BTreeSet<String> {
        let text = summary(run, catalog::areas(), None, &PAGE);
        text.lines().filter(|line| line.starts_with("- ")).map(str::to_owned).collect()
    };
    let mut made = 0;
    for seed in 0..60 {
        for run in systems(seed).map(|run| with_findings(run, seed)) {
            let few = without_intervals(&run).count();
            let table = results_tables(&run.results, &PAGE);
            let rounds = table
                .lines()
                .filter(|line| line.contains(" 1 round") || line.contains(" 2 rounds"));
            assert_eq!(rounds.count(), few, "{seed}: {table}");
            let mut sound = run.clone();
            sound.results.retain(CaseResult::has_interval);
            let (with, without) = (findings(&run), findings(&sound));
            assert!(with.is_subset(&without), "{seed}: {with:?} {without:?}");
            made += with.len();
        }
    }
    assert!(made > 0, "no finding was made");
}

#[test]
fn no_claim_is_decided_by_a_figure_without_interval() {
    let claims: String = CASES
        .iter()
        .map(|(case, _)| {
            let name = case.replace('/', "-");
            format!("[[claim]]\nname = '{name}'\nsentence = 'It is cheap.'\na.case = '{case}'\nrelation = '< 1 s'\n")
        })
        .collect();
    let claims = ClaimFile::parse(&claims).unwrap().claims;
    let mut decided = 0;
    for seed in 0..60 {
        let run = &systems(seed)[0];
        for (judged, result) in judge(&claims, std::slice::from_ref(run)).iter().zip(&run.results) {
            let is_decided = judged.verdict != ClaimVerdict::Undecided;
            assert!(result.has_interval() || !is_decided, "{seed}: {judged:?}");
            decided += usize::from(is_decided);
        }
    }
    assert!(decided > 100, "only {decided} claims are decided");
}
