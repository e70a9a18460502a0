//! Runs every case of `switch` and `ipc` in real rounds: the partner answers, broken mechanisms are detected, system calls and
//! switches are as declared, and nothing is left over, also when the measuring task is killed.

#[cfg(target_os = "linux")]
pub mod linux;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use catalog::{Case, Only};
use measure::record::{Line, OperationCounts};
use measure::round::Mode;
use measure::{CaseError, Params, RoundOrder};
use platform::process::tree::ProcessTree;
use primitives::ipc::{self, Mechanism, MessageEnd, measure_round_trip, measure_transfer};
use primitives::partner::{TaskPlace, Tasks};
use primitives::switch::{self, TokenEnd, measure_ring};
use rehearsal::{Outcome, round};
use testing::{Completion, Trial};

/// Two tests for each case.
pub fn of_cases() -> impl Iterator<Item = Trial> {
    let areas = [switch::AREA.cases, ipc::AREA.cases].into_iter();
    areas.flat_map(crate::of_this_system).flat_map(|case| {
        let name = case.label().replace('/', "_");
        [
            testing::test(format!("partners::samples_of_{name}"), || every_point_is_measured(case)),
            testing::test(format!("partners::counts_of_{name}"), || counts_are_as_expected(case)),
        ]
    })
}

fn order(case: &str, params: &Params, mode: Mode) -> RoundOrder {
    RoundOrder { quiet_samples: 3, limit_ms: 5, ..rehearsal::order(case, params, mode) }
}

fn run(case: &Case, params: &Params, mode: Mode) -> Outcome {
    round(&order(&case.label(), params, mode), |round| (case.run)(params, round))
}

/// Points with all values of `as` and `place` and the first default of each other parameter; and points with one other value of
/// another parameter.
fn points(case: &Case) -> Vec<Params> {
    let first: Params =
        case.params.iter().map(|p| (p.name.to_owned(), p.default[0].to_owned())).collect();
    let mut points = vec![first.clone()];
    for param in case.params {
        let longer: Vec<Params> = match param.name {
            "as" | "place" => points.clone(),
            _ => vec![first.clone()],
        };
        for value in param.full.iter().filter(|&&value| value != param.default[0]) {
            // Thousands of connections take long, and test nothing more.
            if param.name == "connections" && value.len() > 3 {
                continue;
            }
            points.extend(longer.iter().map(|point| {
                let mut point = point.clone();
                point.insert(param.name.to_owned(), (*value).to_owned());
                point
            }));
        }
    }
    points
}

/// Whether other systems, sandboxes and small limits may lack the point.
fn may_be_unsupported(case: &Case, params: &Params) -> bool {
    let queue = case.name.contains("queue");
    let one_cpu = platform::cpu::allowed().len() < 2;
    let too_long = ["1m", "64k", "64", "256k"].iter().any(|long| {
        params.get("block").is_some_and(|block| block == long) && case.name.contains("dat")
            || case.name.contains("seqpacket")
            || case.name.starts_with("udp")
    });
    let privileged = ["process-vm-readv", "getaddrinfo", "swapcontext"].contains(&case.name);
    queue || one_cpu || too_long || privileged
}

fn every_point_is_measured(case: &Case) {
    for params in points(case) {
        let name = rehearsal::name(case, &params);
        let open = descriptors();
        let (lines, result) = run(case, &params, Mode::Sample);
        assert_eq!(descriptors(), open, "{name} left descriptors open");
        crate::assert_no_children(&name);
        assert!(!platform::cleanup::has_things(), "{name} left a file");
        match result {
            Ok(()) => {}
            Err(CaseError::Unsupported(reason)) if may_be_unsupported(case, &params) => {
                println!("{name} is unsupported: {reason}");
                continue;
            }
            Err(reason) => panic!("{name}: {reason:?}"),
        }
        let mut samples = 0;
        for line in &lines {
            match line {
                Line::Series(series) => {
                    samples += series.samples.len();
                    assert!(series.samples.iter().all(|&ns| ns > 0.0), "{name}: {series:?}");
                }
                Line::Metric(metric) => {
                    let declared = case.metrics.iter().any(|known| known.name == metric.name);
                    assert!(declared, "{name} does not declare {}", metric.name);
                    let is_share = metric.unit == "share";
                    assert!(metric.value >= 0.0 && !(is_share && metric.value > 1.0), "{name}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
        assert!(samples > 0, "{name} gave no samples");
        for metric in case.metrics {
            let due = match metric.name {
                "same-cpu" => params["place"] == "unpinned" && platform::cpu::current().is_some(),
                "touch" | "net" => params["working-set"] != "0",
                _ => true,
            };
            let is_there = rehearsal::value(&lines, metric.name).is_some();
            assert_eq!(is_there, due, "{name}: {}", metric.name);
        }
    }
}

fn counts_are_as_expected(case: &Case) -> Completion {
    let tracepoint = rehearsal::tracepoint();
    let mode = tracepoint.as_ref().map_or(Mode::CountRest, |tracepoint| Mode::Count(*tracepoint));
    // The calls of a transfer do not depend on the places of its tasks.
    let points = points(case)
        .into_iter()
        .filter(|params| !params.contains_key("block") || params["place"] == "other");
    for params in points {
        let name = rehearsal::name(case, &params);
        let (lines, result) = run(case, &params, mode);
        match result {
            Ok(()) => {}
            Err(CaseError::Unsupported(_)) if may_be_unsupported(case, &params) => continue,
            Err(reason) => panic!("{name}: {reason:?}"),
        }
        check_counts(&name, rehearsal::counts(&lines));
    }
    tracepoint.err().unwrap_or(Completion::Completed)
}

fn check_counts(name: &str, counts: &OperationCounts) {
    let per_operation = |count: u64| count as f64 / counts.operations as f64;
    println!(
        "{name}: {:?} system calls, {:?} voluntary and {:?} other switches, expected {:?} and {:?}",
        counts.syscalls.map(per_operation),
        counts.voluntary_switches.map(per_operation),
        counts.involuntary_switches.map(per_operation),
        counts.expected_syscalls,
        counts.expected_switches,
    );
    rehearsal::check_calls(name, counts);
    if let (Some(expected), Some(seen)) = (counts.expected_switches, counts.switches()) {
        let seen = per_operation(seen);
        assert!(seen >= expected * 0.95, "{name}: {seen} switches, not {expected}");
    }
}

/// The number of open descriptors or handles; `None` where it is unknown. Under Wine, `/proc` is not read: it includes
/// descriptors that Wine keeps for itself and closes at any time.
fn descriptors() -> Option<usize> {
    ProcessTree::of(std::process::id()).ok().and_then(|tree| tree.descriptors)
}

/// Kinds of tasks: processes are included on systems with fork.
fn kinds() -> &'static [bool] {
    if platform::process::CAN_FORK { &[false, true] } else { &[false] }
}

fn tasks(order: &RoundOrder, processes: bool) -> Tasks {
    Tasks::new(order, processes, TaskPlace::Unpinned).expect("unpinned tasks need nothing")
}

/// An end that passes the token to itself.
struct Lonely(Option<u32>);

impl TokenEnd for Lonely {
    fn pass(&mut self, token: u32) -> io::Result<()> {
        self.0 = Some(token);
        Ok(())
    }

    fn take(&mut self) -> io::Result<u32> {
        // The partner never receives anything, and ends.
        self.0.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

pub fn a_token_that_nobody_passed_on_is_caught() {
    for &processes in kinds() {
        let order = order("switch/broken", &Params::new(), Mode::Sample);
        let ends = vec![Lonely(None), Lonely(None)];
        let (lines, result) =
            round(&order, |round| measure_ring(&tasks(&order, processes), round, ends, 0));
        assert!(
            matches!(&result, Err(CaseError::Failed(why)) if why.contains("the token is 0, not 1")),
            "{result:?}"
        );
        assert_eq!(lines, [], "nothing is reported of a token that was not passed on");
    }
}

/// Three ends in one memory, of which the first passes the token to the third.
struct Skipping {
    all: Arc<[AtomicU32; 3]>,
    own: usize,
    next: usize,
}

impl TokenEnd for Skipping {
    fn pass(&mut self, token: u32) -> io::Result<()> {
        // The token that ends tasks is passed on to all.
        if token == u32::MAX {
            self.all.iter().for_each(|word| word.store(token, Ordering::Release));
        }
        self.all[self.next].store(token, Ordering::Release);
        Ok(())
    }

    fn take(&mut self) -> io::Result<u32> {
        loop {
            match self.all[self.own].load(Ordering::Acquire) {
                NO_TOKEN => std::thread::yield_now(),
                u32::MAX => return Ok(u32::MAX),
                token => {
                    self.all[self.own].store(NO_TOKEN, Ordering::Release);
                    return Ok(token);
                }
            }
        }
    }
}

const NO_TOKEN: u32 = u32::MAX - 1;

fn skipping(next_of_first: usize) -> Outcome {
    let order = order("switch/broken", &Params::new(), Mode::Sample);
    let all = Arc::new([const { AtomicU32::new(NO_TOKEN) }; 3]);
    let end = |own, next| Skipping { all: all.clone(), own, next };
    let ends = vec![end(0, next_of_first), end(1, 2), end(2, 0)];
    round(&order, |round| measure_ring(&tasks(&order, false), round, ends, 64))
}

pub fn a_token_that_skips_a_task_is_caught() {
    let (_, result) = skipping(2);
    assert!(
        matches!(&result, Err(CaseError::Failed(why)) if why.contains("the token is 1, not 2")),
        "{result:?}"
    );
}

pub fn a_ring_visits_all_tasks() {
    let (lines, result) = skipping(1);
    assert_eq!(result, Ok(()));
    assert!(rehearsal::series(&lines).all(|series| series.batch % 3 == 0));
}

/// Messages in memory that two threads share; `spoil` changes the received ones.
struct InMemory {
    own: Arc<Mutex<VecDeque<Vec<u8>>>>,
    other: Arc<Mutex<VecDeque<Vec<u8>>>>,
    spoil: fn(&mut Vec<u8>),
}

impl MessageEnd for InMemory {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.other.lock().unwrap().push_back(bytes.to_vec());
        Ok(())
    }

    fn receive(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        loop {
            let Some(mut message) = self.own.lock().unwrap().pop_front() else {
                std::thread::yield_now();
                continue;
            };
            (self.spoil)(&mut message);
            if message.len() != bytes.len() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes.copy_from_slice(&message);
            return Ok(());
        }
    }
}

fn in_memory(spoil: fn(&mut Vec<u8>)) -> [InMemory; 2] {
    let (there, back) = <(Arc<_>, Arc<_>)>::default();
    [
        InMemory { own: Arc::clone(&back), other: Arc::clone(&there), spoil: |_| {} },
        InMemory { own: there, other: back, spoil },
    ]
}

const IN_MEMORY: Mechanism = Mechanism::new("memory", ipc::Calls::Any);

fn params(name: &str, value: &str) -> Params {
    rehearsal::params(&[(name, value), ("as", "threads"), ("place", "unpinned")])
}

pub fn a_damaged_message_is_caught() {
    let of = |mode, spoil: fn(&mut Vec<u8>)| {
        let params = params("message", "100");
        let order = order("ipc/broken", &params, mode);
        round(&order, |round| measure_round_trip(&params, round, IN_MEMORY, in_memory(spoil)))
    };
    let spoil = |message: &mut Vec<u8>| {
        // The message that ends the partner is left intact.
        if message[0] != u8::MAX {
            message[50] ^= 1;
        }
    };
    for mode in [Mode::Sample, Mode::CountRest] {
        assert_eq!(of(mode, |_| {}).1, Ok(()));
    }
    let (lines, result) = of(Mode::CountRest, spoil);
    assert_eq!(result, Err(CaseError::Failed("the reply is not the message".into())));
    assert_eq!(lines, []);
}

pub fn a_damaged_or_lost_block_is_caught() {
    let of = |mode, spoil: fn(&mut Vec<u8>)| {
        let params = params("block", "1k");
        let order = order("ipc/broken", &params, mode);
        round(&order, |round| measure_transfer(&params, round, IN_MEMORY, in_memory(spoil))).1
    };
    for mode in [Mode::Sample, Mode::CountRest] {
        assert_eq!(of(mode, |_| {}), Ok(()));
    }
    let damaged = Err(CaseError::Failed("blocks arrived damaged or out of order".into()));
    assert_eq!(of(Mode::CountRest, |block| block[1_000] ^= 1), damaged);
    // The number of a wrong block is detected in every pass.
    let other_number = |block: &mut Vec<u8>| {
        if block[..8] == 3u64.to_le_bytes() {
            block[0] = 4;
        }
    };
    assert_eq!(of(Mode::Sample, other_number), damaged);
}

/// An end that fails in the partner.
struct Failing(switch::WorkingSet, bool);

impl TokenEnd for Failing {
    fn pass(&mut self, _: u32) -> io::Result<()> {
        Ok(())
    }

    fn take(&mut self) -> io::Result<u32> {
        self.0.touch();
        Err(if self.1 {
            io::Error::other("out of order")
        } else {
            io::ErrorKind::InvalidData.into()
        })
    }
}

pub fn a_partner_that_fails_is_reported() {
    for &processes in kinds() {
        let order = order("switch/broken", &Params::new(), Mode::Sample);
        let end = |is_partner| Failing(switch::WorkingSet::new(64), is_partner);
        let ends = vec![end(false), end(true)];
        let (_, result) =
            round(&order, |round| measure_ring(&tasks(&order, processes), round, ends, 0));
        let Err(CaseError::Failed(why)) = result else { panic!("{result:?}") };
        assert!(why.contains("waiting for the token: "), "{why}");
        assert!(why.contains("its partner: waiting for the token: out of order"), "{why}");
    }
}

pub fn a_second_cpu_is_needed() {
    let mut order = order("switch/pipe", &Params::new(), Mode::Sample);
    order.cpus.truncate(1);
    let refused = Tasks::new(&order, false, TaskPlace::Other);
    assert!(matches!(refused, Err(CaseError::Unsupported(why)) if why.contains("two CPUs")));
}

pub fn too_long_messages_are_unsupported() {
    let udp = rehearsal::case(&[&ipc::AREA], "ipc/udp-bandwidth");
    assert_eq!(udp.only, Only::Everywhere);
    for &processes in kinds() {
        let mut params = params("block", "1m");
        params.insert("as".into(), if processes { "processes" } else { "threads" }.into());
        let (_, result) = run(udp, &params, Mode::Sample);
        assert!(matches!(result, Err(CaseError::Unsupported(_))), "{result:?}");
    }
}
