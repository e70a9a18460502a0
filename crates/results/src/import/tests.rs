use proptest::prelude::*;
use testing::rows;

use super::*;
use crate::export::to_json;
use crate::samples::{any_document, document};

/// The sample document's text with one piece replaced, and the line of that piece.
fn damaged(from: &str, to: &str) -> (String, usize) {
    let text = to_json(&document());
    let at = text.find(from).unwrap_or_else(|| panic!("{from:?} is not in the sample"));
    (text.replacen(from, to, 1), line_at(&text, at))
}

fn lines(text: &str) -> usize {
    line_at(text, text.len())
}

#[test]
fn each_damage_is_named_with_its_line() {
    for [from, to, expected] in rows(
        r#"
        "seed": 18446744073709551615 | "seed": 1.5 | expected u64
        "seed": 18446744073709551615 | "seed": -1 | expected u64
        "seed": 18446744073709551615 | "seed": nan | not valid JSON: expected
        "id": "20261121-203655-4f2a" | "id": "" | the run's id is empty
        "id": "20261121-203655-4f2a" | "id": "../../etc" | characters other than
        "id": "20261121-203655-4f2a" | "id": "--help" | does not begin with a letter or digit
        "id": "20261121-203655-4f2a" | "id": ".." | does not begin with a letter or digit
        "id": "20261121-203655-4f2a" | "id": "last" | always means the newest
        "started": "2026-11-21T20:36:55Z" | "started": "yesterday" | is not a time such as
        "started": "2026-11-21T20:36:55Z" | "started": "2026-13-21T20:36:55Z" | is not a time such as
        "finished": "2026-11-21T20:37:55Z" | "finished": "2026-11-21 20:37:55" | is not a time such as
        "finished": "2026-11-21T20:37:55Z" | "finished": "2026-11-21T20:36:54Z" | finished at 2026-11-21T20:36:54Z, before it started at 2026-11-21T20:36:55Z
        "kernel": "new" | "kernel": 7 | run.tags.kernel: invalid type: integer `7`, expected a string
        "release": "6.1.0" | "os": "6.1.0" | "os" is there twice
        "release": "6.1.0" | "release": ["6.1.0"] | neither a string nor a number
        "case": "syscall/getppid" | "case": "getppid" | not of the form area/name
        "case": "syscall/getppid" | "case": "a/b/c" | not of the form area/name
        "metric": "time" | "metric": "" | metric "" is not a name
        "better": "lower" | "better": "sideways" | unknown variant `sideways`
        "outcome": "measured" | "outcome": "fine" | unknown variant `fine`
        "median": 165.2 | "median": "165.2" | results[0].estimate.median: invalid type: string "165.2", expected f64
        "median": 165.2 | "median": 1e999 | not valid JSON: number out of range
        "median": 165.2 | "medium": 165.2 | results[0].estimate: missing field `median`
        "low": 164.2 | "low": 165.3 | estimate: median 165.2 is below low 165.3
        "high": 167.2 | "high": 1.0 | estimate: high 1 is below median 165.2
        "level": 0.95 | "level": 95 | level 95 is not between 0 and 1
        "p25": 164.0 | "p25": 140 | p25 140 is below p5 161
        "quiet_share": 0.93 | "quiet_share": 93 | quiet_share is not between 0 and 1
        "rounds": 3 | "rounds": -3 | expected u32
        "median": 3.75 | "median": 3.3 | median 3.3 is below low 3.35
        "low": 3.35 | "low": 0 | core_clock_ghz.low is 0, not above 0
        "lock": 20.5 | "lock": -1 | run: area_seconds: lock took -1 s
        "median": 660.8 | "median": 600 | median 600 is below low 656.8
        "high": 668.8 | "high": 1e999 | not valid JSON: number out of range
        "high": 1.04 | "high": 0.96 | high 0.96 is below slope 0.97
        "slope": 0.97 | "slop": 0.97 | results[0].frequency_slope: missing field `slope`
        "alu": 560.0 | "alu": 0 | reference.alu is 0, not above 0
        "chain": 240.0 | "chain": -1.0 | reference.chain is -1, not above 0
        "syscalls": 1.0 | "syscalls": "one" | results[0].per_op.syscalls: invalid type: string
        "outcome": "unsupported" | "outcome": "measured" | measured, but there is no estimate
        "reason": "no SysV | "raeson": "no SysV | not measured, but there is no reason why
        "case": "lock/sysv-sem" | "case": "lock/sysv-sem", "case": "a/b" | results[1]: duplicate field `case`
        "results": [ | "results": [7, | results[0]: invalid type: integer `7`, expected struct CaseResult
        "#,
    ) {
        let (text, line) = damaged(from, to);
        let error = parse_document(&text).expect_err(to);
        assert!(error.message.contains(expected), "{to}: {error}");
        // Reading stops at the line of the wrong value, or after the object that breaks a rule.
        let closing = if error.message.starts_with("results") { "    }" } else { "  }" };
        let ends = text.lines().skip(line).position(|later| later.starts_with(closing));
        let end = line + 2 + ends.unwrap_or(0);
        assert!((line..=end).contains(&error.line), "{to}: {error}, {line} to {end}");
    }
}

#[test]
fn other_schemas_are_refused_with_the_remedy() {
    let newer = "made by a newer oscost: schema 3, this build reads 1; use that oscost";
    let development = "made by a development build of oscost before 0.1";
    for (schema, words) in [
        ("0", "not an oscost document: schema is 0, expected 1"),
        ("\"1\"", "not an oscost document: schema is \"1\", expected 1"),
        ("3", newer),
        ("2", development),
        ("2", "scripts/convert-runs"),
    ] {
        let (text, _) = damaged(r#""schema": 1"#, &format!(r#""schema": {schema}"#));
        let error = parse_document(&text).expect_err(schema);
        assert!(error.line == 1 && error.message.contains(words), "{error}");
    }
    // Documents of the first development builds have the schema number 1 too, but no `area_seconds`.
    let (text, _) = damaged("area_seconds", "seconds_of_areas");
    let error = parse_document(&text).expect_err("another schema 1");
    let words = format!("{development}, which this build does not read: measure again");
    assert_eq!((error.line, error.message), (1, words));
}

#[test]
fn what_holds_more_than_a_document_can_is_refused() {
    let zeros = |count: usize| vec!["0"; count].join(",");
    let long = "x".repeat(1 << 20);
    let facts = |count: usize, length: usize| {
        let value = "x".repeat(length);
        (0..count).map(|n| format!("\"f{n}\": \"{value}\", ")).collect::<String>()
    };
    for (from, to, expected) in [
        (
            "\"round_values\": [",
            format!("\"round_values\": [{},", zeros(100_001)),
            "\"round_values\" has more than 100000 elements, the limit",
        ),
        ("\"schema\": 1", format!("\"schema\": [{}]", zeros(90_000)), "schema is [], expected 1"),
        (
            "\"schema\": 1",
            format!(
                "\"more\": [{}], \"schema\": 1",
                vec!["{}"; 99_000].join(",") + &format!(",[{}]", zeros(99_999)).repeat(50)
            ),
            "the document: what is read has more than 112 MiB, the limit",
        ),
        (
            "\"release\": \"6.1.0\"",
            format!("\"release\": \"{long}\""),
            "\"release\" has more than 262144 bytes, the limit",
        ),
        (
            "\"release\": \"6.1.0\"",
            format!("\"release\": [{}]", zeros(90_000)),
            "release is neither a string nor a number",
        ),
        (
            "\"release\": ",
            format!("{}\"release\": ", facts(1_000, 1)),
            "has more than 1000 members, the limit",
        ),
        (
            "\"release\": ",
            format!("{}\"release\": ", facts(9, 200_000)),
            "facts about the machine have 18",
        ),
        ("\"kernel\": ", format!("{}\"kernel\": ", facts(9, 200_000)), "tags and options have 18"),
        (
            "\"results\": [",
            format!("\"results\": [{}", "{},".repeat(100_001)),
            "\"results\" has more than 100000 elements, the limit",
        ),
    ] {
        let (text, _) = damaged(from, &to);
        let error = parse_document(&text).expect_err(expected);
        assert!(error.message.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn an_error_within_a_result_names_the_result() {
    let (text, _) = damaged(r#""low": 164.2"#, r#""low": 166.0"#);
    let error = parse_document(&text).expect_err("low is above the median");
    let said = "results[0]: syscall/getppid{as=threads,workers=2} time: estimate: median 165.2 is below low 166";
    assert_eq!(error.message, said);
    // A result that is there twice is named with both places.
    let mut twice = document();
    twice.results.push(twice.results[0].clone());
    let error = parse_document(&to_json(&twice)).expect_err("a duplicate");
    assert!(error.message.contains("getppid{as=threads,workers=2} time appears twice"), "{error}");
    assert!(error.message.ends_with(": results[0] and results[2]"), "{error}");
}

#[test]
fn text_that_is_no_document_is_rejected_at_its_first_line() {
    let table = [
        ("", "line 1: not an oscost document: it does not begin with `{`"),
        ("\n\nrun,case,params", "line 3: not an oscost document: it does not begin with `{`"),
        ("[1, 2]", "line 1: not an oscost document: it does not begin with `{`"),
        ("\n{\"name\": \"package\"}", "line 2: not an oscost document: there is no \"schema\""),
        ("{\"schema\": 1}", "line 1: not an oscost document: there is no \"run\""),
        ("{\"schema\": 1,\n\"run\": {\"area_seconds\": {}}}", "line 2: run: missing field `id`"),
        (
            "{\"schema\": 1, \"run\": {\"id\": \"a\", \"started\": \"2026-11-21T20:36:55Z\", \"seed\": 1, \"oscost\": \"0\", \"area_seconds\": {}}}",
            "line 1: the document: missing field `machine`",
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
    let error = parse_document(&unknown).expect_err("also in an unknown key");
    assert!(error.message.contains("recursion limit"), "{error}");
    let (unknown, _) = damaged("\"metric\"", "\"later\": [[{}]], \"metric\"");
    assert_eq!(parse_document(&unknown), Ok(document()), "an unknown key is passed over");
    let seed = r#""seed": 18446744073709551615"#;
    for key in [r#""schema": 1"#, r#""release": "6.1.0""#, seed, r#""median": 165.2"#] {
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
    let (text, _) = damaged(r#""6.1.0""#, inner);
    let error = parse_document(&text).expect_err("an object");
    assert!(error.message.contains("release is neither a string nor a number"), "{error}");
    let (text, _) = damaged(r#""release""#, r#""$serde_json::private::RawValue""#);
    let machine = parse_document(&text).expect("an odd name").machine;
    assert_eq!(machine["$serde_json::private::RawValue"], "6.1.0");
}

#[test]
fn a_text_has_a_limit() {
    let long = format!("{{\n{}", " ".repeat(MAX_TEXT_BYTES));
    let error = parse_document(&long).expect_err("too long");
    let limit = "line 2: the text is longer than 64 MiB, the limit for a document";
    assert_eq!(error.to_string(), limit);
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
