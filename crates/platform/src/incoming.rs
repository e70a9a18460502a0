//! The output of another machine, guest or program, read in a thread within limits of memory.

use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Number of bytes that are read at once.
const PART: usize = 64 << 10;

/// Divides bytes into lines without their ends. A line that is too long is skipped, so that it takes no memory.
#[derive(Debug)]
pub struct LineSplitter {
    line: Vec<u8>,
    /// Maximum length of a line in bytes.
    at_most: usize,
    /// Whether the current line is too long, so that its rest is skipped.
    skips: bool,
}

impl LineSplitter {
    /// A splitter for lines of at most this number of bytes.
    pub fn new(at_most: usize) -> Self {
        Self { line: Vec::new(), at_most, skips: false }
    }

    /// Takes the next bytes, and calls `take` for each line that ends in them; an empty line for one that was too long.
    pub fn push(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) {
        let mut parts = bytes.split(|&byte| byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            if self.line.len() + part.len() > self.at_most {
                self.skips = true;
                self.line.clear();
            }
            if !self.skips {
                self.line.extend_from_slice(part);
            }
            if parts.peek().is_some() {
                take(&self.line);
                self.line.clear();
                self.skips = false;
            }
        }
    }

    /// The line that has no end yet; empty if it is too long.
    pub fn rest(&self) -> &[u8] {
        &self.line
    }
}

/// What was found in an output, as it arrives. The thread that reads ends with the output, or when this is dropped and something
/// more was found.
#[derive(Debug)]
pub struct Incoming<T> {
    found: Receiver<T>,
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Number of bytes read.
    bytes: AtomicU64,
    /// Whether there were more than allowed.
    too_many: AtomicBool,
}

/// The next of an output.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// What was found.
    Found(T),
    /// Nothing was found within the time.
    Nothing,
    /// The output has ended.
    End,
    /// The output has more bytes than allowed; the rest is not read.
    TooMuch,
}

/// Where a decoder puts what it has found.
#[derive(Debug)]
pub struct Finds<'a, T>(&'a SyncSender<T>);

impl<T> Finds<'_, T> {
    /// Waits until there is room; false if nobody wants it any more.
    pub fn put(&self, found: T) -> bool {
        self.0.send(found).is_ok()
    }
}

impl<T: Send + 'static> Incoming<T> {
    /// Reads at most `bytes` from `output`. `decode` gets the bytes of each read, and none at the end, and says whether to go on;
    /// what it has found waits until [`Incoming::next`] takes it, at most `waiting` at once, while nothing further is read.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn read(
        output: impl Read + Send + 'static,
        bytes: u64,
        waiting: usize,
        mut decode: impl FnMut(&[u8], &Finds<'_, T>) -> bool + Send + 'static,
    ) -> std::io::Result<Self> {
        let (sender, found) = sync_channel(waiting);
        let seen = Arc::new(Seen::default());
        let kept = Arc::clone(&seen);
        let read = move || read_all(output, bytes, &kept, |part| decode(part, &Finds(&sender)));
        std::thread::Builder::new().name("output".to_owned()).spawn(read)?;
        Ok(Self { found, seen })
    }

    /// Waits for what is found next, for at most `time`.
    pub fn next(&self, time: Duration) -> Next<T> {
        match self.found.recv_timeout(time) {
            Ok(found) => Next::Found(found),
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
            Err(RecvTimeoutError::Disconnected) => {
                let too_many = self.seen.too_many.load(Ordering::Relaxed);
                if too_many { Next::TooMuch } else { Next::End }
            }
        }
    }

    /// Number of bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.seen.bytes.load(Ordering::Relaxed)
    }
}

fn read_all(
    mut output: impl Read,
    at_most: u64,
    seen: &Seen,
    mut decode: impl FnMut(&[u8]) -> bool,
) {
    let mut part = vec![0; PART];
    loop {
        let count = match output.read(&mut part) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Ok(count @ 1..) => count,
            Ok(0) | Err(_) => {
                decode(&[]);
                return;
            }
        };
        let before = seen.bytes.fetch_add(count as u64, Ordering::Relaxed);
        if before + count as u64 > at_most {
            seen.too_many.store(true, Ordering::Relaxed);
            return;
        }
        if !decode(&part[..count]) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(at_most: usize, parts: &[&[u8]]) -> (Vec<String>, Vec<u8>) {
        let (mut splitter, mut lines) = (LineSplitter::new(at_most), Vec::new());
        for part in parts {
            splitter.push(part, |line| lines.push(String::from_utf8(line.to_vec()).unwrap()));
        }
        (lines, splitter.rest().to_vec())
    }

    #[test]
    fn lines_are_found_wherever_the_bytes_are_cut() {
        let text = b"one\n\ntwo three\nfour";
        let expected =
            (vec!["one".to_owned(), String::new(), "two three".into()], b"four".to_vec());
        for cut in 1..=text.len() {
            let parts: Vec<&[u8]> = text.chunks(cut).collect();
            assert_eq!(lines(9, &parts), expected, "{cut}");
            let (short, _) = lines(8, &parts);
            assert_eq!(short, ["one", "", ""], "the third is too long");
        }
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory() {
        let mut splitter = LineSplitter::new(1_000);
        (0..1_000).for_each(|_| splitter.push(&[b'x'; 4_096], |_| panic!("no line ends")));
        assert!(splitter.line.capacity() <= 4_096, "{}", splitter.line.capacity());
    }

    /// What nobody takes is not read, and what is too much ends the reading.
    #[test]
    fn an_endless_output_is_read_as_far_as_it_is_taken_and_allowed() {
        let at_most = 100 * PART as u64;
        let decode = |part: &[u8], found: &Finds<'_, usize>| found.put(part.len());
        let incoming = Incoming::read(std::io::repeat(b'x'), at_most, 4, decode).unwrap();
        testing::until(|| incoming.bytes() == 5 * PART as u64);
        let mut taken = 0;
        let last = loop {
            match incoming.next(testing::PATIENCE) {
                Next::Found(count) => taken += count as u64,
                other => break other,
            }
        };
        assert_eq!((last, taken), (Next::TooMuch, at_most));
        let incoming = Incoming::read(&b"abc"[..], 3, 4, decode).unwrap();
        let next = || incoming.next(testing::PATIENCE);
        assert_eq!([next(), next(), next()], [Next::Found(3), Next::Found(0), Next::End]);
    }
}
