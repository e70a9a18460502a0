//! Reports of a server over a TCP connection, for a load generator on another machine. The client sends an empty line for
//! each report, and gets a line of JSON.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use platform::CaseError;
use platform::process::spawn_with_own_descriptors;

use crate::hosted::ServerReport;
use crate::server::Server;

/// Time after which a connection without requests is closed.
const IDLE_AT_MOST: Duration = Duration::from_secs(3_600);
/// Time limit for a report.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum length of a report, in bytes.
const REPORT_AT_MOST: u64 = 16 * 1024;

/// Starts a thread that answers connections to `address`, one after the other. Returns the address at which it listens. The
/// thread ends with the process.
///
/// # Errors
/// If it cannot listen at `address`, or no thread can be started.
pub fn report_at(server: &Server, address: SocketAddr) -> Result<SocketAddr, CaseError> {
    let of = |e: std::io::Error| CaseError::from_io(&format!("report at {address}"), &e);
    let listener = TcpListener::bind(address).map_err(of)?;
    let bound = listener.local_addr().map_err(of)?;
    let counters = server.counters();
    let report = move || ServerReport::with(&counters, None);
    let serve = move || {
        for stream in listener.incoming().flatten() {
            // A client that closes its connection is no error of the server.
            let _ = answer(stream, &report);
        }
    };
    // With a shared table, the thread would hold connections open that the server has closed, and processes that the server
    // forks would hold the connections for reports open.
    spawn_with_own_descriptors(serve).map_err(of)?;
    Ok(bound)
}

/// Answers each line with a report until the client closes. The lines' contents are ignored.
fn answer(mut stream: TcpStream, report: &impl Fn() -> ServerReport) -> std::io::Result<()> {
    stream.set_read_timeout(Some(IDLE_AT_MOST))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut buffer = [0; 64];
    loop {
        let count = match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            // Linux ends a receive call that has a timeout when its process is stopped and continued.
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        for _line in buffer[..count].iter().filter(|&&byte| byte == b'\n') {
            let text = serde_json::to_string(&report()).expect("plain values");
            stream.write_all((text + "\n").as_bytes())?;
        }
    }
}

/// A connection to a server that [reports](report_at).
#[derive(Debug)]
pub struct RemoteReports {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl RemoteReports {
    /// Connects to the server's address for reports.
    ///
    /// # Errors
    /// Errors of connecting.
    pub fn connect(address: SocketAddr) -> Result<Self, CaseError> {
        let of = |e: std::io::Error| {
            CaseError::from_io(&format!("the server's report at {address}"), &e)
        };
        let stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(of)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(of)?;
        stream.set_nodelay(true).map_err(of)?;
        Ok(Self { address, stream: BufReader::new(stream) })
    }

    /// Counters and resource usage of the server and all its processes.
    ///
    /// # Errors
    /// `Failed` if the connection is lost, or the answer is no report.
    pub fn report(&mut self) -> Result<ServerReport, CaseError> {
        let of = |e: std::io::Error| {
            CaseError::from_io(&format!("the server's report at {}", self.address), &e)
        };
        self.stream.get_mut().write_all(b"\n").map_err(of)?;
        let mut line = String::new();
        self.stream.by_ref().take(REPORT_AT_MOST).read_line(&mut line).map_err(of)?;
        serde_json::from_str(&line).map_err(|_| {
            CaseError::Failed(format!(
                "{} does not report as `oscost net serve --report-at` does",
                self.address
            ))
        })
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn reports_come_one_for_each_line_and_clients_may_send_anything() {
        let server = server();
        let address = report_at(&server, ([127, 0, 0, 1], 0).into()).unwrap();
        let mut rude = TcpStream::connect(address).unwrap();
        rude.write_all(&[b'x'; 100_000]).unwrap();
        drop(rude);
        let mut reports = RemoteReports::connect(address).unwrap();
        server.counters().timed_out.fetch_add(3, std::sync::atomic::Ordering::Relaxed);
        for _ in 0..3 {
            assert_eq!(reports.report().unwrap().timed_out, 3);
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_server_that_was_interrupted_goes_on_reporting() {
        use platform::process::interrupts::{Interruptible, interrupt};

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut reports = RemoteReports::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let counters = server().counters();
        let (wait_tx, wait_rx) = std::sync::mpsc::channel();
        let answering = std::thread::spawn(move || {
            wait_tx.send(Interruptible::event_loop().unwrap()).unwrap();
            answer(stream, &|| ServerReport::with(&counters, None))
        });
        let wait = wait_rx.recv().unwrap();
        for _ in 0..20 {
            interrupt(wait);
            // It waits again before the next interrupt, which no event shows.
            std::thread::sleep(Duration::from_millis(1));
        }
        reports.report().unwrap();
        // The thread of another test may hold a copy of the descriptor.
        reports.stream.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
        answering.join().unwrap().unwrap();
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
            let error = RemoteReports::connect(address).unwrap().report().unwrap_err();
            assert!(error.to_string().contains(&address.to_string()), "{error}");
            other.join().unwrap();
        }
    }
}
