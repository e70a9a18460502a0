//! The page: its size with as many points as a default run has, and what its first screen says.

use std::collections::BTreeMap;

use analysis::{Difference, Moment, Ratio, Recorded, Samples, Verdict};
use catalog::{Case, Extent, Only};
use measure::{Doubt, Params, Role, TIME};
use report::{CompareCell, CompareRow, Comparison, Report, ReportRun, report_html};
use results::{
    CaseResult, Distribution, Document, Estimate, Interval, Outcome, PerOp, PointKey, RunInfo,
    SCHEMA,
};

/// Installs the areas of the program before the tests run.
#[ctor::ctor(unsafe)]
fn install_areas() {
    areas::install();
}

/// Maximum size of the page of a default run in bytes.
const LARGEST: usize = 1_000_000;

/// All combinations of the default values of a case's parameters that a default run measures.
fn points(case: &Case) -> Vec<Params> {
    let mut all = vec![Params::new()];
    for param in case.params {
        let with = |known: &Params| -> Vec<Params> {
            let value = |value: &&str| {
                let mut params = known.clone();
                params.insert(param.name.to_owned(), (*value).to_owned());
                params
            };
            param.default.iter().map(value).collect()
        };
        all = all.iter().flat_map(with).collect();
    }
    all.retain(|params| catalog::includes(case, params, Extent::Ordinary));
    all
}

/// A number that differs from point to point, with as many digits as a measured one.
fn figure(nth: usize) -> f64 {
    let spread = (nth as f64 * 0.754_877_666).fract();
    37.123_456_789 * 10f64.powf(4.0 * spread)
}

fn estimate(value: f64) -> Estimate {
    Estimate { median: value, low: value * 0.981_234_567, high: value * 1.023_456_789, level: 0.95 }
}

/// The time and all further metrics of a point, with as many digits and doubts as a measured one has.
fn of_point(case: &Case, params: &Params, nth: usize) -> Vec<CaseResult> {
    let label = case.label();
    let value = figure(nth);
    let time = CaseResult {
        estimate: Some(estimate(value)),
        cycles: case.core_bound.then_some(Interval {
            low: value * 3.0,
            median: value * 3.1,
            high: value * 3.2,
        }),
        seen: Some(Distribution {
            min: value * 0.9,
            p5: value * 0.95,
            p25: value,
            p50: value,
            p75: value * 1.1,
            p95: value * 1.4,
            p99: value * 2.3,
            mean: value * 1.1,
        }),
        quiet_share: Some(0.734_567),
        per_op: Some(PerOp { syscalls: Some(1.0), ..PerOp::default() }),
        converged: Some(!nth.is_multiple_of(2)),
        timeline: match label.as_str() {
            "concurrency/jobs" => {
                (0..17).map(|job| [job * 123_457, job * 133_457 + 810_123]).collect()
            }
            _ => Vec::new(),
        },
        ..CaseResult::of(&label, params.clone(), &TIME)
    };
    let further =
        case.metrics.iter().filter(|metric| metric.role != Role::Derived).enumerate().map(
            |(at, metric)| CaseResult {
                estimate: Some(estimate(figure(nth * 31 + at + 1))),
                ..CaseResult::of(&label, params.clone(), metric)
            },
        );
    std::iter::once(time).chain(further).collect()
}

/// Samples with a long tail, in two modes.
fn samples(value: f64, nth: usize) -> Option<Samples> {
    let sample = |at: usize| {
        let share = ((at * 7 + nth) as f64 * 0.618_033_989).fract();
        value * (1.0 + 0.3 * share.powi(4)) * if at.is_multiple_of(3) { 1.12 } else { 1.0 }
    };
    let all: Vec<f64> = (0..400).map(sample).collect();
    let quiet: Vec<f64> = (0..400).step_by(2).map(sample).collect();
    Samples::of(all, &quiet)
}

#[test]
fn the_page_of_a_default_run_is_small() {
    let mut results = Vec::new();
    let mut recorded = BTreeMap::new();
    // Only the cases of Linux are counted.
    let is_measured = |case: &&Case| {
        catalog::only_by(case).is_none()
            && !catalog::is_beyond(case, catalog::Extent::Ordinary)
            && !matches!(case.only, Only::Windows(_))
    };
    for case in catalog::all().into_iter().filter(is_measured) {
        for params in points(case) {
            let nth = results.len();
            let of_point = of_point(case, &params, nth);
            let samples = samples(figure(nth), nth);
            recorded.extend(samples.map(|samples| ((case.label(), params), samples)));
            results.extend(of_point);
        }
    }
    let points = recorded.len();
    assert!(points > 450, "{points} points: a default run has more");
    let moment = |at: usize| Moment {
        seconds: at as f64 * 11.123_456,
        ghz: Some(3.243_210 + at as f64 * 0.001_234),
        quiet: Some(0.812_345),
        steal: Some(0.001_234),
        throttled: Some(0.0),
    };
    let recorded = Recorded { points: recorded, moments: (0..60).map(moment).collect() };
    let run = RunInfo {
        id: "20260101-000000-0001".to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        finished: Some("2026-01-01T00:15:00Z".to_owned()),
        seed: 1,
        oscost: "0.1.0".to_owned(),
        tags: Default::default(),
        asked: Default::default(),
        core_clock_ghz: None,
        area_seconds: Default::default(),
    };
    let machine = [("os", "Linux"), ("release", "6.12.0"), ("arch", "x86_64")];
    let machine = machine.map(|(key, fact)| (key.to_owned(), fact.into())).into_iter().collect();
    let document = Document { schema: SCHEMA, run, machine, results };
    let runs = [ReportRun { document: &document, recorded: Some(&recorded) }];
    let page = report_html(&Report { runs: &runs, ..Report::default() });
    assert!(page.len() <= LARGEST, "{points} points make {} bytes", page.len());
    // The page has every point.
    for result in &document.results {
        let case = result.case.rsplit_once('/').map_or("", |(_, name)| name);
        assert!(page.contains(case), "{}", result.label());
    }
    assert_eq!(page.matches("<svg class=\"spark\"").count(), points);
}

/// A row of a comparison of two runs, with a verdict and a note.
fn row(case: &str, ratio: Option<Ratio>, verdict: Verdict, note: &str) -> CompareRow {
    let cell = CompareCell { figure: None, ratio, floor: 0.0, verdict, note: note.to_owned() };
    CompareRow {
        point: PointKey { case: case.to_owned(), params: Params::new() },
        metric: TIME.name.to_owned(),
        base: None,
        news: vec![Some(cell)],
        host_calls: Vec::new(),
    }
}

/// The text of the page without its tags.
fn text_of(page: &str) -> String {
    let parts = page.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    parts.collect::<String>()
}

/// What was asked for and what failed stood behind a fold: "not comparable: 3".
#[test]
fn the_verdict_says_what_was_asked_for_and_why_figures_are_missing() {
    let slower = Some(Ratio { mid: 1.1, low: 1.06, high: 1.14 });
    let read_only = "new: failed: a temporary file: Read-only file system";
    let comparison = Comparison {
        by: "run".into(),
        columns: vec!["base".into(), "new".into()],
        runs: vec![("base".into(), "x".into()), ("new".into(), "y".into())],
        also_differs: vec![Difference {
            key: "asked slow-down".into(),
            values: vec!["none".into(), "10%".into()],
        }],
        facts: Vec::new(),
        all: false,
        noise_floor: Vec::new(),
        rows: vec![
            row("syscall/getppid", slower, Verdict::Slower, "beside load"),
            row("syscall/read-0", None, Verdict::NotComparable, read_only),
            row("syscall/write-1", None, Verdict::NotComparable, read_only),
            row("syscall/stat", None, Verdict::CannotTell, "about 2 times as many rounds"),
        ],
    };
    let page = report_html(&Report { comparison: Some(&comparison), ..Report::default() });
    let verdict =
        page.split("id=\"main\"").nth(1).and_then(|main| main.split("id=\"areas\"").next());
    let verdict = text_of(verdict.unwrap());
    for part in [
        "1 of 4 figures have a verdict; the chance that any is wrong is 5 %. 1 verdict: beside load.",
        "Slower or worse in 1 of 4 figures, slowed down on request by 10%: syscall/getppid: 10.0 % slower (6.0 to 14.0 %).",
        "Cannot tell: 1 (syscall 1).",
        "new: failed: a temporary file: Read-only file system: 2 (syscall 2).",
        "What else differs between the runs: 1 fact",
        "Without a verdict, with what would decide it: 3 figures",
        "Verdicts with a reservation: 1 figure",
    ] {
        assert!(verdict.contains(part), "{part} in {verdict}");
    }
    assert!(!page.to_lowercase().contains("not comparable"), "{verdict}");
}

/// Server designs at 100 connections, and crossings of their curves that the run does not tell.
fn servers() -> Document {
    let of = |arch: &str, ns: f64, doubts: Vec<Doubt>| {
        let point = ("net/answer", [("arch", arch), ("connections", "100")]);
        let rounds: Vec<f64> = (0..8).map(|n| ns * (1.0 + 0.001 * f64::from(n))).collect();
        let time = simulated::rounds_of(point, &rounds);
        let half = 0.01 * ns;
        let estimate =
            time.estimate.map(|e| Estimate { low: e.median - half, high: e.median + half, ..e });
        CaseResult { estimate, doubts, ..time }
    };
    let derived = catalog::find("net/answer").unwrap().metrics;
    let derived = derived.iter().find(|metric| metric.role == Role::Derived).unwrap();
    let knee = CaseResult {
        outcome: Outcome::Unsupported,
        reason: Some("too few levels".to_owned()),
        ..CaseResult::of("net/answer", Params::new(), derived)
    };
    let missing = simulated::unsupported("net/iocp", "exists only on Windows");
    let results = vec![
        of("epoll", 1e5, vec![Doubt::SeldomQuiet]),
        of("fork", 9e5, Vec::new()),
        knee,
        missing,
    ];
    let mut document = simulated::document("native", results);
    document.run.asked.insert("size".to_owned(), "quick".to_owned());
    document
}

#[test]
fn the_first_screen_explains_itself() {
    let document = servers();
    let runs = [ReportRun { document: &document, recorded: None }];
    let page = report_html(&Report { runs: &runs, ..Report::default() });
    let text = text_of(&page);
    let first = text.split("Time of common operations").next().unwrap_or_default();
    for part in [
        "A quick run (--quick)",
        "1 of 2 points may lie beyond their ±: busy 1",
        "event loop (epoll)",
        "process per connection (fork)",
        "answered with `450 too busy`",
        "busy: quiet for less than 1 % of the time",
    ] {
        assert!(first.contains(part), "{part} in {first}");
    }
    // A crossing is none of the points, and not unsupported.
    for part in [
        "2 points",
        "Unsupported here: 1",
        "Crossings and limits that the figures do not tell: 1",
        "too few levels (1)",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
