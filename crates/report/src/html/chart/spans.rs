//! Spans of time, such as of jobs, in lanes below each other on one time line.

use maud::{Markup, html};

use super::scale::{Scale, ScaleKind};
use super::writing::{At, Values, class, tick};
use crate::html::text::Text;

/// Height of a span.
const HEIGHT: usize = 7;

/// A chart of spans, in ns.
#[derive(Debug, Clone, Default)]
pub(in crate::html) struct Spans {
    pub lanes: Vec<Lane>,
}

/// The spans of one name, each in its row.
#[derive(Debug, Clone, Default)]
pub(in crate::html) struct Lane {
    pub name: String,
    pub look: usize,
    /// Beginning and end of each span.
    pub spans: Vec<[f64; 2]>,
}

impl Lane {
    fn end(&self) -> f64 {
        self.spans.iter().map(|[_, to]| *to).fold(0.0, f64::max)
    }
}

impl Spans {
    pub(in crate::html) fn draw(&self) -> Option<Markup> {
        let end = self.lanes.iter().map(Lane::end).fold(0.0, f64::max);
        if end <= 0.0 {
            return None;
        }
        let scale = Scale::between(0.0, end, ScaleKind::Linear);
        let at = |value: f64| At(100.0 * scale.at(value));
        let shown = |ns: f64| crate::quantity::figure(ns, ns * 1e-3, "ns").to_string();
        Some(html! {
            div.rows.spans {
                @for lane in &self.lanes {
                    div.label { (Text(&lane.name)) }
                    div.value { strong { (shown(lane.end())) } }
                    svg class={ "bar " (class(lane.look)) } height=(HEIGHT * lane.spans.len()) aria-hidden="true" {
                        @for (row, [from, to]) in lane.spans.iter().enumerate() {
                            rect.fill x={ (at(*from)) "%" } y=(HEIGHT * row) width={ (At((100.0 * (scale.at(*to) - scale.at(*from))).max(0.2))) "%" }
                                height=(HEIGHT - 2) data-v=(Values(&[*from, *to])) {}
                        }
                    }
                }
                svg.bar.axis aria-hidden="true" {
                    @for (nth, value) in scale.ticks(4).into_iter().enumerate() {
                        text x={ (at(value)) "%" } y="12" text-anchor=(if nth == 0 { "start" } else if scale.at(value) > 0.9 { "end" } else { "middle" }) {
                            (tick(value, "ns"))
                        }
                    }
                }
            }
        })
    }
}
