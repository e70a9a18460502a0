//! Pages of reports and histories open in a browser.

use serde_json::{Value, json};

use crate::common::nights::{GOOD, Nights, SLOW};
use crate::common::pages::{as_shown, document, hostile, hostile_run, report, results, systems};
use crate::common::{Bench, browser, needs, skip_unless};

#[test]
fn reports_open_in_a_browser() {
    skip_unless!(needs::browser());
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
    bench.measured("syscall/getppid clock/std-instant");
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

#[test]
fn a_page_of_histories_opens_in_a_browser() {
    skip_unless!(needs::browser());
    let bench = Bench::new();
    let mut nights = Nights::new(&bench);
    nights.run_many(30, GOOD);
    nights.run_many(12, SLOW);
    let page = |name: &str, more: &str| {
        bench.oscost(&format!("report --history {more} -o {name}.html")).with(0);
        let json = bench.oscost(&format!("history {more} --json")).with(0).out;
        json!({
            "page": bench.path(&format!("{name}.html")),
            "history": bench.write(&format!("{name}.json"), &json),
        })
    };
    browser::check(&json!([
        page("all", ""),
        page("one", "syscall/call-0"),
        // Twelve nights and thirty, each a series without a change.
        page("by", "syscall --by kernel"),
    ]));
}
