//! The sender's side of a conversation, without any input or output: what has come, what is to be sent, and what
//! became of whom (RFC 5321; groups of commands as RFC 2920 allows them).

use std::collections::VecDeque;
use std::fmt;
use std::io::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::address::Address;
use super::auth::{Credentials, Mechanism};
use super::data;
use super::extensions::Extensions;
use super::reply::{Reply, ReplyReader};
use crate::tls::client::Security;

/// A message up to this size goes along with its recipients, where a server takes it in chunks: whether it wants any
/// of them is seen later.
const CHUNK_ALONG_AT_MOST: usize = 32 * 1024;

/// A message beyond this size is not copied for each connection.
const COPIED_AT_MOST: usize = CHUNK_ALONG_AT_MOST;

/// What all sessions of a delivery go by.
#[derive(Debug, Clone)]
pub struct Terms {
    /// How we call ourselves in EHLO.
    pub hello: String,
    /// Whether TLS is spoken.
    pub security: Security,
    /// Who we are, for a server that wants to know; said over TLS only.
    pub credentials: Option<Credentials>,
    /// Nobody is to get anything: where the message would follow, RSET does.
    pub dry: bool,
    /// Commands go in groups, where a server offers that.
    pub pipelining: bool,
    /// The message goes by BDAT, where a server offers that.
    pub chunking: bool,
}

/// A message as it goes over the wire.
#[derive(Debug)]
pub struct Message {
    wire: Vec<u8>,
    needs_8bit: bool,
    stuffed: OnceLock<Vec<u8>>,
}

impl Message {
    /// Of a message whose line ends are CRLF, dots not doubled.
    pub fn new(wire: Vec<u8>) -> Self {
        let needs_8bit = data::needs_8bit(&wire);
        Self { wire, needs_8bit, stuffed: OnceLock::new() }
    }

    /// Its size, in bytes.
    pub fn size(&self) -> usize {
        self.wire.len()
    }

    /// Whether it has bytes beyond ASCII.
    pub fn needs_8bit(&self) -> bool {
        self.needs_8bit
    }

    fn stuffed(&self) -> &[u8] {
        self.stuffed.get_or_init(|| {
            let mut stuffed = Vec::with_capacity(self.wire.len() + 64);
            data::stuffed(&self.wire, &mut stuffed);
            stuffed
        })
    }
}

/// A long message on its way, which all connections have in memory once.
struct Sending {
    message: Arc<Message>,
    is_stuffed: bool,
    sent: usize,
}

impl Sending {
    fn rest(&self) -> &[u8] {
        let whole = if self.is_stuffed { self.message.stuffed() } else { &self.message.wire };
        &whole[self.sent..]
    }
}

/// A recipient within a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct To {
    /// How the sender knows it.
    pub place: u32,
    /// Its address.
    pub address: Address,
}

/// One message for some recipients of a server.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// The return path; none for a message that is not to come back.
    pub from: Option<Address>,
    /// Who gets it: one at least.
    pub to: Vec<To>,
    /// What they get.
    pub message: Arc<Message>,
}

/// What became of a recipient in one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// The server has taken it upon itself; in test mode it would have.
    Delivered,
    /// It may go another time.
    Deferred,
    /// The connection broke when the server may have taken the message: it may get it twice.
    Uncertain,
    /// It never will.
    Failed,
    /// Not its turn: it belongs into another transaction, at once.
    Again,
}

/// The fate of a recipient, and who said so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Which.
    pub place: u32,
    /// What became of it.
    pub fate: Fate,
    /// The server's words, or ours where it had none.
    pub why: Arc<str>,
}

/// What a session wants of who carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A TLS handshake is to begin; then [`Session::is_secured`] is to be called.
    Secure,
    /// The recipients of these places are about to get the message: once that is written down,
    /// [`Session::deliver`] is to be called.
    Delivering(Vec<u32>),
    /// Another transaction can begin, by [`Session::begin`], or [`Session::quit`] is to be called.
    Ready,
    /// This has become of recipients.
    Settled(Vec<Outcome>),
    /// The server has answered a group of commands that began with this one.
    Answered(Phase),
    /// Nothing more is to be said: the connection is to be closed.
    Over,
    /// The server cannot be talked to; the connection is to be closed.
    Refused(Trouble),
}

/// Why a server is of no use, now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// When it turned out.
    pub phase: Phase,
    /// What it was.
    pub why: Arc<str>,
    /// The password was wrong: trying again would only lock us out.
    pub is_login: bool,
}

/// How far a conversation is; also what a server was asked last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// The connection is being made.
    Connect,
    /// The server's first words are waited for.
    Greeting,
    /// EHLO, or HELO.
    Hello,
    /// STARTTLS and the handshake.
    Tls,
    /// AUTH.
    Login,
    /// MAIL.
    Mail,
    /// RCPT.
    Rcpt,
    /// DATA, before the message.
    Data,
    /// The message itself, and what the server says to it.
    Message,
    /// RSET.
    Reset,
    /// QUIT.
    Quit,
    /// Nothing was asked.
    Idle,
}

impl Phase {
    /// All that a server is asked for or waited for, in their order.
    pub const ALL: [Self; 11] = [
        Self::Connect,
        Self::Greeting,
        Self::Hello,
        Self::Tls,
        Self::Login,
        Self::Mail,
        Self::Rcpt,
        Self::Data,
        Self::Message,
        Self::Reset,
        Self::Quit,
    ];

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Greeting => "greeting",
            Self::Hello => "ehlo",
            Self::Tls => "starttls",
            Self::Login => "auth",
            Self::Mail => "mail",
            Self::Rcpt => "rcpt",
            Self::Data => "data",
            Self::Message => "message",
            Self::Reset => "rset",
            Self::Quit => "quit",
            Self::Idle => "idle",
        }
    }

    /// How long a server may take, at least as long as RFC 5321, section 4.5.3.2, has it; a connection is given up
    /// after half a minute, as usual.
    pub fn timeout(self) -> Duration {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        match self {
            Self::Connect | Self::Quit => Duration::from_secs(30),
            Self::Data => minutes(2),
            Self::Message => minutes(10),
            _ => minutes(5),
        }
    }
}

/// A reply that is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Greeting,
    Ehlo,
    Helo,
    StartTls,
    /// To a step of AUTH.
    Login,
    Mail,
    /// Of the transaction's recipient of that number.
    Rcpt(usize),
    Data,
    /// To the end of the message, however it was sent.
    Message,
    Reset,
    Quit,
}

impl Expected {
    fn phase(self) -> Phase {
        match self {
            Self::Greeting => Phase::Greeting,
            Self::Ehlo | Self::Helo => Phase::Hello,
            Self::StartTls => Phase::Tls,
            Self::Login => Phase::Login,
            Self::Mail => Phase::Mail,
            Self::Rcpt(_) => Phase::Rcpt,
            Self::Data => Phase::Data,
            Self::Message => Phase::Message,
            Self::Reset => Phase::Reset,
            Self::Quit => Phase::Quit,
        }
    }
}

/// A transaction under way.
#[derive(Debug)]
struct Going {
    transaction: Transaction,
    /// What became of each recipient; `None` for those that are still to get the message.
    fates: Vec<Option<(Fate, Arc<str>)>>,
    /// Recipients that the server wants the message for.
    accepted: usize,
    /// The server has refused the sender, so that what it says to all that was sent along tells nothing.
    is_refused: bool,
    /// How far it was told to the server.
    is_said: Said,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// Nothing.
    Nothing,
    /// The recipients, maybe in part.
    Recipients,
    /// The end of the message is said, or what stands for it: only its reply is missing.
    All,
}

/// A conversation with one server.
pub struct Session {
    terms: Arc<Terms>,
    reader: ReplyReader,
    out: Vec<u8>,
    sent: usize,
    /// What follows `out`; nothing more is said before it is sent.
    long: Option<Sending>,
    expected: VecDeque<Expected>,
    /// What is to be said, once the server has answered what was said before.
    to_say: VecDeque<Expected>,
    /// What is offered; nothing before the server has said so.
    extensions: Extensions,
    is_secure: bool,
    /// What is left to be said of who we are.
    login: VecDeque<String>,
    /// The one under way, and maybe the next, of which the recipients are told already.
    going: VecDeque<Going>,
    /// The message may be sent as soon as [`Session::deliver`] is called.
    may_deliver: bool,
    /// [`Event::Ready`] was told of, and neither a transaction was given nor QUIT asked for.
    is_ready: bool,
    quits: bool,
    is_over: bool,
    events: VecDeque<Event>,
    /// The TLS handshake is under way.
    is_securing: bool,
    /// Groups of commands sent, each of which was waited for.
    groups: u64,
    /// Replies that came.
    replies: u64,
}

/// Without what is said: that may be a password.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut shown = f.debug_struct("Session");
        shown.field("expected", &self.expected).field("to_say", &self.to_say);
        shown.field("events", &self.events).field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

impl Session {
    /// A conversation over a connection that is just being made.
    pub fn new(terms: Arc<Terms>) -> Self {
        Self {
            terms,
            reader: ReplyReader::default(),
            out: Vec::new(),
            sent: 0,
            long: None,
            expected: VecDeque::from([Expected::Greeting]),
            to_say: VecDeque::new(),
            extensions: Extensions::default(),
            is_secure: false,
            login: VecDeque::new(),
            going: VecDeque::new(),
            may_deliver: false,
            is_ready: false,
            quits: false,
            is_over: false,
            events: VecDeque::new(),
            is_securing: false,
            groups: 0,
            replies: 0,
        }
    }

    /// What is to be sent and was not yet.
    pub fn to_send(&self) -> &[u8] {
        match &self.long {
            Some(long) if self.out.is_empty() => long.rest(),
            _ => &self.out[self.sent..],
        }
    }

    /// Takes note that the first `bytes` of [`Session::to_send`] were sent.
    pub fn was_sent(&mut self, bytes: usize) {
        if self.out.is_empty()
            && let Some(long) = &mut self.long
        {
            long.sent += bytes;
            if long.rest().is_empty() {
                self.long = None;
                self.say();
            }
            return;
        }
        self.sent += bytes;
        debug_assert!(self.sent <= self.out.len());
        if self.sent == self.out.len() {
            self.sent = 0;
            self.out.clear();
            // A large message would else stay in memory as long as the connection.
            self.out.shrink_to(4 * 1024);
        }
    }

    /// What it wants now; nothing until something else happens.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether it wants something: [`Session::event`] gives what.
    pub fn event_is_waiting(&self) -> bool {
        !self.events.is_empty()
    }

    /// What the server is waited for.
    pub fn phase(&self) -> Phase {
        if self.is_securing {
            return Phase::Tls;
        }
        self.expected.front().map_or(Phase::Idle, |expected| expected.phase())
    }

    /// Whether the connection is of no more use.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether what was said is encrypted.
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// How many groups of commands were sent so far: each was waited for by itself.
    pub fn groups(&self) -> u64 {
        self.groups
    }

    /// How many whole replies have come so far.
    pub fn replies(&self) -> u64 {
        self.replies
    }

    /// Takes in what the server has sent.
    pub fn received(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_over {
            let (taken, reply) = self.reader.read(bytes);
            bytes = &bytes[taken..];
            match reply {
                None => debug_assert!(bytes.is_empty()),
                Some(Ok(reply)) => {
                    self.replies += 1;
                    self.answered(&reply);
                    // Nothing said in clear may pass for something said under TLS (RFC 3207, section 5).
                    if matches!(self.events.back(), Some(Event::Secure)) && !bytes.is_empty() {
                        self.events.pop_back();
                        self.refused(Phase::Tls, "the server said more before TLS began", false);
                    }
                }
                Some(Err(malformed)) => {
                    let phase = self.phase();
                    self.refused(phase, &malformed.to_string(), false);
                }
            }
        }
        self.say();
    }

    /// The TLS handshake is done.
    pub fn is_secured(&mut self) {
        self.is_secure = true;
        self.is_securing = false;
        self.reader = ReplyReader::default();
        self.to_say.push_back(Expected::Ehlo);
        self.say();
    }

    /// Begins a transaction, after [`Event::Ready`].
    pub fn begin(&mut self, transaction: Transaction) {
        debug_assert!(self.is_ready && !transaction.to.is_empty());
        self.is_ready = false;
        let mut going = Going {
            fates: vec![None; transaction.to.len()],
            accepted: 0,
            is_refused: false,
            is_said: Said::Nothing,
            transaction,
        };
        match self.extensions.takes(&going.transaction) {
            Err(why) => going.rest(Fate::Failed, &why),
            Ok(()) if !self.extensions.utf8 => going.refuse_beyond_ascii(),
            Ok(()) => {}
        }
        let to: Vec<usize> = going.open().collect();
        if to.is_empty() {
            // Nothing to say to the server.
            self.settle(going);
            return self.be_ready();
        }
        self.to_say.push_back(Expected::Mail);
        self.to_say.extend(to.iter().map(|&number| Expected::Rcpt(number)));
        let along = going.transaction.message.size() <= CHUNK_ALONG_AT_MOST;
        if self.terms.dry {
            self.to_say.push_back(Expected::Reset);
        } else if !self.is_chunking() {
            self.to_say.push_back(Expected::Data);
        } else if self.is_pipelining() && along {
            // It follows once it is written down that it does.
            self.may_deliver = true;
            let places = to.iter().map(|&number| going.transaction.to[number].place).collect();
            self.events.push_back(Event::Delivering(places));
        }
        self.going.push_back(going);
        self.say();
    }

    /// Sends the message, after [`Event::Delivering`].
    pub fn deliver(&mut self) {
        if !std::mem::take(&mut self.may_deliver) {
            return; // the server has changed its mind meanwhile
        }
        self.to_say.push_back(Expected::Message);
        self.say();
    }

    /// Says goodbye, after [`Event::Ready`] or when it is time to end: what is under way is brought to its end before.
    pub fn quit(&mut self) {
        self.is_ready = false;
        if std::mem::replace(&mut self.quits, true) {
            return;
        }
        let has_nothing_to_do = self.going.is_empty() && self.is_idle();
        if has_nothing_to_do || (self.going.len() == 1 && self.may_follow()) {
            self.to_say.push_back(Expected::Quit);
        }
        self.say();
    }

    /// Ends it without a word, unless something is under way; whether it did.
    pub fn leave(&mut self) -> bool {
        if self.is_over || !self.going.is_empty() {
            return false;
        }
        self.is_over = true;
        self.events.retain(|event| matches!(event, Event::Settled(_) | Event::Answered(_)));
        self.events.push_back(Event::Over);
        true
    }

    /// The connection has broken, or the server took too long. What that means for recipients, and then that the
    /// connection is to be closed, are its last events.
    pub fn broken(&mut self, why: &str) {
        let phase = self.phase();
        if self.going.is_empty() && phase == Phase::Quit {
            self.is_over = true;
            return self.events.push_back(Event::Over); // it had nothing more to say to us
        }
        self.refused(phase, why, false);
    }

    fn is_pipelining(&self) -> bool {
        self.terms.pipelining && self.extensions.pipelining
    }

    fn is_chunking(&self) -> bool {
        self.terms.chunking && self.extensions.chunking
    }

    fn is_idle(&self) -> bool {
        self.expected.is_empty() && self.to_say.is_empty()
    }

    /// Whether more can be said though the reply to the message under way is missing. A message in chunks is waited
    /// for: its recipients' replies are too.
    fn may_follow(&self) -> bool {
        self.is_pipelining()
            && (self.terms.dry || !self.is_chunking())
            && self.going.front().is_some_and(|going| going.is_said == Said::All)
    }

    /// Says what can be said now: all of a group, or one command if the server wants them one by one.
    fn say(&mut self) {
        if self.is_over {
            return;
        }
        let mut is_group = self.out.is_empty();
        while let Some(&next) = self.to_say.front() {
            let waits = !self.expected.is_empty();
            if self.long.is_some() || (waits && !self.is_pipelining()) {
                break;
            }
            self.to_say.pop_front();
            self.write(next);
            self.expected.push_back(next);
            self.groups += u64::from(std::mem::take(&mut is_group));
        }
        let follows = self.going.len() == 1 && self.to_say.is_empty() && self.may_follow();
        if follows && !self.is_ready && !self.quits {
            self.is_ready = true;
            self.events.push_back(Event::Ready);
        }
    }

    fn write(&mut self, what: Expected) {
        let out = &mut self.out;
        // Writing to memory cannot fail.
        let _ = match what {
            Expected::Greeting => Ok(()),
            Expected::Ehlo => write!(out, "EHLO {}\r\n", self.terms.hello),
            Expected::Helo => write!(out, "HELO {}\r\n", self.terms.hello),
            Expected::StartTls => out.write_all(b"STARTTLS\r\n"),
            Expected::Login => match self.login.pop_front() {
                Some(line) => write!(out, "{line}\r\n"),
                None => out.write_all(b"*\r\n"), // what more could it want (RFC 4954, section 4)
            },
            Expected::Data => out.write_all(b"DATA\r\n"),
            Expected::Reset => out.write_all(b"RSET\r\n"),
            Expected::Quit => out.write_all(b"QUIT\r\n"),
            Expected::Mail | Expected::Rcpt(_) | Expected::Message => self.write_of_last(what),
        };
        if let (Expected::Reset, Some(going)) = (what, self.going.back_mut()) {
            going.is_said = Said::All;
        }
    }

    /// What belongs to the newest transaction.
    fn write_of_last(&mut self, what: Expected) -> std::io::Result<()> {
        let chunking = self.is_chunking();
        let Some(going) = self.going.back_mut() else { return Ok(()) };
        let message = &going.transaction.message;
        match what {
            Expected::Mail => {
                going.is_said = Said::Recipients;
                match &going.transaction.from {
                    Some(from) => write!(self.out, "MAIL FROM:<{from}>")?,
                    None => write!(self.out, "MAIL FROM:<>")?,
                }
                self.extensions.parameters(&going.transaction, &mut self.out)?;
                self.out.write_all(b"\r\n")
            }
            Expected::Rcpt(number) => {
                write!(self.out, "RCPT TO:<{}>\r\n", going.transaction.to[number].address)
            }
            _ => {
                going.is_said = Said::All;
                if chunking {
                    write!(self.out, "BDAT {} LAST\r\n", message.size())?;
                }
                let long = Sending { message: Arc::clone(message), is_stuffed: !chunking, sent: 0 };
                if long.rest().len() > COPIED_AT_MOST {
                    self.long = Some(long);
                    return Ok(());
                }
                self.out.write_all(long.rest())
            }
        }
    }

    /// Takes in a reply.
    fn answered(&mut self, reply: &Reply) {
        let Some(expected) = self.expected.pop_front() else {
            // Servers say goodbye when they have waited too long.
            return self.refused(Phase::Idle, &reply.to_string(), false);
        };
        if self.expected.is_empty() {
            self.events.push_back(Event::Answered(expected.phase()));
        }
        if reply.code == 421 && expected != Expected::Quit {
            return self.closing(expected, reply);
        }
        match expected {
            Expected::Greeting if reply.is_positive() => self.to_say.push_back(Expected::Ehlo),
            Expected::Greeting => self.refused(Phase::Greeting, &reply.to_string(), false),
            Expected::Ehlo if reply.is_positive() => {
                self.extensions = Extensions::of(reply);
                self.greeted();
            }
            // An old server, which knows of no extensions (RFC 5321, section 3.2).
            Expected::Ehlo if reply.is_permanent() => self.to_say.push_back(Expected::Helo),
            Expected::Helo if reply.is_positive() => self.greeted(),
            Expected::Ehlo | Expected::Helo => {
                self.refused(Phase::Hello, &reply.to_string(), false);
            }
            Expected::StartTls if reply.code == 220 => {
                self.is_securing = true;
                self.events.push_back(Event::Secure);
            }
            Expected::StartTls if self.terms.security == Security::Required => {
                self.refused(Phase::Tls, &format!("TLS is required: {reply}"), false);
            }
            Expected::StartTls => self.enter(),
            Expected::Login => self.login_answered(reply),
            Expected::Quit => {
                self.is_over = true;
                self.events.push_back(Event::Over);
            }
            Expected::Mail
            | Expected::Rcpt(_)
            | Expected::Data
            | Expected::Message
            | Expected::Reset => self.of_transaction(expected, reply),
        }
    }

    /// The server has greeted us, and said what it offers.
    fn greeted(&mut self) {
        let offered = self.extensions.starttls;
        match self.terms.security {
            _ if self.is_secure => self.enter(),
            Security::Off => self.enter(),
            Security::Offered if !offered => self.enter(),
            Security::Required if !offered => {
                self.refused(Phase::Tls, "TLS is required, and the server offers none", false);
            }
            Security::Offered | Security::Required => self.to_say.push_back(Expected::StartTls),
        }
    }

    /// Nothing is left to be said before the first transaction but who we are.
    fn enter(&mut self) {
        let Some(credentials) = self.terms.credentials.as_ref() else { return self.be_ready() };
        if !self.is_secure {
            let why = "there is a password, and without TLS it is not said";
            return self.refused(Phase::Login, why, true);
        }
        match Mechanism::best(self.extensions.logins.iter().map(String::as_str)) {
            Some(Mechanism::Plain) => {
                self.login.push_back(format!("AUTH PLAIN {}", credentials.plain()));
            }
            Some(Mechanism::Login) => {
                let (user, password) = (credentials.login_user(), credentials.login_password());
                self.login.extend(["AUTH LOGIN".to_owned(), user, password]);
            }
            None => {
                let why = "the server takes no password by PLAIN or LOGIN";
                return self.refused(Phase::Login, why, true);
            }
        }
        self.to_say.push_back(Expected::Login);
    }

    fn login_answered(&mut self, reply: &Reply) {
        match reply.code {
            334 => self.to_say.push_back(Expected::Login),
            235 => self.be_ready(),
            _ => {
                self.login.clear();
                self.refused(Phase::Login, &reply.to_string(), reply.is_permanent());
            }
        }
    }

    fn be_ready(&mut self) {
        if self.quits {
            self.to_say.push_back(Expected::Quit);
        } else if !self.is_ready {
            self.is_ready = true;
            self.events.push_back(Event::Ready);
        }
    }

    fn of_transaction(&mut self, expected: Expected, reply: &Reply) {
        let Some(going) = self.going.front_mut() else {
            return self.refused(expected.phase(), "a reply to nothing", false);
        };
        match expected {
            Expected::Mail if !reply.is_positive() => {
                going.is_refused = true;
                going.rest(fate_of(reply), &reply.to_string().into());
                self.given_up();
            }
            Expected::Mail => {}
            Expected::Rcpt(number) => {
                going.rcpt(number, reply);
                self.recipients_answered();
            }
            Expected::Data if reply.is_intermediate() => self.data_awaited(),
            Expected::Data => {
                // 2xx would be against the rules: nothing was taken in yet.
                let fate = if reply.is_permanent() { Fate::Failed } else { Fate::Deferred };
                going.rest(fate, &reply.to_string().into());
                self.forget();
            }
            Expected::Message => {
                going.rest(fate_of(reply), &reply.to_string().into());
                // Chunks that are refused leave the transaction open, the end of a message does not (RFC 3030,
                // section 2; RFC 5321, section 4.1.1.4).
                match self.is_chunking() && !reply.is_positive() {
                    true => self.forget(),
                    false => self.finish(),
                }
            }
            _ => {
                going.rest(Fate::Delivered, &"accepted".into());
                match reply.is_positive() {
                    true => self.finish(),
                    // The transaction is open yet, and whoever is told of next would be added to it.
                    false => self.refused(Phase::Reset, &reply.to_string(), false),
                }
            }
        }
    }

    /// Where the message comes last, and not before all recipients are answered.
    fn recipients_answered(&mut self) {
        let is_answered = !self.expected.iter().any(|next| matches!(next, Expected::Rcpt(_)))
            && !self.to_say.iter().any(|next| matches!(next, Expected::Rcpt(_)));
        let Some(going) = self.going.front() else { return };
        if !is_answered {
            return;
        }
        if going.accepted == 0 {
            return self.given_up();
        }
        let waits = going.is_said != Said::All && !self.may_deliver;
        if !self.terms.dry && self.is_chunking() && waits {
            let places = going.open().map(|number| going.transaction.to[number].place).collect();
            self.may_deliver = true;
            self.events.push_back(Event::Delivering(places));
        }
    }

    /// Nobody of the transaction gets the message: what was not said of it is left out, and the server is told,
    /// unless it learns so anyway.
    fn given_up(&mut self) {
        let was_said = |what: &Expected| {
            matches!(what, Expected::Data | Expected::Message | Expected::Reset | Expected::Rcpt(_))
        };
        if self.expected.iter().any(was_said) {
            return; // what follows is answered yet
        }
        self.may_deliver = false;
        self.events.retain(|event| !matches!(event, Event::Delivering(_)));
        self.to_say.retain(|what| !was_said(what) || *what == Expected::Reset);
        if !self.to_say.contains(&Expected::Reset) {
            self.to_say.push_front(Expected::Reset);
        }
    }

    /// Has the server forget a transaction of which it has refused the message: else the next would be one within it,
    /// and its recipients might get this one's.
    fn forget(&mut self) {
        self.to_say.push_front(Expected::Reset);
    }

    /// The server waits for the message.
    fn data_awaited(&mut self) {
        let Some(going) = self.going.front_mut() else { return };
        if going.accepted > 0 && !going.is_refused {
            let places = going.open().map(|number| going.transaction.to[number].place).collect();
            self.may_deliver = true;
            self.events.push_back(Event::Delivering(places));
        } else if going.is_refused {
            // It has refused the sender: to what it would add a message is not known.
            self.refused(
                Phase::Data,
                "it wants a message from a sender that it has refused",
                false,
            );
        } else {
            // It waits for one though it wants it for nobody (RFC 2920, section 3.1): it gets an empty one.
            going.is_said = Said::All;
            self.out.extend_from_slice(b".\r\n");
            self.expected.push_front(Expected::Message);
        }
    }

    /// The transaction at the front is over.
    fn finish(&mut self) {
        if let Some(going) = self.going.pop_front() {
            self.settle(going);
        }
        if self.going.is_empty() && self.is_idle() {
            self.be_ready();
        }
    }

    fn settle(&mut self, going: Going) {
        let outcomes: Vec<Outcome> = going.outcomes().collect();
        self.events.push_back(Event::Settled(outcomes));
    }

    /// The server closes the connection (RFC 5321, section 3.8): to the message it has said no.
    fn closing(&mut self, expected: Expected, reply: &Reply) {
        let why: Arc<str> = reply.to_string().into();
        if let Some(going) = self.going.front_mut() {
            // When it is only just told of, it is not its fault.
            let fate = if expected == Expected::Mail { Fate::Again } else { Fate::Deferred };
            going.rest(fate, &why);
        }
        self.refused(expected.phase(), &why, false);
    }

    /// The server is of no use: who was not its business yet goes to another.
    fn refused(&mut self, phase: Phase, why: &str, is_login: bool) {
        self.is_over = true;
        // Of what was to be sent last is the end of a message.
        let is_cut = !self.to_send().is_empty() && self.expected.back() == Some(&Expected::Message);
        self.expected.clear();
        self.to_say.clear();
        self.out.clear();
        self.sent = 0;
        self.long = None;
        // What it was to do is not to be done; what has become of recipients still holds.
        self.events.retain(|event| matches!(event, Event::Settled(_) | Event::Answered(_)));
        let why: Arc<str> = match &self.terms.credentials {
            Some(credentials) if phase == Phase::Login => credentials.hidden_in(why).into(),
            _ => why.into(),
        };
        for (number, mut going) in std::mem::take(&mut self.going).into_iter().enumerate() {
            let fate = match going.is_said {
                // The server was asked nothing yet, or only together with the message before.
                Said::Nothing => Fate::Again,
                _ if number > 0 => Fate::Again,
                Said::All if !self.terms.dry && !is_cut => Fate::Uncertain,
                _ => Fate::Deferred,
            };
            going.rest(fate, &why);
            self.settle(going);
        }
        self.events.push_back(Event::Refused(Trouble { phase, why, is_login }));
    }
}

impl Going {
    /// The numbers of those that are still to get the message.
    fn open(&self) -> impl Iterator<Item = usize> {
        let fates = self.fates.iter().enumerate();
        fates.filter_map(|(number, fate)| fate.is_none().then_some(number))
    }

    /// This becomes of all of whom nothing else has.
    fn rest(&mut self, fate: Fate, why: &Arc<str>) {
        for open in self.fates.iter_mut().filter(|fate| fate.is_none()) {
            *open = Some((fate, Arc::clone(why)));
        }
    }

    /// For a server that takes no such addresses.
    fn refuse_beyond_ascii(&mut self) {
        for (to, fate) in self.transaction.to.iter().zip(&mut self.fates) {
            if to.address.needs_smtputf8() {
                let why = "the address is beyond ASCII, and the server has no SMTPUTF8";
                *fate = Some((Fate::Failed, why.into()));
            }
        }
    }

    /// Takes in what the server says to a recipient.
    fn rcpt(&mut self, number: usize, reply: &Reply) {
        if self.is_refused {
            return;
        }
        if reply.is_positive() {
            self.accepted += 1;
            return;
        }
        // Too many for one transaction: 552 means the same (RFC 5321, section 4.5.3.1.10).
        let is_full = matches!(reply.code, 452 | 552) && self.accepted > 0;
        let fate = if is_full { Fate::Again } else { fate_of(reply) };
        self.fates[number] = Some((fate, reply.to_string().into()));
    }

    fn outcomes(self) -> impl Iterator<Item = Outcome> {
        let fates = self.transaction.to.into_iter().zip(self.fates);
        fates.filter_map(|(to, fate)| {
            let (fate, why) = fate?;
            Some(Outcome { place: to.place, fate, why })
        })
    }
}

fn fate_of(reply: &Reply) -> Fate {
    if reply.is_positive() {
        Fate::Delivered
    } else if reply.is_permanent() {
        Fate::Failed
    } else {
        Fate::Deferred
    }
}

#[cfg(test)]
mod tests;
