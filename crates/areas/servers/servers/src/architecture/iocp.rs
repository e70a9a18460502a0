//! One thread with a completion port: accept, receive and send operations are started, and complete some time later. Their
//! buffers stay in place meanwhile. The sockets of future connections are created in advance.

use std::borrow::Cow;
use std::io;
use std::net::{Shutdown, TcpListener};
use std::os::windows::io::{AsRawHandle, AsRawSocket, FromRawHandle, OwnedHandle};
use std::ptr::{NonNull, null, null_mut};
use std::time::{Duration, Instant};

use platform::socket::transfer::is_shortage;
use serving::{Acceptor, Deadlines, Slots, is_of_one_connection};
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

use crate::exchange::{Exchange, Wants};
use crate::server::{Server, Terms};

/// Number of accept operations in progress; further connections wait in the backlog.
const ACCEPTS: usize = 64;
/// Maximum number of completions of one iteration.
const COMPLETIONS: usize = 256;
/// Size of the receive buffer of a connection, in bytes.
const RECEIVE_AT_ONCE: usize = 4 * 1024;
/// The number of the listener, among those of connections.
const LISTENER: usize = usize::MAX;

pub fn serve(server: &Server) -> io::Result<()> {
    let listener = &server.listeners[0];
    let mut acceptor = Acceptor::without_accept(server.terms.accepting(), [listener]);
    let mut accepts = Accepts::new(listener)?;
    let mut queue = Queue::new(server.terms.clone())?;
    queue.port.watch(listener, LISTENER)?;
    let mut done = Vec::with_capacity(COMPLETIONS);

    while !acceptor.is_closed() || accepts.any_in_progress() || !queue.slots.is_empty() {
        if acceptor.is_open() {
            accepts.start(&mut acceptor)?;
        } else if acceptor.is_closed() {
            accepts.cancel();
        }
        queue.wait(&acceptor, &mut done)?;
        queue.tick(&mut acceptor);
        for completion in done.drain(..) {
            match completion.lpCompletionKey {
                LISTENER => {
                    if let Some(socket) = accepts.completed(&completion) {
                        queue.begin(socket);
                    }
                }
                number => {
                    if queue.completed(number, &completion) == Then::Closed {
                        acceptor.resume();
                    }
                }
            }
        }
    }
    Ok(())
}

/// The completion port and the connections.
struct Queue {
    port: Port,
    terms: Terms,
    slots: Slots<Connection>,
    deadlines: Deadlines,
    now: Instant,
    stopping: bool,
}

/// A connection, with exactly one operation in progress between two iterations of the loop.
struct Connection {
    socket: Socket,
    exchange: Exchange,
    operation: Operation<Buffers>,
    /// Whether the client has closed or timed out.
    broken: bool,
    deadline: Instant,
}

/// The data of the operations.
#[derive(Default)]
struct Buffers {
    /// The bytes that the kernel is sending; empty while it receives.
    sending: Cow<'static, [u8]>,
    received: Vec<u8>,
}

/// The state of a connection after a completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Waits,
    Closed,
}

impl Queue {
    fn new(terms: Terms) -> io::Result<Self> {
        Ok(Self {
            port: Port::new()?,
            terms,
            slots: Slots::default(),
            deadlines: Deadlines::default(),
            now: Instant::now(),
            stopping: false,
        })
    }

    fn wait(&self, acceptor: &Acceptor, done: &mut Vec<OVERLAPPED_ENTRY>) -> io::Result<()> {
        let wakes_at = self.deadlines.next().into_iter().chain(acceptor.wakes_at()).min();
        self.port.wait(wakes_at.map(|at| at.saturating_duration_since(self.now)), done)
    }

    /// Begins an iteration, in which it must be called: ends connections that have timed out, and has all of them end soon
    /// when the server stops.
    fn tick(&mut self, acceptor: &mut Acceptor) {
        self.now = Instant::now();
        acceptor.tick(self.now);
        if acceptor.is_stopping() && !self.stopping {
            self.stopping = true;
            self.slots.values_mut().for_each(|one| one.exchange.finish_soon());
        }
        let slots = &self.slots;
        let deadline_of = |number: usize| {
            let connection = slots.get(number)?;
            (!connection.broken).then_some(connection.deadline)
        };
        for number in self.deadlines.expired(self.now, deadline_of) {
            self.terms.note_timed_out();
            if let Some(connection) = self.slots.get_mut(number) {
                connection.broken = true;
                cancel(&connection.socket); // the connection is closed when its operation completes
            }
        }
    }

    fn begin(&mut self, socket: Socket) {
        let mut exchange = Exchange::new(self.terms.protocol, &|| self.terms.work());
        if self.stopping {
            exchange.finish_soon();
        }
        // The connection is closed if the port cannot watch it.
        let broken = self.port.watch(&socket, self.slots.next()).is_err();
        let operation = Operation::new(Buffers::default());
        let deadline = self.now + self.terms.timeout;
        let connection = Connection { socket, exchange, operation, broken, deadline };
        let number = self.slots.insert(connection);
        self.proceed(number);
    }

    /// Starts the next operation of a connection, or closes it.
    fn proceed(&mut self, number: usize) -> Then {
        let Some(connection) = self.slots.get_mut(number) else {
            return Then::Waits;
        };
        if connection.exchange.wants() == Wants::Shut {
            let _ = connection.socket.shutdown(Shutdown::Write); // the next operation reports an error, if any
            connection.exchange.was_shut();
        }
        let started = match connection.exchange.wants() {
            _ if connection.broken => false,
            Wants::Shut | Wants::Close => false,
            Wants::Read => is_started(&self.terms, connection.receive()),
            Wants::Write => is_started(&self.terms, connection.send()),
        };
        if started {
            self.deadlines.add(number, connection.deadline);
            return Then::Waits;
        }
        self.slots.remove(number);
        Then::Closed
    }

    fn completed(&mut self, number: usize, completion: &OVERLAPPED_ENTRY) -> Then {
        let now = self.now;
        if let Some(connection) = self.slots.get_mut(number) {
            connection.completed(completion, &self.terms);
            if !connection.exchange.is_in_request() {
                connection.deadline = now + self.terms.timeout;
            }
        }
        self.proceed(number)
    }
}

/// Whether an operation was started; counts a shortage.
fn is_started(terms: &Terms, result: io::Result<()>) -> bool {
    if let Err(e) = result.as_ref()
        && is_shortage(e)
    {
        terms.counters.shortages.note(e);
    }
    result.is_ok()
}

impl Connection {
    fn receive(&mut self) -> io::Result<()> {
        let socket = self.socket.as_raw_socket() as SOCKET;
        self.operation.start(|overlapped, buffers| {
            buffers.received.resize(RECEIVE_AT_ONCE, 0);
            let room = WSABUF { len: RECEIVE_AT_ONCE as u32, buf: buffers.received.as_mut_ptr() };
            let mut flags = 0;
            // SAFETY: the buffer and the operation's state stay in place until it is complete; the rest is
            // used only during the call.
            let result =
                unsafe { WSARecv(socket, &room, 1, null_mut(), &mut flags, overlapped, None) };
            result == 0
        })
    }

    fn send(&mut self) -> io::Result<()> {
        let socket = self.socket.as_raw_socket() as SOCKET;
        let out = self.exchange.take_to_send();
        self.operation.start(|overlapped, buffers| {
            buffers.sending = out;
            let (len, buf) = (buffers.sending.len() as u32, buffers.sending.as_ptr().cast_mut());
            // SAFETY: what is sent is only read, and like the operation's state stays in place until it is
            // complete; the rest is used only during the call.
            let result = unsafe {
                WSASend(socket, &WSABUF { len, buf }, 1, null_mut(), 0, overlapped, None)
            };
            result == 0
        })
    }

    /// Processes the completion of an operation.
    fn completed(&mut self, completion: &OVERLAPPED_ENTRY, terms: &Terms) {
        let buffers = self.operation.complete();
        let bytes = completion.dwNumberOfBytesTransferred as usize;
        let sent = std::mem::take(&mut buffers.sending).len();
        if !succeeded(completion) {
            self.broken = true;
        } else if sent > 0 {
            self.broken |= bytes < sent;
        } else if bytes == 0 {
            self.exchange.ended();
        } else {
            self.exchange.received(&buffers.received[..bytes], &|| terms.work());
        }
    }
}

/// The accept operations.
struct Accepts<'a> {
    listener: &'a TcpListener,
    domain: Domain,
    accept_ex: LPFN_ACCEPTEX,
    all: Vec<Accept>,
}

struct Accept {
    operation: Operation<[u8; 2 * ADDRESS]>,
    /// The socket of the next connection.
    socket: Option<Socket>,
}

/// Space for the address of either end: `AcceptEx` needs 16 bytes more than the longest address.
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

    fn any_in_progress(&self) -> bool {
        self.all.iter().any(|accept| accept.operation.in_progress)
    }

    /// Starts the accept operations that are not in progress.
    fn start(&mut self, acceptor: &mut Acceptor) -> io::Result<()> {
        for accept in self.all.iter_mut().filter(|accept| !accept.operation.in_progress) {
            match accept.start(self.listener, self.domain, self.accept_ex) {
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

    /// Returns the accepted socket, if any.
    fn completed(&mut self, completion: &OVERLAPPED_ENTRY) -> Option<Socket> {
        let mut all = self.all.iter_mut();
        let accept = all.find(|accept| accept.operation.is(completion.lpOverlapped))?;
        accept.operation.complete();
        let socket = accept.socket.take()?;
        // A failed operation concerns one connection, or was cancelled.
        (succeeded(completion) && accepted_from(self.listener, &socket).is_ok()).then_some(socket)
    }

    fn cancel(&self) {
        cancel(self.listener);
    }
}

impl Accept {
    fn start(
        &mut self,
        listener: &TcpListener,
        domain: Domain,
        accept_ex: LPFN_ACCEPTEX,
    ) -> io::Result<()> {
        let accept_ex = accept_ex.expect("looked up before");
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => {
                let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
                socket.set_tcp_nodelay(true)?; // the option is not inherited from the listener
                socket
            }
        };
        let (from, to) = (listener.as_raw_socket() as SOCKET, socket.as_raw_socket() as SOCKET);
        self.socket = Some(socket);
        let (none, address) = (0, ADDRESS as u32);
        // Each failure of one connection removes it from the backlog, so this loop ends.
        loop {
            let started = self.operation.start(|overlapped, addresses| {
                let room = addresses.as_mut_ptr().cast();
                let mut received = 0;
                // SAFETY: the space for addresses has the stated length; it and the operation's state stay in
                // place until it is complete; both sockets are open. The length 0 for data makes it
                // complete without waiting for the client to send.
                let result = unsafe {
                    accept_ex(from, to, room, none, address, address, &mut received, overlapped)
                };
                result != 0
            });
            match started {
                Err(e) if is_of_one_connection(&e) => {}
                started => return started,
            }
        }
    }
}

/// Looks up `AcceptEx`; the exported function of that name would do so in each call.
fn accept_ex(listener: &TcpListener) -> io::Result<LPFN_ACCEPTEX> {
    let socket = listener.as_raw_socket() as SOCKET;
    let (name, mut found): (_, LPFN_ACCEPTEX) = (WSAID_ACCEPTEX, None);
    let mut bytes = 0;
    // SAFETY: the name and the space for the result have the stated lengths.
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

/// Gives a socket that `AcceptEx` has connected the properties of a socket returned by accept.
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

/// Cancels the operations of a socket; they are complete only when the port reports it.
fn cancel(socket: &impl AsRawSocket) {
    // SAFETY: the socket is open. If no operation is in progress, it fails, which is harmless.
    unsafe { CancelIoEx(socket.as_raw_socket() as HANDLE, null()) };
}

fn last_error() -> io::Error {
    // SAFETY: it only reads a thread-local value.
    io::Error::from_raw_os_error(unsafe { WSAGetLastError() })
}

/// Whether an operation succeeded: its status is an NTSTATUS, negative for errors.
fn succeeded(completion: &OVERLAPPED_ENTRY) -> bool {
    completion.Internal as i32 >= 0
}

/// A completion port.
struct Port(OwnedHandle);

impl Port {
    /// Creates a port for one thread.
    fn new() -> io::Result<Self> {
        // SAFETY: a new port affects no existing object; its handle is owned by nothing else.
        unsafe {
            match CreateIoCompletionPort(INVALID_HANDLE_VALUE, null_mut(), 0, 1) {
                port if port.is_null() => Err(io::Error::last_os_error()),
                port => Ok(Self(OwnedHandle::from_raw_handle(port))),
            }
        }
    }

    /// Makes the port report the completions of the socket's operations, with its number.
    fn watch(&self, socket: &impl AsRawSocket, number: usize) -> io::Result<()> {
        let socket = socket.as_raw_socket() as HANDLE;
        // SAFETY: both are open.
        let port = unsafe { CreateIoCompletionPort(socket, self.0.as_raw_handle(), number, 0) };
        if port.is_null() { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits for completions.
    fn wait(&self, wait: Option<Duration>, done: &mut Vec<OVERLAPPED_ENTRY>) -> io::Result<()> {
        // The wait in whole ms is rounded up: a loop that wakes too early would do an iteration in vain.
        let ms = wait.map_or(INFINITE, |wait| wait.as_nanos().div_ceil(1_000_000) as u32);
        done.clear();
        let spare = done.spare_capacity_mut();
        let (entries, most) = (spare.as_mut_ptr().cast(), spare.len() as u32);
        let mut count = 0;
        // SAFETY: the spare capacity is that of the vector, and `count` entries are valid after the call.
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

/// The state and the data of an operation. The kernel uses both from the start until the port reports the completion; they
/// must not be moved or accessed meanwhile.
struct Operation<T> {
    parts: NonNull<Parts<T>>,
    in_progress: bool,
}

struct Parts<T> {
    overlapped: OVERLAPPED,
    data: T,
}

impl<T> Operation<T> {
    fn new(data: T) -> Self {
        let parts = Box::leak(Box::new(Parts { overlapped: OVERLAPPED::default(), data })).into();
        Self { parts, in_progress: false }
    }

    /// Starts the operation with a call that returns whether it succeeded at once. The port reports the completion in that
    /// case too.
    fn start(&mut self, call: impl FnOnce(*mut OVERLAPPED, &mut T) -> bool) -> io::Result<()> {
        assert!(!self.in_progress, "one at a time");
        // SAFETY: only this uses them while no operation is in progress.
        let parts = unsafe { self.parts.as_mut() };
        parts.overlapped = OVERLAPPED::default();
        if !call(&raw mut parts.overlapped, &mut parts.data) {
            let error = last_error();
            if error.raw_os_error() != Some(WSA_IO_PENDING) {
                return Err(error);
            }
        }
        self.in_progress = true;
        Ok(())
    }

    /// Whether `overlapped` is the state of this operation.
    fn is(&self, overlapped: *const OVERLAPPED) -> bool {
        // SAFETY: the parts are allocated as long as this exists; only an address is computed.
        let own = unsafe { &raw const (*self.parts.as_ptr()).overlapped };
        std::ptr::eq(own, overlapped)
    }

    /// Completes the operation, when the port has reported it; returns its data.
    fn complete(&mut self) -> &mut T {
        self.in_progress = false;
        // SAFETY: the kernel does not use them any more.
        unsafe { &mut self.parts.as_mut().data }
    }
}

impl<T> Drop for Operation<T> {
    fn drop(&mut self) {
        // Memory that the kernel may still write to is leaked, which happens only in a loop that fails.
        if !self.in_progress {
            // SAFETY: allocated by a box, and not used by the kernel.
            drop(unsafe { Box::from_raw(self.parts.as_ptr()) });
        }
    }
}
