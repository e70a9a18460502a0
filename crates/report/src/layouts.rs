//! Layouts of areas: tables other than those of points, and charts of the workbook.

use std::sync::OnceLock;

use results::CaseResult;

use crate::page::Page;
use crate::workbook::Plot;

static LAYOUTS: OnceLock<&'static [Layout]> = OnceLock::new();

/// The layout of an area.
pub struct Layout {
    /// Name of the area.
    pub area: &'static str,
    /// Whether the tables can show a result. Other results are rows of the default table.
    pub is_known: fn(&CaseResult) -> bool,
    /// Prints the tables of results that they can show, and explanations of their columns.
    pub tables: fn(&[&CaseResult], &Page) -> String,
    /// Charts of the workbook.
    pub plots: fn(&[CaseResult]) -> Vec<Plot>,
}

/// Installs the layouts of this process, unless it has some.
pub fn install(layouts: &'static [Layout]) {
    let _ = LAYOUTS.set(layouts);
}

/// The installed layouts, in the order in which they are shown.
pub(crate) fn layouts() -> &'static [Layout] {
    LAYOUTS.get().copied().unwrap_or_default()
}

/// Returns no charts.
pub fn no_plots(_: &[CaseResult]) -> Vec<Plot> {
    Vec::new()
}
