use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

use crate::failure::caught;
use crate::lend::lending;
use crate::schedule::Schedule;
use crate::slots::Slots;
use crate::suspended_thread::SuspendedThread;
use crate::team::Team;
use crate::{Execution, Failure};

/// Handles objects on threads that are created for the call and joined when it returns.
#[derive(Debug, Clone)]
pub struct ConcurrentExecution {
    max_degree: NonZeroUsize,
    threads: Threads,
    finishers: Finishers,
    stack_size: Option<usize>,
}

/// The time at which a [`ConcurrentExecution`] creates its threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Threads {
    /// A fresh thread for each object, when it is handed out.
    #[default]
    OnDemand,
    /// All threads before the first object is handed out; each handles one object after the other.
    UpFront,
    /// A suspended thread for each object, created before the first object is handed out, and resumed when its object is.
    /// The system's limit on threads limits the number of objects.
    Suspended,
}

/// The time at which a [`ConcurrentExecution`] with a thread for each object calls finishers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Finishers {
    /// Finishers are called when all slots are taken.
    #[default]
    WhenFull,
    /// Finishers are called as soon as a handler is done, also while the first objects are still being handed out.
    AtOnce,
}

impl ConcurrentExecution {
    /// Handles at most `max_degree` objects at a time, each on a fresh thread.
    pub fn new(max_degree: NonZeroUsize) -> Self {
        Self {
            max_degree,
            threads: Threads::OnDemand,
            finishers: Finishers::WhenFull,
            stack_size: None,
        }
    }

    /// Sets when threads are created.
    pub fn threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// Sets when finishers are called. Ignored with threads created [up front](Threads::UpFront), which need no handing
    /// out.
    pub fn finishers(self, finishers: Finishers) -> Self {
        Self { finishers, ..self }
    }

    /// Sets the size of each thread's stack in bytes, instead of the standard library's default.
    pub fn stack_size(self, bytes: usize) -> Self {
        Self { stack_size: Some(bytes), ..self }
    }

    fn spawn<'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        work: impl FnOnce() + Send + 'scope,
    ) -> Result<ScopedJoinHandle<'scope, ()>, Failure> {
        let builder = Builder::new().name("concurrency".into());
        let builder = self.stack_size.into_iter().fold(builder, Builder::stack_size);
        builder.spawn_scoped(scope, work).map_err(|error| Failure::NoThread(error.to_string()))
    }

    fn coordinate<T, R>(
        &self,
        slots: &Slots<R>,
        schedule: impl Schedule,
        objects: &[T],
        finisher: impl FnMut(&T, Result<R, Failure>),
        start: impl FnMut(usize, usize) -> Result<(), Failure>,
    ) {
        match self.finishers {
            Finishers::WhenFull => {
                slots.coordinate(schedule, objects, finisher, start, |left| slots.wait(left));
            }
            Finishers::AtOnce => slots.coordinate_eagerly(schedule, objects, finisher, start),
        }
    }

    fn on_demand<T: Sync, R: Send>(
        &self,
        schedule: impl Schedule,
        objects: &[T],
        handler: impl Fn(&T) -> R + Sync,
        finisher: impl FnMut(&T, Result<R, Failure>),
    ) {
        let count = self.max_degree.get().min(objects.len());
        let slots = &Slots::new(count);
        let handler = &handler;
        thread::scope(|scope| {
            let mut last = Joined((0..count).map(|_| None).collect());
            let start = |slot, index: usize| {
                let object = &objects[index];
                let thread =
                    self.spawn(scope, move || slots.leave(slot, caught(|| handler(object))))?;
                // The slot's previous thread is joined; it has most likely ended by now.
                last.replace(slot, thread);
                Ok(())
            };
            self.coordinate(slots, schedule, objects, finisher, start);
        });
    }

    fn suspended<T: Sync, R: Send>(
        &self,
        schedule: impl Schedule,
        objects: &[T],
        handler: impl Fn(&T) -> R + Sync,
        finisher: impl FnMut(&T, Result<R, Failure>),
    ) {
        let count = self.max_degree.get().min(objects.len());
        let slots = &Slots::new(count);
        let handler = &handler;
        let slot_of: Vec<AtomicUsize> = objects.iter().map(|_| AtomicUsize::new(0)).collect();
        lending(|lender| {
            let suspended = objects.iter().zip(&slot_of).map(|(object, slot)| {
                let mut job = lender.lend(Box::pin(async move {
                    let result = caught(|| handler(object));
                    slots.leave(slot.load(Ordering::Acquire), result);
                }));
                let thread = SuspendedThread::new(self.stack_size, move || {
                    let done = Pin::new(&mut job).poll(&mut Context::from_waker(Waker::noop()));
                    debug_assert!(done.is_ready(), "it never waits");
                });
                Some(thread.map_err(|error| Failure::NoThread(error.to_string())))
            });
            let mut threads: Vec<Option<Result<SuspendedThread, Failure>>> = suspended.collect();
            // Dropping the slot's previous thread joins it; it has most likely ended by now.
            let mut last: Vec<Option<SuspendedThread>> = (0..count).map(|_| None).collect();
            let start = |slot: usize, index: usize| {
                let thread = threads[index].take().expect("each object is handed out once")?;
                slot_of[index].store(slot, Ordering::Release);
                thread.resume();
                last[slot] = Some(thread);
                Ok(())
            };
            self.coordinate(slots, schedule, objects, finisher, start);
        });
    }

    fn up_front<T: Sync, R: Send>(
        &self,
        mut schedule: impl Schedule,
        objects: &[T],
        handler: impl Fn(&T) -> R + Sync,
        mut finisher: impl FnMut(&T, Result<R, Failure>),
    ) {
        let count = self.max_degree.get().min(objects.len());
        let team = &Team::new(objects, &handler, count);
        thread::scope(|scope| {
            let mut made = Joined(Vec::with_capacity(count));
            let mut failures = Vec::new();
            let _before_joining = team.dismissal();
            for _ in 0..count {
                let slot = made.0.len();
                match self.spawn(scope, move || team.work(slot)) {
                    Ok(thread) => made.0.push(Some(thread)),
                    Err(failure) => failures.push(failure),
                }
            }
            // Each missing thread leaves one object unhandled; without any thread all objects are.
            let unhandled = if made.0.is_empty() { objects.len() } else { failures.len() };
            for failure in failures.iter().cycle().take(unhandled) {
                let object = schedule.next().expect("nothing runs that it could wait for");
                finisher(&objects[object], Err(failure.clone()));
                schedule.finished(object);
            }
            team.lead(made.0.len(), unhandled, schedule, finisher);
        });
    }
}

impl<T: Sync, R: Send> Execution<T, R> for ConcurrentExecution {
    fn do_scheduled<S, H, F>(&self, schedule: S, objects: &[T], handler: H, finisher: F)
    where
        S: Schedule,
        H: Fn(&T) -> R + Sync,
        F: FnMut(&T, Result<R, Failure>),
    {
        match self.threads {
            Threads::OnDemand => self.on_demand(schedule, objects, handler, finisher),
            Threads::UpFront => self.up_front(schedule, objects, handler, finisher),
            Threads::Suspended => self.suspended(schedule, objects, handler, finisher),
        }
    }
}

/// Threads that are joined when this is dropped: the end of a scope waits only for their work, not until the system has
/// released them.
struct Joined<'scope>(Vec<Option<ScopedJoinHandle<'scope, ()>>>);

impl<'scope> Joined<'scope> {
    /// Replaces a thread by another one, and joins the old one.
    fn replace(&mut self, place: usize, thread: ScopedJoinHandle<'scope, ()>) {
        join(self.0[place].replace(thread));
    }
}

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        self.0.drain(..).for_each(join);
    }
}

fn join(thread: Option<ScopedJoinHandle<'_, ()>>) {
    if let Some(thread) = thread {
        thread.join().expect("what panics in it is caught in it");
    }
}
