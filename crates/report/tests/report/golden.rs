//! The printed output, at usual widths.

use std::time::Duration;

use analysis::{Difference, Ratio, Verdict};
use insta::assert_snapshot;
use proptest::prelude::*;
use report::{
    Card, CardMetric, CardParam, Cell, CompareCell, CompareRow, Comparison, Page, RunLine,
    area_times_line, cards, cards_short, closing_line, closing_lines, compare_table, env_page,
    results_tables, runs_table,
};
use results::{
    CaseResult, Direction, Document, FrequencySlope, Interval, Outcome, PointKey, RunInfo, SCHEMA,
};
use simulated::text::check_figures;

use crate::pages::{ASCII, NARROW, WIDE, any_page, check, check_colour};
use crate::support;

#[test]
fn results() {
    let run = support::a_run();
    assert_snapshot!("results_80", results_tables(&run, &NARROW));
    assert_snapshot!("results_ascii", results_tables(&run, &ASCII));
    let closing = closing_line(&run, Some(Duration::from_secs(133)), &NARROW);
    let lines = [
        "32 points: 22 measured (2 marked), 6 unsupported, 2 failed, 1 timed out, 1",
        "implausible, in 2 min 13 s",
    ];
    assert_eq!(closing, lines.join("\n") + "\n");
}

/// `results` as if of a run on a core of 3.75 GHz: costs below 1 us have cycles, others were adjusted.
fn in_cycles(mut results: Vec<CaseResult>) -> Document {
    for result in results.iter_mut().filter(|result| result.metric == "time") {
        let contended = result.params.get("workers").is_some_and(|workers| workers != "1");
        let Some(estimate) = result.estimate.filter(|_| !contended) else { continue };
        let [median, low, high] =
            [estimate.median, estimate.low, estimate.high].map(|ns| ns * 3.75);
        let slope = FrequencySlope { slope: 0.91, low: 0.8, high: 1.02, adjusted: true };
        let is_short = median < 3750.0;
        result.cycles = is_short.then_some(Interval { median, low, high });
        result.frequency_slope = (!is_short).then_some(slope);
    }
    let area_seconds = [("clock", 12.0), ("syscall", 31.4), ("lock", 81.0)];
    let area_seconds = area_seconds.map(|(area, seconds)| (area.to_owned(), seconds)).into();
    let run = RunInfo { area_seconds, ..simulated::run_at_3_75_ghz() };
    Document { schema: SCHEMA, run, machine: Default::default(), results }
}

#[test]
fn results_in_cycles() {
    let document = in_cycles(support::a_run());
    let text = results_tables(&document.results, &NARROW)
        + &closing_lines(&document, Some(Duration::from_secs(133)), &NARROW)
        + &area_times_line(&document, &NARROW);
    assert_snapshot!("cycles_80", text);
    let locks = in_cycles(support::contended_locks());
    assert_snapshot!("cycles_locks_80", results_tables(&locks.results, &NARROW));
}

#[test]
fn points_that_were_never_begun_are_no_timeouts() {
    let mut run = support::a_run();
    let before = closing_line(&run, None, &WIDE);
    let case = "clock/never";
    for (case, reason) in [(case, results::STOPPED_BEFORE), ("clock/slow", "it took too long")] {
        run.push(support::without_figure(&support::point(case, &[]), Outcome::TimedOut, reason));
    }
    let line = closing_line(&run, None, &WIDE);
    assert!(!before.contains("not begun") && line.contains(" timed out"), "{line}");
    assert!(line.contains("1 not begun"), "{line}");
    let table = results_tables(&run, &WIDE);
    let row = |name: &str| table.lines().find(|line| line.contains(name)).unwrap_or_default();
    assert!(row("never").contains("not begun"), "{table}");
    assert!(row("slow").contains("timed out"), "{table}");
}

#[test]
fn cpus_are_shown_where_they_were_chosen_by_what_they_share() {
    let mut run = support::contended_locks();
    run.iter_mut().for_each(|result| result.cpus = vec![3, 35]);
    assert!(!results_tables(&run, &WIDE).contains("CPUs"));
    for result in &mut run {
        result.params.insert("place".to_owned(), "smt".to_owned());
    }
    let text = results_tables(&run, &WIDE);
    assert!(text.contains("CPUs") && text.contains("3,35"), "{text}");
}

#[test]
fn contended_locks() {
    let run = support::contended_locks();
    let narrow = results_tables(&run, &NARROW);
    // Each row has one line in the table of costs and one in the table of the other metrics.
    assert_eq!(narrow.lines().filter(|line| line.starts_with("pthread-mutex-err")).count(), 6);
    assert_snapshot!("locks_80", narrow);
}

#[test]
fn eighty_columns_have_room_for_all_that_matters() {
    let mut run = support::contended_locks();
    assert_eq!(shown(&run, &ASCII), ["cost", "+-", "seen", "calls"]);
    let rare = run.iter_mut().find(|r| r.case == "lock/spin-ticket" && r.params["workers"] == "2");
    rare.unwrap().per_op.as_mut().unwrap().syscalls = Some(0.0004);
    assert_eq!(shown(&run, &NARROW), ["cost", "±", "seen", "calls"]);
    let others = support::a_run().into_iter().filter(|r| !r.case.starts_with("lock/"));
    run.extend(others);
    for (page, pictures) in [
        (&NARROW, "-5 … +40 %, seen (to +30 %): all samples around the cost, 5 % each, ends open"),
        (&ASCII, "-5 .. +40 %, seen (to +30 %): all samples around the cost, tenths for each 5 %"),
    ] {
        let text = results_tables(&run, page);
        assert_eq!(text.lines().rev().take(4).collect::<Vec<_>>()[1], pictures);
        assert_eq!(text.lines().rev().take(4).collect::<Vec<_>>()[3], "");
    }
}

/// Headings of the first table from the cost on.
fn shown(run: &[CaseResult], page: &Page) -> Vec<String> {
    let text = results_tables(run, page);
    let headings = text.lines().find_map(|line| line.split_once(" cost ")).unwrap().1;
    ["cost"].into_iter().chain(headings.split_whitespace()).map(str::to_owned).collect()
}

#[test]
fn contended_locks_compared() {
    let rows = support::contended_locks().into_iter().filter_map(|result| {
        let estimate = result.estimate?;
        let (low, high) = (estimate.low, estimate.high);
        let base = Cell { median: estimate.median, low, high, unit: result.unit.clone() };
        Some(row(result.point(), &result.metric, base, &[(1.032, Verdict::CannotTell, "")]))
    });
    let comparison = Comparison { rows: rows.collect(), all: true, ..comparison(1) };
    assert_snapshot!("compare_locks_80", compare_table(&comparison, &NARROW));
}

#[test]
fn no_results() {
    assert_eq!(results_tables(&[], &NARROW), "no results\n");
    assert_eq!(closing_line(&[], None, &NARROW), "0 points: 0 measured\n");
}

fn cell(median: f64, relative: f64, unit: &str) -> Cell {
    let half_width = median * relative;
    Cell { median, low: median - half_width, high: median + half_width, unit: unit.to_owned() }
}

fn against(base: &Cell, by: f64, relative: f64, verdict: Verdict, note: &str) -> CompareCell {
    CompareCell {
        figure: Some(cell(base.median * by, relative, &base.unit)),
        ratio: Some(Ratio { mid: by, low: by - 1.4 * relative, high: by + 1.4 * relative }),
        floor: 0.01,
        verdict,
        note: note.to_owned(),
    }
}

fn row(point: PointKey, metric: &str, base: Cell, news: &[(f64, Verdict, &str)]) -> CompareRow {
    let news =
        news.iter().map(|(by, verdict, note)| Some(against(&base, *by, 0.004, *verdict, note)));
    CompareRow {
        point,
        metric: metric.to_owned(),
        news: news.collect(),
        base: Some(base),
        host_calls: Vec::new(),
    }
}

fn comparison(runs: usize) -> Comparison {
    use Verdict::{Better, CannotTell, Faster, Same, Slower};
    let more = "about 24 more rounds would decide it";
    let point = support::point;
    let read = point("syscall/read", &[("from", "zero"), ("size", "65536")]);
    let lock = |case: &str| point(case, &[("as", "threads"), ("workers", "4")]);
    let of_time = |point, base, relative, news: [(f64, Verdict, &str); 2]| {
        row(point, "time", cell(base, relative, "ns/op"), &news[..runs])
    };
    let (faster, slower) =
        ([(0.502, Faster, ""), (1.0, Same, "")], [(1.032, Slower, ""), (0.998, Same, "")]);
    let opened = [(0.914, Faster, ""), (1.006, CannotTell, more)];
    let pairs = [(1.992, Better, ""), (1.0, Same, "")];
    let mut rows = vec![
        of_time(point("syscall/getppid", &[]), 164.93, 0.002, slower),
        of_time(point("syscall/openat", &[("path", "deep")]), 2874.0, 0.004, opened),
        of_time(read, 1904.0, 0.004, [(1.007, CannotTell, more), (1.001, Same, "")]),
        of_time(lock("lock/sysv-sem"), 6088.0, 0.013, faster),
        row(lock("lock/sysv-sem"), "pairs/s", cell(164_257.0, 0.013, "pairs/s"), &pairs[..runs]),
    ];
    let missing = CompareCell {
        figure: None,
        ratio: None,
        floor: 0.0,
        verdict: Verdict::NotComparable,
        note: "the new run has no figure: worker killed by SIGSYS".to_owned(),
    };
    rows.push(CompareRow {
        news: vec![Some(missing); runs],
        ..row(lock("lock/futex"), "time", cell(114.7, 0.013, "ns/op"), &[])
    });
    let differs = |key: &str, values: [&str; 3]| Difference {
        role: analysis::Role::Subject,
        key: key.to_owned(),
        values: values.iter().take(runs + 1).map(|v| (*v).to_owned()).collect(),
    };
    let all = [
        "20261121-203655-4f2a  Linux 6.1.0-28-cloud-amd64, 2 CPUs",
        "20261121-210102-9c1b  Linux 6.12.3, 2 CPUs",
        "20261121-213310-77e0  gVisor, 2 CPUs",
    ];
    let all = all.iter().take(runs + 1).map(|run| (*run).to_owned()).collect();
    let names = Comparison::names_of_runs(all);
    Comparison {
        by: "run".to_owned(),
        columns: names.iter().map(|(name, _)| name.clone()).collect(),
        runs: names,
        also_differs: vec![
            differs("kernel", ["6.1.0-28-cloud-amd64", "6.12.3", "4.4.0"]),
            differs("mitigations", ["spectre_v2: retpolines, spec_rstack_overflow: safe RET", "off", "off"]),
        ],
        facts: vec![
            "core clock: 3.75 GHz in base, 3.49 GHz in new (6.9 % lower): what the core alone does takes 7.4 % longer, in as many cycles".to_owned(),
            "2 rows are compared in core cycles, 5 in wall time".to_owned(),
        ],
        all: false,
        noise_floor: vec![
            "noise floor: two runs of the same system differed by up to 0.8 % here today; no verdict falls below it".to_owned(),
        ],
        rows,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn all_widths_show_all_cases_and_figures(page in any_page()) {
        for run in [support::a_run(), support::contended_locks()] {
            let text = results_tables(&run, &page);
            let shown = run.iter().filter(|result| result.outcome != Outcome::Unsupported);
            check(&text, &page, shown.map(|result| result.point().name().to_owned()))?;
            check_figures(&text, &run, |_| true)?;
            let document = in_cycles(run);
            let text = results_tables(&document.results, &page) + &closing_lines(&document, None, &page);
            check(&text, &page, [])?;
            check_figures(&text, &document.results, |result| result.metric == "time")?;
        }
    }

    #[test]
    fn all_widths_show_all_verdicts(page in any_page()) {
        for comparison in [comparison(1), comparison(2)] {
            let names = comparison.rows.iter().map(|row| row.point.name().to_owned());
            let cells = comparison.rows.iter().flat_map(|row| row.news.iter().flatten());
            let verdicts = cells.clone().map(|cell| cell.verdict.word().to_owned());
            let ratios = cells.filter_map(|cell| Some(format!("x{:.3}", cell.ratio?.mid)));
            let text = compare_table(&comparison, &page);
            check(&text, &page, names.chain(verdicts).chain(ratios))?;
        }
    }

    #[test]
    fn all_widths_show_all_runs(page in any_page()) {
        let words = ["20261121-203655-4f2a", "kernel=old", "20261121-210102-9c1b", "unfinished"];
        check(&runs_table(&two_runs(), &page), &page, words.map(str::to_owned))?;
    }
}

#[test]
fn comparisons() {
    assert_snapshot!("compare_80", compare_table(&comparison(1), &NARROW));
    assert_snapshot!("compare_three_80", compare_table(&comparison(2), &NARROW));
}

#[test]
fn a_comparison_shows_what_is_the_same_where_asked() {
    let all = Comparison { all: true, ..comparison(2) };
    assert_snapshot!("compare_all_80", compare_table(&all, &NARROW));
    let mut same = comparison(1);
    same.rows.truncate(1);
    same.rows[0].news[0].as_mut().unwrap().verdict = Verdict::Same;
    let text = compare_table(&same, &NARROW);
    assert!(!text.contains("getppid"), "{text}");
    assert!(text.contains("1 row compared with base: no certain difference: 1 same"), "{text}");
}

#[test]
fn many_undecided_rows_are_counted_by_case() {
    let more = "about 24 times as many rounds would decide it";
    let rows = support::contended_locks().into_iter().filter_map(|result| {
        let median = result.estimate?.median;
        let base = Cell { median, low: 1.0, high: 2.0, unit: result.unit.clone() };
        Some(row(result.point(), &result.metric, base, &[(1.032, Verdict::CannotTell, more)]))
    });
    let mut comparison = comparison(1);
    comparison.rows.extend(rows);
    assert!(comparison.rows.len() > 30);
    assert_snapshot!("compare_folded_80", compare_table(&comparison, &NARROW));
}

fn two_runs() -> [RunLine; 2] {
    let run = |id: &str, state: &str, tags: &str, asked: &str| RunLine {
        id: id.to_owned(),
        started: "2026-11-21T20:36:55Z".to_owned(),
        state: state.to_owned(),
        figures: 46,
        rounds: 1368,
        machine: "Linux 6.1.0-28, EPYC 7B13, 2 CPUs".to_owned(),
        tags: tags.to_owned(),
        asked: asked.to_owned(),
    };
    let second = "lock net, --full, budget 20m, precision 0.2 %";
    [
        run("20261121-203655-4f2a", "done", "kernel=old", "budget 2m, precision 0.5 %"),
        run("20261121-210102-9c1b", "unfinished", "", second),
    ]
}

#[test]
fn runs() {
    assert_snapshot!("runs_80", runs_table(&two_runs(), &NARROW));
    assert_eq!(runs_table(&[], &NARROW), "no runs\n");
}

#[test]
fn environment() {
    let group = |name: &str, lines: &[(&str, &str)]| {
        let lines = lines.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        (name.to_owned(), lines.collect::<Vec<_>>())
    };
    let mitigations = "spectre_v2: retpolines, IBPB conditional, STIBP always-on, RSB filling; spec_store_bypass: disabled via prctl";
    let cpus = ("cpus", "2 (one core, two hardware threads)");
    let descriptors = ("descriptors", "1024 (hard 1048576)");
    let groups = [
        group("system", &[("os", "Linux"), ("kernel", "6.1.0-28-cloud-amd64"), ("sandbox", "")]),
        group("cpu", &[("model", "AMD EPYC 7B13"), cpus, ("mitigations", mitigations)]),
        group("limits", &[descriptors, ("unprivileged user namespaces", "allowed")]),
    ];
    assert_snapshot!("env_80", env_page(&groups, &NARROW));
}

#[test]
fn definition_cards() {
    let texts = |list: &[&str]| list.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
    let list = [
        Card {
            case: "syscall/getppid".to_owned(),
            operation: "one getppid system call, which no C library answers by itself".to_owned(),
            unit: "ns/op".to_owned(),
            better: Direction::Lower,
            comparable_to: "lmbench's lat_syscall null and UnixBench's syscall count the same; UnixBench gives calls per second".to_owned(),
            params: Vec::new(),
            metrics: Vec::new(),
            needs: Vec::new(),
            unsupported: None,
        },
        Card {
            case: "lock/sysv-sem".to_owned(),
            operation: "one lock and one unlock of a System V semaphore that all workers share".to_owned(),
            unit: "ns/op".to_owned(),
            better: Direction::Lower,
            comparable_to: "will-it-scale's semop counts two".to_owned(),
            params: vec![
                CardParam { name: "as".to_owned(), meaning: "threads of one process, or processes".to_owned(), default: texts(&["threads"]), full: texts(&["threads", "processes"]) },
                CardParam { name: "workers".to_owned(), meaning: "how many take turns".to_owned(), default: texts(&["1", "4"]), full: texts(&["1", "2", "4", "8", "16"]) },
            ],
            metrics: [
                ("pairs/s", "pairs all workers did together"),
                ("least-share", "share of the pairs the worker with the fewest did, as a part of an equal share"),
            ]
            .into_iter()
            .map(|(name, meaning)| CardMetric { name: name.to_owned(), meaning: meaning.to_owned() })
            .collect(),
            needs: texts(&["a free System V semaphore set (kernel.sem)", "shared memory"]),
            unsupported: Some("no System V semaphores on Windows".to_owned()),
        },
    ];
    assert_snapshot!("cards_80", cards(&list, &NARROW));
    assert_snapshot!("cards_short_80", cards_short(&list, &NARROW));
}

#[test]
fn colour_adds_nothing_but_colour() {
    let run = support::a_run();
    check_colour(|page| results_tables(&run, page));
    check_colour(|page| compare_table(&comparison(1), page));
}

#[test]
fn an_area_without_any_figure_has_no_table() {
    let run = support::a_run();
    let none = run.iter().find(|result| result.outcome == Outcome::Unsupported).expect("one");
    let text = results_tables(std::slice::from_ref(none), &NARROW);
    assert!(text.contains("unsupported here") && !text.contains('─'), "{text}");
}

#[test]
fn the_hosts_system_calls_stand_beside_the_ratio_where_there_is_room() {
    let mut comparison = comparison(1);
    comparison.rows[0].host_calls = vec![Some(1.0), Some(3.25)];
    comparison.rows[1].host_calls = vec![None, Some(40.0)];
    let page = Page { width: 120, colour: false, unicode: true, this_run: false };
    let text = compare_table(&comparison, &page);
    assert!(text.contains("1 → 3.25") && text.contains("- → 40"), "{text}");
    assert!(text.contains("host calls: system calls on the host"), "{text}");
    let narrow = compare_table(&comparison, &Page { width: 60, ..page });
    assert!(!narrow.contains("host calls"), "{narrow}");
    comparison.rows.iter_mut().for_each(|row| row.host_calls.clear());
    assert!(!compare_table(&comparison, &page).contains("host calls"));
}
