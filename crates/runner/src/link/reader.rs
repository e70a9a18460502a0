//! Reads an agent's output continuously and writes its orders, each in a thread, so that neither blocks the coordinator.

use std::io::{Read, Write};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use platform::incoming::{Incoming, Next};

use crate::wire::{Deframer, Stamped};

/// Maximum number of frames that wait to be handled.
const FRAMES_AT_MOST: usize = 256;

/// An agent's input and output.
pub(crate) struct Wire {
    frames: Incoming<(u64, Stamped)>,
    orders: Sender<String>,
    /// The last line of other text.
    noise: Arc<Mutex<String>>,
}

impl Wire {
    /// Reads from `output` and writes to `input` until either is closed.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn new(
        mut input: Box<dyn Write + Send>,
        output: Box<dyn Read + Send>,
    ) -> std::io::Result<Self> {
        let noise = Arc::new(Mutex::new(String::new()));
        let (mut deframer, kept) = (Deframer::default(), Arc::clone(&noise));
        // A console that a kernel floods for hours is no reason to lose its agent, so that the number of bytes has no limit.
        let frames = Incoming::read(output, u64::MAX, FRAMES_AT_MOST, move |part, found| {
            let frames = deframer.push(part);
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if *kept != deframer.noise() {
                deframer.noise().clone_into(&mut kept);
            }
            drop(kept);
            frames.into_iter().all(|frame| found.put(frame))
        })?;
        let (orders, ordered) = channel::<String>();
        std::thread::Builder::new().name("agent".to_owned()).spawn(move || {
            while let Ok(order) = ordered.recv() {
                // An agent that does not read is noticed by its silence.
                let _ = input.write_all(order.as_bytes()).and_then(|()| input.flush());
            }
        })?;
        Ok(Self { frames, orders, noise })
    }

    /// Writes a line to the agent.
    pub(crate) fn send(&self, line: String) {
        // Sending cannot fail: the thread ends only when this side does.
        let _ = self.orders.send(line + "\n");
    }

    /// Waits for the next frame, with its number, for at most `time`.
    pub(crate) fn next(&self, time: Duration) -> Next<(u64, Stamped)> {
        self.frames.next(time)
    }

    /// The last line of other text in the agent's output; empty if there was none.
    pub(crate) fn noise(&self) -> String {
        self.noise.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Number of bytes read so far, of frames and other text.
    pub(crate) fn bytes(&self) -> u64 {
        self.frames.bytes()
    }
}
