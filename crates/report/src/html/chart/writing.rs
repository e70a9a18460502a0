//! What the drawings of all kinds share: their width as a file, the classes of colours, and how numbers are written.

use maud::Render;

/// Number of distinct colours; further lines reuse them and are dashed.
pub(in crate::html) const LOOKS: usize = 8;

/// Width of a chart as a file, and the number of letters that fit.
pub(super) const FILE_WIDTH: usize = 900;
pub(super) const FILE_LETTERS: usize = 125;

/// Classes of a line or bar: its colour, and whether it is dashed.
pub(super) fn class(look: usize) -> String {
    match look / LOOKS {
        0 => format!("s{}", look % LOOKS),
        _ => format!("s{} dashed", look % LOOKS),
    }
}

/// A number with at most two decimals: a position in percent or pixels.
pub(super) struct At(pub f64);

impl Render for At {
    fn render_to(&self, buffer: &mut String) {
        let text = format!("{:.2}", self.0);
        buffer.push_str(text.trim_end_matches('0').trim_end_matches('.'));
    }
}

/// Values of a point for tests and readers of the page's source: six digits, in the notation of scripts.
pub(super) struct Values<'a>(pub &'a [f64]);

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
pub(super) fn tick(value: f64, unit: &str) -> String {
    crate::quantity::figure(value, 0.0, unit).to_string()
}
