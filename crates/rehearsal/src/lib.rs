//! For tests: short rounds of cases in this process, and the checks of what all cases must do. A case gives samples, makes the
//! expected number of system calls and page faults, and leaves no descriptor open.

use std::sync::{Mutex, OnceLock, PoisonError};

use catalog::{Area, Case, Param, Takes};
use measure::record::{Line, MetricValue, OperationCounts, Series, parse_lines};
use measure::round::Mode;
use measure::survey::{ClockFacts, survey};
use measure::{CaseError, Params, Round, RoundOrder};
use platform::only;
use testing::Completion;

/// What a round printed, and how it ended.
pub type Outcome = (Vec<Line>, Result<(), CaseError>);

/// The case with this label in one of the areas.
///
/// # Panics
/// If no area has it.
pub fn case(areas: &[&Area], label: &str) -> &'static Case {
    let mut all = areas.iter().flat_map(|area| area.cases.iter().copied());
    all.find(|case| case.label() == label).unwrap_or_else(|| panic!("there is no case {label}"))
}

/// Parameters with these names and values.
pub fn params<'a>(all: impl IntoIterator<Item = &'a (&'a str, &'a str)>) -> Params {
    all.into_iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// A point's name, as `oscost` prints it.
pub fn name(case: &Case, params: &Params) -> String {
    let params: Vec<String> =
        params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{}{{{}}}", case.label(), params.join(","))
}

/// The order for a short round of `case`.
pub fn order(case: &str, params: &Params, mode: Mode) -> RoundOrder {
    // A round pins its thread, so that the CPUs are determined before the first one.
    static HERE: OnceLock<(ClockFacts, Vec<usize>)> = OnceLock::new();
    let (clock, cpus) = HERE.get_or_init(|| (survey().remove(0), platform::cpu::allowed()));
    RoundOrder {
        case: case.to_owned(),
        params: params.clone(),
        core_bound: true,
        mode,
        clock: clock.clone(),
        cpus: cpus.clone(),
        level: None,
        ns_per_iteration: None,
        quiet_samples: 5,
        limit_ms: 20,
        slow_down: 0.0,
        steady: false,
        approach_ms: 0,
        partner_batches: 1.0,
        parent: None,
        is_here: false,
        user: None,
    }
}

/// Carries out a round in the calling thread, which may use all CPUs afterwards.
pub fn round(order: &RoundOrder, run: impl FnOnce(&mut Round) -> Result<(), CaseError>) -> Outcome {
    // On Windows a trial restricts the whole process to its CPUs: rounds in other threads of this test program would be refused theirs.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let turn = || ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let _turn = platform::IS_WINDOWS.then(turn);
    let mut out = Vec::new();
    let result = run(&mut Round::new(order, &mut out));
    let _ = platform::cpu::keep_process_to(&order.cpus);
    (parse_lines(std::str::from_utf8(&out).expect("JSON is UTF-8")), result)
}

/// Runs a round of `case` as a worker does, in a separate thread that is pinned to one CPU.
pub fn run(case: &Case, params: &Params, mode: Mode) -> Outcome {
    run_ordered(case, &order(&case.label(), params, mode))
}

/// Runs the ordered round of `case` in a separate thread.
pub fn run_ordered(case: &Case, order: &RoundOrder) -> Outcome {
    let of_thread = || round(order, |round| (case.run)(&order.params, round));
    std::thread::scope(|scope| scope.spawn(of_thread).join().expect("the case panicked"))
}

/// The series that a round printed.
pub fn series(lines: &[Line]) -> impl Iterator<Item = &Series> {
    lines.iter().filter_map(|line| match line {
        Line::Series(series) => Some(series),
        _ => None,
    })
}

/// The metrics that a round printed.
pub fn metrics(lines: &[Line]) -> impl Iterator<Item = &MetricValue> {
    lines.iter().filter_map(|line| match line {
        Line::Metric(metric) => Some(metric),
        _ => None,
    })
}

/// The value of a metric that a round printed.
pub fn value(lines: &[Line], name: &str) -> Option<f64> {
    metrics(lines).find(|metric| metric.name == name).map(|metric| metric.value)
}

/// The counts that a counting round printed, and nothing else; each of its operations is counted.
///
/// # Panics
/// If it printed anything else, or carried out no operation.
#[track_caller]
pub fn counts(lines: &[Line]) -> &OperationCounts {
    let [Line::Counts(counts)] = lines else { panic!("{lines:?}") };
    assert!(counts.operations > 0);
    counts
}

/// The tracepoint that counts system calls; where they cannot be counted, the outcome of a test that needs it.
pub fn tracepoint() -> Result<u64, Completion> {
    platform::counters::syscall_tracepoint().ok_or_else(|| {
        let why = "root: counting system calls needs Linux, root and tracefs";
        match std::env::consts::OS {
            "linux" => testing::skip(why),
            _ => testing::not_applicable(why),
        }
        Completion::ignored_with(why)
    })
}

/// All combinations of the values that `values` gives for each of a case's parameters.
pub fn combinations<V: Into<String>>(
    case: &Case,
    values: impl Fn(&'static Param) -> Vec<V>,
) -> Vec<Params> {
    let mut points = vec![Params::new()];
    for param in case.params {
        let values: Vec<String> = values(param).into_iter().map(Into::into).collect();
        let longer = |point: Params| {
            let with = |value: &String| {
                let mut point = point.clone();
                point.insert(param.name.to_owned(), value.clone());
                point
            };
            values.iter().map(with).collect::<Vec<Params>>()
        };
        points = points.into_iter().flat_map(longer).collect();
    }
    points
}

/// All combinations of a case's default parameters.
pub fn default_points(case: &Case) -> Vec<Params> {
    combinations(case, |param| {
        let cpus = || platform::cpu::allowed().len().to_string();
        let values = param.default.iter().filter(|value| is_short(param, value));
        values.map(|&value| if value == "1xcpus" { cpus() } else { value.to_owned() }).collect()
    })
}

/// Whether a value is rehearsed: preparing many MiB of memory takes seconds in an unoptimised build.
fn is_short(param: &Param, value: &str) -> bool {
    const LONG_FROM: u64 = 16 << 20;
    let bytes = measure::count::parse_size(value);
    !matches!(param.takes, Takes::Footprint(_)) || bytes.is_ok_and(|bytes| bytes < LONG_FROM)
}

/// Checks all default points of the cases: see [`check_points`]. Their operations take hardly more page faults than declared:
/// otherwise the figure includes something else.
pub fn check(cases: &[&'static Case]) {
    let of_case = |&case: &&'static Case| default_points(case).into_iter().map(move |p| (case, p));
    for (name, counts) in check_points(cases.iter().flat_map(of_case)) {
        if let (Some(expected), Some(counted)) = (counts.expected_faults, counts.page_faults) {
            let counted = counted as f64 / counts.operations as f64;
            assert!(counted <= expected * 1.05 + 0.1, "{name}: {counted} instead of {expected}");
        }
    }
}

/// Checks points one after the other. Each gives samples and only declared metrics, or is unsupported; makes exactly the declared
/// number of system calls, where they can be counted; takes at least the declared number of page faults; and leaves the number of
/// open descriptors as it was.
///
/// Returns the names of the points that were counted, with their counts.
pub fn check_points(
    points: impl IntoIterator<Item = (&'static Case, Params)>,
) -> Vec<(String, OperationCounts)> {
    let descriptors = own_descriptors().is_ok();
    let open = || descriptors.then(|| std::fs::read_dir("/proc/thread-self/fd").unwrap().count());
    let before = open();
    let check = |(case, params): (&'static Case, Params)| {
        let counted = check_point(case, &params);
        let name = name(case, &params);
        assert_eq!(open(), before, "{name} changed the number of descriptors");
        counted.map(|counts| (name, counts))
    };
    points.into_iter().filter_map(check).collect()
}

fn check_point(case: &Case, params: &Params) -> Option<OperationCounts> {
    let name = name(case, params);
    let (lines, result) = run(case, params, Mode::Sample);
    if let Err(CaseError::Unsupported(reason)) = result {
        println!("{name} is unsupported: {reason}");
        return None;
    }
    assert_eq!(result, Ok(()), "{name}");
    assert_eq!(case.missing_here(), None, "{name}");
    check_samples(case, &name, &lines);

    let of_mode = |mode| {
        let (lines, result) = run(case, params, mode);
        assert_eq!(result, Ok(()), "{name}, {mode:?}");
        lines
    };
    let mut last = None;
    let is_traced = case.trials.is_none_or(|trials| trials.counted);
    if let Some(tracepoint) = platform::counters::syscall_tracepoint().filter(|_| is_traced) {
        let lines = of_mode(Mode::Count(tracepoint));
        let counts = counts(&lines);
        check_calls(&name, counts);
        last = Some(counts.clone());
    }
    // A round that is traced takes page faults of its own.
    if last.as_ref().is_none_or(|counts| counts.expected_faults.is_some()) {
        let lines = of_mode(Mode::CountRest);
        if lines.is_empty() && case.trials.is_some() {
            return last;
        }
        let counts = counts(&lines);
        check_faults(&name, counts);
        last = Some(counts.clone());
    }
    last
}

fn check_samples(case: &Case, name: &str, lines: &[Line]) {
    for line in lines {
        match line {
            Line::Series(_) => {}
            Line::Metric(metric) => {
                let declared = case.metrics.iter().any(|known| known.name == metric.name);
                assert!(declared, "{name} does not declare {}", metric.name);
            }
            // A sweep on a busy machine may be doubtful.
            Line::Doubt(why) => println!("{name}: {why}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    assert!(series(lines).any(|series| !series.samples.is_empty()), "{name} gave no samples");
}

/// Checks that an operation makes exactly the declared number of system calls, if they were counted.
#[track_caller]
pub fn check_calls(name: &str, counts: &OperationCounts) {
    if let (Some(expected), Some(counted)) = (counts.expected_syscalls, counts.syscalls) {
        let counted = counted as f64 / counts.operations as f64;
        assert!((counted - expected).abs() < 1e-9, "{name}: {counted} calls, not {expected}");
    }
}

/// Checks that an operation takes at least the declared number of page faults. An operation that waits for a page fault's handler
/// switches as often as declared.
#[track_caller]
fn check_faults(name: &str, counts: &OperationCounts) {
    let (Some(expected), Some(counted)) = (counts.expected_faults, counts.page_faults) else {
        return;
    };
    let each = |count: u64| count as f64 / counts.operations as f64;
    let counted = each(counted);
    println!("{name}: {counted} page faults");
    assert!(counted >= expected * 0.99, "{name}: {counted} instead of {expected}");
    if let Some(expected) = counts.expected_switches {
        let switches = each(counts.voluntary_switches.unwrap());
        assert!(switches >= expected * 0.9, "{name}: {switches} switches");
    }
}

/// Gives the calling thread a private descriptor table, which other tests do not change.
#[only(linux)]
fn own_descriptors() -> Result<(), CaseError> {
    // SAFETY: affects the calling thread only.
    let done = unsafe { libc::unshare(libc::CLONE_FILES) };
    if done == 0 { Ok(()) } else { Err(CaseError::last_os_error("unshare")) }
}
