//! Counts of what one operation makes the kernel do, where they differ between the columns of a table: the cause of many
//! differences.

use std::collections::BTreeMap;

use measure::TIME;
use results::{PerOp, PointKey, serialize_label};

use crate::table::{Row, Table};

/// Minimum difference per operation that is reported: counts are means over many operations, a few events belong to no operation,
/// and the number of waits of contended locks varies.
const LEAST_DIFFERENCE: f64 = 0.1;
/// Minimum difference that is reported, as a share of the greater count.
const LEAST_SHARE: f64 = 0.2;

/// A count of one row that differs between columns.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CountRow {
    /// The point of the row.
    #[serde(rename = "label", serialize_with = "serialize_label")]
    pub point: PointKey,
    /// Name of the count, as in `per_op` of the results: `syscalls`, `page_faults`.
    pub count: String,
    /// Count per operation in each column; `None` if it is not known.
    pub columns: Vec<Option<f64>>,
}

/// The counts that differ from the first column's in any other column. Instructions and cycles are left out: they are costs, not
/// causes. A count that the table has as a metric, such as `voluntary-switches` of the whole load, is not shown again as that of
/// another pass.
pub fn differing_counts(table: &Table) -> Vec<CountRow> {
    const COSTS: [&str; 2] = ["instructions", "cycles"];
    let mut rows = Vec::new();
    for row in table.rows.iter().filter(|row| row.metric == TIME.name) {
        let cells = row.cells.iter().map(|cell| cell.found()?.result.per_op.as_ref());
        let columns: Vec<BTreeMap<String, f64>> =
            cells.map(|per_op| per_op.map(named).unwrap_or_default()).collect();
        let mut names: Vec<&String> = columns.iter().flat_map(|counts| counts.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let is_metric = |name: &str| {
            let of_row = |other: &&Row| {
                (&other.case, &other.params, &other.run) == (&row.case, &row.params, &row.run)
            };
            table.rows.iter().filter(of_row).any(|other| other.metric.replace('-', "_") == name)
        };
        let is_cause = |name: &&String| !COSTS.contains(&name.as_str()) && !is_metric(name);
        for name in names.into_iter().filter(is_cause) {
            let values: Vec<Option<f64>> =
                columns.iter().map(|counts| counts.get(name).copied()).collect();
            let known: Vec<f64> = values.iter().copied().flatten().collect();
            let least = known.iter().copied().fold(f64::INFINITY, f64::min);
            let most = known.iter().copied().fold(0.0, f64::max);
            if most - least > LEAST_DIFFERENCE.max(LEAST_SHARE * most) {
                rows.push(CountRow {
                    point: row.point(table),
                    count: name.clone(),
                    columns: values,
                });
            }
        }
    }
    rows
}

/// Known counts by their names in documents, so that a new count in documents is compared too.
fn named(per_op: &PerOp) -> BTreeMap<String, f64> {
    let json = serde_json::to_value(per_op).unwrap_or_default();
    let counts = json.as_object().into_iter().flatten();
    counts.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimension::Dimension;
    use crate::table::{Question, tabulate};
    use simulated::{document, rounds_of};

    #[test]
    fn counts_that_differ_are_listed_and_others_are_not() {
        let run = |system: &str, syscalls: f64, faults: Option<f64>| {
            let mut result = rounds_of(("lock/x", [("workers", "1")]), &[1.0]);
            result.per_op = Some(PerOp {
                syscalls: Some(syscalls),
                page_faults: faults,
                voluntary_switches: Some(0.001),
                cycles: Some(syscalls * 100.0),
                ..PerOp::default()
            });
            document(system, vec![result])
        };
        let runs =
            [run("native", 0.0, Some(0.0)), run("gvisor", 2.0, None), run("uml", 0.01, None)];
        let table = tabulate(&runs, &Dimension::System, &Question::default()).unwrap();
        let columns = vec![Some(0.0), Some(2.0), Some(0.01)];
        let point = rounds_of(("lock/x", [("workers", "1")]), &[1.0]).point();
        let row = CountRow { point, count: "syscalls".into(), columns };
        assert_eq!(differing_counts(&table), [row]);
        let equal = [run("native", 2.0, None), run("gvisor", 2.04, Some(5.0))];
        let table = tabulate(&equal, &Dimension::System, &Question::default()).unwrap();
        assert_eq!(differing_counts(&table), []);
        let with_metric = runs.map(|mut run| {
            let mut switches = run.results[0].clone();
            switches.metric = "voluntary-switches".to_owned();
            let waits = if run.system() == Some("uml") { 3.0 } else { 1.0 };
            run.results[0].per_op.as_mut().unwrap().voluntary_switches = Some(waits);
            run.results.push(switches);
            run
        });
        let table = tabulate(&with_metric, &Dimension::System, &Question::default()).unwrap();
        let names: Vec<String> =
            differing_counts(&table).into_iter().map(|row| row.count).collect();
        assert_eq!(names, ["syscalls"]);
    }
}
