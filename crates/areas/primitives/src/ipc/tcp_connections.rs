use measure::{CaseError, Params, Round};

use crate::partner::{AS_PROCESSES, PLACE_SAME};
use crate::{Case, Only, Param, Takes, only};

/// Number of connections.
const CONNECTIONS: Param = Param::new("connections", &["500"])
    .meaning("how many connections are open")
    .full(&["1", "100", "500", "1000", "5000"])
    .takes(Takes::Count(20_000));

/// A server with many clients, of which one sends a request.
pub const CASE: Case = Case {
    operation: "One round trip of 1 byte over one of n open TCP connections of the loopback interface (IPv4, \
                TCP_NODELAY), over each in turn: send, recv; the other task waits for all of them with epoll_wait, then \
                receives and sends the byte back.",
    comparable_to: "ipc/tcp has one connection and no epoll; lmbench's `lat_tcp` too; for many clients at once see net/answer.",
    only: Only::Linux("measured on Linux only, with epoll"),
    params: &[CONNECTIONS, AS_PROCESSES, PLACE_SAME],
    run,
    ..Case::new("ipc", "tcp-connections")
};

#[only(linux)]
fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    use std::io::{self, Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

    use platform::socket::loopback;

    use super::tcp::connect_to;

    /// Number of descriptors besides the connections.
    const BESIDES: usize = 50;
    /// Maximum number of events that one epoll_wait returns.
    const EVENTS: usize = 16;

    fn server(streams: Vec<TcpStream>) -> io::Result<()> {
        // SAFETY: makes a new descriptor, which has no other owner.
        let epoll = unsafe { OwnedFd::from_raw_fd(libc::epoll_create1(libc::EPOLL_CLOEXEC)) };
        for (at, stream) in streams.iter().enumerate() {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: at as u64 };
            let (epoll, fd) = (epoll.as_raw_fd(), stream.as_raw_fd());
            // SAFETY: both descriptors are open, and `event` is valid.
            if unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        loop {
            // SAFETY: the descriptor is open; the pointer and length describe `events`.
            let ready = unsafe {
                libc::epoll_wait(epoll.as_raw_fd(), events.as_mut_ptr(), EVENTS as i32, -1)
            };
            for event in &events[..usize::try_from(ready).unwrap_or(0)] {
                let (at, mut byte) = (event.u64 as usize, [0]);
                let mut stream = &streams[at];
                match stream.read(&mut byte) {
                    Ok(1) => stream.write_all(&byte)?,
                    // The measuring task has closed its connections.
                    _ => return Ok(()),
                }
            }
        }
    }

    let connections = crate::count_of(params, "connections")?;
    crate::syscall::idle_sockets::allow_descriptors(2 * connections + BESIDES)?;
    let failed = |e: io::Error| loopback::error_of("TCP connections over loopback", &e);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let (mut clients, mut servers) = (Vec::new(), Vec::new());
    for _ in 0..connections {
        let [client, server] = connect_to(&listener).map_err(failed)?;
        clients.push(client);
        servers.push(server);
    }
    let tasks = crate::partner::Tasks::of(params, round)?;
    round.expect_syscalls(2.0);
    let measure = |clients: Vec<TcpStream>| {
        let (mut at, mut number) = (0, 0u8);
        let mut ask = || -> io::Result<()> {
            let mut client = &clients[at];
            at = (at + 1) % clients.len();
            number = number.wrapping_add(1);
            client.write_all(&[number])?;
            let mut reply = [0];
            client.read_exact(&mut reply)?;
            if reply[0] == number { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
        };
        // The first round trip starts the partner; each connection carries a byte before the clock starts.
        for _ in 0..clients.len() {
            ask().map_err(failed)?;
        }
        let mut result = Ok(());
        let timed = tasks.time(round, || {
            if result.is_ok() {
                result = ask();
            }
        });
        result.map_err(failed).and(timed)
    };
    let serve = |_, streams| server(streams).map_err(failed);
    tasks.beside(vec![clients, servers], serve, measure)
}
