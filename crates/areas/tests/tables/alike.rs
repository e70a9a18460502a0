//! What is ranked, averaged, charted or said in one sentence differs only in what the designs name.

use std::collections::{BTreeMap, BTreeSet};

use analysis::answer::answers;
use analysis::{Cell, Dimension, Question, Row, tabulate};
use catalog::{Application, Design, Extent, Select};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
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
