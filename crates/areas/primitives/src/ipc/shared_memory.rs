use std::io;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU8, AtomicU32};

use measure::{CaseError, Params};
use platform::memory::address_wait::{Sharing, wait_while, wake_one};
use platform::memory::shared::Shared;

use super::{
    BANDWIDTH, Calls, Mechanism, MessageEnd, block_of, measure_round_trip, measure_transfer,
    message_of, pipe, whole,
};
use crate::{Case, Only, value_of};

/// A message through a ring buffer and back through another.
pub const ROUND_TRIP: Case = Case {
    name: "shm-futex",
    operation: "One round trip: a message copied into a ring buffer of 4 slots in shared memory, and from there by another \
                task, which returns it through a second one; a task that finds no message sleeps at once (FUTEX_WAIT), \
                and a sleeping one is woken (FUTEX_WAKE).",
    comparable_to: "lmbench has no such measurement; switch/futex passes a token of one word.",
    only: Only::Linux("exists only on Linux; see ipc/shm-wait-on-address for Windows"),
    params: super::ROUND_TRIP,
    run: |params, round| {
        let ends = pair(params, message_of(params)?)?;
        measure_round_trip(params, round, MECHANISM, ends)
    },
    ..pipe::ROUND_TRIP
};

/// Blocks through a ring buffer.
pub const TRANSFER: Case = Case {
    name: "shm-futex-bandwidth",
    operation: "One block as in ipc/pipe-bandwidth, copied into a ring buffer of 4 slots in shared memory and out of it; a \
                task that finds it full or empty sleeps at once (FUTEX_WAIT), and a sleeping one is woken.",
    comparable_to: "lmbench has no such measurement: its `bw_mem` copies within one task.",
    only: Only::Linux("exists only on Linux; see ipc/shm-wait-on-address-bandwidth for Windows"),
    params: super::TRANSFER,
    metrics: &[BANDWIDTH],
    run: |params, round| {
        let ends = pair(params, block_of(params)?)?;
        measure_transfer(params, round, MECHANISM, ends)
    },
    ..ROUND_TRIP
};

/// A message through a ring buffer and back, on Windows.
pub const WAIT_ON_ADDRESS: Case = Case {
    name: "shm-wait-on-address",
    operation: "One round trip: a message copied into a ring buffer of 4 slots, and from there by another thread, which \
                returns it through a second one; a thread that finds no message sleeps at once (WaitOnAddress), and a \
                sleeping one is woken.",
    comparable_to: "The counterpart of ipc/shm-futex, but only between threads.",
    params: super::ROUND_TRIP_OF_THREADS,
    ..ROUND_TRIP.on_windows()
};

/// Blocks through a ring buffer, on Windows.
pub const WAIT_ON_ADDRESS_TRANSFER: Case = Case {
    name: "shm-wait-on-address-bandwidth",
    operation: "One block as in ipc/shm-futex-bandwidth, with WaitOnAddress between threads.",
    comparable_to: "The counterpart of ipc/shm-futex-bandwidth, but only between threads.",
    params: super::TRANSFER_OF_THREADS,
    ..TRANSFER.on_windows()
};

const MECHANISM: Mechanism = Mechanism::new("shared memory", Calls::Any);

/// Number of messages that a ring buffer holds.
const SLOTS: u32 = 4;

/// A ring buffer for one task that sends and one that receives. Counters wrap around, and are compared by difference.
struct Ring {
    /// Numbers of messages sent and received.
    sent: Counter,
    received: Counter,
    lengths: [AtomicU32; SLOTS as usize],
    /// Contents of the slots. Bytes are atomic because they change through a shared reference; they are copied as plain bytes,
    /// because the counters let only one task use a slot at a time.
    bytes: Shared<[AtomicU8]>,
    /// Length of a slot in bytes.
    slot: usize,
    sharing: Sharing,
}

/// A counter on its own cache line that one task increases, and that the other task may wait for.
#[repr(align(64))]
struct Counter {
    value: AtomicU32,
    awaited: AtomicU32,
}

impl Counter {
    const fn new() -> Self {
        Self { value: AtomicU32::new(0), awaited: AtomicU32::new(0) }
    }

    /// Adds 1, and wakes the task that waits for the counter.
    #[inline(always)]
    fn increase(&self, sharing: Sharing) -> io::Result<()> {
        self.value.fetch_add(1, SeqCst);
        // A task that waits sets `awaited` before it checks the value for the last time.
        if self.awaited.load(SeqCst) != 0 { wake_one(&self.value, sharing) } else { Ok(()) }
    }

    /// Sleeps until the counter differs from `value`.
    #[inline(always)]
    fn wait_while(&self, value: u32, sharing: Sharing) -> io::Result<()> {
        while self.value.load(SeqCst) == value {
            self.awaited.store(1, SeqCst);
            let waited = wait_while(&self.value, value, sharing);
            self.awaited.store(0, SeqCst);
            waited?;
        }
        Ok(())
    }
}

impl Ring {
    fn new(slot: usize, sharing: Sharing) -> Result<Shared<Self>, CaseError> {
        let bytes = Shared::list(slot * SLOTS as usize, || AtomicU8::new(0))?;
        Shared::new(Self {
            sent: Counter::new(),
            received: Counter::new(),
            lengths: [const { AtomicU32::new(0) }; SLOTS as usize],
            bytes,
            slot,
            sharing,
        })
    }

    /// Address of message `number`.
    #[inline(always)]
    fn slot(&self, number: u32) -> *mut u8 {
        let at = (number % SLOTS) as usize * self.slot;
        self.bytes[at..at + self.slot].as_ptr().cast::<u8>().cast_mut()
    }

    #[inline(always)]
    fn send(&self, message: &[u8]) -> io::Result<()> {
        assert!(message.len() <= self.slot, "it was made for shorter messages");
        let number = self.sent.value.load(Relaxed);
        // The ring is full while the message `SLOTS` before this one has not been received.
        self.received.wait_while(number.wrapping_sub(SLOTS), self.sharing)?;
        self.lengths[(number % SLOTS) as usize].store(message.len() as u32, Relaxed);
        // SAFETY: the slot has room for the message, and the receiver uses it only after `sent` is increased.
        unsafe {
            std::ptr::copy_nonoverlapping(message.as_ptr(), self.slot(number), message.len());
        }
        self.sent.increase(self.sharing)
    }

    #[inline(always)]
    fn receive(&self, message: &mut [u8]) -> io::Result<()> {
        let number = self.received.value.load(Relaxed);
        self.sent.wait_while(number, self.sharing)?;
        let length = self.lengths[(number % SLOTS) as usize].load(Relaxed) as usize;
        whole(length, message)?;
        // SAFETY: the slot has that many bytes, and the sender uses it again only after `received` is increased.
        unsafe {
            std::ptr::copy_nonoverlapping(self.slot(number), message.as_mut_ptr(), message.len());
        }
        self.received.increase(self.sharing)
    }
}

/// The ring buffer to receive from, and the one to send to.
struct RingEnd(Shared<Ring>, Shared<Ring>);

impl MessageEnd for RingEnd {
    #[inline(always)]
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.1.send(bytes)
    }

    #[inline(always)]
    fn receive(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.0.receive(bytes)
    }
}

fn pair(params: &Params, slot: usize) -> Result<[RingEnd; 2], CaseError> {
    let processes = value_of(params, "as")? == "processes";
    let sharing = if processes { Sharing::Processes } else { Sharing::Threads };
    let (there, back) = (Ring::new(slot, sharing)?, Ring::new(slot, sharing)?);
    Ok([RingEnd(back, there), RingEnd(there, back)])
}

#[cfg(all(test, any(target_os = "linux", windows)))]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_in_order_and_whole_while_both_tasks_run_ahead() {
        const MESSAGES: u32 = 20_000;
        let ring = Ring::new(8, Sharing::Threads).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0..MESSAGES {
                    let text = number.to_le_bytes().repeat(2);
                    ring.send(&text).unwrap();
                }
                ring.send(&[1]).unwrap();
            });
            for number in 0..MESSAGES {
                let mut message = [0; 8];
                ring.receive(&mut message).unwrap();
                assert_eq!(message[..], number.to_le_bytes().repeat(2));
            }
            let end = ring.receive(&mut [0; 8]).unwrap_err();
            assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        });
    }
}
