//! Short names of points under a common heading: `lock/spin{as=threads,workers=4}` without the parts that all points share.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use results::PointKey;

use crate::text;

/// Name of a parameter and its value.
pub type Param = (String, String);

/// Label of a point, without characters that a page or terminal cannot show.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    /// Area of the case.
    pub area: String,
    /// Name of the case within its area.
    pub name: String,
    /// Parameters in the order in which they are written.
    pub params: Vec<Param>,
}

/// Longest value of a parameter: a command line may have 2 MiB.
pub const LONGEST_VALUE: usize = 120;

/// Case name in the label of a row whose columns are cases.
const ANY_CASE: &str = "*";

impl Label {
    /// The label for a terminal.
    pub fn of(point: &PointKey) -> Label {
        Label::cleaned(point, text::clean)
    }

    /// The label with each part cleaned by `clean`.
    pub fn cleaned(point: &PointKey, clean: impl Fn(&str) -> String) -> Label {
        let short = |value: &str| text::shortened(&clean(value), LONGEST_VALUE);
        let params = point.params.iter().map(|(key, value)| (clean(key), short(value)));
        Label { area: clean(point.area()), name: clean(point.name()), params: params.collect() }
    }

    /// Whether the row's columns are cases, so that only the parameters name the row.
    pub fn is_of_any_case(&self) -> bool {
        self.name == ANY_CASE
    }

    /// Full label: `lock/spin{as=threads,workers=4}`.
    pub fn with_area(&self) -> String {
        match self.area.as_str() {
            "" => self.full(),
            area => format!("{area}/{}", self.full()),
        }
    }

    /// The label without the area: `spin{as=threads,workers=4}`. In a row whose columns are cases, only the parameters, such as
    /// `as=threads, workers=4`, or the area if there are none.
    pub fn full(&self) -> String {
        match (self.params.is_empty(), self.is_of_any_case()) {
            (true, true) => self.area.clone(),
            (true, false) => self.name.clone(),
            (false, true) => listed(&self.params, ", "),
            (false, false) => format!("{}{{{}}}", self.name, listed(&self.params, ",")),
        }
    }

    /// The label without the `shared` parameters.
    pub fn without(&self, shared: &[Param]) -> Label {
        let params = self.params.iter().filter(|param| !shared.contains(param)).cloned().collect();
        Label { params, ..self.clone() }
    }

    /// Short label, such as `spin threads workers=4`: words are shown without the name of their parameter; numbers, yes and no
    /// with it.
    pub fn short(&self) -> String {
        if self.is_of_any_case() && self.params.is_empty() {
            return self.area.clone();
        }
        let mut text = if self.is_of_any_case() { String::new() } else { self.name.clone() };
        for (key, value) in &self.params {
            if !text.is_empty() {
                text.push(' ');
            }
            if !speaks_for_itself(value) {
                text.push_str(key);
                text.push('=');
            }
            text.push_str(value);
        }
        text
    }
}

fn listed(params: &[Param], separator: &str) -> String {
    let params: Vec<String> = params.iter().map(|(k, v)| format!("{k}={v}")).collect();
    params.join(separator)
}

fn speaks_for_itself(value: &str) -> bool {
    let is_word = value.starts_with(|c: char| c.is_ascii_alphabetic());
    is_word && !["yes", "no", "on", "off", "true", "false", "none"].contains(&value)
}

/// Parameters that most of `labels` have, with the same value in all of these. Empty if two labels would become equal without
/// them.
pub fn shared(labels: &[Label]) -> Vec<Param> {
    let labels: BTreeSet<&Label> = labels.iter().collect();
    let mut values: BTreeMap<&str, Vec<&Param>> = BTreeMap::new();
    for param in labels.iter().flat_map(|label| &label.params) {
        values.entry(&param.0).or_default().push(param);
    }
    let agreed = values.into_values().filter(|params| {
        params.len() > 1
            && 2 * params.len() > labels.len()
            && params.iter().all(|param| *param == params[0])
    });
    let shared: Vec<Param> = agreed.map(|params| params[0].clone()).collect();
    let stripped: BTreeSet<Label> = labels.iter().map(|label| label.without(&shared)).collect();
    if stripped.len() == labels.len() { shared } else { Vec::new() }
}

/// Title of an area with the parameters that its rows share: `lock (place=spread, work=none)`.
pub fn title(area: &str, shared: &[Param]) -> String {
    match shared {
        [] => area.to_owned(),
        _ => format!("{area} ({})", listed(shared, ", ")),
    }
}

/// Sort key of `label` among `labels`: cases and words in the order of first appearance, numbers by size.
pub fn rank(label: &Label, labels: &[Label]) -> (usize, Vec<u64>) {
    let case = labels.iter().position(|other| other.name == label.name);
    let params = || labels.iter().flat_map(|label| &label.params);
    let place = |param: &Param| match param.1.parse() {
        Ok(number) => number,
        Err(_) => params().position(|other| other == param).unwrap_or(0) as u64,
    };
    (case.unwrap_or(0), label.params.iter().map(place).collect())
}

/// The names of `labels` within `room` columns of the page: in full if they fit, otherwise short, but never so short that two
/// become equal.
pub fn shortened(labels: &[Label], room: usize) -> Vec<String> {
    let full: Vec<String> = labels.iter().map(Label::full).collect();
    if full.iter().all(|text| text::width(text) <= room) {
        return full;
    }
    let short: Vec<String> = labels.iter().map(Label::short).collect();
    if distinct(&short) == distinct(&full) { short } else { full }
}

fn distinct(texts: &[String]) -> usize {
    texts.iter().collect::<HashSet<_>>().len()
}

/// A point with these parameters, for tests.
#[cfg(test)]
pub fn point(case: &str, params: &[(&str, &str)]) -> PointKey {
    let params = params.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    PointKey { case: case.to_owned(), params: params.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(points: &[(&str, &[(&str, &str)])]) -> Vec<Label> {
        points.iter().map(|(case, params)| Label::of(&point(case, params))).collect()
    }

    #[test]
    fn short_labels_keep_the_names_of_numbers() {
        let list = labels(&[
            ("lock/spin", &[("as", "threads"), ("workers", "4")]),
            ("lock/none", &[("pinned", "yes")]),
            ("lock/none", &[]),
        ]);
        let full = ["spin{as=threads,workers=4}", "none{pinned=yes}", "none"];
        assert_eq!(shortened(&list, 26), full);
        assert_eq!(shortened(&list, 25), ["spin threads workers=4", "none pinned=yes", "none"]);
        assert_eq!(list[0].with_area(), "lock/spin{as=threads,workers=4}");
        assert_eq!(labels(&[("loose", &[])])[0].with_area(), "loose");
    }

    #[test]
    fn rows_of_any_case_are_named_by_their_parameters() {
        let list = labels(&[
            ("lock/*", &[("as", "threads"), ("workers", "1")]),
            ("lock/*", &[("as", "threads"), ("workers", "2")]),
        ]);
        assert_eq!(shortened(&list, 30), ["as=threads, workers=1", "as=threads, workers=2"]);
        assert_eq!(shortened(&list, 20), ["threads workers=1", "threads workers=2"]);
        assert_eq!(shortened(&labels(&[("clock/*", &[])]), 3), ["clock"]);
    }

    #[test]
    fn labels_that_would_become_the_same_stay_full() {
        let list =
            labels(&[("net/echo", &[("client", "thread")]), ("net/echo", &[("server", "thread")])]);
        assert_eq!(shortened(&list, 5), ["echo{client=thread}", "echo{server=thread}"]);
    }

    #[test]
    fn common_parameters_are_shared_unless_labels_would_become_equal() {
        let list = labels(&[
            ("lock/spin", &[("place", "spread"), ("workers", "1")]),
            ("lock/spin", &[("place", "spread"), ("workers", "2")]),
        ]);
        assert_eq!(title("lock", &shared(&list)), "lock (place=spread)");
        assert_eq!(list[0].without(&shared(&list)).full(), "spin{workers=1}");
        let fenced: &[_] = &[("fenced", "yes")];
        let list = labels(&[("clock/tsc", fenced), ("clock/tsc", &[]), ("clock/tscp", fenced)]);
        assert_eq!(shared(&list), []);
        let from_zero: [&[_]; 2] =
            [&[("from", "zero"), ("size", "1")], &[("from", "zero"), ("size", "9")]];
        let [one, nine] = from_zero;
        let list = labels(&[("a/read", one), ("a/read", nine), ("a/b", &[]), ("a/c", &[])]);
        assert_eq!(shared(&list), [], "a title about half of the rows would mislead");
    }

    #[test]
    fn odd_names_lose_nothing_but_line_ends() {
        assert_eq!(labels(&[("loose{", &[])])[0].full(), "loose{");
        let list = labels(&[("time/command", &[("command", "echo a,\nb {c}"), ("shell", "sh")])]);
        assert_eq!(list[0].full(), "command{command=echo a, b {c},shell=sh}");
    }
}
