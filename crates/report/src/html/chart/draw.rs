//! Draws charts as SVG: elements with classes, which the page's style colours, and with the values of points as attributes, which
//! its script and tests read.

use std::fmt::Write;

use maud::{Markup, PreEscaped, Render, html};

use super::scale::{Extent, Scale, ScaleKind};
use super::shape::{Axis, Chart, ChartPoint, LOOKS, Mark, Series, Shade, Ticks};
use crate::html::text::{Text, path, shortened, visible};
use crate::quantity::figure;

/// Sizes in units of the drawing; text is 12 units high.
const NARROW: f64 = 480.0;
const WIDE: f64 = 720.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 18.0;
const BOTTOM: f64 = 44.0;
const TOP: f64 = 12.0;
const ROW: f64 = 18.0;
/// Height of each further line of points in a row.
const SUBROW: f64 = 9.0;
/// Maximum width of the names of rows, and the gap between them and the axis.
const NAMES: f64 = 280.0;
const NAMES_GAP: f64 = 12.0;
/// Width of a character in a row's name, and in a label of an axis.
const CHARACTER: f64 = 7.4;
/// Maximum number of labels of an axis.
const X_TICKS: usize = 7;
const Y_TICKS: usize = 6;

/// Outlines of the markers of lines, around the origin.
const MARKERS: [&str; LOOKS] = [
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
    "M-3.2 -3.2h6.4v6.4h-6.4z",
    "M0 -4.6L4.6 0L0 4.6L-4.6 0z",
    "M0 -4.4L4.2 3.4H-4.2z",
    "M0 4.4L4.2 -3.4H-4.2z",
    "M-4 -1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z",
    "M-4 -2L-2 -4L0 -2L2 -4L4 -2L2 0L4 2L2 4L0 2L-2 4L-4 2L-2 0z",
    "M-4.4 -1.8h8.8v3.6h-8.8z",
];

/// Classes of a line: its colour, and whether it is dashed.
pub(super) fn class(look: usize) -> String {
    match look / LOOKS {
        0 => format!("s{}", look % LOOKS),
        _ => format!("s{} dashed", look % LOOKS),
    }
}

/// Marker of a line in a legend.
pub(super) fn key(look: usize) -> Markup {
    html! {
        svg.key aria-hidden="true" { use href={ "#k" (look % LOOKS) } {} }
    }
}

/// Shapes of markers, to which the points of all charts of a page refer.
pub(in crate::html) fn markers() -> Markup {
    html! {
        svg.markers width="0" height="0" aria-hidden="true" {
            (definitions())
            @for look in 0..LOOKS { symbol id={ "k" (look) } viewBox="-8 -6 16 12" {
                path.line d="M-8 0H8" {}
                use.dot href={ "#m" (look) } {}
            } }
        }
    }
}

fn definitions() -> Markup {
    html! {
        defs { @for (at, shape) in MARKERS.iter().enumerate() { path id={ "m" (at) } d=(shape) {} } }
    }
}

/// A value with seven significant digits, in the notation of scripts: further digits would be invisible.
fn rounded(value: f64) -> String {
    match value.is_infinite() {
        true if value > 0.0 => "Infinity".to_owned(),
        true => "-Infinity".to_owned(),
        false => format!("{value:.6e}").parse::<f64>().unwrap_or(value).to_string(),
    }
}

/// A number with at most one decimal.
struct Coordinate(f64);

impl Render for Coordinate {
    fn render_to(&self, buffer: &mut String) {
        let text = format!("{:.1}", self.0);
        buffer.push_str(text.strip_suffix(".0").unwrap_or(&text));
    }
}

fn place(value: f64) -> String {
    let mut text = String::new();
    Coordinate(value).render_to(&mut text);
    text
}

/// Rectangle in which points lie.
#[derive(Debug, Clone, Copy)]
struct PlotArea {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// An axis with its scales; the page first shows the first one.
struct Scaled<'c> {
    axis: &'c Axis,
    scales: Vec<(ScaleKind, Scale)>,
}

impl<'c> Scaled<'c> {
    fn of(axis: &'c Axis, extent: Extent) -> Scaled<'c> {
        let kind = match axis.kind {
            Some(ScaleKind::Logarithmic) if !extent.has_logarithm() => ScaleKind::Linear,
            Some(kind) => kind,
            None => extent.best(),
        };
        let other = match kind {
            ScaleKind::Linear => ScaleKind::Logarithmic,
            ScaleKind::Logarithmic => ScaleKind::Linear,
        };
        let kinds = std::iter::once(kind).chain(axis.has_choice(extent).then_some(other));
        let scale = |kind| (kind, Scale::of(extent, kind, !axis.floats && !axis.has_rows()));
        Scaled { axis, scales: kinds.map(scale).collect() }
    }

    /// The position of a value on the first scale.
    fn at(&self, value: f64) -> f64 {
        self.scales[0].1.at(value)
    }

    /// Labels on a scale: position and text.
    fn ticks(&self, scale: &Scale, most: usize) -> Vec<(f64, String)> {
        match &self.axis.ticks {
            Ticks::Round => {
                let ticks = scale.ticks(most).into_iter();
                ticks.map(|v| (scale.at(v), figure(v, 0.0, &self.axis.unit).to_string())).collect()
            }
            Ticks::Named(named) => {
                named.iter().map(|(v, name)| (scale.at(*v), name.clone())).collect()
            }
            Ticks::Rows(_) => Vec::new(),
        }
    }

    /// Ends of the axis's scales for the script: `log 1 100 lin 0 104`.
    fn ends(&self) -> String {
        let end = |(kind, scale): &(ScaleKind, Scale)| {
            format!("{} {} {}", kind.word(), scale.low, scale.high)
        };
        self.scales.iter().map(end).collect::<Vec<_>>().join(" ")
    }
}

/// A chart with its scales and sizes.
struct Drawing<'c> {
    chart: &'c Chart,
    x: Scaled<'c>,
    y: Scaled<'c>,
    area: PlotArea,
    size: (f64, f64),
    subrows: usize,
}

/// The chart as SVG without title and legend; `None` if no point can be drawn.
pub(super) fn svg(chart: &Chart) -> Option<Markup> {
    let drawing = Drawing::of(chart)?;
    let (width, height) = drawing.size;
    let PlotArea { left, right, top, bottom } = drawing.area;
    let place = [left, right, top, bottom].map(place).join(" ");
    Some(html! {
        svg viewBox={ "0 0 " (Coordinate(width)) " " (Coordinate(height)) } role="group"
            aria-labelledby={ (chart.id) "-t" } data-area=(place)
            data-x=(drawing.x.ends()) data-y=(drawing.y.ends()) data-rows[chart.has_rows()] {
            (drawing.inner())
        }
    })
}

/// The chart as an SVG file, with title and legend; `None` if no point can be drawn.
pub(in crate::html) fn standalone(chart: &Chart, style: &str) -> Option<String> {
    const LINE: f64 = 18.0;
    let drawing = Drawing::of(chart)?;
    let (width, height) = drawing.size;
    let named = if chart.lines.len() > 1 { &chart.lines[..] } else { &[] };
    // Approximate number of characters at which long titles and notes are wrapped.
    let letters = (width / CHARACTER) as usize;
    let lines = |text: &str| -> Vec<String> {
        crate::text::hanging("", text, letters).lines().map(str::to_owned).collect()
    };
    let titles = lines(&visible(&chart.title));
    let notes: Vec<String> = chart.notes.iter().flat_map(|note| lines(&visible(note))).collect();
    let head = LINE * titles.len() as f64 + 8.0;
    let tail = head + height;
    let total = tail + LINE * (named.len() + notes.len()) as f64 + 8.0;
    let row = |at: usize| LINE * at as f64 + 12.0;
    let markup = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (Coordinate(width)) " " (Coordinate(total)) }
            width=(Coordinate(width)) height=(Coordinate(total)) class="file" {
            title { (Text(&chart.title)) }
            style { (PreEscaped(style)) }
            (definitions())
            rect.paper width="100%" height="100%" {}
            @for (at, line) in titles.iter().enumerate() {
                text.head x="4" y=(Coordinate(row(at) + 2.0)) { (Text(line)) }
            }
            g transform={ "translate(0 " (Coordinate(head)) ")" } { (drawing.inner()) }
            @for (at, line) in named.iter().enumerate() {
                g class=(class(line.look)) transform={ "translate(20 " (Coordinate(tail + row(at))) ")" } {
                    path.line d="M-8 0H8" {}
                    use.dot href={ "#m" (line.look % LOOKS) } {}
                    text x="16" dy="4" { (Text(&shortened(&line.name, letters))) }
                }
            }
            @for (at, note) in notes.iter().enumerate() {
                text.note x="4" y=(Coordinate(tail + row(named.len() + at) + 4.0)) { (Text(note)) }
            }
        }
    };
    Some(markup.into_string() + "\n")
}

impl<'c> Drawing<'c> {
    fn of(chart: &'c Chart) -> Option<Drawing<'c>> {
        if chart.points() == 0 {
            return None;
        }
        let (x, y) =
            (Scaled::of(&chart.x, chart.x_extent()?), Scaled::of(&chart.y, chart.y_extent()?));
        let subrows = chart.lines.len();
        let (size, area) = match &chart.y.ticks {
            Ticks::Rows(rows) => {
                let row = ROW + SUBROW * (subrows - 1) as f64;
                let height = TOP + row * rows.len() as f64;
                let longest = rows.iter().map(|name| name.chars().count()).max().unwrap_or(0);
                let left = (longest as f64 * CHARACTER + NAMES_GAP).clamp(LEFT, NAMES);
                let area = PlotArea { left, right: WIDE - RIGHT, top: TOP, bottom: height };
                ((WIDE, height + BOTTOM), area)
            }
            _ => {
                let area = PlotArea {
                    left: LEFT,
                    right: NARROW - RIGHT,
                    top: TOP,
                    bottom: HEIGHT - BOTTOM,
                };
                ((NARROW, HEIGHT), area)
            }
        };
        Some(Drawing { chart, x, y, area, size, subrows })
    }

    fn px(&self, x: f64) -> f64 {
        self.area.left + self.x.at(x) * (self.area.right - self.area.left)
    }

    /// Position of y: rows are numbered from the top, figures grow from the bottom.
    fn py(&self, y: f64) -> f64 {
        let PlotArea { top, bottom, .. } = self.area;
        match self.chart.has_rows() {
            true => top + (y + 0.5) / self.rows() as f64 * (bottom - top),
            false => bottom - self.y.at(y) * (bottom - top),
        }
    }

    fn rows(&self) -> usize {
        match &self.chart.y.ticks {
            Ticks::Rows(rows) => rows.len().max(1),
            _ => 1,
        }
    }

    fn inner(&self) -> Markup {
        let PlotArea { left, right, top, bottom } = self.area;
        html! {
            @for shade in &self.chart.shades { (self.shade(shade)) }
            @for (at, (kind, scale)) in self.x.scales.iter().enumerate() {
                (self.x_mesh(*kind, scale, at > 0))
            }
            @for (at, (kind, scale)) in self.y.scales.iter().enumerate() {
                (self.y_mesh(*kind, scale, at > 0))
            }
            (path("frame", &format!("M{} {}V{}H{}", place(left), place(top), place(bottom), place(right))))
            text.axis x=(Coordinate((left + right) / 2.0)) y=(Coordinate(self.size.1 - 8.0)) {
                (Text(&self.chart.x.title))
            }
            @if !self.chart.has_rows() {
                text.axis transform={ "translate(12 " (Coordinate((top + bottom) / 2.0)) ") rotate(-90)" } {
                    (Text(&self.chart.y.title))
                }
            }
            (self.names())
            @if let Some(at) = self.chart.reference {
                path.ref data-at=(at) d={ "M" (Coordinate(self.px(at))) " " (Coordinate(top)) "V" (Coordinate(bottom)) } {}
            }
            @for mark in &self.chart.marks { (self.mark(mark)) }
            @for (at, line) in self.chart.lines.iter().enumerate() { (self.line(at, line)) }
        }
    }

    fn x_mesh(&self, kind: ScaleKind, scale: &Scale, hidden: bool) -> Markup {
        let PlotArea { left, right, top, bottom } = self.area;
        let mut free_from = f64::MIN;
        let mut mesh = String::new();
        let mut labels: Vec<(f64, String)> = Vec::new();
        let mut ticks = self.x.ticks(scale, X_TICKS);
        ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (at, text) in ticks {
            let at = left + at * (right - left);
            let _ = write!(mesh, "M{} {}V{}", place(at), place(top), place(bottom));
            let half = text.chars().count() as f64 * CHARACTER / 2.0;
            if at - half >= free_from && at + half <= self.size.0 {
                free_from = at + half + CHARACTER;
                labels.push((at, text));
            }
        }
        html! {
            g.mesh.x data-kind=(kind.word()) display=[hidden.then_some("none")] {
                path d=(mesh) {}
                @for (at, text) in &labels {
                    text x=(Coordinate(*at)) y=(Coordinate(bottom + 16.0)) { (Text(text)) }
                }
            }
        }
    }

    fn y_mesh(&self, kind: ScaleKind, scale: &Scale, hidden: bool) -> Markup {
        let PlotArea { left, right, top, bottom } = self.area;
        let mut mesh = String::new();
        let mut labels: Vec<(f64, String)> = Vec::new();
        for (at, text) in self.y.ticks(scale, Y_TICKS) {
            let at = bottom - at * (bottom - top);
            let _ = write!(mesh, "M{} {}H{}", place(left), place(at), place(right));
            if labels.iter().all(|(other, _)| (other - at).abs() > 12.0) {
                labels.push((at, text));
            }
        }
        if let Ticks::Rows(rows) = &self.chart.y.ticks {
            for row in 0..rows.len() {
                let at = self.py(row as f64);
                let _ = write!(mesh, "M{} {}H{}", place(left), place(at), place(right));
            }
        }
        html! {
            g.mesh.y data-kind=(kind.word()) display=[hidden.then_some("none")] {
                path d=(mesh) {}
                @for (at, text) in &labels {
                    text x=(Coordinate(left - 6.0)) y=(Coordinate(at + 4.0)) { (Text(text)) }
                }
            }
        }
    }

    /// The names of the rows.
    fn names(&self) -> Markup {
        let Ticks::Rows(rows) = &self.chart.y.ticks else { return html! {} };
        let left = self.area.left;
        let most = ((NAMES - NAMES_GAP) / CHARACTER) as usize;
        html! {
            @for (at, name) in rows.iter().enumerate() {
                text.name x=(Coordinate(left - 8.0)) y=(Coordinate(self.py(at as f64) + 4.0)) {
                    (Text(&shortened(&visible(name), most)))
                }
            }
        }
    }

    fn shade(&self, shade: &Shade) -> Markup {
        let (low, high) = (self.px(shade.low), self.px(shade.high));
        let height = (self.area.bottom - self.area.top) / self.rows() as f64;
        html! {
            rect.shade data-low=(shade.low) data-high=(shade.high) x=(Coordinate(low)) width=(Coordinate(high - low))
                y=(Coordinate(self.py(shade.row as f64) - height / 2.0)) height=(Coordinate(height)) {}
        }
    }

    fn mark(&self, mark: &Mark) -> Markup {
        let PlotArea { top, bottom, .. } = self.area;
        let [at, low, high] = [mark.at, mark.low, mark.high].map(|x| self.px(x));
        html! {
            g.mark role="img" data-at=(mark.at) data-low=(mark.low) data-high=(mark.high) {
                title { (Text(&mark.text)) }
                rect x=(Coordinate(low)) width=(Coordinate((high - low).max(1.0))) y=(Coordinate(top)) height=(Coordinate(bottom - top)) {}
                path d={ "M" (Coordinate(at)) " " (Coordinate(top)) "V" (Coordinate(bottom)) } {}
            }
        }
    }

    fn line(&self, at: usize, line: &Series) -> Markup {
        // Lines with a point in the same row are drawn below each other.
        let shift = match self.chart.has_rows() {
            true => SUBROW * (at as f64 - (self.subrows - 1) as f64 / 2.0),
            false => 0.0,
        };
        html! {
            g class={ "s " (class(line.look)) @if self.chart.bars { " bars" } } data-shift=[(shift != 0.0).then_some(shift)] {
                @if line.joined && line.points.len() > 1 {
                    (path("band", &self.band(line)))
                    (path("line", &self.path(line)))
                }
                @for point in &line.points { (self.point(line.look, shift, point)) }
            }
        }
    }

    fn path(&self, line: &Series) -> String {
        let places =
            line.points.iter().map(|p| format!("{} {}", place(self.px(p.x)), place(self.py(p.y))));
        format!("M{}", places.collect::<Vec<_>>().join("L"))
    }

    fn band(&self, line: &Series) -> String {
        let there = line.points.iter().map(|p| (p.x, p.high));
        let back = line.points.iter().rev().map(|p| (p.x, p.low));
        let places =
            there.chain(back).map(|(x, y)| format!("{} {}", place(self.px(x)), place(self.py(y))));
        format!("M{}Z", places.collect::<Vec<_>>().join("L"))
    }

    /// Draws a point. A page has thousands of points, so attributes that all share are in the style and in `<defs>`.
    fn point(&self, look: usize, shift: f64, point: &ChartPoint) -> Markup {
        let (x, y) = (self.px(point.x), self.py(point.y) + shift);
        let ends = point.low != point.high || self.chart.bars;
        let whisker = match self.chart.has_rows() {
            true => {
                let [low, high] = [point.low, point.high].map(|value| self.px(value) - x);
                // The shortest bar is drawn at least one unit wide, so that it is visible.
                let high = if self.chart.bars { high.max(low + 1.0) } else { high };
                format!("M{} 0H{}", place(low), place(high))
            }
            false => {
                let [low, high] = [point.low, point.high].map(|value| self.py(value) - y);
                format!("M0 {}V{}", place(low), place(high))
            }
        };
        let mut values = format!("{} {}", rounded(point.x), rounded(point.y));
        let mut shapes = String::new();
        if ends {
            let _ = write!(values, " {} {}", rounded(point.low), rounded(point.high));
            let _ = write!(shapes, "<path d=\"{whisker}\"/>");
        }
        if !self.chart.bars {
            let _ = write!(shapes, "<use href=\"#m{}\"/>", look % LOOKS);
        }
        html! {
            g.p transform={ "translate(" (Coordinate(x)) " " (Coordinate(y)) ")" } data-v=(values) {
                title { (Text(&point.text)) }
                (PreEscaped(shapes))
            }
        }
    }
}

impl Chart {
    /// The figure with its caption, legend and notes; empty if no point can be drawn.
    pub(in crate::html) fn figure(&self) -> Markup {
        let Some(svg) = svg(self) else { return html! {} };
        let wide = if self.has_rows() { "chart wide" } else { "chart" };
        html! {
            figure class=(wide) id=(self.id) {
                figcaption id={ (self.id) "-t" } { (Text(&self.title)) }
                @if self.has_rows() {
                    div.plot role="group" tabindex="0" aria-labelledby={ (self.id) "-t" } { (svg) }
                } @else { div.plot { (svg) } }
                @if self.lines.len() > 1 {
                    ul.legend { @for line in &self.lines {
                        li class=(class(line.look)) { (key(line.look)) (Text(&line.name)) }
                    } }
                }
                @if !self.notes.is_empty() {
                    div.notes { @for note in &self.notes { p { (Text(note)) } } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let point = |x: f64, y: f64| ChartPoint {
            x,
            y,
            low: y * 0.9,
            high: y * 1.1,
            text: format!("{y} at {x}"),
            point: None,
        };
        let points = vec![point(1.0, 10.0), point(2.0, 30.0), point(4.0, 900.0)];
        Chart {
            id: "c1".into(),
            title: "Time by workers".into(),
            x: Axis { title: "workers".into(), ..Axis::default() },
            y: Axis::figures("time", "ns/op"),
            lines: vec![Series { name: "spin".into(), look: 0, points, joined: true }],
            ..Chart::default()
        }
    }

    #[test]
    fn a_chart_has_its_points_with_their_values() {
        let text = chart().figure().into_string();
        assert_eq!(text.matches("class=\"p\"").count(), 3);
        for part in
            ["data-v=\"4 900 810 990\"", "<title>30 at 2</title>", "class=\"band\"", "data-y=\"log"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("legend"), "one line needs none: {text}");
    }

    #[test]
    fn a_chart_without_points_is_left_out() {
        let nothing = Chart { lines: vec![Series::default()], ..chart() };
        assert_eq!(nothing.figure().into_string(), "");
        let unknown = ChartPoint {
            x: f64::NAN,
            y: f64::NAN,
            low: f64::NAN,
            high: f64::NAN,
            ..ChartPoint::default()
        };
        let unknown = vec![Series { points: vec![unknown], ..Series::default() }];
        assert_eq!(Chart { lines: unknown, ..chart() }.figure().into_string(), "");
    }

    #[test]
    fn a_file_is_complete() {
        let text = standalone(&chart(), "text{fill:#000}").unwrap();
        assert!(text.starts_with("<svg xmlns=") && text.ends_with("</svg>\n"), "{text}");
        assert!(text.contains("<style>text{fill:#000}</style>"), "{text}");
    }
}
