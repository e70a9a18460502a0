//! Splits points into charts and lines: points that differ in several parameters do not all fit one chart.

use crate::first_seen::{distinct, grouped};

/// Maximum number of lines of a chart.
const LINES: usize = 12;

/// A point for a chart: its keys, such as `case` and parameters, with their values.
pub(super) struct Item<'a, T> {
    pub keys: Vec<(&'a str, &'a str)>,
    pub value: T,
}

impl<'a, T> Item<'a, T> {
    /// The value of a key; empty if the item lacks the key.
    fn value_of(&self, key: &str) -> &'a str {
        self.keys.iter().find(|(known, _)| *known == key).map_or("", |(_, value)| value)
    }
}

/// The points of one chart.
pub(super) struct Facet<'a, T> {
    /// Keys with the values that all points of this chart share, and that differ between charts.
    pub keys: Vec<(&'a str, &'a str)>,
    /// Points by line, each line with its name.
    pub lines: Vec<(String, Vec<T>)>,
}

/// Splits `items` into charts: one chart if the keys distinguish few lines; otherwise the key with the most values that still fit
/// becomes lines, and the other keys become charts.
pub(super) fn facets<'a, T>(items: Vec<Item<'a, T>>) -> Vec<Facet<'a, T>> {
    let varying = varying(&items);
    let by_line = line_keys(&items, &varying);
    let of = |item: &Item<'a, T>, wanted: &dyn Fn(&str) -> bool| -> Vec<(&'a str, &'a str)> {
        let mut keys: Vec<(&str, &str)> =
            item.keys.iter().copied().filter(|(key, _)| wanted(key)).collect();
        keys.sort_by_key(|(key, _)| varying.iter().position(|known| known == key));
        keys
    };
    let keyed = items.into_iter().map(|item| {
        let of_line = of(&item, &|key| by_line.contains(&key));
        let of_chart = of(&item, &|key| varying.contains(&key) && !by_line.contains(&key));
        let names: Vec<String> = of_line
            .iter()
            .map(|(key, value)| match value.parse::<f64>() {
                Ok(_) => format!("{key}={value}"),
                Err(_) => (*value).to_owned(),
            })
            .collect();
        (of_chart, (names.join(" "), item.value))
    });
    let facets = grouped(keyed).into_iter();
    // Charts are split again: a key with too many values for one chart may have been chosen.
    facets.flat_map(|(keys, lines)| parts(Facet { keys, lines: grouped(lines) })).collect()
}

/// Keys that have several values, or that some items lack.
fn varying<'a, T>(items: &[Item<'a, T>]) -> Vec<&'a str> {
    let keys = items.iter().flat_map(|item| &item.keys).map(|(key, _)| *key);
    let mut keys = distinct(keys);
    keys.retain(|key| values(items, key).len() > 1);
    keys
}

/// The values of `key`, with an empty one if some items lack the key.
fn values<'a, T>(items: &[Item<'a, T>], key: &str) -> Vec<&'a str> {
    distinct(items.iter().map(|item| item.value_of(key)))
}

fn line_keys<'a, T>(items: &[Item<'a, T>], varying: &[&'a str]) -> Vec<&'a str> {
    let combination =
        |item: &Item<'a, T>| varying.iter().map(|key| item.value_of(key)).collect::<Vec<&str>>();
    if distinct(items.iter().map(combination)).len() <= LINES {
        return varying.to_vec();
    }
    let count = |key: &&&str| values(items, key).len();
    let fitting = varying.iter().filter(|key| count(key) <= LINES);
    // The order is reversed, so that the first of equally good keys is chosen.
    let best = fitting.rev().max_by_key(count).or_else(|| varying.iter().min_by_key(count));
    best.into_iter().copied().collect()
}

/// Splits a chart with too many lines into several.
fn parts<'a, T>(facet: Facet<'a, T>) -> Vec<Facet<'a, T>> {
    let mut parts: Vec<Facet<T>> = Vec::new();
    for line in facet.lines {
        match parts.last_mut() {
            Some(part) if part.lines.len() < LINES => part.lines.push(line),
            _ => parts.push(Facet { keys: facet.keys.clone(), lines: vec![line] }),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item<'a>(keys: &[(&'a str, &'a str)]) -> Item<'a, ()> {
        Item { keys: keys.to_vec(), value: () }
    }

    #[test]
    fn few_combinations_are_lines_of_one_chart() {
        let items = vec![
            item(&[("case", "spin"), ("as", "threads")]),
            item(&[("case", "futex"), ("as", "threads")]),
            item(&[("case", "spin"), ("as", "threads")]),
        ];
        let facets = facets(items);
        assert_eq!(facets.len(), 1);
        let names: Vec<(&str, usize)> =
            facets[0].lines.iter().map(|(name, values)| (name.as_str(), values.len())).collect();
        assert_eq!(names, [("spin", 2), ("futex", 1)]);
    }

    #[test]
    fn many_combinations_are_charts() {
        let names: Vec<String> = (0..8).map(|at| format!("arch{at}")).collect();
        let mut items = Vec::new();
        for name in &names {
            for place in ["apart", "together"] {
                items.push(item(&[("place", place), ("arch", name)]));
            }
        }
        let facets = facets(items);
        assert_eq!(facets.len(), 2);
        assert_eq!(facets[1].keys, [("place", "together")]);
        assert_eq!(facets[0].lines.len(), 8);
    }

    #[test]
    fn a_chart_has_a_limited_number_of_lines() {
        let names: Vec<String> = (0..30).map(|at| format!("a{at}")).collect();
        let facets = facets(names.iter().map(|name| item(&[("arch", name)])).collect());
        assert_eq!(facets.iter().map(|facet| facet.lines.len()).collect::<Vec<_>>(), [12, 12, 6]);
    }
}
