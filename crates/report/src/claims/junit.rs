//! Claims with their verdicts as JUnit XML, which continuous integration shows as tests.

use analysis::claim::{ClaimVerdict, JudgedClaim};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use results::{Document, announcement_of};

use super::wording::{left_out, quantity, side};

/// A test suite with one test case for each claim. A claim that fails is a failure; one that is undecided or not measurable is
/// skipped. The suite begins with the first of the runs that the claims are judged by, and its time is that of their rounds;
/// judging takes no time.
pub fn claims_junit(title: Option<&str>, claims: &[JudgedClaim], runs: &[Document]) -> String {
    let count = |wanted| claims.iter().filter(|claim| kind(claim) == wanted).count();
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let mut suite = BytesStart::new("testsuite");
    suite.push_attribute(("name", legal(title.unwrap_or("claims")).as_str()));
    suite.push_attribute(("tests", claims.len().to_string().as_str()));
    suite.push_attribute(("failures", count(TestOutcome::Failure).to_string().as_str()));
    suite.push_attribute(("errors", "0"));
    suite.push_attribute(("skipped", count(TestOutcome::Skipped).to_string().as_str()));
    let seconds: f64 = runs.iter().flat_map(|run| run.run.area_seconds.values()).sum();
    suite.push_attribute(("time", format!("{seconds:.3}").as_str()));
    if let Some(began) = runs.iter().map(|run| run.run.started.as_str()).min() {
        suite.push_attribute(("timestamp", legal(began.trim_end_matches('Z')).as_str()));
    }
    write(&mut writer, Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)));
    write(&mut writer, Event::Start(suite));
    if let Some(line) = announcement_of("figures", runs) {
        let mut property = BytesStart::new("property");
        property.push_attribute(("name", "emulated"));
        property.push_attribute(("value", legal(&line).as_str()));
        write(&mut writer, Event::Start(BytesStart::new("properties")));
        write(&mut writer, Event::Empty(property));
        write(&mut writer, Event::End(BytesEnd::new("properties")));
    }
    for claim in claims {
        test_case(&mut writer, claim);
    }
    write(&mut writer, Event::End(BytesEnd::new("testsuite")));
    let mut text = String::from_utf8(writer.into_inner()).unwrap_or_default();
    text.push('\n');
    text
}

/// Outcome of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestOutcome {
    Passed,
    Failure,
    Skipped,
}

fn kind(claim: &JudgedClaim) -> TestOutcome {
    match claim.verdict {
        ClaimVerdict::Holds => TestOutcome::Passed,
        ClaimVerdict::Fails => TestOutcome::Failure,
        ClaimVerdict::Undecided | ClaimVerdict::NotMeasurable => TestOutcome::Skipped,
    }
}

fn test_case(writer: &mut Writer<Vec<u8>>, judged: &JudgedClaim) {
    let mut case = BytesStart::new("testcase");
    case.push_attribute(("classname", "oscost"));
    case.push_attribute(("name", legal(&judged.claim.name).as_str()));
    case.push_attribute(("time", "0"));
    write(writer, Event::Start(case));
    let name = match kind(judged) {
        TestOutcome::Passed => None,
        TestOutcome::Failure => Some("failure"),
        TestOutcome::Skipped => Some("skipped"),
    };
    if let Some(name) = name {
        let said = match judged.note.is_empty() {
            true => judged.verdict.word().to_owned(),
            false => format!("{}: {}", judged.verdict.word(), judged.note),
        };
        let mut element = BytesStart::new(name);
        element.push_attribute(("message", legal(&said).as_str()));
        write(writer, Event::Empty(element));
    }
    write(writer, Event::Start(BytesStart::new("system-out")));
    write(writer, Event::Text(BytesText::new(&legal(&details(judged)))));
    write(writer, Event::End(BytesEnd::new("system-out")));
    write(writer, Event::End(BytesEnd::new("testcase")));
}

/// The claim's sentence, and the figures.
fn details(judged: &JudgedClaim) -> String {
    let mut lines = vec![judged.claim.sentence.clone()];
    for comparison in &judged.comparisons {
        lines.push(side(&comparison.a, comparison));
        lines.extend(comparison.b.as_ref().map(|b| side(b, comparison)));
        lines.extend(
            quantity(comparison).map(|said| format!("{said}: {}", comparison.verdict.word())),
        );
    }
    lines.extend(left_out(judged).map(|points| format!("left out: {points}")));
    lines.join("\n")
}

/// Writes an event to memory, which does not fail.
fn write(writer: &mut Writer<Vec<u8>>, event: Event) {
    writer.write_event(event).expect("memory takes what is written");
}

/// Text without the characters that XML 1.0 forbids even if escaped (section 2.2).
fn legal(text: &str) -> String {
    let is_legal = |c: &char| match c {
        '\t' | '\n' | '\r' => true,
        c if *c < ' ' => false,
        '\u{fffe}' | '\u{ffff}' => false,
        _ => true,
    };
    text.chars().filter(is_legal).collect()
}
