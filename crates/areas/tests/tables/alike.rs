//! What is ranked, averaged, charted or said in one sentence differs only in what the designs name.

use std::collections::{BTreeMap, BTreeSet};

use std::hash::{DefaultHasher, Hash, Hasher};

use analysis::answer::answers;
use analysis::{
    Cell, Dimension, Overview, Question, Row, Selection, Settings, compare_columns, overview,
    tabulate,
};
use catalog::{Application, Design, Extent, Select};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use report::{Report, ReportRun, report_html};
use results::{CaseResult, PointKey};
use simulated::figure_of;

/// All points of full and ordinary runs, each with the metrics of the application, less every second one: runs differ in the points that their systems have.
fn points(application: &Application, seed: u64) -> Vec<CaseResult> {
    let mut rng = StdRng::seed_from_u64(seed);
    let selects = application.designs.iter().flat_map(|design| design.points);
    let mut cases: Vec<&str> = selects.map(|select| select.case).collect();
    cases.sort_unstable();
    cases.dedup();
    let mut results = Vec::new();
    for case in cases.into_iter().filter_map(catalog::find) {
        for extent in [Extent::Ordinary, Extent::Full] {
            let points = rehearsal::combinations(case, |param| match extent {
                Extent::Full => param.full.to_vec(),
                _ => param.default.to_vec(),
            });
            for params in points.into_iter().filter(|p| catalog::includes(case, p, extent)) {
                if rng.random::<f64>() < 0.5 {
                    continue;
                }
                let key = PointKey { case: case.label(), params };
                for metric in application.metrics {
                    let middle = 10f64.powf(rng.random_range(1.0..6.0));
                    let rounds =
                        (0..12).map(|n| middle * (1.0 + 1e-3 * f64::from(n % 5))).collect();
                    let described = (metric.name, metric.unit, metric.better);
                    results.push(figure_of(&key, described, rounds));
                }
            }
        }
    }
    // Half of the runs are of Windows.
    let system = if seed.is_multiple_of(2) { "linux" } else { "windows" };
    results.retain(|result| crate::summary::exists_on(system, result));
    results
}

/// The selection by which the design has this point.
fn select_of(design: &Design, point: &PointKey) -> &'static Select {
    let found = design.points.iter().find(|select| select.matches(&point.case, &point.params));
    found.unwrap_or_else(|| panic!("{} has no {point:?}", design.name))
}

/// Checks that two points of two designs differ in nothing but what the designs name: in the values of parameters that a selection
/// names; in the case only if neither design has points of the other's case.
fn assert_alike(application: &Application, [a, b]: [(&Design, &PointKey); 2]) {
    let [of_a, of_b] = [a, b].map(|(design, point)| select_of(design, point));
    let named = |name: &str| {
        [of_a, of_b].iter().any(|select| select.params.iter().any(|(own, _)| *own == name))
    };
    for (name, value) in &a.1.params {
        let other = b.1.params.get(name);
        assert!(
            named(name) || other.is_none_or(|other| other == value),
            "{}: {:?} beside {:?}: {name}",
            application.name,
            a.1,
            b.1
        );
    }
    if of_a.case != of_b.case {
        let has = |design: &Design, case: &str| design.points.iter().any(|s| s.case == case);
        assert!(
            !has(a.0, of_b.case) && !has(b.0, of_a.case),
            "{}: {} compares {} with {}",
            application.name,
            a.0.name,
            of_a.case,
            of_b.case
        );
    }
}

fn applications() -> impl Iterator<Item = (&'static catalog::Area, &'static Application)> {
    areas::install();
    catalog::areas().iter().flat_map(|area| area.applications.iter().map(move |of| (*area, of)))
}

fn key_of(results: &[CaseResult], label: &str) -> PointKey {
    let found = results.iter().find(|result| result.label() == label).expect("a measured point");
    PointKey { case: found.case.clone(), params: found.params.clone() }
}

#[test]
fn answers_compare_like_with_like() {
    let mut compared = BTreeMap::<&str, usize>::new();
    for (area, application) in applications() {
        for seed in 0..8 {
            let results = points(application, seed);
            for answer in answers(&results, &[area]) {
                if answer.application != application.name {
                    continue;
                }
                let design = |name| application.designs.iter().find(|design| design.name == name);
                let found = answer
                    .designs
                    .iter()
                    .map(|of| (design(of.name).expect("a design"), key_of(&results, &of.point)));
                let found: Vec<(&Design, PointKey)> = found.collect();
                for (at, (a, point)) in found.iter().enumerate() {
                    for (b, other) in &found[at + 1..] {
                        assert_alike(application, [(a, point), (b, other)]);
                        *compared.entry(application.name).or_default() += 1;
                    }
                }
            }
        }
    }
    assert!(compared.values().sum::<usize>() > 200, "{compared:?}");
    assert!(compared.contains_key("server") && compared.contains_key("lock"), "{compared:?}");
}

/// Checks every table that `compare --by` can make of a parameter or of the cases of an area: what stands in one row differs in
/// nothing but that, and the base has figures beside others in its rows.
#[test]
fn rows_of_a_table_compare_like_with_like() {
    let mut results = Vec::new();
    for (_, application) in applications() {
        for result in points(application, 0) {
            let is_new = |known: &CaseResult| {
                known.point() != result.point() || known.metric != result.metric
            };
            if results.iter().all(is_new) {
                results.push(result);
            }
        }
    }
    let run = [simulated::document("a", results)];
    let names: BTreeSet<&String> = run[0].results.iter().flat_map(|r| r.params.keys()).collect();
    let mut pairs = 0;
    for name in names {
        let by = Dimension::Param(name.clone());
        let Ok(table) = tabulate(&run, &by, &Question::default()) else { continue };
        for row in &table.rows {
            let found: Vec<&CaseResult> =
                row.cells.iter().filter_map(Cell::found).map(|found| found.result).collect();
            for two in found.windows(2) {
                let rest = |result: &CaseResult| {
                    let mut params = result.params.clone();
                    params.remove(name);
                    (result.case.clone(), params, result.metric.clone())
                };
                assert_eq!(rest(two[0]), rest(two[1]), "by {name}");
                pairs += 1;
            }
        }
        let has_pair =
            |row: &&Row| row.cells.iter().filter(|cell| cell.found().is_some()).count() > 1;
        let based = |row: &&Row| row.cells[0].found().is_some();
        let (all, with_base) = table
            .rows
            .iter()
            .filter(has_pair)
            .fold((0, 0), |(all, with), row| (all + 1, with + usize::from(based(&row))));
        assert!(all == 0 || with_base > 0, "the base of {name} is beside none of {all} rows");
    }
    assert!(pairs > 200, "{pairs}");
}

/// A figure that depends on nothing but what two designs of the application must have in common: the case if several designs have
/// points of it, and the parameters that no design names.
fn common_figure(application: &Application, result: &CaseResult) -> f64 {
    let designs = application.designs.iter();
    let of_case = |design: &&Design| design.points.iter().any(|s| s.case == result.case);
    let is_shared = designs.clone().filter(of_case).count() > 1;
    let named = |name: &String| {
        let mut selects = designs.clone().flat_map(|design| design.points);
        selects.any(|select| select.params.iter().any(|(own, _)| own == name))
    };
    let mut hasher = DefaultHasher::new();
    is_shared.then_some(&result.case).hash(&mut hasher);
    for param in result.params.iter().filter(|(name, _)| !named(name)) {
        param.hash(&mut hasher);
    }
    10.0 + (hasher.finish() % 1_000_000) as f64
}

/// The verdict on four runs of different points of the application whose figures are these.
fn overview_of(
    application: &Application,
    seed: u64,
    figure: impl Fn(&CaseResult) -> f64,
) -> Overview {
    let run = |nth: u64| {
        let mut results = points(application, 8 * seed + 2 * nth);
        // A system may lack all points of a selection, so that a design's next one is taken there.
        let mut rng = StdRng::seed_from_u64(8 * seed + 2 * nth + 1);
        let selects = application.designs.iter().flat_map(|design| design.points);
        let lacking: Vec<&Select> = selects.filter(|_| rng.random::<f64>() < 0.3).collect();
        let lacks = |r: &CaseResult| lacking.iter().any(|s| s.matches(&r.case, &r.params));
        results.retain(|result| !lacks(result));
        for result in &mut results {
            let middle = figure(result);
            let rounds = (0..12).map(|n| middle * (1.0 + 1e-3 * f64::from(n % 5))).collect();
            let described = (result.metric.as_str(), result.unit.as_str(), result.better);
            *result = figure_of(&result.point(), described, rounds);
        }
        let mut run = simulated::document(&format!("system-{nth}"), results);
        run.run.asked.remove(results::GROUP);
        run
    };
    let runs: Vec<_> = (0..4).map(run).collect();
    let table = tabulate(&runs, &Dimension::System, &Question::default()).expect("four systems");
    let settings = Settings::default();
    overview(&compare_columns(table, &settings), &Selection::default(), &settings)
}

/// Means over points, between systems and between designs: where each figure depends on nothing but what must be in common, none
/// differs from 1.
#[test]
fn means_are_of_like_with_like() {
    let (mut between_systems, mut between_designs) = (0, 0);
    for (_, application) in applications() {
        for seed in 0..4 {
            let found = overview_of(application, seed, |result| common_figure(application, result));
            let standings = [&found.areas, &found.applications, &found.designs];
            for standing in standings.into_iter().flatten() {
                for mean in standing.columns.iter().filter_map(|column| column.mean) {
                    let apart = [mean.ratio.mid, mean.least, mean.greatest];
                    assert!(
                        apart.iter().all(|ratio| (ratio - 1.0).abs() < 1e-9),
                        "{} by {}: {mean:?}",
                        standing.name,
                        standing.metric
                    );
                    between_systems += 1;
                }
            }
            for spread in &found.spreads {
                for ratio in [spread.of_designs, spread.of_columns] {
                    assert!((ratio.mid - 1.0).abs() < 1e-9, "{}: {ratio:?}", spread.application);
                }
                between_designs += 1;
            }
        }
    }
    assert!(between_systems > 100 && between_designs > 10, "{between_systems}, {between_designs}");
}

/// The charts over parameters of a page: title, and the values of the points of each line.
fn charts_of(page: &str) -> Vec<(String, Vec<Vec<f64>>)> {
    let texts = |part: &str| part.split_once('>').map_or("", |(_, text)| text).to_owned();
    let mut charts = Vec::new();
    for figure in page.split("<figure ").skip(1) {
        let figure = figure.split("</figure>").next().unwrap_or_default();
        let caption = figure.split("<figcaption").nth(1).map(texts).unwrap_or_default();
        let title = caption.split('<').next().unwrap_or_default().to_owned();
        let lines = figure.split("<g class=\"s ").skip(1);
        let values = |line: &str| -> Vec<f64> {
            let line = line.split("</g>").next().unwrap_or_default();
            let points = line.split("data-v=\"").skip(1);
            points.filter_map(|point| point.split([' ', '"']).nth(1)?.parse().ok()).collect()
        };
        let lines: Vec<Vec<f64>> = lines.map(values).collect();
        if !lines.is_empty() {
            charts.push((title, lines));
        }
    }
    charts
}

/// Points of one line differ in nothing but the parameter of the chart, lines of one chart in nothing that is not written there.
#[test]
fn lines_of_charts_are_of_like_with_like() {
    let (mut lines_seen, mut pairs) = (0, 0);
    for (_, application) in applications() {
        let mut results = points(application, 0);
        // Each figure is of one point, so that the page's values tell which point it is.
        for (nth, result) in results.iter_mut().enumerate() {
            let rounds = vec![10_000.0 + nth as f64; 12];
            let described = (result.metric.as_str(), result.unit.as_str(), result.better);
            *result = figure_of(&result.point(), described, rounds);
        }
        let run = simulated::document("a", results);
        let runs = [ReportRun { document: &run, recorded: None }];
        let page = report_html(&Report { runs: &runs, ..Report::default() });
        for (title, lines) in charts_of(&page) {
            let Some((metric, key)) =
                title.rsplit_once(": ").and_then(|(_, of)| of.split_once(" by "))
            else {
                continue;
            };
            let point = |value: &f64| {
                let found = run.results.get((value - 10_000.0) as usize);
                found
                    .filter(|result| result.metric == metric)
                    .unwrap_or_else(|| panic!("{title}: {value}"))
            };
            let without_key = |result: &CaseResult| {
                let mut params = result.params.clone();
                params.remove(key);
                (result.case.clone(), params)
            };
            for line in &lines {
                let found: Vec<_> = line.iter().map(|value| without_key(point(value))).collect();
                for two in found.windows(2) {
                    assert_eq!(two[0], two[1], "{title}");
                    pairs += 1;
                }
                lines_seen += 1;
            }
        }
    }
    assert!(lines_seen > 50 && pairs > 100, "{lines_seen}, {pairs}");
}
