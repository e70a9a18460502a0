//! The tables of the area `mail`, at usual widths.

#[path = "support/senders.rs"]
mod senders;

use insta::assert_snapshot;
use report::{Page, closing_line, results_tables};
use unicode_width::UnicodeWidthStr;

const NARROW: Page = Page { width: 80, colour: false, unicode: true };

#[test]
fn an_ordinary_run() {
    let run = senders::ordinary();
    assert_snapshot!("mail_80", results_tables(&run, &NARROW));
    assert_snapshot!("mail_120", results_tables(&run, &Page { width: 120, ..NARROW }));
    assert_eq!(closing_line(&run, None, &NARROW), "16 cases: 16 measured\n");
}

#[test]
fn all_levels_with_trouble() {
    assert_snapshot!("mail_full_80", results_tables(&senders::full(), &NARROW));
}

#[test]
fn a_plain_page_has_plain_characters() {
    let text = results_tables(&senders::full(), &Page { unicode: false, ..NARROW });
    assert!(text.is_ascii(), "{text}");
}

#[test]
fn no_line_is_wider_than_the_page() {
    let run = [senders::ordinary(), senders::full()].concat();
    for width in 60..200 {
        for line in results_tables(&run, &Page { width, ..NARROW }).lines() {
            assert!(line.width() <= width, "{} of {width}: {line}", line.width());
            assert_eq!(line, line.trim_end());
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
