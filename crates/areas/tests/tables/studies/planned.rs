//! Tests that the points of the included studies exist, and take no longer than a user waits.

use analysis::claim::{Content, Scope, Side};
use runner::{Options, Plan, Point, Selection, plan};

use super::*;

/// Maximum time of a default run of a study, in ms.
const DEFAULT_MS_AT_MOST: u64 = 4 * 60 * 1000;

fn planned(name: &str, size: Size) -> (Study, Plan) {
    let study = parsed(name, size);
    let selections = study
        .measure
        .iter()
        .map(|measure| Selection { filters: measure.cases.clone(), params: measure.params.clone() })
        .collect();
    let (precision, budget) = (study.precision, study.budget);
    let full = size == Size::Full;
    let options = Options { selections, full, precision, budget, ..Options::default() };
    let plan = plan(&options, &[0, 1], 7).expect(name);
    (study, plan)
}

/// What only `--full` measures is left out of a default run with a reason that names `--full`.
#[test]
fn tables_and_claims_select_points_that_are_measured() {
    for name in NAMES {
        let (study, plan) = planned(name, Size::Default);
        let (full_study, full) = planned(name, Size::Full);
        for side in study.sides().into_iter().chain(full_study.sides()) {
            assert!(is_planned(side, &full.points), "{name}: no point for {side:?}");
        }
        for claim in &study.claims {
            let needs = study
                .about
                .get(&claim.name)
                .and_then(|about| about.needs.as_deref())
                .unwrap_or_default();
            let all_planned = claim.sides().all(|side| is_planned(side, &plan.points));
            assert_eq!(!all_planned, needs.starts_with("--full"), "{name}: {}", claim.name);
        }
    }
}

/// A cell of a table selects one point, and so does a side of a claim about single points. By default it may select none.
#[test]
fn cells_select_one_point() {
    for (name, size) in NAMES.iter().flat_map(|name| [(name, Size::Default), (name, Size::Full)]) {
        let (study, plan) = planned(name, size);
        let check = |side: &Side, place: &str| {
            let count = count_planned(side, &plan.points);
            assert!(
                count == 1 || count == 0 && size == Size::Default,
                "{place}: {count}: {side:?}"
            );
        };
        let cells = study.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
        let counterparts = cells.filter_map(|cell| cell.here.as_ref());
        for side in counterparts.flat_map(|here| std::iter::once(&here.point).chain(&here.over)) {
            check(side, name);
        }
        for claim in &study.claims {
            let Content::Statement(statement) = &claim.content else { continue };
            let is_over = statement.relation.value.quantity.over().is_some();
            if statement.scope == Scope::At && !is_over {
                check(&statement.a, &claim.name);
            }
        }
    }
}

fn count_planned(side: &Side, points: &[Point]) -> usize {
    points.iter().filter(|point| side.selects(&point.case, &point.params)).count()
}

fn is_planned(side: &Side, points: &[Point]) -> bool {
    points.iter().any(|point| side.selects(&point.case, &point.params))
}

#[test]
fn a_default_run_of_each_study_takes_at_most_four_minutes_on_two_cpus() {
    for name in NAMES {
        let (_, plan) = planned(name, Size::Default);
        println!("{name}: {} points, {} s", plan.points.len(), plan.budget_ms / 1000);
        assert!(plan.budget_ms <= DEFAULT_MS_AT_MOST, "{name}: {} ms", plan.budget_ms);
        let (_, full) = planned(name, Size::Full);
        println!("  --full: {} points, {} s", full.points.len(), full.budget_ms / 1000);
        assert!(full.budget_ms >= plan.budget_ms, "{name}");
    }
}

/// A claim about points with fewer trials than a verdict needs would always be undecided.
#[test]
fn each_point_gets_enough_rounds_for_a_verdict() {
    for name in NAMES {
        let (_, plan) = planned(name, Size::Default);
        for point in &plan.points {
            assert!(plan.rounds_at_least >= 6 && plan.trials_of(point) >= 6, "{}", point.label());
        }
    }
}
