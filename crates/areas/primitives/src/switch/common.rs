//! Shared by the cases of switches: tasks that pass a token around, and the time of a hand-over.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU32, Ordering};

use measure::time::Stopwatch;
use measure::{CaseError, Metric, Params, Round};
use platform::memory::shared::Shared;

use crate::partner::{AS, AS_PROCESSES, AS_THREADS, PLACE, TaskPlace, Tasks};
use crate::{Extent, Param, Takes, value_of};

/// One task's end of a mechanism that passes a token from task to task, in a ring.
pub trait TokenEnd: Send {
    /// Passes the token to the next task.
    ///
    /// # Errors
    /// Errors of the system calls.
    fn pass(&mut self, token: u32) -> io::Result<()>;

    /// Waits until the previous task passes the token.
    ///
    /// # Errors
    /// Errors of the system calls; `UnexpectedEof` if the previous task has ended.
    fn take(&mut self) -> io::Result<u32>;
}

/// Writes a token to a stream in one call.
///
/// # Errors
/// Errors of the system call; `WriteZero` if only a part was written.
#[inline(always)]
pub fn write_token(writer: &mut impl Write, token: u32) -> io::Result<()> {
    match writer.write(&token.to_le_bytes())? {
        4 => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Reads a token from a stream in one call.
///
/// # Errors
/// Errors of the system call; `UnexpectedEof` if the other side has ended.
#[inline(always)]
pub fn read_token(reader: &mut impl Read) -> io::Result<u32> {
    let mut token = [0; 4];
    match reader.read(&mut token)? {
        4 => Ok(u32::from_le_bytes(token)),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Parameters of mechanisms that threads and processes can use.
pub const EITHER: &[Param] = &[AS, PLACE];
/// Parameters of mechanisms that only threads can use.
pub const THREADS: &[Param] = &[AS_THREADS, PLACE];
/// Parameters of mechanisms that need one CPU.
pub const ONE_CPU: &[Param] = &[AS_PROCESSES, SAME];
/// The parameter `place` of mechanisms that are measured on one CPU only.
pub const SAME: Param =
    Param { default: &["same"], full: &["same"], takes: Takes::Words(&[]), ..PLACE };

/// Share of hand-overs of unpinned tasks after which the CPU is the same.
pub const SAME_CPU: Metric = Metric::neutral(
    "same-cpu",
    "share",
    "hand-overs after which the next task ran on the CPU of the task before, of all",
);

/// Metrics of tasks that pass a token.
pub const METRICS: &[Metric] = &[SAME_CPU];

/// Token that ends a task.
const STOP: u32 = u32::MAX;
/// Modulus of tokens, which count hand-overs.
const TOKENS: u32 = 1 << 30;
/// Stands for a CPU that the system does not report.
const UNKNOWN: u32 = u32::MAX;

/// Whether a run of this extent measures the point: on two CPUs and unpinned only threads are measured, because one CPU shows the
/// additional cost of processes.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let is = |name, value| value_of(params, name).is_ok_and(|own| own == value);
    extent == Extent::Full || is("place", "same") || !is("as", "processes")
}

/// Measures a token passed between two tasks. `calls` is the number of system calls of a hand-over, if it is constant.
///
/// # Errors
/// The error of a call that fails; `Failed` if a task receives a wrong token.
pub fn measure_pair<E: TokenEnd>(
    params: &Params,
    round: &mut Round,
    ends: Vec<E>,
    calls: Option<f64>,
) -> Result<(), CaseError> {
    let tasks = Tasks::of(params, round)?;
    if let Some(calls) = calls {
        round.expect_syscalls(calls);
    }
    measure_ring(&tasks, round, ends, 0)
}

/// Measures a token passed around all of `ends`, each in a task that touches its own `working_set` bytes when it has the token.
/// Returns when all tasks have ended.
///
/// # Errors
/// Errors of [`measure_pair`].
pub fn measure_ring<E: TokenEnd>(
    tasks: &Tasks,
    round: &mut Round,
    ends: Vec<E>,
    working_set: usize,
) -> Result<(), CaseError> {
    let count = ends.len();
    let seen = TokenCpus::by(tasks, count)?;
    round.operations_per_call(count as u64);
    if tasks.place() == TaskPlace::Same {
        // Switches are counted in the measuring task, which gives up its CPU once while the token goes around.
        round.expect_switches(1.0 / count as f64);
    }
    let partner = |number: usize, mut end: E| {
        let mut set = WorkingSet::new(working_set);
        loop {
            let token = match end.take() {
                Err(error) if is_end(&error) => STOP,
                taken => taken.map_err(|e| CaseError::from_io("waiting for the token", &e))?,
            };
            if token == STOP {
                // The result is ignored: the next task may have ended already.
                let _ = end.pass(STOP);
                return Ok(());
            }
            set.touch();
            seen.note(number);
            end.pass((token + 1) % TOKENS)
                .map_err(|e| CaseError::from_io("passing the token", &e))?;
        }
    };
    let measure = |end: E| {
        let mut first =
            First { end, set: WorkingSet::new(working_set), seen: &seen, token: 0, tasks: count };
        // The first time around starts the partners, and fails here if this system lacks a call.
        first.go_around()?;
        let mut failed = Ok(());
        let timed = tasks.time(round, || {
            if failed.is_ok() {
                failed = first.go_around();
            }
        });
        failed.and(timed)
    };
    tasks.beside(ends, partner, measure)?;
    round.metric(&SAME_CPU, seen.share());
    Ok(())
}

/// Whether the error means that the other side has closed its end.
fn is_end(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe)
}

/// The measuring task. Stops the others when dropped.
struct First<'a, E: TokenEnd> {
    end: E,
    set: WorkingSet,
    seen: &'a TokenCpus,
    token: u32,
    tasks: usize,
}

impl<E: TokenEnd> First<'_, E> {
    /// Passes the token on, and waits until it has gone around; each other task adds 1 to it.
    #[inline(always)]
    fn go_around(&mut self) -> Result<(), CaseError> {
        self.set.touch();
        self.seen.note(0);
        self.end.pass(self.token).map_err(|e| CaseError::from_io("passing the token", &e))?;
        let taken = self.end.take().map_err(|e| CaseError::from_io("waiting for the token", &e))?;
        let due = (self.token + self.tasks as u32 - 1) % TOKENS;
        if taken != due {
            return Err(CaseError::Failed(format!("the token is {taken}, not {due}")));
        }
        self.token = (taken + 1) % TOKENS;
        self.seen.compare();
        Ok(())
    }
}

impl<E: TokenEnd> Drop for First<'_, E> {
    fn drop(&mut self) {
        let _ = self.end.pass(STOP);
    }
}

/// CPUs on which unpinned tasks had the token; not recorded for pinned tasks.
struct TokenCpus {
    cpus: Option<Shared<[AtomicU32]>>,
    /// Number of hand-overs that stayed on one CPU, and of all hand-overs.
    same: AtomicU32,
    all: AtomicU32,
}

impl TokenCpus {
    fn by(tasks: &Tasks, count: usize) -> Result<Self, CaseError> {
        // The CPU is not recorded if reading it takes a system call, which would be a large part of a hand-over.
        let known = tasks.place() == TaskPlace::Unpinned
            && platform::cpu::current().is_some()
            && !platform::cpu::current_is_system_call();
        let list = || Shared::list(count, || AtomicU32::new(UNKNOWN));
        let cpus = known.then(list).transpose()?;
        Ok(Self { cpus, same: AtomicU32::new(0), all: AtomicU32::new(0) })
    }

    /// Records the CPU of the calling task, which has this number.
    #[inline(always)]
    fn note(&self, number: usize) {
        if let Some(cpus) = &self.cpus {
            let cpu = platform::cpu::current().map_or(UNKNOWN, |cpu| cpu as u32);
            cpus[number].store(cpu, Ordering::Relaxed);
        }
    }

    /// Counts the hand-overs of one time around, after which the measuring task has the token again.
    #[inline(always)]
    fn compare(&self) {
        let Some(cpus) = &self.cpus else { return };
        let cpu = |at: usize| cpus[at % cpus.len()].load(Ordering::Relaxed);
        let same = (0..cpus.len()).filter(|&at| cpu(at) == cpu(at + 1)).count();
        self.same.fetch_add(same as u32, Ordering::Relaxed);
        self.all.fetch_add(cpus.len() as u32, Ordering::Relaxed);
    }

    fn share(&self) -> Option<f64> {
        let all = self.all.load(Ordering::Relaxed);
        let same = f64::from(self.same.load(Ordering::Relaxed));
        (self.cpus.is_some() && all > 0).then(|| same / f64::from(all))
    }
}

/// Memory of one task, which changes a word in each cache line.
pub struct WorkingSet(Vec<[u64; 8]>);

impl WorkingSet {
    /// Allocates `bytes`, rounded down to whole lines of 64 bytes.
    pub fn new(bytes: usize) -> Self {
        Self(vec![[1; 8]; bytes / 64])
    }

    /// Adds 1 to a word in each line.
    #[inline(always)]
    pub fn touch(&mut self) {
        for line in &mut self.0 {
            line[0] = line[0].wrapping_add(1);
        }
        std::hint::black_box(&mut self.0);
    }

    /// Time of one touch in ns if all lines are cached: the least of 20.
    pub fn cached_ns(bytes: usize) -> f64 {
        let mut set = Self::new(bytes);
        let touch = |_| {
            let watch = Stopwatch::start();
            set.touch();
            watch.elapsed().get()
        };
        (0..20).map(touch).fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_working_set_is_touched_each_time() {
        let mut set = WorkingSet::new(4096 + 63);
        (0..3).for_each(|_| set.touch());
        assert_eq!(set.0.len(), 64);
        assert!(set.0.iter().all(|line| line[0] == 4 && line[1] == 1));
        assert!(WorkingSet::cached_ns(4096) > 0.0);
    }
}
