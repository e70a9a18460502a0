//! Reads the coordinator's orders, one per line.

use std::io::{BufRead, BufReader, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::wire::Order;

/// Maximum length of an order, in bytes.
pub(crate) const ORDER_AT_MOST: usize = 1 << 20;
/// Maximum number of orders that are read ahead. A coordinator sends one at a time.
const WAITING_AT_MOST: usize = 4;

/// The next input of an agent.
pub(crate) enum Next {
    /// An order, and the CRC-32 of its line.
    Order(Order, u32),
    /// A line that is no order, with the problem.
    Unknown(String),
    /// The end of the input.
    End,
}

/// The input of an agent.
pub(crate) struct Orders {
    source: Source,
    ended: Arc<AtomicBool>,
}

enum Source {
    /// Lines read by a thread, which notices the end of the input also during a round.
    Thread(Receiver<Vec<u8>>),
    /// An input that is read when needed.
    Direct(BufReader<Box<dyn Read + Send>>),
}

impl Orders {
    /// Reads from `input`, in a thread if `thread` is set and one can be started.
    pub(crate) fn read(input: Box<dyn Read + Send>, thread: bool) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let input = BufReader::new(input);
        if !thread {
            return Self { source: Source::Direct(input), ended };
        }
        // The thread takes the input from here, so that it stays where no thread can be started.
        let input = Arc::new(Mutex::new(Some(input)));
        let (lines, read) = sync_channel(WAITING_AT_MOST);
        let (theirs, at_end) = (Arc::clone(&input), Arc::clone(&ended));
        let started = std::thread::Builder::new().spawn(move || {
            let Some(mut input) = take(&theirs) else { return };
            while let Some(line) = next_line(&mut input) {
                if lines.send(line).is_err() {
                    return;
                }
            }
            at_end.store(true, Ordering::Relaxed);
        });
        let source = match started.err().and_then(|_| take(&input)) {
            Some(input) => Source::Direct(input),
            None => Source::Thread(read),
        };
        Self { source, ended }
    }

    /// A flag that is set when the input has ended: then no round is needed any more.
    pub(crate) fn ended(&self) -> &AtomicBool {
        &self.ended
    }

    /// Waits for the next order.
    pub(crate) fn next(&mut self) -> Next {
        loop {
            let line = match &mut self.source {
                Source::Thread(lines) => lines.recv().ok(),
                Source::Direct(input) => next_line(input),
            };
            let Some(line) = line else { return Next::End };
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            return match serde_json::from_slice(line) {
                Ok(order) => Next::Order(order, crc32fast::hash(line)),
                Err(error) => Next::Unknown(error.to_string()),
            };
        }
    }
}

/// What is there, unless it was taken before.
fn take<T>(from: &Mutex<Option<T>>) -> Option<T> {
    from.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// The next line, cut off at [`ORDER_AT_MOST`]; `None` at the end.
fn next_line(input: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let read = input.by_ref().take(ORDER_AT_MOST as u64).read_until(b'\n', &mut line).ok()?;
    if read == 0 {
        return None;
    }
    if line.last() != Some(&b'\n') && read == ORDER_AT_MOST {
        input.skip_until(b'\n').ok()?;
    }
    Some(line)
}
