//! What areas print in their own way: tables other than those of points, and charts of the workbook.

use std::sync::OnceLock;

use results::CaseResult;

use crate::page::Page;
use crate::workbook::Plot;

static LAYOUTS: OnceLock<&'static [Layout]> = OnceLock::new();

/// The layout of an area.
pub struct Layout {
    /// The name of the area.
    pub area: &'static str,
    /// Whether the tables can show a result. Others are rows of the usual table.
    pub is_known: fn(&CaseResult) -> bool,
    /// The tables of results that they can show, and the meaning of their columns.
    pub tables: fn(&[&CaseResult], &Page) -> String,
    /// The charts of the workbook.
    pub plots: fn(&[CaseResult]) -> Vec<Plot>,
}

/// Makes these the layouts of this process, unless it has some.
pub fn install(layouts: &'static [Layout]) {
    let _ = LAYOUTS.set(layouts);
}

/// The installed layouts, in the order in which they are shown.
pub(crate) fn layouts() -> &'static [Layout] {
    LAYOUTS.get().copied().unwrap_or_default()
}

/// No charts.
pub fn no_plots(_: &[CaseResult]) -> Vec<Plot> {
    Vec::new()
}
