//! A delivery in progress, shared by the threads that carry it out and those that observe it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use platform::socket::readiness::Waker;

use crate::dispatcher::{Assignment, Dispatcher, Notice, Request, Response, Signals};
use crate::error::SendError;
use crate::journal::Journal;
use crate::options::DeliveryOptions;
use crate::stats::TransportStats;
use crate::tally::{Count, Summary};

/// Progress of a delivery.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Recipients with a final result.
    pub count: Count,
    /// Number of all recipients.
    pub of: usize,
    /// Number of open connections.
    pub open: usize,
    /// Number of recipients that wait to be retried.
    pub waiting: usize,
    /// The latest reason why recipients wait, if any do.
    pub reason: Option<Arc<str>>,
}

/// A delivery: its dispatcher behind a lock. [`crate::deliver`] carries it out; other threads may read its
/// [`Progress`] or stop it by its [`Signals`].
#[derive(Debug)]
pub struct Delivery<'a> {
    options: &'a DeliveryOptions,
    dispatcher: Mutex<Dispatcher>,
    /// Notified when another thread may have work to do.
    changed: Condvar,
    signals: Arc<Signals>,
    has_begun: AtomicBool,
}

impl<'a> Delivery<'a> {
    /// Prepares a delivery. A journal with a history resumes its delivery; without a journal no results are recorded.
    /// `signals` may have been given to the router before.
    ///
    /// # Errors
    /// If the journal cannot be read or written.
    pub fn new(
        options: &'a DeliveryOptions,
        journal: Option<Journal>,
        signals: Arc<Signals>,
    ) -> Result<Self, SendError> {
        let dispatcher = Dispatcher::new(options, journal, Arc::clone(&signals))?;
        let (dispatcher, changed) = (Mutex::new(dispatcher), Condvar::new());
        Ok(Self { options, dispatcher, changed, signals, has_begun: AtomicBool::new(false) })
    }

    /// The signals that other threads may send.
    pub fn signals(&self) -> &Arc<Signals> {
        &self.signals
    }

    /// Whether [`crate::deliver`] was called.
    pub fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::SeqCst)
    }

    pub(crate) fn begin(&self) {
        self.has_begun.store(true, Ordering::SeqCst);
    }

    /// The current progress.
    pub fn progress(&self) -> Progress {
        let dispatcher = self.dispatcher();
        Progress {
            count: dispatcher.count(),
            of: dispatcher.recipients(),
            open: dispatcher.open_connections(),
            waiting: dispatcher.waiting(),
            reason: dispatcher.reason(),
        }
    }

    /// Removes and returns the notices so far.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.dispatcher().take_notices()
    }

    pub(crate) fn options(&self) -> &'a DeliveryOptions {
        self.options
    }

    /// The results, with the transport's statistics.
    pub(crate) fn summary(&self, stats: TransportStats) -> Result<Summary, SendError> {
        let mut dispatcher = self.dispatcher();
        dispatcher.commit()?;
        dispatcher.summary(self.options, stats)
    }

    /// Registers an event loop to be woken by signals.
    pub(crate) fn register(&self, waker: Waker) {
        self.signals.register(waker);
    }

    /// Whether the delivery begins no more transactions.
    pub(crate) fn is_stopped(&self) -> bool {
        self.signals.is_stopped()
    }

    /// The dispatcher, for one thread at a time.
    pub(crate) fn dispatcher(&self) -> MutexGuard<'_, Dispatcher> {
        self.dispatcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles one request of a connection, and commits it to the journal before the response is given.
    pub(crate) fn request(
        &self,
        assignment: &mut Assignment,
        request: Request,
    ) -> Result<Option<Response>, SendError> {
        let mut dispatcher = self.dispatcher();
        let response = dispatcher.handle(self.options, assignment, request);
        let committed = dispatcher.commit();
        drop(dispatcher);
        self.changed.notify_all();
        committed.map(|()| response)
    }

    /// Waits until there may be work, for at most `at_most`.
    pub(crate) fn wait(&self, at_most: Duration) {
        let _ = self.changed.wait_timeout(self.dispatcher(), at_most);
    }
}
