//! Examines the machine and its clocks for an agent's report.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use measure::survey::{ClockFacts, survey};
use measure::time::Nanoseconds;
use platform::counters::syscall_tracepoint;

use crate::launch::output_of;
use crate::machine::{add_core_type, add_cycle_counting, add_file_systems, description};
use crate::timebase::timebase_on;
use crate::wire::{ExamineOrder, Machine};
use crate::worker::probe_worker;

/// Examines this machine. Takes about 0.1 s, up to a second beside neighbours.
pub(crate) fn examine(what: &ExamineOrder) -> Machine {
    let clocks = usable(survey());
    let cpus = platform::cpu::allowed();
    let clock = clocks.first().cloned().unwrap_or_else(no_clock);
    let timebase = timebase_on(cpus.last().copied(), &clock, None);
    let mut facts = description(&platform::machine::describe(), &clock);
    add_cycle_counting(&mut facts, &timebase.latency);
    add_core_type(&mut facts, &cpus);
    add_file_systems(&mut facts, what.dirs.iter().map(String::as_str));
    let missing: BTreeMap<String, String> = catalog::areas()
        .iter()
        .flat_map(|area| area.cases)
        .filter_map(|case| Some((case.label(), case.missing_here()?.to_owned())))
        .collect();
    Machine {
        facts,
        clocks,
        worker_start_ms: worker_start_ms(),
        latency: timebase.latency,
        emulator: platform::machine::emulator(),
        tracepoint: syscall_tracepoint(),
        missing,
    }
}

/// Minimum time to start a worker in several attempts, in ms.
fn worker_start_ms() -> f64 {
    const TRIES: usize = 3;
    const LIMIT: Duration = Duration::from_secs(10);
    let never = AtomicBool::new(false);
    let start = |_| {
        let began = Instant::now();
        let output = output_of(&mut probe_worker(), LIMIT, &never);
        output.map(|_| began.elapsed().as_secs_f64() * 1e3)
    };
    // An attempt that fails ends the measurement: the others would fail too.
    (0..TRIES).map_while(start).reduce(f64::min).unwrap_or(0.0)
}

/// The clocks that advance: JSON has no number for the step of one that stands still.
fn usable(clocks: Vec<ClockFacts>) -> Vec<ClockFacts> {
    let moves = |clock: &ClockFacts| [clock.step, clock.cost].iter().all(|ns| ns.get().is_finite());
    clocks.into_iter().filter(moves).collect()
}

/// The facts of a system without a clock, which a description requires.
fn no_clock() -> ClockFacts {
    let zero = Nanoseconds::new(0.0);
    ClockFacts { name: "none".to_owned(), ns_per_tick: 1.0, cost: zero, step: zero, backward: 0 }
}
