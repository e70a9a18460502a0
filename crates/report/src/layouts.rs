//! Layouts of areas: tables other than those of points, charts of the workbook, and conclusions.

use std::sync::OnceLock;

use results::{CaseResult, Document, Estimate};
use serde_json::{Map, Value};

use crate::page::Page;

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
    /// What the area says of a run that was made for a question.
    pub conclusion: fn(&Document, &Page) -> Option<Conclusion>,
    /// Lines below all tables of results, such as facts of the machine that made them.
    pub below: fn(&[CaseResult], &Map<String, Value>, &Page) -> String,
}

/// What an area says of a run that was made for a question, such as which of several commands is the fastest.
pub struct Conclusion {
    /// The answer as text.
    pub text: String,
    /// Whether the text stands for the tables of the run; otherwise it precedes them.
    pub replaces_tables: bool,
    /// Whether nothing follows the text, such as the core's frequency.
    pub is_all: bool,
    /// The key of the answer in the run as a JSON document.
    pub key: &'static str,
    /// The answer in the JSON document.
    pub json: Value,
}

/// A chart of the workbook: lines over the same values of x.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Name of the sheet.
    pub sheet: String,
    /// Title of the chart.
    pub title: String,
    /// Title of the horizontal axis.
    pub x_title: String,
    /// Title of the vertical axis.
    pub y_title: String,
    /// Values of x.
    pub x: Vec<f64>,
    /// The lines.
    pub lines: Vec<Curve>,
    /// Whether both axes are logarithmic.
    pub logarithmic: bool,
}

/// A line of a chart, with a point per x that has a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Name of the line.
    pub name: String,
    /// Index of the style; an executor has the same style in all charts.
    pub look: usize,
    /// Points of the line, by x.
    pub points: Vec<Option<CurvePoint>>,
}

/// A figure, and the distances of the ends of its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// The figure.
    pub mid: f64,
    /// Distance of the lower end of the interval.
    pub below: f64,
    /// Distance of the upper end of the interval.
    pub above: f64,
}

impl CurvePoint {
    /// The estimate and its interval in units of `unit`.
    pub fn of(estimate: &Estimate, unit: f64) -> CurvePoint {
        // The figure is drawn without an interval if the interval is infinite.
        let distance = |apart: f64| if apart.is_finite() { apart.max(0.0) / unit } else { 0.0 };
        CurvePoint {
            mid: estimate.median / unit,
            below: distance(estimate.median - estimate.low),
            above: distance(estimate.high - estimate.median),
        }
    }
}

impl Layout {
    /// A layout that shows nothing.
    pub const fn new(area: &'static str) -> Self {
        Self {
            area,
            is_known: |_| false,
            tables: |_, _| String::new(),
            plots: |_| Vec::new(),
            conclusion: |_, _| None,
            below: |_, _, _| String::new(),
        }
    }
}

/// Installs the layouts of this process, unless it has some.
pub fn install(layouts: &'static [Layout]) {
    let _ = LAYOUTS.set(layouts);
}

/// The installed layouts, in the order in which they are shown.
pub(crate) fn layouts() -> &'static [Layout] {
    LAYOUTS.get().copied().unwrap_or_default()
}

/// What the areas say of a run that was made for a question.
pub fn conclusions(document: &Document, page: &Page) -> Vec<Conclusion> {
    layouts().iter().filter_map(|layout| (layout.conclusion)(document, page)).collect()
}

/// The lines of all areas below the tables of results.
pub fn below_tables(results: &[CaseResult], machine: &Map<String, Value>, page: &Page) -> String {
    layouts().iter().map(|layout| (layout.below)(results, machine, page)).collect()
}
