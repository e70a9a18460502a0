use proptest::prelude::*;

use super::*;
use crate::export::to_json;
use crate::samples::{any_document, document};

/// The sample document's text with one piece replaced, and the line that piece is on.
fn damaged(from: &str, to: &str) -> (String, u64) {
    let text = to_json(&document());
    let at = text.find(from).unwrap_or_else(|| panic!("{from:?} is not in the sample"));
    (text.replacen(from, to, 1), line_at(&text, at))
}

fn lines(text: &str) -> u64 {
    line_at(text, text.len())
}

#[test]
fn each_damage_is_named_with_its_line() {
    let table = [
        (
            r#""schema": 2"#,
            r#""schema": 3"#,
            "made by a newer oscost: schema 3, this build reads 2",
        ),
        (
            r#""schema": 2"#,
            r#""schema": 0"#,
            "not an oscost document: schema is 0, expected 1 to 2",
        ),
        (
            r#""schema": 2"#,
            r#""schema": "1""#,
            "not an oscost document: schema is \"1\", expected 1 to 2",
        ),
        (r#""seed": 18446744073709551615"#, r#""seed": 1.5"#, "expected u64"),
        (r#""seed": 18446744073709551615"#, r#""seed": -1"#, "expected u64"),
        (r#""seed": 18446744073709551615"#, r#""seed": nan"#, "not valid JSON: expected"),
        (r#""id": "20261121-203655-4f2a""#, r#""id": """#, "the run's id is empty"),
        (r#""id": "20261121-203655-4f2a""#, r#""id": "../../etc""#, "characters other than"),
        (r#""id": "20261121-203655-4f2a""#, r#""id": "last""#, "always means the newest"),
        (
            r#""started": "2026-11-21T20:36:55Z""#,
            r#""started": "yesterday""#,
            "is not a time such as",
        ),
        (
            r#""started": "2026-11-21T20:36:55Z""#,
            r#""started": "2026-13-21T20:36:55Z""#,
            "is not a time such as",
        ),
        (
            r#""finished": "2026-11-21T20:37:55Z""#,
            r#""finished": "2026-11-21 20:37:55""#,
            "is not a time such as",
        ),
        (r#""kernel": "new""#, r#""kernel": 7"#, "invalid type: integer `7`, expected a string"),
        (r#""release": "6.1.0""#, r#""os": "6.1.0""#, "\"os\" is there twice"),
        (r#""release": "6.1.0""#, r#""release": ["6.1.0"]"#, "neither a string nor a number"),
        (r#""case": "syscall/getppid""#, r#""case": "getppid""#, "not of the form area/name"),
        (r#""case": "syscall/getppid""#, r#""case": "a/b/c""#, "not of the form area/name"),
        (r#""metric": "time""#, r#""metric": """#, "metric \"\" is not a name"),
        (r#""better": "lower""#, r#""better": "sideways""#, "unknown variant `sideways`"),
        (r#""outcome": "measured""#, r#""outcome": "fine""#, "unknown variant `fine`"),
        (r#""median": 165.2"#, r#""median": "165.2""#, "invalid type: string"),
        (r#""median": 165.2"#, r#""median": 1e999"#, "number out of range"),
        (r#""median": 165.2"#, r#""medium": 165.2"#, "\"median\" is missing"),
        (r#""low": 164.2"#, r#""low": 165.3"#, "low 165.3 is above the median 165.2"),
        (r#""high": 167.2"#, r#""high": 1.0"#, "high 1 is below the median 165.2"),
        (r#""level": 0.95"#, r#""level": 95"#, "level 95 is not between 0 and 1"),
        (r#""p25": 164.0"#, r#""p25": 140"#, "p25 140 is below p5 161"),
        (r#""quiet_share": 0.93"#, r#""quiet_share": 93"#, "quiet_share is not between 0 and 1"),
        (r#""rounds": 3"#, r#""rounds": -3"#, "expected u32"),
        (r#""median": 3.75"#, r#""median": 3.3"#, "median 3.3 is below low 3.35"),
        (r#""low": 3.35"#, r#""low": 0"#, "core_clock_ghz.low is 0, not above 0"),
        (r#""lock": 20.5"#, r#""lock": -1"#, "area_seconds: lock took -1 s"),
        (r#""median": 660.8"#, r#""median": 600"#, "median 600 is below low 656.8"),
        (r#""high": 668.8"#, r#""high": 1e999"#, "number out of range"),
        (r#""high": 1.04"#, r#""high": 0.96"#, "high 0.96 is below slope 0.97"),
        (r#""slope": 0.97"#, r#""slop": 0.97"#, "\"slope\" is missing"),
        (r#""calls": 681.0"#, r#""calls": 0"#, "reference.calls is 0, not above 0"),
        (r#""chain": 240.0"#, r#""chain": -1.0"#, "reference.chain is -1, not above 0"),
        (r#""syscalls": 1.0"#, r#""syscalls": "one""#, "invalid type: string"),
        (
            r#""outcome": "unsupported""#,
            r#""outcome": "measured""#,
            "measured, but there is no estimate",
        ),
        (
            r#""reason": "no SysV"#,
            r#""raeson": "no SysV"#,
            "not measured, but there is no reason why",
        ),
        (
            r#""case": "lock/sysv-sem""#,
            r#""case": "lock/sysv-sem", "case": "a/b""#,
            "\"case\" is there twice",
        ),
        (r#""results": ["#, r#""results": [7,"#, "invalid type: integer `7`, expected an object"),
    ];
    for (from, to, expected) in table {
        let (text, line) = damaged(from, to);
        let error = parse_document(&text).expect_err(to);
        assert!(error.message.contains(expected), "{to}: {error}");
        let line = match expected {
            // Without the key, it is the object or the outcome that is wrong.
            "\"median\" is missing" | "\"slope\" is missing" => line - 1,
            "area_seconds: lock took -1 s" => line - 1,
            "not measured, but there is no reason why" => line - 1,
            _ => line,
        };
        assert_eq!(error.line, line, "{to}: {error}");
    }
}

#[test]
fn an_error_within_a_result_names_the_result() {
    let (text, _) = damaged(r#""low": 164.2"#, r#""low": 166.0"#);
    let error = parse_document(&text).expect_err("low is above the median");
    let label = "syscall/getppid{as=threads,workers=2} time: ";
    assert!(error.message.starts_with(label), "{error}");
}

#[test]
fn a_result_that_is_there_twice_is_named_with_both_lines() {
    let mut twice = document();
    twice.results.push(twice.results[0].clone());
    let text = to_json(&twice);
    let second = text.rfind("\"syscall/getppid\"").expect("it is there");
    let error = parse_document(&text).expect_err("a duplicate");
    assert_eq!(error.line, line_at(&text, second));
    let first = text.find("\"case\"").expect("it is there");
    let opening = line_at(&text, first) - 1;
    assert!(error.message.ends_with(&format!("are on line {opening}")), "{error}");
}

#[test]
fn text_that_is_no_document_is_rejected_at_its_first_line() {
    let table = [
        ("", "line 1: not an oscost document: it does not begin with `{`"),
        ("\n\nrun,case,params", "line 3: not an oscost document: it does not begin with `{`"),
        ("[1, 2]", "line 1: not an oscost document: it does not begin with `{`"),
        ("\n{\"name\": \"package\"}", "line 2: not an oscost document: there is no \"schema\""),
        ("{\"schema\": 1}", "line 1: not an oscost document: there is no \"run\""),
        ("{\"schema\": 1,\n\"run\": {}}", "line 2: \"id\" is missing"),
        (
            "{\"schema\": 1, \"run\": {\"id\": \"a\", \"started\": \"2026-11-21T20:36:55Z\", \"seed\": 1, \"oscost\": \"0\"}}",
            "line 1: \"machine\" is missing",
        ),
        ("{\"schema\": 1,\n", "line 2: not valid JSON: EOF while parsing a value"),
        ("{}\n{}", "line 2: not valid JSON: trailing characters"),
    ];
    for (text, expected) in table {
        assert_eq!(parse_document(text).expect_err(text).to_string(), expected);
    }
}

#[test]
fn a_byte_order_mark_windows_lines_and_unknown_keys_are_no_damage() {
    let text = to_json(&document());
    let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(parse_document(&windows), Ok(document()));
    let later = text
        .replacen("\"metric\"", "\"colour\": {\"of\": [1, {}]}, \"metric\"", 2)
        .replacen("\"run\"", "\"weather\": null, \"run\"", 1);
    assert_eq!(parse_document(&later), Ok(document()));
}

#[test]
fn deep_nesting_overflows_no_stack() {
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let (unknown, _) = damaged("\"metric\"", &format!("\"later\": {deep}, \"metric\""));
    assert_eq!(parse_document(&unknown), Ok(document()), "an unknown key is passed over");
    for key in [
        "\"schema\": 2",
        "\"release\": \"6.1.0\"",
        "\"seed\": 18446744073709551615",
        "\"median\": 165.2",
    ] {
        let name = key.split(':').next().expect("a key");
        let (text, line) = damaged(key, &format!("{name}: {deep}"));
        let error = parse_document(&text).expect_err(key);
        assert_eq!(error.line, line, "{error}");
    }
    parse_document(&"{\"a\":".repeat(1_000_000)).expect_err("it never ends");
}

#[test]
fn keys_serde_json_keeps_for_itself_mean_nothing() {
    let inner = r#"{"$serde_json::private::RawValue": "[[]]"}"#;
    let (text, line) = damaged(r#""6.1.0""#, inner);
    assert_eq!(parse_document(&text).expect_err("an object").line, line);
    let (text, _) = damaged(r#""release""#, r#""$serde_json::private::RawValue""#);
    let machine = parse_document(&text).expect("an odd name").machine;
    assert_eq!(machine["$serde_json::private::RawValue"], "6.1.0");
}

#[test]
fn texts_and_lists_have_limits() {
    let long = format!("{{\n{}", " ".repeat(MAX_TEXT_BYTES));
    let error = parse_document(&long).expect_err("too long");
    assert_eq!(
        error.to_string(),
        "line 2: the text is longer than 64 MiB, the limit for a document"
    );
    let many = format!("\"results\": [{}7", "7,\n".repeat(MAX_RESULTS));
    let (text, line) = damaged("\"results\": [", &format!("{many}],\"rest\": ["));
    let error = parse_document(&text).expect_err("too many");
    assert!(error.message.contains("more than 1000000"), "{error}");
    assert_eq!(error.line, line + MAX_RESULTS as u64);
}

#[test]
fn a_message_is_one_short_line_whatever_the_text_holds() {
    let value = "\\n\\u001b[2J".repeat(1000);
    for (from, to) in
        [("\"lower\"", format!("\"{value}\"")), ("\"6.1.0\"", format!("\"a\", \"{value}\": []"))]
    {
        let (text, _) = damaged(from, &to);
        let message = parse_document(&text).expect_err(from).to_string();
        assert!(!message.contains(char::is_control) && message.chars().count() < 300, "{message}");
    }
}

proptest! {
    #[test]
    fn exported_documents_are_imported_equal(document in any_document()) {
        let text = to_json(&document);
        prop_assert_eq!(parse_document(&text), Ok(document.clone()));
        prop_assert_eq!(to_json(&parse_document(&text).expect("just read")), text);
    }

    #[test]
    fn a_changed_byte_never_panics_and_errors_name_a_line(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = to_json(&document()).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let text = String::from_utf8_lossy(&bytes);
        check_any_text(&text)?;
    }

    #[test]
    fn a_cut_or_spliced_text_never_panics_and_errors_name_a_line(
        cut in any::<prop::sample::Index>(),
        skip in any::<prop::sample::Index>(),
        piece in r#"[\[\]{}",:0-9eE.+-]{0,6}|null|true|"[a-z]{0,5}":"#,
    ) {
        let text = to_json(&document());
        let cut = cut.index(text.len());
        let rest = cut + skip.index(text.len() - cut);
        check_any_text(&text[..cut])?;
        check_any_text(&format!("{}{piece}{}", &text[..cut], &text[rest..]))?;
    }

    #[test]
    fn any_text_is_refused_with_a_line(text in "(?s).{0,200}") {
        check_any_text(&text)?;
    }
}

fn check_any_text(text: &str) -> Result<(), TestCaseError> {
    match parse_document(text) {
        Ok(document) => prop_assert_eq!(document.check(), Ok(())),
        Err(error) => {
            prop_assert!((1..=lines(text)).contains(&error.line), "{}", error);
            prop_assert!(!error.message.contains(char::is_control));
        }
    }
    Ok(())
}

/// Made by `oscost export` before schema 2 and shortened.
const SCHEMA_1: &str = include_str!("../../tests/fixtures/schema-1.json");

#[test]
fn a_document_of_schema_1_keeps_its_figures() {
    let read = parse_document(SCHEMA_1).expect("schema 1 is read");
    assert_eq!((read.schema, read.run.core_clock_ghz, read.run.area_seconds.len()), (2, None, 0));
    let raw: serde_json::Value = serde_json::from_str(SCHEMA_1).expect("JSON");
    let was = raw["results"].as_array().expect("results");
    assert_eq!(read.results.len(), was.len());
    for (result, was) in read.results.iter().zip(was) {
        let now = serde_json::to_value(result).expect("JSON");
        for figure in ["estimate", "round_values", "seen", "quiet_quartiles", "disturbed"] {
            assert_eq!(now.get(figure), was.get(figure), "{figure} of {}", result.label());
        }
        assert_eq!((result.cycles, result.frequency_slope), (None, None));
    }
    assert_eq!(parse_document(&to_json(&read)), Ok(read));
}

#[test]
fn calls_of_0_in_schema_1_mean_that_calls_were_not_in_use() {
    let calls = |schema: u32, calls: &str| {
        let (text, _) = damaged(r#""calls": 681.0"#, &format!(r#""calls": {calls}"#));
        let text = text.replacen(r#""schema": 2"#, &format!(r#""schema": {schema}"#), 1);
        parse_document(&text).map(|read| read.results[0].reference.expect("there").calls)
    };
    assert_eq!(calls(1, "0.0"), Ok(None));
    assert_eq!(calls(1, "681.0"), Ok(Some(681.0)));
    calls(2, "0.0").expect_err("schema 2 leaves it out");
}
