//! `oscost net`.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use clap::{Args, Subcommand};
use command::values::{
    budget, connection_range, connections, count, cpu, endpoint, from_to, nameserver, share, size,
};
use servers::{ARCHITECTURES, Architecture, Protocol, Work};

/// Run a server of any architecture, or the load generator, by hand.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oscost net serve --arch epoll --protocol 450 --listen 127.0.0.1:2525\n  oscost net load --to 127.0.0.1:2525 --protocol 450 --concurrency 1..10000 --ramp"
)]
pub struct Net {
    #[command(subcommand)]
    pub command: NetCommand,
}

/// A subcommand.
#[derive(Debug, Subcommand)]
pub enum NetCommand {
    /// Run a server of one architecture, until Ctrl-C or SIGTERM.
    Serve(Serve),
    /// Send requests to a server, with more connections at each step or at a fixed rate.
    Load(NetLoad),
}

/// `oscost net serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oscost net serve --arch epoll --protocol 450 --listen 127.0.0.1:2525
  oscost net serve --arch threads --protocol http --bind-cpu 1 --work cpu:20us
  oscost net serve --arch epoll --listen 192.0.2.1:2525 --report-at 192.0.2.1:2526 --beyond-this-machine
  oscost net serve --list")]
pub struct Serve {
    /// The server's architecture; --list describes them
    #[arg(long, value_name = "NAME", value_parser = architecture, default_value = "threads")]
    pub arch: &'static Architecture,
    /// The protocol: 450 (reply and close), echo, echo:SIZE, http or http-close; echo/N and http/N close after N requests
    #[arg(long, value_name = "NAME", default_value = "450")]
    pub protocol: Protocol,
    /// Address to listen at, as in localhost:2525; port 0 is any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:2525", value_parser = endpoint)]
    pub listen: SocketAddr,
    /// Timeout for a client that does not send or read
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = budget, allow_hyphen_values = true)]
    pub timeout: Duration,
    /// Number of threads or processes, for architectures that start them in advance
    #[arg(long, value_name = "N", default_value = "64", value_parser = from_to::<1, 4096>, allow_hyphen_values = true)]
    pub workers: usize,
    /// Run on these CPUs only, such as 0 or 0,2 [default: all]
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    pub bind_cpu: Vec<usize>,
    /// Work for each request before the reply: none, cpu:TIME, file:SIZE (reads a file), fsync or dns. An event loop
    /// serves nobody else meanwhile
    #[arg(long, value_name = "WORK", default_value = "none")]
    pub work: Work,
    /// Name server for the work dns, at port 53 unless another is given
    #[arg(long, value_name = "ADDRESS", value_parser = nameserver)]
    pub nameserver: Option<SocketAddr>,
    /// Memory that the server's first process uses besides what it needs, such as 256m
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = memory, allow_hyphen_values = true)]
    pub memory: usize,
    /// The most connections that wait to be accepted [default: the system's limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_hyphen_values = true)]
    pub backlog: Option<u16>,
    /// List the architectures
    #[arg(long)]
    pub list: bool,
    /// Print counters and resource usage as a line of JSON for each line on stdin, and end when stdin ends
    #[arg(long)]
    pub report: bool,
    /// Answer each line of connections to this address in the same way, at most 16 at once, for `oscost net load --server-report` on another machine
    #[arg(long, value_name = "ADDRESS", value_parser = endpoint)]
    pub report_at: Option<SocketAddr>,
    /// Serve clients and reports to other machines
    #[arg(long)]
    pub beyond_this_machine: bool,
}

/// `oscost net load`.
#[derive(Debug, Args)]
#[command(after_help = "\
Protocols: `450`: the server sends `450 too busy` and closes the connection; `echo:SIZE`: it sends back what it \
receives; `http` and `http-close`. With `/N` after echo or http, the server closes after N replies.

With --concurrency the loop is closed: each connection sends its next request after the reply. With --rate the loop is \
open: each request has a scheduled time, from which its latency counts, on up to --concurrency connections.

Examples:
  oscost net load --to 127.0.0.1:2525 --protocol 450 --concurrency 1..10000 --ramp
  oscost net load --to 127.0.0.1:8080 --protocol http --status 503 --concurrency 200 --server-pid 4711
  oscost net load --to 127.0.0.1:8080 --protocol http --rate 5000 --duration 10s --bind-cpu 0
  oscost net load --to 192.0.2.1:2525 --protocol 450 --server-report 192.0.2.1:2526 --threads 4 --beyond-this-machine")]
pub struct NetLoad {
    /// Address of the server, as in 127.0.0.1:2525, localhost:2525 or http://localhost:8080/
    #[arg(long, value_name = "ADDRESS", value_parser = endpoint)]
    pub to: SocketAddr,
    /// The protocol
    #[arg(long, value_name = "PROTOCOL")]
    pub protocol: Protocol,
    /// Expect this HTTP status, from any HTTP server whose replies all have the same body
    #[arg(long, value_name = "CODE", value_parser = status, allow_hyphen_values = true)]
    pub status: Option<u16>,
    /// Number of connections: 200, or 1,10,100, or with --ramp 1..10000
    #[arg(long, value_name = "N", default_value = "100", value_parser = concurrency, allow_hyphen_values = true)]
    pub concurrency: Connections,
    /// Increase the number of connections in steps: 1, 10, 100, 500, 1000, 1500, 2500, 5000, 10000 ...
    #[arg(long)]
    pub ramp: bool,
    /// Send this number of requests per second, whether or not earlier ones have been answered
    #[arg(long, value_name = "N", value_parser = rate, allow_hyphen_values = true, conflicts_with_all = ["ramp", "idle"])]
    pub rate: Option<f64>,
    /// Leave the connections idle after one request, to measure the memory of each
    #[arg(long)]
    pub idle: bool,
    /// Duration of each step
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = budget, allow_hyphen_values = true)]
    pub duration: Duration,
    /// Timeout for a connection and for a reply
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = budget, allow_hyphen_values = true)]
    pub timeout: Duration,
    /// Connect from this address, or from these in turn (may be repeated)
    #[arg(long = "source", value_name = "IP", value_delimiter = ',')]
    pub sources: Vec<IpAddr>,
    /// Run the generator on this CPU, or each of its threads on one of these
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = cpu, allow_hyphen_values = true)]
    pub bind_cpu: Vec<usize>,
    /// Number of threads of the generator, which share the connections [default: one for each CPU of --bind-cpu]
    #[arg(long, value_name = "N", value_parser = from_to::<1, THREADS_AT_MOST>, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// Process id of the server, to show its CPU time and memory, and whether it or the generator was the bottleneck
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
    /// Ask the server for its CPU time at this address, at which `oscost net serve --report-at` listens
    #[arg(long, value_name = "ADDRESS", conflicts_with = "server_pid", value_parser = endpoint)]
    pub server_report: Option<SocketAddr>,
    /// Exit code 1 if a larger share of a step's requests fails, such as 1%; without it errors are only shown
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub max_errors: Option<f64>,
    /// Allow a server on another machine; get the permission of its owner first
    #[arg(long)]
    pub beyond_this_machine: bool,
    /// Print the steps as one JSON document
    #[arg(long)]
    pub json: bool,
}

/// The numbers of connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connections {
    /// One step for each of these.
    Each(Vec<usize>),
    /// Steps from the first to the second.
    Range(usize, usize),
}

fn concurrency(text: &str) -> Result<Connections, String> {
    if text.contains("..") {
        return connection_range(text).map(|(from, to)| Connections::Range(from, to));
    }
    text.split(',').map(connections).collect::<Result<_, _>>().map(Connections::Each)
}

fn rate(text: &str) -> Result<f64, String> {
    match count(text)? {
        rate @ 1..=10_000_000 => Ok(rate as f64),
        _ => Err("it must be 1 to 10000000 per second".into()),
    }
}

fn status(text: &str) -> Result<u16, String> {
    match count(text)? {
        status @ 200..=599 => Ok(status as u16),
        _ => Err("it is not an HTTP status such as 200 or 503".into()),
    }
}

/// Each thread has a megabyte of buffers and histograms.
const THREADS_AT_MOST: usize = 64;

/// The maximum of `--memory`.
const MEMORY_AT_MOST: u64 = 64 << 30;

fn memory(text: &str) -> Result<usize, String> {
    match size(text)? {
        bytes @ 0..=MEMORY_AT_MOST => usize::try_from(bytes).map_err(|e| e.to_string()),
        _ => Err("at most 64g".into()),
    }
}

fn architecture(text: &str) -> Result<&'static Architecture, String> {
    Architecture::find(text).ok_or_else(|| {
        let names: Vec<_> = ARCHITECTURES.iter().map(|one| one.name).collect();
        format!("the architectures are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_decimal_and_sizes_binary() {
        assert_eq!((rate("1k"), rate("2m")), (Ok(1_000.0), Ok(2_000_000.0)));
        assert_eq!(concurrency("10k"), Ok(Connections::Each(vec![10_000])));
        assert_eq!(concurrency("1..10k"), Ok(Connections::Range(1, 10_000)));
        assert_eq!(memory("1k"), Ok(1_024));
    }

    #[test]
    fn numbers_of_connections() {
        assert_eq!(concurrency("1,10"), Ok(Connections::Each(vec![1, 10])));
        assert_eq!(concurrency("1..10000"), Ok(Connections::Range(1, 10_000)));
        for bad in ["", "0", "1,", "9..1", "1..", "..9", "-1", "1000001", "1...9"] {
            assert!(concurrency(bad).is_err(), "{bad}");
        }
    }
}
