//! Runs commands in turns, stores what was measured, and ends when the answer is known.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::CaseError;
use measure::survey::ClockFacts;
use platform::process::command::Exit;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use results::{CaseResult, Document, Outcome, RunInfo, Store};
use runner::{Ended, Event, Point, Recording, RunError, random_seed};

use super::figures::{Evidence, Turn};
use super::order::{Counting, Order, Output, Run, Settings, in_words};
use super::ranking::is_answered;
use super::schedule::{Done, Effort, is_look, next_pass};
use super::session::{Session, traced_calls};

/// A command to time, with what is run beside it; lists of words may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timed {
    /// The point.
    pub point: Point,
    /// Program and arguments.
    pub words: Vec<String>,
    /// What is run before all runs.
    pub setup: Vec<String>,
    /// What is run before each run.
    pub prepare: Vec<String>,
    /// What is run after each run.
    pub conclude: Vec<String>,
    /// What is run after all runs.
    pub cleanup: Vec<String>,
}

/// How commands are timed.
#[derive(Debug, Clone)]
pub struct How {
    /// Number of runs.
    pub effort: Effort,
    /// Half-width of the interval that is precise enough for a single command.
    pub precision: f64,
    /// Number of untimed runs of each command before the others.
    pub warmup: usize,
    /// Time limit of each process.
    pub limit: Duration,
    /// Time for everything; each command is run once at least.
    pub budget: Option<Duration>,
    /// Whether runs that fail are measured all the same.
    pub ignores_failure: bool,
    /// Whether system calls are counted: `None` for commands that take long, where the kernel counts them by itself.
    pub counts: Option<bool>,
    /// Whether the results are in the order of the times.
    pub is_sorted: bool,
    /// Where the commands' output goes.
    pub output: Output,
    /// The file that is the commands' input.
    pub input: Option<PathBuf>,
}

/// Time of a run from which system calls are counted without being asked for.
const COUNTED_FROM: Duration = Duration::from_millis(5);

/// The commands that are being timed.
struct Timing<'a> {
    commands: &'a [Timed],
    how: &'a How,
    session: Session<'a>,
    evidence: Vec<Evidence>,
    done: Vec<Done>,
    seed: u64,
    stop: &'a AtomicBool,
    /// For each command, what was begun and is to be undone, however this ends.
    begun: Vec<Begun>,
}

/// What was begun of a command.
#[derive(Clone, Copy, Default)]
struct Begun {
    /// Its setup, or a run.
    any: bool,
    /// A run that a request to stop interrupted.
    interrupted_run: bool,
}

/// Time for what undoes something after a request to stop, each.
const LAST: Duration = Duration::from_secs(10);

/// What was measured, with the run that is stored.
pub struct Measured {
    /// The stored run.
    pub ended: Ended,
    /// The runs of each command.
    pub evidence: Vec<Evidence>,
    /// The seed of the bootstrap.
    pub seed: u64,
    /// Whether this was stopped before its end.
    pub was_stopped: bool,
}

/// The commands to time, and what is stored with them.
pub struct Request<'a> {
    /// The commands.
    pub commands: &'a [Timed],
    /// How they are timed.
    pub how: &'a How,
    /// The options that the user gave.
    pub asked: BTreeMap<String, String>,
    /// The run's labels.
    pub tags: BTreeMap<String, String>,
    /// The clock that the machine's description names.
    pub clock: &'a ClockFacts,
}

/// Times commands, stores the run, and reports the progress to `watch`.
///
/// # Errors
/// If the store cannot be written, or no worker can be started.
pub fn time_commands(
    request: Request,
    store: &mut Store,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<Measured, RunError> {
    let Request { commands, how, asked, tags, clock } = request;
    let seed = random_seed();
    let mut recording = Recording::begin(asked, tags, seed, clock, store)?;
    let session = Session::new(how.output.clone(), how.input.clone(), Counting::None, stop);
    let evidence = commands.iter().map(|command| Evidence::new(command.point.clone())).collect();
    let done = vec![Done::default(); commands.len()];
    let begun = vec![Begun::default(); commands.len()];
    let mut timing = Timing { commands, how, session, evidence, done, seed, stop, begun };
    let made = timing.run_all(&mut recording, watch);
    timing.undo();
    // Figures that were found before an error can be shown.
    let results = timing.results();
    let Timing { evidence, session, .. } = timing;
    drop(session);
    let ended = recording.conclude(&results)?;
    made?;
    Ok(Measured { ended, evidence, seed, was_stopped: stop.load(Ordering::Relaxed) })
}

impl Timing<'_> {
    fn run_all(
        &mut self,
        recording: &mut Recording,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), RunError> {
        let began = Instant::now();
        let every = || 0..self.commands.len();
        for which in every() {
            self.begun[which].any |= !self.must_stop();
            self.once(which, |command| &command.setup, "--setup");
        }
        for which in every() {
            self.warm_up(which);
        }
        let mut rng = StdRng::seed_from_u64(self.seed);
        let mut passes = 0;
        let mut is_answered = false;
        loop {
            if is_look(passes) {
                is_answered = self.is_answered();
            }
            let mut pass = next_pass(&self.done, &self.how.effort, is_answered);
            pass.shuffle(&mut rng);
            let is_late = self.how.budget.is_some_and(|budget| began.elapsed() >= budget);
            if pass.is_empty() || self.must_stop() || passes > 0 && is_late {
                break;
            }
            for (which, runs) in pass {
                self.announce(which, watch);
                self.turn(which, runs, recording)?;
                // The median of all runs would be sorted anew after each turn.
                if let Some(turn) = self.evidence[which].turns.last() {
                    watch(Event::Figure { label: &self.label(which), ns: turn.median_ns() });
                }
            }
            passes += 1;
        }
        every().for_each(|which| self.count(which, watch));
        Ok(())
    }

    /// Undoes what was begun: also after a request to stop, in a session that does not heed it, and after an error.
    fn undo(&mut self) {
        static NEVER: AtomicBool = AtomicBool::new(false);
        if self.must_stop() {
            let (output, input) = (self.how.output.clone(), self.how.input.clone());
            self.session = Session::new(output, input, Counting::None, &NEVER);
        }
        for which in 0..self.commands.len() {
            if self.begun[which].interrupted_run {
                self.undo_by(which, |command| &command.conclude, "--conclude");
            }
            if self.begun[which].any {
                self.undo_by(which, |command| &command.cleanup, "--cleanup");
            }
        }
    }

    fn must_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn label(&self, which: usize) -> String {
        super::lines::shortened(&self.commands[which].point.params[super::command::COMMAND])
    }

    fn announce(&self, which: usize, watch: &mut dyn FnMut(Event<'_>)) {
        let effort = &self.how.effort;
        let share = |done: &Done| {
            let by_runs = done.runs as f64 / effort.at_least.max(1) as f64;
            let by_time = done.took.as_secs_f64() / effort.time.as_secs_f64().max(1e-9);
            let share =
                if effort.at_least >= effort.at_most { by_runs } else { by_runs.min(by_time) };
            if done.is_over { 1.0 } else { share.min(1.0) }
        };
        let done = self.done.iter().map(share).sum::<f64>() / self.done.len() as f64;
        // Until each command was run, nobody knows how long it takes.
        let is_known = self.done.iter().all(|done| done.runs > 0 || done.is_over);
        let took: Duration = self.done.iter().map(|done| done.took).sum();
        let remaining = Duration::try_from_secs_f64(took.as_secs_f64() * (1.0 - done) / done);
        let remaining = remaining.ok().filter(|_| is_known);
        watch(Event::Round { label: &self.label(which), done, remaining });
    }

    fn order(&self, which: usize, runs: usize) -> Order {
        let command = &self.commands[which];
        Order {
            words: command.words.clone(),
            before: command.prepare.clone(),
            after: command.conclude.clone(),
            runs,
            limit_ms: u64::try_from(self.how.limit.as_millis()).unwrap_or(u64::MAX).max(1),
            stops_at_failure: !self.how.ignores_failure,
        }
    }

    /// Makes runs of a command and stores them.
    fn turn(
        &mut self,
        which: usize,
        runs: usize,
        recording: &mut Recording,
    ) -> Result<(), RunError> {
        if self.must_stop() || self.done[which].is_over {
            return Ok(());
        }
        let started_ms = Recording::now_ms();
        let began = Instant::now();
        let order = self.order(which, runs);
        let (runs, end) = match self.session.execute(&order) {
            Ok(None) => {
                self.begun[which].interrupted_run = true;
                return Ok(());
            }
            Ok(Some(reply)) => (reply.runs, reply.end),
            Err(error) => (Vec::new(), Err(error)),
        };
        let end = end.and_then(|()| self.first_failure(which, &runs));
        let done = &mut self.done[which];
        (done.turns, done.runs) = (done.turns + 1, done.runs + runs.len());
        done.took += began.elapsed();
        if let Err(error) = &end {
            self.give_up(which, error);
        }
        if !runs.is_empty() {
            self.evidence[which].turns.push(Turn { started_ms, runs });
        }
        let turn = self.evidence[which].turns.last().filter(|turn| turn.started_ms == started_ms);
        let lines = turn.map(Turn::lines).unwrap_or_default();
        recording.add_round(&self.commands[which].point, &lines, end, started_ms)
    }

    /// The error of the first of these new runs that is not to be measured.
    fn first_failure(&self, which: usize, runs: &[Run]) -> Result<(), CaseError> {
        let before = self.done[which].runs;
        for (n, run) in runs.iter().enumerate() {
            let in_run = format!("the command {} in run {}", in_words(run.exit), before + n + 1);
            match run.exit {
                Exit::TimeLimit => {
                    let limit = measure::count::format_duration(self.how.limit);
                    return Err(CaseError::TimedOut(format!("{in_run}: the limit is {limit}")));
                }
                Exit::Code(0) => {}
                _ if self.how.ignores_failure => {}
                Exit::Code(_) => {
                    return Err(CaseError::Failed(format!(
                        "{in_run}; --show-output shows what it prints, --ignore-failure measures it all the same"
                    )));
                }
                Exit::Signal(_) => {
                    return Err(CaseError::Failed(format!(
                        "{in_run}; --ignore-failure measures it all the same"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Ends a command without a figure, for this reason.
    fn give_up(&mut self, which: usize, error: &CaseError) {
        self.done[which].is_over = true;
        self.evidence[which].ending = Some((Outcome::of(error), error.to_string()));
    }

    /// Runs a command that is run once for all runs; if it fails, the command has no figure. Does nothing after a request to stop.
    fn once(&mut self, which: usize, of: fn(&Timed) -> &Vec<String>, option: &str) {
        if !self.must_stop() {
            self.undo_by(which, of, option);
        }
    }

    /// Runs a command as [`Self::once`] does, also after a request to stop, and then for a short time.
    fn undo_by(&mut self, which: usize, of: fn(&Timed) -> &Vec<String>, option: &str) {
        let words = of(&self.commands[which]).clone();
        if words.is_empty() {
            return;
        }
        let mut order =
            Order { words, before: Vec::new(), after: Vec::new(), ..self.order(which, 1) };
        if self.must_stop() {
            order.limit_ms = order.limit_ms.min(LAST.as_millis() as u64);
        }
        let made = self.session.execute(&order).and_then(|reply| {
            let Some(reply) = reply else { return Ok(()) };
            reply.end?;
            match reply.runs.iter().find(|run| !run.succeeded()) {
                None => Ok(()),
                Some(run) => Err(CaseError::Failed(format!(
                    "the command of {option} {}; --show-output shows what it prints",
                    in_words(run.exit)
                ))),
            }
        });
        if let Err(error) = made {
            self.give_up(which, &error);
        }
    }

    fn warm_up(&mut self, which: usize) {
        if self.how.warmup > 0 && !self.done[which].is_over && !self.must_stop() {
            let order = Order { stops_at_failure: false, ..self.order(which, self.how.warmup) };
            match self.session.execute(&order) {
                Ok(None) => self.begun[which].interrupted_run = true,
                Ok(Some(_)) => {}
                Err(error) => self.give_up(which, &error),
            }
        }
    }

    /// Counts the system calls of one more run.
    fn count(&mut self, which: usize, watch: &mut dyn FnMut(Event<'_>)) {
        let Some(ns) = self.evidence[which].median_ns() else { return };
        let is_long = ns >= COUNTED_FROM.as_nanos() as f64;
        let wanted = self.how.counts.unwrap_or(is_long);
        if !wanted || self.done[which].is_over || self.must_stop() {
            return;
        }
        // To close a tracepoint takes the kernel some 40 ms.
        let tracepoint = platform::counters::syscall_tracepoint();
        if self.how.counts.is_none() && tracepoint.is_none() {
            return;
        }
        let order = Order { stops_at_failure: false, ..self.order(which, 1) };
        let (output, input) = (self.how.output.clone(), self.how.input.clone());
        // What is printed was printed before.
        let output = if output == Output::Inherit { Output::Null } else { output };
        let counted = match tracepoint {
            Some(id) => Session::new(output, input, Counting::Tracepoint(id), self.stop)
                .execute(&order)
                .map(|reply| reply.and_then(|reply| reply.runs.first()?.syscalls)),
            None => {
                let settings = Settings { parent: None, output, input, counting: Counting::Marks };
                traced_calls(&settings, &order, self.stop)
            }
        };
        match counted {
            Ok(None) if self.must_stop() => self.begun[which].interrupted_run = true,
            Ok(calls) => self.evidence[which].syscalls = calls,
            Err(error) => {
                watch(Event::Note(format!("system calls are not counted: {error}")));
            }
        }
    }

    /// Whether the figures are precise, or the comparison has a result.
    fn is_answered(&self) -> bool {
        if self.evidence.len() > 1 {
            return is_answered(&self.document());
        }
        let time = self.evidence.first().and_then(|evidence| evidence.time(self.seed));
        time.is_some_and(|time| time.half_width() <= self.how.precision)
    }

    fn results(&self) -> Vec<CaseResult> {
        let of = |evidence: &Evidence| evidence.results(self.seed, self.how.ignores_failure);
        let mut all: Vec<&Evidence> = self.evidence.iter().collect();
        if self.how.is_sorted {
            all.sort_by(|a, b| {
                let time = |one: &Evidence| one.median_ns().unwrap_or(f64::INFINITY);
                time(a).total_cmp(&time(b))
            });
        }
        all.into_iter().flat_map(of).collect()
    }

    /// The run so far, for a comparison.
    fn document(&self) -> Document {
        let run = RunInfo {
            id: String::new(),
            started: String::new(),
            finished: None,
            seed: self.seed,
            oscost: String::new(),
            tags: BTreeMap::new(),
            asked: BTreeMap::new(),
            core_clock_ghz: None,
            area_seconds: BTreeMap::new(),
        };
        let machine = serde_json::Map::new();
        Document { schema: results::SCHEMA, run, machine, results: self.results() }
    }
}
