//! Workers that run a server, or serve one connection.

use std::fmt::Display;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use measure::CaseError;
use platform::process::limits::raise_descriptors;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use servers::hosted::tell_refusal;
use servers::{Architecture, Protocol, ServerOptions, Task as Work};

use catalog::worker::{Task, keep_to, read_order, worker_arguments};

/// Runs a server. Prints its address, then its resource usage whenever it reads a line from standard input, until the end of
/// standard input.
pub const SERVE: Task = Task { name: "serve", run: |order| serve(&read_order(order)?) };
/// Serves one client, whose connection is standard input and output.
pub const STDIO: Task = Task { name: "stdio", run: |order| serve_stdio(&read_order(order)?) };

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
    pub task: Work,
    /// Memory in bytes that the server uses besides what it needs.
    pub memory: usize,
    /// Maximum number of connections that wait to be accepted; the system's limit if `None`.
    pub backlog: Option<u16>,
    /// Tracepoint that counts the server's system calls; `None` if they are not counted.
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
    pub task: Work,
    /// Process id of the server; the worker ends when the server does.
    pub server: u32,
}

impl StdioOrder {
    /// The arguments of the worker's process.
    pub fn arguments(&self) -> Vec<String> {
        worker_arguments(STDIO.name, self).into()
    }
}

fn serve(order: &ServeOrder) -> Result<(), CaseError> {
    let ServeOrder { protocol, timeout_ms, .. } = *order;
    let unknown = || CaseError::Failed(format!("no architecture {}", order.architecture));
    let architecture = Architecture::find(&order.architecture).ok_or_else(unknown)?;
    raise_descriptors();
    keep_to(&order.cpus)?;
    let task = order.task.clone();
    let stdio = StdioOrder { protocol, timeout_ms, task, server: std::process::id() };
    let options = ServerOptions {
        protocol,
        timeout: Duration::from_millis(timeout_ms),
        workers: order.workers,
        cpus: platform::cpu::allowed(),
        stdio_arguments: stdio.arguments(),
        task: order.task.clone(),
        memory: order.memory,
        backlog: order.backlog,
    };
    let server = architecture.bind(order.listen, &options).inspect_err(tell_refusal)?;
    servers::hosted::host(&server, order.tracepoint)
        .map_err(|e| CaseError::from_io("the server failed", &e))
}

#[cfg(unix)]
fn serve_stdio(order: &StdioOrder) -> Result<(), CaseError> {
    let timeout = Duration::from_millis(order.timeout_ms);
    let task = order.task.clone();
    servers::architecture::exec::serve_stdio(order.protocol, timeout, task, order.server)
}

#[cfg(not(unix))]
fn serve_stdio(_: &StdioOrder) -> Result<(), CaseError> {
    Err(CaseError::Unsupported("no program serves a connection on stdio on this system".to_owned()))
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
        let stdio = StdioOrder {
            protocol,
            timeout_ms: 20_000,
            task: Work::Cpu { ns: 20_000, ns_per_iteration: 0.625 },
            server: 4711,
        };
        assert_eq!(read_order::<StdioOrder>(&stdio.arguments()[2]).expect("an order"), stdio);
        let serve = ServeOrder {
            architecture: "epoll".to_owned(),
            protocol,
            listen: "127.0.0.1:0".parse().expect("an address"),
            timeout_ms: 1,
            workers: 64,
            cpus: vec![0, 3],
            task: Work::Fsync { path: "/tmp/x".into() },
            memory: 1 << 20,
            backlog: Some(128),
            tracepoint: Some(u64::MAX),
        };
        let [_, task, text] = worker_arguments(SERVE.name, &serve);
        assert_eq!(task, "serve");
        assert_eq!(read_order::<ServeOrder>(&text).expect("an order"), serve);
    }

    #[test]
    fn a_protocol_that_does_not_exist_is_an_error() {
        let text = r#"{"protocol":"smtp","timeout_ms":1,"task":"none","server":1}"#;
        let error = read_order::<StdioOrder>(text).unwrap_err().to_string();
        assert!(error.contains("smtp"), "{error}");
    }
}
