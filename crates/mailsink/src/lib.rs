//! An SMTP server that throws mail away, one event loop, and misbehaves as it is told to.
//!
//! [`Plan`] says what it is to be like, [`Sink::bind`] has it listen, [`Sink::serve`] serves until [`Stop`]
//! is requested. What is said is in `conversation`, without input or output; `client` is a connection, `serve`
//! the loop.

mod client;
mod conversation;
mod counts;
mod fault;
pub mod hosted;
mod house;
pub mod identity;
mod latency;
mod listen;
mod record;
mod serve;
mod timers;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use platform::readiness::Waker;
use rustls::ServerConfig;

pub use conversation::{OUTPUT_AT_ONCE, RECIPIENTS_AT_MOST};
pub use counts::Counts;
pub use fault::{Fault, Kind, NotMeant, Phase};
pub use latency::{Latency, Time};
pub use listen::Addresses;
pub use serve::{Counting, Sink};

/// An extension of SMTP that the sink has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// Commands may come before the replies to those before (RFC 2920).
    Pipelining,
    /// The size of messages is spoken of (RFC 1870). The limit holds without it too.
    Size,
    /// Messages may have 8 bits (RFC 6152).
    EightBitMime,
    /// So may addresses and headers (RFC 6531).
    SmtpUtf8,
    /// Replies say more exactly what is wrong (RFC 2034).
    EnhancedStatusCodes,
    /// Messages may come in counted chunks (RFC 3030).
    Chunking,
    /// TLS (RFC 3207), where there is a certificate.
    StartTls,
    /// Clients may say who they are (RFC 4954), over TLS only.
    Auth,
}

impl Extension {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Pipelining,
        Self::Size,
        Self::EightBitMime,
        Self::SmtpUtf8,
        Self::EnhancedStatusCodes,
        Self::Chunking,
        Self::StartTls,
        Self::Auth,
    ];

    /// Its name, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pipelining => "pipelining",
            Self::Size => "size",
            Self::EightBitMime => "8bitmime",
            Self::SmtpUtf8 => "smtputf8",
            Self::EnhancedStatusCodes => "enhancedstatuscodes",
            Self::Chunking => "chunking",
            Self::StartTls => "starttls",
            Self::Auth => "auth",
        }
    }
}

impl FromStr for Extension {
    type Err = NotMeant;

    fn from_str(text: &str) -> Result<Self, NotMeant> {
        let known = Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(text));
        known.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            NotMeant(format!("no extension {text}: one of {names}"))
        })
    }
}

/// What a sink is to be like.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Where it listens, one or many.
    pub listen: Vec<SocketAddr>,
    /// How long a client may keep it waiting.
    pub timeout: Duration,
    /// Largest message, in bytes.
    pub size: u64,
    /// Extensions that it is not to have.
    pub without: Vec<Extension>,
    /// It refuses EHLO, as servers of old.
    pub helo_only: bool,
    /// How it speaks TLS; not at all if `None`.
    pub tls: Option<Arc<ServerConfig>>,
    /// The only name and password it takes for AUTH; any if `None`.
    pub login: Option<(String, String)>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// How long replies are held back.
    pub latencies: Vec<Latency>,
    /// What chance begins with: the same does the same to the n-th connection.
    pub seed: u64,
    /// How long a new recipient is put off.
    pub greylist: Option<Duration>,
    /// How long each byte of a reply takes.
    pub tarpit: Option<Duration>,
    /// The system's buffer for what has come, in bytes; it may round that. Its own choice if `None`.
    pub window: Option<usize>,
    /// Bytes read of each connection in a second; as many as come if `None`.
    pub read_rate: Option<u64>,
    /// A line of JSON for each message is added to this file.
    pub log: Option<PathBuf>,
    /// Each message is written into this folder.
    pub capture: Option<PathBuf>,
    /// Who is told, once, that messages cannot be written.
    pub complain: fn(&str),
}

impl Default for Plan {
    /// One that takes everything, and listens nowhere yet.
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            timeout: Duration::from_secs(300),
            size: 50 * 1024 * 1024,
            without: Vec::new(),
            helo_only: false,
            tls: None,
            login: None,
            faults: Vec::new(),
            latencies: Vec::new(),
            seed: 1,
            greylist: None,
            tarpit: None,
            window: None,
            read_rate: None,
            log: None,
            capture: None,
            complain: |_| {},
        }
    }
}

/// Why a sink cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// There is nowhere to listen.
    #[error("no address to listen at")]
    Nowhere,
    /// It cannot listen at that address.
    #[error("cannot listen at {address}: {cause}{}", remedy(cause))]
    Listen {
        /// Which one.
        address: SocketAddr,
        /// Why not.
        cause: io::Error,
    },
    /// What it is to write cannot be opened.
    #[error("messages cannot be kept: {0}")]
    Records(io::Error),
    /// The system lacks what an event loop needs.
    #[error("no event loop: {0}")]
    Loop(io::Error),
}

fn remedy(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AddrInUse => "; end what listens there, or choose another port",
        io::ErrorKind::AddrNotAvailable => "; it must be an address of this machine",
        io::ErrorKind::PermissionDenied => "; ports below 1024 are for root, choose another",
        _ => "",
    }
}

/// Stops a sink, from any thread: it accepts no more, and ends once messages under way are taken.
#[derive(Debug, Clone)]
pub struct Stop {
    state: Arc<(AtomicBool, Waker)>,
}

impl Stop {
    fn new(waker: Waker) -> Self {
        Self { state: Arc::new((AtomicBool::new(false), waker)) }
    }

    /// Requests it.
    pub fn request(&self) {
        self.state.0.store(true, Ordering::SeqCst);
        self.state.1.wake();
    }

    fn is_requested(&self) -> bool {
        self.state.0.load(Ordering::Relaxed)
    }
}
