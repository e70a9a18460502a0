//! One thread, and a port where the kernel tells what was done: accepting, receiving and sending are begun,
//! and are over some time later. What they need stays in place meanwhile. Sockets for connections to come
//! are made beforehand.

use std::borrow::Cow;
use std::io;
use std::net::TcpListener;
use std::os::windows::io::{AsRawHandle, AsRawSocket, FromRawHandle, OwnedHandle};
use std::ptr::{NonNull, null, null_mut};
use std::time::{Duration, Instant};

use platform::socket_io::is_shortage;
use socket2::{Domain, Protocol, Socket, Type};
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE, WAIT_TIMEOUT};
use windows_sys::Win32::Networking::WinSock::{
    LPFN_ACCEPTEX, SIO_GET_EXTENSION_FUNCTION_POINTER, SO_UPDATE_ACCEPT_CONTEXT, SOCKADDR_STORAGE,
    SOCKET, SOL_SOCKET, WSA_IO_PENDING, WSABUF, WSAGetLastError, WSAID_ACCEPTEX, WSAIoctl, WSARecv,
    WSASend, setsockopt,
};
use windows_sys::Win32::System::IO::{
    CancelIoEx, CreateIoCompletionPort, GetQueuedCompletionStatusEx, OVERLAPPED, OVERLAPPED_ENTRY,
};
use windows_sys::Win32::System::Threading::INFINITE;

use serving::deadlines::Deadlines;

use crate::accepting::{Acceptor, is_of_one_connection};
use crate::exchange::{Exchange, Wants};
use crate::server::{Server, Terms};

/// Connections accepted while the loop does something else; more wait in the backlog.
const ACCEPTS: usize = 64;
/// Completions taken in one turn.
const COMPLETIONS: usize = 256;
/// How much is received at once.
const RECEIVE_AT_ONCE: usize = 4 * 1024;
/// The number of the listener among those of connections.
const LISTENER: usize = usize::MAX;

pub fn serve(server: &Server) -> io::Result<()> {
    let listener = &server.listeners[0];
    let mut acceptor = Acceptor::of_queue(server, listener);
    let mut accepts = Accepts::new(listener)?;
    let mut queue = Queue::new(server.terms)?;
    queue.port.watch(listener, LISTENER)?;
    let mut done = Vec::with_capacity(COMPLETIONS);

    while !acceptor.is_closed() || accepts.under_way() || queue.open > 0 {
        if acceptor.is_open() {
            accepts.start(&mut acceptor)?;
        } else if acceptor.is_closed() {
            accepts.cancel();
        }
        queue.wait(&acceptor, &mut done)?;
        queue.tick(&mut acceptor);
        for one in done.drain(..) {
            match one.lpCompletionKey {
                LISTENER => {
                    if let Some(socket) = accepts.done(&one) {
                        queue.begin(socket);
                    }
                }
                number => {
                    if queue.done(number, &one) == Then::Gone {
                        acceptor.resume();
                    }
                }
            }
        }
    }
    Ok(())
}

/// The port, and the connections.
struct Queue {
    port: Port,
    terms: Terms,
    all: Vec<Option<Connection>>,
    free: Vec<usize>,
    open: usize,
    deadlines: Deadlines,
    now: Instant,
    stopping: bool,
}

/// A connection: between two turns of the loop it always waits for one operation.
struct Connection {
    socket: Socket,
    exchange: Exchange,
    operation: Operation<Buffers>,
    /// The client has gone or its time is up.
    broken: bool,
    deadline: Instant,
}

/// What goes in and out.
#[derive(Default)]
struct Buffers {
    /// What the kernel is sending; nothing while it receives.
    sending: Cow<'static, [u8]>,
    received: Vec<u8>,
}

/// What became of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Waits,
    Gone,
}

impl Queue {
    fn new(terms: Terms) -> io::Result<Self> {
        Ok(Self {
            port: Port::new()?,
            terms,
            all: Vec::new(),
            free: Vec::new(),
            open: 0,
            deadlines: Deadlines::default(),
            now: Instant::now(),
            stopping: false,
        })
    }

    fn wait(&self, acceptor: &Acceptor, done: &mut Vec<OVERLAPPED_ENTRY>) -> io::Result<()> {
        let wakes_at = self.deadlines.next().into_iter().chain(acceptor.wakes_at()).min();
        self.port.wait(wakes_at.map(|at| at.saturating_duration_since(self.now)), done)
    }

    /// Takes note of the time, once a turn; ends who has kept us waiting too long.
    fn tick(&mut self, acceptor: &mut Acceptor) {
        self.now = Instant::now();
        acceptor.tick(self.now);
        if acceptor.is_stopping() && !self.stopping {
            self.stopping = true;
            self.all.iter_mut().flatten().for_each(|one| one.exchange.finish_soon());
        }
        let all = &self.all;
        let until = |number: usize| {
            let connection = all[number].as_ref()?;
            (!connection.broken).then_some(connection.deadline)
        };
        let mut late = Vec::new();
        while let Some(number) = self.deadlines.due(self.now, until) {
            late.push(number);
        }
        for number in late {
            self.terms.note_timed_out();
            if let Some(connection) = &mut self.all[number] {
                connection.broken = true;
                cancel(&connection.socket); // what was under way tells itself, and then it is closed
            }
        }
    }

    fn begin(&mut self, socket: Socket) {
        let number = self.free.pop().unwrap_or(self.all.len());
        if number == self.all.len() {
            self.all.push(None);
        }
        let mut exchange = Exchange::new(self.terms.protocol);
        if self.stopping {
            exchange.finish_soon();
        }
        // Where it cannot be watched, it is closed; the client sees that.
        let broken = self.port.watch(&socket, number).is_err();
        let operation = Operation::new(Buffers::default());
        let deadline = self.now + self.terms.timeout;
        self.all[number] = Some(Connection { socket, exchange, operation, broken, deadline });
        self.open += 1;
        self.go_on(number);
    }

    /// Begins what the connection needs next, or closes it.
    fn go_on(&mut self, number: usize) -> Then {
        let Some(connection) = self.all.get_mut(number).and_then(Option::as_mut) else {
            return Then::Waits;
        };
        let begun = match connection.exchange.wants() {
            _ if connection.broken => false,
            Wants::Close => false,
            Wants::Read => self.terms.note_whether(connection.receive()),
            Wants::Write => self.terms.note_whether(connection.send()),
        };
        if begun {
            self.deadlines.add(number, connection.deadline);
            return Then::Waits;
        }
        self.all[number] = None;
        self.free.push(number);
        self.open -= 1;
        Then::Gone
    }

    fn done(&mut self, number: usize, completion: &OVERLAPPED_ENTRY) -> Then {
        let now = self.now;
        if let Some(connection) = self.all.get_mut(number).and_then(Option::as_mut) {
            connection.done(completion);
            if !connection.exchange.is_in_request() {
                connection.deadline = now + self.terms.timeout;
            }
        }
        self.go_on(number)
    }
}

impl Terms {
    /// Whether an operation could be begun; takes note of a shortage.
    fn note_whether(&self, begun: io::Result<()>) -> bool {
        if let Err(e) = begun.as_ref()
            && is_shortage(e)
        {
            self.counters.note_shortage(e);
        }
        begun.is_ok()
    }
}

impl Connection {
    fn receive(&mut self) -> io::Result<()> {
        let socket = self.socket.as_raw_socket() as SOCKET;
        self.operation.begin(|overlapped, buffers| {
            buffers.received.resize(RECEIVE_AT_ONCE, 0);
            let room = WSABUF { len: RECEIVE_AT_ONCE as u32, buf: buffers.received.as_mut_ptr() };
            let mut flags = 0;
            // SAFETY: the buffer and the operation's state stay in place until it is over; the rest is
            // used during the call only.
            let result =
                unsafe { WSARecv(socket, &room, 1, null_mut(), &mut flags, overlapped, None) };
            result == 0
        })
    }

    fn send(&mut self) -> io::Result<()> {
        let socket = self.socket.as_raw_socket() as SOCKET;
        let out = self.exchange.take_to_send();
        self.operation.begin(|overlapped, buffers| {
            buffers.sending = out;
            let (len, buf) = (buffers.sending.len() as u32, buffers.sending.as_ptr().cast_mut());
            // SAFETY: what is sent is only read, and like the operation's state stays in place until it is
            // over; the rest is used during the call only.
            let result = unsafe {
                WSASend(socket, &WSABUF { len, buf }, 1, null_mut(), 0, overlapped, None)
            };
            result == 0
        })
    }

    /// Takes in what an operation brought.
    fn done(&mut self, completion: &OVERLAPPED_ENTRY) {
        let buffers = self.operation.over();
        let bytes = completion.dwNumberOfBytesTransferred as usize;
        let sent = std::mem::take(&mut buffers.sending).len();
        if !succeeded(completion) {
            self.broken = true;
        } else if sent > 0 {
            self.broken |= bytes < sent;
        } else if bytes == 0 {
            self.exchange.ended();
        } else {
            self.exchange.received(&buffers.received[..bytes]);
        }
    }
}

/// The operations that accept connections.
struct Accepts<'a> {
    listener: &'a TcpListener,
    domain: Domain,
    accept_ex: LPFN_ACCEPTEX,
    all: Vec<Accept>,
}

struct Accept {
    operation: Operation<[u8; 2 * ADDRESS]>,
    /// What the connection is to have.
    socket: Option<Socket>,
}

/// Room for an address of either end; `AcceptEx` wants 16 bytes more than the longest.
const ADDRESS: usize = size_of::<SOCKADDR_STORAGE>() + 16;

impl<'a> Accepts<'a> {
    fn new(listener: &'a TcpListener) -> io::Result<Self> {
        let none = || Accept { operation: Operation::new([0; 2 * ADDRESS]), socket: None };
        Ok(Self {
            listener,
            domain: Domain::for_address(listener.local_addr()?),
            accept_ex: accept_ex(listener)?,
            all: std::iter::repeat_with(none).take(ACCEPTS).collect(),
        })
    }

    fn under_way(&self) -> bool {
        self.all.iter().any(|accept| accept.operation.under_way)
    }

    /// Begins those that are not under way.
    fn start(&mut self, acceptor: &mut Acceptor) -> io::Result<()> {
        for accept in self.all.iter_mut().filter(|accept| !accept.operation.under_way) {
            match accept.begin(self.listener, self.domain, self.accept_ex) {
                Ok(()) => {}
                Err(e) if is_shortage(&e) => {
                    acceptor.pause(&e);
                    return Ok(());
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// What was accepted.
    fn done(&mut self, completion: &OVERLAPPED_ENTRY) -> Option<Socket> {
        let mut all = self.all.iter_mut();
        let accept = all.find(|accept| accept.operation.is(completion.lpOverlapped))?;
        accept.operation.over();
        let socket = accept.socket.take()?;
        // A failure concerns the one connection, or it was cancelled.
        (succeeded(completion) && accepted_from(self.listener, &socket).is_ok()).then_some(socket)
    }

    fn cancel(&self) {
        cancel(self.listener);
    }
}

impl Accept {
    fn begin(
        &mut self,
        listener: &TcpListener,
        domain: Domain,
        accept_ex: LPFN_ACCEPTEX,
    ) -> io::Result<()> {
        let accept_ex = accept_ex.expect("found before");
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => {
                let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
                socket.set_tcp_nodelay(true)?; // not taken over from the listener
                socket
            }
        };
        let (from, to) = (listener.as_raw_socket() as SOCKET, socket.as_raw_socket() as SOCKET);
        self.socket = Some(socket);
        let (none, address) = (0, ADDRESS as u32);
        // Each failure of one connection takes that from the backlog, so this comes to an end.
        loop {
            let begun = self.operation.begin(|overlapped, addresses| {
                let room = addresses.as_mut_ptr().cast();
                let mut received = 0;
                // SAFETY: as long as is said, the room for addresses and the operation's state stay in
                // place until it is over, and both sockets are open. It does not wait for what the
                // client says first: room for none is given.
                let result = unsafe {
                    accept_ex(from, to, room, none, address, address, &mut received, overlapped)
                };
                result != 0
            });
            match begun {
                Err(e) if is_of_one_connection(&e) => {}
                begun => return begun,
            }
        }
    }
}

/// Has the system look up `AcceptEx`; the function of that name would do so at each call.
fn accept_ex(listener: &TcpListener) -> io::Result<LPFN_ACCEPTEX> {
    let socket = listener.as_raw_socket() as SOCKET;
    let (name, mut found): (_, LPFN_ACCEPTEX) = (WSAID_ACCEPTEX, None);
    let mut bytes = 0;
    // SAFETY: the name and the room for what is found are as long as is said.
    let result = unsafe {
        WSAIoctl(
            socket,
            SIO_GET_EXTENSION_FUNCTION_POINTER,
            (&raw const name).cast(),
            size_of_val(&name) as u32,
            (&raw mut found).cast(),
            size_of_val(&found) as u32,
            &mut bytes,
            null_mut(),
            None,
        )
    };
    if result == 0 && found.is_some() { Ok(found) } else { Err(last_error()) }
}

/// Makes a socket that `AcceptEx` was given like one that accept returns.
fn accepted_from(listener: &TcpListener, socket: &Socket) -> io::Result<()> {
    let from = listener.as_raw_socket() as SOCKET;
    let size = size_of_val(&from) as i32;
    let to = socket.as_raw_socket() as SOCKET;
    // SAFETY: the option's value is a socket of the stated size.
    let result = unsafe {
        setsockopt(to, SOL_SOCKET, SO_UPDATE_ACCEPT_CONTEXT, (&raw const from).cast(), size)
    };
    if result == 0 { Ok(()) } else { Err(last_error()) }
}

/// Cancels what is under way for a socket; it is over only when the port tells.
fn cancel(socket: &impl AsRawSocket) {
    // SAFETY: the socket is open. Where nothing is under way any more, it fails, and that is fine.
    unsafe { CancelIoEx(socket.as_raw_socket() as HANDLE, null()) };
}

fn last_error() -> io::Error {
    // SAFETY: reads a value of this thread.
    io::Error::from_raw_os_error(unsafe { WSAGetLastError() })
}

/// Its status is an NTSTATUS, of which the negative ones are errors.
fn succeeded(completion: &OVERLAPPED_ENTRY) -> bool {
    completion.Internal as i32 >= 0
}

/// A completion port.
struct Port(OwnedHandle);

impl Port {
    /// For one thread.
    fn new() -> io::Result<Self> {
        // SAFETY: a new port concerns nothing that exists; its handle is ours.
        unsafe {
            match CreateIoCompletionPort(INVALID_HANDLE_VALUE, null_mut(), 0, 1) {
                port if port.is_null() => Err(io::Error::last_os_error()),
                port => Ok(Self(OwnedHandle::from_raw_handle(port))),
            }
        }
    }

    /// Has the socket's operations told of here, with its number.
    fn watch(&self, socket: &impl AsRawSocket, number: usize) -> io::Result<()> {
        let socket = socket.as_raw_socket() as HANDLE;
        // SAFETY: both are open.
        let port = unsafe { CreateIoCompletionPort(socket, self.0.as_raw_handle(), number, 0) };
        if port.is_null() { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits until something is over, and tells what.
    fn wait(&self, wait: Option<Duration>, done: &mut Vec<OVERLAPPED_ENTRY>) -> io::Result<()> {
        // Rounded up: a loop that wakes too early would turn for nothing.
        let ms = wait.map_or(INFINITE, |wait| wait.as_nanos().div_ceil(1_000_000) as u32);
        done.clear();
        let room = done.spare_capacity_mut();
        let (entries, most) = (room.as_mut_ptr().cast(), room.len() as u32);
        let mut count = 0;
        // SAFETY: there is room for so many entries, and so many as are told of are then valid.
        unsafe {
            let port = self.0.as_raw_handle();
            if GetQueuedCompletionStatusEx(port, entries, most, &mut count, ms, 0) != 0 {
                done.set_len(count as usize);
                return Ok(());
            }
        }
        match io::Error::last_os_error() {
            e if e.raw_os_error() == Some(WAIT_TIMEOUT as i32) => Ok(()),
            e => Err(e),
        }
    }
}

/// What an operation needs in place until it is over: its state, and what it works with. The kernel has it
/// from its begin until the port tells that it is over; nobody looks at it meanwhile.
struct Operation<T> {
    parts: NonNull<Parts<T>>,
    under_way: bool,
}

struct Parts<T> {
    overlapped: OVERLAPPED,
    with: T,
}

impl<T> Operation<T> {
    fn new(with: T) -> Self {
        let parts = Box::leak(Box::new(Parts { overlapped: OVERLAPPED::default(), with })).into();
        Self { parts, under_way: false }
    }

    /// Begins it with a call that says whether it succeeded at once. The port tells when it is over
    /// in that case too.
    fn begin(&mut self, call: impl FnOnce(*mut OVERLAPPED, &mut T) -> bool) -> io::Result<()> {
        assert!(!self.under_way, "one at a time");
        // SAFETY: they are ours as long as no operation is under way.
        let parts = unsafe { self.parts.as_mut() };
        parts.overlapped = OVERLAPPED::default();
        if !call(&raw mut parts.overlapped, &mut parts.with) {
            let error = last_error();
            if error.raw_os_error() != Some(WSA_IO_PENDING) {
                return Err(error);
            }
        }
        self.under_way = true;
        Ok(())
    }

    /// Whether it is the one with that state.
    fn is(&self, overlapped: *const OVERLAPPED) -> bool {
        // SAFETY: the place is valid as long as this is; only its address is taken.
        let own = unsafe { &raw const (*self.parts.as_ptr()).overlapped };
        std::ptr::eq(own, overlapped)
    }

    /// The port has told that it is over; gives what it worked with.
    fn over(&mut self) -> &mut T {
        self.under_way = false;
        // SAFETY: they are ours again.
        unsafe { &mut self.parts.as_mut().with }
    }
}

impl<T> Drop for Operation<T> {
    fn drop(&mut self) {
        // What the kernel may still write to is left where it is: only a loop that fails ends that way.
        if !self.under_way {
            // SAFETY: made by a box, and ours.
            drop(unsafe { Box::from_raw(self.parts.as_ptr()) });
        }
    }
}
