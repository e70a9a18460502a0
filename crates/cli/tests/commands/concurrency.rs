//! Lists of jobs, from the command line to tables, workbook and answer. Jobs take a millisecond or less, and no test checks their
//! times.

use crate::common::{Bench, Says, are_measured, of_metric, short, times, unbroken};
use serde_json::Value;

/// Command for a small part of the experiment, with enough time for all rounds even if a process takes half a second to start.
const PART: &str = "run concurrency/jobs --quick --budget 30s --param kind=wait --param jobs=2 --param base=100us \
                    --param cpus=all --param executor=serial,threads";

#[test]
fn the_experiment_is_measured_shown_and_compared() {
    let bench = Bench::new();
    let first = bench.oscost(&format!("{PART} --json")).with(0);
    let document = first.json();
    assert_eq!(times(&document).len(), 2);
    for metric in ["turnaround", "turnaround-worst", "cpu-use", "overhead"] {
        let results = of_metric(&document, metric);
        assert_eq!(results.len(), 2, "{metric}");
        assert!(results.iter().all(|r| r["round_values"].as_array().is_some_and(|v| v.len() >= 3)));
    }
    // Two jobs wait for 100 and 200 us, the longer first: no schedule completes them earlier.
    let least = |r: &&Value| r["estimate"]["low"].as_f64().expect("of three rounds") >= 0.0;
    assert!(of_metric(&document, "overhead").iter().all(least));
    let second = bench.oscost(&format!("{PART} --csv jobs.csv --xlsx jobs.xlsx")).with(0);
    assert!(second.out.contains("serial") && second.out.contains("threads"), "{}", second.out);
    go_into_files(&bench, &second.saved());
    let rows = bench.compared(&format!("{} last", first.saved()));
    let metrics: Vec<_> = rows.iter().map(|row| row["metric"].as_str().unwrap()).collect();
    for (metric, times) in [("time", 2), ("turnaround-worst", 2), ("overhead", 0), ("cpu-use", 0)] {
        assert_eq!(metrics.iter().filter(|m| **m == metric).count(), times, "{metrics:?}");
    }
}

/// Checks the files that the latest run was written into.
fn go_into_files(bench: &Bench, id: &str) {
    let csv = bench.text("jobs.csv");
    assert!(csv.starts_with("run,case,params,metric"), "{csv}");
    assert!(csv.contains("concurrency/jobs") && csv.contains("turnaround-worst"));
    let workbook = std::fs::read(bench.path("jobs.xlsx")).unwrap();
    assert!(workbook.starts_with(b"PK"), "a workbook is a zip archive");
    bench.oscost(&format!("show {id} --xlsx again.xlsx")).with(0);
    bench.oscost("export --format xlsx --output third.xlsx").with(0);
    assert_eq!(bench.oscost("show last --csv -").with(0).out, csv, "and nothing else");
    assert_eq!(std::fs::read(bench.path("again.xlsx")).unwrap().len(), workbook.len());
    bench.refuses(&[
        ("export --format xlsx", &["--output"]),
        ("show --xlsx nowhere/x.xlsx", &["nowhere", "no such folder"]),
        ("run clock --csv tmp", &["tmp", "it is a folder"]),
    ]);
    #[cfg(target_os = "linux")]
    bench.oscost("show --csv /dev/full").with(2);
}

/// Checks every executor on one CPU and on all, for work that needs a CPU and for mixed work.
#[test]
fn every_executor_is_measured() {
    let bench = Bench::new();
    let run = "run concurrency/jobs --quick --precision 50% --budget 60s --param jobs=3 --param base=1ms --param kind=cpu,mixed --json --param";
    let all = "executor=serial,threads,threads-up-front,pool,rayon,tokio,tokio-current";
    let document = bench.oscost(&format!("{run} {all}")).with(0).json();
    let measured = times(&document).into_iter().filter(|r| r["outcome"] == "measured").count();
    assert_eq!(measured, 7 * 2 * 2, "{document}");
    for result in of_metric(&document, "turnaround") {
        assert!(result["estimate"]["median"].as_f64() >= Some(0.5), "{result}");
    }
    let processes = bench.oscost(&format!("{run} executor=processes"));
    if cfg!(unix) {
        let document = processes.with(0).json();
        are_measured(&document);
    } else {
        processes.with(3).says(&["no fork on Windows"]);
    }
}

#[test]
fn laws_and_crossings_are_part_of_the_run() {
    let bench = Bench::new();
    let degrees = "concurrency/degree --param kind=mixed --param degree=1..4 --param jobs=12 --param length=1ms";
    let document = bench.oscost(&short(degrees)).ended().json();
    for metric in ["amdahl-serial", "usl-contention", "usl-coherence", "usl-knee"] {
        let [law] = of_metric(&document, metric)[..] else { panic!("{metric}: {document}") };
        assert!(law["params"].get("degree").is_none(), "{law}");
    }
    let lengths = "run concurrency/worth --quick --precision 50% --budget 60s --param executor=serial,pool \
                   --param length=2us,2ms --param jobs=8 --json";
    let document = bench.oscost(lengths).ended().json();
    let [shortest] = of_metric(&document, "shortest-job")[..] else { panic!("{document}") };
    assert_eq!(shortest["params"]["executor"], "pool");
    // A run that is resumed and shown again has one result of each.
    let shown = bench.oscost("show last --json").with(0).json();
    assert_eq!(of_metric(&shown, "shortest-job").len(), 1);
}

#[test]
fn the_answer_names_the_candidates() {
    let bench = Bench::new();
    let ask = "concurrency --jobs 4 --length 200us..800us --bound mixed:50 --rounds 3 --budget 60s";
    let files = "--csv answer.csv --xlsx answer.xlsx";
    let said = bench.oscost(&format!("{ask} --goal turnaround {files}")).with(0);
    let csv = bench.text("answer.csv");
    assert!(csv.contains("concurrency/answer"), "{csv}");
    assert!(std::fs::read(bench.path("answer.xlsx")).is_ok_and(|file| file.starts_with(b"PK")));
    assert!(said.err.contains("candidates for these jobs, 3 trials each"), "{}", said.err);
    unbroken(&said.out).says(&[
        "mean turnaround",
        "these 4 jobs",
        "serial, in the given order",
        "serial, shortest first",
        "pool of 2 threads",
    ]);
    bench.oscost("show").with(0).says(&["mean turnaround of these 4 jobs"]);
    let document = bench.oscost("show --json").with(0).json();
    let answer = &document["answer"];
    assert_eq!(answer["goal"], "turnaround");
    assert!(["best", "cannot-tell"].contains(&answer["verdict"].as_str().unwrap()), "{answer}");
    assert_eq!(answer["candidates"].as_array().unwrap().len(), times(&document).len());
    assert_eq!(document["run"]["asked"]["jobs"], "4");
    // Documents written by other tools can be imported, including the answer.
    bench.write("answer.json", &bench.oscost("show --json").out);
    bench.oscost("import answer.json").with(0);
}

#[test]
fn a_foreground_task_is_the_goal() {
    let bench = Bench::new();
    let ask = "concurrency --jobs 3 --length 2ms..6ms --bound cpu --instructions independent --rounds 3 --budget 60s";
    let said = bench.oscost(&format!("{ask} --goal foreground --within 1h")).with(0);
    let text = unbroken(&said.out);
    text.says(&[
        "the wake-up delay of a foreground task beside these 3 jobs",
        "delay: how much later",
        "within 3600s",
    ]);
    let document = bench.oscost("show --json").with(0).json();
    let answer = &document["answer"];
    assert_eq!(answer["goal"], "foreground-delay-p90");
    let candidates = answer["candidates"].as_array().unwrap().len();
    let of = |which: &str| answer["within"][which].as_array().unwrap().len();
    // A candidate with a single quiet trial is in `perhaps`.
    assert_eq!(of("surely") + of("perhaps"), candidates);
    for candidate in answer["candidates"].as_array().unwrap() {
        assert!(candidate["foreground_delay"]["median"].as_f64() >= Some(1.0), "{candidate}");
    }
    for result in times(&document) {
        assert_eq!(result["params"]["foreground"], "yes");
        assert_eq!(result["params"]["instructions"], "independent");
    }
    bench.oscost("show concurrency").with(0).says(&["delay"]);
}

#[test]
fn options_of_a_list_are_measured_and_named() {
    let bench = Bench::new();
    let options = "--param finisher=20us --param kinds=2 --param stamp=finisher --param instructions=independent \
                   --param foreground=yes";
    let said = bench.oscost(&format!("{PART} {options}")).with(0);
    let text = unbroken(&said.out);
    text.says(&["finishers of 20 us, 2 kinds of jobs, completion timed in the finisher, independent instructions, beside a \
         foreground task", "wake-up delay of the foreground task, 90 % of its wake-ups (median): serial"]);
    bench.refuses(&[
        ("run concurrency/jobs --param kinds=9", &["kinds", "at most 8"]),
        ("run concurrency/jobs --param finisher=5", &["finisher"]),
        ("run concurrency/jobs --param stamp=never", &["stamp", "choose among handler, finisher"]),
    ]);
}

#[test]
fn jobs_come_from_a_file() {
    let bench = Bench::new();
    bench.write("jobs.txt", "# length, CPU share, arrival\n1ms 100%\n300us,0\n200us 50 1ms\n");
    let ask = "concurrency --from jobs.txt --goal worst --rounds 3 --budget 60s";
    let said = bench.oscost(&format!("{ask} --json")).with(0);
    let document = said.json();
    let list = document["results"][0]["params"]["list"].as_str().unwrap().to_owned();
    assert!(list.starts_with("jobs.txt#"), "{list}");
    bench.oscost("show").with(0).says(&["jobs in jobs.txt"]);
    // Another list under the same name is a different point.
    bench.write("jobs.txt", "1ms 100%\n");
    let other = bench.oscost(&format!("{ask} --json")).with(0).json();
    assert_ne!(other["results"][0]["params"]["list"].as_str(), Some(list.as_str()));
    assert_eq!(times(&other).len(), 1, "one job can only be done");
}

/// Checks the example in docs/concurrency.md.
#[test]
fn jobs_may_depend_on_each_other_and_share_a_lock() {
    let docs = include_str!("../../../../docs/concurrency.md");
    let example = docs.split("```").find(|block| block.contains("after=read"));
    let example = example.expect("an example");
    let bench = Bench::new();
    bench.write("jobs.txt", example);
    let said = bench
        .oscost("concurrency --from jobs.txt --rounds 3 --budget 60s --xlsx jobs.xlsx")
        .with(0);
    let text = unbroken(&said.out);
    assert!(text.contains("The critical path, the longest chain of dependent jobs"), "{text}");
    text.says(&["The lock is held for", "The fastest candidate takes"]);
    assert!(std::fs::read(bench.path("jobs.xlsx")).is_ok_and(|file| file.starts_with(b"PK")));
    bench.oscost("report -o jobs.html").with(0);
    let document = bench.oscost("show --json").with(0).json();
    let limits = &document["answer"]["limits"];
    // The critical path is 20 + 30 + 12 + 15 ms: read, a long parse, merge, write-2.
    assert_eq!(limits["critical_path_ns"], 77_000_000, "{limits}");
    assert_eq!(limits["serial_ns"], 150_000_000, "{limits}");
    assert_eq!(limits["lock_held_ns"], 6_250_000, "{limits}");
    assert!(limits["at_least_ns"].as_u64() >= Some(77_000_000), "{limits}");
    for result in times(&document) {
        assert_eq!(result["outcome"], "measured", "{result}");
        // `read` waits for 8 ms, and `write-2` after it for 12 ms: never for a shorter time than requested.
        let values = result["round_values"].as_array().unwrap();
        assert!(values.iter().all(|value| value.as_f64() > Some(19.9e6)), "{result}");
    }
}

#[test]
fn described_jobs_share_a_lock() {
    let bench = Bench::new();
    let ask = "concurrency --jobs 4 --length 1ms --bound wait --locked 50% --rounds 3 --budget 60s --json";
    let document = bench.oscost(ask).with(0).json();
    assert_eq!(document["answer"]["limits"]["at_least_ns"], 2_000_000);
    assert_eq!(document["results"][0]["params"]["locked"], "50%");
    for result in times(&document) {
        // Four jobs hold the lock for half a millisecond each.
        let values = result["round_values"].as_array().unwrap();
        assert!(values.iter().all(|value| value.as_f64() >= Some(2e6)), "{result}");
    }
    let plain = "concurrency --jobs 2 --length 100us --bound wait --rounds 3 --budget 60s --json";
    assert!(
        bench.oscost(plain).with(0).json()["answer"]["limits"].is_null(),
        "there is nothing to add"
    );
}

/// Further mistakes in a file are those of the unit tests of `job_file.rs`.
#[test]
fn wrong_jobs_are_refused_with_their_line() {
    let bench = Bench::new();
    bench.write(
        "cycle.txt",
        "1ms 1 name=a\n1ms 1 name=b after=a,d\n1ms 1 name=c after=b\n1ms 1 name=d after=c\n",
    );
    let circle = "b after d (line 4) after c (line 3) after b";
    bench.write("share.txt", "5ms 30\n\n5ms 101\n");
    bench.write("crlf.txt", "1ms 30\r\n1ms 101\r\n");
    std::fs::write(bench.path("binary.txt"), b"5ms 30\n\xff\xfe\n").unwrap();
    bench.refuses_with(
        "concurrency",
        &[
            ("--jobs 0", &["--jobs", "1 to 10000"]),
            ("--jobs 1000000000", &["--jobs", "1 to 10000"]),
            ("--jobs x", &["--jobs", "not a count"]),
            ("--length 0s", &["--length", "cannot be 0"]),
            ("--length 5", &["--length", "not a duration"]),
            ("--length 9ms..5ms", &["--length", "starts with the longer"]),
            ("--bound mixed:101", &["--bound", "0 to 100"]),
            ("--bound disk", &["--bound", "cpu, wait or mixed"]),
            ("--goal money", &["--goal", "turnaround"]),
            ("--within 1ms", &["--within", "--goal foreground"]),
            ("--goal foreground --within 0s", &["--within", "no time"]),
            ("--instructions fast", &["--instructions", "independent"]),
            ("--rounds 1", &["--rounds", "3 to 1000"]),
            ("--from jobs.txt --jobs 3", &["--from", "--jobs"]),
            ("--from jobs.txt --locked 3%", &["--from", "--locked"]),
            ("--locked 101", &["--locked", "0 to 100"]),
            ("--from cycle.txt", &["cycle.txt: line 2: b waits for itself", circle]),
            ("--from nosuch.txt", &["nosuch.txt", "cannot be read"]),
            ("--from tmp", &["tmp", "cannot be read"]),
            ("--from share.txt", &["share.txt: line 3", "\"101\"", "0 to 100"]),
            ("--from crlf.txt", &["crlf.txt: line 2", "\"101\""]),
            ("--from binary.txt", &["binary.txt: line 2", "not UTF-8"]),
        ],
    );
    bench.refuses(&[
        ("run concurrency --param degree=0", &["degree", "at least 1"]),
        ("run concurrency --param degree=5000", &["degree", "at most 1024"]),
        ("run concurrency --param jobs=1000000000", &["jobs", "at most 10000"]),
        ("run concurrency --param base=0ms", &["base", "at least 100ns"]),
        ("run concurrency --param kind=disk", &["kind", "choose among cpu, wait, mixed"]),
        ("run concurrency --scale 0", &["--scale", "above 0"]),
        ("run concurrency --scale x", &["--scale", "as in 0.01"]),
        ("run concurrency/answer", &["oscost concurrency"]),
    ]);
}

#[test]
fn an_answer_with_too_little_time_has_a_note() {
    let bench = Bench::new();
    let ask = "concurrency --jobs 3 --length 300us --bound wait --rounds 40 --budget 300ms";
    bench.oscost(ask).ended().says(&["these 3 jobs"]);
    let document = bench.oscost("show --json").with(0).json();
    // There is too little time for all points: a figure of few rounds has its doubt.
    for result in times(&document) {
        let few = result["rounds"].as_u64().is_some_and(|rounds| rounds < 6);
        let measured = result["outcome"] == "measured";
        assert!(!(measured && few) || result["doubts"].is_array(), "{result}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_answer_that_was_killed_is_taken_up_again() {
    use crate::common::{kill, started, until};
    let bench = Bench::new();
    let ask = "concurrency --jobs 4 --length 200us..900us --bound mixed:50 --rounds 12";
    let mut asking = started(&mut bench.command(ask));
    let rounds = || {
        let runs = bench.oscost("runs --json");
        let stored = runs.code == Some(0) && !runs.out.trim().is_empty();
        if stored { runs.json()[0]["rounds"].as_u64().unwrap_or(0) } else { 0 }
    };
    until("some rounds are stored", || rounds() >= 5);
    kill(&mut asking);
    let before = rounds();
    let said = bench.oscost("run --resume").with(0);
    let text = unbroken(&said.out);
    assert!(text.contains("these 4 jobs"), "{}", said.out);
    assert!(rounds() > before, "{before} rounds were kept, and more made");
    let document = bench.oscost("show --json").with(0).json();
    are_measured(&document);
}
