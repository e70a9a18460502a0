//! Runs lists of jobs in real rounds with every executor: no reported time is below the lower bound for the jobs, for any order
//! and degree.
//!
//! One executor forks, which a process with other threads must not do. So these tests run one after the other on the main thread,
//! without the usual test harness.

use std::process::ExitCode;

use jobs::executor::NAMES;
use measure::record::MetricValue;
use measure::round::Mode;
use measure::{CaseError, RoundOrder};

fn main() -> ExitCode {
    testing::alone(testing::tests![
        no_executor_is_faster_than_the_jobs,
        one_at_a_time_takes_the_sum,
        the_order_decides_whose_turn_it_is,
        work_takes_the_requested_cpu_time,
        degrees_and_lengths_are_measured,
        every_executor_respects_dependencies,
        options_are_measured_with_every_executor,
        finishers_and_stamps_show,
    ])
}

/// The outcome of a round.
struct Timed {
    elapsed_ms: f64,
    metrics: Vec<MetricValue>,
}

impl Timed {
    fn value(&self, name: &str) -> f64 {
        let metric = self.metrics.iter().find(|metric| metric.name == name);
        metric.unwrap_or_else(|| panic!("no {name}")).value
    }
}

fn carry_out(case: &str, params: &[(&str, &str)]) -> Result<Timed, CaseError> {
    let params = rehearsal::params(params);
    let order = rehearsal::order(case, &params, Mode::Sample);
    let order = RoundOrder { core_bound: false, quiet_samples: 1, limit_ms: 1_000, ..order };
    let case = rehearsal::case(&[&jobs::AREA], case);
    let (lines, result) = rehearsal::round(&order, |round| (case.run)(&params, round));
    result?;
    let series: Vec<_> = rehearsal::series(&lines).collect();
    assert!(series.iter().all(|series| series.contended && !series.samples.is_empty()));
    Ok(Timed {
        elapsed_ms: f64::from(series[0].samples[0]) / 1e6,
        metrics: rehearsal::metrics(&lines).cloned().collect(),
    })
}

fn jobs(executor: &str, more: [&str; 4]) -> Result<Timed, CaseError> {
    let [kind, order, cpus, degree] = more;
    let params = [
        ("executor", executor),
        ("jobs", "3"),
        ("base", "5ms"),
        ("kind", kind),
        ("order", order),
        ("cpus", cpus),
        ("degree", degree),
    ];
    carry_out("concurrency/jobs", &params)
}

fn no_executor_is_faster_than_the_jobs() {
    for &executor in NAMES {
        for kind in ["wait", "mixed"] {
            let outcome = jobs(executor, [kind, "longest", "all", "25"]);
            if executor == "processes" && cfg!(windows) {
                assert!(matches!(outcome, Err(CaseError::Unsupported(_))));
                continue;
            }
            let outcome = outcome.unwrap_or_else(|e| panic!("{executor}, {kind}: {e}"));
            // A wait is never shorter than requested: all of 15 ms, or half of it.
            let least = if kind == "wait" { 15.0 } else { 7.5 };
            assert!(outcome.elapsed_ms >= least, "{executor}: {} ms", outcome.elapsed_ms);
            let share = least / 15.0;
            for (lower, higher) in [
                ("turnaround-p25", "turnaround-p50"),
                ("turnaround-p50", "turnaround-p75"),
                ("turnaround-p75", "turnaround-worst"),
                ("turnaround", "turnaround-worst"),
            ] {
                let (lower, higher) = (outcome.value(lower), outcome.value(higher));
                assert!(share <= lower && lower <= higher, "{executor}: {lower}, {higher}");
            }
        }
    }
}

fn one_at_a_time_takes_the_sum() {
    for executor in ["serial", "threads", "threads-up-front", "pool", "rayon", "tokio"] {
        let outcome = jobs(executor, ["wait", "longest", "all", "1"]).unwrap();
        assert!(outcome.elapsed_ms >= 30.0, "{executor}: {} ms", outcome.elapsed_ms);
        // No number of CPUs shortens a wait of 15 ms.
        assert!(outcome.value("overhead") >= 0.999, "{executor}");
    }
}

fn the_order_decides_whose_turn_it_is() {
    // Longest first, the jobs end after 15, 25 and 30 ms: 1, 2.5 and 6 times their lengths.
    let outcome = jobs("serial", ["wait", "longest", "one", "25"]).unwrap();
    assert!(outcome.value("turnaround") >= 9.5 / 3.0 - 1e-3);
    assert!(outcome.value("turnaround-worst") >= 6.0 - 1e-3);
    // Shortest first, the jobs end after 5, 15 and 30 ms: 1, 1.5 and 2 times their lengths.
    let outcome = jobs("serial", ["wait", "shortest", "one", "25"]).unwrap();
    assert!(outcome.value("turnaround") >= 1.5 - 1e-3);
    assert!(outcome.value("turnaround-p25") >= 1.25 - 1e-3);
}

fn work_takes_the_requested_cpu_time() {
    let outcome = jobs("serial", ["cpu", "longest", "one", "25"]).unwrap();
    if cfg!(unix) {
        // A neighbour on the core lengthens the work; only a wrong calibration could halve it.
        assert!(outcome.value("work-error") > -0.5, "{}", outcome.value("work-error"));
        assert!(outcome.value("voluntary-switches") >= 0.0);
    }
    assert!(outcome.value("cpu-use") <= 1.5, "{}", outcome.value("cpu-use"));
    let waiting = jobs("serial", ["wait", "longest", "one", "25"]).unwrap();
    assert!(!waiting.metrics.iter().any(|metric| metric.name == "work-error"));
}

fn with_options(executor: &str, options: &[(&str, &str)]) -> Result<Timed, CaseError> {
    let list = [
        ("executor", executor),
        ("jobs", "4"),
        ("base", "1ms"),
        ("kind", "mixed"),
        ("order", "longest"),
        ("cpus", "all"),
        ("degree", "3"),
    ];
    carry_out("concurrency/jobs", &[&list, options].concat())
}

fn options_are_measured_with_every_executor() {
    let options = [
        ("finisher", "50us"),
        ("kinds", "3"),
        ("stamp", "finisher"),
        ("instructions", "independent"),
        ("foreground", "yes"),
    ];
    for &executor in NAMES {
        if executor == "processes" && cfg!(windows) {
            continue;
        }
        let outcome = with_options(executor, &options);
        let outcome = outcome.unwrap_or_else(|e| panic!("{executor}: {e}"));
        // Half of the longest job waits.
        assert!(outcome.elapsed_ms >= 2.0, "{executor}: {} ms", outcome.elapsed_ms);
        assert!(outcome.value("turnaround") >= 0.5, "{executor}");
        let delays = ["", "-p90", "-p99", "-max"]
            .map(|which| outcome.value(&format!("foreground-delay{which}")));
        assert!(delays[0] >= 1.0 && delays.is_sorted(), "{executor}: {delays:?}");
        // The default values are those of a list without options.
        let usual = with_options(executor, jobs::options::USUAL);
        let usual = usual.unwrap_or_else(|e| panic!("{executor}: {e}"));
        assert!(!usual.metrics.iter().any(|metric| metric.name.starts_with("foreground")));
    }
    for (name, value) in [("kinds", "9"), ("finisher", "x")] {
        assert!(with_options("serial", &[(name, value)]).is_err(), "{name}={value}");
    }
}

fn finishers_and_stamps_show() {
    // The finishers take 20 ms, one at a time. A neighbour on the core lengthens them; only a wrong calibration could halve them.
    let finisher = ("finisher", "5ms");
    for executor in ["serial", "threads", "threads-finished-at-once", "pool", "tokio"] {
        let outcome = with_options(executor, &[finisher]).unwrap();
        assert!(outcome.elapsed_ms >= 10.0, "{executor}: {} ms", outcome.elapsed_ms);
    }
    // The last of four jobs of 1 to 4 ms is finished after three other finishers: 15 ms, more than its own length.
    let stamped = with_options("threads", &[finisher, ("stamp", "finisher")]).unwrap();
    assert!(stamped.value("turnaround-worst") >= 7.5 / 4.0, "{:?}", stamped.metrics);
}

fn every_executor_respects_dependencies() {
    let name = format!("oscost-dependent-jobs-{}.txt", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, "2ms 0 after=b\n1ms 0 name=c\n3ms 0 name=b after=a\n2ms 0 name=a\n")
        .expect("the temporary folder is writable");
    let (list, checksum) = jobs::job_file::read(&path).expect("valid jobs");
    assert_eq!(list.limits(2).critical_path.as_millis(), 7);
    let file = format!("{}#{checksum}", path.display());
    for &executor in NAMES {
        let params =
            [("executor", executor), ("degree", "4"), ("order", "given"), ("list", file.as_str())];
        let outcome = carry_out("concurrency/answer", &params);
        if executor == "processes" && cfg!(windows) {
            assert!(matches!(outcome, Err(CaseError::Unsupported(_))));
            continue;
        }
        let outcome = outcome.unwrap_or_else(|e| panic!("{executor}: {e}"));
        let least = if executor == "serial" { 8.0 } else { 7.0 };
        assert!(outcome.elapsed_ms >= least, "{executor}: {} ms", outcome.elapsed_ms);
        // The shortest possible time of each job is that of the chain that ends with the job.
        assert!(outcome.value("turnaround-p25") >= 1.0, "{executor}");
        assert!(outcome.value("overhead") >= 0.0, "{executor}");
    }
    std::fs::remove_file(&path).expect("it is ours");
}

fn degrees_and_lengths_are_measured() {
    let params = [("kind", "wait"), ("degree", "2"), ("executor", "threads"), ("jobs", "8")];
    let outcome = carry_out("concurrency/degree", &[&params[..], &[("length", "2ms")]].concat());
    // Eight jobs wait for 2 ms each, two at a time.
    let rate = outcome.unwrap().value("rate");
    assert!(rate > 0.0 && rate <= 1_000.0, "{rate} jobs/s");
    let params = [("executor", "pool"), ("length", "20us"), ("jobs", "16"), ("degree", "2")];
    assert!(carry_out("concurrency/worth", &params).unwrap().elapsed_ms > 0.0);
}
