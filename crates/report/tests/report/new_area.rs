//! A complete area in one file, which appears everywhere without a change elsewhere but in the lists of areas and layouts.

use analysis::derive::{sweeps, with_figure};
use catalog::{Area, Case, Finding, Param, Select, SummaryRow, Takes};
use measure::stats::Interval;
use measure::{Metric, Role, TIME, metrics};
use report::swept::{self, Axes};
use report::{Layout, Page, Report, ReportRun};
use results::{CaseResult, Document};

metrics! {
    const ALL: [
        HEAT = lower("heat-per-toast", "J"), "the energy of one slice";
        BURNT_FROM = lower("burnt-from", "slots").with(Role::Derived), "the number of slots from which bread burns";
    ]
}

const TOAST: Case = Case {
    operation: "One slice of bread toasted.",
    comparable_to: "Nothing else.",
    params: &[
        Param::new("bread", &["rye", "white"]).meaning("the kind of bread"),
        Param::new("slots", &["1", "2"]).meaning("slices at once").takes(Takes::Count(8)),
        Param::new("crumbs", &["none"]).meaning("what is in the tray").full(&["none", "many"]),
    ],
    metrics: ALL,
    run: |_, _| Ok(()),
    ..Case::new("kitchen", "toast")
};

pub const AREA: Area = Area {
    summary: &[SummaryRow::time("slice of toast", Select::case("kitchen/toast"))],
    findings: &[Finding::Ratio {
        of: Select::point("kitchen/toast", &[("bread", "rye")]),
        to: Select::point("kitchen/toast", &[("bread", "white")]),
        metric: &TIME,
        greater: "Rye takes {} as long as white bread.",
        less: "White bread takes {} as long as rye.",
        equal: "Rye takes as long as white bread ({}).",
    }],
    derived: &[burnt_from],
    ..Area::new("kitchen", &[&TOAST])
};

const AXES: Axes = Axes { rows: "bread", columns: "slots" };

pub const LAYOUT: Layout = Layout { is_known, tables, ..Layout::new("kitchen") };

fn is_known(result: &CaseResult) -> bool {
    swept::is_known(result, AXES)
}

fn tables(results: &[&CaseResult], page: &Page) -> String {
    let of_sweep = |sweep: &swept::Sweep| {
        let layout = swept::blocks::size_block(sweep, "heat", &[0, 1], &HEAT);
        swept::levels::titled(sweep, "heat of a slice", vec![layout.into_iter().collect()], page)
    };
    swept::sweeps(results, AXES).iter().map(of_sweep).collect()
}

/// The greatest number of slots measured, for each kind of bread.
fn burnt_from(results: &[CaseResult], _seed: u64) -> Vec<CaseResult> {
    let times = results.iter().filter(|r| r.case == "kitchen/toast" && r.metric == TIME.name);
    let all = sweeps(times, "slots", |text| text.parse().ok());
    let of_bread = all.into_iter().filter_map(|(point, steps)| {
        let most = steps.last()?.x;
        let row = CaseResult::of(&point.case, point.params, &BURNT_FROM);
        Some(with_figure(row, Interval { low: most, median: most, high: most }, 6))
    });
    of_bread.collect()
}

fn measured(metric: &Metric, bread: &str, slots: &str, value: f64) -> CaseResult {
    let params = [("bread", bread), ("slots", slots), ("crumbs", "none")];
    let rounds = [0.99, 0.995, 1.0, 1.0, 1.005, 1.01].map(|share| share * value).to_vec();
    let metric = (metric.name, metric.unit, metric.better);
    simulated::with_extremes(simulated::figure_of(("kitchen/toast", params), metric, rounds))
}

fn run() -> Document {
    let points =
        [("rye", "1", 90e9), ("rye", "2", 95e9), ("white", "1", 60e9), ("white", "2", 65e9)];
    let mut results: Vec<CaseResult> = points
        .into_iter()
        .flat_map(|(bread, slots, time)| {
            [measured(&TIME, bread, slots, time), measured(&HEAT, bread, slots, time / 1e6)]
        })
        .collect();
    results.extend(catalog::derived(&results, 1));
    let run = simulated::run_info("20261126-000000-abcd");
    Document { schema: results::SCHEMA, run, machine: serde_json::Map::new(), results }
}

#[test]
fn it_appears_in_tables_summary_comparison_workbook_and_report() {
    crate::install();
    let page = Page { width: 100, colour: false, unicode: true, this_run: false };
    let document = run();
    let has = |text: &str, what: &str| assert!(text.contains(what), "{what:?} in\n{text}");

    let derived = document.results.iter().filter(|result| result.metric == BURNT_FROM.name);
    assert_eq!(derived.count(), 2);
    let tables = report::results_tables(&document.results, &page);
    has(&tables, "kitchen/toast: heat of a slice");
    has(&tables, "rye");
    has(&tables, "90,000");
    let summary = report::summary(&document, catalog::areas(), None, &page);
    has(&summary, "slice of toast");
    has(&summary, "Rye takes 1.5");

    // A parameter with another value than its default is in the title, without a change of the table.
    let mut crumbs = document.clone();
    for result in crumbs.results.iter_mut().filter(|result| result.params.contains_key("crumbs")) {
        result.params.insert("crumbs".to_owned(), "many".to_owned());
    }
    has(&report::results_tables(&crumbs.results, &page), "kitchen/toast (crumbs=many): heat");

    assert!(!report::workbook(&document).unwrap().is_empty());
    let runs = [ReportRun { document: &document, recorded: None }];
    let html = report::report_html(&Report { runs: &runs, ..Report::default() });
    has(&html, "slice of toast");
    has(&html, "toast");

    let compared = analysis::compare(&document, &run(), &analysis::Settings::default());
    assert_eq!(compared.iter().filter(|row| row.point.case == "kitchen/toast").count(), 8);
}
