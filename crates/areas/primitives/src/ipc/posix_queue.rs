use std::fs::File;
use std::io;

use measure::CaseError;

use super::{
    BANDWIDTH, Calls, Mechanism, MessageEnd, block_of, measure_round_trip, measure_transfer,
    message_of, pipe, whole,
};
use crate::{Case, Only, only};

/// A message through a queue and back through another.
pub const ROUND_TRIP: Case = Case {
    name: "posix-queue",
    operation: "One round trip: a message sent to a POSIX message queue (mq_send), received by another task \
                (mq_receive), which sends it to a second queue, and received from there.",
    comparable_to: "lmbench has no such measurement; stress-ng's `mq` stressor counts messages.",
    only: Only::Linux("measured on Linux only; Windows has no message queues"),
    params: super::ROUND_TRIP,
    run: |params, round| {
        let bytes = message_of(params)?;
        measure_round_trip(params, round, MECHANISM, pair(bytes, bytes)?)
    },
    ..pipe::ROUND_TRIP
};

/// Blocks through a queue.
pub const TRANSFER: Case = Case {
    name: "posix-queue-bandwidth",
    operation: "One block as in ipc/pipe-bandwidth, as one message of a POSIX message queue that holds 8.",
    comparable_to: "lmbench has no such measurement; stress-ng's `mq` stressor counts messages.",
    params: super::TRANSFER_OF_QUEUE,
    metrics: &[BANDWIDTH],
    run: |params, round| measure_transfer(params, round, MECHANISM, pair(block_of(params)?, 1)?),
    ..ROUND_TRIP
};

const MECHANISM: Mechanism = Mechanism::new("a POSIX message queue", Calls::Two);

/// Descriptors of the queue to receive from and of the queue to send to: on Linux a message queue is a file descriptor.
struct QueueEnd(File, File);

impl MessageEnd for QueueEnd {
    #[inline(always)]
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if send(&self.1, bytes) == Ok(0) { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    #[inline(always)]
    fn receive(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let received = usize::try_from(receive(&self.0, bytes).unwrap_or(-1));
        whole(received.map_err(|_| io::Error::last_os_error())?, bytes)
    }
}

#[only(linux)]
#[inline(always)]
fn send(queue: &File, bytes: &[u8]) -> Result<i32, CaseError> {
    use std::os::fd::AsRawFd;

    // SAFETY: the descriptor is open; the pointer and length describe `bytes`.
    Ok(unsafe { libc::mq_send(queue.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) })
}

#[only(linux)]
#[inline(always)]
fn receive(queue: &File, bytes: &mut [u8]) -> Result<isize, CaseError> {
    use std::os::fd::AsRawFd;

    let (place, most, priority) = (bytes.as_mut_ptr(), bytes.len(), std::ptr::null_mut());
    // SAFETY: the descriptor is open; the pointer and length describe `bytes`; no priority is requested.
    Ok(unsafe { libc::mq_receive(queue.as_raw_fd(), place.cast(), most, priority) })
}

fn pair(there: usize, back: usize) -> Result<[QueueEnd; 2], CaseError> {
    let (first, second) = (queue(there)?, queue(back)?);
    let copy = |queue: &File| queue.try_clone().map_err(|e| CaseError::from_io("dup", &e));
    let (first_again, second_again) = (copy(&first)?, copy(&second)?);
    Ok([QueueEnd(second, first), QueueEnd(first_again, second_again)])
}

/// A queue for messages of at most this length, whose name is removed at once.
#[only(linux)]
fn queue(bytes: usize) -> Result<File, CaseError> {
    use std::ffi::CString;
    use std::os::fd::FromRawFd;

    /// Number of messages in a queue: within the default limits of 10 messages and 800 KiB.
    const MESSAGES: libc::c_long = 8;

    let recorded = platform::cleanup::Recorded::queue()?;
    let name = CString::new(recorded.name())
        .map_err(|e| CaseError::Failed(format!("the name of a queue: {e}")))?;
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    let mode: libc::mode_t = 0o600;
    // SAFETY: an all-zero mq_attr is valid; name and attributes outlive the calls; the descriptor is new, so it
    // has no other owner.
    unsafe {
        let mut attributes: libc::mq_attr = std::mem::zeroed();
        attributes.mq_maxmsg = MESSAGES;
        attributes.mq_msgsize = bytes as libc::c_long;
        let queue = libc::mq_open(name.as_ptr(), flags, mode, &raw mut attributes);
        if queue < 0 {
            let error = io::Error::last_os_error();
            return Err(match error.raw_os_error() {
                // A user who exceeds the limit of all queues gets the error number of a shortage of descriptors.
                Some(libc::EINVAL | libc::EMFILE) => CaseError::Unsupported(format!(
                    "a queue of {MESSAGES} messages of {bytes} bytes is beyond fs.mqueue.msgsize_max, \
                     fs.mqueue.msg_max or RLIMIT_MSGQUEUE"
                )),
                _ => CaseError::from_io("mq_open", &error),
            });
        }
        libc::mq_unlink(name.as_ptr());
        Ok(File::from_raw_fd(queue))
    }
}
