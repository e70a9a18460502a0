//! Charts: what they show, without how it is drawn.

mod draw;
mod scale;
mod shape;

pub(super) use draw::{markers, standalone};
pub(super) use scale::ScaleKind;
pub(super) use shape::{Axis, Chart, ChartPoint, LOOKS, Mark, Series, Shade, Ticks};
pub(crate) use shape::{ScaledPoint, SweepPlot};
