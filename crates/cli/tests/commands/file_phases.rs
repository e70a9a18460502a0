//! The area `file` on every system: each phase is measured, unsupported points have a reason, and no file is left.

use crate::common::{Bench, entries};
use serde_json::Value;

const PHASES: [&str; 6] = ["create", "read", "stat", "rename", "list", "delete"];

fn results(document: &Value) -> &[Value] {
    document["results"].as_array().expect("results")
}

#[test]
fn each_phase_is_measured_and_no_file_is_left() {
    let bench = Bench::new();
    let folder = bench.folder("files");
    let run =
        "run file/small file/layout --quick --budget 100s --param files=60 --dir files --json";
    let document = bench.oscost(run).with(0).json();
    for phase in PHASES {
        let metric = format!("{phase}-rate");
        let is_measured = |r: &&Value| r["metric"] == metric && r["outcome"] == "measured";
        let measured = results(&document).iter().filter(is_measured).count();
        assert!(measured >= 2, "{metric}: {measured}");
    }
    for result in results(&document) {
        let outcome = result["outcome"].as_str();
        assert!(matches!(outcome, Some("measured" | "unsupported")), "{result}");
    }
    let machine = document["machine"].as_object().expect("facts");
    let is_free = |(name, _): &(&String, &Value)| {
        name.starts_with("filesystem.") && name.ends_with(".free_bytes")
    };
    let free = machine.iter().find(is_free).and_then(|(_, bytes)| bytes.as_f64());
    assert!(free > Some(0.0), "{machine:?}");
    assert_eq!(entries(&folder), Vec::<String>::new());
    assert_eq!(entries(&bench.temp()), Vec::<String>::new());
}

#[test]
#[cfg(windows)]
fn unsupported_cases_on_windows_give_their_reason() {
    let bench = Bench::new();
    let synced = "run file/sync --quick --budget 60s --param files=60 --json";
    let document = bench.oscost(synced).with(0).json();
    let reasons = results(&document).iter().filter_map(|result| result["reason"].as_str());
    assert!(reasons.into_iter().any(|why| why.contains("syncs a directory")), "{document}");
    bench
        .oscost("run file/cold --quick --param files=60 --json")
        .with(3)
        .says(&["only Linux can drop"]);
}
