//! Bars with their figures: a choice, the most favourable first, or ratios around 1.

use std::fmt::Write;

use maud::{Markup, PreEscaped, Render, html};
use results::PointKey;

use super::scale::{Extent, Scale, ScaleKind};
use super::writing::{At, FILE_WIDTH, Values, class, tick};
use crate::html::text::{Text, path, visible};

/// Factor beyond which ratios are drawn at the edge.
const FARTHEST: f64 = 16.0;

/// Factors that an axis of ratios may end at and label.
const FACTORS: [f64; 12] = [1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 16.0];

/// Coordinates of a row's drawing, which is stretched to the width of the chart and 18 pixels high.
const BOX: &str = "0 0 100 18";

/// What the length of a bar means.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::html) enum BarScale {
    /// An amount of this unit, from zero; on a logarithmic scale, bars are lines with a dot at the end.
    Amount(String),
    /// A ratio: bars begin at 1 in the middle.
    #[default]
    Ratio,
}

/// A chart of bars.
#[derive(Debug, Clone, Default)]
pub(in crate::html) struct Bars {
    pub scale: BarScale,
    pub rows: Vec<Bar>,
}

/// A bar with its label and figure.
#[derive(Debug, Clone, Default)]
pub(in crate::html) struct Bar {
    /// Title of the bars that begin here.
    pub heading: Option<String>,
    pub label: String,
    /// Colour: an index, see [`class`].
    pub look: usize,
    pub value: f64,
    /// Ends of the interval; equal to the value if it is unknown.
    pub low: f64,
    pub high: f64,
    /// The figure as text.
    pub figure: String,
    /// The interval as text, or the number of rounds if there are too few for an interval.
    pub interval: String,
    /// Further words: a verdict, or how far the bar is behind the best one.
    pub remark: String,
    /// Whether the figure has too few rounds for an interval.
    pub is_open: bool,
    /// Factor around 1 within which a ratio means nothing.
    pub floor: f64,
    /// Identifier of the point's row in the table of all figures.
    pub row: Option<String>,
    /// The measured point.
    pub point: Option<PointKey>,
}

impl Bars {
    fn is_ratio(&self) -> bool {
        self.scale == BarScale::Ratio
    }

    fn extent(&self) -> Option<Scale> {
        let values = self.rows.iter().flat_map(|bar| [bar.value, bar.low, bar.high]);
        if self.is_ratio() {
            // Wide intervals are cut at the edge, so that the ratios themselves remain visible.
            let distance = |value: f64| if value > 0.0 { value.ln().abs() } else { 0.0 };
            let ends = values.map(distance).fold(0.0, f64::max);
            let ratios = self.rows.iter().map(|bar| distance(bar.value)).fold(0.0, f64::max);
            let far = ends.min((1.6 * ratios).max(0.2)).exp().clamp(FACTORS[0], FARTHEST);
            let far = FACTORS
                .into_iter()
                .find(|factor| *factor >= far * (1.0 - 1e-9))
                .unwrap_or(FARTHEST);
            return Some(Scale::between(1.0 / far, far, ScaleKind::Logarithmic));
        }
        let Extent { low, high } = Extent::of(values)?;
        let kind = Extent::of(self.rows.iter().map(|bar| bar.value))?.best();
        match kind {
            ScaleKind::Logarithmic if low > 0.0 => {
                let low = 10f64.powf((low * 0.8).log10().floor());
                Some(Scale::between(low, high * 1.02, kind))
            }
            _ => Some(Scale::between(low.min(0.0), high.max(1e-12) * 1.02, ScaleKind::Linear)),
        }
    }

    /// Rows of label, figure and bar, and an axis if lengths are not proportional to figures.
    pub(in crate::html) fn draw(&self) -> Option<Markup> {
        let scale = self.extent()?;
        Some(html! {
            div class={ "rows" @if self.is_ratio() { " ratio" } } {
                @for bar in &self.rows {
                    @if let Some(heading) = &bar.heading { div.group { (Text(heading)) } }
                    div.label {
                        @match &bar.row {
                            Some(id) => a href={ "#" (id) } { (Text(&bar.label)) },
                            None => (Text(&bar.label)),
                        }
                    }
                    div.value {
                        strong { (Text(&bar.figure)) }
                        @if !bar.interval.is_empty() { " " span.interval { (Text(&bar.interval)) } }
                        @if !bar.remark.is_empty() { " " span.remark { (Text(&bar.remark)) } }
                    }
                    svg class={ "bar " (class(bar.look)) @if bar.is_open { " open" } } viewBox=(BOX) preserveAspectRatio="none" aria-hidden="true"
                        data-v=(Values(&[bar.value, bar.low, bar.high])) { (self.shape(bar, &scale)) }
                }
                @if self.has_axis(&scale) {
                    svg.mesh viewBox=(BOX) preserveAspectRatio="none" aria-hidden="true" { (self.mesh(&scale)) }
                    svg.bar.axis aria-hidden="true" { (self.axis(&scale)) }
                }
            }
            @if let Some(note) = self.scale_note(&scale) { p.note { (note) } }
        })
    }

    /// What the reader must know of the scale: that it is logarithmic, and that some intervals go on beyond its ends.
    fn scale_note(&self, scale: &Scale) -> Option<&'static str> {
        let goes_on = |bar: &Bar| {
            bar.low < bar.high && !(scale.contains(bar.low) && scale.contains(bar.high))
        };
        match (scale.is_logarithmic() && !self.is_ratio(), self.rows.iter().any(goes_on)) {
            (true, true) => Some("Logarithmic scale; an arrow: the interval goes on."),
            (true, false) => Some("Logarithmic scale."),
            (false, true) => Some("An arrow: the interval goes on."),
            (false, false) => None,
        }
    }

    /// Drawing of a bar in a box that is stretched to the width of the chart.
    fn shape(&self, bar: &Bar, scale: &Scale) -> PreEscaped<String> {
        let at = |value: f64| At(100.0 * scale.at(value)).render().into_string();
        let (from, to) = (100.0 * scale.at(self.origin(scale)), 100.0 * scale.at(bar.value));
        let (left, right) = (from.min(to), from.max(to).max(from.min(to) + 0.2));
        let mut shape = String::new();
        if self.is_ratio() && bar.floor > 0.0 {
            let (low, high) = (at(1.0 / (1.0 + bar.floor)), at(1.0 + bar.floor));
            let _ = write!(shape, "<path class=\"floor\" d=\"M{low} 0H{high}V18H{low}z\"/>");
        }
        let [left, right, to] = [left, right, to].map(|at| At(at).render().into_string());
        if scale.is_logarithmic() && !self.is_ratio() {
            let _ = write!(
                shape,
                "<path class=\"stem\" d=\"M{left} 9H{right}\"/><path class=\"dot\" d=\"M{to} 9h0\"/>"
            );
        } else {
            let _ = write!(shape, "<path class=\"fill\" d=\"M{left} 2H{right}V16H{left}z\"/>");
        }
        if bar.low < bar.high {
            let (low, high) = (at(bar.low), at(bar.high));
            // A cap is the end of the interval; an arrow says that the interval goes on.
            let end = |value: f64, at: &str, inwards: &str| match scale.contains(value) {
                true => format!("M{at} 5v8"),
                false => format!("M{at} 9l{inwards} -4M{at} 9l{inwards} 4"),
            };
            let (left, right) = (end(bar.low, &low, "1.2"), end(bar.high, &high, "-1.2"));
            let _ = write!(shape, "<path class=\"whisker\" d=\"M{low} 9H{high}{left}{right}\"/>");
        }
        PreEscaped(shape)
    }

    /// Vertical lines of the axis through all rows.
    fn mesh(&self, scale: &Scale) -> PreEscaped<String> {
        let place = |(share, _): &(f64, String)| {
            format!("M{} 0V18", At(100.0 * share).render().into_string())
        };
        let lines: String = self.ticks(scale).iter().map(place).collect();
        path("tick", &lines)
    }

    fn has_axis(&self, scale: &Scale) -> bool {
        self.is_ratio() || scale.is_logarithmic()
    }

    /// Where bars begin.
    fn origin(&self, scale: &Scale) -> f64 {
        match (self.is_ratio(), scale.is_logarithmic()) {
            (true, _) => 1.0,
            (false, true) => f64::MIN_POSITIVE,
            (false, false) => 0.0,
        }
    }

    fn ticks(&self, scale: &Scale) -> Vec<(f64, String)> {
        match &self.scale {
            BarScale::Amount(unit) => {
                let ticks = scale.ticks(4).into_iter();
                ticks.map(|value| (scale.at(value), tick(value, unit))).collect()
            }
            BarScale::Ratio => {
                let end =
                    FACTORS.into_iter().rfind(|f| scale.at(*f) < 1.0 || scale.at(*f / 1.001) < 1.0);
                let end = end.unwrap_or(FARTHEST);
                vec![
                    (scale.at(1.0 / end), figure_of_ratio(1.0 / end)),
                    (0.5, "1".to_owned()),
                    (scale.at(end), figure_of_ratio(end)),
                ]
            }
        }
    }

    fn axis(&self, scale: &Scale) -> Markup {
        let anchor = |share: f64| match share {
            share if share < 0.1 => "start",
            share if share > 0.9 => "end",
            _ => "middle",
        };
        html! {
            @for (share, text) in self.ticks(scale) {
                text x={ (At(100.0 * share)) "%" } y="13" text-anchor=(anchor(share)) { (text) }
            }
        }
    }

    /// The rows as part of an SVG file, their height, and further lines.
    pub(super) fn file(&self) -> Option<(Markup, usize, Vec<String>)> {
        const ROW: usize = 24;
        const LABELS: usize = 330;
        const VALUES: usize = 190;
        let scale = self.extent()?;
        let mut lines: Vec<(Option<&Bar>, &str)> = Vec::new();
        for bar in &self.rows {
            lines.extend(bar.heading.as_deref().map(|heading| (None, heading)));
            lines.push((Some(bar), &bar.label));
        }
        let width = FILE_WIDTH - LABELS - VALUES;
        let drawn = html! {
            @for (at, (bar, label)) in lines.iter().enumerate() {
                text.name x=(LABELS - 12) y=(ROW * at + 13) { (Text(&visible(label))) }
                @if let Some(bar) = bar {
                    svg x=(LABELS) y=(ROW * at) width=(width) height="18" class=(class(bar.look)) viewBox=(BOX) preserveAspectRatio="none" { (self.shape(bar, &scale)) }
                    text x=(LABELS + width + 10) y=(ROW * at + 13) { (Text(&format!("{} {}", bar.figure, bar.interval))) }
                }
            }
            @if self.has_axis(&scale) { svg.axis x=(LABELS) y=(ROW * lines.len()) width=(width) height="18" { (self.axis(&scale)) } }
        };
        let notes = self.scale_note(&scale).map(str::to_owned).into_iter().collect();
        Some((drawn, ROW * (lines.len() + 1), notes))
    }
}

/// A ratio on an axis: `2`, `0.5`.
fn figure_of_ratio(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(label: &str, value: f64) -> Bar {
        Bar {
            label: label.into(),
            value,
            low: value * 0.9,
            high: value * 1.1,
            figure: format!("{value} ns"),
            ..Bar::default()
        }
    }

    #[test]
    fn figures_stand_beside_their_bars() {
        let bars = Bars {
            scale: BarScale::Amount("ns/op".into()),
            rows: vec![bar("spin", 50.0), bar("futex", 100.0)],
        };
        let text = bars.draw().unwrap().into_string();
        for part in
            ["<strong>100 ns</strong>", "data-v=\"50 45 55\"", "M0 2H89.13V16", "class=\"whisker\""]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("axis"), "lengths are proportional: {text}");
        let wide = Bars { rows: vec![bar("a", 5.0), bar("b", 5e6)], ..bars };
        let text = wide.draw().unwrap().into_string();
        assert!(text.contains("class=\"dot\"") && text.contains(">10 us<"), "{text}");
        assert!(text.contains("Logarithmic scale."), "{text}");
        assert!(Bars { rows: Vec::new(), ..wide }.draw().is_none());
    }

    #[test]
    fn ratios_begin_in_the_middle() {
        let bars = Bars {
            scale: BarScale::Ratio,
            rows: vec![bar("slower", 1.5), bar("far", f64::INFINITY)],
        };
        let text = bars.draw().unwrap().into_string();
        assert!(text.contains("d=\"M50 2H") && text.contains(">16</text>"), "{text}");
    }

    /// A cap stood at the end of the axis, as if the interval ended there.
    #[test]
    fn an_interval_beyond_the_axis_ends_in_an_arrow() {
        let wide = Bar { low: 0.5, high: 9.0, ..bar("wide", 1.1) };
        let bars = Bars { scale: BarScale::Ratio, rows: vec![wide, bar("narrow", 1.05)] };
        let text = bars.draw().unwrap().into_string();
        assert!(text.contains("H100M0 9l1.2 -4M0 9l1.2 4M100 9l-1.2 -4M100 9l-1.2 4"), "{text}");
        assert_eq!(text.matches(" 5v8").count(), 2, "the other interval has two caps: {text}");
        assert!(text.contains("An arrow: the interval goes on."), "{text}");
    }
}
