//! Lines over a parameter, or over percentiles, with their names at their ends.

use maud::{Markup, html};
use results::PointKey;

use super::scale::{Extent, Scale, ScaleKind};
use super::writing::{At, FILE_WIDTH, Values, class, tick};
use crate::html::text::{Text, visible};
use crate::quantity::{carries_unit, figure, half_width};

/// Sizes in pixels: texts are 12 high at any width of the page.
const HEIGHT: f64 = 250.0;
const TOP: f64 = 26.0;
const LEFT: f64 = 62.0;
/// Height below the plot for labels and the title of x.
const BOTTOM: f64 = 44.0;
/// Distance of names of lines.
const NAME: f64 = 15.0;
/// Approximate width of a letter, and of the plot on the narrowest page and on an ordinary one.
const LETTER: f64 = 7.2;
const NARROW: f64 = 240.0;
const ORDINARY: f64 = 480.0;
/// Room for names of lines: classes r0 to r3 of the style have these widths.
const ROOMS: [f64; 4] = [18.0, 90.0, 150.0, 220.0];
const Y_TICKS: usize = 5;

/// A chart of lines.
#[derive(Debug, Clone, Default)]
pub(in crate::html) struct Lines {
    pub x: XAxis,
    /// Name and unit of the values.
    pub metric: String,
    pub unit: String,
    /// Whether a linear scale of the values need not begin at zero.
    pub floats: bool,
    pub lines: Vec<Line>,
    /// Values of x that stand out, such as crossings.
    pub marks: Vec<Mark>,
}

/// The axis of a parameter.
#[derive(Debug, Clone)]
pub(in crate::html) struct XAxis {
    pub title: String,
    pub unit: String,
    pub kind: ScaleKind,
    /// Labelled values; round values if empty.
    pub named: Vec<(f64, String)>,
}

impl Default for XAxis {
    fn default() -> Self {
        XAxis {
            title: String::new(),
            unit: String::new(),
            kind: ScaleKind::Linear,
            named: Vec::new(),
        }
    }
}

/// Points that are connected.
#[derive(Debug, Clone, Default)]
pub(in crate::html) struct Line {
    pub name: String,
    /// Colour: an index, see [`class`].
    pub look: usize,
    pub points: Vec<LinePoint>,
}

/// A figure with its interval along y.
#[derive(Debug, Clone, Default)]
pub(in crate::html) struct LinePoint {
    pub x: f64,
    pub y: f64,
    pub low: f64,
    pub high: f64,
    /// The point in words; a point without words is only part of its line.
    pub text: String,
    /// The measured point, if the figure belongs to one point of a run.
    pub point: Option<PointKey>,
}

/// A value of x that stands out.
#[derive(Debug, Clone)]
pub(in crate::html) struct Mark {
    pub at: f64,
    pub text: String,
}

/// A chart of lines with its scales.
struct Plot<'c> {
    chart: &'c Lines,
    x: Scale,
    y: Scale,
    /// Index of the room for names in [`ROOMS`]; `None` if a legend names the lines.
    room: Option<usize>,
}

/// Title of the axis of percentiles.
pub(in crate::html) const PERCENTILE: &str = "percentile";

impl Lines {
    /// Whether x has percentiles instead of a parameter.
    pub(in crate::html) fn is_by_percentile(&self) -> bool {
        self.x.title == PERCENTILE
    }

    /// The number of points, for tests.
    #[cfg(test)]
    pub(in crate::html) fn points(&self) -> usize {
        self.lines.iter().map(|line| line.points.len()).sum()
    }

    fn plot(&self) -> Option<Plot<'_>> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let x = points().map(|point| point.x).chain(self.marks.iter().map(|mark| mark.at));
        let x = Scale::of(Extent::of(x)?, self.x.kind, false);
        let y = self.y_scale()?;
        let longest = self.lines.iter().map(|line| visible(&line.name).chars().count()).max()?;
        let needed = if self.lines.len() > 1 { longest as f64 * LETTER + 24.0 } else { 0.0 };
        let room = ROOMS.iter().position(|room| *room >= needed);
        Some(Plot { chart: self, x, y, room })
    }

    fn y_scale(&self) -> Option<Scale> {
        let points = self.lines.iter().flat_map(|line| &line.points);
        let extent = Extent::of(points.flat_map(|point| [point.y, point.low, point.high]))?;
        Some(Scale::of(
            extent,
            if self.floats { ScaleKind::Linear } else { extent.best() },
            !self.floats,
        ))
    }

    pub(super) fn draw(&self, id: &str) -> Option<Markup> {
        let plot = self.plot()?;
        let legend = if plot.room.is_some() { "legend narrow" } else { "legend" };
        Some(html! {
            (plot.svg(id))
            @if self.lines.len() > 1 {
                ul class=(legend) { @for line in &self.lines {
                    li class=(class(line.look)) { svg.key aria-hidden="true" { line.line x2="22" y1="7" y2="7" {} } (Text(&line.name)) }
                } }
            }
        })
    }

    /// The drawing for a file, its height, and lines below it: names that do not fit beside the lines.
    pub(super) fn file(&self, id: &str) -> Option<(Markup, usize, Vec<String>)> {
        let plot = self.plot()?;
        let names = match plot.room {
            Some(_) => Vec::new(),
            None => self.lines.iter().map(|line| line.name.clone()).collect(),
        };
        let drawn = html! { svg x=(LEFT) overflow="visible" { (plot.svg(id)) } };
        Some((drawn, (TOP + HEIGHT + BOTTOM) as usize, names))
    }

    /// The chart as data of a text plot; `None` if no point can be drawn.
    pub(in crate::html) fn as_plot(&self, title: &str) -> Option<SweepPlot> {
        let scale = self.y_scale()?;
        let at = |x: f64| {
            self.x.named.iter().find(|(value, _)| *value == x).map(|(_, name)| name.clone())
        };
        let point = |point: &LinePoint| {
            let half = half_width(point.y, point.low, point.high);
            ScaledPoint {
                at: at(point.x).unwrap_or_else(|| point.x.to_string()),
                share: scale.at(point.y),
                figure: figure(point.y, half, &self.unit).to_string(),
            }
        };
        let lines = self.lines.iter();
        let lines = lines.map(|line| (line.name.clone(), line.points.iter().map(point).collect()));
        let is_logarithmic = scale.is_logarithmic();
        Some(SweepPlot { title: title.to_owned(), is_logarithmic, lines: lines.collect() })
    }
}

impl Plot<'_> {
    fn px(&self, x: f64) -> f64 {
        100.0 * self.x.at(x)
    }

    fn py(&self, y: f64) -> f64 {
        HEIGHT * (1.0 - self.y.at(y))
    }

    fn svg(&self, id: &str) -> Markup {
        let chart = self.chart;
        let room = self.room.unwrap_or(0);
        let scale = if self.y.is_logarithmic() { ", logarithmic" } else { "" };
        let unit = if carries_unit(&chart.unit) || chart.unit.is_empty() {
            String::new()
        } else {
            format!(" ({})", chart.unit)
        };
        html! {
            svg class={ "plot r" (room) } width=(FILE_WIDTH as f64 - LEFT - ROOMS[room]) height=(TOP + HEIGHT + BOTTOM) overflow="visible"
                role="group" aria-labelledby={ (id) "-t" } {
                text.axis x=(-LEFT) y="12" { (Text(&format!("{}{unit}{scale}", chart.metric))) }
                svg y=(TOP) width="100%" height=(HEIGHT) overflow="visible" {
                    (self.mesh())
                    svg viewBox={ "0 0 100 " (HEIGHT) } preserveAspectRatio="none" width="100%" height=(HEIGHT) overflow="visible" {
                        @for line in &chart.lines { (self.path(line)) }
                    }
                    @for mark in &chart.marks {
                        g.mark role="img" {
                            title { (Text(&mark.text)) }
                            line x1={ (At(self.px(mark.at))) "%" } x2={ (At(self.px(mark.at))) "%" } y2=(HEIGHT) {}
                        }
                    }
                    @for line in &chart.lines { (self.points(line)) }
                    @if chart.lines.len() > 1 && self.room.is_some() { (self.names()) }
                    text.axis x="100%" y=(HEIGHT + 36.0) text-anchor="end" { (Text(&chart.x.title)) }
                }
            }
        }
    }

    fn mesh(&self) -> Markup {
        let values = self.y.ticks(Y_TICKS);
        html! {
            @for value in values {
                line.tick x2="100%" y1=(At(self.py(value))) y2=(At(self.py(value))) {}
                text.axis x="-8" y=(At(self.py(value) + 4.0)) text-anchor="end" { (tick(value, &self.chart.unit)) }
            }
            line.base x2="100%" y1=(HEIGHT) y2=(HEIGHT) {}
            @for (at, text, class) in self.x_labels() {
                text class={ "axis" (class) } x={ (At(at)) "%" } y=(HEIGHT + 18.0) text-anchor="middle" { (Text(&text)) }
            }
        }
    }

    /// Labels of x: position, text, and a class for those that only a wide page has room for.
    fn x_labels(&self) -> Vec<(f64, String, &'static str)> {
        let axis = &self.chart.x;
        let named: Vec<(f64, String)> = match axis.named.is_empty() {
            true => {
                self.x.ticks(6).into_iter().map(|value| (value, tick(value, &axis.unit))).collect()
            }
            false => axis.named.clone(),
        };
        let mut labels: Vec<(f64, String)> =
            named.into_iter().map(|(value, text)| (self.px(value), text)).collect();
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut free = [f64::MIN; 2];
        let mut placed = Vec::new();
        for (at, text) in labels {
            let half = text.chars().count() as f64 * LETTER / 2.0;
            let mut fits = [NARROW, ORDINARY].into_iter().zip(&mut free).map(|(width, free)| {
                let at = at / 100.0 * width;
                let fits = at - half >= *free;
                if fits {
                    *free = at + half + LETTER;
                }
                fits
            });
            match (fits.next(), fits.next()) {
                (Some(true), _) => placed.push((at, text, "")),
                (_, Some(true)) => placed.push((at, text, " wide")),
                _ => {}
            }
        }
        placed
    }

    /// The line with a band between the ends of its intervals, in a drawing that is stretched to the width of the plot.
    fn path(&self, line: &Line) -> Markup {
        let place = |x: f64, y: f64| {
            format!(
                "{} {}",
                html! { (At(self.px(x))) }.into_string(),
                html! { (At(self.py(y))) }.into_string()
            )
        };
        let outline = |places: Vec<String>| format!("M{}", places.join("L"));
        let points = &line.points;
        let there = points.iter().map(|point| place(point.x, point.high));
        let back = points.iter().rev().map(|point| place(point.x, point.low));
        html! {
            g class=(class(line.look)) {
                @if points.len() > 1 { path.band d={ (outline(there.chain(back).collect())) "Z" } {} }
                path.line d=(outline(points.iter().map(|point| place(point.x, point.y)).collect())) {}
            }
        }
    }

    fn points(&self, line: &Line) -> Markup {
        html! {
            g class={ "s " (class(line.look)) } {
                // Hundreds of points would cover each other and the band.
                @let radius = if line.points.len() > 100 { "2" } else { "4" };
                @for point in &line.points {
                    @let x = self.px(point.x);
                    @if line.points.len() == 1 && point.low < point.high {
                        line.whisker x1={ (At(x)) "%" } x2={ (At(x)) "%" } y1=(At(self.py(point.low))) y2=(At(self.py(point.high))) {}
                    }
                    @if !point.text.is_empty() { circle.p cx={ (At(x)) "%" } cy=(At(self.py(point.y))) r=(radius) data-v=(Values(&[point.x, point.y, point.low, point.high])) {
                        title { (Text(&point.text)) }
                    } }
                }
            }
        }
    }

    /// The names of lines beside their ends, moved apart.
    fn names(&self) -> Markup {
        let end = |line: &Line| line.points.last().map_or(0.0, |point| self.py(point.y));
        let mut order: Vec<(f64, &Line)> =
            self.chart.lines.iter().map(|line| (end(line), line)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut places: Vec<f64> = Vec::new();
        for (end, _) in &order {
            let free = places.last().map_or(f64::MIN, |last| last + NAME);
            places.push(end.max(free));
        }
        // If the last name is too low, it pushes those above it up.
        let mut lowest = HEIGHT;
        for place in places.iter_mut().rev() {
            *place = place.min(lowest);
            lowest = *place - NAME;
        }
        html! {
            svg.names x="100%" overflow="visible" {
                @for ((end, line), place) in order.iter().zip(places) {
                    g class=(class(line.look)) {
                        path.lead d={ "M6 " (At(*end)) "L18 " (At(place)) } {}
                        text x="22" y=(At(place + 4.0)) { (Text(&line.name)) }
                    }
                }
            }
        }
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

#[cfg(test)]
mod tests {
    use super::super::{Chart, Drawing};
    use super::*;

    fn chart() -> Chart {
        let point = |x: f64, y: f64| LinePoint {
            x,
            y,
            low: y * 0.9,
            high: y * 1.1,
            text: format!("{y} at {x}"),
            point: None,
        };
        let points = vec![point(1.0, 10.0), point(2.0, 30.0), point(4.0, 900.0)];
        let lines = ["spin", "futex"].map(|name| Line {
            name: name.into(),
            look: 0,
            points: points.clone(),
        });
        let x = XAxis { title: "workers".into(), ..XAxis::default() };
        let (metric, unit, lines) = ("time".into(), "ns/op".into(), lines.into());
        let lines = Lines { x, metric, unit, lines, ..Lines::default() };
        Chart::new("c1".into(), "Time by workers", Drawing::Lines(lines))
    }

    #[test]
    fn a_chart_has_its_points_with_their_values_and_its_lines_with_their_names() {
        let text = chart().figure().into_string();
        assert_eq!(text.matches("class=\"p\"").count(), 6);
        for part in [
            "data-v=\"4 900 810 990\"",
            "<title>30 at 2</title>",
            "class=\"band\"",
            "class=\"lead\"",
            "time, logarithmic",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn a_chart_without_points_is_left_out() {
        let mut chart = chart();
        let [x, y, low, high] = [f64::NAN; 4];
        let unknown = LinePoint { x, y, low, high, ..LinePoint::default() };
        for points in [vec![], vec![unknown]] {
            let lines = vec![Line { points, ..Line::default() }];
            chart.drawing = Drawing::Lines(Lines { lines, ..Lines::default() });
            assert_eq!(chart.figure().into_string(), "");
        }
    }

    #[test]
    fn a_file_is_complete() {
        let text = chart().standalone().unwrap();
        assert!(text.starts_with("<svg xmlns=") && text.ends_with("</svg>\n"), "{text}");
        assert!(text.contains("<style>") && text.contains("</style>"), "{text}");
    }
}
