//! Contents of a chart.

use results::Estimate;

/// One chart: lines over the same values of x.
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
