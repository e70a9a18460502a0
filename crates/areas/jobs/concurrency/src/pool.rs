use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, TryLockError};
use std::task::{Context, Waker};
use std::thread::{Builder, JoinHandle};

use crate::lend::{Lent, lending};
use crate::schedule::Schedule;
use crate::team::Team;
use crate::{ConcurrentExecution, Execution, Failure};

/// Handles objects on long-lived threads, which end when the pool is dropped.
///
/// The pool's threads serve one call at a time. A call made meanwhile, from a handler, a finisher or another thread, would
/// have to wait, perhaps for itself; it runs on fresh threads instead, as with [`ConcurrentExecution`].
#[derive(Debug)]
pub struct Pool {
    max_degree: NonZeroUsize,
    /// The threads, locked by the call that uses them.
    threads: Mutex<Vec<PoolThread>>,
}

#[derive(Debug)]
struct PoolThread {
    /// The thread's queue of jobs; closing it ends the thread.
    jobs: Option<Sender<Lent>>,
    handle: Option<JoinHandle<()>>,
}

impl Pool {
    /// Creates `max_degree` threads, to handle that number of objects at a time.
    ///
    /// # Errors
    ///
    /// [`Failure::NoThread`] if the system cannot create all of them.
    pub fn new(max_degree: NonZeroUsize) -> Result<Self, Failure> {
        let threads = (0..max_degree.get()).map(|_| PoolThread::new()).collect::<Result<_, _>>()?;
        Ok(Self { max_degree, threads: Mutex::new(threads) })
    }
}

impl<T: Sync, R: Send> Execution<T, R> for Pool {
    fn do_scheduled<S, H, F>(&self, schedule: S, objects: &[T], handler: H, finisher: F)
    where
        S: Schedule,
        H: Fn(&T) -> R + Sync,
        F: FnMut(&T, Result<R, Failure>),
    {
        let threads = match self.threads.try_lock() {
            Ok(threads) => threads,
            // The lock is poisoned if a finisher panicked, which does not affect the threads.
            Err(TryLockError::Poisoned(threads)) => threads.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let fresh = ConcurrentExecution::new(self.max_degree);
                return fresh.do_scheduled(schedule, objects, handler, finisher);
            }
        };
        let count = threads.len().min(objects.len());
        let team = &Team::new(objects, &handler, count);
        lending(|lender| {
            let _before_the_wait_for_them = team.dismissal();
            for (slot, thread) in threads.iter().take(count).enumerate() {
                thread.run(lender.lend(Box::pin(async move { team.work(slot) })));
            }
            team.lead(count, 0, schedule, finisher);
        });
    }
}

impl PoolThread {
    fn new() -> Result<Self, Failure> {
        let (jobs, to_do) = channel();
        let builder = Builder::new().name("concurrency".into());
        let handle = builder
            .spawn(move || run_all(to_do))
            .map_err(|error| Failure::NoThread(error.to_string()))?;
        Ok(Self { jobs: Some(jobs), handle: Some(handle) })
    }

    fn run(&self, job: Lent) {
        let jobs = self.jobs.as_ref().expect("there until it is dropped");
        jobs.send(job).expect("the thread ends only when this is dropped");
    }
}

/// Runs jobs that never wait.
fn run_all(jobs: Receiver<Lent>) {
    for job in jobs {
        let over = pin!(job).poll(&mut Context::from_waker(Waker::noop()));
        debug_assert!(over.is_ready(), "it never waits");
    }
}

impl Drop for PoolThread {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(handle) = self.handle.take() {
            handle.join().expect("what panics in it is caught in it");
        }
    }
}
