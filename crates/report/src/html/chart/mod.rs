//! Three kinds of charts: sorted bars, lines over a parameter, and spans of time. Their texts keep their size at any width of the
//! page: bars and spans are rows of HTML with a drawing in each, and the drawings have their positions along x in percent.

mod bars;
mod lines;
mod scale;
mod spans;
mod writing;

use maud::{Markup, PreEscaped, html};
use results::PointKey;

use crate::html::text::Text;
pub(super) use bars::{Bar, BarScale, Bars};
pub(super) use lines::{Line, LinePoint, Lines, Mark, PERCENTILE, XAxis};
pub(crate) use lines::{ScaledPoint, SweepPlot};
pub(super) use scale::{Extent, ScaleKind};
pub(super) use spans::{Lane, Spans};
pub(super) use writing::LOOKS;
use writing::{FILE_LETTERS, FILE_WIDTH};

/// The style of all charts.
pub(super) const STYLE: &str = include_str!("../chart.css");

/// A chart with its texts.
#[derive(Debug, Clone)]
pub(super) struct Chart {
    /// Identifier of the chart's element.
    pub id: String,
    /// What the chart shows, with the parameters that all its points share.
    pub title: String,
    /// Sentences below the chart.
    pub notes: Vec<String>,
    pub drawing: Drawing,
}

#[derive(Debug, Clone)]
pub(super) enum Drawing {
    Bars(Bars),
    Lines(Lines),
    Spans(Spans),
}

impl Chart {
    pub(super) fn new(id: String, title: impl Into<String>, drawing: Drawing) -> Chart {
        Chart { id, title: title.into(), notes: Vec::new(), drawing }
    }

    /// The figure with its caption and notes; empty if there is nothing to draw.
    pub(super) fn figure(&self) -> Markup {
        let drawn = match &self.drawing {
            Drawing::Bars(bars) => bars.draw(),
            Drawing::Lines(lines) => lines.draw(&self.id),
            Drawing::Spans(spans) => spans.draw(),
        };
        let Some(drawn) = drawn else { return html! {} };
        html! {
            figure id=(self.id) {
                figcaption id={ (self.id) "-t" } { (Text(&self.title)) }
                (drawn)
                @for note in &self.notes { p.note { (Text(note)) } }
            }
        }
    }

    /// Whether the chart shows a point for which `is_meant` is true.
    pub(super) fn shows(&self, is_meant: &dyn Fn(&PointKey) -> bool) -> bool {
        match &self.drawing {
            Drawing::Bars(bars) => {
                bars.rows.iter().filter_map(|bar| bar.point.as_ref()).any(is_meant)
            }
            Drawing::Lines(lines) => {
                let points = lines.lines.iter().flat_map(|line| &line.points);
                points.filter_map(|point| point.point.as_ref()).any(is_meant)
            }
            Drawing::Spans(_) => false,
        }
    }

    /// The chart over a parameter; `None` for other kinds.
    pub(super) fn lines(&self) -> Option<&Lines> {
        match &self.drawing {
            Drawing::Lines(lines) => Some(lines),
            _ => None,
        }
    }

    /// The chart as an SVG file; `None` if there is nothing to draw.
    pub(super) fn standalone(&self) -> Option<String> {
        const LINE: usize = 18;
        let (drawn, height, tail) = match &self.drawing {
            Drawing::Bars(bars) => bars.file()?,
            Drawing::Lines(lines) => lines.file(&self.id)?,
            Drawing::Spans(_) => return None,
        };
        let texts = |texts: &[String]| -> Vec<String> {
            let lines = texts.iter().flat_map(|text| {
                let text = crate::html::text::visible(text).into_owned();
                let hanging = crate::text::hanging("", &text, FILE_LETTERS);
                hanging.lines().map(str::to_owned).collect::<Vec<_>>()
            });
            lines.collect()
        };
        let titles = texts(std::slice::from_ref(&self.title));
        let notes = texts(&[tail, self.notes.clone()].concat());
        let head = LINE * titles.len() + 14;
        let total = head + height + LINE * notes.len() + 10;
        let markup = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (FILE_WIDTH) " " (total) } width=(FILE_WIDTH) height=(total) class="file" {
                title { (Text(&self.title)) }
                style { (PreEscaped(STYLE)) }
                rect.paper width="100%" height="100%" {}
                @for (at, line) in titles.iter().enumerate() { text.head x="8" y=(LINE * (at + 1)) { (Text(line)) } }
                svg y=(head) width=(FILE_WIDTH) height=(height) { (drawn) }
                @for (at, note) in notes.iter().enumerate() {
                    text.axis x="8" y=(head + height + LINE * (at + 1) - 4) { (Text(note)) }
                }
            }
        };
        Some(markup.into_string() + "\n")
    }
}

/// Charts side by side where the page is wide enough.
pub(super) fn grid(charts: &[Chart]) -> Markup {
    html! { @if !charts.is_empty() { div.charts { @for chart in charts { (chart.figure()) } } } }
}
