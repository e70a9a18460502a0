//! Reports as pages: what they contain, and that a browser opens them.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::Bench;
use serde_json::{Value, json};

/// Where Debian has Chromium.
const CHROMIUM: &str = "/usr/bin/chromium";

/// Strings that must not become markup, script or attributes.
fn hostile() -> Vec<String> {
    let plain = [
        "<script>alert(1)</script>",
        "</script><script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "\"><svg onload=alert(1)>",
        "'><b>",
        "\" onmouseover=\"alert(1)",
        "' onfocus='alert(1)",
        "</title><b>",
        "</style><b>",
        "<!--",
        "-->",
        "]]>",
        "<![CDATA[",
        "&lt;",
        "&amp;amp;",
        "&#0;",
        "&notanentity;",
        "javascript:alert(1)",
        "\u{202e}abc",
        "\u{2066}x\u{2069}",
        "\u{200f}\u{200e}",
        "\u{feff}",
        "\u{200b}",
        "\0",
        "a\0b",
        "\u{1}\u{1b}[2J",
        "\u{7f}",
        "\u{85}",
        "\r\n",
        "\t",
        "\u{2028}",
        "\u{fffe}",
        "\u{fffd}",
        "\u{e0041}",
        "{{7*7}}",
        "${7*7}",
        "#{7*7}",
        "%3Cscript%3E",
        "\\u003cscript\\u003e",
        "`alert(1)`",
        "a{b=c,d=e}",
        "=1+1",
        "@import 'x'",
        "url(x)",
        "../../etc/passwd",
        "<a href=\"http://example.org\">",
        "<base href=x>",
        "<meta http-equiv=refresh content=0>",
        "<iframe src=x>",
        "𝕬\u{301}\u{301}\u{301}",
        "",
    ];
    let mut all: Vec<String> = plain.iter().map(|text| (*text).to_owned()).collect();
    all.push("<x>".repeat(3_334));
    all
}

fn result(case: &str, params: Value, metric: &str, unit: &str, value: f64) -> Value {
    json!({
        "case": case, "params": params, "metric": metric, "unit": unit, "better": "lower", "outcome": "measured",
        "estimate": {"median": value, "low": value * 0.97, "high": value * 1.04, "level": 0.95},
        "seen": {"min": value * 0.9, "p5": value * 0.95, "p25": value * 0.98, "p50": value, "p75": value * 1.1,
                 "p95": value * 1.3, "p99": value * 2.0, "mean": value * 1.1},
        "quiet_share": 0.8, "rounds": 8, "samples": 800, "converged": true,
        "per_op": {"syscalls": 1.0},
        "round_values": (0..8).map(|nth| value * (1.0 + 0.001 * f64::from(nth))).collect::<Vec<f64>>(),
    })
}

fn document(id: &str, tags: Value, results: Vec<Value>) -> Value {
    json!({
        "schema": 2,
        "run": {"id": id, "started": "2026-11-22T21:40:18Z", "finished": "2026-11-22T21:50:18Z", "seed": 7,
                "oscost": "0.1.0", "tags": tags, "asked": {"budget": "1s"}},
        "machine": {"os": "Linux", "release": "6.18", "arch": "x86_64", "cpu": "AMD EPYC", "cpus": 2},
        "results": results,
    })
}

/// Results of several areas and layouts, with sweeps, percentiles, phases, failures and doubts.
fn results(factor: f64) -> Vec<Value> {
    let mut all = vec![
        result("syscall/getppid", json!({}), "time", "ns/op", 180.0 * factor),
        result("clock/std-instant", json!({}), "time", "ns/op", 28.0),
    ];
    for (case, cost) in [("lock/futex", 20.0), ("lock/sysv-sem", 900.0)] {
        for workers in ["1", "2", "4", "8"] {
            let params =
                json!({"as": "threads", "place": "spread", "work": "none", "workers": workers});
            let times: f64 = workers.parse().expect("a number");
            all.push(result(case, params, "time", "ns/op", cost * times * factor));
        }
    }
    for arch in ["epoll", "threads"] {
        for connections in ["1", "10", "100"] {
            let params = json!({"arch": arch, "connections": connections, "network": "loopback", "place": "apart"});
            all.push(result("net/answer", params.clone(), "time", "ns/op", 40_000.0));
            for (metric, value) in
                [("reply-p50", 1e5), ("reply-p90", 2e5), ("reply-p99", 9e5), ("reply-worst", 3e6)]
            {
                all.push(result("net/answer", params.clone(), metric, "ns", value));
            }
        }
    }
    for phase in ["create-rate", "read-rate", "stat-rate", "delete-rate"] {
        all.push(result(
            "file/small",
            json!({"dir": "temp", "files": "1000", "size": "4k"}),
            phase,
            "files/s",
            4e4,
        ));
    }
    all.push(json!({"case": "lock/spin", "params": {}, "metric": "time", "unit": "ns/op", "better": "lower",
                    "outcome": "failed", "reason": "its worker died: signal 9"}));
    all.push(json!({"case": "lock/srw", "params": {}, "metric": "time", "unit": "ns/op", "better": "lower",
                    "outcome": "unsupported", "reason": "only on Windows"}));
    let mut doubtful = result("syscall/uname", json!({}), "time", "ns/op", 200.0);
    doubtful["doubts"] = json!(["quiet for less than 5 % of the time"]);
    all.push(doubtful);
    all
}

/// A run whose tags, parameters, metrics, units and reasons are hostile.
fn hostile_run() -> Value {
    let mut all = Vec::new();
    let mut tags = serde_json::Map::new();
    for (nth, text) in hostile().into_iter().enumerate() {
        all.push(result(
            "foreign/case",
            json!({"n": nth.to_string(), "text": text}),
            "time",
            "ns/op",
            10.0 + nth as f64,
        ));
        all.push(json!({"case": "foreign/failed", "params": {"n": nth.to_string()}, "metric": "time", "unit": "ns/op",
                        "better": "lower", "outcome": "failed", "reason": format!("because {text}")}));
        tags.insert(format!("t{nth}"), json!(text));
    }
    document("20261122-214018-0003", Value::Object(tags), all)
}

/// The page of these documents.
fn report(bench: &Bench, names: &str, output: &str, more: &str) -> PathBuf {
    bench.oscost(&format!("report {names} -o {output} {more}")).with(0).complains(&["wrote"]);
    bench.path(output)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a page")
}

#[test]
fn a_report_is_one_page_without_requests() {
    let bench = Bench::new();
    bench.write("run.json", &document("20261122-214018-0001", json!({}), results(1.0)).to_string());
    let page = read(&report(&bench, "run.json", "run.html", "--title A&B"));
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains("<h1>A&amp;B</h1>"),
        "{page:.300}"
    );
    assert!(
        page.contains("default-src 'none'")
            && !page.contains("http://")
            && !page.contains("https://")
    );
    for part in [
        "its worker died: signal 9",
        "only on Windows",
        "quiet for less than 5 %",
        "net/answer: reply by percentile",
        "file/small",
        "rates of its phases",
        "lock: time by workers",
        "One getppid() system call",
    ] {
        assert!(page.contains(part), "{part}");
    }
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
    for tag in [
        "<img",
        "<b>",
        "<iframe",
        "<base",
        "<x>",
        "<svg onload",
        "onerror=\"",
        "\0",
        "\u{202e}",
        "\u{1b}",
    ] {
        assert!(!page.contains(tag), "{tag:?}");
    }
    for text in [
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "[U+202E]abc",
        "a[U+0000]b",
        "&amp;amp;amp;",
        "{{7*7}}",
    ] {
        assert!(page.contains(text), "{text:?}");
    }
}

#[test]
fn one_chart_is_an_svg_file() {
    let bench = Bench::new();
    bench.write("run.json", &document("20261122-214018-0001", json!({}), results(1.0)).to_string());
    bench.oscost("import run.json").with(0);
    let svg = bench.oscost("show --svg lock/futex").with(0).out;
    assert!(svg.starts_with("<svg xmlns=") && svg.contains("time by workers"), "{svg:.300}");
    bench.oscost("show --svg lock/none").with(2);
}

#[test]
fn reports_open_in_a_browser() {
    if cfg!(windows) {
        return testing::not_applicable("the browser is driven by programs of Linux");
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let is_there =
        folder.join("node_modules/puppeteer-core").exists() && Path::new(CHROMIUM).exists();
    if testing::skip_unless(is_there, "needs Chromium and the packages of tests/browser") {
        return;
    }
    let bench = Bench::new();
    let write = |name: &str, document: Value| bench.write(name, &document.to_string());
    let first = write("first.json", document("20261122-214018-0001", json!({}), results(1.0)));
    write("second.json", document("20261122-214018-0002", json!({"kernel": "new"}), results(1.3)));
    let hostile = write("hostile.json", hostile_run());
    let nothing = results(1.0).into_iter().filter(|result| result["outcome"] != "measured");
    let nothing =
        write("nothing.json", document("20261122-214018-0004", json!({}), nothing.collect()));
    bench.oscost("run syscall/getppid clock/std-instant --quick --budget 2s").with(0);
    let stored = bench.write("stored.json", &bench.oscost("export").with(0).out);
    let pages = [
        (report(&bench, "first.json", "first.html", ""), Some(first)),
        (report(&bench, "first.json second.json", "compared.html", ""), None),
        (report(&bench, "hostile.json", "hostile.html", ""), Some(hostile)),
        (report(&bench, "nothing.json", "nothing.html", ""), Some(nothing)),
        (report(&bench, "last", "stored.html", ""), Some(stored)),
    ];
    let reports: Vec<Value> =
        pages.iter().map(|(page, document)| json!({"page": page, "document": document})).collect();
    let checked = Command::new("node")
        .arg(folder.join("check.js"))
        .arg(Value::Array(reports).to_string())
        .arg(CHROMIUM)
        .output()
        .expect("node");
    let [out, err] = [&checked.stdout, &checked.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(checked.status.success(), "{out}{err}");
}
