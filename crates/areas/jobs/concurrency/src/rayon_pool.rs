use std::num::NonZeroUsize;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::failure::caught;
use crate::schedule::Schedule;
use crate::slots::Slots;
use crate::{ConcurrentExecution, Execution, Failure};

/// Handles objects on the threads of its own rayon pool.
///
/// A call from one of the pool's handlers would block that handler's thread, and runs on fresh threads instead, as with
/// [`ConcurrentExecution`]. Calls from several other threads share the pool.
#[derive(Debug)]
pub struct Rayon {
    max_degree: NonZeroUsize,
    pool: ThreadPool,
}

impl Rayon {
    /// Creates a pool of `max_degree` threads, to handle that number of objects at a time.
    ///
    /// # Errors
    ///
    /// [`Failure::NoThread`] if the system cannot create all of them.
    pub fn new(max_degree: NonZeroUsize) -> Result<Self, Failure> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(max_degree.get())
            .build()
            .map_err(|error| Failure::NoThread(error.to_string()))?;
        Ok(Self { max_degree, pool })
    }
}

impl<T: Sync, R: Send> Execution<T, R> for Rayon {
    fn do_scheduled<S, H, F>(&self, schedule: S, objects: &[T], handler: H, finisher: F)
    where
        S: Schedule,
        H: Fn(&T) -> R + Sync,
        F: FnMut(&T, Result<R, Failure>),
    {
        if self.pool.current_thread_index().is_some() {
            let fresh = ConcurrentExecution::new(self.max_degree);
            return fresh.do_scheduled(schedule, objects, handler, finisher);
        }
        let count = self.max_degree.get().min(objects.len());
        let (slots, handler) = (&Slots::new(count), &handler);
        // The scope waits for all spawned jobs, also if the finisher panics.
        self.pool.in_place_scope(|scope| {
            let start = |slot, index: usize| {
                let object = &objects[index];
                scope.spawn(move |_| slots.leave(slot, caught(|| handler(object))));
                Ok(())
            };
            slots.coordinate(schedule, objects, finisher, start, |left| slots.wait(left));
        });
    }
}
