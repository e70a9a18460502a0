//! Shared by the cases of communication: two tasks that send messages, the time of a round trip, and the bandwidth of a transfer.

use std::fs::File;
use std::io::{self, Read, Write};

use measure::{CaseError, Metric, Params, Role, Round, TIME};

use platform::socket::transfer::is_message_too_long;

use crate::partner::{
    AS_PROCESSES, AS_PROCESSES_WHERE_POSSIBLE, AS_THREADS, PLACE_OTHER, PLACE_SAME, Tasks,
};
use crate::{Param, Takes, size_of};

/// One task's end of a mechanism that carries messages in both directions.
pub trait MessageEnd: Send {
    /// Sends all of `bytes`, as one message where the mechanism has messages.
    ///
    /// # Errors
    /// Errors of the system calls.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Waits for the other task, and fills `bytes`.
    ///
    /// # Errors
    /// Errors of the system calls; `UnexpectedEof` if the other task has closed its end, or sent fewer bytes.
    fn receive(&mut self, bytes: &mut [u8]) -> io::Result<()>;
}

/// A pair of streams, one for each direction.
impl<R: Read + Send, W: Write + Send> MessageEnd for (R, W) {
    #[inline(always)]
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.1.write_all(bytes)
    }

    #[inline(always)]
    fn receive(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_exact(bytes)
    }
}

/// An end of one stream for both directions.
pub struct Stream<S>(pub S);

impl<S: Read + Write + Send> MessageEnd for Stream<S> {
    #[inline(always)]
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    #[inline(always)]
    fn receive(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_exact(bytes)
    }
}

/// An end of a mechanism that keeps the boundaries of messages: one call per message.
pub struct Messages<S>(pub S);

impl<S: Read + Write + Send> MessageEnd for Messages<S> {
    #[inline(always)]
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        whole(self.0.write(bytes)?, bytes)
    }

    #[inline(always)]
    fn receive(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        whole(self.0.read(bytes)?, bytes)
    }
}

/// Checks that all bytes of a message were transferred.
///
/// # Errors
/// `UnexpectedEof` if they were fewer.
#[inline(always)]
pub fn whole(transferred: usize, bytes: &[u8]) -> io::Result<()> {
    if transferred == bytes.len() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// The parameter `message`: length of a message in bytes.
pub const MESSAGE: Param = Param::new("message", &["1"])
    .meaning("bytes of the message, and of the reply")
    .full(&["1", "4k"])
    .takes(Takes::Size(1 << 20));

/// The parameter `block`: number of bytes sent at once.
pub const BLOCK: Param = Param::new(
    "block",
    // The cost of a smaller block is mostly the calls, which round trips show.
    &["64k"],
)
.meaning("bytes that one call sends")
.full(&["64", "1k", "4k", "64k", "1m"])
.takes(Takes::Size(16 << 20));

/// The block length of queues, whose messages have at most 8 KiB unless the system is configured otherwise.
const BLOCK_OF_QUEUE: Param = Param { default: &["4k"], full: &["64", "1k", "4k", "8k"], ..BLOCK };
/// The block length of UDP, whose datagrams have at most 65,507 bytes.
const BLOCK_OF_UDP: Param = Param { default: &["32k"], full: &["64", "1k", "4k", "32k"], ..BLOCK };

/// The parameter `bytes`: number of bytes that one call moves or copies.
pub const LENGTH: Param = Param::new("bytes", &["64k"])
    .meaning("bytes that one call moves or copies")
    .full(&["4k", "64k", "1m"])
    .takes(Takes::Size(1 << 20));

/// Parameters of a round trip. By default its tasks share a CPU: on two CPUs most of the time is spent on waking an idle CPU,
/// which varies much and has its own case (`switch` with `place=other`).
pub const ROUND_TRIP: &[Param] = &[MESSAGE, AS_PROCESSES, PLACE_SAME];
/// Parameters of a round trip that systems without fork support with threads.
pub const ROUND_TRIP_ANYWHERE: &[Param] = &[MESSAGE, AS_PROCESSES_WHERE_POSSIBLE, PLACE_SAME];
/// Parameters of a round trip that only threads can make.
pub const ROUND_TRIP_OF_THREADS: &[Param] = &[MESSAGE, AS_THREADS, PLACE_SAME];
/// Parameters of a transfer.
pub const TRANSFER: &[Param] = &[BLOCK, AS_PROCESSES, PLACE_OTHER];
/// Parameters of a transfer that systems without fork support with threads.
pub const TRANSFER_ANYWHERE: &[Param] = &[BLOCK, AS_PROCESSES_WHERE_POSSIBLE, PLACE_OTHER];
/// Parameters of a transfer through a queue.
pub const TRANSFER_OF_QUEUE: &[Param] = &[BLOCK_OF_QUEUE, AS_PROCESSES, PLACE_OTHER];
/// Parameters of a transfer over UDP.
pub const TRANSFER_OF_UDP: &[Param] = &[BLOCK_OF_UDP, AS_PROCESSES_WHERE_POSSIBLE, PLACE_OTHER];
/// Parameters of a transfer that only threads can make.
pub const TRANSFER_OF_THREADS: &[Param] = &[BLOCK, AS_THREADS, PLACE_OTHER];

/// Bytes transferred per second.
pub const BANDWIDTH: Metric =
    Metric::higher("bandwidth", "bytes/s", "bytes transferred in a second")
        .with(Role::SameAs(TIME.name));

/// First byte of the message that ends the partner; sequence numbers of messages are smaller.
const STOP: u8 = u8::MAX;
/// Block number that ends the partner.
const STOP_BLOCK: u64 = u64::MAX;
/// Number of bytes at the beginning of a block that hold its number.
const NUMBER: usize = u64::BITS as usize / 8;
/// Acknowledgement of blocks that arrived in order and unchanged, and that of other blocks.
const INTACT: u8 = 1;
const DAMAGED: u8 = 2;

/// System calls that one task makes for a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// The number varies, or is unknown.
    Any,
    /// One call sends and one receives.
    Two,
    /// One call sends and one receives, if the message has one byte, which cannot arrive in two parts.
    TwoForOneByte,
}

/// Properties of a mechanism: its name, its calls, its limits.
#[derive(Debug, Clone, Copy)]
pub struct Mechanism {
    /// Name of the mechanism, for errors.
    pub name: &'static str,
    /// System calls of a round trip.
    pub calls: Calls,
    /// Maximum number of bytes under way, for a mechanism that loses messages and whose sender does not wait for the receiver.
    pub window: Option<usize>,
}

impl Mechanism {
    /// A reliable mechanism.
    pub const fn new(name: &'static str, calls: Calls) -> Self {
        Self { name, calls, window: None }
    }

    /// The error of a call: `Unsupported` if the message is longer than the system permits.
    fn failed(&self, what: &str, error: &io::Error) -> CaseError {
        let text = format!("{what} of {}", self.name);
        if is_message_too_long(error) {
            return CaseError::Unsupported(format!("{text}: {error}"));
        }
        CaseError::from_io(&text, error)
    }
}

/// The length of a message in bytes.
///
/// # Errors
/// `Unsupported` if it is 0.
pub fn message_of(params: &Params) -> Result<usize, CaseError> {
    at_least(1, params, MESSAGE.name, "a message has at least one byte")
}

/// The length of a block in bytes.
///
/// # Errors
/// `Unsupported` if the block is too short for its number.
pub fn block_of(params: &Params) -> Result<usize, CaseError> {
    at_least(NUMBER, params, BLOCK.name, &format!("a block has at least {NUMBER} bytes"))
}

/// The number of bytes that one call moves or copies.
///
/// # Errors
/// `Unsupported` if it is 0.
pub fn length_of(params: &Params) -> Result<usize, CaseError> {
    at_least(1, params, LENGTH.name, "at least one byte is moved")
}

/// The value of a parameter that is a number of bytes; `Unsupported` with the reason `why` if it is less than `least`.
fn at_least(least: usize, params: &Params, name: &str, why: &str) -> Result<usize, CaseError> {
    match size_of(params, name)? {
        short if short < least => Err(CaseError::Unsupported(why.into())),
        bytes => Ok(bytes),
    }
}

/// Bytes of which no two pages are equal.
pub fn contents(bytes: usize) -> Vec<u8> {
    let mut contents = vec![0; bytes];
    fill(&mut contents, 1);
    contents
}

/// An unnamed file with these [`contents`].
///
/// # Errors
/// Errors of creating or writing the file.
pub fn file_of(bytes: usize) -> Result<File, CaseError> {
    let mut file = crate::syscall::unnamed_file::open()?;
    file.write_all(&contents(bytes)).map_err(|e| CaseError::from_io("writing a file", &e))?;
    Ok(file)
}

/// Number of blocks of this length that one acknowledgement covers: 1 MiB, but at least 4 and at most 2,048 blocks; or the
/// mechanism's window, at most 128 blocks.
pub fn blocks_at_once(block: usize, mechanism: &Mechanism) -> usize {
    match mechanism.window {
        Some(window) => (window / block).clamp(1, 128),
        None => ((1 << 20) / block).clamp(4, 2048),
    }
}

/// Measures a round trip: a message and its reply of the same length.
///
/// # Errors
/// The error of a call that fails; an error if the reply differs from the message.
pub fn measure_round_trip<E: MessageEnd>(
    params: &Params,
    round: &mut Round,
    mechanism: Mechanism,
    ends: [E; 2],
) -> Result<(), CaseError> {
    let bytes = message_of(params)?;
    let tasks = Tasks::of(params, round)?;
    let are_two =
        mechanism.calls == Calls::Two || mechanism.calls == Calls::TwoForOneByte && bytes == 1;
    if are_two {
        round.expect_unix_calls(2.0);
    }
    let verifies = round.is_counting();
    let failed = |what: &str, e: &io::Error| mechanism.failed(what, e);
    let partner = |_, mut end: E| {
        let mut message = vec![0; bytes];
        loop {
            match end.receive(&mut message) {
                Err(error) if is_end(&error) => return Ok(()),
                received => received.map_err(|e| failed("the partner's receive", &e))?,
            }
            if message[0] == STOP {
                return Ok(());
            }
            end.send(&message).map_err(|e| failed("the partner's send", &e))?;
        }
    };
    let measure = |end: E| {
        let mut asking = Asking { end, message: vec![0; bytes], reply: vec![0; bytes], verifies };
        let mut go = || asking.ask(&failed);
        // The first round trip starts the partner, and fails here if this system lacks a call.
        go()?;
        let mut result = Ok(());
        let timed = tasks.time(round, || {
            if result.is_ok() {
                result = go();
            }
        });
        result.and(timed)
    };
    tasks.beside(ends.into(), partner, measure)
}

/// The measuring task of round trips. Stops its partner when dropped.
struct Asking<E: MessageEnd> {
    end: E,
    message: Vec<u8>,
    reply: Vec<u8>,
    verifies: bool,
}

impl<E: MessageEnd> Asking<E> {
    #[inline(always)]
    fn ask(&mut self, failed: &impl Fn(&str, &io::Error) -> CaseError) -> Result<(), CaseError> {
        let number = (self.message[0] + 1) % STOP;
        let last = self.message.len() - 1;
        if self.verifies {
            fill(&mut self.message, number.into());
            self.reply.fill(STOP);
        }
        (self.message[0], self.message[last]) = (number, number);
        self.end.send(&self.message).map_err(|e| failed("send", &e))?;
        self.end.receive(&mut self.reply).map_err(|e| failed("receive", &e))?;
        let same = self.reply[0] == number && self.reply[last] == number;
        let intact = same && (!self.verifies || self.reply == self.message);
        if intact { Ok(()) } else { Err(CaseError::Failed("the reply is not the message".into())) }
    }
}

impl<E: MessageEnd> Drop for Asking<E> {
    fn drop(&mut self) {
        self.message[0] = STOP;
        stop(&mut self.end, &self.message);
    }
}

/// Sends the message that ends the partner. If the message is too long to be sent, sends a shorter one, which ends the partner
/// too.
fn stop(end: &mut impl MessageEnd, message: &[u8]) {
    if end.send(message).is_err() && message.len() > 1 {
        let _ = end.send(&[STOP]);
    }
}

/// Measures blocks sent to a task that checks their numbers, and in the untimed pass all of their bytes. One operation is one
/// block.
///
/// # Errors
/// The error of a call that fails; an error if blocks arrive damaged or out of order.
pub fn measure_transfer<E: MessageEnd>(
    params: &Params,
    round: &mut Round,
    mechanism: Mechanism,
    ends: [E; 2],
) -> Result<(), CaseError> {
    let bytes = block_of(params)?;
    let tasks = Tasks::of(params, round)?;
    let blocks = blocks_at_once(bytes, &mechanism) as u64;
    round.operations_per_call(blocks);
    let verifies = round.is_counting();
    let failed = |what: &str, e: &io::Error| mechanism.failed(what, e);
    let partner = |_, mut end: E| {
        let mut receiving = Receiving { block: vec![0; bytes], verifies };
        while let Some(intact) =
            receiving.receive(&mut end, blocks).map_err(|e| failed("the partner's receive", &e))?
        {
            end.send(&[if intact { INTACT } else { DAMAGED }])
                .map_err(|e| failed("the partner's acknowledgement", &e))?;
        }
        Ok(())
    };
    let measure = |end: E| {
        let mut sending = Sending { end, block: vec![0; bytes], verifies };
        let mut go = || sending.send(blocks, &failed);
        go()?;
        let mut result = Ok(());
        let timed = tasks.time(round, || {
            if result.is_ok() {
                result = go();
            }
        });
        result.and(timed)
    };
    tasks.beside(ends.into(), partner, measure)?;
    report_bandwidth(round, bytes);
    Ok(())
}

/// Reports the bandwidth of operations that transfer `bytes` bytes each.
pub fn report_bandwidth(round: &mut Round, bytes: usize) {
    let rate = round.median_time().map(|time| bytes as f64 / time.get() * 1e9);
    round.metric(&BANDWIDTH, rate);
}

/// The task that receives blocks.
struct Receiving {
    block: Vec<u8>,
    verifies: bool,
}

impl Receiving {
    /// Receives `blocks` blocks. Returns whether they are the blocks that were sent; `None` if the sender has stopped.
    fn receive(&mut self, end: &mut impl MessageEnd, blocks: u64) -> io::Result<Option<bool>> {
        let mut intact = true;
        for due in 0..blocks {
            match end.receive(&mut self.block) {
                Err(error) if is_end(&error) => return Ok(None),
                received => received?,
            }
            let number = number_of(&self.block);
            if number == STOP_BLOCK {
                return Ok(None);
            }
            intact &= number == due && (!self.verifies || is_block(&self.block, due));
        }
        Ok(Some(intact))
    }
}

/// The task that sends blocks and is measured. Stops its partner when dropped.
struct Sending<E: MessageEnd> {
    end: E,
    block: Vec<u8>,
    verifies: bool,
}

impl<E: MessageEnd> Sending<E> {
    fn send(
        &mut self,
        blocks: u64,
        failed: &impl Fn(&str, &io::Error) -> CaseError,
    ) -> Result<(), CaseError> {
        for number in 0..blocks {
            if self.verifies {
                fill_block(&mut self.block, number);
            }
            self.block[..NUMBER].copy_from_slice(&number.to_le_bytes());
            self.end.send(&self.block).map_err(|e| failed("send", &e))?;
        }
        let mut reply = [0];
        self.end.receive(&mut reply).map_err(|e| failed("receive", &e))?;
        match reply[0] {
            INTACT => Ok(()),
            _ => Err(CaseError::Failed("blocks arrived damaged or out of order".into())),
        }
    }
}

impl<E: MessageEnd> Drop for Sending<E> {
    fn drop(&mut self) {
        self.block[..NUMBER].copy_from_slice(&STOP_BLOCK.to_le_bytes());
        stop(&mut self.end, &self.block);
    }
}

/// The number of a block.
pub fn number_of(block: &[u8]) -> u64 {
    block.first_chunk().map_or(STOP_BLOCK, |number| u64::from_le_bytes(*number))
}

/// Fills a block with its number and bytes that depend on it.
pub fn fill_block(block: &mut [u8], number: u64) {
    block[..NUMBER].copy_from_slice(&number.to_le_bytes());
    fill(&mut block[NUMBER..], number);
}

/// Whether the block has the contents that [`fill_block`] writes.
pub fn is_block(block: &[u8], number: u64) -> bool {
    let mut words = block[NUMBER..].chunks(8).enumerate();
    number_of(block) == number
        && words.all(|(at, bytes)| *bytes == word_of(at, number)[..bytes.len()])
}

/// Fills `bytes` with values that depend on their position and on `number`.
fn fill(bytes: &mut [u8], number: u64) {
    for (at, bytes) in bytes.chunks_mut(8).enumerate() {
        bytes.copy_from_slice(&word_of(at, number)[..bytes.len()]);
    }
}

/// Eight bytes at position `at`: multiples of odd numbers differ from each other.
fn word_of(at: usize, number: u64) -> [u8; 8] {
    let place = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (place ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03)).to_le_bytes()
}

/// Whether the error means that the other side has closed its end.
pub fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};

    matches!(error.kind(), UnexpectedEof | BrokenPipe | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_of_a_block_is_noticed() {
        let mut block = vec![0; 70_000];
        fill_block(&mut block, 7);
        assert!(is_block(&block, 7) && !is_block(&block, 8));
        for at in [0, 7, 8, 4_096, 69_999] {
            block[at] ^= 1;
            assert!(!is_block(&block, 7), "byte {at}");
            block[at] ^= 1;
        }
        // No two pages of the block are equal.
        assert_ne!(block[4_096..8_192], block[8_192..12_288]);
    }

    #[test]
    fn contents_differ_from_page_to_page() {
        let contents = contents(3 * 4_096 + 5);
        let pages: std::collections::BTreeSet<&[u8]> = contents.chunks(4_096).collect();
        assert_eq!(pages.len(), 4);
    }

    #[test]
    fn blocks_at_once_are_a_mebibyte_within_bounds() {
        let of = |window| Mechanism { window, ..Mechanism::new("x", Calls::Any) };
        let at_once = |block| blocks_at_once(block, &of(None));
        assert_eq!([64, 4_096, 65_536, 1 << 20].map(at_once), [2_048, 256, 16, 4]);
        let in_window = |block| blocks_at_once(block, &of(Some(65_536)));
        assert_eq!([64, 4_096, 32_768, 1 << 20].map(in_window), [128, 16, 2, 1]);
    }
}
