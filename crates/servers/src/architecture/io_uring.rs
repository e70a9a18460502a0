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

use io_uring::types::{BufRingEntry, DestinationSlot, Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use platform::limits::{descriptors, waiting_connections};

use serving::deadlines::Deadlines;

use crate::accepting::{Acceptor, BURST_AT_MOST};
use crate::exchange::{Exchange, Wants};
use crate::server::{Server, Terms};

/// Operations that may be queued at once.
const QUEUE: u32 = 1024;
/// Connections at most, whatever the limit of descriptors.
const CONNECTIONS_AT_MOST: u64 = 1 << 16;
/// The buffers that the kernel receives into.
const BUFFERS: u16 = 1024;
const BUFFER: usize = 2048;
const GROUP: u16 = 0;
/// While a client leaves so much of our replies unread, in bytes, nothing more is received from it.
const UNREAD_AT_MOST: usize = 64 * 1024;

/// What was done, in the upper half of the number that goes with an operation; the connection is in the lower.
const ACCEPTED: u64 = 0 << 32;
const RECEIVED: u64 = 1 << 32;
const SENT: u64 = 2 << 32;
const CLOSED: u64 = 3 << 32;
const CANCELLED: u64 = 4 << 32;
const WHAT: u64 = !(u32::MAX as u64);
/// In the place of the connection, what was asked for: one, or all to come.
const ONE: u64 = 0;
const ALL: u64 = 1;

pub fn serve(server: &Server) -> io::Result<()> {
    let mut acceptor = Acceptor::of_queue(server, &server.listeners[0]);
    let mut queue = Queue::new(server.terms)?;
    let mut accepting = Accepting::of(Fd(server.listeners[0].as_raw_fd()));
    let mut done = Vec::new();

    while !acceptor.is_closed() || queue.open > 0 {
        if acceptor.is_open() && queue.open >= queue.places {
            acceptor.pause(&io::Error::from_raw_os_error(libc::ENFILE));
        }
        accepting.ask(&mut queue, acceptor.is_open())?;
        queue.hand_over_and_wait(&acceptor)?;
        queue.tick(&mut acceptor)?;
        done.extend(queue.ring.completion().map(|e| (e.user_data(), e.result(), e.flags())));
        for (what, result, flags) in done.drain(..) {
            let number = (what & !WHAT) as usize;
            match what & WHAT {
                ACCEPTED => {
                    accepting.told(number, flags);
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

/// What the kernel was asked to accept.
struct Accepting {
    one: squeue::Entry,
    all: squeue::Entry,
    /// Requests for one connection that are under way.
    single: usize,
    /// A request for all connections to come is under way (multishot).
    is_all: bool,
    is_cancelled: bool,
    /// What the kernel accepts beyond the table's places it drops, and it may accept all that wait, twice, before it is
    /// told to stop: while so many places are free that cannot be.
    room_for_all: usize,
}

impl Accepting {
    fn of(listener: Fd) -> Self {
        let (nobody, no_length) = (std::ptr::null_mut(), std::ptr::null_mut());
        let one = opcode::Accept::new(listener, nobody, no_length)
            .file_index(Some(DestinationSlot::auto_target()))
            .build();
        let all = opcode::AcceptMulti::new(listener).allocate_file_index(true).build();
        // One more than may wait does.
        let waiting = waiting_connections().and_then(|all| usize::try_from(all + 1).ok());
        Self {
            one: one.user_data(ACCEPTED | ONE),
            all: all.user_data(ACCEPTED | ALL),
            single: 0,
            is_all: false,
            is_cancelled: false,
            room_for_all: waiting.map_or(usize::MAX, |waiting| 2 * waiting + BURST_AT_MOST),
        }
    }

    /// Asks for connections, if they are wanted, one by one where the table might become full.
    fn ask(&mut self, queue: &mut Queue, are_wanted: bool) -> io::Result<()> {
        let has_room = queue.places.saturating_sub(queue.open) > self.room_for_all;
        if self.is_all {
            if !(self.is_cancelled || are_wanted && has_room) {
                self.is_cancelled = true;
                queue.cancel(ACCEPTED | ALL)?;
            }
            return Ok(());
        }
        if are_wanted && has_room && self.single == 0 {
            (self.is_all, self.is_cancelled) = (true, false);
            return queue.push(std::slice::from_ref(&self.all));
        }
        while are_wanted
            && !has_room
            && self.single < BURST_AT_MOST
            && queue.open + self.single < queue.places
        {
            queue.push(std::slice::from_ref(&self.one))?;
            self.single += 1;
        }
        Ok(())
    }

    /// Takes note of what the kernel tells of a request.
    fn told(&mut self, which: usize, flags: u32) {
        if which as u64 == ALL {
            self.is_all = cqueue::more(flags);
        } else {
            self.single -= 1;
        }
    }
}

fn note_not_accepted(acceptor: &mut Acceptor, result: i32) -> io::Result<()> {
    match -result {
        libc::ENFILE | libc::EMFILE | libc::ENOMEM | libc::ENOBUFS => {
            acceptor.pause(&io::Error::from_raw_os_error(-result));
            Ok(())
        }
        libc::EINVAL if !acceptor.is_stopping() => Err(io::Error::other(
            "this kernel's io_uring cannot accept into a table: needs Linux 6.0",
        )),
        _ => Ok(()), // of one connection, or the listener listens no more
    }
}

/// Whether handing over ended early, and all can go on (io_uring_enter(2)).
fn is_passing(error: &io::Error) -> bool {
    let passing = [libc::ETIME, libc::EINTR, libc::EBUSY, libc::EAGAIN];
    error.raw_os_error().is_some_and(|code| passing.contains(&code))
}

/// The ring, and the connections in its table.
struct Queue {
    ring: IoUring,
    buffers: Buffers,
    terms: Terms,
    /// How many the table has.
    places: usize,
    /// The kernel uses one place after the other, though few are in use: those that are free are small.
    all: Vec<Option<Box<Connection>>>,
    open: usize,
    deadlines: Deadlines,
    now: Instant,
    /// The server stops, and nobody is given time beyond this.
    ends: Option<Instant>,
    /// Places taken again of which the kernel has not told yet that they were given back: it may tell in
    /// another order than it did it (before Linux 6.15).
    early: Vec<usize>,
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
            places: places as usize,
            all: Vec::new(),
            open: 0,
            deadlines: Deadlines::default(),
            now: Instant::now(),
            ends: None,
            early: Vec::new(),
        })
    }

    fn hand_over_and_wait(&mut self, acceptor: &Acceptor) -> io::Result<()> {
        let wakes_at = self.deadlines.next().into_iter().chain(acceptor.wakes_at()).min();
        let wait = wakes_at.map(|at| Timespec::from(at.saturating_duration_since(self.now)));
        let args = SubmitArgs::new();
        let args = wait.as_ref().map_or(args, |wait| args.timespec(wait));
        match self.ring.submitter().submit_with_args(1, &args) {
            Ok(_) => Ok(()),
            Err(e) if is_passing(&e) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Takes note of the time, once a turn; ends who has kept us waiting too long.
    fn tick(&mut self, acceptor: &mut Acceptor) -> io::Result<()> {
        self.now = Instant::now();
        acceptor.tick(self.now);
        if acceptor.is_stopping() && self.ends.is_none() {
            self.ends = Some(self.next_deadline());
            self.all.iter_mut().flatten().for_each(|one| one.exchange.finish_soon());
        }
        let all = &self.all;
        let until = |number: usize| {
            let connection = all[number].as_ref()?;
            let is_closing = connection.closing && connection.sending.is_none();
            (!connection.broken && !is_closing).then_some(connection.deadline)
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
            match self.ring.submit() {
                Err(e) if !is_passing(&e) => return Err(e),
                _ => {}
            }
        }
    }

    /// Until when a client has time that is to do something from now on.
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
        let mut exchange = Exchange::new(self.terms.protocol);
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
                    self.deadlines.add(number, connection.deadline);
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
        if connection.closing && connection.sending.is_none() {
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
            self.cancel(what | number as u64)?;
        }
        Ok(())
    }

    fn cancel(&mut self, what: u64) -> io::Result<()> {
        self.push(&[opcode::AsyncCancel::new(what).build().user_data(CANCELLED)])
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
                    connection.exchange.received(self.buffers.get(id, result as usize));
                    is_full = connection.receiving
                        && connection.exchange.to_send().len() > UNREAD_AT_MOST;
                    if !connection.exchange.is_in_request() {
                        connection.deadline = deadline;
                    }
                }
                (0, _) => connection.exchange.ended(),
                // All buffers were taken just then, or we were: asked for again.
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
        self.go_on(number)
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
        if let Some(at) = self.early.iter().position(|&early| early == number) {
            self.early.swap_remove(at);
            return self.begin(number);
        }
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
