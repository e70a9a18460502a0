//! Reads an agent's output continuously and writes its orders, each in a thread, so that neither blocks the coordinator.

use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::wire::{Deframer, Stamped};

/// Maximum number of frames that wait to be handled.
const FRAMES_AT_MOST: usize = 256;

/// An agent's input and output.
pub(crate) struct Wire {
    frames: Receiver<(u64, Stamped)>,
    orders: Sender<String>,
    seen: Arc<OutputState>,
}

/// The state of an agent's output besides its frames.
#[derive(Default)]
struct OutputState {
    /// Number of all bytes so far.
    bytes: AtomicU64,
    /// The last line of other text.
    noise: Mutex<String>,
}

/// A result of reading.
pub(crate) enum Incoming {
    /// A frame, with its number.
    Frame(u64, Box<Stamped>),
    /// No frame within the time.
    Nothing,
    /// The end of the output.
    End,
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
        let (framed, frames) = sync_channel(FRAMES_AT_MOST);
        let (orders, ordered) = channel::<String>();
        let seen = Arc::new(OutputState::default());
        let kept = Arc::clone(&seen);
        let thread = || std::thread::Builder::new().name("agent".to_owned());
        thread().spawn(move || read_all(output, &framed, &kept))?;
        thread().spawn(move || {
            while let Ok(order) = ordered.recv() {
                // An agent that does not read is noticed by its silence.
                let _ = input.write_all(order.as_bytes()).and_then(|()| input.flush());
            }
        })?;
        Ok(Self { frames, orders, seen })
    }

    /// Writes a line to the agent.
    pub(crate) fn send(&self, line: String) {
        // Sending cannot fail: the thread ends only when this side does.
        let _ = self.orders.send(line + "\n");
    }

    /// Waits for the next frame, for at most `time`.
    pub(crate) fn next(&self, time: Duration) -> Incoming {
        match self.frames.recv_timeout(time) {
            Ok((number, stamped)) => Incoming::Frame(number, Box::new(stamped)),
            Err(RecvTimeoutError::Timeout) => Incoming::Nothing,
            Err(RecvTimeoutError::Disconnected) => Incoming::End,
        }
    }

    /// The last line of other text in the agent's output; empty if there was none.
    pub(crate) fn noise(&self) -> String {
        self.seen.noise.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Number of bytes read so far, of frames and other text.
    pub(crate) fn bytes(&self) -> u64 {
        self.seen.bytes.load(Ordering::Relaxed)
    }
}

fn read_all(mut output: impl Read, framed: &SyncSender<(u64, Stamped)>, seen: &OutputState) {
    let mut deframer = Deframer::default();
    let mut part = vec![0; 64 << 10];
    loop {
        let count = match output.read(&mut part) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => return,
            Ok(count) => count,
        };
        seen.bytes.fetch_add(count as u64, Ordering::Relaxed);
        let found = deframer.push(&part[..count]);
        let mut kept = seen.noise.lock().unwrap_or_else(PoisonError::into_inner);
        if *kept != deframer.noise() {
            deframer.noise().clone_into(&mut kept);
        }
        drop(kept);
        for frame in found {
            if framed.send(frame).is_err() {
                return;
            }
        }
    }
}
