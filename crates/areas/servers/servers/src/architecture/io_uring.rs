//! One thread that queues operations and processes completions: the kernel accepts, receives into buffers that it selects
//! itself, and sends. One call submits all queued operations and returns all completions. Connections have no descriptors
//! but slots in a table of the ring.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::borrow::Cow;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Instant;

use io_uring::types::{BufRingEntry, DestinationSlot, Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, cqueue, opcode, squeue};
use platform::CaseError;
use platform::process::limits::{descriptors, waiting_connections};
use platform::uring::error_of;
use serving::{Acceptor, BURST_AT_MOST, Deadlines};

use crate::exchange::{Exchange, Wants};
use crate::server::{Server, Terms};

/// Length of the submission queue.
const QUEUE: u32 = 1024;
/// Maximum number of connections, if the limit of descriptors is higher.
const CONNECTIONS_AT_MOST: u64 = 1 << 16;
/// Number of buffers that the kernel receives into.
const BUFFERS: u16 = 1024;
const BUFFER: usize = 2048;
const GROUP: u16 = 0;
/// Size of unread replies, in bytes, from which on nothing more is received from a client.
const UNREAD_AT_MOST: usize = 64 * 1024;

/// The kind of an operation, in the upper half of its number; the connection is in the lower half.
const ACCEPTED: u64 = 0 << 32;
const RECEIVED: u64 = 1 << 32;
const SENT: u64 = 2 << 32;
const CLOSED: u64 = 3 << 32;
const CANCELLED: u64 = 4 << 32;
const KIND: u64 = !(u32::MAX as u64);
/// The kind of accept operation, in place of the connection: single, or multishot.
const SINGLE: u64 = 0;
const MULTISHOT: u64 = 1;

/// Checks whether this process may have a ring, by an operation on one like the server's.
pub fn check() -> Result<(), CaseError> {
    let (mut ring, _buffers, _) = new_ring()?;
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe).map_err(|e| error_of("io_uring_register", &e))?;
    // This operation is as new as accepting into a table and receiving more than once.
    if !probe.is_supported(opcode::SendZc::CODE) {
        return Err(CaseError::Unsupported(TOO_OLD.to_owned()));
    }
    // SAFETY: the operation has no pointers.
    let pushed = unsafe { ring.submission().push(&opcode::Nop::new().build()) };
    pushed.map_err(|_| CaseError::Failed("an empty ring is full".to_owned()))?;
    ring.submit_and_wait(1).map(drop).map_err(|e| error_of("io_uring_enter", &e))
}

const TOO_OLD: &str =
    "this kernel's io_uring cannot accept into a table and receive more than once: needs Linux 6.0";

/// A ring with buffers and a table for connections, and the size of the table.
fn new_ring() -> Result<(IoUring, Buffers, u32), CaseError> {
    let with_one_thread = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_cqsize(QUEUE * 8)
        .build(QUEUE);
    // Linux before 6.1 does not have these flags.
    let ring = with_one_thread.or_else(|_| IoUring::builder().setup_cqsize(QUEUE * 8).build(QUEUE));
    let ring = ring.map_err(|e| error_of("io_uring_setup", &e))?;
    let capacity = descriptors().unwrap_or(1024).min(CONNECTIONS_AT_MOST) as u32;
    let old = |e: io::Error| match e.raw_os_error() {
        Some(libc::EINVAL) => CaseError::Unsupported(TOO_OLD.to_owned()),
        _ => error_of("io_uring_register", &e),
    };
    ring.submitter().register_files_sparse(capacity).map_err(old)?;
    let buffers = Buffers::new();
    let entries = buffers.entries.as_ptr() as u64;
    // SAFETY: the entries stay in place until after the ring is dropped, which comes first in the tuple.
    let registered =
        unsafe { ring.submitter().register_buf_ring_with_flags(entries, BUFFERS, GROUP, 0) };
    registered.map_err(old)?;
    Ok((ring, buffers, capacity))
}

pub fn serve(server: &Server) -> io::Result<()> {
    let mut acceptor = Acceptor::without_accept(server.terms.accepting(), &server.listeners);
    let mut queue = Queue::new(server.terms.clone())?;
    let mut accepting = Accepting::of(Fd(server.listeners[0].as_raw_fd()));
    let mut done = Vec::new();

    while !acceptor.is_closed() || queue.open > 0 {
        if acceptor.is_open() && queue.open >= queue.capacity {
            acceptor.pause(&io::Error::from_raw_os_error(libc::ENFILE));
        }
        accepting.request(&mut queue, acceptor.is_open())?;
        queue.submit_and_wait(&acceptor)?;
        queue.tick(&mut acceptor)?;
        done.extend(queue.ring.completion().map(|e| (e.user_data(), e.result(), e.flags())));
        for (id, result, flags) in done.drain(..) {
            let number = (id & !KIND) as usize;
            match id & KIND {
                ACCEPTED => {
                    accepting.completed(number, flags);
                    match result {
                        0.. => queue.begin(result as usize)?,
                        _ => note_not_accepted(&mut acceptor, result)?,
                    }
                }
                RECEIVED => queue.received(number, result, flags)?,
                SENT => queue.sent(number, result)?,
                CLOSED => {
                    queue.closed(number, result)?;
                    acceptor.resume();
                }
                _ => {} // the cancelled operation has its own completion
            }
        }
    }
    Ok(())
}

/// The accept operations.
struct Accepting {
    single: squeue::Entry,
    multishot: squeue::Entry,
    /// Number of single operations in progress.
    singles: usize,
    /// Whether a multishot operation is in progress.
    is_multishot: bool,
    is_cancelled: bool,
    /// Number of free slots needed for a multishot operation: the kernel drops connections that it accepts when the table
    /// is full, and may accept the whole queue twice before the operation is cancelled.
    slots_for_multishot: usize,
}

impl Accepting {
    fn of(listener: Fd) -> Self {
        let (no_address, no_length) = (std::ptr::null_mut(), std::ptr::null_mut());
        let single = opcode::Accept::new(listener, no_address, no_length)
            .file_index(Some(DestinationSlot::auto_target()))
            .build();
        let multishot = opcode::AcceptMulti::new(listener).allocate_file_index(true).build();
        // The accept queue holds one more than its length.
        let waiting = waiting_connections().and_then(|length| usize::try_from(length + 1).ok());
        Self {
            single: single.user_data(ACCEPTED | SINGLE),
            multishot: multishot.user_data(ACCEPTED | MULTISHOT),
            singles: 0,
            is_multishot: false,
            is_cancelled: false,
            slots_for_multishot: waiting.map_or(usize::MAX, |waiting| 2 * waiting + BURST_AT_MOST),
        }
    }

    /// Submits accept operations if connections are wanted; single operations if the table might become full.
    fn request(&mut self, queue: &mut Queue, are_wanted: bool) -> io::Result<()> {
        let has_room = queue.capacity.saturating_sub(queue.open) > self.slots_for_multishot;
        if self.is_multishot {
            if !(self.is_cancelled || are_wanted && has_room) {
                self.is_cancelled = true;
                queue.cancel(ACCEPTED | MULTISHOT)?;
            }
            return Ok(());
        }
        if are_wanted && has_room && self.singles == 0 {
            (self.is_multishot, self.is_cancelled) = (true, false);
            return queue.push(std::slice::from_ref(&self.multishot));
        }
        while are_wanted
            && !has_room
            && self.singles < BURST_AT_MOST
            && queue.open + self.singles < queue.capacity
        {
            queue.push(std::slice::from_ref(&self.single))?;
            self.singles += 1;
        }
        Ok(())
    }

    /// Processes the completion of an operation.
    fn completed(&mut self, which: usize, flags: u32) {
        if which as u64 == MULTISHOT {
            self.is_multishot = cqueue::more(flags);
        } else {
            self.singles -= 1;
        }
    }
}

fn note_not_accepted(acceptor: &mut Acceptor, result: i32) -> io::Result<()> {
    match -result {
        libc::ENFILE | libc::EMFILE | libc::ENOMEM | libc::ENOBUFS => {
            acceptor.pause(&io::Error::from_raw_os_error(-result));
            Ok(())
        }
        libc::EINVAL if !acceptor.is_stopping() => Err(io::Error::other(TOO_OLD)),
        _ => Ok(()), // the error concerns one connection, or the listener was shut down
    }
}

/// Whether submitting ended early and can be repeated (io_uring_enter(2)).
fn is_transient(error: &io::Error) -> bool {
    let transient = [libc::ETIME, libc::EINTR, libc::EBUSY, libc::EAGAIN];
    error.raw_os_error().is_some_and(|code| transient.contains(&code))
}

/// The ring, and the connections in its table.
struct Queue {
    ring: IoUring,
    buffers: Buffers,
    terms: Terms,
    /// Size of the table.
    capacity: usize,
    /// The connections by slot. They are boxed so that free slots are small: the kernel uses all slots in turn, even if few
    /// are in use.
    all: Vec<Option<Box<Connection>>>,
    open: usize,
    deadlines: Deadlines,
    now: Instant,
    /// The latest deadline, when the server stops.
    ends: Option<Instant>,
    /// Slots that were reused before the completion of their close: before Linux 6.15, completions may be out of order.
    early: Vec<usize>,
}

struct Connection {
    exchange: Exchange,
    /// The bytes that the kernel is sending, which must not be moved meanwhile.
    sending: Option<Cow<'static, [u8]>>,
    /// Whether a receive operation is in progress.
    receiving: bool,
    /// Whether a close operation is in progress.
    closing: bool,
    /// Whether the client has closed or timed out.
    broken: bool,
    deadline: Instant,
}

impl Queue {
    fn new(terms: Terms) -> io::Result<Self> {
        // The fields are dropped in order, so that the entries stay in place until after the ring.
        let (ring, buffers, capacity) = new_ring().map_err(io::Error::other)?;
        Ok(Self {
            ring,
            buffers,
            terms,
            capacity: capacity as usize,
            all: Vec::new(),
            open: 0,
            deadlines: Deadlines::default(),
            now: Instant::now(),
            ends: None,
            early: Vec::new(),
        })
    }

    fn submit_and_wait(&mut self, acceptor: &Acceptor) -> io::Result<()> {
        let wakes_at = self.deadlines.next().into_iter().chain(acceptor.wakes_at()).min();
        let wait = wakes_at.map(|at| Timespec::from(at.saturating_duration_since(self.now)));
        let args = SubmitArgs::new();
        let args = wait.as_ref().map_or(args, |wait| args.timespec(wait));
        match self.ring.submitter().submit_with_args(1, &args) {
            Ok(_) => Ok(()),
            Err(e) if is_transient(&e) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Begins an iteration, in which it must be called: closes connections that have timed out, and has all of them end
    /// soon when the server stops.
    fn tick(&mut self, acceptor: &mut Acceptor) -> io::Result<()> {
        self.now = Instant::now();
        acceptor.tick(self.now);
        if acceptor.is_stopping() && self.ends.is_none() {
            self.ends = Some(self.next_deadline());
            self.all.iter_mut().flatten().for_each(|one| one.exchange.finish_soon());
        }
        let all = &self.all;
        let deadline_of = |number: usize| {
            let connection = all[number].as_ref()?;
            let is_closing = connection.closing && connection.sending.is_none();
            (!connection.broken && !is_closing).then_some(connection.deadline)
        };
        for number in self.deadlines.expired(self.now, deadline_of) {
            self.terms.note_timed_out();
            self.end(number)?;
        }
        Ok(())
    }

    /// Queues operations together.
    fn push(&mut self, operations: &[squeue::Entry]) -> io::Result<()> {
        loop {
            // SAFETY: the buffers that they point to stay in place until the operations are complete.
            if unsafe { self.ring.submission().push_multiple(operations) }.is_ok() {
                return Ok(());
            }
            match self.ring.submit() {
                Err(e) if !is_transient(&e) => return Err(e),
                _ => {}
            }
        }
    }

    /// The deadline for a client that is active now.
    fn next_deadline(&self) -> Instant {
        self.ends.unwrap_or(self.now + self.terms.timeout)
    }

    fn begin(&mut self, number: usize) -> io::Result<()> {
        if self.all.len() <= number {
            self.all.resize_with(number + 1, || None);
        }
        if self.all[number].is_some() {
            self.early.push(number);
            return Ok(());
        }
        let mut exchange = Exchange::new(self.terms.protocol, &|| self.terms.work());
        if self.ends.is_some() {
            exchange.finish_soon();
        }
        let deadline = self.next_deadline();
        self.all[number] = Some(Box::new(Connection {
            exchange,
            sending: None,
            receiving: false,
            closing: false,
            broken: false,
            deadline,
        }));
        self.open += 1;
        self.proceed(number)?;
        self.submit_reply()
    }

    /// Submits a reply at once if there is work for each request; otherwise the reply would wait for the work of all
    /// requests whose completions were fetched together.
    fn submit_reply(&mut self) -> io::Result<()> {
        if self.terms.task.is_none() {
            return Ok(());
        }
        match self.ring.submit() {
            Err(e) if !is_transient(&e) => Err(e),
            _ => Ok(()),
        }
    }

    /// Queues the next operation of a connection.
    fn proceed(&mut self, number: usize) -> io::Result<()> {
        let Some(connection) = self.all.get_mut(number).and_then(Option::as_mut) else {
            return Ok(());
        };
        if connection.closing || connection.sending.is_some() {
            return Ok(());
        }
        let slot = Fixed(number as u32);
        match connection.exchange.wants() {
            Wants::Close => return self.end(number),
            _ if connection.broken => return self.end(number),
            Wants::Read => {
                self.deadlines.add(number, connection.deadline);
                if !connection.receiving {
                    connection.receiving = true;
                    let receive = receive(slot, &self.terms);
                    return self.push(&[receive.user_data(RECEIVED | number as u64)]);
                }
            }
            Wants::Shut => {
                connection.exchange.was_shut();
                self.deadlines.add(number, connection.deadline);
                // It completes like a send of no bytes, and nothing else is started before.
                connection.sending = Some(Cow::Borrowed(&[]));
                let shut = opcode::Shutdown::new(slot, libc::SHUT_WR).build();
                return self.push(&[shut.user_data(SENT | number as u64)]);
            }
            Wants::Write => {
                let out = connection.sending.insert(connection.exchange.take_to_send());
                // The flag makes the kernel send all bytes, or fail.
                let send = opcode::Send::new(slot, out.as_ptr(), out.len() as u32)
                    .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
                    .build()
                    .user_data(SENT | number as u64);
                if connection.exchange.wants() == Wants::Close && !connection.receiving {
                    connection.closing = true;
                    self.deadlines.add(number, connection.deadline);
                    let close = opcode::Close::new(slot).build().user_data(CLOSED | number as u64);
                    return self.push(&[send.flags(squeue::Flags::IO_LINK), close]);
                }
                self.deadlines.add(number, connection.deadline);
                return self.push(&[send]);
            }
        }
        Ok(())
    }

    /// Closes a connection when no operation is in progress for it.
    fn end(&mut self, number: usize) -> io::Result<()> {
        let Some(connection) = self.all[number].as_mut() else { return Ok(()) };
        connection.broken = true;
        if connection.closing && connection.sending.is_none() {
            return Ok(());
        }
        let in_progress = [
            connection.receiving.then_some(RECEIVED),
            connection.sending.is_some().then_some(SENT),
        ];
        if in_progress == [None, None] {
            connection.closing = true;
            let close = opcode::Close::new(Fixed(number as u32)).build();
            return self.push(&[close.user_data(CLOSED | number as u64)]);
        }
        for kind in in_progress.into_iter().flatten() {
            self.cancel(kind | number as u64)?;
        }
        Ok(())
    }

    fn cancel(&mut self, id: u64) -> io::Result<()> {
        self.push(&[opcode::AsyncCancel::new(id).build().user_data(CANCELLED)])
    }

    fn received(&mut self, number: usize, result: i32, flags: u32) -> io::Result<()> {
        let buffer = cqueue::buffer_select(flags);
        let mut is_full = false;
        let deadline = self.next_deadline();
        let connection = self.all.get_mut(number).and_then(Option::as_mut);
        if let Some(connection) = connection {
            connection.receiving = cqueue::more(flags);
            match (result, buffer) {
                (1.., Some(id)) => {
                    let bytes = self.buffers.get(id, result as usize);
                    connection.exchange.received(bytes, &|| self.terms.work());
                    is_full = connection.receiving
                        && connection.exchange.to_send().len() > UNREAD_AT_MOST;
                    // While a reply is sent, its end is what gives the client more time.
                    if !connection.exchange.is_in_request() && connection.sending.is_none() {
                        connection.deadline = deadline;
                    }
                }
                (0, _) => connection.exchange.ended(),
                // The operation is repeated: there was no free buffer, or it was cancelled.
                (result, _) if [-libc::ENOBUFS, -libc::ECANCELED].contains(&result) => {}
                _ => connection.broken = true,
            }
        }
        if let Some(id) = buffer {
            self.buffers.give_back(id);
        }
        if is_full {
            self.cancel(RECEIVED | number as u64)?;
        }
        self.proceed(number)?;
        self.submit_reply()
    }

    fn sent(&mut self, number: usize, result: i32) -> io::Result<()> {
        let deadline = self.next_deadline();
        if let Some(connection) = self.all.get_mut(number).and_then(Option::as_mut) {
            let whole = connection.sending.take().is_some_and(|out| out.len() as i32 == result);
            connection.broken |= !whole;
            if !connection.exchange.is_in_request() {
                connection.deadline = deadline;
            }
        }
        self.proceed(number)
    }

    fn closed(&mut self, number: usize, result: i32) -> io::Result<()> {
        if result == -libc::ECANCELED {
            // The linked send before this operation failed.
            if let Some(connection) = self.all[number].as_mut() {
                connection.closing = false;
            }
            return self.end(number);
        }
        self.open -= usize::from(self.all[number].take().is_some());
        if let Some(at) = self.early.iter().position(|&early| early == number) {
            self.early.swap_remove(at);
            return self.begin(number);
        }
        Ok(())
    }
}

/// A receive operation: single if a connection has only one request, else until cancelled.
fn receive(slot: Fixed, terms: &Terms) -> squeue::Entry {
    if terms.protocol.requests == Some(1) {
        opcode::Recv::new(slot, std::ptr::null_mut(), BUFFER as u32)
            .buf_group(GROUP)
            .build()
            .flags(squeue::Flags::BUFFER_SELECT)
    } else {
        opcode::RecvMulti::new(slot, GROUP).build()
    }
}

/// Buffers that the kernel selects from, and the ring of entries through which they are returned to it
/// (io_uring_register_buf_ring(3)).
struct Buffers {
    entries: NonNull<BufRingEntry>,
    bytes: NonNull<u8>,
    tail: u16,
}

impl Buffers {
    const PAGE: usize = 4096;

    fn layouts() -> [Layout; 2] {
        let of = |bytes| Layout::from_size_align(bytes, Self::PAGE).expect("small and aligned");
        [of(BUFFERS as usize * size_of::<BufRingEntry>()), of(BUFFERS as usize * BUFFER)]
    }

    fn new() -> Self {
        let [entries, bytes] = Self::layouts().map(|layout| {
            // SAFETY: the layout is not empty.
            NonNull::new(unsafe { alloc_zeroed(layout) })
                .unwrap_or_else(|| handle_alloc_error(layout))
        });
        let mut all = Self { entries: entries.cast(), bytes, tail: 0 };
        (0..BUFFERS).for_each(|id| all.give_back(id));
        all
    }

    fn at(&self, id: u16) -> *mut u8 {
        assert!(id < BUFFERS);
        // SAFETY: within the block of all buffers.
        unsafe { self.bytes.as_ptr().add(id as usize * BUFFER) }
    }

    /// The bytes that the kernel has received into a buffer, which it does not use until [`Buffers::give_back`].
    fn get(&self, id: u16, length: usize) -> &[u8] {
        // SAFETY: the buffer is initialised, and the kernel does not write to it any more.
        unsafe { std::slice::from_raw_parts(self.at(id), length.min(BUFFER)) }
    }

    fn give_back(&mut self, id: u16) {
        let address = self.at(id) as u64;
        let index = (self.tail % BUFFERS) as usize;
        // SAFETY: the entry lies within the ring, and the kernel does not read it before the tail has
        // passed it. The first entry contains the tail, in a part that the setters do not write.
        unsafe {
            let entry = &mut *self.entries.as_ptr().add(index);
            entry.set_addr(address);
            entry.set_len(BUFFER as u32);
            entry.set_bid(id);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(self.entries.as_ptr()).cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        let [entries, bytes] = Self::layouts();
        // SAFETY: allocated with these layouts; the ring, which used them, was dropped before.
        unsafe {
            dealloc(self.entries.as_ptr().cast(), entries);
            dealloc(self.bytes.as_ptr(), bytes);
        }
    }
}
