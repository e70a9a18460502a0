//! The size of the page of a default run, which has a point of each kind.

use std::collections::BTreeMap;

use analysis::{Moment, Recorded, Samples};
use catalog::{Case, Extent, Only};
use measure::{Params, Role, TIME};
use report::{Report, ReportRun, report_html};
use results::{CaseResult, Distribution, Document, Estimate, Interval, PerOp, RunInfo, SCHEMA};

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
    areas::install();
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
        finished: Some("2026-11-21T20:51:55Z".to_owned()),
        ..simulated::run_info("20260101-000000-0001")
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
