use std::collections::BTreeMap;

use analysis::history::{HistoryRun, RunSeries, Trend, Watch, events, series_of};
use measure::stats::Interval;
use results::{Direction, MetricSeries, RunFigure, RunSummary, StoredPrediction};
use serde_json::json;
use simulated::run_summary;

use super::*;
use crate::text::width;

const NIGHTS: usize = 50;
const STEP_AT: usize = 30;

fn runs() -> Vec<HistoryRun> {
    let night = |night: usize| {
        let kernel = if night < STEP_AT { "6.12.3" } else { "6.12.4" };
        let machine = json!({ "os": "Linux", "release": kernel });
        let started = format!("2026-{:02}-{:02}T02:00:00Z", 9 + night / 28, 1 + night % 28);
        HistoryRun {
            summary: RunSummary {
                started,
                results: 2,
                machine: format!("Linux {kernel} x86_64"),
                ..run_summary(&format!("night-{night}"))
            },
            machine: machine.as_object().cloned().unwrap_or_default(),
            began: night as f64 * 86_400.0,
        }
    };
    (0..NIGHTS).map(night).collect()
}

/// A system call that takes 30 cycles more from the thirtieth night on, or memory that does not change.
fn metric(case: &str, is_call: bool) -> MetricSeries {
    let figure = |night: usize| {
        let step = if is_call && night >= STEP_AT { 30.0 } else { 0.0 };
        let value = 480.0 + step + (night * 37 % 11) as f64 * 0.3;
        let figure = Interval { median: value, low: value - 1.0, high: value + 1.0 };
        let (low, high) = (value - 6.0, value + 6.0);
        let next = StoredPrediction { low, high, deviation: 0.005, degrees: 20.0 };
        let one = RunFigure {
            figure,
            cycles: is_call.then_some(figure),
            rounds: 9,
            syscalls: is_call.then_some(1.0),
            voluntary_switches: None,
            is_sampled: true,
            is_doubtful: false,
            next: Some(next),
        };
        (night, one)
    };
    MetricSeries {
        point: simulated::AsPoint::point((case, [("size", "4k")])),
        metric: "time".to_owned(),
        unit: "ns/op".to_owned(),
        better: Direction::Lower,
        figures: (0..NIGHTS).map(figure).collect(),
    }
}

/// Runs of one machine with what is told of them.
struct Told {
    runs: Vec<HistoryRun>,
    series: RunSeries,
    trends: Vec<Trend>,
    events: Vec<Event>,
}

impl Told {
    fn new() -> Self {
        let runs = runs();
        let series = series_of(&runs, None, false).remove(0);
        let metrics = [("syscall/read", true), ("syscall/write", true), ("memory/copy", false)];
        let trends: Vec<Trend> = metrics
            .iter()
            .filter_map(|(case, is_call)| Trend::of(&metric(case, *is_call), &series, 1))
            .collect();
        let events = events(&trends, &series, &runs, &BTreeMap::new());
        Self { runs, series, trends, events }
    }

    fn history(&self) -> HistoryOfSeries<'_> {
        let Self { runs, series, trends, events } = self;
        HistoryOfSeries { series, runs, trends, events }
    }
}

fn page(width: usize, unicode: bool) -> Page {
    Page { width, colour: false, unicode, this_run: false }
}

#[test]
fn the_text_says_what_changed_when_and_fits_the_page() {
    let told = Told::new();
    let (history, trends) = (told.history(), &told.trends);
    for columns in [60, 80, 132] {
        let text = history_text(&[history], true, &page(columns, true));
        assert!(text.lines().all(|line| width(line) <= columns), "{columns}\n{text}");
    }
    let text = history_text(&[history], false, &page(80, false));
    assert!(text.is_ascii(), "{text}");
    assert!(text.starts_with("50 runs, 2026-09-01 to 2026-10-22, Linux 6.12.4 x86_64\n"), "{text}");
    for part in [
        "2026-10-03  worse     +30 cycles per entry (+6.2 %): 2 figures (entries",
        "with release 6.12.3 -> 6.12.4",
        "event night-30/entries-into-the-kernel/worse",
        "1 figure has no change",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("memory/copy"), "{text}");
    let quiet = HistoryOfSeries { trends: &trends[2..], events: &[], ..history };
    let both = history_text(&[history, quiet], false, &page(80, false));
    assert_eq!(both, format!("{text}\n1 other series has no change (--all shows them).\n"));
}

#[test]
fn the_plot_has_a_point_for_each_visit_and_the_change() {
    let told = Told::new();
    let (history, trends) = (told.history(), &told.trends);
    let plot = history_plot(&history, &trends[0], &page(80, false));
    assert!(plot.is_ascii() && plot.lines().all(|line| line.len() <= 80), "{plot}");
    let rows = || plot.lines().skip(1).take(12);
    let points: usize = rows().map(|row| row.matches('*').count()).sum();
    assert_eq!(points, NIGHTS, "{plot}");
    assert!(rows().filter(|row| row.contains('|')).count() > 8, "{plot}");
    assert!(plot.contains("2026-09-01") && plot.contains("2026-10-22"), "{plot}");
    assert!(plot.contains("2026-10-03  release 6.12.3 -> 6.12.4"), "{plot}");
    // A page that is narrower than the history shows its end.
    let narrow = history_plot(&history, &trends[0], &page(60, true));
    assert!(narrow.lines().all(|line| width(line) <= 60), "{narrow}");
    assert!(!narrow.contains("2026-09-01") && narrow.contains("2026-10-22"), "{narrow}");
}

#[test]
fn a_watch_names_alarms_first_and_what_it_cannot_see() {
    let told = Told::new();
    let (history, trends, events) = (told.history(), &told.trends, &told.events);
    for (worse_than, expected) in
        [(0.03, "2 alarm, 1 good"), (0.01, "1 not worse by what can be seen")]
    {
        let watch = Watch::new(worse_than, trends.len());
        let watched: Vec<_> =
            (0..trends.len()).map(|nth| watch.judge(nth, &trends[nth], events, None)).collect();
        let now = told.runs.last().expect("runs").began + 3.0 * 3_600.0;
        let text =
            watch_text(&WatchPage { history, watch, watched: &watched, now }, &page(80, false));
        let alarm = "ALARM    2 figures (entries into the kernel) for 20 visits";
        assert!(text.starts_with(alarm), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(expected), "{text}");
        assert_eq!(words.contains("A single visit cannot show 1 %"), worse_than < 0.02, "{text}");
        assert!(text.is_ascii() && text.lines().all(|line| line.len() <= 80), "{text}");
    }
}

#[test]
fn the_page_has_a_chart_for_each_figure_and_its_changes_in_words() {
    let told = Told::new();
    let history = told.history();
    let page = crate::history_html(&[history], Some("Nights <1>"));
    assert!(page.contains("Nights &lt;1&gt;"));
    assert_eq!(page.matches("<figure").count(), 3);
    assert_eq!(page.matches("class=\"band\"").count(), 3);
    assert!(page.contains("2026-10-03: +6.2 %, 30 visits before, 20 after"));
    assert!(page.contains("2026-10-03: release 6.12.3 → 6.12.4"), "the new kernel is marked");
}
