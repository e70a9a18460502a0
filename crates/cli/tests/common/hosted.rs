//! Commands of oscost that listen.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::{Bench, Said, said_by, started};

/// A process that is killed with the test, so that one that fails leaves no server behind.
struct Guarded {
    /// The process; `None` once it was waited for.
    child: Option<Child>,
}

impl Guarded {
    /// Waits for the process, which must end normally.
    #[track_caller]
    fn ended(mut self) -> Said {
        said_by(self.child.take().expect("it runs")).with(0)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A server or sink that says on its standard error where it listens. It is killed with the test.
pub struct Listening {
    process: Guarded,
    /// Address at which it listens.
    pub address: SocketAddr,
}

impl Listening {
    /// Starts the command, and returns when it listens.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        let mut child = started(command);
        let address = next_address(child.stderr.as_mut().expect("a pipe"));
        Self { process: Guarded { child: Some(child) }, address }
    }

    /// The process.
    pub fn child(&mut self) -> &mut Child {
        self.process.child.as_mut().expect("it runs")
    }

    /// Asks the process to end, which it must do normally.
    #[cfg(target_os = "linux")]
    #[track_caller]
    pub fn stop(mut self) -> Said {
        super::linux::signal(self.child(), libc::SIGTERM);
        self.process.ended()
    }
}

/// The address in the next line, of which no more is read.
#[track_caller]
pub fn next_address(stderr: &mut ChildStderr) -> SocketAddr {
    let mut said = String::new();
    BufReader::with_capacity(1, stderr).read_line(&mut said).expect("it says where it listens");
    let address =
        said.split_whitespace().find_map(|word| word.trim_end_matches([';', ',']).parse().ok());
    address.unwrap_or_else(|| panic!("no address in: {said}"))
}

/// A server or sink started with `--report`: it answers each line on its standard input with a line of JSON on its standard output,
/// and ends at the end of its input.
pub struct Hosted {
    process: Guarded,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Address at which the server listens.
    pub address: SocketAddr,
}

impl Hosted {
    /// Starts the command at any free port, and returns when it listens.
    #[track_caller]
    pub fn start(bench: &Bench, arguments: &str) -> Self {
        Self::start_at(bench, arguments, "127.0.0.1:0")
    }

    /// Starts the server or sink at this address.
    pub fn start_at(bench: &Bench, arguments: &str, listen: &str) -> Self {
        let mut command = bench.command(&format!("{arguments} --listen {listen} --report"));
        let mut child = started(command.stdin(Stdio::piped()));
        let input = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let first = line(&mut output);
        // A sink may listen at several addresses.
        let listening = &first["listening"];
        let address = listening.as_str().or_else(|| listening[0].as_str());
        let address = address.and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("no address in: {first}"));
        Self { process: Guarded { child: Some(child) }, input, output, address }
    }

    /// Counters and resource usage of the process so far.
    #[track_caller]
    pub fn report(&mut self) -> Value {
        let input = self.input.as_mut().expect("it runs");
        writeln!(input).and_then(|()| input.flush()).expect("it reads");
        line(&mut self.output)
    }

    /// Closes the standard input of the process, which must then end normally. Returns its last report.
    #[track_caller]
    pub fn stop(mut self) -> Value {
        let report = self.report();
        drop(self.input.take());
        self.process.ended();
        report
    }
}

#[track_caller]
fn line(output: &mut impl BufRead) -> Value {
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"))
}

/// Any free port of a loopback address that no other test has: a server that ends and starts again gets the same port.
#[cfg(target_os = "linux")]
pub fn own_loopback() -> String {
    static GIVEN: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(1);
    let nth = GIVEN.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let [_, _, high, low] = std::process::id().to_be_bytes();
    format!("127.{}.{low}.{nth}:0", high | 0x80)
}
