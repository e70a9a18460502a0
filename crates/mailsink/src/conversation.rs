//! What the sink says to a client, without input or output: bytes go in, replies come out, and what is to be
//! done beside saying them.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Extension;
use super::fault::{Dice, Kind, Phase};
use super::house::House;
use super::record::Kept;
use smtp::command::{BadCommand, Body, Command, CommandReader, Mail, Mechanism};
use smtp::unstuffing::Unstuffing;

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
            house.counters.rcpts.add(1);
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::Plan;
    use crate::counts::Counters;
    use crate::identity::Identity;
    use crate::record::Records;

    fn house(plan: &Plan) -> House {
        House::new(plan, Records::default(), Arc::new(Counters::default()))
    }

    fn with_tls() -> Plan {
        let identity = Identity::made_for(vec!["localhost".into()]).unwrap();
        let login = Some(("me".to_owned(), "secret".to_owned()));
        Plan { tls: Some(identity.configuration().unwrap()), login, ..Plan::default() }
    }

    /// Has a conversation in pieces, until it is over; what was said, and how it went on last.
    fn talk(
        talk: &mut Conversation,
        house: &mut House,
        bytes: &[u8],
        size: usize,
    ) -> (String, Next) {
        let (mut said, mut out) = (Vec::new(), Vec::new());
        for mut piece in bytes.chunks(size) {
            while !piece.is_empty() {
                let (used, outcome) = talk.received(piece, house, &mut out);
                said.append(&mut out);
                piece = &piece[used..];
                if outcome.next != Next::More {
                    return (String::from_utf8(said).unwrap(), outcome.next);
                }
                assert!(used > 0 || said.len() >= OUTPUT_AT_ONCE, "it stands still");
            }
        }
        (String::from_utf8(said).unwrap(), Next::More)
    }

    fn codes(said: &str) -> Vec<&str> {
        let last = |line: &&str| line.as_bytes().get(3) == Some(&b' ');
        said.lines().filter(last).map(|line| &line[..3]).collect()
    }

    /// The codes of the replies to all this, in whatever pieces it comes.
    fn replies(plan: &Plan, secured: bool, sent: &str) -> (String, Next, Counters) {
        let mut of_all = None;
        for size in [1, 2, 3, 7, 4_096] {
            let mut house = house(plan);
            let mut conversation = Conversation::new(1, &house);
            if secured {
                conversation.is_secured();
            }
            let (said, next) = talk(&mut conversation, &mut house, sent.as_bytes(), size);
            let codes = codes(&said).join(" ");
            let this = of_all.get_or_insert((codes.clone(), next));
            assert_eq!(*this, (codes, next), "pieces of {size} make a difference");
            if size == 4_096 {
                let counters = Arc::into_inner(std::mem::take(&mut house.counters)).unwrap();
                return (this.0.clone(), next, counters);
            }
        }
        unreachable!("the last size returns")
    }

    #[test]
    fn a_client_may_say_all_at_once() {
        let sent = "EHLO me\r\nMAIL FROM:<a@b> SIZE=10\r\nRCPT TO:<c@d>\r\nRCPT TO:<e@f>\r\nDATA\r\n\
                    Subject: x\r\n\r\n..dot\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<c@d>\r\nDATA\r\n.\r\nQUIT\r\n";
        let (said, next, counters) = replies(&Plan::default(), false, sent);
        assert_eq!(said, "250 250 250 250 354 250 250 250 354 250 221");
        assert_eq!(next, Next::Close);
        let counts = counters.read();
        assert_eq!((counts.messages, counts.recipients, counts.transactions), (2, 3, 2));
        assert_eq!(counts.bytes, "Subject: x\r\n\r\n.dot\r\n".len() as u64);
        assert_eq!((counts.commands, counts.bad_commands), (9, 0));
    }

    #[test]
    fn what_is_out_of_order_or_wrong_is_refused() {
        for (sent, said) in [
            ("MAIL FROM:<a@b>\r\n", "503"),
            ("HELO x\r\nRCPT TO:<a@b>\r\nDATA\r\n", "250 503 503"),
            ("HELO x\r\nMAIL FROM:<>\r\nDATA\r\nMAIL FROM:<>\r\n", "250 250 554 503"),
            ("HELO x\r\nMAIL FROM:<>\r\nRSET\r\nMAIL FROM:<>\r\n", "250 250 250 250"),
            (
                "EHLO x\r\nMAIL FROM:<> SIZE=99999999999\r\nMAIL FROM:<> BODY=BINARYMIME\r\n",
                "250 552 555",
            ),
            ("EHLO x\r\nMAIL FROM:<\u{e9}@b>\r\nMAIL FROM:<\u{e9}@b> SMTPUTF8\r\n", "250 553 250"),
            ("EHLO x\r\nSTARTTLS\r\nAUTH PLAIN AGEAYg==\r\n", "250 502 502"),
            ("HELP\r\nVRFY x\r\nNOOP\r\n", "500 252 250"),
            ("EHLO x\r\nMAIL FROM:a@b\r\nMAIL FROM:<a>\r\nMAIL FROM:<> X=1\r\n", "250 501 501 555"),
        ] {
            let (codes, next, _) = replies(&Plan::default(), false, sent);
            assert_eq!((&codes[..], next), (said, Next::More), "{sent}");
        }
        let (said, next, _) = replies(&Plan::default(), false, "EHLO x\nMAIL FROM:<>\r\n");
        assert_eq!((&said[..], next), ("521", Next::Linger), "nothing after a bare LF is believed");
    }

    #[test]
    fn chunks_are_taken_also_where_they_belong_to_nothing() {
        let begin = "EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<a@b>\r\n";
        for (rest, said) in [
            ("BDAT 4\r\nab\r\nBDAT 3 LAST\r\n.\r\nNOOP\r\n", "250 250 250"),
            ("BDAT 2\r\nabBDAT 0 LAST\r\nNOOP\r\n", "250 250 250"),
            ("BDAT 2\r\nabDATA\r\nRCPT TO:<a@b>\r\nRSET\r\nNOOP\r\n", "250 503 503 250 250"),
            ("RSET\r\nBDAT 6 LAST\r\nQUIT\r\nNOOP\r\n", "250 503 250"),
            ("BDAT 6\r\nQUIT\r\nRSET\r\n", "250 250"),
        ] {
            let sent = begin.to_owned() + rest;
            let (codes, ..) = replies(&Plan::default(), false, &sent);
            assert_eq!(codes, "250 250 250 ".to_owned() + said, "{rest}");
        }
        let sent = begin.to_owned() + "BDAT 7 LAST\r\n..\r\n..\rRSET\r\n";
        let (_, _, counters) = replies(&Plan::default(), false, &sent);
        assert_eq!(counters.read().bytes, 7, "there are no dots to take away");
    }

    #[test]
    fn a_message_that_is_too_large_is_refused_at_its_end() {
        let plan = Plan { size: 10, ..Plan::default() };
        let begin = "EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<a@b>\r\n";
        let data = |body: &str| format!("{begin}DATA\r\n{body}\r\n.\r\nNOOP\r\n");
        let (said, _, counters) = replies(&plan, false, &data("12345678"));
        assert_eq!((&said[..], counters.read().messages), ("250 250 250 354 250 250", 1));
        let (said, _, counters) = replies(&plan, false, &data("123456789"));
        assert_eq!((&said[..], counters.read().messages), ("250 250 250 354 552 250", 0));
        let sent = format!("{begin}BDAT 11\r\n12345678901BDAT 1 LAST\r\n2NOOP\r\n");
        assert_eq!(replies(&plan, false, &sent).0, "250 250 250 552 503 250");
    }

    #[test]
    fn who_one_is_can_be_said_over_tls_only() {
        let plan = with_tls();
        let right = "AUTH PLAIN AG1lAHNlY3JldA==\r\n"; // \0me\0secret
        for (sent, said) in [
            (right, "235"),
            ("AUTH PLAIN\r\nAG1lAHNlY3JldA==\r\n", "334 235"),
            ("AUTH LOGIN\r\nbWU=\r\nc2VjcmV0\r\n", "334 334 235"),
            ("AUTH LOGIN bWU=\r\nc2VjcmV0\r\nAUTH LOGIN\r\n", "334 235 503"),
            ("AUTH LOGIN\r\nYm8=\r\nc2VjcmV0\r\n", "334 334 535"),
            ("AUTH PLAIN AG1lAHdyb25n\r\n", "535"),
            ("AUTH PLAIN =\r\nAUTH PLAIN x\r\nAUTH PLAIN\r\n*\r\n", "535 501 334 501"),
            ("AUTH CRAM-MD5\r\nSTARTTLS\r\n", "504 502"),
        ] {
            let sent = "EHLO x\r\n".to_owned() + sent;
            assert_eq!(replies(&plan, true, &sent).0, format!("250 {said}"), "{sent}");
        }
        assert_eq!(replies(&plan, false, &format!("EHLO x\r\n{right}")).0, "250 538");
    }

    #[test]
    fn starttls_forgets_what_was_said() {
        let plan = with_tls();
        let (said, next, _) = replies(&plan, false, "EHLO x\r\nSTARTTLS\r\nMAIL FROM:<>\r\n");
        assert_eq!((&said[..], next), ("250 220", Next::StartTls));
        let mut house = house(&plan);
        let mut conversation = Conversation::new(1, &house);
        talk(&mut conversation, &mut house, b"EHLO x\r\nSTARTTLS\r\n", 100);
        conversation.is_secured();
        let (said, _) = talk(&mut conversation, &mut house, b"MAIL FROM:<>\r\n", 100);
        assert_eq!(codes(&said), ["503"], "the client has to introduce itself again");
    }

    #[test]
    fn without_extensions_there_are_none() {
        use Extension::*;
        let without = vec![Chunking, SmtpUtf8, Size, EightBitMime, EnhancedStatusCodes];
        let plan = Plan { without, ..Plan::default() };
        let sent = "EHLO x\r\nMAIL FROM:<> SIZE=1\r\nMAIL FROM:<> SMTPUTF8\r\nMAIL FROM:<> BODY=7BIT\r\n\
                    BDAT 1\r\n";
        assert_eq!(replies(&plan, false, sent).0, "250 555 555 555 502");
        let mut house = house(&plan);
        let (said, _) = talk(&mut Conversation::new(1, &house), &mut house, b"NOOP\r\n", 9);
        assert_eq!(said, "250 ok\r\n");
        let plan = Plan { helo_only: true, ..Plan::default() };
        assert_eq!(replies(&plan, false, "EHLO x\r\nHELO x\r\nMAIL FROM:<>\r\n").0, "502 250 250");
    }

    #[test]
    fn a_fault_takes_the_place_of_what_should_happen() {
        let sent = "EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<a@b>\r\nDATA\r\nx\r\n.\r\nRSET\r\nQUIT\r\n";
        for (fault, said, last, messages) in [
            ("ehlo:5xx:1", "550 503 503 503 500 500 250 221", Next::Close, 0),
            ("mail:4xx:1", "250 451 503 503 500 500 250 221", Next::Close, 0),
            ("rcpt:4xx:1", "250 250 450 554 500 500 250 221", Next::Close, 0),
            ("data:drop:1", "250 250 250", Next::Close, 0),
            ("body:reset:1", "250 250 250 354", Next::Reset, 0),
            ("body:4xx:1", "250 250 250 354 451", Next::Linger, 0),
            ("end:5xx:1", "250 250 250 354 554 250 221", Next::Close, 0),
            ("end:stall:1", "250 250 250 354", Next::Stall, 0),
            ("end:late:1", "250 250 250 354", Next::Close, 1),
            ("end:slowly:1", "250 250 250 354 250 250 221", Next::Close, 1),
            ("quit:malformed:1", "250 250 250 354 250 250", Next::More, 1),
        ] {
            let plan = Plan { faults: vec![fault.parse().unwrap()], ..Plan::default() };
            let (codes, next, counters) = replies(&plan, false, sent);
            assert_eq!((&codes[..], next), (said, last), "{fault}");
            let counts = counters.read();
            assert_eq!(counts.messages, messages, "{fault}");
            let name = fault.strip_suffix(":1").unwrap();
            assert_eq!(counts.faults.into_iter().collect::<Vec<_>>(), [(name.to_owned(), 1)]);
        }
    }

    #[test]
    fn late_replies_are_held_back_one_by_one() {
        let latencies = ["rcpt=10ms".parse().unwrap()].to_vec();
        let plan = Plan { latencies, ..Plan::default() };
        let mut house = house(&plan);
        let mut conversation = Conversation::new(1, &house);
        let sent = b"HELO x\r\nMAIL FROM:<>\r\nRCPT TO:<a@b>\r\nDATA\r\n";
        let mut out = Vec::new();
        let (used, outcome) = conversation.received(sent, &mut house, &mut out);
        assert_eq!(&sent[used..], b"DATA\r\n");
        let pace = outcome.pace.unwrap();
        assert!(out[pace.from..].starts_with(b"250 2.1.5"));
        assert_eq!((pace.after, pace.every), (Duration::from_millis(10), None));
        let (_, outcome) = conversation.received(&sent[used..], &mut house, &mut out);
        assert_eq!(outcome, MORE);
    }

    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let known: Vec<&[u8]> = vec![
            b"EHLO x\r\n",
            b"MAIL FROM:<>\r\n",
            b"RCPT TO:<a@b>\r\n",
            b"DATA\r\n",
            b"\r\n.\r\n",
            b"BDAT 5\r\n",
            b"BDAT 3 LAST\r\n",
            b"AUTH LOGIN\r\n",
            b"RSET\r\n",
            b"NOOP\r\n",
            b"text",
        ];
        let any = proptest::collection::vec(any::<u8>(), 0..30);
        prop_oneof![3 => proptest::sample::select(known).prop_map(<[u8]>::to_vec), 1 => any]
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_are_answered_alike(
            pieces in proptest::collection::vec(piece(), 0..30),
            size in 1_usize..40,
        ) {
            let bytes = pieces.concat();
            let plan = Plan { without: vec![Extension::Auth], ..Plan::default() };
            let one = |size| {
                let mut house = house(&plan);
                let mut conversation = Conversation::new(1, &house);
                let (said, next) = talk(&mut conversation, &mut house, &bytes, size);
                (said, next, house.counters.read())
            };
            let (said, next, counts) = one(bytes.len().max(1));
            let pieced = one(size);
            prop_assert_eq!(&(said.clone(), next, counts.clone()), &pieced);
            // Each command has one reply, and so has each message of DATA, beside the 354; BDAT has one in all, which
            // may not have come yet.
            let codes = codes(&said);
            let of_commands = codes.len() as u64;
            let begun = codes.iter().filter(|code| **code == "354").count() as u64;
            prop_assert!(of_commands <= counts.commands + begun);
            prop_assert!(of_commands + 1 >= counts.commands);
        }
    }
}
