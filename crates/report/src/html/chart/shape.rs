//! Data of a chart: axes, lines, points, marks; and the data of a text plot.

use results::PointKey;

use super::scale::{Extent, Scale, ScaleKind};
use crate::quantity::{figure, half_width};

/// Number of distinct colours; further lines reuse them and are dashed.
pub(in crate::html) const LOOKS: usize = 8;

/// A chart.
#[derive(Debug, Clone, Default)]
pub(in crate::html) struct Chart {
    /// Identifier of the chart's element, with which those of its points begin.
    pub id: String,
    pub title: String,
    /// Sentences below the chart: a description of one operation, the command that measures it again.
    pub notes: Vec<String>,
    pub x: Axis,
    pub y: Axis,
    pub lines: Vec<Series>,
    /// Values of x that stand out, such as crossings.
    pub marks: Vec<Mark>,
    /// Ranges of x in which differences mean nothing, by row.
    pub shades: Vec<Shade>,
    /// A value of x that others are compared with.
    pub reference: Option<f64>,
    /// Whether each point is a bar from one end of its interval to the other, in its row.
    pub bars: bool,
}

/// An axis.
#[derive(Debug, Clone, Default)]
pub(in crate::html) struct Axis {
    pub title: String,
    /// Unit of the values, as in results.
    pub unit: String,
    /// Scale that is shown first; if `None`, the one that suits the values.
    pub kind: Option<ScaleKind>,
    /// Whether a linear scale need not begin at zero.
    pub floats: bool,
    /// Limits beyond which values are drawn at the edges.
    pub limits: Option<(f64, f64)>,
    pub ticks: Ticks,
}

/// Labels of an axis.
#[derive(Debug, Clone, Default)]
pub(in crate::html) enum Ticks {
    /// Round values are labelled.
    #[default]
    Round,
    /// These values are labelled with these texts.
    Named(Vec<(f64, String)>),
    /// Names of rows, from top to bottom; the first row is at 0.
    Rows(Vec<String>),
}

/// Points of one kind.
#[derive(Debug, Clone, Default)]
pub(in crate::html) struct Series {
    pub name: String,
    /// Index of the colour and marker.
    pub look: usize,
    pub points: Vec<ChartPoint>,
    /// Whether the points are connected, with a band between the ends of their intervals.
    pub joined: bool,
}

/// A figure with its interval, which is along x if y has rows, and otherwise along y.
#[derive(Debug, Clone, Default)]
pub(in crate::html) struct ChartPoint {
    pub x: f64,
    pub y: f64,
    pub low: f64,
    pub high: f64,
    /// The point in words.
    pub text: String,
    /// The measured point, if the figure belongs to one point of a run.
    pub point: Option<PointKey>,
}

/// A value of x with its interval.
#[derive(Debug, Clone)]
pub(in crate::html) struct Mark {
    pub at: f64,
    pub low: f64,
    pub high: f64,
    pub text: String,
}

/// A range of x in a row.
#[derive(Debug, Clone, Copy)]
pub(in crate::html) struct Shade {
    pub row: usize,
    pub low: f64,
    pub high: f64,
}

impl ChartPoint {
    /// A figure in a row, with the ends of its interval.
    pub(in crate::html) fn in_row(row: usize, [x, low, high]: [f64; 3], text: String) -> Self {
        ChartPoint { x, y: row as f64, low, high, text, point: None }
    }
}

impl Axis {
    /// An axis of figures in `unit`.
    pub(in crate::html) fn figures(title: impl Into<String>, unit: &str) -> Axis {
        Axis { title: title.into(), unit: unit.to_owned(), ..Axis::default() }
    }

    /// An axis with a row for each name.
    pub(in crate::html) fn rows(names: impl IntoIterator<Item = String>) -> Axis {
        Axis { ticks: Ticks::Rows(names.into_iter().collect()), ..Axis::default() }
    }

    /// A logarithmic axis of ratios, which need not begin at zero.
    pub(in crate::html) fn ratios(title: impl Into<String>) -> Axis {
        let kind = Some(ScaleKind::Logarithmic);
        Axis { kind, floats: true, ..Axis::figures(title, "x") }
    }

    pub(super) fn has_rows(&self) -> bool {
        matches!(self.ticks, Ticks::Rows(_))
    }

    /// Whether both kinds of scale can show the values, so that the reader may choose.
    pub(super) fn has_choice(&self, extent: Extent) -> bool {
        matches!(self.ticks, Ticks::Round) && extent.has_logarithm() && !self.floats
    }
}

impl Chart {
    /// Whether the chart lists points in rows.
    pub(in crate::html) fn has_rows(&self) -> bool {
        self.y.has_rows()
    }

    /// The number of points.
    pub(in crate::html) fn points(&self) -> usize {
        self.lines.iter().map(|line| line.points.len()).sum()
    }

    /// The chart as data of a text plot; `None` if no point can be drawn.
    pub(in crate::html) fn as_plot(&self) -> Option<SweepPlot> {
        let extent = self.y_extent()?;
        let kind = extent.best();
        let scale = Scale::of(extent, kind, true);
        let at = |x: f64| match &self.x.ticks {
            Ticks::Named(named) => {
                named.iter().find(|(value, _)| *value == x).map(|(_, name)| name.clone())
            }
            _ => None,
        };
        let point = |point: &ChartPoint| {
            let half = half_width(point.y, point.low, point.high);
            ScaledPoint {
                at: at(point.x).unwrap_or_else(|| point.x.to_string()),
                share: scale.at(point.y),
                figure: figure(point.y, half, &self.y.unit).to_string(),
            }
        };
        let lines = self.lines.iter();
        let lines = lines.map(|line| (line.name.clone(), line.points.iter().map(point).collect()));
        let is_logarithmic = kind == ScaleKind::Logarithmic;
        Some(SweepPlot { title: self.title.clone(), is_logarithmic, lines: lines.collect() })
    }

    pub(super) fn x_extent(&self) -> Option<Extent> {
        let points = self.lines.iter().flat_map(|line| &line.points);
        let values = points.flat_map(|point| match self.has_rows() {
            true => vec![point.x, point.low, point.high],
            false => vec![point.x],
        });
        let marks = self.marks.iter().map(|mark| mark.at);
        let shades = self.shades.iter().flat_map(|shade| [shade.low, shade.high]);
        let values = values.chain(marks).chain(shades).chain(self.reference);
        match self.x.limits {
            Some((low, high)) => Extent::of(values.map(|value| value.clamp(low, high))),
            None => Extent::of(values),
        }
    }

    pub(super) fn y_extent(&self) -> Option<Extent> {
        if let Ticks::Rows(rows) = &self.y.ticks {
            return Some(Extent { low: -0.5, high: rows.len() as f64 - 0.5 });
        }
        let points = self.lines.iter().flat_map(|line| &line.points);
        Extent::of(points.flat_map(|point| [point.y, point.low, point.high]))
    }
}

/// A chart over a parameter, for text plots.
pub(crate) struct SweepPlot {
    pub title: String,
    /// Whether the shares are positions on a logarithmic scale.
    pub is_logarithmic: bool,
    /// Lines by name.
    pub lines: Vec<(String, Vec<ScaledPoint>)>,
}

/// A point of a text plot.
pub(crate) struct ScaledPoint {
    /// Value of the parameter.
    pub at: String,
    /// Length of the bar: 0 to 1.
    pub share: f64,
    /// Figure of the point.
    pub figure: String,
}
