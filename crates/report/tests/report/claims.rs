//! Claims with their verdicts: text, Markdown and JUnit XML.

use analysis::claim::{ClaimFile, JudgedClaim, judge};
use insta::assert_snapshot;
use report::{Page, claims_junit, claims_markdown, claims_text};
use results::{CaseResult, Document, Estimate, Outcome};

const FILE: &str = r#"
[[claim]]
name = "slower"
sentence = "System V semaphores cost at least 10 % more than process-shared POSIX ones."
source = "an experiment"
a.case = "lock/sysv-sem"
b.case = "lock/posix-sem-shared"
relation = "ratio >= 1.10"
scope = "for all"

[[claim]]
name = "fast"
sentence = "A semaphore takes less than 100 ns, <b>always</b> | & \"so\"."
a = { case = "lock/sysv-sem", params = { workers = 2 } }
relation = "< 100 ns"

[[claim]]
name = "equal"
sentence = "Both are alike."
a = { case = "lock/sysv-sem", params = { workers = 2 } }
b.case = "lock/posix-sem-shared"
relation = "within 19.5 %"

[[claim]]
name = "crossing"
sentence = "They never cross."
a.case = "lock/sysv-sem"
b.case = "lock/posix-sem-shared"
relation = "crosses >= 1"
over = "workers"

[[claim]]
name = "elsewhere"
sentence = "Windows 95 is slower."
missing = "Windows 95"
"#;

fn row(case: &str, workers: usize, median: f64) -> CaseResult {
    let round = |i: i32| median * (1.0 + 0.001 * f64::from((i * 5) % 11 - 5));
    let rounds: Vec<f64> = (0..12).map(round).collect();
    let (low, high) = (median * 0.995, median * 1.005);
    CaseResult {
        estimate: Some(Estimate { median, low, high, level: 0.95 }),
        ..simulated::rounds_of((case, [("workers", &*workers.to_string())]), &rounds)
    }
}

/// A run of two locks.
fn run() -> Document {
    crate::install();
    let text = r#"{"schema":1,"run":{"id":"x","started":"2026-11-21T00:00:00Z","seed":1,"oscost":"0",
                   "area_seconds":{"clock":0.25,"lock":3.5}},"machine":{"os":"Linux"},"results":[]}"#;
    let mut document: Document = results::parse_document(text).unwrap();
    document.results = vec![
        row("lock/sysv-sem", 1, 200.0),
        row("lock/sysv-sem", 2, 300.0),
        row("lock/posix-sem-shared", 1, 100.0),
        row("lock/posix-sem-shared", 2, 250.0),
    ];
    document
}

fn judged() -> Vec<JudgedClaim> {
    judge(&ClaimFile::parse(FILE).unwrap().claims, &[run()])
}

/// A claim about three points, one of which the system lacks.
fn with_a_point_left_out() -> Vec<JudgedClaim> {
    let mut document = run();
    let mut lacking = row("lock/sysv-sem", 4, 1.0);
    (lacking.outcome, lacking.estimate) = (Outcome::Unsupported, None);
    lacking.reason = Some("no room for <4> workers".to_owned());
    document.results.push(lacking);
    let first = FILE.split("[[claim]]").nth(1).unwrap();
    judge(&ClaimFile::parse(&format!("[[claim]]{first}")).unwrap().claims, &[document])
}

#[test]
fn claims_are_readable_at_80_columns() {
    let page = Page { width: 80, colour: false, unicode: true, this_run: false };
    let text = claims_text(Some("Locks"), &judged(), &page);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_snapshot!(text);
    let counts = "5 claims: 2 hold, 1 fails, 1 undecided, 1 not measurable\n";
    assert!(claims_text(None, &judged(), &page).starts_with(counts), "the counts come first");
}

#[test]
fn markdown_shows_foreign_text_as_it_is() {
    let text = claims_markdown(None, &judged(), &[]);
    assert!(text.contains("\\<b\\>always\\</b\\> \\| \\&"), "{text}");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    let is_row = |row: &&str| row.matches(" | ").count() == 5 || row.starts_with("|---");
    assert!(rows.iter().all(is_row), "{text}");
}

#[test]
fn junit_is_well_formed_and_counts_failures() {
    let mut claims = judged();
    claims[0].claim.sentence.push_str(" \u{1b}[2J \u{0} ]]> <x>");
    let text = claims_junit(Some("a <title> & \"more\""), &claims, &[run()]);
    assert!(text.contains("tests=\"5\" failures=\"1\" errors=\"0\" skipped=\"2\""), "{text}");
    assert!(text.contains("time=\"3.750\" timestamp=\"2026-11-21T00:00:00\""), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{0}') && !text.contains("<x>"), "{text}");
    let mut reader = quick_xml::Reader::from_str(&text);
    let (mut depth, mut cases) = (0, 0);
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Start(start) => {
                depth += 1;
                cases += usize::from(start.name().as_ref() == "testcase");
            }
            quick_xml::events::Event::End(_) => depth -= 1,
            quick_xml::events::Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!((depth, cases), (0, 5));
}

#[test]
fn emulated_systems_are_announced_before_the_claims() {
    let mut emulated = run();
    emulated.machine.insert(results::EMULATED.to_owned(), "emulated by QEMU (TCG)".into());
    let line = "EMULATED (no KVM): these figures count instructions, not time";
    let markdown = claims_markdown(None, &judged(), std::slice::from_ref(&emulated));
    assert!(markdown.starts_with(&format!("# Claims\n\n**{line}**\n")), "{markdown}");
    let junit = claims_junit(None, &judged(), std::slice::from_ref(&emulated));
    let (property, case) = (junit.find(line), junit.find("<testcase"));
    assert!(property.is_some() && property < case, "{junit}");
    assert!(!claims_junit(None, &judged(), &[run()]).contains("EMULATED"));
}

#[test]
fn what_is_left_out_is_named_in_each_form() {
    let claims = with_a_point_left_out();
    assert_eq!(claims[0].verdict.word(), "holds");
    let point = "lock/sysv-sem{workers=4} is unsupported: no room for <4> workers";
    let page = Page { width: 120, colour: false, unicode: true, this_run: false };
    let text = claims_text(None, &claims, &page);
    assert!(text.contains(&format!("    left out: {point}\n")), "{text}");
    let markdown = claims_markdown(None, &claims, &[]);
    let escaped = "Left out: lock/sysv-sem\\{workers=4\\} is unsupported";
    assert!(markdown.contains(escaped), "{markdown}");
    let junit = claims_junit(None, &claims, &[]);
    assert!(junit.contains("left out: lock/sysv-sem{workers=4} is unsupported"), "{junit}");
}
