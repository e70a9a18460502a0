//! For tests: a short round of a case in this process, and checks of what all cases must do. A case gives samples, makes the
//! expected number of system calls and page faults, and leaves no descriptor open.

use std::sync::OnceLock;

use measure::record::{Line, parse_lines};
use measure::round::Mode;
use measure::survey::{ClockFacts, survey};
use measure::{CaseError, Params, Round, RoundOrder};
use platform::counters::syscall_tracepoint;

use platform::only;

use catalog::{Area, Case, Param, Takes};

/// The case with this label in one of the areas.
///
/// # Panics
/// If no area has it.
pub fn case(areas: &[&Area], label: &str) -> &'static Case {
    let mut all = areas.iter().flat_map(|area| area.cases.iter().copied());
    all.find(|case| case.label() == label).unwrap_or_else(|| panic!("there is no case {label}"))
}

/// The order for a short round of `case`.
pub fn order(case: &str, params: &Params, mode: Mode) -> RoundOrder {
    static CLOCK: OnceLock<ClockFacts> = OnceLock::new();
    RoundOrder {
        case: case.to_owned(),
        params: params.clone(),
        core_bound: true,
        mode,
        clock: CLOCK.get_or_init(|| survey().remove(0)).clone(),
        cpus: platform::cpu::allowed(),
        level: None,
        ns_per_iteration: None,
        quiet_samples: 5,
        limit_ms: 20,
        slow_down: 0.0,
        partner_batches: 1.0,
        parent: None,
        is_here: false,
        user: None,
    }
}

/// Runs a round of `case` as a worker does, in a separate thread that is pinned to one CPU.
pub fn run(case: &Case, params: &Params, mode: Mode) -> (Vec<Line>, Result<(), CaseError>) {
    let order = order(&case.label(), params, mode);
    let round = || {
        let mut out = Vec::new();
        let result = (case.run)(params, &mut Round::new(&order, &mut out));
        (parse_lines(std::str::from_utf8(&out).unwrap()), result)
    };
    std::thread::scope(|scope| scope.spawn(round).join().expect("the case panicked"))
}

/// All combinations of a case's default parameters.
pub fn default_points(case: &Case) -> Vec<Params> {
    let mut points = vec![Params::new()];
    for param in case.params {
        let with = |value: &&str, mut point: Params| {
            let cpus = platform::cpu::allowed().len().to_string();
            let value = if *value == "1xcpus" { cpus } else { (*value).to_owned() };
            point.insert(param.name.to_owned(), value);
            point
        };
        let values: Vec<&&str> = param.default.iter().filter(|v| is_short(param, v)).collect();
        let longer =
            |point: Params| values.iter().map(|v| with(v, point.clone())).collect::<Vec<Params>>();
        points = points.into_iter().flat_map(longer).collect();
    }
    points
}

/// Whether a value is rehearsed: preparing many MiB of memory takes seconds in an unoptimised build.
fn is_short(param: &Param, value: &str) -> bool {
    const LONG_FROM: u64 = 16 << 20;
    let bytes = measure::count::parse_size(value);
    !matches!(param.takes, Takes::Footprint(_)) || bytes.is_ok_and(|bytes| bytes < LONG_FROM)
}

/// Checks that an operation takes the declared number of page faults, and hardly more: otherwise the figure includes something
/// else.
pub fn page_faults_are_as_expected(cases: &[&Case]) {
    for case in cases {
        for params in default_points(case) {
            let name = format!("{}{params:?}", case.label());
            let (lines, result) = run(case, &params, Mode::CountRest);
            let [Line::Counts(counts)] = &lines[..] else {
                // The error of a case without samples is reported by the other test.
                assert!(result.is_err() || case.trials.is_some(), "{name}: {lines:?}");
                continue;
            };
            let Some(expected) = counts.expected_faults else { continue };
            let counted = counts.page_faults.unwrap() as f64 / counts.operations as f64;
            println!("{name}: {counted} page faults");
            assert!(counted >= expected * 0.99, "{name}: {counted} instead of {expected}");
            assert!(counted <= expected * 1.05 + 0.1, "{name}: {counted} instead of {expected}");
            if let Some(expected) = counts.expected_switches {
                let switches = counts.voluntary_switches.unwrap() as f64 / counts.operations as f64;
                assert!(switches >= expected * 0.9, "{name}: {switches} switches");
            }
        }
    }
}

/// Checks that every case and default point gives samples and only declared metrics, or is unsupported.
pub fn every_case_gives_samples_or_a_reason(cases: &[&Case]) {
    for case in cases {
        for params in default_points(case) {
            let name = format!("{}{params:?}", case.label());
            let (lines, result) = run(case, &params, Mode::Sample);
            match result {
                Ok(()) => assert_eq!(case.missing_here(), None, "{name}"),
                Err(CaseError::Unsupported(reason)) => {
                    println!("{name} is unsupported: {reason}");
                    continue;
                }
                Err(case_error) => panic!("{name}: {case_error}"),
            }
            let mut samples = 0;
            for line in &lines {
                match line {
                    Line::Series(series) => samples += series.samples.len(),
                    Line::Metric(metric) => {
                        let declared = case.metrics.iter().any(|known| known.name == metric.name);
                        assert!(declared, "{name} does not declare {}", metric.name);
                    }
                    // A sweep on a busy machine may be doubtful.
                    Line::Doubt(why) => println!("{name}: {why}"),
                    other => panic!("{name}: {other:?}"),
                }
            }
            assert!(samples > 0, "{name} gave no samples");
        }
    }
}

/// Checks that each case that declares a number of system calls makes exactly that number, where they can be counted.
pub fn system_calls_are_as_expected(cases: &[&Case]) {
    let Some(tracepoint) = syscall_tracepoint() else {
        println!("system calls cannot be counted here");
        return;
    };
    for case in cases {
        for params in default_points(case) {
            let (lines, result) = run(case, &params, Mode::Count(tracepoint));
            if result.is_err() || case.trials.is_some_and(|trials| !trials.counted) {
                continue; // the other test reports the reason; such trials are not counted
            }
            let [Line::Counts(counts)] = &lines[..] else { panic!("{lines:?}") };
            let counted = counts.syscalls.unwrap() as f64 / counts.operations as f64;
            println!("{}{params:?}: {counted} system calls", case.label());
            if let Some(expected) = counts.expected_syscalls {
                let name = case.label();
                assert!((counted - expected).abs() < 1e-9, "{name}{params:?}: {counted}");
            }
        }
    }
}

/// Checks that no case changes the number of open descriptors.
pub fn no_descriptor_stays_open(cases: &[&Case]) {
    let open = || std::fs::read_dir("/proc/thread-self/fd").map(Iterator::count);
    if own_descriptors().is_err() {
        return;
    }
    let before = open().unwrap();
    for case in cases {
        for params in default_points(case) {
            let _ = run(case, &params, Mode::CountRest);
            assert_eq!(open().unwrap(), before, "{}{params:?}", case.label());
        }
    }
}

/// Gives the calling thread a private descriptor table, which other tests do not change.
#[only(linux)]
pub fn own_descriptors() -> Result<(), CaseError> {
    // SAFETY: affects the calling thread only.
    let done = unsafe { libc::unshare(libc::CLONE_FILES) };
    if done == 0 { Ok(()) } else { Err(CaseError::last_os_error("unshare")) }
}
