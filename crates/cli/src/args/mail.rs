//! `oscost mail`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::{MailSink, cpu, time};

/// `oscost mail`.
#[derive(Debug, Subcommand)]
pub enum Mail {
    /// Deliver a message to all on a list; in test mode nobody receives anything.
    Send(Box<MailSend>),
    /// Run an SMTP server that throws mail away, until Ctrl-C or SIGTERM; what it counted is shown then.
    Sink(Box<MailSink>),
}

/// `oscost mail send`.
#[derive(Debug, Args)]
#[command(after_help = "\
Test mode does all that a delivery does, up to and including RCPT TO for every recipient, and then RSET in place of \
DATA. It is on unless all mail goes to loopback addresses, or --really-send is given.

In the message, {name} stands for the recipient's value in the list's column of that name.

Examples:
  oscost mail send --list recipients.csv --message message.eml --from bounce@example.org
  oscost mail send --list recipients.csv --message message.eml --from bounce@example.org --relay 127.0.0.1:2525
  oscost mail send --list recipients.csv --message message.eml --from bounce@example.org --really-send --resume")]
pub struct MailSend {
    /// Who gets it: a CSV file with a column `email` or `address`
    #[arg(long, value_name = "FILE")]
    pub list: PathBuf,
    /// The column with the addresses, if it has another name
    #[arg(long, value_name = "NAME")]
    pub address_column: Option<String>,
    /// What they get: a file with header and body (.eml)
    #[arg(long, value_name = "FILE")]
    pub message: PathBuf,
    /// Where bounces go, the return path; empty for none
    #[arg(long, value_name = "ADDRESS")]
    pub from: String,
    /// A return path for each recipient, which names it: bounce+jo=example.net@example.org
    #[arg(long)]
    pub verp: bool,
    /// The header List-Unsubscribe, in which {name} stands for columns: "<https://example.org/out?{id}>"
    #[arg(long, value_name = "URIS")]
    pub list_unsubscribe: Option<String>,
    /// Unsubscribing takes one click (RFC 8058)
    #[arg(long, requires = "list_unsubscribe")]
    pub one_click: bool,
    /// Sign with this private key (DKIM): RSA or Ed25519, in PEM form
    #[arg(long, value_name = "FILE", requires = "dkim_selector")]
    pub dkim_key: Option<PathBuf>,
    /// Where in the domain the public key is: the part before ._domainkey
    #[arg(long, value_name = "NAME", requires = "dkim_key")]
    pub dkim_selector: Option<String>,
    /// The domain that signs [default: that of --from]
    #[arg(long, value_name = "DOMAIN", requires = "dkim_key")]
    pub dkim_domain: Option<String>,

    #[command(flatten)]
    pub way: Way,

    /// Do all but send the message: the default unless all mail stays on this machine
    #[arg(long)]
    pub dry: bool,
    /// Send it, to whomever it goes
    #[arg(long, conflicts_with = "dry")]
    pub really_send: bool,

    /// Simultaneous connections in all
    #[arg(long, value_name = "N", default_value = "1500", value_parser = connections, allow_hyphen_values = true, help_heading = "How much at a time")]
    pub connections: usize,
    /// Connections to one domain; a relay has all
    #[arg(long, value_name = "N", default_value = "20", value_parser = connections, allow_hyphen_values = true, help_heading = "How much at a time")]
    pub per_domain: usize,
    /// Recipients in one transaction; a personal message has one
    #[arg(long, value_name = "N", default_value = "100", value_parser = recipients, allow_hyphen_values = true, help_heading = "How much at a time")]
    pub recipients: usize,
    /// Transactions over one connection
    #[arg(long, value_name = "N", default_value = "100", value_parser = at_least_one, allow_hyphen_values = true, help_heading = "How much at a time")]
    pub transactions: usize,
    /// Event loops [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = loops, allow_hyphen_values = true, help_heading = "How much at a time")]
    pub loops: Option<usize>,
    /// How connections are carried
    #[arg(long, value_enum, default_value = "loop", help_heading = "How much at a time")]
    pub arch: MailArch,
    /// Keep it to these CPUs, such as 0 or 0,2
    #[arg(long, value_name = "CPUS", value_delimiter = ',', value_parser = cpu, allow_hyphen_values = true, help_heading = "How much at a time")]
    pub bind_cpu: Vec<usize>,

    /// A server may not take longer for anything, nor longer than RFC 5321 has it
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = patience, allow_hyphen_values = true, help_heading = "Trying again")]
    pub timeout: Duration,
    /// Who is put off is tried again after this; then after twice as long, and so on
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = patience, allow_hyphen_values = true, help_heading = "Trying again")]
    pub retry_after: Duration,
    /// But after this at the latest
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = patience, allow_hyphen_values = true, help_heading = "Trying again")]
    pub retry_at_most: Duration,
    /// Until it was put off for so long in all
    #[arg(long, value_name = "TIME", default_value = "4h", value_parser = patience, allow_hyphen_values = true, help_heading = "Trying again")]
    pub give_up: Duration,
    /// Where it is written down what became of each recipient [default: the list's name with .journal]
    #[arg(long, value_name = "FILE", help_heading = "Trying again")]
    pub journal: Option<PathBuf>,
    /// Go on with a delivery that was stopped or killed
    #[arg(long, help_heading = "Trying again")]
    pub resume: bool,
    /// Keep no journal: nobody will know afterwards what was delivered; for measurements
    #[arg(long, conflicts_with_all = ["journal", "resume"], help_heading = "Trying again")]
    pub no_journal: bool,

    /// Print what came of it as one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Where mail goes, and how servers are talked to.
#[derive(Debug, Args)]
#[command(next_help_heading = "Where to, and how")]
pub struct Way {
    /// All mail goes to this server [default: where the domains' MX records say]
    #[arg(long, value_name = "HOST[:PORT]")]
    pub relay: Option<String>,
    /// Mail goes where this file says: lines with a domain and its server's address
    #[arg(long, value_name = "FILE", conflicts_with = "relay")]
    pub route: Option<PathBuf>,
    /// The name server to ask for MX records, at port 53 unless another is given [default: the system's]
    #[arg(long, value_name = "ADDRESS", value_parser = nameserver, conflicts_with_all = ["relay", "route"])]
    pub nameserver: Option<SocketAddr>,
    /// The port of the servers that MX records name
    #[arg(long, value_name = "PORT", default_value = "25", value_parser = port, allow_hyphen_values = true, conflicts_with_all = ["relay", "route"])]
    pub port: u16,
    /// How we call ourselves in EHLO [default: this machine's name]
    #[arg(long, value_name = "NAME")]
    pub hello: Option<String>,
    /// Whether TLS is spoken: when offered it takes any certificate, when required only a valid one [default: offered;
    /// required with a password]
    #[arg(long, value_enum)]
    pub tls: Option<TlsMode>,
    /// Trust these certificates (PEM) instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// The file with user:password for the relay; else OSCOST_MAIL_AUTH has them, if set. Said over TLS only
    #[arg(long, value_name = "FILE")]
    pub auth_file: Option<PathBuf>,
    /// Send commands one by one, also where groups are offered (PIPELINING)
    #[arg(long)]
    pub no_pipelining: bool,
    /// Send the message by DATA, also where chunks are offered (CHUNKING)
    #[arg(long)]
    pub no_chunking: bool,
    /// Connect from this address, or these in turn (may be repeated)
    #[arg(long = "source", value_name = "IP", value_delimiter = ',')]
    pub sources: Vec<IpAddr>,
}

/// Whether TLS is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TlsMode {
    /// Never
    Off,
    /// Where the server offers it, with any certificate
    Offered,
    /// Always, with a valid certificate
    Required,
}

/// How connections are carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MailArch {
    /// Event loops, over the system's best means to wait
    Loop,
    /// Event loops over poll
    Poll,
    /// A thread for each connection
    Threads,
    /// A process for each connection
    Processes,
}

/// Longer than this nobody waits for one command; servers give mail up after days (RFC 5321, section 4.5.4.1).
const PATIENCE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

fn patience(text: &str) -> Result<Duration, String> {
    match time(text)? {
        time if time > PATIENCE => Err("it is more than 30 days (720h)".into()),
        time => Ok(time),
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match super::count(text)? {
        0 => Err("one at least".into()),
        count => usize::try_from(count).map_err(|_| "it is too large".into()),
    }
}

fn connections(text: &str) -> Result<usize, String> {
    match at_least_one(text)? {
        count if count as u64 <= super::CONNECTIONS_AT_MOST => Ok(count),
        _ => Err(format!("there can be 1 to {} connections", super::CONNECTIONS_AT_MOST)),
    }
}

/// Each has a thread and 64 KiB; more than one for each CPU gain nothing.
const LOOPS_AT_MOST: usize = 1_024;

fn loops(text: &str) -> Result<usize, String> {
    match at_least_one(text)? {
        count if count <= LOOPS_AT_MOST => Ok(count),
        _ => Err(format!("it must be 1 to {LOOPS_AT_MOST}")),
    }
}

fn port(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(port @ 1..) => Ok(port),
        _ => Err("it is no port from 1 to 65535".into()),
    }
}

/// Where DNS is spoken unless another port is given.
const DNS: u16 = 53;

fn nameserver(text: &str) -> Result<SocketAddr, String> {
    let with_port = text.parse::<SocketAddr>();
    let found = with_port.or_else(|_| text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, DNS)));
    match found {
        Ok(address) if address.port() > 0 => Ok(address),
        _ => Err("it is no IP address with or without a port, as in 127.0.0.1:5300".into()),
    }
}

/// RFC 5321, section 4.5.3.1.8: servers take 100 at least; more than 1000 hardly any.
fn recipients(text: &str) -> Result<usize, String> {
    match at_least_one(text)? {
        count if count <= 1_000 => Ok(count),
        _ => Err("no server takes more than 1000 in one transaction".into()),
    }
}
