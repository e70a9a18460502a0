//! The CPUs and addresses of the sender and the sink, and the plan of the delivery.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use mailsend::list::List;
use mailsend::message::{Heads, Template};
use mailsend::queue::{Limits, Retry};
use mailsend::route::Router;
use mailsend::tls::ClientTls;
use mailsend::{DeliveryOptions, Transport};
use mailsink::Latency;
use mailsink::hosted::Hosted;
use measure::trial::TrialContext;
use measure::{CaseError, Params, Round};
use platform::socket::client::WHOLE_LOOPBACK;
use platform::socket::loopback;
use platform::socket::readiness::PollBackend;
use smtp::address::Address;
use smtp::security::Security;
use smtp::session::SessionOptions;

use super::list::Post;
use super::worker::{SINK, SinkOrder};
use catalog::worker::worker;
use catalog::{count_of, size_of, value_of};

/// Number of addresses at which the sink listens: mail to a list goes to many servers.
pub const SINKS: u8 = 100;
/// Default number of connections per domain of `oscost mail send`.
const PER_DOMAIN: usize = 20;
const PER_TRANSACTION: usize = 100;
const PER_CONNECTION: u32 = 100;
/// Time limit for a reply, longer than any reply of the sink takes.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Delay before a retry: longer than a trial, so that deferred recipients are not retried within it.
const RETRY: Duration = Duration::from_secs(60);

/// Header of the message.
const HEADER: &str = "From: Sender <sender@bench.example>\r\nSubject: Measured\r\n\r\n";
/// Line of the message's body.
const LINE: &str = "Nobody reads this line, which is as long as those of most messages are.\r\n";

/// Whether the delivery is in test mode, which sends no message.
pub fn is_in_test_mode(params: &Params) -> bool {
    value_of(params, "message") == Ok("none")
}

/// The message, of about the size that the parameters give; in test mode, which does not send it, it has one line.
fn message(params: &Params) -> Result<Vec<u8>, CaseError> {
    let size = if is_in_test_mode(params) { 0 } else { size_of(params, "message")? };
    let lines = size.saturating_sub(HEADER.len()).div_ceil(LINE.len()).max(1);
    Ok([HEADER, &LINE.repeat(lines)].concat().into_bytes())
}

/// CPUs of a round.
pub struct TestBed {
    /// Trial settings on all CPUs.
    pub context: TrialContext,
    /// CPU of the sender.
    pub sender: usize,
    /// CPU of the sink; that of the sender if there is no other.
    pub sink: usize,
}

impl TestBed {
    /// Gives sender and sink separate CPUs if there are two.
    ///
    /// # Errors
    /// `Unsupported` if this system cannot pin processes to them, or has no usable loopback.
    pub fn new(round: &Round) -> Result<Self, CaseError> {
        platform::process::limits::raise_descriptors();
        loopback::check()?;
        let cpus = &round.order().cpus;
        let (&sender, others) =
            cpus.split_last().ok_or_else(|| CaseError::Failed("no CPU".into()))?;
        let sink = *others.first().unwrap_or(&sender);
        let mut both = vec![sink, sender];
        both.dedup();
        Ok(Self { context: TrialContext::new(round, &both)?, sender, sink })
    }

    /// Starts a sink in a separate process, at many addresses if the system has them, otherwise at many ports.
    ///
    /// # Errors
    /// The error of starting the process.
    pub fn sink(&self, delay: &str) -> Result<Hosted, CaseError> {
        let nth_address = |nth| match WHOLE_LOOPBACK {
            true => Ipv4Addr::new(127, 0, 1, nth),
            false => Ipv4Addr::LOCALHOST,
        };
        // Only the first reply of each group of commands is delayed, as over a network with this round-trip time.
        let phases: &[&str] = if delay == "0" { &[] } else { &["connect", "ehlo", "mail"] };
        let latencies = phases.iter().map(|phase| format!("{phase}={delay}").parse());
        let latencies: Result<Vec<Latency>, _> = latencies.collect();
        let order = SinkOrder {
            listen: (1..=SINKS).map(|nth| SocketAddr::from((nth_address(nth), 0))).collect(),
            latencies: latencies.map_err(|e| CaseError::Failed(e.to_string()))?,
            cpus: vec![self.sink],
            tracepoint: None,
        };
        Hosted::start(&mut worker(SINK.name, &order))
    }
}

/// The architecture that the parameters name.
///
/// # Errors
/// `Unsupported` if this system lacks it.
pub fn how(params: &Params) -> Result<Transport, CaseError> {
    Ok(match value_of(params, "arch")? {
        "poll" => Transport::Loops(1, PollBackend::Poll),
        "threads" => Transport::Threads,
        "processes" if std::env::consts::FAMILY != "unix" => {
            return Err(CaseError::Unsupported("there is no fork on this system".to_owned()));
        }
        "processes" => Transport::Processes,
        _ => Transport::Loops(1, PollBackend::BEST),
    })
}

/// The options of the delivery: in test mode, without TLS and without a journal.
///
/// # Errors
/// Errors of reading the files.
pub fn plan(params: &Params, post: &Post, sink: &Hosted) -> Result<DeliveryOptions, CaseError> {
    let failed = |e: &dyn std::fmt::Display| CaseError::Failed(e.to_string());
    let list = List::open(&post.list, None).map_err(|e| failed(&e))?;
    let router = Router::file(&post.routes(sink.addresses())?).map_err(|e| failed(&e))?;
    let heads = Heads {
        list_unsubscribe: None,
        one_click: false,
        message_id_domain: "bench.example".to_owned(),
    };
    Ok(DeliveryOptions {
        template: Template::parse(&message(params)?, list.columns(), &heads)
            .map_err(|e| failed(&e))?,
        run: "measured".to_owned(),
        date: "Thu, 01 Jan 1970 00:00:00 +0000".to_owned(),
        signer: None,
        from: Some(Address::parse("sender@bench.example").map_err(|e| failed(&e))?),
        verp: false,
        router,
        is_relayed: false,
        session: SessionOptions {
            hello: "bench.example".to_owned(),
            security: Security::Off,
            credentials: None,
            dry: is_in_test_mode(params),
            pipelining: true,
            chunking: true,
        },
        tls: ClientTls::new(Security::Off, None).map_err(|e| failed(&e))?,
        limits: Limits {
            connections: count_of(params, "connections")?,
            per_destination: PER_DOMAIN,
            per_transaction: PER_TRANSACTION,
            // All connections are opened at once, as the trial says.
            at_first: count_of(params, "connections")?,
        },
        per_connection: PER_CONNECTION,
        retry: Retry { after: RETRY, at_most: RETRY, give_up: RETRY },
        timeout: TIMEOUT,
        sources: Vec::new(),
        transport: how(params)?,
        time: None,
        list,
    })
}
