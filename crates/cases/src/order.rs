//! Orders to worker processes. A worker is this program, started again for a single task.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use mailsink::Latency;
use measure::RoundOrder;
use measure::user_code::LibraryFile;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use servers::{Protocol, Task};

/// The first argument of a worker; the second is its order as JSON.
pub const WORKER: &str = "worker";

/// Output of a worker that was started only to check that workers can be started.
pub const PROBED: &str = "started";

/// The task of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerOrder {
    /// Runs one round of one case, and prints its records as JSON Lines.
    Round(Box<RoundOrder>),
    /// Runs a server. Prints its address, then its resource usage whenever it reads a line from standard input, until
    /// the end of standard input.
    Serve(ServeOrder),
    /// Runs an SMTP sink. Prints its address, then its resource usage whenever it reads a line from standard input, until the end
    /// of standard input.
    Sink(SinkOrder),
    /// Serves one client, whose connection is standard input and output.
    Stdio(StdioOrder),
    /// Loads a library of the user and prints the name of the library's function.
    Name(NameOrder),
    /// Prints [`PROBED`], which shows that workers can be started.
    Probe,
}

/// The library to name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameOrder {
    /// The library.
    pub library: LibraryFile,
    /// Process id of the process that gave the order: the worker ends with it.
    pub parent: u32,
}

/// The server to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServeOrder {
    /// Name of the server's architecture.
    pub architecture: String,
    /// Protocol of the server.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub protocol: Protocol,
    /// Address to listen at; port 0 is any free one.
    pub listen: SocketAddr,
    /// The time limit for a client, in ms.
    pub timeout_ms: u64,
    /// The number of threads or processes started in advance, for architectures that do so.
    pub workers: usize,
    /// CPUs that the server may use.
    pub cpus: Vec<usize>,
    /// The work for each request.
    pub task: Task,
    /// Memory in bytes that the server uses besides what it needs.
    pub memory: usize,
    /// Maximum number of connections that wait to be accepted; the system's limit if `None`.
    pub backlog: Option<u16>,
    /// Tracepoint that counts the server's system calls; `None` if they are not counted.
    pub tracepoint: Option<u64>,
}

/// The sink to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SinkOrder {
    /// Addresses to listen at; port 0 is any free one.
    pub listen: Vec<SocketAddr>,
    /// Delays of the sink's replies.
    pub latencies: Vec<Latency>,
    /// CPUs that the sink may use.
    pub cpus: Vec<usize>,
    /// Tracepoint that counts the sink's system calls; `None` if they are not counted.
    pub tracepoint: Option<u64>,
}

/// The connection to serve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StdioOrder {
    /// The protocol to speak.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub protocol: Protocol,
    /// The time limit for the client, in ms.
    pub timeout_ms: u64,
    /// The work for each request.
    pub task: Task,
    /// Process id of the server; the worker ends when the server does.
    pub server: u32,
}

impl WorkerOrder {
    /// The arguments of the worker's process.
    pub fn arguments(&self) -> [String; 2] {
        let order = serde_json::to_string(self).expect("an order has only plain values");
        [WORKER.to_owned(), order]
    }

    /// The command that starts the worker.
    pub fn command(&self) -> Command {
        let mut command = worker();
        command.args(self.arguments());
        command
    }
}

/// The command that starts a worker, without the arguments of its order. Ctrl-C in a terminal does not reach it.
pub fn worker() -> Command {
    let mut command = Command::new(this_program());
    platform::process::keep_interrupts_from(&mut command);
    command
}

/// The file of this program. On Linux, `/proc` may be missing, or the file may have been replaced since this process
/// started; `/proc/self/exe` still refers to the running file.
fn this_program() -> PathBuf {
    const SELF: &str = "/proc/self/exe";
    match std::env::current_exe() {
        Ok(path) if path.exists() => path,
        Ok(_) if Path::new(SELF).exists() => SELF.into(),
        _ => std::env::args_os().next().unwrap_or_else(|| "oscost".into()).into(),
    }
}

fn as_text<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn from_text<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    String::deserialize(deserializer)?.parse().map_err(Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_reads_back_from_its_argument() {
        let protocol: Protocol = "http/3".parse().expect("a protocol");
        let listen: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        let latency = |text: &str| text.parse().expect("a latency");
        for order in [
            WorkerOrder::Probe,
            WorkerOrder::Stdio(StdioOrder {
                protocol,
                timeout_ms: 20_000,
                task: Task::Cpu { ns: 20_000, ns_per_iteration: 0.625 },
                server: 4711,
            }),
            WorkerOrder::Name(NameOrder {
                library: LibraryFile { path: "/x.so".to_owned(), checksum: 7, memory: 1 << 30 },
                parent: 1,
            }),
            WorkerOrder::Serve(ServeOrder {
                architecture: "epoll".to_owned(),
                protocol,
                listen,
                timeout_ms: 1,
                workers: 64,
                cpus: vec![0, 3],
                task: Task::Fsync { path: "/tmp/x".into() },
                memory: 1 << 20,
                backlog: Some(128),
                tracepoint: Some(u64::MAX),
            }),
            WorkerOrder::Sink(SinkOrder {
                listen: vec![listen, "[::1]:25".parse().expect("an address")],
                latencies: vec![latency("rcpt=1ms..2.5ms"), latency("exp:10ms")],
                cpus: Vec::new(),
                tracepoint: None,
            }),
        ] {
            let [worker, text] = order.arguments();
            assert_eq!(worker, WORKER);
            assert_eq!(serde_json::from_str::<WorkerOrder>(&text).expect("an order"), order);
        }
    }

    #[test]
    fn a_protocol_that_does_not_exist_is_an_error() {
        let text = r#"{"stdio":{"protocol":"smtp","timeout_ms":1,"task":"none","server":1}}"#;
        let error = serde_json::from_str::<WorkerOrder>(text).unwrap_err().to_string();
        assert!(error.contains("smtp"), "{error}");
    }
}
