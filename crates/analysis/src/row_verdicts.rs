//! The verdicts of the rows of a table, by which its means are supported.

use std::collections::BTreeMap;

use crate::columns::ComparedTable;
use crate::table::Found;
use crate::verdict::Verdict;

/// A result among the runs of a table: number of the run, case, parameters and metric.
type ResultName<'a> = (usize, &'a str, &'a BTreeMap<String, String>, &'a str);

/// The verdicts of the rows of a table, by the compared results.
pub(crate) struct RowVerdicts<'a>(BTreeMap<[ResultName<'a>; 2], Verdict>);

impl<'a> RowVerdicts<'a> {
    pub(crate) fn of(compared: &ComparedTable<'a>) -> Self {
        let mut verdicts = BTreeMap::new();
        for (row, cells) in compared.table.rows.iter().zip(&compared.rows) {
            let Some(base) = row.cells[0].found() else { continue };
            for (new, compared) in row.cells[1..].iter().zip(cells) {
                if let (Some(new), Some(compared)) = (new.found(), compared) {
                    verdicts.insert([base, new].map(name_of), compared.verdict);
                }
            }
        }
        Self(verdicts)
    }

    /// The verdict of the row that compares these results; `None` without such a row.
    pub(crate) fn of_pair(&self, base: Found<'a>, new: Found<'a>) -> Option<Verdict> {
        self.0.get(&[base, new].map(name_of)).copied()
    }
}

fn name_of<'a>(found: Found<'a>) -> ResultName<'a> {
    let Found { run, result, .. } = found;
    (run, &result.case, &result.params, &result.metric)
}
