use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use results::{CaseResult, Document, PointKey};

use super::*;
use crate::columns::compare_columns;
use crate::dimension::Dimension;
use crate::table::{Question, tabulate};
use simulated::{AsPoint, document, noise, rounds_of};

/// A time at a point whose rounds differ from pass to pass by `of_pass` and by their own noise.
fn time(point: impl AsPoint, ns: f64, of_pass: &[f64], own: f64, rng: &mut StdRng) -> CaseResult {
    let rounds = of_pass.iter().map(|of| ns * (of + own * noise(rng)).exp());
    rounds_of(point, &rounds.collect::<Vec<_>>())
}

/// A run of three areas, and of locks and servers of several designs. Each point costs `factor` times the usual, on a machine
/// that disturbs all points of a pass alike.
fn system(name: &str, factor: impl Fn(&PointKey) -> f64, rng: &mut StdRng) -> Document {
    simulated::areas::install();
    let of_pass: Vec<f64> = (0..8).map(|_| 0.004 * noise(rng)).collect();
    let mut points: Vec<(PointKey, f64)> = Vec::new();
    for n in 0..6u32 {
        points.push((format!("clock/c{n}").as_str().point(), 30.0 + f64::from(n)));
        points.push((format!("syscall/c{n}").as_str().point(), 100.0 + f64::from(n)));
    }
    for (lock, ns) in [("sysv-sem", 500.0), ("pthread-mutex", 20.0), ("futex", 18.0)] {
        for workers in [1, 2, 4] {
            let case = format!("lock/{lock}");
            let point = (&*case, [("workers", &*workers.to_string())]).point();
            points.push((point, ns * f64::from(workers)));
        }
    }
    for (arch, ns) in [("fork", 90e3), ("threads", 30e3), ("epoll", 20e3), ("io_uring", 18e3)] {
        for connections in ["10", "100", "1000"] {
            let params = [("arch", arch), ("connections", connections)];
            points.push((("net/answer", params).point(), ns));
        }
    }
    let of_points =
        points.iter().map(|(point, ns)| time(point, ns * factor(point), &of_pass, 0.006, rng));
    document(name, of_points.collect())
}

fn overviewed(runs: &[Document]) -> Overview {
    let question = Question::default();
    let table = tabulate(runs, &Dimension::System, &question).unwrap();
    let settings = Settings::default();
    overview(&compare_columns(table, &settings), &question.at, &settings)
}

fn verdicts(standings: &[Standing]) -> Vec<(&str, Option<Verdict>)> {
    let verdict = |standing: &Standing| standing.columns[0].mean.map(|mean| mean.verdict);
    standings.iter().map(|standing| (standing.name.as_str(), verdict(standing))).collect()
}

#[test]
fn areas_and_designs_have_a_verdict_and_the_order_of_designs_may_differ() {
    let mut rng = StdRng::seed_from_u64(41);
    let slower = |point: &PointKey| match point.params.get("arch").map(String::as_str) {
        Some("io_uring") => 3.0,
        Some("fork") => 2.0,
        _ if point.area() == "syscall" => 8.0,
        _ => 1.0,
    };
    let runs = [system("native", |_| 1.0, &mut rng), system("gvisor", slower, &mut rng)];
    let found = overviewed(&runs);
    let clear: Vec<_> = verdicts(&found.areas)
        .into_iter()
        .filter(|(name, _)| ["clock", "syscall"].contains(name))
        .collect();
    assert_eq!(clear, [("clock", Some(Verdict::Same)), ("syscall", Some(Verdict::Slower))]);
    let ratio = found.areas[1].columns[0].mean.unwrap().ratio;
    assert!(ratio.low < 8.0 && 8.0 < ratio.high && ratio.high / ratio.low < 1.2, "{ratio:?}");
    assert_eq!(found.areas[1].ranks, [Some([1, 1]), Some([2, 2])]);
    assert_eq!(found.areas[0].ranks, [Some([1, 2]), Some([1, 2])]);
    let servers: Vec<_> =
        found.designs.iter().filter(|d| d.application == Some("server")).collect();
    let slower: Vec<&str> = servers
        .iter()
        .filter(|design| design.columns[0].mean.is_some_and(|m| m.verdict == Verdict::Slower))
        .map(|design| design.name.as_str())
        .collect();
    assert_eq!(slower, ["process per connection", "io_uring"]);
    // The worst design takes 90 / 18 = 5 times the best on native, and 180 / 20 = 9 times on gvisor. The designs take 2, 1, 1 and 3
    // times as long on gvisor.
    let spread = found.spreads.iter().find(|spread| spread.application == "server").unwrap();
    let holds = |ratio: Ratio, truth: f64| ratio.low < truth && truth < ratio.high;
    assert!(holds(spread.of_designs, (5.0f64 * 9.0).sqrt()), "{:?}", spread.of_designs);
    assert!(spread.of_columns.low < 6f64.powf(0.25) * 1.01, "{:?}", spread.of_columns);
    assert!(spread.of_columns.high > 6f64.powf(0.25), "{:?}", spread.of_columns);
    let of_server = found.applications.iter().find(|s| s.name == "server").unwrap();
    assert_eq!(of_server.columns[0].mean.unwrap().points, 12);
    let order = |column: &str| {
        let is_it = |order: &&DesignOrder| order.application == "server" && order.column == column;
        found.orders.iter().find(is_it).unwrap().designs.clone()
    };
    let usual = ["io_uring", "event loop", "thread per connection", "process per connection"];
    assert_eq!(order("native"), usual);
    let there = ["event loop", "thread per connection", "io_uring", "process per connection"];
    assert_eq!(order("gvisor"), there);
    let reversed: Vec<(&str, &str, &str)> =
        found.reversals.iter().map(|r| (r.better, r.worse, r.here.as_str())).collect();
    assert_eq!(
        reversed,
        [("io_uring", "thread per connection", "native"), ("io_uring", "event loop", "native")]
    );
    let ratio = found.reversals[1].ratio_here;
    assert!(ratio.low < 20.0 / 18.0 && 20.0 / 18.0 < ratio.high && ratio.low > 1.0, "{ratio:?}");
}

#[test]
fn of_three_systems_only_certain_ranks_are_given() {
    let mut rng = StdRng::seed_from_u64(42);
    let runs = [
        system("native", |_| 1.0, &mut rng),
        system("again", |_| 1.0, &mut rng),
        system("gvisor", |_| 2.0, &mut rng),
    ];
    let found = overviewed(&runs);
    assert_eq!(found.areas[0].ranks, [Some([1, 2]), Some([1, 2]), Some([3, 3])]);
    assert_eq!(found.reversals, []);
}

#[test]
fn an_emulated_system_is_left_out_and_says_why() {
    let mut rng = StdRng::seed_from_u64(43);
    let mut runs = [system("native", |_| 1.0, &mut rng), system("qemu", |_| 9.0, &mut rng)];
    runs[1].machine.insert(results::EMULATED.to_owned(), "emulated by TCG".into());
    let found = overviewed(&runs);
    let column = &found.areas[0].columns[0];
    assert_eq!((column.mean, column.left_out), (None, 6));
    let why = "qemu is not judged against real processors: emulated by TCG";
    assert_eq!(column.why.as_deref(), Some(why));
    let table = tabulate(&runs, &Dimension::System, &Question::default()).unwrap();
    let compared = compare_columns(table, &Settings::default());
    for cell in compared.rows.iter().flatten().flatten() {
        assert_eq!((cell.verdict, cell.note.as_str()), (Verdict::Emulated, why));
    }
}

#[test]
fn two_emulated_systems_have_ratios_without_verdicts_ranks_or_orders() {
    let mut rng = StdRng::seed_from_u64(46);
    let mut runs = [system("base", |_| 1.0, &mut rng), system("mine", |_| 1.5, &mut rng)];
    for run in &mut runs {
        run.machine.insert(results::EMULATED.to_owned(), "emulated by QEMU (TCG)".into());
    }
    let found = overviewed(&runs);
    for standing in found.areas.iter().chain(&found.designs) {
        let mean = standing.columns[0].mean.unwrap();
        assert_eq!((mean.verdict, &standing.ranks[..]), (Verdict::Emulated, &[None, None][..]));
        assert!((mean.ratio.mid - 1.5).abs() < 0.1, "{mean:?}");
    }
    assert!(!found.areas.is_empty() && found.orders.is_empty() && found.reversals.is_empty());
    let table = tabulate(&runs, &Dimension::System, &Question::default()).unwrap();
    let by_columns = compare_columns(table, &Settings::default());
    let by_runs = crate::compare(&runs[0], &runs[1], &Settings::default());
    for cell in by_columns.rows.iter().flatten().flatten().chain(&by_runs) {
        assert_eq!(cell.verdict, Verdict::Emulated);
        assert!(cell.ratio.is_some() && cell.note.contains("instructions, not time"), "{cell:?}");
    }
    let table = tabulate(&runs, &Dimension::System, &Question::default()).unwrap();
    for ladder in crate::ladders(&table, &Settings::default()) {
        assert_eq!(ladder.steps[1].adds.unwrap().verdict, Verdict::Emulated);
    }
}

#[test]
fn equal_systems_seldom_get_a_verdict_and_a_true_difference_is_found() {
    const TRIES: usize = 40;
    let mut rng = StdRng::seed_from_u64(44);
    let (mut rows_wrong, mut overviews_wrong, mut found) = (0, 0, 0);
    for _ in 0..TRIES {
        let runs = ["a", "b", "c"].map(|name| system(name, |_| 1.0, &mut rng));
        let table = tabulate(&runs, &Dimension::System, &Question::default()).unwrap();
        let compared = compare_columns(table, &Settings::default());
        let mut cells = compared.rows.iter().flatten().flatten();
        rows_wrong += usize::from(cells.any(|cell| cell.verdict.is_difference()));
        let overview = overviewed(&runs);
        let all = overview.areas.iter().chain(&overview.designs);
        let mut means = all.flat_map(|standing| &standing.columns).filter_map(|c| c.mean);
        let is_wrong = means.any(|mean| mean.verdict.is_difference());
        overviews_wrong += usize::from(is_wrong || !overview.reversals.is_empty());
        let slowed = |point: &PointKey| if point.area() == "syscall" { 1.05 } else { 1.0 };
        let runs = [system("a", |_| 1.0, &mut rng), system("b", slowed, &mut rng)];
        let of_area = verdicts(&overviewed(&runs).areas)[1].1;
        found += usize::from(of_area == Some(Verdict::Slower));
    }
    println!("{rows_wrong} and {overviews_wrong} of {TRIES} wrong, {found} found");
    // The expected number is 2 (5 % of 40); 5 would be beyond two standard errors.
    assert!(rows_wrong < 5 && overviews_wrong < 5, "{rows_wrong} {overviews_wrong}");
    assert!(found >= TRIES * 9 / 10, "{found}");
}

#[test]
fn equal_parameters_within_one_run_seldom_get_a_verdict() {
    const TRIES: usize = 40;
    let mut rng = StdRng::seed_from_u64(45);
    let by = Dimension::parse("as").unwrap();
    let mut wrong = 0;
    for _ in 0..TRIES {
        let of_pass: Vec<f64> = (0..8).map(|_| 0.02 * noise(&mut rng)).collect();
        let points = (0..40).map(|n| {
            let place = if n % 2 == 0 { "threads" } else { "processes" };
            let case = format!("lock/c{}", n / 2);
            // Some rounds are in another mode by chance.
            let modes =
                of_pass.iter().map(|of| of + if rng.random::<f64>() < 0.2 { 0.05 } else { 0.0 });
            let modes: Vec<f64> = modes.collect();
            time((&*case, [("as", place)]), 100.0, &modes, 0.004, &mut rng)
        });
        let runs = [document("native", points.collect())];
        let table = tabulate(&runs, &by, &Question::default()).unwrap();
        let compared = compare_columns(table, &Settings::default());
        let mut cells = compared.rows.iter().flatten().flatten();
        wrong += usize::from(cells.any(|cell| cell.verdict.is_difference()));
    }
    println!("{wrong} of {TRIES} wrong");
    assert!(wrong < 5, "{wrong}");
}
