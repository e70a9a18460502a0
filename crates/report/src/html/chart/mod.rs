//! Three kinds of charts: sorted bars, lines over a parameter, and spans of time. Their texts keep their size at any width of the
//! page: bars and spans are rows of HTML with a drawing in each, and the drawings have their positions along x in percent.

mod bars;
mod lines;
mod scale;
mod spans;

use maud::{Markup, PreEscaped, Render, html};
use results::PointKey;

use crate::html::text::Text;
pub(super) use bars::{Bar, BarScale, Bars};
pub(super) use lines::{Line, LinePoint, Lines, Mark, PERCENTILE, XAxis};
pub(crate) use lines::{ScaledPoint, SweepPlot};
pub(super) use scale::{Extent, ScaleKind};
pub(super) use spans::{Lane, Spans};

/// Number of distinct colours; further lines reuse them and are dashed.
pub(super) const LOOKS: usize = 8;

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
    pub(super) fn standalone(&self, style: &str) -> Option<String> {
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
                style { (PreEscaped(style)) }
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

/// Width of a chart as a file, and the number of letters that fit.
const FILE_WIDTH: usize = 900;
const FILE_LETTERS: usize = 125;

/// Classes of a line or bar: its colour, and whether it is dashed.
pub(super) fn class(look: usize) -> String {
    match look / LOOKS {
        0 => format!("s{}", look % LOOKS),
        _ => format!("s{} dashed", look % LOOKS),
    }
}

/// A number with at most two decimals: a position in percent or pixels.
struct At(f64);

impl Render for At {
    fn render_to(&self, buffer: &mut String) {
        let text = format!("{:.2}", self.0);
        buffer.push_str(text.trim_end_matches('0').trim_end_matches('.'));
    }
}

/// Values of a point for tests and readers of the page's source: six digits, in the notation of scripts.
struct Values<'a>(&'a [f64]);

impl Render for Values<'_> {
    fn render_to(&self, buffer: &mut String) {
        let value = |value: &f64| match value.is_infinite() {
            true if *value > 0.0 => "Infinity".to_owned(),
            true => "-Infinity".to_owned(),
            false => format!("{value:.6e}").parse::<f64>().unwrap_or(*value).to_string(),
        };
        buffer.push_str(&self.0.iter().map(value).collect::<Vec<_>>().join(" "));
    }
}

/// The label of a value on an axis.
fn tick(value: f64, unit: &str) -> String {
    crate::quantity::figure(value, 0.0, unit).to_string()
}

/// Charts side by side where the page is wide enough.
pub(super) fn grid(charts: &[Chart]) -> Markup {
    html! { @if !charts.is_empty() { div.charts { @for chart in charts { (chart.figure()) } } } }
}
