//! Reports of a server over a TCP connection, for a load generator on another machine. The client sends an empty line for
//! each report, and gets a line of JSON.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use platform::CaseError;
use platform::process::spawn_with_own_descriptors;
use platform::socket::readiness::{Interest, Readiness};
use platform::socket::server::accept;
use platform::socket::transfer::{receive, send};
use serving::{PAUSE, Slots};

use crate::hosted::ServerReport;
use crate::server::Server;

/// Time limit for the client's next line, and for a whole report.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of connections. A further one takes the place of the one that has been silent for longest.
const CONNECTIONS_AT_MOST: usize = 16;
/// Maximum length of the client's line, in bytes.
const LINE_AT_MOST: usize = 64;
/// Maximum length of a report, in bytes.
const REPORT_AT_MOST: usize = 16 * 1024;
/// The number of the listener; connections have the numbers after it.
const LISTENER: usize = 0;

/// Starts a thread that answers connections to `address`. Returns the address at which it listens. The thread ends with the
/// process.
///
/// # Errors
/// If it cannot listen at `address`, or no thread can be started.
pub fn report_at(server: &Server, address: SocketAddr) -> Result<SocketAddr, CaseError> {
    let of = |e: io::Error| CaseError::from_io(&format!("report at {address}"), &e);
    let listener = TcpListener::bind(address).map_err(of)?;
    let bound = listener.local_addr().map_err(of)?;
    let counters = server.counters();
    let report = move || ServerReport::with(&counters, None);
    let reporter = Reporter::new(listener, PATIENCE).map_err(of)?;
    // With a shared table, the thread would hold connections open that the server has closed, and processes that the server
    // forks would hold the connections for reports open.
    spawn_with_own_descriptors(move || reporter.serve(&report)).map_err(of)?;
    Ok(bound)
}

/// Answers each line of its connections with a report, whatever the line contains.
struct Reporter {
    listener: TcpListener,
    readiness: Readiness,
    clients: Slots<Client>,
    /// Time limit for the client's next line.
    patience: Duration,
}

struct Client {
    stream: TcpStream,
    /// Length of the line that has begun.
    line: usize,
    /// The time at which the client times out.
    until: Instant,
}

impl Reporter {
    fn new(listener: TcpListener, patience: Duration) -> io::Result<Self> {
        let mut readiness = Readiness::new()?;
        listener.set_nonblocking(true)?;
        readiness.watch(&listener, LISTENER, Interest::Read)?;
        Ok(Self { listener, readiness, clients: Slots::default(), patience })
    }

    /// Serves until waiting for connections fails.
    fn serve(mut self, report: &impl Fn() -> ServerReport) {
        let mut ready = Vec::new();
        loop {
            let first = self.clients.iter().map(|(_, client)| client.until).min();
            let wait = first.map(|at| at.saturating_duration_since(Instant::now()));
            if self.readiness.wait(wait, &mut ready).is_err() {
                return;
            }
            let now = Instant::now();
            for one in ready.drain(..) {
                if one.number == LISTENER {
                    self.accept(now);
                } else if let Some(client) = self.clients.get_mut(one.number - 1)
                    && client.answer(report, now + self.patience).is_err()
                {
                    self.close(one.number - 1);
                }
            }
            while let Some((slot, client)) = self.most_silent()
                && client.until <= now
            {
                self.close(slot);
            }
        }
    }

    fn accept(&mut self, now: Instant) {
        match accept(&self.listener) {
            Ok(stream) => {
                if self.clients.len() == CONNECTIONS_AT_MOST
                    && let Some((slot, _)) = self.most_silent()
                {
                    self.close(slot);
                }
                let number = self.clients.next() + 1;
                if self.readiness.watch(&stream, number, Interest::Read).is_ok() {
                    let until = now + self.patience;
                    self.clients.insert(Client { stream, line: 0, until });
                }
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => {}
            // A shortage would be reported again at once.
            Err(_) => std::thread::sleep(PAUSE),
        }
    }

    fn most_silent(&self) -> Option<(usize, &Client)> {
        self.clients.iter().min_by_key(|(_, client)| client.until)
    }

    fn close(&mut self, slot: usize) {
        self.readiness.forget_closed(slot + 1);
        self.clients.remove(slot);
    }
}

impl Client {
    /// Answers what has arrived. A whole line gives the client time until `until` for the next one.
    ///
    /// # Errors
    /// If the connection must be closed.
    fn answer(&mut self, report: &impl Fn() -> ServerReport, until: Instant) -> io::Result<()> {
        let mut buffer = [0; LINE_AT_MOST];
        let count = match receive(&self.stream, &mut buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(());
            }
            Err(e) => return Err(e),
        };
        for &byte in &buffer[..count] {
            self.line += 1;
            if byte == b'\n' {
                let text = serde_json::to_string(&report()).expect("plain values") + "\n";
                // There is room for it, unless the client does not read.
                if send(&self.stream, text.as_bytes())? < text.len() {
                    return Err(ErrorKind::WouldBlock.into());
                }
                (self.line, self.until) = (0, until);
            } else if self.line == LINE_AT_MOST {
                return Err(ErrorKind::InvalidData.into());
            }
        }
        Ok(())
    }
}

/// A server that [reports](report_at).
#[derive(Debug)]
pub struct RemoteReports {
    address: SocketAddr,
}

impl RemoteReports {
    /// Asks the server for a first report, which is not used.
    ///
    /// # Errors
    /// See [`RemoteReports::report`].
    pub fn connect(address: SocketAddr) -> Result<Self, CaseError> {
        let reports = Self { address };
        reports.report().map(|_| reports)
    }

    /// Counters and resource usage of the server and all its processes, over a new connection: the server closes idle ones.
    ///
    /// # Errors
    /// `Failed` if no connection is possible, the answer is no report, or does not come in time.
    pub fn report(&self) -> Result<ServerReport, CaseError> {
        let line = self.line().map_err(|e| {
            CaseError::from_io(&format!("the server's report at {}", self.address), &e)
        })?;
        serde_json::from_slice(&line).map_err(|_| {
            CaseError::Failed(format!(
                "{} does not report as `oscost net serve --report-at` does",
                self.address
            ))
        })
    }

    /// The server's first line, or as much of it as a report may have.
    fn line(&self) -> io::Result<Vec<u8>> {
        let until = Instant::now() + PATIENCE;
        let mut stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.write_all(b"\n")?;
        let (mut line, mut buffer) = (Vec::new(), [0; 4 * 1024]);
        while !line.contains(&b'\n') && line.len() < REPORT_AT_MOST {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            stream.set_read_timeout(Some(left))?;
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => line.extend_from_slice(&buffer[..count]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::{Architecture, Protocol, ServerOptions, Task};

    fn server() -> Server {
        let options = ServerOptions {
            protocol: Protocol::TOO_BUSY,
            timeout: Duration::from_secs(1),
            workers: 1,
            cpus: vec![0],
            stdio_arguments: Vec::new(),
            task: Task::None,
            memory: 0,
            backlog: None,
        };
        let threads = Architecture::find("threads").unwrap();
        threads.bind(([127, 0, 0, 1], 0).into(), &options).unwrap()
    }

    /// Starts a thread that reports to clients for which it has this patience, after `begun`.
    fn reporting(patience: Duration, begun: impl FnOnce() + Send + 'static) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let reporter = Reporter::new(listener, patience).unwrap();
        std::thread::spawn(move || {
            begun();
            reporter.serve(&ServerReport::default);
        });
        address
    }

    fn client(address: SocketAddr) -> TcpStream {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(testing::PATIENCE)).unwrap();
        stream
    }

    /// Whether the server closes the connection before it sends anything.
    fn is_closed(mut stream: &TcpStream) -> bool {
        match stream.read(&mut [0; 8]) {
            Ok(count) => count == 0,
            Err(e) => !matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }

    #[test]
    fn reports_come_one_for_each_line_and_clients_may_send_anything() {
        let server = server();
        let address = report_at(&server, ([127, 0, 0, 1], 0).into()).unwrap();
        let mut rude = client(address);
        let _ = rude.write_all(&[b'x'; 100_000]); // the server closes the connection meanwhile
        assert!(is_closed(&rude));
        let mut twice = client(address);
        server.counters().timed_out.fetch_add(3, Ordering::Relaxed);
        twice.write_all(b"please\n\n").unwrap();
        let mut said = Vec::new();
        testing::until(|| {
            let mut buffer = [0; 1024];
            let count = twice.read(&mut buffer).unwrap();
            said.extend_from_slice(&buffer[..count]);
            said.iter().filter(|&&byte| byte == b'\n').count() == 2
        });
        let reports = RemoteReports::connect(address).unwrap();
        for _ in 0..3 {
            assert_eq!(reports.report().unwrap().timed_out, 3);
        }
    }

    #[test]
    fn silent_clients_are_replaced_by_others() {
        let address = reporting(testing::PATIENCE * 10, || ());
        let silent: Vec<_> = (0..2 * CONNECTIONS_AT_MOST).map(|_| client(address)).collect();
        let reports = RemoteReports::connect(address).unwrap();
        reports.report().unwrap();
        assert!(silent[..CONNECTIONS_AT_MOST].iter().all(is_closed));
    }

    #[test]
    fn silent_and_dripping_clients_are_closed() {
        let address = reporting(Duration::from_millis(300), || ());
        let silent = client(address);
        let dripping = client(address);
        dripping.set_nonblocking(true).unwrap();
        let mut drops = 0;
        testing::until(|| {
            drops += 1;
            // So few bytes that the limit of a line is not what closes the connection.
            let is_gone = drops < LINE_AT_MOST && (&dripping).write_all(b"x").is_err();
            std::thread::sleep(Duration::from_millis(100));
            is_gone || is_closed(&dripping)
        });
        assert!(drops < LINE_AT_MOST, "closed for another reason");
        assert!(is_closed(&silent));
    }

    #[test]
    #[cfg(unix)]
    fn a_server_that_was_interrupted_goes_on_reporting() {
        use platform::process::interrupts::{Interruptible, interrupt};

        let (wait_tx, wait_rx) = std::sync::mpsc::channel();
        let begun = move || wait_tx.send(Interruptible::event_loop().unwrap()).unwrap();
        let address = reporting(PATIENCE, begun);
        let wait = wait_rx.recv().unwrap();
        for _ in 0..20 {
            interrupt(wait);
            // It waits again before the next interrupt, which no event shows.
            std::thread::sleep(Duration::from_millis(1));
        }
        RemoteReports::connect(address).unwrap();
    }

    #[test]
    fn what_is_no_report_is_an_error() {
        for said in [&b""[..], b"hello\n", b"{\"cpu_ns\":-1}\n", &[b'{'; 40_000]] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let other = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 8]);
                let _ = stream.write_all(said);
            });
            let error = RemoteReports::connect(address).unwrap_err();
            assert!(error.to_string().contains(&address.to_string()), "{error}");
            other.join().unwrap();
        }
    }

    /// A server that sends a byte at a time is given up after [`PATIENCE`], however many it sends.
    #[test]
    fn a_report_that_drips_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let (error_tx, error_rx) = std::sync::mpsc::channel();
        std::thread::spawn(move || error_tx.send(RemoteReports::connect(address).unwrap_err()));
        let error = error_rx.recv_timeout(testing::PATIENCE).unwrap().to_string();
        assert!(error.contains(&address.to_string()), "{error}");
    }
}
