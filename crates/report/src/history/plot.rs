//! One trend as a plot of text.

use analysis::history::Trend;

use super::{HistoryOfSeries, date, facts, name};
use crate::page::{Ink, Page};
use crate::quantity::figure;
use crate::text;

/// Number of rows of the plot.
const ROWS: usize = 12;
/// Width of the axis of figures.
const AXIS: usize = 12;
/// Share of the range that is added above and below.
const MARGIN: f64 = 0.05;

/// The figures of the visits, the range that was predicted for each by the one before it, and where facts and means changed. The
/// latest visits are shown if there is no room for all.
pub fn history_plot(history: &HistoryOfSeries, trend: &Trend, page: &Page) -> String {
    let width = page.table_width() - AXIS - 1;
    let from = trend.visits.len().saturating_sub(width);
    let visits = &trend.visits[from..];
    let (least, most) = range(trend, from);
    let row = |value: f64| {
        let share = (value - least) / (most - least);
        ((1.0 - share) * (ROWS as f64 - 1.0)).round().clamp(0.0, ROWS as f64 - 1.0) as usize
    };
    let (point, band, change) = if page.unicode { ('●', '░', '│') } else { ('*', ':', '|') };
    let mut canvas = vec![vec![' '; visits.len()]; ROWS];
    for (at, visit) in visits.iter().enumerate() {
        if let Some((low, high)) = visit.predicted {
            canvas[row(high)..=row(low)].iter_mut().for_each(|line| line[at] = band);
        }
        if trend.changes.iter().any(|change| change.at == from + at) {
            canvas.iter_mut().for_each(|line| line[at] = change);
        }
        canvas[row(visit.figure.median)][at] = point;
    }
    let mut lines = page.paint_lines(Ink::Heading, &page.hanging("", &text::clean(&name(trend))));
    for (nth, signs) in canvas.iter().enumerate() {
        let value = most - (most - least) * nth as f64 / (ROWS as f64 - 1.0);
        let label = match nth % 4 == 0 || nth == ROWS - 1 {
            true => figure(value, (most - least) / 20.0, &trend.unit).to_string(),
            false => String::new(),
        };
        let signs: String = signs.iter().collect();
        lines.push_str(format!("{label:>AXIS$} {signs}").trim_end());
        lines.push('\n');
    }
    lines.push_str(&axis(history, trend, from, page));
    let legend = format!(
        "{point} a visit, {band} where the visit before said it would lie, {change} a change of the mean"
    );
    lines.push_str(&page.paint_lines(Ink::Faint, &page.hanging("", &legend)));
    for two in visits.windows(2) {
        let runs = [two[0].number, two[1].number].map(|visit| history.series.visits[visit][0]);
        let [before, after] = runs.map(|run| &history.runs[run]);
        let changed = analysis::history::fact_changes(before, after);
        if !changed.is_empty() {
            let line = page.hanging(&format!("{}  ", date(after)), &facts(&changed, page));
            lines.push_str(&page.paint_lines(Ink::Faint, &line));
        }
    }
    lines
}

/// The least and the greatest value of the plot: of the figures, and of the predictions as far as they do not dwarf these.
fn range(trend: &Trend, from: usize) -> (f64, f64) {
    let visits = &trend.visits[from..];
    let figures = || visits.iter().map(|visit| visit.figure.median);
    let least = figures().fold(f64::INFINITY, f64::min);
    let most = figures().fold(f64::NEG_INFINITY, f64::max);
    // What is always 0 has an axis like other figures.
    if (least, most) == (0.0, 0.0) {
        return (0.0, 1.0);
    }
    let room = ((most - least) / 2.0).max(most.abs() * 0.01).max(f64::MIN_POSITIVE);
    let bands = || visits.iter().filter_map(|visit| visit.predicted);
    let low = bands().map(|band| band.0).fold(least, f64::min).max(least - room);
    let high = bands().map(|band| band.1).fold(most, f64::max).min(most + room);
    let margin = (high - low) * MARGIN;
    (low - margin, high + margin)
}

/// The dates of the first and the last visit below their places.
fn axis(history: &HistoryOfSeries, trend: &Trend, from: usize, page: &Page) -> String {
    let visits = &trend.visits[from..];
    let rule: String = std::iter::repeat_n(page.rule(), visits.len()).collect();
    let date_of = |at: usize| date(&history.runs[history.series.visits[visits[at].number][0]]);
    let (first, last) = (date_of(0), date_of(visits.len() - 1));
    let room = visits.len().saturating_sub(first.len() + last.len());
    let dates = match (visits.len(), room) {
        (1, _) => first.to_owned(),
        (_, 0) => format!("{first} to {last}"),
        _ => format!("{first}{}{last}", " ".repeat(room)),
    };
    format!("{:AXIS$} {rule}\n{:AXIS$} {dates}\n", "", "")
}
