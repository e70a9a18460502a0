//! The agent's output, which the heartbeat shares.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::wire::{FrameWriter, Message, Stamped};

/// Interval between heartbeats: rounds rarely take this long.
const BEAT_EVERY: Duration = Duration::from_secs(2);
/// Maximum length of a part of a round's output, in bytes. Shorter frames gain nothing, since text in the middle of any
/// frame costs the whole round.
const PART_AT_MOST: usize = 8 << 10;

/// Writes messages with time stamps.
pub(crate) struct Output {
    shared: Arc<Shared>,
}

struct Shared {
    frames: Mutex<FrameWriter<Box<dyn Write + Send>>>,
    began: Instant,
    works: AtomicBool,
}

/// The heartbeat, which ends when this is dropped.
pub(crate) struct Heart {
    _ends_with: Sender<()>,
}

impl Output {
    /// An output that writes to `out`.
    pub(crate) fn new(out: Box<dyn Write + Send>) -> Self {
        let frames = Mutex::new(FrameWriter::new(out));
        let works = AtomicBool::new(false);
        Self { shared: Arc::new(Shared { frames, began: Instant::now(), works }) }
    }

    /// Writes one message.
    pub(crate) fn send(&self, message: Message) -> std::io::Result<()> {
        self.shared.send(message)
    }

    /// Writes the output of a round in parts.
    pub(crate) fn send_parts(&self, round: u64, mut text: &str) -> std::io::Result<()> {
        while !text.is_empty() {
            let (part, rest) = text.split_at(text.floor_char_boundary(PART_AT_MOST));
            self.send(Message::Part { round, text: part.to_owned() })?;
            text = rest;
        }
        Ok(())
    }

    /// Writes the message that `work` returns, and heartbeats until then.
    pub(crate) fn work(
        &self,
        work: impl FnOnce() -> std::io::Result<Message>,
    ) -> std::io::Result<()> {
        self.shared.works.store(true, Ordering::Relaxed);
        let message = work();
        self.shared.works.store(false, Ordering::Relaxed);
        self.send(message?)
    }

    /// Starts the heartbeat; `None` where no thread can be started.
    pub(crate) fn beat(&self) -> Option<Heart> {
        let shared = Arc::clone(&self.shared);
        let (heart, stopped) = channel::<()>();
        let beat = move || {
            while stopped.recv_timeout(BEAT_EVERY) == Err(RecvTimeoutError::Timeout) {
                if shared.works.load(Ordering::Relaxed) && shared.send(Message::Alive).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().spawn(beat).ok().map(|_| Heart { _ends_with: heart })
    }
}

impl Shared {
    fn send(&self, message: Message) -> std::io::Result<()> {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let at_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        frames.write(&Stamped { at_us, message })
    }
}
