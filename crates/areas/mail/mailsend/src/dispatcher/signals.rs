//! Signals that any thread may send to a delivery at any time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use platform::socket::readiness::Waker;

/// Signals to stop a delivery, and that routes have become known.
#[derive(Debug, Default)]
pub struct Signals {
    is_stopped: AtomicBool,
    routes_are_known: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

impl Signals {
    /// Stops the delivery: no more transactions begin, and those in progress are completed.
    pub fn stop(&self) {
        self.stop_soon();
        self.wake();
    }

    /// Stops the delivery like [`Signals::stop`], but without waking the event loops, for a signal handler or a thread
    /// without access to their descriptors. Takes effect within half a second.
    pub fn stop_soon(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
    }

    /// Whether the delivery was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    /// Reports that a route has become known: the callback for [`crate::route::Router::mx`].
    pub fn route_is_known(&self) {
        self.routes_are_known.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Whether routes have become known since the last call.
    pub(super) fn take_known_routes(&self) -> bool {
        self.routes_are_known.swap(false, Ordering::SeqCst)
    }

    /// Adds an event loop to wake.
    pub(crate) fn register(&self, waker: Waker) {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner).push(waker);
    }

    /// Wakes all event loops.
    pub(super) fn wake(&self) {
        let wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        wakers.iter().for_each(Waker::wake);
    }
}
