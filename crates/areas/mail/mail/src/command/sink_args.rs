//! `oscost mail sink`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use command::values::{budget, size, time};
use mailsink::{Addresses, Extension, Fault, Latency};

/// `oscost mail sink`.
#[derive(Debug, Args)]
#[command(after_help = "\
A fault is PHASE:KIND:RATE. Phases: connect, ehlo, starttls, auth, mail, rcpt, data, body (while the message is \
received), end (the reply to the whole message), rset, quit, any. Kinds: drop, reset, stall (no further reply), 4xx, 5xx, \
malformed, endless, slowly (byte by byte), late (at end: the message is accepted, but the reply is never sent). Rates: \
20% or 0.2. With the same --seed, the n-th connection has the same faults.

A latency is 10ms, 5ms..20ms (uniform) or exp:10ms (exponential, with this mean), for all phases or, as in rcpt=10ms, \
for one.

Examples:
  oscost mail sink --listen 127.0.0.1-200:2525
  oscost mail sink --tls --write-ca ca.pem --user me:secret --log accepted.jsonl
  oscost mail sink --fault rcpt:4xx:20% --fault end:late:1% --latency exp:10ms --seed 7
  oscost mail sink --without pipelining,chunking --capture mail")]
pub struct MailSink {
    /// Address to listen at, or a range of last octets as in 127.0.0.1-200:2525 (may be repeated); port 0 is any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:2525")]
    pub listen: Vec<Addresses>,
    /// Accept mail from other machines
    #[arg(long)]
    pub beyond_this_machine: bool,
    /// Timeout for a client's whole command, for each kilobyte of a message, and for receiving a reply
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = budget, allow_hyphen_values = true)]
    pub timeout: Duration,
    /// Largest message, in bytes
    #[arg(long, value_name = "BYTES", default_value = "52428800", value_parser = message_size, allow_hyphen_values = true)]
    pub size: u64,
    /// Extensions that are not offered: pipelining, size, 8bitmime, smtputf8, enhancedstatuscodes, chunking, starttls, auth
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub without: Vec<Extension>,
    /// Reject EHLO, as old servers do
    #[arg(long)]
    pub helo_only: bool,
    /// Offer STARTTLS with a new self-signed certificate
    #[arg(long)]
    pub tls: bool,
    /// Offer STARTTLS with this certificate, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_certificate: Option<PathBuf>,
    /// Private key of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
    /// Write the certificate to this file, for senders to trust
    #[arg(long, value_name = "FILE")]
    pub write_ca: Option<PathBuf>,
    /// The only user and password that AUTH accepts [default: any]
    #[arg(long, value_name = "NAME:PASSWORD", value_parser = login)]
    pub user: Option<(String, String)>,
    /// Inject a fault, PHASE:KIND:RATE as in rcpt:4xx:20% (may be repeated)
    #[arg(long = "fault", value_name = "FAULT")]
    pub faults: Vec<Fault>,
    /// Delay replies, as in 10ms or rcpt=5ms..20ms (may be repeated)
    #[arg(long = "latency", value_name = "LATENCY")]
    pub latencies: Vec<Latency>,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Defer each new recipient for this time
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub greylist: Option<Duration>,
    /// Delay each byte of a reply by this time
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub tarpit: Option<Duration>,
    /// Size of the socket receive buffer
    #[arg(long, value_name = "BYTES", value_parser = window, allow_hyphen_values = true)]
    pub window: Option<usize>,
    /// Read at most this number of bytes per second from each connection
    #[arg(long, value_name = "BYTES", value_parser = message_size, allow_hyphen_values = true)]
    pub read_rate: Option<u64>,
    /// Append a line of JSON for each accepted message to this file
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Write each accepted message and its envelope into this folder
    #[arg(long, value_name = "DIR")]
    pub capture: Option<PathBuf>,
    /// Run on these CPUs only, such as 0 or 0,2 [default: all]
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    pub bind_cpu: Vec<usize>,
    /// Print the counters as JSON
    #[arg(long)]
    pub json: bool,
    /// Print counters and resource usage as a line of JSON for each line on stdin, and end when stdin ends
    #[arg(long)]
    pub report: bool,
}

fn message_size(text: &str) -> Result<u64, String> {
    match size(text)? {
        bytes @ 1..=1_000_000_000_000 => Ok(bytes),
        _ => Err("it must be 1 to 1000000000000 bytes".into()),
    }
}

fn window(text: &str) -> Result<usize, String> {
    match size(text)? {
        bytes @ 1..=1_000_000_000 => Ok(bytes as usize),
        _ => Err("it must be 1 to 1000000000 bytes".into()),
    }
}

fn login(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, password)) if !name.is_empty() => Ok((name.to_owned(), password.to_owned())),
        _ => Err("it is not NAME:PASSWORD".into()),
    }
}
