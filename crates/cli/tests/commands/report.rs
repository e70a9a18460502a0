//! Reports as pages: what they contain, and that a browser opens them.

#[cfg(unix)]
use crate::common::finish;
use crate::common::pages::{
    as_shown, document, hostile, hostile_run, read, report, results, systems,
};
use crate::common::{Bench, Says};
use serde_json::json;

/// A bench with a document of results of several areas.
fn with_run() -> Bench {
    let bench = Bench::new();
    bench.write("run.json", &document("20261122-214018-0001", json!({}), results(1.0)).to_string());
    bench
}

#[test]
fn a_report_is_one_page_without_requests() {
    let bench = with_run();
    let page = read(&report(&bench, "run.json", "run.html", "--title A&B"));
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains("<h1>A&amp;B</h1>"),
        "{page:.300}"
    );
    page.says(&[
        "default-src 'none'",
        "its worker died: signal 9",
        "only on Windows",
        "quiet for less than 1 %",
        "net/answer: reply by percentile",
        "file/small",
        "rates of its phases",
        "lock: time by workers",
        "concurrency/jobs, base=810us, cpus=one, jobs=2, kind=cpu: jobs of one trial",
        "One getppid() system call",
    ]);
    page.lacks(&["http://", "https://"]);
    let page = read(&report(&bench, "run.json", "lock.html", "--section lock"));
    assert!(page.contains("id=\"area-lock\"") && !page.contains("id=\"area-net\""));
    bench.oscost("report run.json --section nothing -o x.html").with(2);
}

#[test]
fn hostile_text_appears_as_text() {
    let bench = Bench::new();
    bench.write("run.json", &hostile_run().to_string());
    let page = read(&report(&bench, "run.json", "run.html", ""));
    assert_eq!(page.matches("<script").count(), 1, "the page's own");
    for tag in "<img|<b>|<iframe|<base|<x>|<svg onload|onerror=\"|\0|\u{202e}|\u{1b}".split('|') {
        assert!(!page.contains(tag), "{tag:?}");
    }
    let escaped = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        text.replace('>', "&gt;").replace('"', "&quot;")
    };
    for text in hostile() {
        // What ends a text elsewhere is in reasons only.
        let because = format!("because {}", escaped(&as_shown(&text)));
        assert!(page.contains(&because), "{because:?}");
        let text = escaped(&as_shown(&text.replace('\0', "")));
        // The text is a tag, an option, a parameter, a doubt, a fact about the host and one about a directory.
        for whole in [
            format!("<td class=\"text\">{text}<"),
            format!("<td class=\"text\">asked {text}<"),
            format!("doubt {text}"),
            format!("<td class=\"text\">host {text}<"),
            format!("<td class=\"text\">type {text}<"),
        ] {
            assert!(page.contains(&whole), "{whole:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn names_that_are_not_utf8_appear_as_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let bench = with_run();
    let name = |ending: &str| [&b"<b>\xff\xfe"[..], ending.as_bytes()].concat();
    let (page, store, run) = (name(".html"), name(".sqlite"), name(".json"));
    let os = OsStr::from_bytes;
    std::fs::copy(bench.path("run.json"), bench.path("").join(os(&run))).expect("a copy");
    let finished = |arguments: &str, more: &[&[u8]]| {
        finish(bench.command(arguments).args(more.iter().map(|it| os(it))))
    };
    finished("import run.json --store", &[&store]).with(0);
    let report = finished("report -o", &[&page, b"--store", &store]).with(0);
    report.complains(&["wrote <b>\u{fffd}\u{fffd}.html"]);
    let page = read(&bench.path("").join(os(&page)));
    assert!(page.contains("20261122-214018-0001") && !page.contains("<b>\u{fffd}"), "{page:.300}");
    // The names of a run and of a library are shown as text.
    let library = name(".so");
    std::fs::write(bench.path("").join(os(&library)), "").expect("a file is written");
    let words = ["<b>\u{fffd}\u{fffd}.so", "not UTF-8"];
    finished("run --op", &[&library]).with(2).complains(&words);
    finished("report -o x.html", &[&run]).with(2).complains(&["UTF-8"]);
}

#[test]
fn systems_of_one_invocation_are_side_by_side() {
    let bench = Bench::new();
    for (name, run) in ["native.json", "gvisor.json"].iter().zip(systems()) {
        bench.write(name, &run.to_string());
        bench.oscost(&format!("import {name}")).with(0);
    }
    let page = read(&report(&bench, "last", "systems.html", ""));
    page.says(&[
        "<h1>oscost: 2 systems side by side</h1>",
        "Areas: mean ratio to native",
        "lock (as=threads, place=spread, work=none): ratio to native",
        "<strong>gvisor</strong>: slower than native in",
        "syscall: ratio to native",
        "<td>450 ns",
        "What each layer adds",
        "<th scope=\"row\">syscall/getppid<td class=\"words\">gvisor (sandbox)<td>450 ns",
    ]);
    let page = read(&report(&bench, "native.json", "one.html", ""));
    assert!(page.contains("<h1>oscost: run 20261122-214018-0005</h1>"));
    bench
        .oscost("report native.json --by system -o x.html --store none.sqlite")
        .with(2)
        .complains(&["native"]);
}

#[test]
fn any_dimension_is_compared_on_a_page() {
    let bench = with_run();
    let page = read(&report(&bench, "run.json --by arch --at connections=10", "by.html", ""));
    page.says(&["compared by arch", "network=loopback, place=apart): ratio to "]);
    page.says(&["id=\"comparison\"", "id=\"area-net\""]);
    page.lacks(&["id=\"area-clock\""]);
    // Areas without that dimension share one line.
    assert_eq!(page.matches("No pair of figures in: ").count(), 1);
    bench.oscost("report run.json --by nothing -o x.html").with(2);
    bench.oscost("report run.json --at connections=10 -o x.html").with(2);
}

#[test]
fn a_study_is_shown_with_its_verdicts() {
    let bench = with_run();
    let page = read(&report(&bench, "run.json --study timers", "study.html", ""));
    page.says(&[
        "<h1>oscost: study timers</h1>",
        "IBM developerWorks",
        "published and measured",
        "Differences in method",
        "class=\"verdict",
        "id=\"area-clock\"",
    ]);
    bench.oscost("report run.json --study none -o x.html").with(2).complains(&["none"]);
    bench.oscost("report run.json --study timers --by arch -o x.html").with(2);
}

#[test]
fn one_chart_is_an_svg_file() {
    let bench = with_run();
    bench.oscost("import run.json").with(0);
    let svg = bench.oscost("show --svg lock/futex").with(0).out;
    assert!(svg.starts_with("<svg xmlns=") && svg.contains("time by workers"), "{svg:.300}");
    bench.oscost("show --svg lock/none").with(2);
}
