//! Charts: the data that they show, separate from drawing.

mod draw;
mod scale;
mod shape;

pub(super) use draw::{markers, standalone};
pub(super) use scale::ScaleKind;
pub(super) use shape::{Axis, Chart, ChartPoint, LOOKS, Mark, Series, Shade, Ticks};
pub(crate) use shape::{ScaledPoint, SweepPlot};
