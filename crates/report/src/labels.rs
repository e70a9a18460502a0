//! Short names for rows that share a heading: `lock/spin{as=threads,workers=4}` without what can be missed.

use std::collections::HashSet;

use crate::text;

/// A case with its parameters, as `area/name{key=value,...}` says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label {
    /// The family of the case.
    pub area: String,
    /// The case within its area.
    pub name: String,
    params: Vec<(String, String)>,
}

impl Label {
    pub(crate) fn parse(label: &str) -> Label {
        let label = text::clean(label);
        let (case, params) = match label.strip_suffix('}').and_then(|l| l.split_once('{')) {
            Some((case, params)) => (case, params.split(',').map(key_and_value).collect()),
            None => (label.as_str(), Vec::new()),
        };
        let (area, name) = case.split_once('/').unwrap_or(("", case));
        Label { area: area.to_owned(), name: name.to_owned(), params }
    }

    /// `spin{as=threads,workers=4}`: what follows `area/` on the command line.
    pub(crate) fn full(&self) -> String {
        if self.params.is_empty() {
            return self.name.clone();
        }
        let params: Vec<String> = self.params.iter().map(|(k, v)| format!("{k}={v}")).collect();
        format!("{}{{{}}}", self.name, params.join(","))
    }

    /// `spin threads workers=4`: words speak for themselves, numbers and yes or no keep their name.
    pub(crate) fn short(&self) -> String {
        let mut text = self.name.clone();
        for (key, value) in &self.params {
            text.push(' ');
            if !speaks_for_itself(value) {
                text.push_str(key);
                text.push('=');
            }
            text.push_str(value);
        }
        text
    }
}

fn key_and_value(param: &str) -> (String, String) {
    let (key, value) = param.split_once('=').unwrap_or((param, ""));
    (key.to_owned(), value.to_owned())
}

fn speaks_for_itself(value: &str) -> bool {
    let is_word = value.starts_with(|c: char| c.is_ascii_alphabetic());
    is_word && !["yes", "no", "on", "off", "true", "false", "none"].contains(&value)
}

/// What to call each of `labels` within `room` columns: in full where that fits, short otherwise,
/// and never so short that two of them become the same.
pub(crate) fn shortened(labels: &[Label], room: usize) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(texts: &[&str]) -> Vec<Label> {
        texts.iter().map(|text| Label::parse(text)).collect()
    }

    #[test]
    fn short_labels_keep_the_names_of_numbers() {
        let list =
            labels(&["lock/spin{as=threads,workers=4}", "lock/none{pinned=yes}", "lock/none"]);
        assert_eq!(
            shortened(&list, 26),
            ["spin{as=threads,workers=4}", "none{pinned=yes}", "none"]
        );
        assert_eq!(shortened(&list, 25), ["spin threads workers=4", "none pinned=yes", "none"]);
    }

    #[test]
    fn labels_that_would_become_the_same_stay_full() {
        let list = labels(&["net/echo{client=thread}", "net/echo{server=thread}"]);
        assert_eq!(shortened(&list, 5), ["echo{client=thread}", "echo{server=thread}"]);
    }

    #[test]
    fn odd_labels_lose_nothing() {
        assert_eq!(Label::parse("loose{").full(), "loose{");
        assert_eq!(Label::parse("a/b{c}").full(), "b{c=}");
    }
}
