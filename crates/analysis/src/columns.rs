//! Comparison of the columns of a table with the first, by the rules by which runs are compared.
//!
//! The noise floor means the same within a run as between two runs: the change that the machine itself can cause. Two points of
//! one run are measured in turn in the same minutes, so that changes of speed affect both and the floor is low. It consists of
//! the drift within each point, the difference of the sentinel beside them, and the differences that equal runs have shown for
//! either point.

use std::collections::BTreeMap;

use results::{Document, Outcome};

use crate::change::{Change, Sides};
use crate::compare::no_figures;
use crate::held_back::{HeldBack, another_machine, emulation};
use crate::judge::{self, Compared, Judge, Pair, Settings};
use crate::scope::Points;
use crate::setting::{Difference, nuisances};
use crate::table::{Cell, Found, Table};

/// A table with the comparison of its columns with the first.
#[derive(Debug, Clone)]
pub struct ComparedTable<'a> {
    /// The table.
    pub table: Table<'a>,
    /// For each row, one comparison for each column but the first; `None` if there is nothing to compare: neither cell has a
    /// result, both systems lack the case, or, within a run, one of the cells has none.
    pub rows: Vec<Vec<Option<Compared>>>,
}

/// Compares each column of the table with the first. All comparisons of all rows share one chance of error.
pub fn compare_columns<'a>(table: Table<'a>, settings: &Settings) -> ComparedTable<'a> {
    let facts = Facts::of(&table, settings);
    let mut changes: Vec<Vec<Option<Change>>> = table
        .rows
        .iter()
        .map(|row| {
            let base = row.cells[0].measured();
            let others = row.cells[1..].iter().map(Cell::measured);
            others.map(|new| facts.change(base?, new?)).collect()
        })
        .collect();
    let judge = Judge::of(changes.iter_mut().flatten().flatten(), settings);
    let mut rows = Vec::new();
    for (row, changes) in table.rows.iter().zip(changes) {
        let base = &row.cells[0];
        let others = row.cells.iter().zip(&table.columns).skip(1);
        let compared = others.zip(changes).map(|((new, name), change)| {
            let found = [base.found(), new.found()];
            let needed = if table.by.is_of_runs() { 1 } else { 2 };
            let is_nowhere =
                found.iter().flatten().all(|found| found.result.outcome == Outcome::Unsupported);
            if found.iter().flatten().count() < needed || is_nowhere {
                return None;
            }
            let pair = Pair {
                base: found[0].map(|found| found.result),
                new: found[1].map(|found| found.result),
                change,
                held_back: found[0]
                    .zip(found[1])
                    .and_then(|(base, new)| facts.held_back(base, new)),
                is_itself: false,
            };
            let no_pair = || why_no_pair([(base, &table.columns[0]), (new, name)]);
            let compared = judge.row(pair, no_pair);
            Some(Compared { point: row.point(&table), ..compared })
        });
        rows.push(compared.collect());
    }
    ComparedTable { table, rows }
}

/// The lines that announce columns of other machines than the first one's.
pub fn announcements(table: &Table, settings: &Settings) -> Vec<String> {
    let asked = table.by.facts();
    let is_base = |run: &&Document| table.by.value_of_run(run).as_ref() == table.columns.first();
    let Some(base) = table.runs.iter().find(is_base) else { return Vec::new() };
    let named = (0..table.runs.len()).map(|run| (&table.runs[run], table.name_of_run(run).1));
    let line = |(run, name): (&Document, String)| {
        judge::announcement(settings.across_machines, &nuisances(base, run, &asked), &name)
    };
    named.filter_map(line).collect()
}

/// Reason why two cells cannot be compared.
fn why_no_pair(cells: [(&Cell, &String); 2]) -> String {
    let mut missing =
        cells.iter().filter_map(|(cell, name)| Some(format!("{name}: {}", cell.reason()?)));
    let [base, new] = cells.map(|(cell, _)| cell.found().map(|found| found.result));
    missing.next().unwrap_or_else(|| no_figures(base, new))
}

/// Facts that are needed to compare any two results of the runs of a table.
pub(crate) struct Facts<'a> {
    sides: BTreeMap<(usize, usize), (Sides<'a>, Vec<Difference>)>,
    points: Vec<Points<'a>>,
    emulated: Vec<Option<&'a str>>,
    systems: Vec<String>,
}

impl<'a> Facts<'a> {
    pub(crate) fn of(table: &Table<'a>, settings: &Settings) -> Self {
        let runs = table.runs;
        let pairs = (0..runs.len()).flat_map(|base| (0..runs.len()).map(move |new| (base, new)));
        // A table by a parameter has pairs within runs only.
        let pairs = pairs.filter(|(base, new)| base == new || table.by.is_of_runs());
        let asked = table.by.facts();
        let sides = pairs.map(|(base, new)| {
            let apart = settings.apart(&runs[base], &runs[new], &asked);
            ((base, new), (Sides::of(&runs[base], &runs[new], settings.across_machines), apart))
        });
        Self {
            sides: sides.collect(),
            points: runs.iter().map(|run| Points::of(&[run])).collect(),
            emulated: runs.iter().map(|run| run.emulated()).collect(),
            systems: (0..runs.len()).map(|run| table.name_of_run(run).1).collect(),
        }
    }

    /// The change from one result to another; `None` if one has no figure, or if their units differ.
    pub(crate) fn change(&self, base: Found, new: Found) -> Option<Change> {
        self.sides.get(&(base.run, new.run))?.0.change(base.result, new.result)
    }

    /// Reason why the change gets no verdict, whatever its interval; `None` if it gets one.
    pub(crate) fn held_back(&self, base: Found, new: Found) -> Option<HeldBack> {
        let sides = [base, new].map(|found| (self.emulated[found.run], &*self.systems[found.run]));
        let either = || {
            Points::either_held_back([
                (&self.points[base.run], base.result),
                (&self.points[new.run], new.result),
            ])
        };
        let apart = || another_machine(&self.sides.get(&(base.run, new.run))?.1);
        emulation(sides, base.result).or_else(apart).or_else(either)
    }
}
