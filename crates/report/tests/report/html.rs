//! What the first screen of the page says.

use analysis::{Difference, Ratio, Verdict};
use measure::{Doubt, Params, Role, TIME};
use report::{CompareCell, CompareRow, Comparison, Report, ReportRun, report_html};
use results::{CaseResult, Document, Estimate, Outcome, PointKey};

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
            role: analysis::Role::Subject,
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
    crate::install();
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
    let [epoll, fork] = [of("epoll", 1e5, vec![Doubt::SeldomQuiet]), of("fork", 9e5, Vec::new())];
    let mut document = simulated::document("native", vec![epoll, fork, knee, missing]);
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
