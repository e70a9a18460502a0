//! Wrong usage: one line with the problem, its location and the remedy; exit code 2.

use crate::common::{Bench, CASE, PROGRAM, SHORT, finish, short};

/// Further messages, word for word, are those of the unit tests of `args.rs`.
#[test]
fn wrong_arguments() {
    let bench = Bench::new();
    bench.refuses(&[
        ("foo", &["'foo'", "--help"]),
        ("run nosuch", &["no case matches \"nosuch\"", "oscost list"]),
        ("run lock/futx", &["lock/futx", "did you mean lock/futex?"]),
        ("list sycall", &["sycall", "did you mean syscall?"]),
        ("run --budget 1ms", &["too short", "100ms"]),
        ("run --budget 9000000000h", &["too long"]),
        ("run --seed -1", &["'-1'", "it is not a count"]),
        ("run --seed 18446744073709551616k", &["too large", "64 bits"]),
        ("run --precision 0", &["'0'", "between 0 and 100"]),
        ("run --precision 100%", &["between 0 and 100"]),
        ("run --precision 1e-9", &["between 0 and 100"]),
        ("run --precision nan", &["between 0 and 100"]),
        ("run --slow-down x", &["between 0 and 100"]),
        ("run --cpu 9999", &["CPU 9999"]),
        ("run --cpu -1", &["'-1'", "it is not a count"]),
        ("run --quick --full", &["--quick", "--full"]),
        ("run --tag kernel", &["KEY=VALUE"]),
        ("run file --dir no-such-folder", &["no-such-folder"]),
        ("run --param workers", &["NAME=VALUES"]),
        ("run --param workers=9..1", &["9..1"]),
        ("run lock/futex --param colour=1", &["\"colour\"", "they have workers"]),
        ("run lock/futex --param workers=0", &["workers", "\"0\"", "at least 1"]),
        ("run lock/futex --param workers=-3", &["workers", "\"-3\"", "it is not a count"]),
        ("run lock/futex --param workers=2000", &["workers", "at most"]),
        ("run lock/futex --param place=moon", &["place", "\"moon\"", "choose among"]),
        ("run --resume --quick", &["--resume", "--quick"]),
        ("compare last last --margin 0", &["between 0 and 100"]),
        ("compare last last --fail-above 0.05", &["'0.05'", "5% or 0.05%?"]),
        ("run --precision 0.5", &["'0.5'", "50% or 0.5%?"]),
        ("net load --protocol http --to localhost", &["it has no port"]),
        ("net load --protocol http --to https://localhost/", &["https is not spoken"]),
        ("net serve --listen no-such-host.invalid:1", &["no-such-host.invalid", "is not found"]),
        ("noise --runs 1", &["2 to 1000"]),
        ("export --format xml", &["'xml'", "benchstat"]),
        ("man nosuch", &["nosuch", "not a folder"]),
        ("import nosuch.json", &["nosuch.json"]),
        ("worker {}", &["not a worker's order"]),
    ]);
}

/// A name that was given could reorder the text around it, or hide: `runs` and `compare` printed it as it was.
#[test]
fn names_are_shown_without_invisible_characters() {
    let bench = Bench::new();
    let with = |arguments: &str, more: &[&str]| finish(bench.command(arguments).args(more));
    let tag = "t=\u{202e}b\u{200b}";
    let run = with(&format!("run {CASE} {SHORT} --tag"), &[tag]).with(0);
    let timed = with("time -r 2 --no-count -n a\u{2066}b --", &[PROGRAM, "--version"]).with(0);
    let mut shown = vec![run, timed];
    for arguments in ["runs", "show last", "show last~1", "compare last~1 last"] {
        shown.push(bench.oscost(arguments));
    }
    for (arguments, code) in [
        ("show \u{202e}x", 2),
        ("run \u{202e}x", 2),
        ("run --budget 5\u{202e}", 2),
        ("time -r 1 --no-count -- nosuch\u{202e}", 3),
    ] {
        shown.push(bench.oscost(arguments).with(code));
    }
    for said in &shown {
        let text = format!("{}{}", said.out, said.err);
        assert!(!text.contains(['\u{202e}', '\u{2066}', '\u{200b}']), "{text}");
    }
    assert!(shown[2].out.contains("[U+202E]b[U+200B]"), "{}", shown[2].out);
    // A document has the name as it is.
    assert_eq!(bench.oscost("export last~1").with(0).json()["run"]["tags"]["t"], tag[2..]);
    let mut command = bench.command("run");
    command.arg(not_utf8());
    finish(&mut command).with(2).complains(&[NOT_UTF8_SHOWN]);
}

/// What is said of [`not_utf8`]: text that is not UTF-8 is bytes on Unix, and halves of surrogate pairs on Windows.
const NOT_UTF8_SHOWN: &str = if cfg!(windows) {
    "the argument is not text in UTF-8: \"a\\u{d800}"
} else {
    "the argument is not text in UTF-8: \"a\\x"
};

#[cfg(unix)]
fn not_utf8() -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(b"a\xff".to_vec())
}

#[cfg(windows)]
fn not_utf8() -> std::ffi::OsString {
    std::os::windows::ffi::OsStringExt::from_wide(&[u16::from(b'a'), 0xd800])
}

#[test]
fn a_store_that_is_none() {
    let bench = Bench::new();
    bench.write("garbage", "not a store\n");
    bench.write("short", "SQLite format 3\0");
    for (store, words) in [
        ("tmp", &["tmp", "a folder, not a file"][..]),
        ("garbage", &["garbage", "not an oscost store"]),
        ("short", &["short", "not an oscost store"]),
        ("garbage/store", &["garbage", "set OSCOST_STORE"]),
    ] {
        for command in ["show", "runs", "export", "compare last last"] {
            bench.oscost(&format!("{command} --store {store}")).with(2).complains(&words[..1]);
        }
        bench.oscost(&format!("run {CASE} --store {store}")).with(2).complains(words);
    }
    assert_eq!(bench.text("garbage"), "not a store\n");
    bench.oscost("show").with(2).complains(&["no store exists here", "oscost run"]);
    bench.oscost("run --resume").with(2).complains(&["no run is unfinished"]);
}

#[test]
fn runs_that_are_not_there() {
    let bench = Bench::new();
    let id = bench.oscost(&short(CASE)).with(0).saved();
    bench.refuses(&[
        ("show nosuch", &["\"nosuch\" is neither a run nor an area or case;", "oscost runs"]),
        ("show sycall", &["\"sycall\" is neither", "(did you mean syscall?)", "oscost list"]),
        ("show last nosuch", &["no case matches \"nosuch\""]),
        ("show lock", &["has no results for lock"]),
        ("show kernel=6.12 clock", &["no run has the tag kernel=6.12"]),
        ("show last~7", &["last~7"]),
        ("show last lock", &["has no results for lock"]),
        ("compare last a=b", &["a=b"]),
        ("runs --delete nosuch", &["nosuch"]),
        ("run --resume nosuch", &["nosuch"]),
        (&format!("run --resume {id}"), &["finished", "nothing to resume"]),
        ("run --resume", &["no run is unfinished"]),
        ("export -o tmp", &["cannot write tmp"]),
    ]);
}

#[test]
fn damaged_documents_are_refused_with_the_line() {
    let bench = Bench::new();
    let whole = bench.oscost(&short(CASE)).with(0).out;
    let cut = &whole[..whole.len() / 2];
    for (name, text, words) in [
        ("empty", "", &["empty", "line 1"][..]),
        ("cut", cut, &["cut", "line "]),
        ("list", "[1]", &["line 1", "not an oscost document"]),
        ("later", &whole.replacen("\"schema\": 1", "\"schema\": 3", 1), &["newer oscost"]),
        ("swapped", &whole.replacen("\"median\": ", "\"median\": -", 1), &["swapped", "line "]),
        ("renamed", &whole.replacen("\"outcome\"", "\"out\"", 1), &["outcome"]),
    ] {
        bench.write(name, text);
        bench.oscost(&format!("import {name}")).with(2).complains(words);
    }
    assert_eq!(bench.oscost("runs --json").with(0).json().as_array().map(Vec::len), Some(1));
}
