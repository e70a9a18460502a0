//! The commands of a user: measure, show, compare, export and import.

use std::time::Duration;

use crate::common::{
    Bench, CASE, SHORT, Said, Says, codes_of_doubts, entries, finish, has_interval_if_evidence,
    said_within, started, times,
};
use serde_json::Value;

/// A case that this system does not support, and its reason.
const MISSING: (&str, &str) = if cfg!(windows) {
    ("lock/sysv-sem", "Windows has no")
} else {
    ("lock/critical-section", "only on Windows")
};

fn short_run(bench: &Bench, more: &str) -> Said {
    bench.oscost(&format!("run {CASE} {SHORT} {more}")).with(0)
}

#[test]
fn a_run_prints_a_table_and_is_saved_and_exported() {
    let bench = Bench::new();
    let run = short_run(&bench, "");
    run.out.says(&["std-instant", "ns", "1 point: 1 measured"]);
    let id = run.saved();
    assert!(!run.out.contains(&id), "notes are on stderr");
    let shown = bench.oscost("show").with(0).says(&[&id, "std-instant"]);
    assert!(shown.err.is_empty(), "{}", shown.err);
    assert!(shown.out.contains('±') && !shown.out.contains("this run"), "{}", shown.out);
    assert!(shown.out.contains("the next run here lies"), "{}", shown.out);
    bench.oscost("show --columns this-run").with(0).says(&["this run"]);
    bench.oscost("show --columns that-run").with(2).complains(&["this-run"]);
    bench.oscost("noise --validate").with(3).complains(&["no stored run"]);
    let csv = bench.oscost("export --format csv").with(0).out;
    let mut lines = csv.split("\r\n");
    assert!(lines.next().expect("a header").starts_with("run,case,params,metric,unit"), "{csv}");
    assert!(lines.next().expect("a row").starts_with(&format!("{id},{CASE},")), "{csv}");
    let text = bench.oscost("export --format benchstat").with(0).out;
    assert!(text.starts_with("goos: "), "{text}");
    let line = text.lines().find(|line| line.starts_with("BenchmarkClockStdInstant"));
    assert!(line.is_some_and(|line| line.contains(" ns/op")), "{text}");
    assert!(entries(&bench.temp()).is_empty(), "nothing is left behind");
}

#[test]
fn each_area_has_figures_or_reasons() {
    let bench = Bench::new();
    // Two cases of each area are measured, of which one exists on each system.
    let cases = "clock/std-instant clock/get-tick-count-64 syscall/getppid \
                 syscall/nt-get-current-processor lock/std-mutex lock/srwlock";
    let run = format!("run {cases} --param workers=1 {SHORT} --json");
    let document = bench.oscost(&run).with(0).json();
    for area in ["clock/", "syscall/", "lock/"] {
        let of_area = |r: &&Value| r["case"].as_str().is_some_and(|case| case.starts_with(area));
        let mut of_area = times(&document).into_iter().filter(of_area);
        assert!(of_area.any(|result| result["outcome"] == "measured"), "{area}");
    }
    for result in document["results"].as_array().expect("results") {
        match result["outcome"].as_str() {
            Some("measured") if result["metric"] == "time" => {
                has_interval_if_evidence(result);
            }
            Some("measured") => {}
            // If other programs use the CPUs, all workers in line may wait for one that is not running.
            Some("unsupported" | "timed-out") => {
                assert!(result["reason"].as_str().is_some_and(|why| !why.is_empty()), "{result}");
                assert!(result.get("estimate").is_none(), "{result}");
            }
            _ => panic!("{result}"),
        }
    }
}

#[test]
fn export_and_import_keep_a_document_unchanged() {
    let (here, there) = (Bench::new(), Bench::new());
    let run = short_run(&here, "--json --seed 18446744073709551615 --tag kernel=patched --tag a=b");
    let document = run.json();
    assert_eq!(document["schema"], 1);
    assert_eq!(document["run"]["id"], run.saved());
    assert_eq!(document["run"]["seed"], u64::MAX);
    assert_eq!(document["run"]["tags"], serde_json::json!({"a": "b", "kernel": "patched"}));
    assert_eq!(document["run"]["asked"]["budget"], "60000ms");
    assert!(document["machine"]["clock"].is_string(), "{}", document["machine"]);
    is_as_documented(times(&document)[0]);

    let file = there.write("run.json", &run.out);
    there.oscost("import run.json").with(0).complains(&["is imported"]);
    there.oscost("import run.json").with(0).complains(&["already in the store"]);
    assert_eq!(there.oscost("export kernel=patched").with(0).out, run.out);
    assert_eq!(there.oscost("show last --json").with(0).out, run.out);

    let another = Bench::new();
    let mut import = another.command("import -");
    import.stdin(std::fs::File::open(file).expect("it was written"));
    finish(&mut import).with(0);
    another.oscost("export -o again.json").with(0);
    assert_eq!(std::fs::read_to_string(another.path("again.json")).expect("exported"), run.out);
}

/// Checks that a measured time has all fields of the schema, in order.
fn is_as_documented(result: &Value) {
    assert_eq!(result["outcome"], "measured", "{result}");
    assert_eq!((&result["unit"], &result["better"]), (&"ns/op".into(), &"lower".into()));
    let figure = |path: &str| result.pointer(path).and_then(Value::as_f64).expect(path);
    has_interval_if_evidence(result);
    let seen = ["min", "p5", "p25", "p50", "p75", "p95", "p99"];
    let seen = seen.map(|percentile| figure(&format!("/seen/{percentile}")));
    assert!(seen[0] > 0.0 && seen.is_sorted(), "{result}");
    assert!((0.0..=1.0).contains(&figure("/quiet_share")), "{result}");
    let rounds = figure("/rounds") as usize;
    assert_eq!(result["round_values"].as_array().map(Vec::len), Some(rounds));
    assert!(figure("/samples") >= rounds as f64 && result["converged"].is_boolean(), "{result}");
}

#[test]
fn a_budget_is_kept_and_the_points_that_it_leaves_out_are_named() {
    let bench = Bench::new();
    let run = bench.oscost("run clock concurrency/worth --budget 100ms --json").with(3);
    assert!(run.err.contains("time was up before"), "{}", run.err);
    let document = run.json();
    let times = times(&document);
    let has = |outcome: &str| times.iter().filter(|r| r["outcome"] == outcome).count();
    assert!(has("timed-out") > 0, "{times:?}");
    for result in times.iter().filter(|r| r["outcome"] == "measured") {
        assert!(codes_of_doubts(result).contains(&"few-rounds"), "{result}");
        assert!(result["rounds"].as_u64() >= Some(1), "{result}");
    }
    for result in times.iter().filter(|r| r["outcome"] == "timed-out") {
        let reason = result["reason"].to_string();
        assert!(reason.contains("before its first round"), "{result}");
    }
}

#[test]
fn unsupported_cases_are_listed_with_their_reason() {
    let bench = Bench::new();
    bench.oscost(&format!("run {}", MISSING.0)).with(3).says(&["unsupported", MISSING.1]);
    bench.oscost(&format!("list {}", MISSING.0)).with(0).says(&[MISSING.1]);
    let both = bench.oscost(&format!("run {CASE} {} {SHORT}", MISSING.0)).with(0);
    assert!(both.out.contains("std-instant") && both.out.contains(MISSING.1), "{}", both.out);
}

#[test]
fn runs_are_listed_named_and_removed() {
    let bench = Bench::new();
    let first = short_run(&bench, "--tag which=first").saved();
    let second = short_run(&bench, "").saved();
    let runs = bench.oscost("runs").with(0).says(&[&first, "which=first"]).out;
    assert!(runs.lines().next().is_some_and(|heading| heading.contains(" figures")), "{runs}");
    let document = bench.oscost("show last --json").with(0).json();
    let figures = document["results"].as_array().expect("results").len();
    let row = runs.lines().find(|row| row.contains(&second)).expect("a row");
    assert!(row.contains(&format!(" {figures} ")), "{runs}");
    for name in ["last~1", "which=first", &first] {
        let shown = bench.oscost(&format!("show {name} clock --json")).with(0).json();
        assert_eq!(shown["run"]["id"], *first, "{name}");
    }
    bench.oscost(&format!("runs --delete {first}")).with(0).complains(&[&first, "is removed"]);
    let left = bench.oscost("runs --json").with(0).json();
    assert_eq!(left.as_array().map(Vec::len), Some(1));
    assert_eq!((&left[0]["id"], &left[0]["state"]), (&second.into(), &"done".into()));
}

#[test]
fn parameters_are_taken_and_show_takes_areas_and_cases_as_filters() {
    let bench = Bench::new();
    let run = format!("run {CASE} lock/std-mutex --param workers=1,2 {SHORT} --tag kernel=6.12");
    let first = bench.oscost(&run).with(0).saved();
    let document = bench.oscost("export").with(0).json();
    let workers: Vec<_> =
        times(&document).iter().filter_map(|it| it["params"]["workers"].as_str()).collect();
    assert_eq!(workers, ["1", "2"]);
    assert_eq!(document["run"]["asked"]["precision"], "50%");
    assert_eq!(document["run"]["asked"]["params"], "workers=1,2");
    let last = short_run(&bench, "").saved();
    let cases = |document: &Value| -> Vec<String> {
        let all = document["results"].as_array().expect("results").iter();
        let mut cases: Vec<String> =
            all.map(|result| result["case"].as_str().expect("a case").to_owned()).collect();
        cases.dedup();
        cases
    };
    for (arguments, run, shown) in [
        ("clock", &last, &[CASE][..]),
        ("std-instant", &last, &[CASE]),
        ("last~1", &first, &[CASE, "lock/std-mutex"]),
        ("last~1 lock", &first, &["lock/std-mutex"]),
        ("kernel=6.12 lock/std*", &first, &["lock/std-mutex"]),
        ("kernel=6.12 clock lock", &first, &[CASE, "lock/std-mutex"]),
        (&format!("{first} lock"), &first, &["lock/std-mutex"]),
    ] {
        let document = bench.oscost(&format!("show {arguments} --json")).with(0).json();
        assert_eq!(document["run"]["id"], *run.as_str(), "{arguments}");
        let mut found = cases(&document);
        found.sort();
        assert_eq!(found, shown, "{arguments}");
    }
    bench.oscost("show clock").with(0).says(&[&last, "std-instant"]);
    let csv = bench.oscost("show kernel=6.12 lock --csv - --xlsx lock.xlsx").with(0).out;
    assert!(csv.contains("lock/std-mutex") && !csv.contains(CASE), "{csv}");
    assert!(bench.path("lock.xlsx").metadata().is_ok_and(|file| file.len() > 1_000));
}

#[test]
fn a_full_run_id_takes_precedence_over_an_area() {
    let bench = Bench::new();
    let document = short_run(&bench, "--json").out;
    let id = bench.oscost("show --json").with(0).json()["run"]["id"].clone();
    let id = id.as_str().expect("an id");
    for other in ["clock", "syscalls"] {
        bench.write("renamed.json", &document.replace(id, other));
        bench.oscost("import renamed.json").with(0);
    }
    let shown = |arguments: &str| {
        let said = bench.oscost(&format!("show {arguments} --json"));
        said.with(0).json()["run"]["id"].as_str().expect("an id").to_owned()
    };
    assert_eq!(shown("clock"), "clock");
    // `syscall` is an area, and the beginning of the other run's id.
    bench.oscost("show syscall").with(2).complains(&["has no results for syscall"]);
    assert_eq!(shown("syscalls"), "syscalls");
    assert_eq!(shown("sysc"), "syscalls");
}

#[test]
fn the_machine_and_the_cases_are_described() {
    let bench = Bench::new();
    let line = bench.oscost("env --line").with(0).out;
    let token = line.strip_suffix('\n').expect("one line");
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    assert!(!token.is_empty() && token.chars().all(plain), "{line:?}");
    assert!(bench.oscost("env").with(0).out.contains("Kernel release"));
    assert!(bench.oscost("env --json").with(0).json()["clock"].is_string());

    let list = bench.oscost("list").with(0).out;
    for case in [CASE, "syscall/", "lock/", "concurrency/", "file/", "net/", "mail/"] {
        assert!(list.contains(case), "{case}: {list}");
    }
    bench.oscost("list sem").with(0).says(&["posix-sem"]).lacks(&["futex"]);
    bench.oscost("list lock").with(0).says(&["lock/"]).lacks(&["clock/std"]);
    let cards = bench.oscost("list --json lock").with(0).json();
    for card in cards.as_array().expect("a list") {
        assert!(card["case"].as_str().is_some_and(|name| name.starts_with("lock/")), "{card}");
        assert!(card["operation"].as_str().is_some_and(|text| text.ends_with('.')), "{card}");
    }
    assert!(bench.oscost("list --long lock/futex").with(0).out.contains("workers"));
}

#[test]
#[cfg(windows)]
fn windows_and_wine_are_named() {
    let bench = Bench::new();
    let env = bench.oscost("env").with(0).says(&["Windows"]).out;
    assert_eq!(bench.oscost("env --json").with(0).json()["os"], "Windows");
    let line = bench.oscost("env --line").with(0).out;
    assert!(line.starts_with("Windows_"), "{line}");
    // Wine passes on the environment of its host system.
    if std::env::var_os("WINEPREFIX").is_some() {
        assert!(env.contains("Wine ") && line.contains("wine"), "{env}{line}");
    } else {
        testing::not_applicable("this is not Wine");
    }
}

#[test]
fn a_run_equals_itself() {
    let bench = Bench::new();
    short_run(&bench, "");
    let rows = bench.compared("last last");
    assert!(!rows.is_empty());
    assert!(rows.iter().all(|row| row["verdict"] == "same"), "{rows:?}");
    let text = bench.oscost("compare last last").with(0).out;
    assert!(text.contains("no certain difference") && !text.contains("std-instant"), "{text}");
    bench.oscost("compare last last --all").with(0).says(&["std-instant", "ratio"]);
    bench.write("run.json", &bench.oscost("export").with(0).out);
    Bench::new().oscost("compare run.json last").with(2).complains(&["cannot read run.json"]);
    // A gate judges nothing by a run compared with itself, as where the new run was not saved.
    for undecided in ["fail", "pass"] {
        let gate = format!("compare run.json last --fail-above 1% --undecided {undecided}");
        bench.oscost(&gate).with(3).says(&["the same run on both sides"]);
    }
}

#[test]
fn extra_work_on_the_clock_is_found_as_slower() {
    let bench = Bench::new();
    // Under Wine a process takes longer to start, and two groups of tests run at once: as many quiet rounds need more time.
    let budgets = if cfg!(windows) { ["20s", "20s", "40s"] } else { ["3s", "10s", "30s"] };
    // On a loaded machine the verdict may be undecided, with that reason, but it must never be the opposite.
    let mut undecided = String::new();
    for budget in budgets {
        let run = format!("run {CASE} --quick --budget {budget}");
        bench.oscost(&run).with(0);
        bench.oscost(&format!("{run} --slow-down 30%")).with(0);
        let compared = bench.oscost("compare last~1 last --fail-above 5% --across-machines");
        assert!(!compared.out.contains("faster"), "{}", compared.out);
        let rows = bench.compared("last~1 last --across-machines");
        let time = rows.iter().find(|row| row["metric"] == "time").expect("a row for the time");
        if time["verdict"] == "slower" {
            compared.out.says(&["slower", "slow-down"]);
            compared.with(1);
            // Nobody asked for the slow-down: it is a nuisance unless one does.
            let said = bench.oscost("compare last~1 last --fail-above 5%").with(3).out;
            said.says(&["MEASURED IN ANOTHER WAY (asked slow-down)", "another machine"]);
            return;
        }
        // The smallest step of the clock may be worse, although its time is undecided.
        assert!(matches!(compared.code, Some(1 | 3)), "{}\n{}", compared.err, compared.out);
        undecided = compared.out;
    }
    let is_loaded = ["a quieter machine would decide it", "beside load"];
    assert!(is_loaded.iter().any(|why| undecided.contains(why)), "{undecided}");
}

/// Checks that each run stores a prediction of the next run, which scores it.
#[test]
fn noise_measures_equal_runs_and_says_what_a_comparison_would_find() {
    let bench = Bench::new();
    let runs = format!("noise lock/std-mutex --param workers=1 {SHORT} --runs 3 --json");
    let started = started(&mut bench.command(&runs));
    let found = said_within(started, Duration::from_secs(240)).with(0).json();
    let ids: Vec<&str> =
        found["runs"].as_array().expect("ids").iter().filter_map(Value::as_str).collect();
    assert_eq!(ids.len(), 3);
    let rows = found["detectable"].as_array().expect("rows");
    assert!(!rows.is_empty(), "{found}");
    for row in rows {
        let figure = |name: &str| row[name].as_f64().expect(name);
        assert!(figure("deviation") > 0.0 && figure("difference") > 0.0, "{row}");
        assert!(figure("difference_of_most") >= figure("difference"), "{row}");
    }
    let document = |run: &str| bench.oscost(&format!("export {run}")).with(0).json();
    let (first, last) = (document(ids[0]), document(ids[2]));
    let points = |document: &Value| -> Vec<Value> {
        times(document).iter().map(|result| result["params"].clone()).collect()
    };
    assert_eq!(points(&first), points(&last));
    for fact in ["cpus", "affinity"] {
        assert_eq!(first["machine"][fact], last["machine"][fact], "{fact}");
    }
    // Three rounds need not have been quiet, so that some figures may have no interval.
    let has_interval =
        |r: &&Value| r["rounds"].as_u64() >= Some(3) && r["estimate"]["low"].is_number();
    for result in times(&last).into_iter().filter(has_interval) {
        let next = &result["next_run"];
        let end = |name: &str| next[name].as_f64().unwrap_or_else(|| panic!("{result}"));
        assert!(end("low") <= end("high"), "{result}");
        assert!(next["visits"].as_u64() >= Some(1), "{result}");
    }
    let scores = bench.oscost("noise --validate --json");
    assert!(matches!(scores.code, Some(0 | 1)), "{scores:?}");
    assert!(scores.json()["all"]["figures"].as_u64() > Some(0), "{scores:?}");
    bench.oscost("noise --validate").says(&["inside", "all"]);
    // A figure and its interval do not change after they were printed.
    assert_eq!(document(ids[0]), first);
}

/// Checks that no example is broken in two on a narrow terminal.
fn fits_in_80_columns(bench: &Bench, arguments: &str) {
    let at = |columns: &str| {
        let said = finish(bench.command(arguments).env("COLUMNS", columns)).with(0).out;
        let (before, examples) = said.split_once("Examples:").expect("examples");
        assert!(before.lines().all(|line| line.len() <= columns.parse().expect("a number")));
        examples.to_owned()
    };
    assert_eq!(at("80"), at("100"), "{arguments}");
}

#[test]
fn shells_manuals_and_help() {
    let bench = Bench::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = bench.oscost(&format!("completions {shell}")).with(0).out;
        assert!(script.contains("oscost") && script.contains("compare"), "{shell}");
        assert!(!script.contains("worker)"), "{shell} offers what is not for people");
    }
    bench.oscost("man tmp").with(0).complains(&["manual pages are in tmp"]);
    let pages = entries(&bench.temp());
    for page in ["oscost.1", "oscost-run.1", "oscost-compare.1"] {
        assert!(pages.contains(&page.to_owned()), "{pages:?}");
    }
    let commands = "run list env show runs compare noise export import completions man";
    for command in commands.split(' ') {
        let help = bench.oscost(&format!("{command} --help")).with(0);
        assert!(help.out.contains(&format!("\n  oscost {command}")), "{}", help.out);
        assert!(help.err.is_empty(), "{}", help.err);
    }
    bench.oscost("--help").with(0).says(&["Examples:", "\n  compare "]);
    for command in ["", "run", "list", "env", "show", "compare", "noise", "concurrency"] {
        fits_in_80_columns(&bench, &format!("{command} --help"));
    }
    let version = bench.oscost("--version").with(0).out;
    assert_eq!(version.trim_end(), concat!("oscost ", env!("CARGO_PKG_VERSION")));
    let nothing = bench.oscost("concurrency").with(2);
    assert!(nothing.out.is_empty() && nothing.err.contains("Usage:"), "{}", nothing.err);
    let first_steps = bench.oscost("").with(2);
    assert!(first_steps.out.is_empty() && first_steps.err.starts_with("oscost run --quick "));
    assert!(first_steps.err.lines().count() == 5 && first_steps.err.lines().all(|l| l.len() <= 80));
}

#[test]
#[cfg(target_os = "linux")]
fn bash_completes_cases_systems_studies_runs_and_tags() {
    let bench = Bench::new();
    let id = bench.oscost(&format!("run {CASE} --quick --budget 1s --tag night=1")).ended().saved();
    assert_eq!(bench.oscost("runs --names").with(0).out, format!("last\n{id}\nnight=1\n"));
    bench.write("script", &bench.oscost("completions bash").with(0).out);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_oscost"));
    let folder = program.parent().expect("a folder").display();
    let complete = |words: &str| {
        let (before, word) = words.rsplit_once(' ').expect("two words");
        let count = before.split(' ').count();
        let previous = before.split(' ').next_back().unwrap_or_default();
        let line = format!(
            "PATH={folder}:$PATH; source ./script; COMP_WORDS=(oscost {before} '{word}'); \
             COMP_CWORD={}; _oscost oscost '{word}' {previous}; echo \"${{COMPREPLY[@]}}\"",
            count + 1
        );
        let mut bash = std::process::Command::new("bash");
        bash.args(["-c", &line]).current_dir(bench.path("")).env("OSCOST_STORE", bench.store());
        String::from_utf8(bash.output().expect("bash").stdout).expect("text")
    };
    for (words, expected) in [
        ("run lock/fut", "lock/futex"),
        ("list sysc", "syscall"),
        ("run --on gv", "gvisor"),
        ("study tim", "timers"),
        ("show nig", "night=1"),
        ("compare las", "last"),
        (&format!("export {}", &id[..12]), &*id),
    ] {
        assert!(complete(words).contains(expected), "{words}: {}", complete(words));
    }
}
