//! Rows of tables in groups by the parameters that they share, in a natural order.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::first_seen;
use crate::rows::Row;

/// Maximum lengths of durations and of numbers as text.
const LONGEST_LENGTH: usize = 9;
const LONGEST_NUMBER: usize = 6;

/// Order of parameters and of their values. Other values follow: words in alphabetical order, numbers and durations by size.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// Parameters by which groups are sorted first.
    pub params: &'static [&'static str],
    /// Values of parameters in their order.
    pub values: &'static [&'static str],
}

/// A value as a count; `None` if it is not a positive number.
pub fn number(text: &str) -> Option<u32> {
    let is_plain = text.len() <= LONGEST_NUMBER && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|number| is_plain && *number > 0)
}

/// A duration such as `4.05ms` in ns; `None` for other text.
pub fn length_ns(text: &str) -> Option<f64> {
    let (number, unit) = number_and_unit(text)?;
    let scale = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let scale = scale.iter().find(|(name, _)| *name == unit)?.1;
    let is_plain = number.starts_with(|c: char| c.is_ascii_digit())
        && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number: f64 = number.parse().ok()?;
    (is_plain && number > 0.0 && text.len() <= LONGEST_LENGTH).then_some(number * scale)
}

fn number_and_unit(text: &str) -> Option<(&str, &str)> {
    Some(text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?))
}

/// A duration with a space before its unit: `4.05 ms` for `4.05ms`.
pub fn length_words(text: &str) -> String {
    match number_and_unit(text) {
        Some((number, unit)) => format!("{number} {unit}"),
        None => text.to_owned(),
    }
}

/// The value of a row's parameter; empty if the row lacks it.
pub fn param<'a>(row: &Row<'a>, key: &str) -> &'a str {
    let params = row.results.first().copied().map(|result| &result.params);
    params.and_then(|params| params.get(key)).map_or("", String::as_str)
}

/// Rows with the same parameters, except those by which they differ.
#[derive(Debug)]
pub struct Group<'a, 'r> {
    /// Parameters that the rows share.
    pub params: BTreeMap<&'r str, &'r str>,
    /// The rows.
    pub rows: Vec<&'a Row<'r>>,
}

impl Group<'_, '_> {
    /// The value of `key` that all rows share.
    pub fn param(&self, key: &str) -> &str {
        self.params.get(key).copied().unwrap_or("")
    }
}

/// Groups `rows` by their parameters other than `within`, in this order.
pub fn grouped<'a, 'r>(
    rows: impl IntoIterator<Item = &'a Row<'r>>,
    within: &[&str],
    order: &Order,
) -> Vec<Group<'a, 'r>>
where
    'r: 'a,
{
    let keyed = rows.into_iter().map(|row| {
        let params = row.results.iter().take(1).flat_map(|result| &result.params);
        let params = params.map(|(key, value)| (key.as_str(), value.as_str()));
        (params.filter(|(key, _)| !within.contains(key)).collect(), row)
    });
    let groups = first_seen::grouped(keyed).into_iter();
    let mut groups: Vec<Group> = groups.map(|(params, rows)| Group { params, rows }).collect();
    groups.sort_by(|a, b| order.by_params(&a.params, &b.params));
    groups
}

impl Order {
    fn by_params(&self, a: &BTreeMap<&str, &str>, b: &BTreeMap<&str, &str>) -> Ordering {
        let mut keys: Vec<&str> = self.params.to_vec();
        keys.extend(a.keys().chain(b.keys()).filter(|key| !self.params.contains(key)));
        let value =
            |params: &BTreeMap<&str, &str>, key| params.get(key).copied().unwrap_or("").to_owned();
        let compare = |key| self.by_value(&value(a, key), &value(b, key));
        keys.into_iter().map(compare).fold(Ordering::Equal, Ordering::then)
    }

    /// The sort key of a value in this order.
    pub fn place(&self, value: &str) -> usize {
        self.values.iter().position(|known| *known == value).unwrap_or(self.values.len())
    }

    /// Compares two values of a parameter.
    pub fn by_value(&self, a: &str, b: &str) -> Ordering {
        let rank = |value: &str| {
            let size = number(value).map(f64::from).or_else(|| length_ns(value));
            (self.place(value), size.unwrap_or(0.0))
        };
        let (a_rank, b_rank) = (rank(a), rank(b));
        a_rank.0.cmp(&b_rank.0).then(a_rank.1.total_cmp(&b_rank.1)).then(a.cmp(b))
    }

    /// The different values that `rows` have for `key`, sorted.
    pub fn values<'r>(&self, rows: &[&Row<'r>], key: &str) -> Vec<&'r str> {
        let mut values: Vec<&str> = rows.iter().map(|row| param(row, key)).collect();
        values.sort_by(|a, b| self.by_value(a, b));
        values.dedup();
        values
    }
}
