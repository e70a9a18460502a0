//! Stopping a sink.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use platform::readiness::Waker;

/// Stops a sink, from any thread: it accepts no more connections, and ends after the messages in progress.
#[derive(Debug, Clone)]
pub struct Stop {
    state: Arc<(AtomicBool, Waker)>,
}

impl Stop {
    pub(crate) fn new(waker: Waker) -> Self {
        Self { state: Arc::new((AtomicBool::new(false), waker)) }
    }

    /// Requests the stop.
    pub fn request(&self) {
        self.state.0.store(true, Ordering::SeqCst);
        self.state.1.wake();
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.state.0.load(Ordering::Relaxed)
    }
}
