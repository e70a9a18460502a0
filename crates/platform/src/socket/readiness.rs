//! Level-triggered waiting for many sockets: which of them are readable or writable.

use std::io;
use std::time::Duration;

/// A socket that can be watched.
#[cfg(unix)]
pub trait Socket: std::os::fd::AsFd {}
#[cfg(unix)]
impl<T: std::os::fd::AsFd> Socket for T {}
/// A socket that can be watched.
#[cfg(windows)]
pub trait Socket: std::os::windows::io::AsSocket {}
#[cfg(windows)]
impl<T: std::os::windows::io::AsSocket> Socket for T {}

/// The readiness for which a socket is watched. Hang-ups and errors are always reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Readable, or a connection can be accepted.
    Read,
    /// Writable, or the connection is established.
    Write,
    /// Read and write.
    Both,
    /// Only hang-ups, which some systems do not report in this case.
    Nothing,
}

impl Interest {
    fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Both)
    }

    fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Both)
    }
}

/// A socket that is ready. After a hang-up or an error it is ready for both: the next call returns the cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The number under which the socket is watched.
    pub number: usize,
    /// Whether a read returns data, the end of the stream or an error.
    pub readable: bool,
    /// Whether a write is possible, or returns an error.
    pub writable: bool,
}

/// The system call that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollBackend {
    /// epoll(7), on Linux.
    Epoll,
    /// poll(2), or WSAPoll on Windows.
    Poll,
}

impl PollBackend {
    /// The best call of this system for many sockets.
    pub const BEST: Self = if crate::IS_LINUX { Self::Epoll } else { Self::Poll };
}

/// The sockets of one event loop, each with its own number. Numbers should be small, as they index a table.
#[derive(Debug)]
pub struct Readiness {
    watched: Watched,
    wake_pipe: WakePipe,
}

#[derive(Debug)]
enum Watched {
    Epoll(epoll::Queue),
    Poll(poll::Table),
}

/// The number of the wake pipe, which no socket has.
const WAKE: usize = usize::MAX;

impl Readiness {
    /// Watches no sockets yet; uses [`PollBackend::BEST`].
    ///
    /// # Errors
    /// If there are no descriptors or no memory.
    pub fn new() -> io::Result<Self> {
        Self::by(PollBackend::BEST)
    }

    /// Watches no sockets yet; uses `backend`.
    ///
    /// # Errors
    /// `Unsupported` if the system does not have the call.
    pub fn by(backend: PollBackend) -> io::Result<Self> {
        let mut watched = match backend {
            PollBackend::Epoll => Watched::Epoll(epoll::Queue::new()?),
            PollBackend::Poll => Watched::Poll(poll::Table::default()),
        };
        let wake_pipe = WakePipe::new()?;
        watched.watch(&wake_pipe.rx, WAKE, Interest::Read)?;
        Ok(Self { watched, wake_pipe })
    }

    /// Watches `socket` under a free number. The socket must be forgotten before it is closed.
    ///
    /// # Errors
    /// If there is no memory, or the socket is watched already.
    pub fn watch(
        &mut self,
        socket: &impl Socket,
        number: usize,
        interest: Interest,
    ) -> io::Result<()> {
        debug_assert_ne!(number, WAKE);
        self.watched.watch(socket, number, interest)
    }

    /// Changes the readiness for which a socket is watched.
    ///
    /// # Errors
    /// If the socket is not watched.
    pub fn change(
        &mut self,
        socket: &impl Socket,
        number: usize,
        interest: Interest,
    ) -> io::Result<()> {
        match &mut self.watched {
            Watched::Epoll(queue) => queue.change(socket, number, interest),
            Watched::Poll(table) => table.change(socket, number, interest),
        }
    }

    /// Stops watching a socket.
    pub fn forget(&mut self, socket: &impl Socket, number: usize) {
        match &mut self.watched {
            Watched::Epoll(queue) => queue.forget(socket, number),
            Watched::Poll(table) => table.forget(socket, number),
        }
    }

    /// Stops watching a socket that is closed next, and of which no other process has a copy: saves a call where closing is
    /// enough.
    pub fn forget_closed(&mut self, number: usize) {
        match &mut self.watched {
            Watched::Epoll(_) => {}
            Watched::Poll(table) => table.forget_closed(number),
        }
    }

    /// Waits until a socket is ready, the wake pipe is written to, or the timeout passes. Replaces the contents of `ready`
    /// with the ready sockets, at most some hundreds. Spurious wake-ups are possible.
    ///
    /// # Errors
    /// If waiting fails.
    pub fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        let waited = match &mut self.watched {
            Watched::Epoll(queue) => queue.wait(timeout, ready),
            Watched::Poll(table) => table.wait(timeout, ready),
        };
        match waited {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(()),
            other => other?,
        }
        let sockets = ready.len();
        ready.retain(|ready| ready.number != WAKE);
        if ready.len() < sockets {
            self.wake_pipe.drain();
        }
        Ok(())
    }

    /// A handle by which another thread wakes the loop.
    ///
    /// # Errors
    /// If there are no descriptors.
    pub fn waker(&self) -> io::Result<Waker> {
        Ok(Waker { tx: self.wake_pipe.tx.try_clone()? })
    }
}

impl Watched {
    fn watch(&mut self, socket: &impl Socket, number: usize, interest: Interest) -> io::Result<()> {
        match self {
            Self::Epoll(queue) => queue.watch(socket, number, interest),
            Self::Poll(table) => {
                table.watch(socket, number, interest);
                Ok(())
            }
        }
    }
}

/// Whether the socket is readable now, or a connection can be accepted.
pub(crate) fn is_readable(socket: &impl Socket) -> bool {
    let mut entries = [os::entry(socket, Interest::Read)];
    os::poll(&mut entries, 0).is_ok() && os::readiness(&entries[0]).0
}

/// Wakes an event loop.
#[derive(Debug)]
pub struct Waker {
    tx: wake_pipe::Stream,
}

impl Waker {
    /// Ends the loop's present or next wait at once.
    pub fn wake(&self) {
        // A full buffer wakes the loop anyway.
        let _ = io::Write::write(&mut &self.tx, &[0]);
    }
}

/// The two ends of a stream: a byte in it wakes the loop.
#[derive(Debug)]
struct WakePipe {
    rx: wake_pipe::Stream,
    tx: wake_pipe::Stream,
}

impl WakePipe {
    fn new() -> io::Result<Self> {
        let (rx, tx) = wake_pipe::pair()?;
        rx.set_nonblocking(true)?;
        tx.set_nonblocking(true)?;
        Ok(Self { rx, tx })
    }

    fn drain(&self) {
        let mut buffer = [0; 64];
        while matches!(io::Read::read(&mut &self.rx, &mut buffer), Ok(64)) {}
    }
}

#[cfg(unix)]
mod wake_pipe {
    pub use std::os::unix::net::UnixStream as Stream;

    pub fn pair() -> std::io::Result<(Stream, Stream)> {
        Stream::pair()
    }
}

#[cfg(windows)]
mod wake_pipe {
    use std::io;
    use std::net::{Ipv4Addr, TcpListener};

    pub use std::net::TcpStream as Stream;

    pub fn pair() -> io::Result<(Stream, Stream)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let ours = Stream::connect(listener.local_addr()?)?;
        let (other, from) = listener.accept()?;
        if from != ours.local_addr()? {
            return Err(io::Error::other(
                "another program connected to the waker of an event loop",
            ));
        }
        Ok((ours, other))
    }
}

#[cfg(target_os = "linux")]
mod epoll {
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
    use rustix::time::Timespec;

    use super::{Interest, Ready, Socket};

    /// Maximum number of events of one wait.
    const EVENTS: usize = 512;

    #[derive(Debug)]
    pub struct Queue {
        epoll: OwnedFd,
    }

    impl Queue {
        pub fn new() -> io::Result<Self> {
            Ok(Self { epoll: epoll::create(CreateFlags::CLOEXEC)? })
        }

        pub fn watch(
            &mut self,
            socket: &impl Socket,
            number: usize,
            interest: Interest,
        ) -> io::Result<()> {
            let data = EventData::new_u64(number as u64);
            Ok(epoll::add(&self.epoll, socket, data, flags(interest))?)
        }

        pub fn change(
            &mut self,
            socket: &impl Socket,
            number: usize,
            interest: Interest,
        ) -> io::Result<()> {
            let data = EventData::new_u64(number as u64);
            Ok(epoll::modify(&self.epoll, socket, data, flags(interest))?)
        }

        pub fn forget(&mut self, socket: &impl Socket, _number: usize) {
            let _ = epoll::delete(&self.epoll, socket);
        }

        pub fn wait(
            &mut self,
            timeout: Option<Duration>,
            ready: &mut Vec<Ready>,
        ) -> io::Result<()> {
            let timeout = timeout.map(in_whole_ms);
            let mut events = [MaybeUninit::uninit(); EVENTS];
            let (events, _) = epoll::wait(&self.epoll, &mut events, timeout.as_ref())?;
            ready.extend(events.iter().map(|event| {
                let flags = event.flags;
                let over = flags.intersects(EventFlags::ERR | EventFlags::HUP);
                Ready {
                    number: event.data.u64() as usize,
                    readable: over || flags.contains(EventFlags::IN),
                    writable: over || flags.contains(EventFlags::OUT),
                }
            }));
            Ok(())
        }
    }

    fn flags(interest: Interest) -> EventFlags {
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::IN, interest.reads());
        flags.set(EventFlags::OUT, interest.writes());
        flags
    }

    /// The timeout in whole ms, rounded up: a loop that wakes too early would do an iteration in vain.
    fn in_whole_ms(timeout: Duration) -> Timespec {
        let ms = i64::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX);
        Timespec { tv_sec: ms / 1_000, tv_nsec: ms % 1_000 * 1_000_000 }
    }
}

#[cfg(not(target_os = "linux"))]
mod epoll {
    use std::io;
    use std::time::Duration;

    use super::{Interest, Ready, Socket};

    #[derive(Debug)]
    pub enum Queue {}

    impl Queue {
        pub fn new() -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub fn watch(&mut self, _: &impl Socket, _: usize, _: Interest) -> io::Result<()> {
            match *self {}
        }

        pub fn change(&mut self, _: &impl Socket, _: usize, _: Interest) -> io::Result<()> {
            match *self {}
        }

        pub fn forget(&mut self, _: &impl Socket, _: usize) {
            match *self {}
        }

        pub fn wait(&mut self, _: Option<Duration>, _: &mut Vec<Ready>) -> io::Result<()> {
            match *self {}
        }
    }
}

mod poll {
    use std::io;
    use std::time::Duration;

    use super::os::{Entry, entry, poll, readiness, set};
    use super::{Interest, Ready, Socket, WAKE};

    /// The watched sockets, in the array that each call needs.
    #[derive(Debug, Default)]
    pub struct Table {
        entries: Vec<Entry>,
        numbers: Vec<usize>,
        /// The index of each number's entry, except the wake pipe's.
        indexes: Vec<Option<usize>>,
    }

    impl Table {
        pub fn watch(&mut self, socket: &impl Socket, number: usize, interest: Interest) {
            if number != WAKE {
                if self.indexes.len() <= number {
                    self.indexes.resize(number + 1, None);
                }
                self.indexes[number] = Some(self.entries.len());
            }
            self.entries.push(entry(socket, interest));
            self.numbers.push(number);
        }

        pub fn change(
            &mut self,
            _socket: &impl Socket,
            number: usize,
            interest: Interest,
        ) -> io::Result<()> {
            let index = self.indexes.get(number).copied().flatten();
            let index = index.ok_or(io::ErrorKind::NotFound)?;
            set(&mut self.entries[index], interest);
            Ok(())
        }

        pub fn forget(&mut self, _socket: &impl Socket, number: usize) {
            self.forget_closed(number);
        }

        pub fn forget_closed(&mut self, number: usize) {
            let Some(index) = self.indexes.get_mut(number).and_then(Option::take) else { return };
            self.entries.swap_remove(index);
            self.numbers.swap_remove(index);
            if let Some(&moved) = self.numbers.get(index).filter(|&&moved| moved != WAKE) {
                self.indexes[moved] = Some(index);
            }
        }

        pub fn wait(
            &mut self,
            timeout: Option<Duration>,
            ready: &mut Vec<Ready>,
        ) -> io::Result<()> {
            let ms = timeout.map_or(-1, |timeout| {
                i32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX)
            });
            poll(&mut self.entries, ms)?;
            let all = self.entries.iter().zip(&self.numbers);
            ready.extend(all.filter_map(|(entry, &number)| {
                let (readable, writable) = readiness(entry);
                (readable || writable).then_some(Ready { number, readable, writable })
            }));
            Ok(())
        }
    }
}

#[cfg(unix)]
pub(crate) mod os {
    use std::io;
    use std::os::fd::AsRawFd;

    use super::{Interest, Socket};

    pub type Entry = libc::pollfd;

    pub fn entry(socket: &impl Socket, interest: Interest) -> Entry {
        let mut entry = Entry { fd: socket.as_fd().as_raw_fd(), events: 0, revents: 0 };
        set(&mut entry, interest);
        entry
    }

    pub fn set(entry: &mut Entry, interest: Interest) {
        entry.events = if interest.reads() { libc::POLLIN } else { 0 }
            | if interest.writes() { libc::POLLOUT } else { 0 };
    }

    /// Whether the entry is reported as readable, and as writable.
    pub fn readiness(entry: &Entry) -> (bool, bool) {
        let over = entry.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0;
        (over || entry.revents & libc::POLLIN != 0, over || entry.revents & libc::POLLOUT != 0)
    }

    pub fn poll(entries: &mut [Entry], ms: i32) -> io::Result<()> {
        // SAFETY: the pointer and the length are those of a slice.
        let count = unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, ms) };
        if count < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(windows)]
mod os {
    use std::io;
    use std::os::windows::io::AsRawSocket;

    use windows_sys::Win32::Networking::WinSock::{
        POLLERR, POLLHUP, POLLNVAL, POLLRDNORM, POLLWRNORM, WSAPOLLFD, WSAPoll,
    };

    use super::{Interest, Socket};

    /// An entry with `Debug`, which the system's type lacks.
    #[derive(Clone, Copy)]
    #[repr(transparent)]
    pub struct Entry(WSAPOLLFD);

    impl std::fmt::Debug for Entry {
        fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
            write!(f, "{}: {} of {}", self.0.fd, self.0.revents, self.0.events)
        }
    }

    pub fn entry(socket: &impl Socket, interest: Interest) -> Entry {
        let fd = socket.as_socket().as_raw_socket() as _;
        let mut entry = Entry(WSAPOLLFD { fd, events: 0, revents: 0 });
        set(&mut entry, interest);
        entry
    }

    pub fn set(entry: &mut Entry, interest: Interest) {
        entry.0.events = if interest.reads() { POLLRDNORM } else { 0 }
            | if interest.writes() { POLLWRNORM } else { 0 };
    }

    /// Whether the entry is reported as readable, and as writable.
    pub fn readiness(entry: &Entry) -> (bool, bool) {
        let revents = entry.0.revents;
        let over = revents & (POLLERR | POLLHUP | POLLNVAL) != 0;
        (over || revents & POLLRDNORM != 0, over || revents & POLLWRNORM != 0)
    }

    pub fn poll(entries: &mut [Entry], ms: i32) -> io::Result<()> {
        // SAFETY: the pointer and the length are those of a slice; `Entry` is a transparent WSAPOLLFD.
        let count = unsafe { WSAPoll(entries.as_mut_ptr().cast(), entries.len() as u32, ms) };
        if count < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::*;

    fn backends() -> impl Iterator<Item = PollBackend> {
        [PollBackend::Epoll, PollBackend::Poll]
            .into_iter()
            .filter(|&backend| Readiness::by(backend).is_ok())
    }

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (ours, listener.accept().unwrap().0)
    }

    /// Waits until a socket is ready, for at most a minute.
    fn next(readiness: &mut Readiness) -> Vec<Ready> {
        let mut ready = Vec::new();
        for _ in 0..60 {
            readiness.wait(Some(Duration::from_secs(1)), &mut ready).unwrap();
            if !ready.is_empty() {
                break;
            }
        }
        ready
    }

    fn readable(number: usize) -> Ready {
        Ready { number, readable: true, writable: false }
    }

    #[test]
    fn readiness_is_reported_as_long_as_it_lasts() {
        for backend in backends() {
            let mut readiness = Readiness::by(backend).unwrap();
            let (a, mut to_a) = pair();
            let (mut b, to_b) = pair();
            readiness.watch(&a, 3, Interest::Read).unwrap();
            readiness.watch(&b, 0, Interest::Read).unwrap();
            to_a.write_all(b"x").unwrap();
            assert_eq!(next(&mut readiness), [readable(3)], "{backend:?}");
            assert_eq!(next(&mut readiness), [readable(3)], "{backend:?}: not read yet");
            readiness.change(&a, 3, Interest::Write).unwrap();
            let writable = Ready { number: 3, readable: false, writable: true };
            assert_eq!(next(&mut readiness), [writable], "{backend:?}");
            readiness.forget(&a, 3);
            drop(to_b);
            let ready = next(&mut readiness);
            assert!(ready.len() == 1 && ready[0].number == 0 && ready[0].readable, "{ready:?}");
            assert_eq!(b.read(&mut [0; 1]).unwrap(), 0, "its end");
        }
    }

    #[test]
    fn forgotten_numbers_can_be_reused() {
        for backend in backends() {
            let mut readiness = Readiness::by(backend).unwrap();
            let mut pairs: Vec<_> = (0..5).map(|_| pair()).collect();
            for (number, (ours, _)) in pairs.iter().enumerate() {
                readiness.watch(ours, number, Interest::Read).unwrap();
            }
            readiness.forget(&pairs[1].0, 1);
            readiness.forget(&pairs[4].0, 4);
            drop(pairs.remove(1));
            readiness.forget_closed(4);
            readiness.watch(&pairs[3].0, 1, Interest::Read).unwrap();
            for (_, other) in &mut pairs {
                other.write_all(b"x").unwrap();
            }
            let mut reported = Vec::new();
            while reported.len() < 4 {
                for ready in next(&mut readiness) {
                    if !reported.contains(&ready.number) {
                        reported.push(ready.number);
                    }
                }
            }
            reported.sort_unstable();
            assert_eq!(reported, [0, 1, 2, 3], "{backend:?}");
        }
    }

    #[test]
    fn a_loop_is_woken_from_another_thread() {
        for backend in backends() {
            let mut readiness = Readiness::by(backend).unwrap();
            let waker = readiness.waker().unwrap();
            let woken = std::thread::spawn(move || {
                let mut ready = Vec::new();
                readiness.wait(None, &mut ready).unwrap(); // no timeout: waits until woken
                assert_eq!(ready, []);
                readiness.wait(Some(Duration::ZERO), &mut ready).unwrap(); // the byte in the pipe was read
                ready.is_empty()
            });
            waker.wake();
            assert!(woken.join().unwrap());
        }
    }
}
