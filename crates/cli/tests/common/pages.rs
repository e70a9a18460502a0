//! Documents for reports, and what hostile ones have in their texts.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Bench;

/// Strings that must not become markup, script or attributes.
pub fn hostile() -> Vec<String> {
    let plain = "<script>alert(1)</script>|</script><script>alert(1)</script>|<img src=x onerror=alert(1)>|\
        \"><svg onload=alert(1)>|'><b>|\" onmouseover=\"alert(1)|' onfocus='alert(1)|</title><b>|</style><b>|<!--|-->|\
        ]]>|<![CDATA[|&lt;|&amp;amp;|&#0;|&notanentity;|javascript:alert(1)|\u{202e}abc|\u{2066}x\u{2069}|\
        \u{200f}\u{200e}|\u{feff}|\u{200b}|\0|a\0b|\u{1}\u{1b}[2J|\u{7f}|\u{85}|\r\n|\t|\u{2028}|\u{fffe}|\u{fffd}|\
        \u{e0041}|{{7*7}}|${7*7}|#{7*7}|%3Cscript%3E|\\u003cscript\\u003e|`alert(1)`|a{b=c,d=e}|=1+1|@import 'x'|\
        url(x)|../../etc/passwd|<a href=\"http://example.org\">|<base href=x>|<meta http-equiv=refresh content=0>|\
        <iframe src=x>|𝕬\u{301}\u{301}\u{301}|";
    let mut all: Vec<String> = plain.split('|').map(str::to_owned).collect();
    all.push("<x>".repeat(3_334));
    all
}

pub fn result(case: &str, params: Value, metric: &str, unit: &str, value: f64) -> Value {
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

/// A time that was not measured for this reason.
pub fn missing(case: &str, params: Value, outcome: &str, reason: &str) -> Value {
    json!({
        "case": case, "params": params, "metric": "time", "unit": "ns/op", "better": "lower",
        "outcome": outcome, "reason": reason,
    })
}

pub fn document(id: &str, tags: Value, results: Vec<Value>) -> Value {
    json!({
        "schema": 1,
        "run": {"id": id, "started": "2026-11-22T21:40:18Z", "finished": "2026-11-22T21:50:18Z", "seed": 7,
                "oscost": "0.1.0", "tags": tags, "asked": {"budget": "1s"}, "area_seconds": {}},
        "machine": {"os": "Linux", "release": "6.18", "arch": "x86_64", "cpu": "AMD EPYC", "cpus": 2},
        "results": results,
    })
}

/// Results of several areas and layouts, with sweeps, percentiles, phases, failures and doubts.
pub fn results(factor: f64) -> Vec<Value> {
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
    let small = json!({"dir": "temp", "files": "1000", "size": "4k"});
    for phase in ["create-rate", "read-rate", "stat-rate", "delete-rate"] {
        all.push(result("file/small", small.clone(), phase, "files/s", 4e4));
    }
    all.push(missing("lock/spin", json!({}), "failed", "its worker died: signal 9"));
    all.push(missing("lock/srw", json!({}), "unsupported", "only on Windows"));
    let mut doubtful = result("syscall/uname", json!({}), "time", "ns/op", 200.0);
    doubtful["doubts"] = json!([{"code": "seldom-quiet"}]);
    all.push(doubtful);
    all
}

/// A text as the page shows it, with invisible characters written out.
pub fn as_shown(text: &str) -> String {
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
pub fn hostile_run() -> Value {
    let mut all = Vec::new();
    let mut tags = serde_json::Map::new();
    let mut facts = serde_json::Map::new();
    let mut asked = serde_json::Map::new();
    for (nth, text) in hostile().into_iter().enumerate() {
        // What ends a text elsewhere is refused in everything but a reason.
        let (said, text) = (text.clone(), text.replace('\0', ""));
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
        let params = json!({"n": nth.to_string(), "text": text});
        all.push(result("foreign/case", params, "time", "ns/op", 10.0 + nth as f64));
        let params = json!({"n": nth.to_string()});
        all.push(missing("foreign/failed", params, "failed", &format!("because {said}")));
        tags.insert(format!("t{nth}"), json!(text));
    }
    let mut run = document("20261122-214018-0003", Value::Object(tags), all);
    facts.insert("system".to_owned(), json!("<script>alert(2)</script>"));
    run["machine"].as_object_mut().expect("facts").extend(facts);
    run["run"]["asked"] = Value::Object(asked);
    run
}

/// The page of these documents.
pub fn report(bench: &Bench, names: &str, output: &str, more: &str) -> PathBuf {
    bench.oscost(&format!("report {names} -o {output} {more}")).with(0).complains(&["wrote"]);
    bench.path(output)
}

pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a page")
}

/// Two runs of one invocation on two systems.
pub fn systems() -> [Value; 2] {
    let ids = ["20261122-214018-0005", "20261122-214018-0006"];
    [("native", 1.0), ("gvisor", 2.5)].map(|(system, factor)| {
        let id = ids[usize::from(system == "gvisor")];
        let mut run = document(id, json!({}), results(factor));
        run["machine"]["system"] = json!(system);
        run["run"]["asked"] = json!({"group": ids[0]});
        run
    })
}
