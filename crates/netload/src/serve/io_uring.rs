//! One thread that queues what is to be done and takes in what was done: the kernel accepts, receives into
//! buffers that it picks itself, and sends; one call hands over and takes back as much as there is.
//! Connections have no descriptors but places in a table of the ring.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::borrow::Cow;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Instant;

use io_uring::types::{BufRingEntry, Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use platform::limits::descriptors;

use super::accepting::Acceptor;
use super::deadlines::Deadlines;
use super::exchange::{Exchange, Wants};
use super::{Server, Terms};

/// Operations that may be queued at once.
const QUEUE: u32 = 1024;
/// Connections at most, whatever the limit of descriptors.
const CONNECTIONS_AT_MOST: u64 = 1 << 16;
/// The buffers that the kernel receives into.
const BUFFERS: u16 = 1024;
const BUFFER: usize = 2048;
const GROUP: u16 = 0;
/// What a client may leave unread of our replies.
const UNREAD_AT_MOST: usize = 256 * 1024;

/// What was done, in the upper half of the number that goes with an operation; the connection is in the lower.
const ACCEPTED: u64 = 0 << 32;
const RECEIVED: u64 = 1 << 32;
const SENT: u64 = 2 << 32;
const CLOSED: u64 = 3 << 32;
const CANCELLED: u64 = 4 << 32;
const WHAT: u64 = !(u32::MAX as u64);

pub fn serve(server: &Server) -> io::Result<()> {
    let mut acceptor = Acceptor::of_queue(server, &server.listeners[0]);
    let mut queue = Queue::new(server.terms)?;
    let listener = Fd(server.listeners[0].as_raw_fd());
    let accept = opcode::AcceptMulti::new(listener).allocate_file_index(true).build();
    let mut accepting = false;
    let mut done = Vec::new();

    while !acceptor.is_closed() || queue.open > 0 {
        if !accepting && acceptor.is_open() {
            queue.push(&[accept.clone().user_data(ACCEPTED)])?;
            accepting = true;
        }
        queue.hand_over_and_wait(&acceptor)?;
        queue.tick(&mut acceptor)?;
        done.extend(queue.ring.completion().map(|e| (e.user_data(), e.result(), e.flags())));
        for (what, result, flags) in done.drain(..) {
            let number = (what & !WHAT) as usize;
            match what & WHAT {
                ACCEPTED => {
                    accepting = cqueue::more(flags);
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
                _ => {} // what was to be cancelled tells itself
            }
        }
    }
    Ok(())
}

fn note_not_accepted(acceptor: &mut Acceptor, result: i32) -> io::Result<()> {
    match -result {
        libc::ENFILE | libc::EMFILE | libc::ENOMEM | libc::ENOBUFS => {
            acceptor.pause(&io::Error::from_raw_os_error(-result));
            Ok(())
        }
        libc::EINVAL if !acceptor.is_stopping() => Err(io::Error::other(
            "this kernel's io_uring cannot accept one connection after another: needs Linux 6.0",
        )),
        _ => Ok(()), // of one connection, or the listener listens no more
    }
}

/// The ring, and the connections in its table.
struct Queue {
    ring: IoUring,
    buffers: Buffers,
    terms: Terms,
    all: Vec<Option<Connection>>,
    open: usize,
    deadlines: Deadlines,
    now: Instant,
    stopping: bool,
}

struct Connection {
    exchange: Exchange,
    /// What the kernel is sending; it must stay where it is meanwhile.
    sending: Option<Cow<'static, [u8]>>,
    /// The kernel has been asked to receive.
    receiving: bool,
    /// The kernel has been asked to close it.
    closing: bool,
    /// The client has gone or its time is up.
    broken: bool,
    deadline: Instant,
}

impl Queue {
    fn new(terms: Terms) -> io::Result<Self> {
        let with_one_thread = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(QUEUE * 8)
            .build(QUEUE);
        // Before Linux 6.1 there is only the plain way.
        let ring =
            with_one_thread.or_else(|_| IoUring::builder().setup_cqsize(QUEUE * 8).build(QUEUE))?;
        let places = descriptors().unwrap_or(1024).min(CONNECTIONS_AT_MOST) as u32;
        ring.submitter().register_files_sparse(places)?;
        let buffers = Buffers::new();
        // SAFETY: the entries stay where they are until after the ring is gone: fields are dropped in order.
        unsafe {
            let entries = buffers.entries.as_ptr() as u64;
            ring.submitter().register_buf_ring_with_flags(entries, BUFFERS, GROUP, 0)?;
        }
        Ok(Self {
            ring,
            buffers,
            terms,
            all: Vec::new(),
            open: 0,
            deadlines: Deadlines::default(),
            now: Instant::now(),
            stopping: false,
        })
    }

    fn hand_over_and_wait(&mut self, acceptor: &Acceptor) -> io::Result<()> {
        let wakes_at = self.deadlines.next().into_iter().chain(acceptor.wakes_at()).min();
        let wait = wakes_at.map(|at| Timespec::from(at.saturating_duration_since(self.now)));
        let args = SubmitArgs::new();
        let args = wait.as_ref().map_or(args, |wait| args.timespec(wait));
        match self.ring.submitter().submit_with_args(1, &args) {
            Ok(_) => Ok(()),
            Err(e) => match e.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(e),
            },
        }
    }

    /// Takes note of the time, once a turn; ends who has kept us waiting too long.
    fn tick(&mut self, acceptor: &mut Acceptor) -> io::Result<()> {
        self.now = Instant::now();
        acceptor.tick(self.now);
        if acceptor.is_stopping() && !self.stopping {
            self.stopping = true;
            self.all.iter_mut().flatten().for_each(|one| one.exchange.finish_soon());
        }
        let all = &self.all;
        let until = |number: usize| {
            let connection = all[number].as_ref()?;
            (!connection.broken && !connection.closing).then_some(connection.deadline)
        };
        let mut late = Vec::new();
        while let Some(number) = self.deadlines.due(self.now, until) {
            late.push(number);
        }
        for number in late {
            self.terms.note_timed_out();
            self.end(number)?;
        }
        Ok(())
    }

    /// Queues operations, which stay together.
    fn push(&mut self, operations: &[squeue::Entry]) -> io::Result<()> {
        loop {
            // SAFETY: what they point to, buffers and what is sent, stays in place until they are done.
            if unsafe { self.ring.submission().push_multiple(operations) }.is_ok() {
                return Ok(());
            }
            self.ring.submit()?;
        }
    }

    fn begin(&mut self, number: usize) -> io::Result<()> {
        if self.all.len() <= number {
            self.all.resize_with(number + 1, || None);
        }
        let mut exchange = Exchange::new(self.terms.protocol);
        if self.stopping {
            exchange.finish_soon();
        }
        let deadline = self.now + self.terms.timeout;
        self.all[number] = Some(Connection {
            exchange,
            sending: None,
            receiving: false,
            closing: false,
            broken: false,
            deadline,
        });
        self.open += 1;
        self.go_on(number)
    }

    /// Queues what the connection needs next.
    fn go_on(&mut self, number: usize) -> io::Result<()> {
        let Some(connection) = self.all.get_mut(number).and_then(Option::as_mut) else {
            return Ok(());
        };
        if connection.closing || connection.sending.is_some() {
            return Ok(());
        }
        let place = Fixed(number as u32);
        match connection.exchange.wants() {
            Wants::Close => return self.end(number),
            _ if connection.broken => return self.end(number),
            Wants::Read => {
                self.deadlines.add(number, connection.deadline);
                if !connection.receiving {
                    connection.receiving = true;
                    let receive = receive(place, self.terms);
                    return self.push(&[receive.user_data(RECEIVED | number as u64)]);
                }
            }
            Wants::Write => {
                let out = connection.sending.insert(connection.exchange.take_to_send());
                // All of it, or an error.
                let send = opcode::Send::new(place, out.as_ptr(), out.len() as u32)
                    .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
                    .build()
                    .user_data(SENT | number as u64);
                if connection.exchange.wants() == Wants::Close && !connection.receiving {
                    connection.closing = true;
                    let close = opcode::Close::new(place).build().user_data(CLOSED | number as u64);
                    return self.push(&[send.flags(squeue::Flags::IO_LINK), close]);
                }
                self.deadlines.add(number, connection.deadline);
                return self.push(&[send]);
            }
        }
        Ok(())
    }

    /// Closes a connection, once nothing is under way for it.
    fn end(&mut self, number: usize) -> io::Result<()> {
        let Some(connection) = self.all[number].as_mut() else { return Ok(()) };
        connection.broken = true;
        if connection.closing {
            return Ok(());
        }
        let under_way = [
            connection.receiving.then_some(RECEIVED),
            connection.sending.is_some().then_some(SENT),
        ];
        if under_way == [None, None] {
            connection.closing = true;
            let close = opcode::Close::new(Fixed(number as u32)).build();
            return self.push(&[close.user_data(CLOSED | number as u64)]);
        }
        for what in under_way.into_iter().flatten() {
            let cancel = opcode::AsyncCancel::new(what | number as u64).build();
            self.push(&[cancel.user_data(CANCELLED)])?;
        }
        Ok(())
    }

    fn received(&mut self, number: usize, result: i32, flags: u32) -> io::Result<()> {
        let buffer = cqueue::buffer_select(flags);
        let connection = self.all.get_mut(number).and_then(Option::as_mut);
        if let Some(connection) = connection {
            connection.receiving = cqueue::more(flags);
            match (result, buffer) {
                (1.., Some(id)) => {
                    connection.exchange.received(self.buffers.get(id, result as usize));
                    connection.broken |= connection.exchange.to_send().len() > UNREAD_AT_MOST;
                    if !connection.exchange.is_in_request() {
                        connection.deadline = self.now + self.terms.timeout;
                    }
                }
                (0, _) => connection.exchange.ended(),
                (result, _) if result == -libc::ENOBUFS => {} // all taken just then: asked for again
                _ => connection.broken = true,
            }
        }
        if let Some(id) = buffer {
            self.buffers.give_back(id);
        }
        self.go_on(number)
    }

    fn sent(&mut self, number: usize, result: i32) -> io::Result<()> {
        if let Some(connection) = self.all.get_mut(number).and_then(Option::as_mut) {
            let whole = connection.sending.take().is_some_and(|out| out.len() as i32 == result);
            connection.broken |= !whole;
        }
        self.go_on(number)
    }

    fn closed(&mut self, number: usize, result: i32) -> io::Result<()> {
        if result == -libc::ECANCELED {
            // What was to be sent before could not be.
            if let Some(connection) = self.all[number].as_mut() {
                connection.closing = false;
            }
            return self.end(number);
        }
        self.open -= usize::from(self.all[number].take().is_some());
        Ok(())
    }
}

/// Receives once where one request is all there is, else again and again until cancelled.
fn receive(place: Fixed, terms: Terms) -> squeue::Entry {
    if terms.protocol.requests == Some(1) {
        opcode::Recv::new(place, std::ptr::null_mut(), BUFFER as u32)
            .buf_group(GROUP)
            .build()
            .flags(squeue::Flags::BUFFER_SELECT)
    } else {
        opcode::RecvMulti::new(place, GROUP).build()
    }
}

/// Buffers that the kernel picks from, and the ring of entries through which it gets them back
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

    /// What the kernel has received into a buffer, which is ours until given back.
    fn get(&self, id: u16, length: usize) -> &[u8] {
        // SAFETY: the buffer is initialised, and the kernel has handed it to us.
        unsafe { std::slice::from_raw_parts(self.at(id), length.min(BUFFER)) }
    }

    fn give_back(&mut self, id: u16) {
        let address = self.at(id) as u64;
        let place = (self.tail % BUFFERS) as usize;
        // SAFETY: the entry lies within the ring, and the kernel does not look at it before the tail has
        // passed it. The first entry holds the tail, in a part that the setters leave alone.
        unsafe {
            let entry = &mut *self.entries.as_ptr().add(place);
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
        // SAFETY: allocated with these layouts; the ring, dropped before, knows them no more.
        unsafe {
            dealloc(self.entries.as_ptr().cast(), entries);
            dealloc(self.bytes.as_ptr(), bytes);
        }
    }
}
