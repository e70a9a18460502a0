//! The tables of the area `net`, at usual widths.

use insta::assert_snapshot;
use proptest::prelude::*;
use report::{Page, closing_line, results_tables};
use results::CaseResult;
use simulated::text::{any_ending, check_figures};

use crate::pages::{NARROW, any_page, check, check_colour, check_results};
use crate::servers;

#[test]
fn each_case_has_its_tables() {
    for (name, run) in [
        ("answer_80", servers::answer()),
        ("requests_80", servers::requests()),
        ("hold_80", servers::hold(&[500])),
    ] {
        assert_snapshot!(name, results_tables(&run, &NARROW));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn all_widths_show_all_architectures_and_rates(page in any_page()) {
        for run in [servers::answer(), servers::requests(), servers::hold(&[100, 500, 5000])] {
            let text = results_tables(&run, &page);
            check(&text, &page, run.iter().map(|result| result.params["arch"].clone()))?;
            check_figures(&text, &run, |result| ["rate", "memory"].contains(&&*result.metric))?;
        }
    }
}

#[test]
fn derived_metrics_are_not_counted_as_cases() {
    let closing = closing_line(&servers::requests(), None, &NARROW);
    assert_eq!(closing, "15 points: 15 measured\n");
}

#[test]
fn other_places_have_tables_of_their_own_and_unknown_shapes_the_usual_ones() {
    let mut run = servers::hold(&[500]);
    let mut moved = run.clone();
    for result in &mut moved {
        result.params.insert("place".to_owned(), "same".to_owned());
    }
    let mut later = run[0].clone();
    later.params.insert("numa".to_owned(), "node0".to_owned());
    run.extend(moved);
    run.push(later);
    let text = results_tables(&run, &NARROW);
    assert!(text.contains("net/hold (place=same): "), "{text}");
    assert_eq!(text.matches("cost of each of 500").count(), 2, "{text}");
    assert!(text.contains("node0"), "{text}");
}

#[test]
fn colour_adds_nothing_but_colour() {
    let run = [servers::answer(), servers::requests(), servers::hold(&[500])].concat();
    check_colour(|page| results_tables(&run, page));
}

const METRICS: [(&str, &str); 9] = [
    ("time", "ns/op"),
    ("rate", "replies/s"),
    ("reply-p50", "ns"),
    ("reply-p99", "ns"),
    ("server-cpu", "ns"),
    ("voluntary-switches", "switches"),
    ("memory", "bytes"),
    ("faster-from", "connections"),
    ("cheaper-from", "connections"),
];

fn result() -> impl Strategy<Value = CaseResult> {
    let values = |list: &'static [&'static str]| prop::sample::select(list);
    let named = (
        values(&["net/answer", "net/requests", "net/hold"]),
        values(&["fork", "threads", "epoll", "epoll-per-cpu", "a-name-that-is16", "Odd name"]),
        values(&["1", "10", "100", "500", "1000", "5000", "999999", "1500", "2", "many"]),
        values(&["apart", "same"]),
    );
    (named, prop::sample::select(&METRICS[..]), any_ending()).prop_map(
        |((case, arch, connections, place), (metric, unit), ending)| {
            let derived = unit == "connections";
            let other = if derived { ("than", arch) } else { ("connections", connections) };
            let params = [("arch", arch), other, ("network", "loopback"), ("place", place)];
            CaseResult {
                case: case.to_owned(),
                params: simulated::params(&params),
                metric: metric.to_owned(),
                unit: unit.to_owned(),
                round_values: ending.estimate.iter().flat_map(|of| [of.median, of.low]).collect(),
                ..ending
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_line_is_wider_than_the_page(
        results in prop::collection::vec(result(), 0..60), width in 60usize..200, unicode: bool
    ) {
        let page = Page { width, colour: false, unicode, this_run: false };
        check_results(&results, &page)?;
    }
}
