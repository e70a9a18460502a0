//! The tables of the area `mail`, at usual widths.

use insta::assert_snapshot;
use proptest::prelude::*;
use report::{closing_line, results_tables};
use simulated::text::check_figures;

use crate::pages::{NARROW, any_page, check};
use crate::senders;

#[test]
fn an_ordinary_run() {
    let run = senders::ordinary();
    assert_snapshot!("mail_80", results_tables(&run, &NARROW));
    assert_eq!(closing_line(&run, None, &NARROW), "16 points: 16 measured\n");
}

#[test]
fn all_levels_with_trouble() {
    assert_snapshot!("mail_full_80", results_tables(&senders::full(), &NARROW));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn all_widths_show_all_architectures_and_rates(page in any_page()) {
        for run in [senders::ordinary(), senders::full()] {
            let text = results_tables(&run, &page);
            check(&text, &page, run.iter().map(|result| result.params["arch"].clone()))?;
            check_figures(&text, &run, |result| result.metric == "rate")?;
        }
    }
}

#[test]
fn another_list_has_separate_tables_and_unknown_shapes_are_shown_as_points() {
    let mut run = senders::ordinary();
    let mut smaller = run.clone();
    for result in &mut smaller {
        result.params.insert("recipients".to_owned(), "20000".to_owned());
    }
    let mut later = run[0].clone();
    later.params.insert("tls".to_owned(), "required".to_owned());
    run.extend(smaller);
    run.push(later);
    let text = results_tables(&run, &NARROW);
    assert!(text.contains("mail/send (delay=10ms, recipients=20000): "), "{text}");
    assert_eq!(text.matches("recipients accepted per second").count(), 4, "{text}");
    assert!(text.contains("required"), "{text}");
}
