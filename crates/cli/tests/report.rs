//! Reports as pages: what they contain, and that a browser opens them.

mod common;

use std::path::{Path, PathBuf};

use common::{Bench, browser};
use serde_json::{Value, json};

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
        "quiet_share": 0.8, "rounds": 9, "samples": 800, "converged": true,
        "per_op": {"syscalls": 1.0},
        // The median of the rounds is the estimate, as in real results.
        "round_values": (0..9).map(|nth| value * (1.0 + 0.001 * f64::from(nth % 3 - 1))).collect::<Vec<f64>>(),
    })
}

fn document(id: &str, tags: Value, results: Vec<Value>) -> Value {
    json!({
        "schema": 1,
        "run": {"id": id, "started": "2026-11-22T21:40:18Z", "finished": "2026-11-22T21:50:18Z", "seed": 7,
                "oscost": "0.1.0", "tags": tags, "asked": {"budget": "1s"}, "area_seconds": {}},
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
    for (executor, jobs) in [
        ("serial", [[0, 900_000], [900_000, 1_400_000]]),
        ("threads", [[20_000, 1_500_000], [40_000, 1_100_000]]),
    ] {
        let params = json!({"executor": executor, "kind": "cpu", "jobs": "2", "base": "810us", "cpus": "one"});
        let mut list = result("concurrency/jobs", params, "time", "ns/op", 1.5e6);
        list["timeline"] = json!(jobs);
        all.push(list);
    }
    for (via, cost) in [("vdso", 31.74), ("syscall", 245.2)] {
        all.push(result("clock/gettimeofday", json!({"via": via}), "time", "ns/op", cost));
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
    doubtful["doubts"] = json!([{"code": "seldom-quiet"}]);
    all.push(doubtful);
    all
}

/// A text as the page shows it, with invisible characters written out.
fn as_shown(text: &str) -> String {
    let shown = |c: char| {
        match c {
        '\n' | '\r' | '\t' => " ".to_owned(),
        c if c.is_control() || "\u{200b}\u{200e}\u{200f}\u{2028}\u{202e}\u{2066}\u{2069}\u{feff}\u{fffe}\u{e0041}".contains(c) => {
            format!("[U+{:04X}]", u32::from(c))
        }
        c => c.to_string(),
    }
    };
    text.chars().map(shown).collect()
}

/// A run whose tags, options, parameters, metrics, units, reasons, doubts and facts of the machine, such as the names of the host
/// and of directories, are hostile.
fn hostile_run() -> Value {
    let mut all = Vec::new();
    let mut tags = serde_json::Map::new();
    let mut facts = serde_json::Map::new();
    let mut asked = serde_json::Map::new();
    for (nth, text) in hostile().into_iter().enumerate() {
        facts.insert(format!("hostname {nth} {text}"), json!(format!("host {text}")));
        facts.insert(format!("filesystem./{nth}/{text}.type"), json!(format!("type {text}")));
        asked.insert(format!("option{nth} {text}"), json!(format!("asked {text}")));
        let mut doubtful =
            result("foreign/doubt", json!({text.clone(): nth.to_string()}), "time", "ns/op", 5.0);
        doubtful["doubts"] = json!([{"code": "emulated", "reason": format!("doubt {text}")}]);
        all.push(doubtful);
        // Names of metrics have no control characters.
        let name: String = text.chars().filter(|c| !c.is_control()).collect();
        let mut of_unit =
            result("foreign/unit", json!({"n": nth.to_string()}), &format!("m{name}"), "ns", 5.0);
        of_unit["unit"] = json!(format!("unit {text}"));
        all.push(of_unit);
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
    let mut run = document("20261122-214018-0003", Value::Object(tags), all);
    facts.insert("system".to_owned(), json!("<script>alert(2)</script>"));
    run["machine"].as_object_mut().expect("facts").extend(facts);
    run["run"]["asked"] = Value::Object(asked);
    run
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
        "quiet for less than 1 %",
        "net/answer: reply by percentile",
        "file/small",
        "rates of its phases",
        "lock: time by workers",
        "concurrency/jobs, base=810us, cpus=one, jobs=2, kind=cpu: jobs of one trial",
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
    let escaped = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        text.replace('>', "&gt;").replace('"', "&quot;")
    };
    for text in hostile() {
        let text = escaped(&as_shown(&text));
        // The text is a tag, an option, a parameter, a reason, a doubt, a fact about the host and one about a directory.
        for whole in [
            format!("<td class=\"text\">{text}<"),
            format!("<td class=\"text\">asked {text}<"),
            format!("because {text}"),
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
    let bench = Bench::new();
    bench.write("run.json", &document("20261122-214018-0001", json!({}), results(1.0)).to_string());
    let name = |ending: &str| [&b"<b>\xff\xfe"[..], ending.as_bytes()].concat();
    let (page, store, run) = (name(".html"), name(".sqlite"), name(".json"));
    let os = OsStr::from_bytes;
    std::fs::copy(bench.path("run.json"), bench.path("").join(os(&run))).expect("a copy");
    let finished = |arguments: &[&OsStr]| common::finish(bench.command("").args(arguments));
    let words = |text: &'static str| OsStr::new(text);
    finished(&[words("import"), words("run.json"), words("--store"), os(&store)]).with(0);
    finished(&[words("report"), words("-o"), os(&page), words("--store"), os(&store)])
        .with(0)
        .complains(&["wrote <b>\u{fffd}\u{fffd}.html"]);
    let page = read(&bench.path("").join(os(&page)));
    assert!(page.contains("20261122-214018-0001") && !page.contains("<b>\u{fffd}"), "{page:.300}");
    // The names of a run and of a library are shown as text.
    let library = name(".so");
    std::fs::write(bench.path("").join(os(&library)), "").expect("a file is written");
    finished(&[words("run"), words("--op"), os(&library)])
        .with(2)
        .complains(&["<b>\u{fffd}\u{fffd}.so", "not UTF-8"]);
    finished(&[words("report"), os(&run), words("-o"), words("x.html")])
        .with(2)
        .complains(&["UTF-8"]);
}

/// Two runs of one invocation on two systems.
fn systems() -> [Value; 2] {
    let ids = ["20261122-214018-0005", "20261122-214018-0006"];
    [("native", 1.0), ("gvisor", 2.5)].map(|(system, factor)| {
        let id = ids[usize::from(system == "gvisor")];
        let mut run = document(id, json!({}), results(factor));
        run["machine"]["system"] = json!(system);
        run["run"]["asked"] = json!({"group": ids[0]});
        run
    })
}

#[test]
fn systems_of_one_invocation_are_side_by_side() {
    let bench = Bench::new();
    for (name, run) in ["native.json", "gvisor.json"].iter().zip(systems()) {
        bench.write(name, &run.to_string());
        bench.oscost(&format!("import {name}")).with(0);
    }
    let page = read(&report(&bench, "last", "systems.html", ""));
    for part in [
        "<h1>oscost: 2 systems side by side</h1>",
        "Areas: mean ratio to native",
        "lock (as=threads, place=spread, work=none): ratio to native",
        "<strong>gvisor</strong>: slower than native in",
        "syscall: ratio to native",
        "<td>450 ns",
        "What each layer adds",
        "<th scope=\"row\">syscall/getppid<td class=\"words\">gvisor (sandbox)<td>450 ns",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let page = read(&report(&bench, "native.json", "one.html", ""));
    assert!(page.contains("<h1>oscost: run 20261122-214018-0005</h1>"));
    bench
        .oscost("report native.json --by system -o x.html --store none.sqlite")
        .with(2)
        .complains(&["native"]);
}

#[test]
fn any_dimension_is_compared_on_a_page() {
    let bench = Bench::new();
    bench.write("run.json", &document("20261122-214018-0001", json!({}), results(1.0)).to_string());
    let page = read(&report(&bench, "run.json --by arch --at connections=10", "by.html", ""));
    for part in
        ["compared by arch", "network=loopback, place=apart): ratio to ", "id=\"comparison\""]
    {
        assert!(page.contains(part), "{part}");
    }
    // Areas without that dimension share one line.
    assert_eq!(page.matches("No pair of figures in: ").count(), 1);
    assert!(page.contains("id=\"area-net\"") && !page.contains("id=\"area-clock\""));
    bench.oscost("report run.json --by nothing -o x.html").with(2);
    bench.oscost("report run.json --at connections=10 -o x.html").with(2);
}

#[test]
fn a_study_is_shown_with_its_verdicts() {
    let bench = Bench::new();
    bench.write("run.json", &document("20261122-214018-0001", json!({}), results(1.0)).to_string());
    let page = read(&report(&bench, "run.json --study timers", "study.html", ""));
    for part in [
        "<h1>oscost: study timers</h1>",
        "IBM developerWorks",
        "published and measured",
        "Differences in method",
        "class=\"verdict",
        "id=\"area-clock\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    bench.oscost("report run.json --study none -o x.html").with(2).complains(&["none"]);
    bench.oscost("report run.json --study timers --by arch -o x.html").with(2);
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
    if browser::is_missing() {
        return;
    }
    let bench = Bench::new();
    let write = |name: &str, document: Value| bench.write(name, &document.to_string());
    let printed = |name: &str, command: &str| bench.write(name, &bench.oscost(command).out);
    let first = write("first.json", document("20261122-214018-0001", json!({}), results(1.0)));
    let second = document("20261122-214018-0002", json!({"kernel": "new"}), results(1.3));
    let second = write("second.json", second);
    let hostile_page = write("hostile.json", hostile_run());
    let only = |outcomes: &[&str]| -> Vec<Value> {
        let all = results(1.0).into_iter();
        all.filter(|result| outcomes.iter().any(|outcome| result["outcome"] == *outcome)).collect()
    };
    let failures = only(&["failed", "unsupported"]);
    let failures = write("failures.json", document("20261122-214018-0004", json!({}), failures));
    let nothing = only(&["unsupported"]);
    let nothing = write("nothing.json", document("20261122-214018-0007", json!({}), nothing));
    let [native, gvisor] = systems();
    let systems = [write("native.json", native), write("gvisor.json", gvisor)];
    bench
        .oscost("run syscall/getppid clock/std-instant --quick --precision 50% --budget 60s")
        .with(0);
    let stored = printed("stored.json", "export");
    let texts: Vec<String> = hostile().iter().map(|text| as_shown(text)).collect();
    let reports = json!([
        {"page": report(&bench, "first.json", "first.html", ""), "runs": [first]},
        {
            "page": report(&bench, "first.json second.json", "compared.html", ""), "runs": [first, second],
            "compared": printed("compared.json", "compare first.json second.json --json"),
        },
        {
            "page": report(&bench, "first.json --by arch", "by.html", ""), "runs": [first],
            "compared": printed("by.json", "compare first.json --by arch --json"),
        },
        {
            "page": report(&bench, "native.json gvisor.json --by system", "systems.html", ""), "runs": systems,
            "compared": printed("systems.json", "compare native.json gvisor.json --by system --json"),
        },
        {
            "page": report(&bench, "first.json --study timers", "study.html", ""), "runs": [first],
            "study": printed("study.json", "study timers --run first.json --json"),
        },
        {"page": report(&bench, "hostile.json", "hostile.html", ""), "runs": [hostile_page], "texts": texts},
        {"page": report(&bench, "failures.json", "failures.html", ""), "runs": [failures]},
        {"page": report(&bench, "nothing.json", "nothing.html", ""), "runs": [nothing]},
        {"page": report(&bench, "last", "stored.html", ""), "runs": [stored]},
    ]);
    browser::check(&reports);
}
