//! Lends borrowed data of a call to threads and tasks that outlive the call.

use std::cell::Cell;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread::{self, Thread};

/// A job that may borrow for `'a`. A job that never waits is done after one poll.
pub(crate) type Job<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A job with its lifetime erased. The lender waits until it is dropped.
pub(crate) struct Lent {
    // The fields are dropped in this order, also when dropping the job panics.
    job: Job<'static>,
    _returned: Returned,
}

/// Creates [`Lent`]s from jobs that borrow for exactly `'env` (hence the `Cell`): data borrowed for a shorter time
/// could end before the lender's wait does.
pub(crate) struct Lender<'env> {
    out: Arc<Out>,
    exactly: PhantomData<Cell<&'env ()>>,
}

/// The number of lent jobs that were not returned, and the thread that waits for them.
struct Out {
    jobs: AtomicUsize,
    lender: Thread,
}

/// Decrements the number of lent jobs when dropped.
struct Returned(Arc<Out>);

/// Calls `body` with a lender, and returns, or resumes its panic, when all lent jobs are dropped.
pub(crate) fn lending<'env, Out>(body: impl FnOnce(&Lender<'env>) -> Out) -> Out {
    let lender = Lender::new();
    body(&lender)
}

impl<'env> Lender<'env> {
    fn new() -> Self {
        let out = Arc::new(Out { jobs: AtomicUsize::new(0), lender: thread::current() });
        Self { out, exactly: PhantomData }
    }

    /// Lends `job` to another thread, which polls and then drops it.
    pub fn lend(&self, job: Job<'env>) -> Lent {
        self.out.jobs.fetch_add(1, Ordering::Relaxed);
        let returned = Returned(Arc::clone(&self.out));
        // SAFETY: only the lifetime changes. All that the job borrows lives for `'env`, which is a
        // parameter of `lending` and so does not end before that returns; and `lending` neither
        // returns nor unwinds before the `Lender`, which nobody else owns, was dropped, which waits
        // until every `Lent` was dropped. After that there is no job left to use or to drop.
        let job = unsafe { std::mem::transmute::<Job<'env>, Job<'static>>(job) };
        Lent { job, _returned: returned }
    }
}

impl Drop for Lender<'_> {
    fn drop(&mut self) {
        while self.out.jobs.load(Ordering::Acquire) != 0 {
            thread::park();
        }
    }
}

impl Drop for Returned {
    fn drop(&mut self) {
        if self.0.jobs.fetch_sub(1, Ordering::Release) == 1 {
            self.0.lender.unpark();
        }
    }
}

impl Future for Lent {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.job.as_mut().poll(context)
    }
}
