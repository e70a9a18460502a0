use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::task::Poll;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::Failure;
use crate::failure::caught;
use crate::lend::{Lent, lending};
use crate::schedule::{InOrder, Schedule};
use crate::slots::Slots;

/// The future that handles an object: `Box::pin(async move { .. })`.
pub type Handling<'a, R> = Pin<Box<dyn Future<Output = R> + Send + 'a>>;

/// Handles objects as tasks of its own tokio runtime.
///
/// The handler's futures may use tokio's timers and all other drivers of the runtime. While a future waits, others run on
/// the same thread; a future that blocks its thread blocks the others.
#[derive(Debug)]
pub struct Tokio {
    max_degree: NonZeroUsize,
    runtime: Runtime,
}

impl Tokio {
    /// Handles at most `max_degree` objects at a time, on `workers` threads of a multi-thread runtime.
    ///
    /// # Errors
    ///
    /// [`Failure::NoThread`] if the system cannot create all of them.
    pub fn multi_thread(max_degree: NonZeroUsize, workers: NonZeroUsize) -> Result<Self, Failure> {
        Self::new(max_degree, Builder::new_multi_thread().worker_threads(workers.get()))
    }

    /// Handles at most `max_degree` objects at a time, all on the caller's thread.
    ///
    /// # Errors
    ///
    /// [`Failure::NoThread`] if the runtime cannot be created.
    pub fn current_thread(max_degree: NonZeroUsize) -> Result<Self, Failure> {
        Self::new(max_degree, &mut Builder::new_current_thread())
    }

    fn new(max_degree: NonZeroUsize, builder: &mut Builder) -> Result<Self, Failure> {
        // The failure to create a thread is an error or a panic, depending on the kind of thread.
        let runtime = match caught(|| builder.enable_all().build()) {
            Ok(Ok(runtime)) => runtime,
            Ok(Err(error)) => return Err(Failure::NoThread(error.to_string())),
            Err(panic) => return Err(Failure::NoThread(panic.to_string())),
        };
        Ok(Self { max_degree, runtime })
    }

    /// Handles all objects like [`Execution::do_for_all_objects`](crate::Execution::do_for_all_objects), with a handler
    /// that can wait.
    ///
    /// # Panics
    ///
    /// If a task of a tokio runtime calls it: that task's thread would wait.
    pub fn do_for_all_objects<'a, T, R, H, F>(&self, objects: &'a [T], handler: H, finisher: F)
    where
        T: Sync,
        R: Send,
        H: Fn(&'a T) -> Handling<'a, R> + Sync,
        F: FnMut(&T, Result<R, Failure>),
    {
        self.do_scheduled(InOrder::new(objects.len()), objects, handler, finisher);
    }

    /// Handles all objects like [`Execution::do_scheduled`](crate::Execution::do_scheduled), with a handler that can wait.
    ///
    /// # Panics
    ///
    /// If a task of a tokio runtime calls it, or the schedule is for another number of objects.
    pub fn do_scheduled<'a, T, R, H, F>(
        &self,
        schedule: impl Schedule,
        objects: &'a [T],
        handler: H,
        finisher: F,
    ) where
        T: Sync,
        R: Send,
        H: Fn(&'a T) -> Handling<'a, R> + Sync,
        F: FnMut(&T, Result<R, Failure>),
    {
        let count = self.max_degree.get().min(objects.len());
        let (slots, handler) = (&Slots::new(count), &handler);
        let (done, next_done) = unbounded_channel();
        let done = &done;
        // This panics if the thread must not wait, before there is anything to wait for.
        self.runtime.block_on(async {});
        lending(|lender| {
            let tasks = Tasks::new(&self.runtime, next_done);
            let start = |slot, index: usize| {
                let object = &objects[index];
                tasks.spawn(lender.lend(Box::pin(async move {
                    slots.put(slot, handled(|| handler(object)).await);
                    done.send(slot).expect("the receiver is kept until all tasks are over");
                })));
                Ok(())
            };
            let wait = |left: &mut Vec<usize>| left.push(tasks.next_done());
            slots.coordinate(schedule, objects, finisher, start, wait);
        });
    }

    /// Handles all objects like [`Execution::do_serial`](crate::Execution::do_serial), with a handler that can wait.
    ///
    /// # Panics
    ///
    /// If a task of a tokio runtime calls it: that task's thread would wait.
    pub fn do_serial<'a, T, R, H, F>(&self, objects: &'a [T], handler: H, mut finisher: F)
    where
        T: Sync,
        R: Send,
        H: Fn(&'a T) -> Handling<'a, R> + Sync,
        F: FnMut(&T, Result<R, Failure>),
    {
        for object in objects {
            finisher(object, self.runtime.block_on(handled(|| handler(object))));
        }
    }
}

/// The future's result, or the failure if the future or its creation panicked.
async fn handled<'a, R>(make: impl FnOnce() -> Handling<'a, R>) -> Result<R, Failure> {
    let mut future = caught(make)?;
    let result = poll_fn(|context| match caught(|| future.as_mut().poll(context)) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(result)) => Poll::Ready(Ok(result)),
        Err(failure) => Poll::Ready(Err(failure)),
    })
    .await;
    caught(|| drop(future)).and(result)
}

/// The tasks of a call. Dropping this waits until all have reported that they are done: tasks on the caller's thread run
/// only while it waits for them.
struct Tasks<'a> {
    runtime: &'a Runtime,
    next_done: RefCell<UnboundedReceiver<usize>>,
    running: Cell<usize>,
}

impl<'a> Tasks<'a> {
    fn new(runtime: &'a Runtime, next_done: UnboundedReceiver<usize>) -> Self {
        Self { runtime, next_done: RefCell::new(next_done), running: Cell::new(0) }
    }

    fn spawn(&self, task: Lent) {
        self.runtime.spawn(task);
        self.running.update(|running| running + 1);
    }

    /// Waits for the next task that is done; returns its slot.
    fn next_done(&self) -> usize {
        let slot = self.runtime.block_on(self.next_done.borrow_mut().recv());
        self.running.update(|running| running - 1);
        slot.expect("the sender is kept as long as this")
    }
}

impl Drop for Tasks<'_> {
    fn drop(&mut self) {
        while self.running.get() > 0 {
            self.next_done();
        }
    }
}
