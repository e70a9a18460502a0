//! Bars with their figures: a choice, the most favourable first, or ratios around 1.

use maud::{Markup, html};
use results::PointKey;

use super::scale::{Extent, Scale, ScaleKind};
use super::{At, FILE_WIDTH, Values, class, tick};
use crate::html::text::{Text, visible};

/// Factor beyond which ratios are drawn at the edge.
const FARTHEST: f64 = 16.0;

/// Factors that an axis of ratios may end at and label.
const FACTORS: [f64; 12] = [1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 16.0];

/// Height of a row's drawing.
const HEIGHT: f64 = 18.0;

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
            let far = values.filter(|v| *v > 0.0).map(|v| v.ln().abs()).fold(0.0, f64::max).exp();
            let far = far.clamp(FACTORS[0], FARTHEST);
            let far = FACTORS.into_iter().find(|factor| *factor >= far * 0.999).unwrap_or(FARTHEST);
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
                        b { (Text(&bar.figure)) }
                        @if !bar.interval.is_empty() { " " span.interval { (Text(&bar.interval)) } }
                        @if !bar.remark.is_empty() { " " span.remark { (Text(&bar.remark)) } }
                    }
                    svg class={ "bar " (class(bar.look)) @if bar.is_open { " open" } } aria-hidden="true"
                        data-v=(Values(&[bar.value, bar.low, bar.high])) { (self.shape(bar, &scale)) }
                }
                (self.axis(&scale))
            }
        })
    }

    /// Drawing of a bar, whose positions are in percent of the width.
    fn shape(&self, bar: &Bar, scale: &Scale) -> Markup {
        let at = |value: f64| At(100.0 * scale.at(value));
        let (from, to) = (100.0 * scale.at(self.origin(scale)), 100.0 * scale.at(bar.value));
        let (left, width) = (At(from.min(to)), At((to - from).abs().max(0.2)));
        let middle = HEIGHT / 2.0;
        html! {
            @if self.is_ratio() {
                @if bar.floor > 0.0 {
                    @let (low, high) = (scale.at(1.0 / (1.0 + bar.floor)), scale.at(1.0 + bar.floor));
                    rect.floor x={ (At(100.0 * low)) "%" } width={ (At(100.0 * (high - low))) "%" } height=(HEIGHT) {}
                }
                line.one x1="50%" x2="50%" y2=(HEIGHT) {}
            }
            @if scale.is_logarithmic() && !self.is_ratio() {
                @for tick in scale.ticks(6) {
                    line.tick x1={ (at(tick)) "%" } x2={ (at(tick)) "%" } y2=(HEIGHT) {}
                }
                rect.stem x={ (left) "%" } y=(middle - 1.0) width={ (width) "%" } height="2" {}
                circle.dot cx={ (At(to)) "%" } cy=(middle) r="5" {}
            } @else {
                rect.fill x={ (left) "%" } y="2" width={ (width) "%" } height=(HEIGHT - 4.0) {}
            }
            @if bar.low < bar.high {
                line.whisker x1={ (at(bar.low)) "%" } x2={ (at(bar.high)) "%" } y1=(middle) y2=(middle) {}
                @for end in [bar.low, bar.high] {
                    line.whisker x1={ (at(end)) "%" } x2={ (at(end)) "%" } y1=(middle - 4.0) y2=(middle + 4.0) {}
                }
            }
        }
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
                let ticks = scale.ticks(6).into_iter();
                ticks.map(|value| (scale.at(value), tick(value, unit))).collect()
            }
            BarScale::Ratio => {
                let end = FACTORS.into_iter().rfind(|f| scale.at(*f) < 1.0 || scale.at(*f / 1.001) < 1.0);
                let end = end.unwrap_or(FARTHEST);
                let number = |value: f64| figure_of_ratio(value);
                vec![
                    (scale.at(1.0 / end), number(1.0 / end)),
                    (0.5, "1".to_owned()),
                    (scale.at(end), number(end)),
                ]
            }
        }
    }

    fn axis(&self, scale: &Scale) -> Markup {
        if !self.is_ratio() && !scale.is_logarithmic() {
            return html! {};
        }
        let anchor = |share: f64| match share {
            share if share < 0.1 => "start",
            share if share > 0.9 => "end",
            _ => "middle",
        };
        html! {
            svg.bar.axis aria-hidden="true" {
                @for (share, text) in self.ticks(scale) {
                    text x={ (At(100.0 * share)) "%" } y="12" text-anchor=(anchor(share)) { (text) }
                }
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
                    svg x=(LABELS) y=(ROW * at) width=(width) height=(HEIGHT) class=(class(bar.look)) { (self.shape(bar, &scale)) }
                    text x=(LABELS + width + 10) y=(ROW * at + 13) { (Text(&format!("{} {}", bar.figure, bar.interval))) }
                }
            }
            svg x=(LABELS) y=(ROW * lines.len()) width=(width) height="18" { (self.axis(&scale)) }
        };
        Some((drawn, ROW * (lines.len() + 1), Vec::new()))
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
        Bar { label: label.into(), value, low: value * 0.9, high: value * 1.1, figure: format!("{value} ns"), ..Bar::default() }
    }

    #[test]
    fn figures_stand_beside_their_bars() {
        let bars = Bars { scale: BarScale::Amount("ns/op".into()), rows: vec![bar("spin", 50.0), bar("futex", 100.0)] };
        let text = bars.draw().unwrap().into_string();
        for part in ["<b>100 ns</b>", "data-v=\"50 45 55\"", "width=\"89.13%\"", "class=\"whisker\""] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("axis"), "lengths are proportional: {text}");
        let wide = Bars { rows: vec![bar("a", 5.0), bar("b", 5e6)], ..bars };
        let text = wide.draw().unwrap().into_string();
        assert!(text.contains("class=\"dot\"") && text.contains(">1 us<"), "{text}");
        assert!(Bars { rows: Vec::new(), ..wide }.draw().is_none());
    }

    #[test]
    fn ratios_begin_in_the_middle() {
        let bars = Bars { scale: BarScale::Ratio, rows: vec![bar("slower", 1.5), bar("far", f64::INFINITY)] };
        let text = bars.draw().unwrap().into_string();
        assert!(text.contains("<rect class=\"fill\" x=\"50%\"") && text.contains(">16</text>"), "{text}");
    }
}
