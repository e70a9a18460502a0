//! Clients that send slowly, beside a generator's connections.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use platform::CaseError;
use platform::cpu::pin_thread;
use serving::protocol::UNAVAILABLE;

/// Number of bytes that a connection sends at a time.
const PIECE: usize = 64;
/// Number of pieces that a connection sends each second: 1 KiB.
const PIECES_PER_S: u32 = 16;
/// Number of pieces of a request.
const PIECES: usize = 4;
/// Number of groups of connections, which send one after the other.
const GROUPS: usize = 16;
/// Time limit to connect.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Persistent HTTP connections in a separate thread, each of which sends requests at 1 KiB/s and reads the replies.
/// Dropping this closes the connections.
#[derive(Debug)]
pub struct SlowClients {
    state: Arc<State>,
    count: usize,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    stop: AtomicBool,
    received: AtomicU64,
    broken: AtomicU64,
}

impl SlowClients {
    /// Number of requests that one client sends each second.
    pub const REQUESTS_PER_S: f64 = PIECES_PER_S as f64 / PIECES as f64;

    /// The time in which one client sends a request.
    pub const REQUEST_TAKES: Duration =
        Duration::from_millis(1_000 * PIECES as u64 / PIECES_PER_S as u64);

    /// The time in which every client sends its first request, whenever it begins.
    pub const FIRST_REQUESTS: Duration =
        Duration::from_millis(2_000 * PIECES as u64 / PIECES_PER_S as u64);

    /// Connects `count` clients, and starts their thread, pinned to `cpu` if given.
    ///
    /// # Errors
    /// `Failed` if a connection is not established.
    pub fn start(to: SocketAddr, count: usize, cpu: Option<usize>) -> Result<Self, CaseError> {
        let of = |e: std::io::Error| CaseError::from_io("connect a slow client", &e);
        let connect = |nth: usize| {
            let stream = TcpStream::connect_timeout(&to, CONNECT_WITHIN)?;
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            // The clients begin at different times, so that their replies are spread.
            Ok(Client { stream: Some(stream), sent: 0, rests: nth % PIECES })
        };
        let clients = (0..count).map(connect).collect::<Result<Vec<_>, _>>().map_err(of)?;
        let state = Arc::new(State::default());
        let served = Arc::clone(&state);
        let run = move || {
            // Where the thread cannot be pinned, it runs on any CPU.
            let _ = cpu.map(pin_thread);
            send_slowly(clients, &served);
        };
        let thread = std::thread::Builder::new().spawn(run).map_err(of)?;
        Ok(Self { state, count, thread: Some(thread) })
    }

    /// Waits for the time in which each client sends a whole request: then a server that reads requests is occupied.
    pub fn wait_for_first_requests(&self) {
        std::thread::sleep(Self::FIRST_REQUESTS);
    }

    /// Number of clients.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of replies that all clients have received so far.
    pub fn replies(&self) -> u64 {
        self.state.received.load(Ordering::Relaxed) / UNAVAILABLE.len() as u64
    }

    /// Number of connections that the server has closed.
    pub fn broken(&self) -> u64 {
        self.state.broken.load(Ordering::Relaxed)
    }
}

impl Drop for SlowClients {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Client {
    stream: Option<TcpStream>,
    /// Number of bytes of the current request that were sent.
    sent: usize,
    /// Number of turns left before the client begins.
    rests: usize,
}

/// A request of as many bytes as all its pieces.
fn request() -> Vec<u8> {
    let (start, end) = ("GET / HTTP/1.1\r\nHost: slow\r\nX-Fill: ", "\r\n\r\n");
    let fill = PIECE * PIECES - start.len() - end.len();
    [start, &"x".repeat(fill), end].concat().into_bytes()
}

fn send_slowly(mut clients: Vec<Client>, state: &State) {
    let request = request();
    let between = Duration::from_secs(1) / PIECES_PER_S / GROUPS as u32;
    let mut buffer = vec![0; 4 * 1024];
    let mut next = Instant::now();
    for group in (0..GROUPS).cycle() {
        if state.stop.load(Ordering::Relaxed) {
            return;
        }
        for client in clients.iter_mut().skip(group).step_by(GROUPS) {
            if client.rests > 0 {
                client.rests -= 1;
                continue;
            }
            if let Some(stream) = &mut client.stream
                && exchange(stream, &mut client.sent, &request, &mut buffer, state).is_err()
            {
                client.stream = None;
                state.broken.fetch_add(1, Ordering::Relaxed);
            }
        }
        next += between;
        // After a delay the rate is kept, and missed pieces are not made up for.
        next = next.max(Instant::now());
        std::thread::sleep(next.saturating_duration_since(Instant::now()).max(between / 4));
    }
}

/// Sends the next piece, and reads arrived replies.
fn exchange(
    stream: &mut TcpStream,
    sent: &mut usize,
    request: &[u8],
    buffer: &mut [u8],
    state: &State,
) -> std::io::Result<()> {
    let is_transient =
        |e: &std::io::Error| matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted);
    match stream.read(buffer) {
        Ok(0) => return Err(ErrorKind::ConnectionReset.into()),
        Ok(bytes) => drop(state.received.fetch_add(bytes as u64, Ordering::Relaxed)),
        Err(e) if is_transient(&e) => {}
        Err(e) => return Err(e),
    }
    let end = (*sent + PIECE).min(request.len());
    match stream.write(&request[*sent..end]) {
        Ok(bytes) => *sent = (*sent + bytes) % request.len(),
        Err(e) if is_transient(&e) => {}
        Err(e) => return Err(e),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_request_arrives_in_pieces_and_its_reply_is_counted() {
        assert_eq!(request().len(), PIECE * PIECES);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let clients = SlowClients::start(listener.local_addr().unwrap(), 2, None).unwrap();
        let mut streams: Vec<_> = (0..2).map(|_| listener.accept().unwrap().0).collect();
        for stream in &mut streams {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            assert_eq!(lines.next().unwrap().unwrap(), "GET / HTTP/1.1");
            assert_eq!(lines.by_ref().map(Result::unwrap).take_while(|l| !l.is_empty()).count(), 2);
            stream.write_all(UNAVAILABLE).unwrap();
        }
        testing::until(|| clients.replies() == 2);
        assert_eq!((clients.count(), clients.broken()), (2, 0));
        drop(streams);
        testing::until(|| clients.broken() == 2);
    }
}
