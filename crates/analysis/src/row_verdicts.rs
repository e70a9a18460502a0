//! The verdicts of the rows of a table, by which its means are supported.

use std::collections::BTreeMap;

use results::CaseResult;

use crate::columns::compare_columns;
use crate::judge::Settings;
use crate::table::Table;
use crate::verdict::Verdict;

/// The verdicts of the rows of a table, by the addresses of the compared results.
pub(crate) struct RowVerdicts(BTreeMap<[*const CaseResult; 2], Verdict>);

impl RowVerdicts {
    pub(crate) fn of(table: &Table, settings: &Settings) -> Self {
        let compared = compare_columns(table.clone(), settings);
        let mut verdicts = BTreeMap::new();
        for (row, cells) in compared.table.rows.iter().zip(&compared.rows) {
            let Some(base) = row.cells[0].found() else { continue };
            for (new, compared) in row.cells[1..].iter().zip(cells) {
                if let (Some(new), Some(compared)) = (new.found(), compared) {
                    let results = [base.result, new.result].map(std::ptr::from_ref);
                    verdicts.insert(results, compared.verdict);
                }
            }
        }
        Self(verdicts)
    }

    /// The verdict of the row that compares these results; `None` without such a row.
    pub(crate) fn of_pair(&self, base: &CaseResult, new: &CaseResult) -> Option<Verdict> {
        self.0.get(&[base, new].map(std::ptr::from_ref)).copied()
    }
}
