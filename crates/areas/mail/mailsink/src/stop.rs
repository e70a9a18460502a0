//! Stopping a sink.

use std::io;
use std::sync::Arc;

use platform::socket::readiness::Waker;

/// Stops a sink from any thread: the sink accepts no more connections, and ends after the messages in progress.
#[derive(Debug, Clone)]
pub struct Stop {
    flag: serving::Stop,
    waker: Arc<Waker>,
}

impl Stop {
    pub(crate) fn new(waker: Waker) -> io::Result<Self> {
        let flag = serving::Stop::new().map_err(io::Error::other)?;
        Ok(Self { flag, waker: Arc::new(waker) })
    }

    /// Requests the stop.
    pub fn request(&self) {
        self.flag.request();
        self.waker.wake();
    }

    pub(crate) fn flag(&self) -> serving::Stop {
        self.flag
    }
}
