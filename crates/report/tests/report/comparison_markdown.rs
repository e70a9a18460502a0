//! A comparison as Markdown, read by a parser of it.

use std::collections::BTreeMap;

use analysis::{Difference, Ratio, Verdict};
use pulldown_cmark::{Event, Options, Parser, Tag};
use report::{Cell, CompareCell, CompareRow, Comparison, comparison_markdown};
use results::PointKey;

fn comparison(names: impl Iterator<Item = (String, f64, Verdict)>) -> Comparison {
    let row = |(case, mid, verdict): (String, f64, Verdict)| {
        let cell = |median: f64| Cell { median, low: median, high: median, unit: "ns/op".into() };
        let new = CompareCell {
            figure: Some(cell(100.0 * mid)),
            ratio: Some(Ratio { mid, low: mid * 0.99, high: mid * 1.01 }),
            floor: 0.0,
            verdict,
            note: "a <note> with | and `code`".into(),
        };
        CompareRow {
            point: PointKey { case, params: BTreeMap::new() },
            metric: "time".into(),
            base: Some(cell(100.0)),
            news: vec![Some(new)],
            host_calls: Vec::new(),
        }
    };
    let values = vec!["a|b".to_owned(), "<script>".to_owned()];
    Comparison {
        by: "run".into(),
        columns: vec!["base".into(), "new".into()],
        runs: vec![("base".into(), "x on *y*".into()), ("new".into(), "z".into())],
        also_differs: vec![Difference {
            role: analysis::Role::Subject,
            key: "kernel".into(),
            values,
        }],
        facts: Vec::new(),
        all: false,
        noise_floor: vec!["smallest detectable difference: 4.4 %".into()],
        rows: names.map(row).collect(),
    }
}

/// The cells of all rows of all tables, and the elements of HTML.
fn parsed(text: &str) -> (Vec<Vec<String>>, Vec<String>) {
    let (mut rows, mut elements): (Vec<Vec<String>>, Vec<String>) = Default::default();
    let mut is_in_cell = false;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::TableRow) => rows.push(Vec::new()),
            Event::Start(Tag::TableCell) => {
                is_in_cell = true;
                if let Some(row) = rows.last_mut() {
                    row.push(String::new());
                }
            }
            Event::End(pulldown_cmark::TagEnd::TableCell) => is_in_cell = false,
            Event::Text(text) | Event::Code(text) if is_in_cell => {
                if let Some(cell) = rows.last_mut().and_then(|row| row.last_mut()) {
                    cell.push_str(&text);
                }
            }
            Event::Html(html) | Event::InlineHtml(html) => elements.push(html.trim().to_owned()),
            _ => {}
        }
    }
    (rows, elements)
}

#[test]
fn losses_come_first_and_nothing_of_a_name_is_markup() {
    let rows = [
        ("net/<b>|`x`", 1.0, Verdict::CannotTell),
        ("syscall/a", 0.5, Verdict::Faster),
        ("syscall/b", 1.1, Verdict::Slower),
        ("syscall/c", 1.3, Verdict::Slower),
        ("syscall/d", 1.0, Verdict::Same),
    ];
    let rows = rows.into_iter().map(|(case, mid, verdict)| (case.to_owned(), mid, verdict));
    let text = comparison_markdown(&comparison(rows), "2 of 5 worse by more than 5 %: a<b>", &[]);
    let (rows, elements) = parsed(&text);
    let named: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(named, ["syscall/c", "syscall/b", "syscall/a", "net/<b>|'x'"], "{text}");
    assert_eq!(rows[0][1..5], ["100 ns", "130 ns", "1.300 (1.287 to 1.313)", "slower"]);
    assert_eq!(rows[3][5], "a <note> with | and `code`");
    let allowed = ["<details>", "</details>", "<summary>"];
    let is_allowed = |html: &String| allowed.iter().any(|start| html.starts_with(start));
    assert!(elements.iter().all(is_allowed), "{elements:?}");
    assert!(text.contains("same: 1") && text.contains("`syscall/d`"), "{text}");
}

#[test]
fn a_comparison_of_any_size_fits_into_a_comment() {
    let verdicts = [Verdict::Slower, Verdict::CannotTell, Verdict::Same, Verdict::Faster];
    let rows = (0..4_000).map(|n| (format!("area/{:0>80}", n), 1.5, verdicts[n % 4]));
    let text = comparison_markdown(&comparison(rows), "1000 of 4000 worse", &[]);
    assert!(text.chars().count() <= 60_000, "{}", text.len());
    let (rows, _) = parsed(&text);
    assert!(rows.len() > 100, "{}", rows.len());
    assert!(text.contains(" more."), "what is left out is counted");
    let folds = |tag: &str| text.matches(tag).count();
    assert_eq!(folds("<details>"), folds("</details>"));
}
