//! JUnit XML, which continuous integration shows as tests.

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use results::{Document, announcement_of};

/// One test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCase {
    /// Its name.
    pub name: String,
    /// Its outcome.
    pub outcome: TestOutcome,
    /// What it says of itself.
    pub output: String,
}

/// Outcome of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestOutcome {
    /// It is good.
    Passed,
    /// It is not good, with the reason.
    Failure(String),
    /// What it judges failed, with the reason.
    Error(String),
    /// It could not be judged, with the reason.
    Skipped(String),
}

/// A test suite. It begins with the first of the runs that the tests are judged by, and its time is that of their rounds; judging
/// takes no time.
pub fn junit(name: &str, figures: &str, tests: &[TestCase], runs: &[Document]) -> String {
    let count = |wanted: fn(&TestOutcome) -> bool| {
        tests.iter().filter(|test| wanted(&test.outcome)).count().to_string()
    };
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let mut suite = BytesStart::new("testsuite");
    suite.push_attribute(("name", legal(name).as_str()));
    suite.push_attribute(("tests", tests.len().to_string().as_str()));
    let failures = count(|outcome| matches!(outcome, TestOutcome::Failure(_)));
    suite.push_attribute(("failures", failures.as_str()));
    let errors = count(|outcome| matches!(outcome, TestOutcome::Error(_)));
    suite.push_attribute(("errors", errors.as_str()));
    let skipped = count(|outcome| matches!(outcome, TestOutcome::Skipped(_)));
    suite.push_attribute(("skipped", skipped.as_str()));
    let seconds: f64 = runs.iter().flat_map(|run| run.run.area_seconds.values()).sum();
    suite.push_attribute(("time", format!("{seconds:.3}").as_str()));
    if let Some(began) = runs.iter().map(|run| run.run.started.as_str()).min() {
        suite.push_attribute(("timestamp", legal(began.trim_end_matches('Z')).as_str()));
    }
    write(&mut writer, Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)));
    write(&mut writer, Event::Start(suite));
    if let Some(line) = announcement_of(figures, runs) {
        let mut property = BytesStart::new("property");
        property.push_attribute(("name", "announcement"));
        property.push_attribute(("value", legal(&line).as_str()));
        write(&mut writer, Event::Start(BytesStart::new("properties")));
        write(&mut writer, Event::Empty(property));
        write(&mut writer, Event::End(BytesEnd::new("properties")));
    }
    for test in tests {
        test_case(&mut writer, test);
    }
    write(&mut writer, Event::End(BytesEnd::new("testsuite")));
    let mut text = String::from_utf8(writer.into_inner()).unwrap_or_default();
    text.push('\n');
    text
}

fn test_case(writer: &mut Writer<Vec<u8>>, test: &TestCase) {
    let mut case = BytesStart::new("testcase");
    case.push_attribute(("classname", "oscost"));
    case.push_attribute(("name", legal(&test.name).as_str()));
    case.push_attribute(("time", "0"));
    write(writer, Event::Start(case));
    let said = match &test.outcome {
        TestOutcome::Passed => None,
        TestOutcome::Failure(why) => Some(("failure", why)),
        TestOutcome::Error(why) => Some(("error", why)),
        TestOutcome::Skipped(why) => Some(("skipped", why)),
    };
    if let Some((name, why)) = said {
        let mut element = BytesStart::new(name);
        element.push_attribute(("message", legal(why).as_str()));
        write(writer, Event::Empty(element));
    }
    write(writer, Event::Start(BytesStart::new("system-out")));
    write(writer, Event::Text(BytesText::new(&legal(&test.output))));
    write(writer, Event::End(BytesEnd::new("system-out")));
    write(writer, Event::End(BytesEnd::new("testcase")));
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
