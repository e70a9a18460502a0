//! Columns with the names of rows.

use crate::grid::{self, Cell, Column};
use crate::labels::{self, Label};
use crate::page::Ink;
use crate::text;

/// Minimum width of wrapped names; on narrower pages optional columns are left out.
const NARROWEST: usize = 24;

/// Width of the gap between two parameters. A number may be closer to the column before it.
const GAP: usize = 2;
const GAP_BEFORE_NUMBER: usize = 1;

/// The names of rows within `room`: case and parameters in separate columns if these fit, otherwise in one column.
pub fn columns(heading: &str, labels: &[Label], room: usize) -> Vec<Column> {
    if labels.iter().all(Label::is_of_any_case) {
        return vec![any_case(heading, labels, room)];
    }
    apart(heading, labels, room).map_or_else(|| vec![together(heading, labels, room)], Vec::from)
}

/// The parameters of rows whose columns are cases: in columns if these fit `room`.
fn any_case(heading: &str, labels: &[Label], room: usize) -> Column {
    let set = params_block(labels).map(|(keys, params)| Column::set(keys, params));
    let set = set.filter(|column| heading.is_empty() && column.width() <= room);
    set.unwrap_or_else(|| together(heading, labels, room))
}

/// Whether all of `labels` have the same parameters, and at least one.
pub fn are_alike(labels: &[Label]) -> bool {
    let keys = |label: &'_ Label| -> Vec<String> {
        label.params.iter().map(|(key, _)| key.clone()).collect()
    };
    labels.iter().all(|label| !label.params.is_empty() && keys(label) == keys(&labels[0]))
}

/// Minimum width to which `names` can be wrapped. Parameters in columns are never wrapped.
pub fn least_width(names: &[Column]) -> usize {
    match names {
        [one] => one.width().min(NARROWEST),
        _ => grid::total_width(names),
    }
}

/// Case and parameters in one column, which the table wraps.
pub fn together(heading: &str, labels: &[Label], room: usize) -> Column {
    let names = labels::shortened(labels, room).into_iter().map(Cell::text);
    Column::names(heading, names)
}

/// A column of cases and one of parameters; `None` unless all rows have the same parameters and these fit `room`.
///
/// A case with several rows is named in each of them, and emphasised in the first.
pub fn apart(heading: &str, labels: &[Label], room: usize) -> Option<[Column; 2]> {
    let (keys, params) = params_block(labels)?;
    let repeats = |at: usize| at > 0 && labels[at - 1].name == labels[at].name;
    let name = |(at, label): (usize, &Label)| {
        Cell::inked(label.name.as_str(), if repeats(at) { Ink::Faint } else { Ink::Plain })
    };
    let names = labels.iter().enumerate().map(name);
    let columns = [Column::names(heading, names), Column::set(keys, params)];
    (grid::total_width(&columns) <= room).then_some(columns)
}

/// The names of the parameters, and below them the values for each of `labels`.
///
/// Numbers are aligned right, and a number's name may extend over the words before it, which keeps `as=processes, workers=4` as
/// narrow as its longest value.
fn params_block(labels: &[Label]) -> Option<(String, Vec<String>)> {
    if !are_alike(labels) {
        return None;
    }
    let keys = labels.first()?.params.iter().map(|(key, _)| key);
    let mut heading = String::new();
    let mut lines = vec![String::new(); labels.len()];
    for (at, key) in keys.enumerate() {
        let values: Vec<&str> = labels.iter().map(|label| label.params[at].1.as_str()).collect();
        add_param(&mut heading, &mut lines, key, &values);
    }
    Some((heading, lines))
}

/// Adds one parameter to the right.
fn add_param(heading: &mut String, lines: &mut [String], key: &str, values: &[&str]) {
    let is_number = values.iter().all(|value| value.parse::<f64>().is_ok());
    let (values_gap, heading_gap) = match (heading.is_empty(), is_number) {
        (true, _) => (0, 0),
        (false, true) => (GAP_BEFORE_NUMBER, GAP),
        (false, false) => (GAP, GAP),
    };
    let values_start = widest(lines.iter().map(String::as_str)) + values_gap;
    let heading_start = text::width(heading) + heading_gap;
    if is_number {
        let values_end = values_start + widest(values.iter().copied());
        let end = values_end.max(heading_start + text::width(key));
        pad_to(heading, end - text::width(key));
        for (line, value) in lines.iter_mut().zip(values) {
            pad_to(line, end - text::width(value));
        }
    } else {
        let start = values_start.max(heading_start);
        pad_to(heading, start);
        lines.iter_mut().for_each(|line| pad_to(line, start));
    }
    heading.push_str(key);
    for (line, value) in lines.iter_mut().zip(values) {
        line.push_str(value);
    }
}

fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(text::width).max().unwrap_or(0)
}

fn pad_to(line: &mut String, width: usize) {
    line.push_str(&" ".repeat(width.saturating_sub(text::width(line))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::point;

    fn block(points: &[(&str, &[(&str, &str)])]) -> Option<(String, Vec<String>)> {
        let label = |(case, params): &(&str, &[(&str, &str)])| Label::of(&point(case, params));
        params_block(&points.iter().map(label).collect::<Vec<_>>())
    }

    #[test]
    fn the_name_of_a_number_reaches_over_the_words_before_it() {
        let (heading, lines) = block(&[
            ("a/b", &[("as", "threads"), ("workers", "16")]),
            ("a/c", &[("as", "processes"), ("workers", "4")]),
        ])
        .unwrap();
        assert_eq!(heading, "as   workers");
        assert_eq!(lines, ["threads   16", "processes  4"]);
    }

    #[test]
    fn words_begin_below_the_beginning_of_their_name() {
        let (heading, lines) = block(&[
            ("a/b", &[("clients", "7"), ("server", "epoll"), ("z", "no")]),
            ("a/b", &[("clients", "100"), ("server", "io"), ("z", "yes")]),
        ])
        .unwrap();
        assert_eq!(heading, "clients  server  z");
        assert_eq!(lines, ["      7  epoll   no", "    100  io      yes"]);
    }

    #[test]
    fn rows_with_other_parameters_have_no_columns_for_them() {
        assert_eq!(block(&[("a/b", &[("x", "1")]), ("a/c", &[])]), None);
        assert_eq!(block(&[("a/b", &[]), ("a/c", &[])]), None);
    }
}
