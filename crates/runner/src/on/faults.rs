//! Tests runs on two systems, one of which fails in a way determined by a seed.

use std::collections::BTreeMap;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use measure::RoundOrder;
use measure::cycles::Latency;
use measure::round::Mode;
use measure::survey::ClockFacts;
use measure::time::Nanoseconds;
use platform::CaseError;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use results::{CaseResult, Document, Outcome, Store};

use super::*;
use crate::agent::{Rounds, serve_with};
use crate::launch::{Report, reported_end};
use crate::link::Started;
use crate::wire::{Capability, Deframer, FrameWriter, Hello, Machine, Message, PROTOCOL, Stamped};

/// The cases of all runs, with their expected figures.
const FIGURES: [(&str, f64); 3] =
    [("clock/std-instant", 25.0), ("syscall/getppid", 90.5), ("syscall/getcwd", 310.25)];

/// A fault of an agent, at one of its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The agent's output ends.
    Killed,
    /// The agent's output ends in the middle of the frame.
    CutShort,
    /// The agent writes no more.
    Stopped,
    /// A few bytes of the frame are changed.
    Garbled,
    /// The rest of the frame's line is missing.
    CutLine,
    /// The frame is repeated.
    Repeated,
    /// The frame is late.
    Late,
    /// The agent's clock has jumped by this number of seconds.
    ClockJumped(i64),
    /// A hundred thousand lines of a kernel precede the frame, or are in its middle.
    Flooded { within: bool },
    /// A byte of the next order is changed.
    OrderGarbled,
    /// The agent starts again on the same console.
    GreetsAgain,
}

impl Fault {
    const KINDS: u32 = 12;

    fn of(rng: &mut StdRng, kind: u32) -> Self {
        match kind % Self::KINDS {
            0 => Self::Killed,
            1 => Self::CutShort,
            2 => Self::Stopped,
            3 => Self::Garbled,
            4 => Self::CutLine,
            5 => Self::Repeated,
            6 => Self::Late,
            7 => Self::ClockJumped(rng.random_range(1..100_000)),
            8 => Self::ClockJumped(-rng.random_range(1..100_000)),
            9 => Self::Flooded { within: rng.random_range(0..2) == 0 },
            10 => Self::OrderGarbled,
            _ => Self::GreetsAgain,
        }
    }
}

/// A system in this process, whose agent reports prepared figures.
struct Fake {
    name: &'static str,
    /// The faults, by the number of the frame since the first start.
    faults: Arc<Mutex<BTreeMap<u64, Fault>>>,
    frames: Arc<Mutex<u64>>,
    /// Number of first starts that fail.
    failing_starts: AtomicU32,
    starts: AtomicU32,
    clock_rate: f64,
    own_process: bool,
}

impl Fake {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            faults: Arc::default(),
            frames: Arc::default(),
            failing_starts: AtomicU32::new(0),
            starts: AtomicU32::new(0),
            clock_rate: 1.0,
            own_process: false,
        }
    }
}

impl Starts for Fake {
    fn name(&self) -> &str {
        self.name
    }

    fn start(&self, _: &[usize], _: bool) -> Result<Box<dyn Started>, String> {
        let left = self.failing_starts.load(Ordering::Relaxed);
        if left > 0 {
            self.failing_starts.store(left - 1, Ordering::Relaxed);
            return Err("it has no engine".to_owned());
        }
        self.starts.fetch_add(1, Ordering::Relaxed);
        let failed = |e: std::io::Error| e.to_string();
        let (order_out, order_in) = std::io::pipe().map_err(failed)?;
        let (frame_out, frame_in) = std::io::pipe().map_err(failed)?;
        let ended = Arc::<Ended>::default();
        let garble = Arc::new(AtomicBool::new(false));
        let wire = FaultyWire {
            out: Some(frame_in),
            deframer: Deframer::default(),
            frames: FrameWriter::new(Vec::new()),
            faults: Arc::clone(&self.faults),
            count: Arc::clone(&self.frames),
            ended: Arc::clone(&ended),
            garble: Arc::clone(&garble),
            offset_us: 0,
            rate: self.clock_rate,
        };
        let rounds = Prepared { own_process: self.own_process };
        let input = GarbledInput { orders: order_out, garble };
        std::thread::spawn(move || {
            // A fault is an error of the agent's output, which ends it.
            let _ = serve_with(Box::new(input), Box::new(wire), rounds, true);
        });
        Ok(Box::new(FakeAgent { input: Some(order_in), output: Some(frame_out), ended }))
    }
}

struct FakeAgent {
    input: Option<PipeWriter>,
    output: Option<PipeReader>,
    ended: Arc<Ended>,
}

/// Whether the coordinator has ended the agent.
#[derive(Default)]
struct Ended {
    has: Mutex<bool>,
    changed: Condvar,
}

impl Ended {
    fn wait(&self) {
        drop(self.changed.wait_while(self.has.lock().unwrap(), |has| !*has).unwrap());
    }
}

impl Started for FakeAgent {
    fn take_input(&mut self) -> Box<dyn Write + Send> {
        Box::new(self.input.take().expect("taken once"))
    }

    fn take_output(&mut self) -> Box<dyn Read + Send> {
        Box::new(self.output.take().expect("taken once"))
    }

    fn last_words(&mut self) -> String {
        String::new()
    }

    fn end(&mut self) {
        *self.ended.has.lock().unwrap() = true;
        self.ended.changed.notify_all();
    }
}

impl Drop for FakeAgent {
    fn drop(&mut self) {
        self.end();
    }
}

/// The orders as they reach the agent.
struct GarbledInput {
    orders: PipeReader,
    garble: Arc<AtomicBool>,
}

impl Read for GarbledInput {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let count = self.orders.read(bytes)?;
        if count > 40 && self.garble.swap(false, Ordering::Relaxed) {
            // The changed byte is mostly a digit or a letter of a name, so that the order is still one.
            let at = bytes[..count].iter().rposition(u8::is_ascii_digit).unwrap_or(count / 2);
            bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
        }
        Ok(count)
    }
}

/// The path of the agent's output, where faults happen.
struct FaultyWire {
    out: Option<PipeWriter>,
    deframer: Deframer,
    frames: FrameWriter<Vec<u8>>,
    faults: Arc<Mutex<BTreeMap<u64, Fault>>>,
    count: Arc<Mutex<u64>>,
    ended: Arc<Ended>,
    garble: Arc<AtomicBool>,
    offset_us: i64,
    rate: f64,
}

impl Write for FaultyWire {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        for (_, stamped) in self.deframer.push(bytes) {
            self.forward(stamped)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl FaultyWire {
    fn forward(&mut self, mut stamped: Stamped) -> std::io::Result<()> {
        let number = {
            let mut count = self.count.lock().unwrap();
            *count += 1;
            *count
        };
        let fault = self.faults.lock().unwrap().remove(&number);
        if let Some(Fault::ClockJumped(seconds)) = fault {
            self.offset_us += seconds * 1_000_000;
        }
        let at_us = (stamped.at_us as f64 * self.rate) as i64 + self.offset_us;
        stamped.at_us = u64::try_from(at_us).unwrap_or(0);
        if fault == Some(Fault::GreetsAgain) {
            self.frames = FrameWriter::new(Vec::new());
            stamped.message = Message::Hello(Prepared { own_process: false }.greeting());
        }
        self.frames.write(&stamped)?;
        let mut line = std::mem::take(self.frames.get_mut());
        let middle = line.len() / 2;
        let mut rng = StdRng::seed_from_u64(number);
        match fault {
            Some(Fault::Killed) => return self.close(),
            Some(Fault::CutShort) => {
                self.send(&line[..middle])?;
                return self.close();
            }
            Some(Fault::Stopped) => {
                self.ended.wait();
                return self.close();
            }
            Some(Fault::Garbled) => {
                for _ in 0..rng.random_range(1..6) {
                    let at = rng.random_range(1..line.len());
                    line[at] = rng.random();
                }
            }
            Some(Fault::CutLine) => line.truncate(middle),
            Some(Fault::Repeated) => line.extend_from_within(..),
            Some(Fault::Late) => std::thread::sleep(Duration::from_millis(150)),
            Some(Fault::Flooded { within }) => {
                let at = if within { middle } else { 0 };
                let rest = line.split_off(at);
                self.send(&line)?;
                for n in 0..100 {
                    let text = format!("[{n:5}.000000] usb 1-1: new high-speed device\r\n");
                    self.send(text.repeat(1_000).as_bytes())?;
                }
                line = rest;
            }
            Some(Fault::OrderGarbled) => self.garble.store(true, Ordering::Relaxed),
            Some(Fault::ClockJumped(_) | Fault::GreetsAgain) | None => {}
        }
        self.send(&line)
    }

    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match &mut self.out {
            Some(out) => out.write_all(bytes),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn close(&mut self) -> std::io::Result<()> {
        self.out = None;
        Err(std::io::ErrorKind::BrokenPipe.into())
    }
}

/// Rounds with prepared figures.
struct Prepared {
    own_process: bool,
}

impl Rounds for Prepared {
    fn greeting(&self) -> Hello {
        let works = |name: &str| (name.to_owned(), Capability::Works);
        let mut capabilities = BTreeMap::from([works("threads"), works("processes")]);
        if self.own_process {
            capabilities.insert("processes".to_owned(), Capability::Fails("none".to_owned()));
        }
        Hello {
            protocol: PROTOCOL,
            version: VERSION.to_owned(),
            build: "unknown".to_owned(),
            target: "fake".to_owned(),
            unix_ms: 0,
            cpus: vec![0],
            capabilities,
        }
    }

    fn examine(&mut self, _: &ExamineOrder) -> Machine {
        let [cost, step] = [20.0, 1.0].map(Nanoseconds::new);
        let name = "monotonic".to_owned();
        let clock = ClockFacts { name, ns_per_tick: 1.0, cost, step, backward: 0 };
        Machine {
            facts: Description::from_iter([("os".to_owned(), "Fake".into())]),
            clocks: vec![clock],
            latency: Latency::Cycles(3),
            worker_start_ms: 1.0,
            emulator: None,
            tracepoint: Some(1),
            missing: BTreeMap::new(),
        }
    }

    fn make(&mut self, order: RoundOrder, _: &AtomicBool) -> Result<Report, CaseError> {
        let known = FIGURES.iter().find(|(case, _)| *case == order.case);
        // The order may be garbled, and ask for another case.
        let figure = known.filter(|_| order.quiet_samples == 60 && order.cpus == [0]);
        let figure = figure.map_or(1e6, |(_, figure)| *figure);
        let body = match order.mode {
            Mode::Sample => {
                let samples = vec![figure.to_string(); 12].join(",");
                let readings = vec!["[1000,1,1]"; 13].join(",");
                format!(
                    r#"{{"series":{{"cpu":0,"busy":1,"batch":9,"samples":[{samples}],"readings":[{readings}]}}}}"#
                )
            }
            _ => r#"{"counts":{"operations":100,"syscalls":100}}"#.to_owned(),
        };
        let text = format!("{body}\n{{\"end\":{{\"outcome\":\"measured\"}}}}\n");
        let end = reported_end(&text).unwrap();
        Ok(Report { text, end })
    }
}

fn timeouts() -> Timeouts {
    Timeouts {
        start: Duration::from_secs(2),
        warm_up: Duration::ZERO,
        examine: Duration::from_secs(2),
        // A round may take a second on a machine that is busy with other tests.
        silence: Duration::from_secs(3),
        round: Duration::from_secs(4),
        starts: 5,
    }
}

fn options() -> Options {
    let filters = FIGURES.map(|(case, _)| case.to_owned()).to_vec();
    // The budget is enough for all waiting: a point ends when it has its rounds.
    let budget = Some(Duration::from_secs(100));
    Options { filters, quick: true, budget, ..Options::default() }
}

/// The documents of runs on these systems, or the error.
fn try_on(
    systems: &[&Fake],
    options: &Options,
    seed: u64,
    store: &std::path::Path,
) -> Result<Vec<Document>, RunError> {
    simulated::areas::install();
    let mut store = Store::open(store).unwrap();
    let request = OnRequest {
        options,
        asked: BTreeMap::new(),
        tags: BTreeMap::new(),
        systems: systems.iter().map(|&system| system as &dyn Starts).collect(),
        timeouts: Timeouts {
            // The warm-up is long enough to compare the clocks.
            warm_up: match systems.iter().any(|system| system.clock_rate != 1.0) {
                true => Duration::from_millis(300),
                false => Duration::ZERO,
            },
            ..timeouts()
        },
        seed,
        questions: None,
    };
    let ended = begin_on(request, &mut store, &AtomicBool::new(false), &mut |_| {})?;
    let documents: Vec<Document> =
        ended.iter().map(|ended| ended.document(&store).unwrap()).collect();
    // A run without a figure is not stored.
    let has_figure = |run: &&Document| run.results.iter().any(|r| r.outcome == Outcome::Measured);
    let stored = documents.iter().filter(has_figure).map(|run| run.run.id.clone());
    let stored: Vec<String> = stored.collect();
    assert_eq!(store.group_of(&stored[0]).unwrap(), stored);
    Ok(documents)
}

/// The documents of runs on these systems, all of which can be started.
fn run_on(systems: &[&Fake], options: &Options, seed: u64) -> Vec<Document> {
    let dir = tempfile::tempdir().unwrap();
    try_on(systems, options, seed, &dir.path().join("store")).unwrap()
}

fn figure_of(case: &str) -> f64 {
    FIGURES.iter().find(|(name, _)| *name == case).unwrap().1
}

/// Asserts that every point has its figure.
fn assert_measured(document: &Document, about: &str) {
    assert_eq!(document.results.len(), FIGURES.len(), "{about}");
    for result in &document.results {
        assert_eq!(result.outcome, Outcome::Measured, "{about}: {result:?}");
        assert_right(result, about);
    }
}

fn assert_right(result: &CaseResult, about: &str) {
    if let Some(estimate) = result.estimate {
        let figure = figure_of(&result.case);
        let apart = |value: f64| (value / figure - 1.0).abs();
        assert!(apart(estimate.median) < 1e-6, "{about}: {estimate:?} for {figure}");
        // All rounds are equal, so the interval is as wide as a step of the clock, divided among nine operations.
        let ends = [estimate.low, estimate.high].map(apart);
        let step = estimate.high - estimate.low;
        assert!(step < 0.12 && ends.iter().all(|apart| *apart < 0.01), "{about}: {estimate:?}");
        assert!(result.rounds >= 6, "{about}: {result:?}");
    }
}

fn case(seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let (sound, faulty) = (Fake::new("sound"), Fake::new("faulty"));
    let first = Fault::of(&mut rng, seed as u32);
    let mut faults = BTreeMap::from([(rng.random_range(1..60), first)]);
    // A second fault is drawn, but only one of two may stop the agent: a point that hangs twice is given up.
    let second = rng.random();
    let second = Fault::of(&mut rng, second);
    if first != Fault::Stopped && second != Fault::Stopped {
        faults.insert(rng.random_range(1..60), second);
    }
    let about = format!("seed {seed}: {faults:?}");
    *faulty.faults.lock().unwrap() = faults;
    let documents = run_on(&[&sound, &faulty], &options(), seed);
    assert_measured(&documents[0], &about);
    assert_measured(&documents[1], &about);
    assert!(faulty.faults.lock().unwrap().is_empty(), "{about}: not all happened");
}

/// A fault of an agent costs only the round in progress: every point gets its figure, and no other figure.
#[test]
fn faults_of_all_kinds_cost_only_their_rounds() {
    const CASES: u64 = 8 * Fault::KINDS as u64;
    /// Number of runs at the same time: rounds of a point are spread over a second, so that runs mostly rest.
    const AT_ONCE: usize = 30;
    let next = Mutex::new(0..CASES);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(seed) = next.lock().unwrap().next() else { break };
                    case(seed);
                }
            });
        }
    });
}

#[test]
fn a_system_that_always_fails_ends_with_a_reason_and_the_others_are_measured() {
    let (sound, broken) = (Fake::new("sound"), Fake::new("broken"));
    let faults = (1..10_000).map(|n| (n * 4, Fault::Killed));
    *broken.faults.lock().unwrap() = faults.collect();
    let documents = run_on(&[&sound, &broken], &options(), 1);
    assert_measured(&documents[0], "sound");
    for result in &documents[1].results {
        assert_eq!(result.outcome, Outcome::Failed, "{result:?}");
        assert!(result.reason.as_deref().is_some_and(|reason| !reason.is_empty()));
    }
    assert_eq!(documents[1].results.len(), FIGURES.len());
    assert!(broken.starts.load(Ordering::Relaxed) < 30);
}

#[test]
fn nothing_is_measured_or_stored_if_a_system_cannot_start() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let (sound, none, other) = (Fake::new("sound"), Fake::new("none"), Fake::new("other"));
    for broken in [&none, &other] {
        broken.failing_starts.store(u32::MAX, Ordering::Relaxed);
    }
    let error = try_on(&[&sound, &none, &other], &options(), 1, &path).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot start none, other: it has no engine; nothing was measured"
    );
    assert_eq!(Store::open(&path).unwrap().runs().unwrap(), []);
    // One that starts at the second attempt is measured.
    none.failing_starts.store(1, Ordering::Relaxed);
    let documents = try_on(&[&sound, &none], &options(), 1, &path).unwrap();
    assert_measured(&documents[1], "none");
}

#[test]
fn a_clock_of_another_rate_marks_the_system() {
    let (sound, fast) = (Fake::new("sound"), Fake { clock_rate: 20.0, ..Fake::new("fast") });
    let documents = run_on(&[&sound, &fast], &options(), 1);
    assert!(!documents[0].machine.contains_key(EMULATED));
    let marked = documents[1].machine.get(EMULATED).and_then(|why| why.as_str());
    assert!(marked.is_some_and(|why| why.contains("times the rate")), "{marked:?}");
    for result in &documents[1].results {
        let is_emulated = |doubt: &Doubt| matches!(doubt, Doubt::Emulated { .. });
        assert!(result.doubts.iter().any(is_emulated), "{result:?}");
        assert!(result.cycles.is_none());
    }
}

#[test]
fn with_several_boots_each_start_is_one_observation() {
    let (again, own) = (Fake::new("again"), Fake { own_process: true, ..Fake::new("own") });
    let documents = run_on(&[&again, &own], &Options { boots: Some(3), ..options() }, 1);
    assert_eq!(again.starts.load(Ordering::Relaxed), 3);
    for result in documents.iter().flat_map(|document| &document.results) {
        assert_eq!((result.rounds, result.round_values.len()), (3, 3), "{result:?}");
        assert!((result.estimate.unwrap().median / figure_of(&result.case) - 1.0).abs() < 1e-6);
    }
    let doubted = |result: &CaseResult| result.doubts.contains(&Doubt::OwnProcess);
    assert!(documents[1].results.iter().all(doubted));
    assert!(!documents[0].results.iter().any(doubted));
}

#[test]
fn a_fresh_system_for_each_round() {
    let fresh = Fake::new("fresh");
    let options = Options { fresh: true, filters: vec![FIGURES[0].0.into()], ..options() };
    let documents = run_on(&[&fresh], &options, 1);
    let result = &documents[0].results[0];
    assert!(result.rounds >= 6, "{result:?}");
    assert!(fresh.starts.load(Ordering::Relaxed) > result.rounds);
}
