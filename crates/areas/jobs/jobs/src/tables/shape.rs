//! Shapes of results of the area `concurrency` that its tables can show, and words for their parameters.

use crate::options::USUAL;
use results::CaseResult;

use report::groups::{self, Order};
pub(crate) use report::groups::{Group, length_ns, length_words, number, param};
use report::rows::{Row, is_described};

pub(crate) const JOBS: &str = "concurrency/jobs";
pub(crate) const DEGREE: &str = "concurrency/degree";
pub(crate) const WORTH: &str = "concurrency/worth";
pub(crate) use crate::choice::CASE as ANSWER;

/// Name of the executor with which the others are compared.
pub(crate) const SERIAL: &str = "serial";

/// Values of parameters in the order in which they are shown; others follow in alphabetical order.
const ORDERED: [&str; 18] = [
    SERIAL,
    "threads",
    "threads-up-front",
    "threads-suspended",
    "threads-finished-at-once",
    "pool",
    "rayon",
    "tokio",
    "tokio-current",
    "processes",
    "one",
    "all",
    "cpu",
    "wait",
    "mixed",
    "longest",
    "shortest",
    "shuffled",
];

/// Parameters in the order by which tables are sorted; others follow in alphabetical order.
const SORTED_BY: [&str; 4] = ["order", "degree", "cpus", "kind"];

/// Maximum lengths of names of executors, of lengths and of numbers that tables can show.
const LONGEST_NAME: usize = 24;

/// Whether `result` is derived from other results of its run.
pub(crate) fn is_derived(result: &CaseResult) -> bool {
    let lacks = |param: &str| !result.params.contains_key(param);
    match result.case.as_str() {
        DEGREE => lacks("degree"),
        WORTH => lacks("length"),
        _ => false,
    }
}

/// Whether the tables of this area can show `result`.
pub(crate) fn is_known(result: &CaseResult) -> bool {
    let params: &[&str] = match result.case.as_str() {
        JOBS => &["base", "cpus", "degree", "executor", "jobs", "kind", "order"],
        DEGREE if is_derived(result) => &["executor", "jobs", "kind", "length"],
        DEGREE => &["degree", "executor", "jobs", "kind", "length"],
        WORTH if is_derived(result) => &["degree", "executor", "jobs"],
        WORTH => &["degree", "executor", "jobs", "length"],
        ANSWER if result.params.contains_key("list") => &["degree", "executor", "list", "order"],
        ANSWER => &["bound", "degree", "executor", "jobs", "length", "order"],
        _ => return false,
    };
    // Options that differ from their defaults are part of the titles.
    let is_option = |key: &&String| USUAL.iter().any(|(name, _)| name == key);
    is_described(result)
        && result.params.keys().filter(|key| !is_option(key)).eq(params)
        && result.params.iter().all(|(key, value)| is_usual(&result.case, key, value))
}

/// Whether tables and charts can show the value of a parameter and sort by it.
fn is_usual(case: &str, key: &str, value: &str) -> bool {
    let is_range = case == ANSWER && matches!(key, "length" | "bound");
    match key {
        "executor" => is_name(value),
        "jobs" | "degree" => number(value).is_some(),
        "base" | "length" if !is_range => length_ns(value).is_some(),
        _ => true,
    }
}

fn is_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && text.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Words for a kind of jobs, such as `CPU-bound jobs`.
pub(crate) fn kind_words(kind: &str) -> String {
    match kind {
        "cpu" => "CPU-bound jobs".to_owned(),
        "wait" => "waiting jobs".to_owned(),
        "mixed" => "mixed jobs".to_owned(),
        other => format!("jobs of kind {other}"),
    }
}

/// Words for a value of `cpus`, such as `on one CPU`.
pub(crate) fn cpus_words(cpus: &str) -> String {
    match cpus {
        "one" => "on one CPU".to_owned(),
        "all" => "on all CPUs".to_owned(),
        other => format!("on CPUs {other}"),
    }
}

/// Words for the order in which jobs are handed out, such as `longest first`.
pub(crate) fn order_words(order: &str) -> String {
    match order {
        "longest" | "shortest" => format!("{order} first"),
        "shuffled" => "in shuffled order".to_owned(),
        other => format!("in order {other}"),
    }
}

/// Words for all options of a group that differ from their defaults, such as `, finishers of 20 us`.
pub(crate) fn options_words(group: &Group) -> String {
    let unusual = USUAL.iter().filter_map(|(name, usual)| {
        let value = group.param(name);
        (!value.is_empty() && value != *usual).then_some((*name, value))
    });
    let words = unusual.map(|(name, value)| match (name, value) {
        ("finisher", length) => format!(", finishers of {}", length_words(length)),
        ("kinds", kinds) => format!(", {kinds} kinds of jobs"),
        ("stamp", "finisher") => ", completion timed in the finisher".to_owned(),
        ("instructions", "independent") => ", independent instructions".to_owned(),
        ("foreground", "yes") => ", beside a foreground task".to_owned(),
        (name, value) => format!(", {name}={value}"),
    });
    words.collect()
}

/// The order of the tables of this area.
pub(crate) const ORDER: Order = Order { params: &SORTED_BY, values: &ORDERED };

/// `rows` grouped by their parameters other than `within`, in the order of the tables.
pub(crate) fn grouped<'a, 'r>(
    rows: impl IntoIterator<Item = &'a Row<'r>>,
    within: &[&str],
) -> Vec<Group<'a, 'r>>
where
    'r: 'a,
{
    groups::grouped(rows, within, &ORDER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_and_said() {
        for (text, ns) in [("50us", 5e4), ("4.05ms", 4.05e6), ("2430ms", 2.43e9), ("1s", 1e9)] {
            assert_eq!(length_ns(text), Some(ns), "{text}");
        }
        for text in ["", "ms", "5", "-5ms", "5 m", "5e3ms", ".5ms", "0us", "nanus", "inf s"] {
            assert_eq!(length_ns(text), None, "{text}");
        }
        assert_eq!(length_words("4.05ms"), "4.05 ms");
    }

    #[test]
    fn options_are_said_unless_they_are_usual() {
        let of = |params: &[(&'static str, &'static str)]| {
            let params = params.iter().copied().collect();
            options_words(&Group { params, rows: Vec::new() })
        };
        assert_eq!(of(USUAL), "");
        assert_eq!(of(&[("jobs", "17")]), "");
        let all = [
            ("finisher", "20us"),
            ("kinds", "3"),
            ("stamp", "finisher"),
            ("instructions", "independent"),
            ("foreground", "yes"),
        ];
        assert_eq!(
            of(&all),
            ", finishers of 20 us, 3 kinds of jobs, completion timed in the finisher, independent instructions, \
             beside a foreground task"
        );
        assert_eq!(of(&[("stamp", "later")]), ", stamp=later");
    }

    #[test]
    fn values_have_an_order_people_expect() {
        let pairs = [
            ["serial", "tokio"],
            ["one", "all"],
            ["2", "17"],
            ["450us", "4.05ms"],
            ["processes", "actors"],
            ["actors", "fibers"],
        ];
        for [less, more] in pairs {
            assert_eq!(ORDER.by_value(less, more), std::cmp::Ordering::Less, "{less} {more}");
        }
    }
}
