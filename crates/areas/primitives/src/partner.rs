//! A measuring task and its partners, as threads of one process or as processes, on one CPU, on two, or unpinned.
//!
//! A mechanism makes one end for each task ([`Tasks::beside`]). The measuring task's end goes to the thread of the round, the
//! others to the partners, which answer until they receive a message to stop. The measuring task sends that message when it drops
//! its end, also after an error or a panic. Partner processes end when the measuring task is killed, and the measuring task is
//! killed when one of them is.

use std::time::{Duration, Instant};

use measure::round::PATIENCE;
use measure::{CaseError, Params, Round, RoundOrder};
use platform::cpu::topology::Distance;
use platform::cpu::{pin_thread, pin_thread_to_any};
use platform::memory::address_wait::Sharing;
use platform::memory::shared::Shared;
use platform::process::failure::FirstFailure;
use platform::process::{CAN_FORK, Child, EndWithChildren, fork, spawn_scoped};

use crate::place::{self, APART};
use crate::{Param, Takes, value_of};

/// Maximum time to wait, after an error of the measuring task, for the exit status of a partner that failed.
const SHOWS_ITS_END_WITHIN: Duration = Duration::from_secs(3);

/// The parameter `as`: tasks as processes and as threads.
pub const AS: Param = Param::new("as", &["processes", "threads"])
    .meaning("whether the tasks are processes, or threads of one process");

/// Like [`AS`], with threads only in a full run.
pub const AS_PROCESSES: Param = Param { default: &["processes"], ..AS };

/// Like [`AS`], but with threads only on systems without fork.
pub const AS_WHERE_POSSIBLE: Param = if CAN_FORK { AS } else { AS_THREADS };

/// Like [`AS_PROCESSES`], but with threads only on systems without fork.
pub const AS_PROCESSES_WHERE_POSSIBLE: Param = if CAN_FORK { AS_PROCESSES } else { AS_THREADS };

/// The parameter `as` of mechanisms that only threads of one process can share.
pub const AS_THREADS: Param = Param { default: &["threads"], full: &["threads"], ..AS };

/// The parameter `place`: tasks on one CPU, on two, and unpinned.
pub const PLACE: Param = Param::new("place", &["same", "other", "unpinned"])
    .meaning(
        "tasks pinned to the same CPU, to another CPU than the measuring one, or \
         unpinned; or to hardware threads of one core (smt), to cores that share their \
         last-level cache (core), to cores of one socket with different last-level \
         caches (cache), or to different sockets (socket)",
    )
    .takes(Takes::Words(APART));

/// Like [`PLACE`], but on one CPU only by default.
pub const PLACE_SAME: Param = Param { default: &["same"], ..PLACE };

/// Like [`PLACE`], but on two CPUs only by default.
pub const PLACE_OTHER: Param = Param { default: &["other"], ..PLACE };

/// CPUs on which the tasks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskPlace {
    /// All tasks run on the measuring CPU.
    Same,
    /// The partner runs on another CPU than the measuring task.
    Other,
    /// The scheduler places the tasks.
    Unpinned,
    /// The partner runs on a CPU at this distance from that of the measuring task.
    Apart(Distance),
}

/// The kind of the tasks, and the CPUs on which they run.
#[derive(Debug, Clone)]
pub struct Tasks {
    processes: bool,
    place: TaskPlace,
    cpus: Vec<usize>,
}

impl Tasks {
    /// The tasks that `params` (`as`, `place`) describe. The calling thread becomes the measuring task and is pinned at once.
    ///
    /// # Errors
    /// `Unsupported` if there is no such second CPU, or if threads cannot be pinned.
    pub fn of(params: &Params, round: &Round) -> Result<Self, CaseError> {
        let place = match value_of(params, "place")? {
            "same" => TaskPlace::Same,
            "other" => TaskPlace::Other,
            "unpinned" => TaskPlace::Unpinned,
            word => TaskPlace::Apart(place::distance_of(word)?),
        };
        Self::new(round.order(), value_of(params, "as")? == "processes", place)
    }

    /// Tasks of this kind at this place. The calling thread becomes the measuring task and is pinned at once.
    ///
    /// # Errors
    /// `Unsupported` if there is no such second CPU, or if threads cannot be pinned.
    pub fn new(order: &RoundOrder, processes: bool, place: TaskPlace) -> Result<Self, CaseError> {
        let cpus = match place {
            TaskPlace::Apart(distance) => {
                measure::worker_group::WorkerPlace::Apart(distance).cpus(&order.cpus)?
            }
            TaskPlace::Same | TaskPlace::Other | TaskPlace::Unpinned => order.cpus.clone(),
        };
        if place == TaskPlace::Other && cpus.len() < 2 {
            return Err(CaseError::Unsupported("needs two CPUs, and there is one".into()));
        }
        let tasks = Self { processes, place, cpus };
        match (place, tasks.cpus.last()) {
            (TaskPlace::Unpinned, _) | (_, None) => tasks.stay(&tasks.cpus)?,
            (_, Some(&last)) => pin_thread(last)?,
        }
        Ok(tasks)
    }

    /// The place of the tasks.
    pub fn place(&self) -> TaskPlace {
        self.place
    }

    /// How the tasks share memory: as processes or as threads.
    pub fn sharing(&self) -> Sharing {
        if self.processes { Sharing::Processes } else { Sharing::Threads }
    }

    /// Times `operation`, on the measuring CPU unless the tasks are unpinned.
    ///
    /// # Errors
    /// Errors of [`Round::time`].
    pub fn time(&self, round: &mut Round, operation: impl FnMut()) -> Result<(), CaseError> {
        round.has_partners(matches!(self.place, TaskPlace::Same | TaskPlace::Unpinned));
        match self.place {
            TaskPlace::Unpinned => round.time_unpinned(operation),
            TaskPlace::Same | TaskPlace::Other | TaskPlace::Apart(_) => {
                round.time_on(self.cpus.last().copied(), operation)
            }
        }
    }

    /// Runs `measure` with the first of `ends` on this thread, and `partner` with each other end and its number in a separate
    /// task. `measure` makes the partners return at the latest when it drops its end. Dropping an end closes only the descriptors
    /// of that end, because each process drops its copies of the others' ends.
    ///
    /// # Errors
    /// Errors of `measure` and of the partners, and failure to create a process.
    pub fn beside<E: Send>(
        &self,
        ends: Vec<E>,
        partner: impl Fn(usize, E) -> Result<(), CaseError> + Sync,
        measure: impl FnOnce(E) -> Result<(), CaseError>,
    ) -> Result<(), CaseError> {
        let work = |number: usize, end: E| {
            self.take_place()?;
            partner(number, end)
        };
        if self.processes {
            beside_processes(ends, work, measure)
        } else {
            beside_threads(ends, work, measure)
        }
    }

    /// Pins the calling partner to its CPUs.
    fn take_place(&self) -> Result<(), CaseError> {
        match (self.place, &self.cpus[..]) {
            (TaskPlace::Same, [.., last]) => pin_thread(*last),
            (TaskPlace::Other | TaskPlace::Apart(_), [.., other, _]) => pin_thread(*other),
            _ => self.stay(&self.cpus),
        }
    }

    /// Lets the calling thread run on all of `cpus`. Succeeds where threads cannot be pinned, since a thread runs on all CPUs
    /// there.
    fn stay(&self, cpus: &[usize]) -> Result<(), CaseError> {
        match pin_thread_to_any(cpus) {
            Err(CaseError::Unsupported(_)) => Ok(()),
            pinned => pinned,
        }
    }
}

fn beside_threads<E: Send>(
    ends: Vec<E>,
    work: impl Fn(usize, E) -> Result<(), CaseError> + Sync,
    measure: impl FnOnce(E) -> Result<(), CaseError>,
) -> Result<(), CaseError> {
    let mut ends = ends.into_iter();
    let own = ends.next().ok_or_else(no_end)?;
    std::thread::scope(|scope| {
        let work = &work;
        let start = |(at, end)| spawn_scoped(scope, "a partner", move || work(at + 1, end));
        let threads: Vec<_> = ends.enumerate().map(start).collect();
        // The partners that did start end when this task drops its end.
        let measured = match threads.iter().find_map(|thread| thread.as_ref().err()) {
            Some(reason) => {
                drop(own);
                Err(reason.clone())
            }
            None => measure(own),
        };
        let mut ended = Ok(());
        for thread in threads.into_iter().flatten() {
            let panicked = |_| Err(CaseError::Failed("a partner panicked".into()));
            ended = ended.and(thread.join().unwrap_or_else(panicked));
        }
        with_reason_of_partner(measured, ended)
    })
}

fn beside_processes<E>(
    ends: Vec<E>,
    work: impl Fn(usize, E) -> Result<(), CaseError>,
    measure: impl FnOnce(E) -> Result<(), CaseError>,
) -> Result<(), CaseError> {
    let mut ends: Vec<Option<E>> = ends.into_iter().map(Some).collect();
    let mut children = Vec::new();
    let failure = Shared::new(FirstFailure::none())?;
    // The watch kills this process when a partner is killed: a mechanism without an end of file would wait for that partner
    // forever. It is dropped before the children, which are killed when dropped.
    let watch = EndWithChildren::begin();
    for number in 1..ends.len() {
        children.push(fork(|| {
            let own = ends[number].take();
            ends.clear();
            match own.map_or_else(|| Err(no_end()), |own| work(number, own)) {
                Ok(()) => 0,
                Err(reason) => {
                    failure.report(&reason);
                    eprintln!("oscost worker: a partner: {reason}");
                    1
                }
            }
        })?);
    }
    let own = ends.first_mut().and_then(Option::take).ok_or_else(no_end)?;
    ends.clear();
    let measured = measure(own);
    drop(watch);
    // An error returns here and drops the children, which kills them.
    measured.or_else(|reason| with_end_of_child(reason, &mut children, &failure))?;
    children.iter_mut().try_for_each(|child| await_end(child, &failure))
}

/// The reason of the measuring task, with that of a partner that ended. The measuring task sees the end of file before its
/// partner has ended, so this waits for the partner's exit status.
fn with_end_of_child(
    reason: CaseError,
    children: &mut [Child],
    failure: &FirstFailure,
) -> Result<(), CaseError> {
    if !matches!(reason, CaseError::Failed(_)) {
        return Err(reason);
    }
    let began = Instant::now();
    let mut running = children.len();
    while running > 0 && began.elapsed() < SHOWS_ITS_END_WITHIN {
        running = 0;
        for child in children.iter_mut() {
            match child.try_wait() {
                // A signal may have killed the partner together with the worker, or instead of it.
                Some(Err(how)) if how.contains("signal") => {
                    return Err(CaseError::Interrupted(format!("a partner process: {how}")));
                }
                Some(Err(how)) => {
                    let partner = of_partner(&how, failure);
                    return with_reason_of_partner(Err(reason), Err(partner));
                }
                Some(Ok(())) => {}
                None => running += 1,
            }
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    Err(reason)
}

/// The reason of a partner process that ended in this way: its own if it gave one.
fn of_partner(how: &str, failure: &FirstFailure) -> CaseError {
    failure.first().unwrap_or_else(|| CaseError::Failed(format!("a partner process: {how}")))
}

fn no_end() -> CaseError {
    CaseError::Failed("a task has no end of the mechanism".into())
}

fn await_end(child: &mut Child, failure: &FirstFailure) -> Result<(), CaseError> {
    let began = Instant::now();
    loop {
        if let Some(ended) = child.try_wait() {
            return ended.map_err(|how| of_partner(&how, failure));
        }
        if began.elapsed() > PATIENCE {
            return Err(CaseError::Failed("a partner process did not end".into()));
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// The outcome of the measuring task. If it and a partner failed, the error has both reasons, or that of the partner alone if it
/// says what the system lacks or denies.
fn with_reason_of_partner(
    measured: Result<(), CaseError>,
    partner: Result<(), CaseError>,
) -> Result<(), CaseError> {
    match (measured, partner) {
        (Err(CaseError::Failed(_)), Err(CaseError::Unsupported(reason))) => {
            Err(CaseError::Unsupported(reason))
        }
        (Err(CaseError::Failed(own)), Err(reason)) => {
            Err(CaseError::Failed(format!("{own}; its partner: {reason}")))
        }
        (measured, partner) => measured.and(partner),
    }
}
