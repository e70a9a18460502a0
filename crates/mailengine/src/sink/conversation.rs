//! What the sink says to a client, without input or output: bytes go in, replies come out, and what is to be
//! done beside saying them.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Extension;
use super::body::Unstuffing;
use super::fault::{Dice, Kind, Phase};
use super::house::House;
use super::record::Kept;
use crate::smtp::command::{BadCommand, Body, Command, CommandReader, Mail, Mechanism};

/// Recipients that a message may have (RFC 5321, section 4.5.3.1.8, demands 100).
pub const RECIPIENTS_AT_MOST: u32 = 1_000;
/// Replies are said before more is read, once they are so many bytes: a client may ask for more than it sends.
pub const OUTPUT_AT_ONCE: usize = 32 * 1024;
/// How long each byte of a reply takes that comes slowly.
const SLOWLY: Duration = Duration::from_millis(20);

/// What is to be done with what was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The last reply is not to be said at once.
    pub pace: Option<Pace>,
    /// What comes after it.
    pub next: Next,
}

/// How a reply is said that is not said at once. Nothing more is taken in meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Where in the output it begins.
    pub from: usize,
    /// How long it is held back.
    pub after: Duration,
    /// How long each byte takes.
    pub every: Option<Duration>,
    /// It never ends, but is said again and again.
    pub endless: bool,
}

/// What comes after a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// More commands.
    More,
    /// The connection is closed; the client has said all.
    Close,
    /// It is closed once the client has stopped talking, so that it hears the reply.
    Linger,
    /// It is reset.
    Reset,
    /// It stays open, and nothing more is said.
    Stall,
    /// TLS. What the client has said before that is forgotten.
    StartTls,
}

const MORE: Outcome = Outcome { pace: None, next: Next::More };

/// A conversation with one client.
#[derive(Debug)]
pub(super) struct Conversation {
    reader: CommandReader,
    session: Session,
}

/// What is known of the client.
#[derive(Debug)]
struct Session {
    /// The connection's number.
    number: u64,
    dice: Dice,
    expects: Expects,
    introduced: bool,
    secured: bool,
    authenticated: bool,
    transaction: Option<Transaction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    Commands,
    /// A message, after DATA.
    Text(Unstuffing),
    /// So many octets after BDAT; the last of the message or not.
    Chunk {
        left: u64,
        last: bool,
        /// They are thrown away, since there is no message that they could be of.
        astray: bool,
    },
    /// Name and password in one.
    Plain,
    /// The name first.
    Name,
    /// Then the password; whether the name was right.
    Password(bool),
}

/// A message and its envelope.
#[derive(Debug, Default)]
struct Transaction {
    recipients: u32,
    utf8: bool,
    /// Its size so far.
    bytes: u64,
    /// Some of it has come.
    begun: bool,
    /// It comes by BDAT.
    chunks: bool,
    kept: Option<Box<Kept>>,
}

impl Transaction {
    fn take(&mut self, bytes: &[u8], limit: u64) {
        self.bytes += bytes.len() as u64;
        if let Some(kept) = self.kept.as_mut().filter(|_| self.bytes <= limit) {
            kept.take(bytes);
        }
    }
}

impl Conversation {
    /// One that has not begun, on the connection of that number.
    pub fn new(number: u64, house: &House) -> Self {
        let session = Session {
            number,
            dice: house.dice(number),
            expects: Expects::Commands,
            introduced: false,
            secured: false,
            authenticated: false,
            transaction: None,
        };
        Self { reader: CommandReader::default(), session }
    }

    /// Says the greeting.
    pub fn greet(&mut self, house: &mut House, out: &mut Vec<u8>) -> Outcome {
        self.session.answer(Phase::Connect, house, out, |_, _, out| {
            out.extend_from_slice(b"220 sink ESMTP, mail is thrown away\r\n");
            Next::More
        })
    }

    /// Takes in what a client has sent, and says what there is to say to it. How many bytes were used: not all
    /// where the reply is to be said first; the rest is to be given again then.
    pub fn received(
        &mut self,
        bytes: &[u8],
        house: &mut House,
        out: &mut Vec<u8>,
    ) -> (usize, Outcome) {
        let mut used = 0;
        while used < bytes.len() && out.len() < OUTPUT_AT_ONCE {
            let (more, outcome) = self.step(&bytes[used..], house, out);
            used += more;
            if outcome != MORE {
                return (used, outcome);
            }
        }
        (used, MORE)
    }

    /// TLS has begun: the client has to introduce itself again (RFC 3207, section 4.2).
    pub fn is_secured(&mut self) {
        let session = &mut self.session;
        (session.secured, session.introduced, session.transaction) = (true, false, None);
        self.reader.reset();
    }

    /// Whether the client has nothing under way.
    pub fn is_at_rest(&self) -> bool {
        let Session { expects, transaction, .. } = &self.session;
        *expects == Expects::Commands && transaction.is_none() && !self.reader.is_within_line()
    }

    /// One command, or what has come of a message.
    fn step(&mut self, bytes: &[u8], house: &mut House, out: &mut Vec<u8>) -> (usize, Outcome) {
        let Self { reader, session } = self;
        match session.expects {
            Expects::Commands => {
                let (used, command) = reader.read(bytes);
                let outcome = command.map_or(MORE, |command| session.obey(command, house, out));
                (used, outcome)
            }
            Expects::Text(unstuffing) => session.text(unstuffing, bytes, house, out),
            Expects::Chunk { left, last, astray } => {
                session.chunk(left, last, astray, bytes, house, out)
            }
            Expects::Plain | Expects::Name | Expects::Password(_) => {
                let (used, line) = reader.read_line(bytes);
                let outcome = line.map_or(MORE, |line| session.credentials(line, house, out));
                (used, outcome)
            }
        }
    }
}

/// Says a reply of a code, an enhanced code and a text.
fn say(out: &mut Vec<u8>, house: &House, code: &str, enhanced: &str, text: &str) {
    out.extend_from_slice(code.as_bytes());
    out.push(b' ');
    if house.enhanced {
        out.extend_from_slice(enhanced.as_bytes());
        out.push(b' ');
    }
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Refuses something, which is counted.
fn refuse(
    out: &mut Vec<u8>,
    house: &House,
    phase: Phase,
    (code, enhanced, text): (&str, &str, &str),
) -> Next {
    house.counters.note_refusal(phase);
    say(out, house, code, enhanced, text);
    Next::More
}

/// What a refusal says that is injected.
fn injected(phase: Phase, kind: Kind) -> (&'static str, &'static str) {
    let temporary = kind == Kind::Temporary;
    match (phase, temporary) {
        (Phase::Connect, true) => ("421", "4.3.2"),
        (Phase::Connect, false) => ("554", "5.3.2"),
        (Phase::StartTls | Phase::Auth, true) => ("454", "4.7.0"),
        (Phase::StartTls, false) => ("554", "5.7.0"),
        (Phase::Auth, false) => ("535", "5.7.8"),
        (Phase::Rcpt, true) => ("450", "4.2.0"),
        (Phase::Rcpt, false) => ("550", "5.1.1"),
        (Phase::Data | Phase::Body | Phase::End, false) => ("554", "5.3.0"),
        (_, true) => ("451", "4.3.0"),
        (_, false) => ("550", "5.3.0"),
    }
}

const ORDER: (&str, &str, &str) = ("503", "5.5.1", "commands in the wrong order");

impl Session {
    /// Answers: as it should, or as the faults want it.
    fn answer(
        &mut self,
        phase: Phase,
        house: &mut House,
        out: &mut Vec<u8>,
        properly: impl FnOnce(&mut Self, &mut House, &mut Vec<u8>) -> Next,
    ) -> Outcome {
        let from = out.len();
        let fault = house.fault(phase, &mut self.dice);
        let (mut every, mut endless) = (None, false);
        let next = match fault {
            None => properly(self, house, out),
            Some(Kind::Slowly) => {
                every = Some(SLOWLY);
                properly(self, house, out)
            }
            Some(Kind::Late) => {
                properly(self, house, out);
                out.truncate(from);
                Next::Close
            }
            Some(kind) => {
                endless = kind == Kind::Endless;
                self.give_up(phase);
                misbehave(phase, kind, house, out)
            }
        };
        let delay = house.delay(phase, &mut self.dice);
        let (after, tarpit) = delay.unwrap_or_default();
        let every = tarpit.max(every);
        let held = endless || every.is_some() || !after.is_zero();
        let pace = held.then_some(Pace { from, after, every, endless });
        Outcome { pace, next }
    }

    /// A message that is refused by a fault has gone.
    fn give_up(&mut self, phase: Phase) {
        if matches!(phase, Phase::Body | Phase::End) {
            self.transaction = None;
            self.expects = Expects::Commands;
        }
    }

    fn obey(
        &mut self,
        command: Result<Command, BadCommand>,
        house: &mut House,
        out: &mut Vec<u8>,
    ) -> Outcome {
        house.counters.commands.add(1);
        let command = match command {
            Ok(command) => command,
            Err(bad) => return wrong(bad, house, out),
        };
        let phase = match command {
            Command::Helo(_) | Command::Ehlo(_) => Phase::Ehlo,
            Command::Mail(_) => Phase::Mail,
            Command::Rcpt(_) => Phase::Rcpt,
            Command::Data => Phase::Data,
            Command::Rset => Phase::Rset,
            Command::Quit => Phase::Quit,
            Command::StartTls => Phase::StartTls,
            Command::Auth { .. } => Phase::Auth,
            Command::Bdat { size, last } => return self.begin_chunk(size, last, house, out),
            Command::Noop => {
                say(out, house, "250", "2.0.0", "ok");
                return MORE;
            }
            Command::Vrfy => {
                say(out, house, "252", "2.5.2", "send mail, it will be taken");
                return MORE;
            }
            Command::Unknown => {
                house.counters.bad_commands.add(1);
                say(out, house, "500", "5.5.1", "unknown command");
                return MORE;
            }
        };
        self.answer(phase, house, out, |session, house, out| match command {
            Command::Ehlo(_) => session.introduce(true, house, out),
            Command::Helo(_) => session.introduce(false, house, out),
            Command::Mail(mail) => session.mail(&mail, house, out),
            Command::Rcpt(to) => session.recipient(to, house, out),
            Command::Data => session.data(house, out),
            Command::Rset => {
                session.transaction = None;
                say(out, house, "250", "2.0.0", "forgotten");
                Next::More
            }
            Command::Quit => {
                say(out, house, "221", "2.0.0", "bye");
                Next::Close
            }
            Command::StartTls => session.start_tls(house, out),
            Command::Auth { mechanism, initial } => session.auth(mechanism, initial, house, out),
            _ => unreachable!("answered above"),
        })
    }

    fn introduce(&mut self, extended: bool, house: &mut House, out: &mut Vec<u8>) -> Next {
        if extended && !house.offer.knows_ehlo() {
            return refuse(out, house, Phase::Ehlo, ("502", "5.5.1", "not implemented"));
        }
        (self.introduced, self.transaction) = (true, None);
        match extended {
            true => out.extend_from_slice(house.offer.ehlo(self.secured)),
            false => out.extend_from_slice(b"250 sink\r\n"),
        }
        Next::More
    }

    fn mail(&mut self, mail: &Mail, house: &mut House, out: &mut Vec<u8>) -> Next {
        if !self.introduced || self.transaction.is_some() {
            return refuse(out, house, Phase::Mail, ORDER);
        }
        let offer = &house.offer;
        let unknown = (mail.size.is_some() && !offer.has(Extension::Size, self.secured))
            || (mail.body.is_some() && !offer.has(Extension::EightBitMime, self.secured))
            || mail.body == Some(Body::Binary)
            || (mail.utf8 && !offer.has(Extension::SmtpUtf8, self.secured));
        let refusal = if unknown {
            ("555", "5.5.4", "parameter not offered")
        } else if mail.size.is_some_and(|size| size > offer.size) {
            ("552", "5.3.4", "message too large")
        } else if !mail.utf8 && !mail.from.is_ascii() {
            ("553", "5.6.7", "address needs SMTPUTF8")
        } else {
            let kept = (!house.records.is_none()).then(|| house.records.begin(mail.from));
            self.transaction = Some(Transaction { utf8: mail.utf8, kept, ..Default::default() });
            house.counters.transactions.add(1);
            say(out, house, "250", "2.1.0", "sender taken");
            return Next::More;
        };
        refuse(out, house, Phase::Mail, refusal)
    }

    fn recipient(&mut self, to: &str, house: &mut House, out: &mut Vec<u8>) -> Next {
        let Some(transaction) = self.transaction.as_mut().filter(|one| !one.chunks) else {
            return refuse(out, house, Phase::Rcpt, ORDER);
        };
        let refusal = if transaction.recipients >= RECIPIENTS_AT_MOST {
            ("452", "4.5.3", "too many recipients")
        } else if !transaction.utf8 && !to.is_ascii() {
            ("553", "5.6.7", "address needs SMTPUTF8")
        } else if house.puts_off(to) {
            ("450", "4.7.1", "greylisted, come back later")
        } else {
            transaction.recipients += 1;
            if let Some(kept) = &mut transaction.kept {
                kept.add_recipient(to);
            }
            say(out, house, "250", "2.1.5", "recipient taken");
            return Next::More;
        };
        refuse(out, house, Phase::Rcpt, refusal)
    }

    fn data(&mut self, house: &mut House, out: &mut Vec<u8>) -> Next {
        match &self.transaction {
            Some(Transaction { chunks: false, recipients: 0, .. }) => {
                refuse(out, house, Phase::Data, ("554", "5.5.1", "no recipients"))
            }
            Some(Transaction { chunks: false, .. }) => {
                self.expects = Expects::Text(Unstuffing::default());
                out.extend_from_slice(b"354 end with CR LF . CR LF\r\n");
                Next::More
            }
            _ => refuse(out, house, Phase::Data, ORDER),
        }
    }

    /// What has come of a message after DATA.
    fn text(
        &mut self,
        mut unstuffing: Unstuffing,
        bytes: &[u8],
        house: &mut House,
        out: &mut Vec<u8>,
    ) -> (usize, Outcome) {
        if let Some(outcome) = self.begin_body(house, out) {
            return (bytes.len(), outcome);
        }
        let Some(transaction) = &mut self.transaction else {
            self.expects = Expects::Commands; // never: DATA needs one
            return (0, MORE);
        };
        let limit = house.offer.size;
        match unstuffing.feed(bytes, |some| transaction.take(some, limit)) {
            None => {
                self.expects = Expects::Text(unstuffing);
                (bytes.len(), MORE)
            }
            Some(used) => {
                self.expects = Expects::Commands;
                (used, self.answer(Phase::End, house, out, Self::accept))
            }
        }
    }

    /// The first of a message is here: does something go wrong?
    fn begin_body(&mut self, house: &mut House, out: &mut Vec<u8>) -> Option<Outcome> {
        let transaction = self.transaction.as_mut()?;
        if std::mem::replace(&mut transaction.begun, true) {
            return None;
        }
        let kind = house.fault(Phase::Body, &mut self.dice)?;
        let from = out.len();
        self.give_up(Phase::Body);
        let next = match misbehave(Phase::Body, kind, house, out) {
            Next::More => Next::Linger,
            next => next,
        };
        let endless = kind == Kind::Endless;
        let pace = Pace { from, after: Duration::ZERO, every: None, endless };
        Some(Outcome { pace: endless.then_some(pace), next })
    }

    /// The whole message is here.
    fn accept(&mut self, house: &mut House, out: &mut Vec<u8>) -> Next {
        let Some(transaction) = self.transaction.take() else { return Next::More };
        let Transaction { recipients, bytes, kept, .. } = transaction;
        if bytes > house.offer.size {
            return refuse(out, house, Phase::End, ("552", "5.3.4", "message too large"));
        }
        if let Some(kept) = kept
            && let Err(e) = house.records.write(*kept, bytes, self.number, self.secured)
        {
            house.complain(&e);
            return refuse(out, house, Phase::End, ("452", "4.3.1", "no room for it"));
        }
        let counters = &house.counters;
        counters.messages.add(1);
        counters.recipients.add(recipients.into());
        counters.bytes.add(bytes);
        say(out, house, "250", "2.0.0", "taken, and thrown away");
        Next::More
    }

    /// BDAT: its octets come in any case (RFC 3030, section 2).
    fn begin_chunk(
        &mut self,
        size: u64,
        last: bool,
        house: &mut House,
        out: &mut Vec<u8>,
    ) -> Outcome {
        if !house.offer.has(Extension::Chunking, self.secured) {
            house.counters.bad_commands.add(1);
            say(out, house, "502", "5.5.1", "not implemented");
            return MORE;
        }
        let transaction = self.transaction.as_mut().filter(|one| one.recipients > 0);
        let astray = transaction.is_none();
        if let Some(transaction) = transaction {
            transaction.chunks = true;
        }
        self.expects = Expects::Chunk { left: size, last, astray };
        if size > 0 { MORE } else { self.end_chunk(last, astray, house, out) }
    }

    fn chunk(
        &mut self,
        left: u64,
        last: bool,
        astray: bool,
        bytes: &[u8],
        house: &mut House,
        out: &mut Vec<u8>,
    ) -> (usize, Outcome) {
        if !astray && let Some(outcome) = self.begin_body(house, out) {
            return (bytes.len(), outcome);
        }
        let used = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        if let Some(transaction) = self.transaction.as_mut().filter(|_| !astray) {
            transaction.take(&bytes[..used], house.offer.size);
        }
        let left = left - used as u64;
        self.expects = Expects::Chunk { left, last, astray };
        let outcome = if left > 0 { MORE } else { self.end_chunk(last, astray, house, out) };
        (used, outcome)
    }

    fn end_chunk(
        &mut self,
        last: bool,
        astray: bool,
        house: &mut House,
        out: &mut Vec<u8>,
    ) -> Outcome {
        self.expects = Expects::Commands;
        if astray {
            refuse(out, house, Phase::Data, ORDER);
            return MORE;
        }
        if last {
            return self.answer(Phase::End, house, out, Self::accept);
        }
        self.answer(Phase::Data, house, out, |session, house, out| {
            let bytes = session.transaction.as_ref().map_or(0, |transaction| transaction.bytes);
            if bytes > house.offer.size {
                session.transaction = None;
                return refuse(out, house, Phase::Data, ("552", "5.3.4", "message too large"));
            }
            say(out, house, "250", "2.0.0", "go on");
            Next::More
        })
    }

    fn start_tls(&mut self, house: &mut House, out: &mut Vec<u8>) -> Next {
        if !house.offer.has(Extension::StartTls, self.secured) {
            return refuse(out, house, Phase::StartTls, ("502", "5.5.1", "not offered"));
        }
        if self.transaction.is_some() {
            return refuse(out, house, Phase::StartTls, ORDER);
        }
        say(out, house, "220", "2.0.0", "begin TLS");
        Next::StartTls
    }

    fn auth(
        &mut self,
        mechanism: Mechanism,
        initial: Option<&str>,
        house: &mut House,
        out: &mut Vec<u8>,
    ) -> Next {
        if !house.offer.has(Extension::Auth, self.secured) {
            let refusal = match house.offer.has(Extension::StartTls, self.secured) {
                true => ("538", "5.7.11", "only over TLS"),
                false => ("502", "5.5.1", "not offered"),
            };
            return refuse(out, house, Phase::Auth, refusal);
        }
        if self.authenticated || !self.introduced || self.transaction.is_some() {
            return refuse(out, house, Phase::Auth, ORDER);
        }
        self.expects = match mechanism {
            Mechanism::Plain => Expects::Plain,
            Mechanism::Login => Expects::Name,
            Mechanism::Other => {
                return refuse(out, house, Phase::Auth, ("504", "5.5.4", "mechanism not offered"));
            }
        };
        match initial {
            Some("=") => self.credential(b"", house, out),
            Some(initial) => self.credential(initial.as_bytes(), house, out),
            None => {
                // "Username:"
                let asks: &[u8] = match mechanism {
                    Mechanism::Plain => b"334 \r\n",
                    _ => b"334 VXNlcm5hbWU6\r\n",
                };
                out.extend_from_slice(asks);
                Next::More
            }
        }
    }

    /// A line after AUTH.
    fn credentials(
        &mut self,
        line: Result<&[u8], BadCommand>,
        house: &mut House,
        out: &mut Vec<u8>,
    ) -> Outcome {
        match line {
            Err(bad) => {
                self.expects = Expects::Commands;
                wrong(bad, house, out)
            }
            Ok(line) => self.answer(Phase::Auth, house, out, |session, house, out| {
                session.credential(line, house, out)
            }),
        }
    }

    fn credential(&mut self, line: &[u8], house: &mut House, out: &mut Vec<u8>) -> Next {
        let expected = std::mem::replace(&mut self.expects, Expects::Commands);
        let Ok(text) = STANDARD.decode(line) else {
            return refuse(out, house, Phase::Auth, ("501", "5.5.2", "no base64, or given up"));
        };
        let is = |given: &[u8], right: &str| given == right.as_bytes();
        let login = house.offer.login.as_ref();
        let right = match expected {
            Expects::Name => {
                let right = login.is_none_or(|(name, _)| is(&text, name));
                self.expects = Expects::Password(right);
                out.extend_from_slice(b"334 UGFzc3dvcmQ6\r\n"); // "Password:"
                return Next::More;
            }
            Expects::Password(name) => {
                name && login.is_none_or(|(_, password)| is(&text, password))
            }
            _ => {
                let mut parts = text.splitn(3, |&byte| byte == 0).skip(1);
                let (name, password) = (parts.next(), parts.next());
                name.zip(password).is_some_and(|(name, password)| {
                    login.is_none_or(|right| is(name, &right.0) && is(password, &right.1))
                })
            }
        };
        if !right {
            return refuse(out, house, Phase::Auth, ("535", "5.7.8", "name or password wrong"));
        }
        self.authenticated = true;
        say(out, house, "235", "2.7.0", "welcome");
        Next::More
    }
}

/// What is no command is told.
fn wrong(bad: BadCommand, house: &mut House, out: &mut Vec<u8>) -> Outcome {
    house.counters.bad_commands.add(1);
    let (code, enhanced) = match bad {
        BadCommand::BareLineFeed => ("521", "5.5.2"),
        BadCommand::TooLong | BadCommand::NotText => ("500", "5.5.2"),
        BadCommand::Syntax => ("501", "5.5.2"),
        BadCommand::Address => ("501", "5.1.3"),
        BadCommand::Parameter => ("555", "5.5.4"),
    };
    say(out, house, code, enhanced, &bad.to_string());
    let closes = bad == BadCommand::BareLineFeed;
    Outcome { pace: None, next: if closes { Next::Linger } else { Next::More } }
}

/// Does what a fault wants instead of answering.
fn misbehave(phase: Phase, kind: Kind, house: &House, out: &mut Vec<u8>) -> Next {
    match kind {
        Kind::Drop => Next::Close,
        Kind::Reset => Next::Reset,
        Kind::Stall => Next::Stall,
        Kind::Temporary | Kind::Permanent => {
            let (code, enhanced) = injected(phase, kind);
            say(out, house, code, enhanced, "a fault, as was asked for");
            if phase == Phase::Connect { Next::Linger } else { Next::More }
        }
        Kind::Malformed => {
            out.extend_from_slice(b"?? this is no reply\r\n");
            Next::More
        }
        Kind::Endless => {
            out.extend_from_slice(b"250-and so on\r\n");
            Next::More
        }
        Kind::Slowly | Kind::Late => Next::More, // what is said is right
    }
}
