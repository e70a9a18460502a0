use std::io;

use measure::CaseError;

use super::{
    BANDWIDTH, Calls, Mechanism, MessageEnd, block_of, measure_round_trip, measure_transfer,
    message_of, pipe, whole,
};
use crate::{Case, Only, only};

/// A message through a queue, and back through the same queue as another type.
pub const ROUND_TRIP: Case = Case {
    name: "sysv-queue",
    operation: "One round trip: a message copied into a buffer with its type and sent to a System V message queue \
                (msgsnd), received by another task (msgrcv by type), which sends it back to the same queue with another \
                type.",
    comparable_to: "lmbench has no such measurement; stress-ng's `msg` stressor counts messages.",
    only: Only::Linux("measured on Linux only; Windows has no message queues"),
    params: super::ROUND_TRIP,
    run: |params, round| {
        let queue = make()?;
        measure_round_trip(params, round, MECHANISM, queue.ends(message_of(params)?))
    },
    ..pipe::ROUND_TRIP
};

/// Blocks through a queue.
pub const TRANSFER: Case = Case {
    name: "sysv-queue-bandwidth",
    operation: "One block as in ipc/pipe-bandwidth, copied into a buffer with its type, and sent as one message of a \
                System V message queue of default size.",
    comparable_to: "lmbench has no such measurement; stress-ng's `msg` stressor counts messages.",
    params: super::TRANSFER_OF_QUEUE,
    metrics: &[BANDWIDTH],
    run: |params, round| {
        let queue = make()?;
        measure_transfer(params, round, MECHANISM, queue.ends(block_of(params)?))
    },
    ..ROUND_TRIP
};

const MECHANISM: Mechanism = Mechanism::new("a System V message queue", Calls::Two);

/// Size of a message's type, which precedes the message.
const TYPE: usize = size_of::<std::ffi::c_long>();

/// A System V queue, removed when dropped.
struct Queue {
    id: i32,
    _recorded: platform::cleanup::Recorded,
}

impl Queue {
    /// Both ends, with buffers for messages of up to this length.
    fn ends(&self, bytes: usize) -> [MessageQueueEnd; 2] {
        [(1, 2), (2, 1)].map(|(own, other)| MessageQueueEnd {
            queue: self.id,
            own,
            other,
            // The buffer has whole words, so that the type is aligned.
            buffer: vec![0; bytes.div_ceil(TYPE) + 1],
        })
    }
}

#[allow(dead_code, reason = "read on Linux only")]
struct MessageQueueEnd {
    queue: i32,
    /// Type of the messages that this end receives, and of those that it sends.
    own: std::ffi::c_long,
    other: std::ffi::c_long,
    buffer: Vec<std::ffi::c_long>,
}

impl MessageEnd for MessageQueueEnd {
    #[inline(always)]
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer[0] = self.other;
        assert!(bytes.len() <= (self.buffer.len() - 1) * TYPE, "it was made for shorter messages");
        // SAFETY: the buffer has room for the bytes after its first word, as was checked.
        unsafe {
            let place = self.buffer.as_mut_ptr().add(1).cast::<u8>();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
        }
        // SAFETY: the buffer is a type and at least that many bytes.
        if unsafe { send(self.queue, &self.buffer, bytes.len()) } == Ok(0) {
            Ok(())
        } else {
            Err(send_error())
        }
    }

    #[inline(always)]
    fn receive(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        assert!(bytes.len() <= (self.buffer.len() - 1) * TYPE, "it was made for shorter messages");
        let most = bytes.len();
        // SAFETY: the buffer has room for a type and at least that many bytes.
        let received = unsafe { receive(self.queue, &mut self.buffer, most, self.own) };
        let received = usize::try_from(received.unwrap_or(-1));
        let received = received.map_err(|_| io::Error::last_os_error())?;
        whole(received, bytes)?;
        // SAFETY: the buffer has that many bytes after its first word, as was checked.
        unsafe {
            let place = self.buffer.as_ptr().add(1).cast::<u8>();
            std::ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), received);
        }
        Ok(())
    }
}

/// The error of msgsnd. EINVAL becomes "message too long", since only the length of the message can be invalid here.
#[cold]
fn send_error() -> io::Error {
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::InvalidInput { too_long().unwrap_or(error) } else { error }
}

#[only(unix)]
fn too_long() -> Result<io::Error, CaseError> {
    Ok(io::Error::from_raw_os_error(libc::EMSGSIZE))
}

#[only(linux)]
fn make() -> Result<Queue, CaseError> {
    let recorded = platform::cleanup::Recorded::message_queue()?;
    // SAFETY: makes a new queue; no memory is passed.
    let id = unsafe { libc::msgget(recorded.key(), libc::IPC_CREAT | libc::IPC_EXCL | 0o600) };
    if id < 0 {
        Err(CaseError::last_os_error("msgget"))
    } else {
        Ok(Queue { id, _recorded: recorded })
    }
}

/// # Safety
/// The message is a type and at least `length` bytes.
#[only(linux)]
#[inline(always)]
unsafe fn send(queue: i32, message: &[std::ffi::c_long], length: usize) -> Result<i32, CaseError> {
    // SAFETY: the caller's.
    Ok(unsafe { libc::msgsnd(queue, message.as_ptr().cast(), length, 0) })
}

/// # Safety
/// The buffer has room for a type and at least `most` bytes.
#[only(linux)]
#[inline(always)]
unsafe fn receive(
    queue: i32,
    buffer: &mut [std::ffi::c_long],
    most: usize,
    message_type: std::ffi::c_long,
) -> Result<isize, CaseError> {
    // SAFETY: the caller's.
    Ok(unsafe { libc::msgrcv(queue, buffer.as_mut_ptr().cast(), most, message_type, 0) })
}
