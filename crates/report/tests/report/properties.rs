//! Properties of the output for arbitrary results on arbitrary pages.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{Difference, Ratio, Verdict};
use proptest::prelude::*;
use report::{
    Card, CardMetric, CardParam, Cell, CompareCell, CompareRow, Comparison, Page, RunLine, cards,
    cards_short, closing_line, compare_table, env_page, results_tables, runs_table,
};
use results::{CaseResult, Direction, Distribution, Estimate, NextRun, Outcome, PerOp, Source};
use simulated::text::any_ending;
use unicode_width::UnicodeWidthStr;

use crate::pages::{any_page, check_results};
use crate::support;

fn params() -> impl Strategy<Value = BTreeMap<String, String>> {
    let value = prop_oneof!["[1-9][0-9]{0,5}", "[a-z]{1,8}(-[a-z]{1,8})?", Just("yes".to_owned())];
    prop::collection::btree_map("[a-z]{2,9}", value, 0..5)
}

fn metric() -> impl Strategy<Value = (String, String)> {
    const METRICS: [(&str, &str); 6] = [
        ("time", "ns/op"),
        ("pairs/s", "pairs/s"),
        ("throughput", "requests/s"),
        ("least-share", "share"),
        ("back-across-cpus", "steps"),
        ("memory", "bytes"),
    ];
    prop::sample::select(&METRICS[..]).prop_map(|(name, unit)| (name.to_owned(), unit.to_owned()))
}

fn estimate() -> impl Strategy<Value = Estimate> {
    (-3.0f64..12.0, 0.0f64..2.0, 0.0f64..2.0).prop_map(|(exponent, below, above)| {
        let median = 10f64.powf(exponent);
        Estimate { median, low: median * (1.0 - below), high: median * (1.0 + above), level: 0.95 }
    })
}

fn result() -> impl Strategy<Value = CaseResult> {
    let name = (
        prop::sample::select(&["lock", "net", "clock"][..]),
        "[a-z]{2,10}(-[a-z]{2,9})?",
        params(),
    );
    let counts = (0.0f64..1.0, any::<Option<bool>>());
    (name, metric(), any_ending(), counts).prop_map(
        |((area, name, params), (metric, unit), ending, (quiet, converged))| {
            let seen = |estimate: Estimate| {
                let [min, p5, p25, p50, p75, p95, p99, mean] =
                    [0.9, 0.95, 0.99, 1.0, 1.1, 1.4, 3.0, 1.1].map(|of| estimate.median * of);
                Distribution { min, p5, p25, p50, p75, p95, p99, mean }
            };
            let next_run = |estimate: Estimate| NextRun {
                boots: 2,
                days: 3,
                source: if quiet < 0.5 { Source::Visits } else { Source::AnyProcessor },
                ..simulated::next_run(
                    [0.7 - quiet, 0.9 + quiet].map(|of| estimate.median * of),
                    quiet,
                    4.0,
                    1 + (quiet * 20.0) as u32,
                )
            };
            let per_op = PerOp {
                syscalls: Some(quiet * 100.0),
                page_faults: Some(quiet),
                ..PerOp::default()
            };
            CaseResult {
                case: format!("{area}/{name}"),
                params,
                metric,
                unit,
                next_run: ending.estimate.filter(|_| converged.is_some()).map(next_run),
                seen: ending.estimate.map(seen),
                quiet_share: ending.estimate.map(|_| quiet),
                rounds: 8,
                samples: 100,
                converged,
                per_op: converged.map(|_| per_op),
                ..ending
            }
        },
    )
}

/// Beginnings of the table rows of each area, with single spaces and with wrapped names joined.
fn printed_rows(text: &str) -> Vec<String> {
    let mut rows: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let (name, rest) = match line.trim_start().split_once("  ") {
            Some((name, rest)) => (name.trim_end(), rest.trim_start()),
            None => (line.trim(), ""),
        };
        match rows.last_mut() {
            Some((before, _)) if line.starts_with("  ") => {
                if !before.ends_with(',') {
                    before.push(' ');
                }
                before.push_str(name);
            }
            _ => rows.push((name.to_owned(), rest.to_owned())),
        }
    }
    let row = |(name, rest): (String, String)| {
        format!("{name} {rest}").split_whitespace().collect::<Vec<_>>().join(" ") + " "
    };
    rows.into_iter().map(row).collect()
}

/// Parameters with the same value in all results of an area that have them.
fn agreed(results: &[CaseResult], area: &str) -> BTreeMap<String, String> {
    let mut values: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
    for (key, value) in results.iter().filter(|r| r.case.starts_with(area)).flat_map(|r| &r.params)
    {
        values.entry(key).or_default().insert(value);
    }
    let agreed = values.into_iter().filter(|(_, values)| values.len() == 1);
    agreed.map(|(key, values)| (key.clone(), values.first().unwrap().to_string())).collect()
}

/// The possible names of a row: in full, without the parameter names of words, or with parameter names in the
/// heading; and each of them without the parameters in the title.
fn names_of(result: &CaseResult, results: &[CaseResult]) -> Vec<String> {
    let (area, name) = result.case.split_once('/').unwrap();
    let agreed = agreed(results, area);
    let rest = result.params.iter().filter(|(key, _)| !agreed.contains_key(*key));
    let rest: BTreeMap<String, String> = rest.map(|(k, v)| (k.clone(), v.clone())).collect();
    [&result.params, &rest].into_iter().flat_map(|params| forms(name, params)).collect()
}

fn forms(name: &str, params: &BTreeMap<String, String>) -> [String; 3] {
    let speaks = |v: &str| {
        v.starts_with(char::is_alphabetic)
            && !["yes", "no", "on", "off", "true", "false", "none"].contains(&v)
    };
    let short = params.iter().fold(name.to_owned(), |name, (key, value)| {
        if speaks(value) { format!("{name} {value}") } else { format!("{name} {key}={value}") }
    });
    let values = params.values().fold(name.to_owned(), |name, value| format!("{name} {value}"));
    [results::label(name, params), short, values]
}

/// Whether a table row has one of `names`.
fn is_called(row: &str, names: &[String]) -> bool {
    names.iter().any(|name| row.starts_with(&format!("{name} ")))
}

fn too_wide(text: &str, page: &Page) -> Option<String> {
    text.lines().find(|line| line.width() > page.width).map(str::to_owned)
}

fn comparison() -> impl Strategy<Value = Comparison> {
    let verdicts = [Verdict::Faster, Verdict::Same, Verdict::CannotTell, Verdict::NotComparable];
    let cell = (estimate(), prop::option::of(0.01f64..99.0), 0usize..4, "[a-z ]{0,90}");
    let cells = prop::collection::vec(cell, 1..4);
    let row = (result(), estimate(), cells);
    (1usize..4, prop::collection::vec(row, 0..8), "\\PC{0,120}").prop_map(
        move |(runs, rows, words)| {
            let figure = |e: Estimate, unit: &str| {
                Some(Cell { median: e.median, low: e.low, high: e.high, unit: unit.to_owned() })
            };
            let rows = rows.into_iter().map(|(result, base, cells)| CompareRow {
                point: result.point(),
                base: figure(base, &result.unit),
                news: (0..runs)
                    .map(|i| {
                        let (estimate, ratio, verdict, note) = cells[i % cells.len()].clone();
                        (verdict > 0 || i % 2 == 0).then(|| CompareCell {
                            figure: figure(estimate, &result.unit),
                            ratio: ratio.map(|mid| Ratio { mid, low: mid * 0.9, high: mid * 1.1 }),
                            floor: 0.01,
                            verdict: verdicts[verdict],
                            note,
                        })
                    })
                    .collect(),
                host_calls: match runs {
                    2 => vec![result.seen.map(|seen| seen.p50), Some(base.median), None],
                    _ => Vec::new(),
                },
                metric: result.metric,
            });
            let names = Comparison::names_of_runs(vec![words.clone(); runs + 1]);
            Comparison {
                rows: rows.collect(),
                by: "run".to_owned(),
                columns: names.iter().map(|(name, _)| name.clone()).collect(),
                runs: names,
                also_differs: vec![Difference {
                    role: analysis::Role::Subject,
                    key: "kernel".to_owned(),
                    values: vec![words.clone(); runs + 1],
                }],
                facts: vec![words.clone()],
                all: runs != 2,
                noise_floor: vec![words],
            }
        },
    )
}

fn card() -> impl Strategy<Value = Card> {
    (result(), "\\PC{0,200}").prop_map(|(result, words)| Card {
        case: result.case,
        operation: words.clone(),
        unit: result.unit,
        better: Direction::Lower,
        comparable_to: words.clone(),
        params: result
            .params
            .into_iter()
            .map(|(name, value)| CardParam {
                name,
                meaning: words.clone(),
                default: vec![value],
                full: result.doubts.iter().map(|doubt| doubt.to_string()).collect(),
            })
            .collect(),
        metrics: vec![CardMetric { name: result.metric, meaning: words.clone() }],
        needs: vec![words.clone()],
        unsupported: result.converged.map(|_| words),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn other_pages_keep_to_the_width_too(
        comparison in comparison(),
        list in prop::collection::vec(card(), 0..5),
        words in prop::collection::vec("\\PC{0,60}", 4),
        page in any_page(),
    ) {
        let run = RunLine {
            id: "20261121-203655-4f2a".to_owned(),
            started: words[0].clone(),
            state: "unfinished".to_owned(),
            figures: 123,
            rounds: 1_234_567,
            machine: words[1].clone(),
            tags: words[2].clone(),
            asked: words[3].clone(),
        };
        let env = [(words[0].clone(), vec![(words[1].clone(), words[2].clone() + &words[3])])];
        let texts = [
            compare_table(&comparison, &page),
            cards(&list, &page),
            cards_short(&list, &page),
            runs_table(&[run], &page),
            env_page(&env, &page),
        ];
        for text in texts {
            prop_assert_eq!(too_wide(&text, &page), None, "{}", text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_line_is_wider_than_the_page(results in prop::collection::vec(result(), 0..14), page in any_page()) {
        check_results(&results, &page)?;
    }

    #[test]
    fn every_row_is_shown_with_a_unique_name(
        results in prop::collection::vec(result(), 1..14), page in any_page()
    ) {
        let text = results_tables(&results, &page);
        let rows = printed_rows(&text);
        // Below the table, names are separated by commas and wrapped like running text.
        let below = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for result in &results {
            let names = names_of(result, &results);
            let in_table = rows.iter().any(|row| is_called(row, &names));
            let unsupported = result.outcome == Outcome::Unsupported;
            let named_below = names.iter().any(|name| below.contains(name.as_str()));
            let folded = unsupported && (named_below || below.contains("list`): "));
            prop_assert!(in_table || folded, "{names:?} in\n{text}");
        }
        let mut seen = BTreeSet::new();
        let labels: BTreeSet<String> = results.iter().map(CaseResult::label).collect();
        for table in text.split("\n\n").filter(|_| labels.len() == results.len()) {
            seen.clear();
            for row in printed_rows(table) {
                let of_results = results.iter().any(|r| is_called(&row, &names_of(r, &results)));
                prop_assert!(!of_results || seen.insert(row.clone()), "{row} in\n{text}");
            }
        }
    }

    #[test]
    fn a_title_has_the_parameters_that_row_names_omit(
        results in prop::collection::vec(result(), 1..14), page in any_page()
    ) {
        let text = results_tables(&results, &page);
        let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for (key, value) in results.iter().flat_map(|result| &result.params) {
            let values = said.split(|c: char| !c.is_alphanumeric() && c != '-');
            let mut found = values.filter(|word| *word == key || word == value);
            let counted = said.contains("list`): ");
            prop_assert!(found.next().is_some() || counted, "{key}={value} in\n{text}");
        }
    }

    #[test]
    fn every_point_is_counted_once(results in prop::collection::vec(result(), 0..14)) {
        let wide = Page { width: 100, colour: false, unicode: true, this_run: false };
        let line = closing_line(&results, None, &wide);
        let labels: BTreeSet<String> = results.iter().map(CaseResult::label).collect();
        let metrics: BTreeSet<(String, &str, &str)> =
            results.iter().map(|r| (r.label(), r.metric.as_str(), r.unit.as_str())).collect();
        if metrics.len() == results.len() {
            let start = format!("{} point", labels.len());
            prop_assert!(line.starts_with(&start), "{line}");
        }
        let numbers = line.split([' ', ',', '\n']).filter_map(|word| word.parse::<usize>().ok());
        let numbers: Vec<usize> = numbers.collect();
        prop_assert_eq!(numbers[0], numbers[1..].iter().sum::<usize>(), "{}", line);
    }
}

#[test]
fn a_page_too_narrow_for_a_table_gets_one_all_the_same() {
    let page = Page { width: 20, colour: false, unicode: true, this_run: false };
    assert!(results_tables(&support::a_run(), &page).contains("getppid"));
}
