//! `oscost mail`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use command::values::{
    budget, connection_range, connections, count, cpu, from_to, nameserver, share, time,
};

use super::sink_args::MailSink;

/// Deliver a message to a long list, or run an SMTP server that discards mail.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oscost mail send --list recipients.csv --message message.eml --from bounce@example.org --connections 1500\n  oscost mail sink --listen 127.0.0.1:2525"
)]
pub struct Mail {
    #[command(subcommand)]
    pub command: MailCommand,
}

/// A subcommand.
#[derive(Debug, Subcommand)]
pub enum MailCommand {
    /// Deliver a message to all recipients of a list; in test mode no message is sent.
    Send(Box<MailSend>),
    /// Run an SMTP server that discards mail, until Ctrl-C or SIGTERM; print its counters at the end.
    Sink(Box<MailSink>),
}

/// `oscost mail send`.
#[derive(Debug, Args)]
#[command(after_help = "\
Test mode makes the whole delivery up to and including RCPT TO for every recipient, then sends RSET instead of DATA. \
It is on unless all servers have loopback addresses or --really-send is given.

In the message, {name} stands for the recipient's value in the list's column of that name.

Examples:
  oscost mail send --list recipients.csv --message message.eml --from bounce@example.org
  oscost mail send --list recipients.csv --message message.eml --from bounce@example.org --relay 127.0.0.1:2525
  oscost mail send --list recipients.csv --message message.eml --from bounce@example.org --really-send --resume
  oscost mail send --list recipients.csv --message message.eml --from me@example.org --relay 127.0.0.1:2525 --sweep 1..5000")]
pub struct MailSend {
    /// The recipients: a CSV file with a column `email` or `address`
    #[arg(long, value_name = "FILE")]
    pub list: PathBuf,
    /// Name of the column with the addresses
    #[arg(long, value_name = "NAME")]
    pub address_column: Option<String>,
    /// The message: a file with header and body (.eml)
    #[arg(long, value_name = "FILE")]
    pub message: PathBuf,
    /// The return path, to which bounces are sent; may be empty
    #[arg(long, value_name = "ADDRESS")]
    pub from: String,
    /// Use a return path that names the recipient (VERP): bounce+jo=example.net@example.org
    #[arg(long)]
    pub verp: bool,
    /// Add the header List-Unsubscribe; {name} is replaced by a column: "<https://example.org/out?{id}>"
    #[arg(long, value_name = "URIS")]
    pub list_unsubscribe: Option<String>,
    /// Declare that unsubscribing takes one click (RFC 8058)
    #[arg(long, requires = "list_unsubscribe")]
    pub one_click: bool,
    /// Sign with this private key (DKIM): RSA or Ed25519, in PEM form
    #[arg(long, value_name = "FILE", requires = "dkim_selector")]
    pub dkim_key: Option<PathBuf>,
    /// DKIM selector: the part of the key's name before ._domainkey
    #[arg(long, value_name = "NAME", requires = "dkim_key")]
    pub dkim_selector: Option<String>,
    /// The signing domain [default: that of --from]
    #[arg(long, value_name = "DOMAIN", requires = "dkim_key")]
    pub dkim_domain: Option<String>,

    #[command(flatten)]
    pub transport: Transport,

    /// Test mode: do not send the message. The default unless all mail stays on this machine
    #[arg(long)]
    pub dry: bool,
    /// Send the message, also to other machines
    #[arg(long, conflicts_with = "dry")]
    pub really_send: bool,

    /// Simultaneous connections in total
    #[arg(long, value_name = "N", default_value = "1500", value_parser = connections, allow_hyphen_values = true, help_heading = "Concurrency")]
    pub connections: usize,
    /// Simultaneous connections to one domain; a relay gets all
    #[arg(long, value_name = "N", default_value = "20", value_parser = connections, allow_hyphen_values = true, help_heading = "Concurrency")]
    pub per_domain: usize,
    /// Recipients per transaction; a personal message has one
    #[arg(long, value_name = "N", default_value = "100", value_parser = recipients, allow_hyphen_values = true, help_heading = "Concurrency")]
    pub recipients: usize,
    /// Transactions per connection
    #[arg(long, value_name = "N", default_value = "100", value_parser = at_least_one, allow_hyphen_values = true, help_heading = "Concurrency")]
    pub transactions: usize,
    /// Number of event loops [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = from_to::<1, LOOPS_AT_MOST>, allow_hyphen_values = true, help_heading = "Concurrency")]
    pub loops: Option<usize>,
    /// How connections are handled
    #[arg(long, value_enum, default_value = "loop", help_heading = "Concurrency")]
    pub arch: MailArch,
    /// Run on these CPUs only, such as 0 or 0,2
    #[arg(long, value_name = "CPUS", value_delimiter = ',', value_parser = cpu, allow_hyphen_values = true, help_heading = "Concurrency")]
    pub bind_cpu: Vec<usize>,

    /// Timeout for a server; the shorter timeouts of RFC 5321 still apply
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = period, allow_hyphen_values = true, help_heading = "Retries and journal")]
    pub timeout: Duration,
    /// Deferred recipients are retried after this time, which doubles with each retry
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = period, allow_hyphen_values = true, help_heading = "Retries and journal")]
    pub retry_after: Duration,
    /// Longest time between two retries
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = period, allow_hyphen_values = true, help_heading = "Retries and journal")]
    pub retry_at_most: Duration,
    /// Give up a recipient that has been deferred for this time in total
    #[arg(long, value_name = "TIME", default_value = "4h", value_parser = period, allow_hyphen_values = true, help_heading = "Retries and journal")]
    pub give_up: Duration,
    /// File that records the status of each recipient [default: the list's name with .journal]
    #[arg(long, value_name = "FILE", help_heading = "Retries and journal")]
    pub journal: Option<PathBuf>,
    /// Continue a delivery that was stopped or killed
    #[arg(long, help_heading = "Retries and journal")]
    pub resume: bool,
    /// Exit code 1 only if a larger share of the recipients fails or is given up, such as 2% [default: any]
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Retries and journal")]
    pub max_failed: Option<f64>,
    /// Keep no journal, so that no record of the delivery remains; for measurements
    #[arg(long, conflicts_with_all = ["journal", "resume"], help_heading = "Retries and journal")]
    pub no_journal: bool,

    /// Deliver in test mode with more connections at each step, such as 1..5000, and print the rates; without a journal,
    /// to loopback addresses only
    #[arg(long, value_name = "FROM..TO", value_parser = connection_range, conflicts_with_all = ["really_send", "resume", "journal"], help_heading = "Sweep")]
    pub sweep: Option<(usize, usize)>,
    /// Longest time of each step of a sweep
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = budget, allow_hyphen_values = true, help_heading = "Sweep")]
    pub step: Duration,
    /// Number of times that a sweep goes through all steps
    #[arg(long, value_name = "N", default_value = "3", value_parser = from_to::<1, PASSES_AT_MOST>, allow_hyphen_values = true, help_heading = "Sweep")]
    pub passes: usize,

    /// Print the result as one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Routes, and how servers are contacted.
#[derive(Debug, Args)]
#[command(next_help_heading = "Routes and sessions")]
pub struct Transport {
    /// Send all mail to this server [default: the servers in the domains' MX records]
    #[arg(long, value_name = "HOST[:PORT]")]
    pub relay: Option<String>,
    /// File with routes: each line has a domain and the address of its server
    #[arg(long, value_name = "FILE", conflicts_with = "relay")]
    pub route: Option<PathBuf>,
    /// Name server for MX records, at port 53 unless another is given [default: the system's]
    #[arg(long, value_name = "ADDRESS", value_parser = nameserver, conflicts_with_all = ["relay", "route"])]
    pub nameserver: Option<SocketAddr>,
    /// Port of the servers in MX records
    #[arg(long, value_name = "PORT", default_value = "25", value_parser = port, allow_hyphen_values = true, conflicts_with_all = ["relay", "route"])]
    pub port: u16,
    /// Name to send in EHLO [default: this machine's name]
    #[arg(long, value_name = "NAME")]
    pub hello: Option<String>,
    /// Use of TLS: `offered` accepts any certificate, `required` only a valid one [default: offered; with a password,
    /// required]
    #[arg(long, value_enum)]
    pub tls: Option<TlsMode>,
    /// Trust these certificates (PEM) instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// File with user:password for the relay [default: $OSCOST_MAIL_AUTH, if set]. Sent over TLS only
    #[arg(long, value_name = "FILE")]
    pub auth_file: Option<PathBuf>,
    /// Send commands one by one, even if the server offers PIPELINING
    #[arg(long)]
    pub no_pipelining: bool,
    /// Send the message by DATA, even if the server offers CHUNKING
    #[arg(long)]
    pub no_chunking: bool,
    /// Connect from this address, or from these in turn (may be repeated)
    #[arg(long = "source", value_name = "IP", value_delimiter = ',')]
    pub sources: Vec<IpAddr>,
}

/// Use of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TlsMode {
    /// Never
    Off,
    /// If the server offers it, with any certificate
    Offered,
    /// Always, with a valid certificate
    Required,
}

/// How connections are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MailArch {
    /// Event loops over epoll, or the best interface of the system
    Loop,
    /// Event loops over poll
    Poll,
    /// A thread for each connection
    Threads,
    /// A process for each connection
    Processes,
}

/// Longest timeout and retry period: senders give up after days (RFC 5321, section 4.5.4.1).
const LONGEST_PERIOD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

fn period(text: &str) -> Result<Duration, String> {
    match time(text)? {
        time if time > LONGEST_PERIOD => Err("it is more than 30 days (720h)".into()),
        time => Ok(time),
    }
}

/// More passes than these take hours.
const PASSES_AT_MOST: usize = 100;

/// Each loop takes a thread and 64 KiB; more loops than CPUs have no benefit.
const LOOPS_AT_MOST: usize = 1_024;

fn at_least_one(text: &str) -> Result<usize, String> {
    match count(text)? {
        0 => Err("it must be at least 1".into()),
        count => usize::try_from(count).map_err(|_| "it is too large".into()),
    }
}

fn port(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(port @ 1..) => Ok(port),
        _ => Err("it is not a port from 1 to 65535".into()),
    }
}

/// Servers accept at least 100 (RFC 5321, section 4.5.3.1.8), few accept more than 1000.
fn recipients(text: &str) -> Result<usize, String> {
    match at_least_one(text)? {
        count if count <= 1_000 => Ok(count),
        _ => Err("at most 1000 in one transaction".into()),
    }
}
