//! The client's side of an SMTP session, without input or output (RFC 5321; with groups of commands by RFC 2920).
//!
//! The transport passes received bytes to [`Session::received`], sends [`Session::to_send`], and handles each
//! [`Session::event`]. `send` writes commands, `replies` handles the replies to them.

mod active;
mod event;
mod options;
mod output;
mod phase;
mod replies;
mod send;

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::extensions::Extensions;
use crate::reply::ReplyReader;
use crate::transaction::Transaction;
use active::ActiveTransaction;
pub use event::{DeliveryStatus, Event, Outcome, SessionFailure};
pub use options::SessionOptions;
use output::{COPIED_AT_MOST, Output};
use phase::Expected;
pub use phase::SmtpPhase;

/// Maximum size of a message that is sent along with its recipients, in bytes, where the server offers CHUNKING and
/// PIPELINING: before it is known whether the server accepts any of them.
const CHUNK_ALONG_AT_MOST: usize = COPIED_AT_MOST;

/// A session with one server.
pub struct Session {
    options: Arc<SessionOptions>,
    /// The client's address, if it is said in place of a name.
    local: Option<IpAddr>,
    reader: ReplyReader,
    output: Output,
    /// The replies to the commands written so far, in order.
    expected: VecDeque<Expected>,
    /// The commands to write next, as soon as the replies to earlier commands permit.
    queued: VecDeque<Expected>,
    /// The server's extensions; none before its reply to EHLO.
    extensions: Extensions,
    is_secure: bool,
    /// The remaining lines of the AUTH exchange.
    login: VecDeque<String>,
    /// The transaction in progress, and maybe the next one, whose envelope was already sent.
    active: VecDeque<ActiveTransaction>,
    /// Whether the message may be sent as soon as [`Session::deliver`] is called.
    may_deliver: bool,
    /// Whether [`Event::Ready`] was reported, and neither [`Session::begin`] nor [`Session::quit`] was called since.
    is_ready: bool,
    /// Whether [`Session::quit`] was called.
    is_quitting: bool,
    /// Whether [`Event::Failed`] was reported.
    has_failed: bool,
    is_over: bool,
    events: VecDeque<Event>,
    /// Whether the TLS handshake is in progress.
    is_securing: bool,
    /// Number of groups of commands sent so far.
    groups: u64,
    /// Number of replies received so far.
    replies: u64,
}

/// Omits the output, which may contain a password.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut shown = f.debug_struct("Session");
        shown.field("expected", &self.expected).field("queued", &self.queued);
        shown.field("events", &self.events).field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

impl Session {
    /// Begins a session over a connection that is being established.
    pub fn new(options: Arc<SessionOptions>) -> Self {
        Self {
            options,
            local: None,
            reader: ReplyReader::default(),
            output: Output::default(),
            expected: VecDeque::from([Expected::Greeting]),
            queued: VecDeque::new(),
            extensions: Extensions::default(),
            is_secure: false,
            login: VecDeque::new(),
            active: VecDeque::new(),
            may_deliver: false,
            is_ready: false,
            is_quitting: false,
            has_failed: false,
            is_over: false,
            events: VecDeque::new(),
            is_securing: false,
            groups: 0,
            replies: 0,
        }
    }

    /// Whether [`Session::set_local`] is needed before the greeting is handled.
    pub fn needs_local(&self) -> bool {
        self.options.hello.is_empty() && self.local.is_none()
    }

    /// Sets the client's address on the connection, which it says in place of a name (RFC 5321, section 4.1.4).
    pub fn set_local(&mut self, address: IpAddr) {
        self.local = Some(address.to_canonical());
    }

    /// The bytes to send next.
    pub fn to_send(&self) -> &[u8] {
        self.output.unsent()
    }

    /// Records that the first `bytes` of [`Session::to_send`] were sent.
    pub fn was_sent(&mut self, bytes: usize) {
        if self.output.advance(bytes) {
            self.send_queued();
        }
    }

    /// Removes and returns the next event; `None` if there is none.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether [`Session::event`] would return an event.
    pub fn event_is_waiting(&self) -> bool {
        !self.events.is_empty()
    }

    /// The reply that the session waits for.
    pub fn phase(&self) -> SmtpPhase {
        if self.is_securing {
            return SmtpPhase::Tls;
        }
        self.expected.front().map_or(SmtpPhase::Idle, |expected| expected.phase())
    }

    /// Whether the session has ended, so that the connection must be closed.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether the connection is encrypted.
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// Number of groups of commands sent so far: each is one round trip.
    pub fn groups(&self) -> u64 {
        self.groups
    }

    /// Number of replies received so far.
    pub fn replies(&self) -> u64 {
        self.replies
    }

    /// Handles bytes that the server has sent.
    pub fn received(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_over {
            let (taken, reply) = self.reader.read(bytes);
            bytes = &bytes[taken..];
            match reply {
                None => debug_assert!(bytes.is_empty()),
                Some(Ok(reply)) => {
                    self.replies += 1;
                    self.answered(&reply);
                    // Bytes sent in clear text must not be taken for bytes sent under TLS (RFC 3207, section 5).
                    if matches!(self.events.back(), Some(Event::Secure)) && !bytes.is_empty() {
                        self.events.pop_back();
                        self.fail(SmtpPhase::Tls, "the server said more before TLS began", false);
                    }
                }
                Some(Err(malformed)) => {
                    let phase = self.phase();
                    self.fail(phase, &format!("{}: {malformed}", phase.missing()), false);
                }
            }
        }
        self.send_queued();
    }

    /// Continues after the TLS handshake.
    pub fn is_secured(&mut self) {
        self.is_secure = true;
        self.is_securing = false;
        self.reader = ReplyReader::default();
        self.queued.push_back(Expected::Ehlo);
        self.send_queued();
    }

    /// Starts a transaction, after [`Event::Ready`].
    pub fn begin(&mut self, transaction: Transaction) {
        debug_assert!(self.is_ready && !transaction.to.is_empty());
        self.is_ready = false;
        let mut active = ActiveTransaction::new(transaction);
        match self.extensions.takes(&active.transaction) {
            Err(why) => active.settle_rest(DeliveryStatus::Failed, &why),
            Ok(()) if !self.extensions.utf8 => active.fail_beyond_ascii(),
            Ok(()) => {}
        }
        let to: Vec<usize> = active.open().collect();
        if to.is_empty() {
            // No recipient is left, so no command is needed.
            self.settle(active);
            return self.become_ready();
        }
        self.queued.push_back(Expected::Mail);
        self.queued.extend(to.iter().map(|&number| Expected::Rcpt(number)));
        let along = active.transaction.message.size() <= CHUNK_ALONG_AT_MOST;
        if self.options.dry {
            self.queued.push_back(Expected::Reset);
        } else if !self.is_chunking() {
            self.queued.push_back(Expected::Data);
        } else if self.is_pipelining() && along {
            // The message follows once the caller has recorded that it is about to be sent.
            self.may_deliver = true;
            self.events.push_back(Event::Delivering(active.open_indexes()));
        }
        self.active.push_back(active);
        self.send_queued();
    }

    /// Sends the message, after [`Event::Delivering`].
    pub fn deliver(&mut self) {
        if !std::mem::take(&mut self.may_deliver) {
            return; // the server has rejected the transaction meanwhile
        }
        self.queued.push_back(Expected::Message);
        self.send_queued();
    }

    /// Sends QUIT, after [`Event::Ready`] or when the session should end. Transactions in progress are completed first.
    pub fn quit(&mut self) {
        self.is_ready = false;
        if std::mem::replace(&mut self.is_quitting, true) {
            return;
        }
        let has_nothing_to_do = self.active.is_empty() && self.is_idle();
        if has_nothing_to_do || (self.active.len() == 1 && self.may_follow()) {
            self.queued.push_back(Expected::Quit);
        }
        self.send_queued();
    }

    /// Ends the session without QUIT, unless a transaction is in progress. Returns whether it ended.
    pub fn leave(&mut self) -> bool {
        if self.is_over || !self.active.is_empty() {
            return false;
        }
        self.events.retain(|event| {
            matches!(event, Event::Settled(_) | Event::Answered(_) | Event::Failed(_))
        });
        self.end();
        true
    }

    /// Handles a connection that could not be made.
    pub fn not_connected(&mut self, why: &str) {
        self.fail(SmtpPhase::Connect, why, false);
    }

    /// Handles a broken connection or a timeout. The last events are the results for the recipients in progress, and the
    /// end of the session.
    pub fn broken(&mut self, why: &str) {
        let phase = self.phase();
        if self.active.is_empty() && phase == SmtpPhase::Quit {
            return self.end(); // only the reply to QUIT is missing
        }
        self.fail(phase, &format!("{}: {why}", phase.missing()), false);
    }

    fn is_pipelining(&self) -> bool {
        self.options.pipelining && self.extensions.pipelining
    }

    fn is_chunking(&self) -> bool {
        self.options.chunking && self.extensions.chunking
    }

    fn is_idle(&self) -> bool {
        self.expected.is_empty() && self.queued.is_empty()
    }

    /// Whether more commands can be sent before the reply to the current message. They cannot after BDAT, when the replies
    /// to RCPT are outstanding too.
    fn may_follow(&self) -> bool {
        self.is_pipelining()
            && (self.options.dry || !self.is_chunking())
            && self
                .active
                .front()
                .is_some_and(|active| active.progress == active::Progress::Complete)
    }

    fn become_ready(&mut self) {
        if self.is_quitting {
            self.queued.push_back(Expected::Quit);
        } else if !self.is_ready {
            self.is_ready = true;
            self.events.push_back(Event::Ready);
        }
    }

    fn settle(&mut self, active: ActiveTransaction) {
        let outcomes: Vec<Outcome> = active.outcomes().collect();
        self.events.push_back(Event::Settled(outcomes));
    }

    /// Ends the session at once, without QUIT: what the server would reply is unknown.
    fn fail(&mut self, phase: SmtpPhase, why: &str, is_login: bool) {
        self.abort(SessionFailure { phase, why: why.into(), is_login, is_permanent: false });
        self.end();
    }

    /// Ends a session that the server refuses, with QUIT (RFC 5321, section 4.1.1.10) unless a command is half sent.
    fn dismiss(&mut self, failure: SessionFailure) {
        let may_speak = self.to_send().is_empty();
        self.abort(failure);
        if !may_speak {
            return self.end();
        }
        self.is_quitting = true;
        self.queued.push_back(Expected::Quit);
    }

    /// Reports a failure while replies are outstanding. QUIT follows them.
    fn refuse(&mut self, failure: SessionFailure) {
        self.report(failure);
        (self.is_ready, self.may_deliver, self.is_quitting) = (false, false, true);
    }

    /// Reports a failure, once in a session. Requests to the transport are void then; results for recipients remain valid.
    fn report(&mut self, failure: SessionFailure) {
        self.events.retain(|event| {
            matches!(event, Event::Settled(_) | Event::Answered(_) | Event::Failed(_))
        });
        if !std::mem::replace(&mut self.has_failed, true) {
            self.events.push_back(Event::Failed(failure));
        }
    }

    fn end(&mut self) {
        self.is_over = true;
        self.events.push_back(Event::Finished);
    }

    /// Abandons all transactions, and reports the failure. Recipients that the server has not looked at are requeued.
    fn abort(&mut self, failure: SessionFailure) {
        // The unsent bytes include the end of a message.
        let is_cut = !self.to_send().is_empty() && self.expected.back() == Some(&Expected::Message);
        self.expected.clear();
        self.queued.clear();
        self.output.clear();
        let SessionFailure { phase, why, .. } = &failure;
        let why: Arc<str> = match &self.options.credentials {
            Some(credentials) if *phase == SmtpPhase::Login => credentials.hidden_in(why).into(),
            _ => Arc::clone(why),
        };
        self.is_ready = false;
        self.may_deliver = false;
        self.report(SessionFailure { why: Arc::clone(&why), ..failure });
        for (number, mut active) in std::mem::take(&mut self.active).into_iter().enumerate() {
            let status = match active.progress {
                // The server got nothing of this transaction, or only together with the message of the one before it.
                active::Progress::NotStarted => DeliveryStatus::Requeued,
                _ if number > 0 => DeliveryStatus::Requeued,
                active::Progress::Complete if !self.options.dry && !is_cut => {
                    DeliveryStatus::Uncertain
                }
                // The server may have closed the connection before it read the command.
                _ if !active.is_mail_answered => DeliveryStatus::Requeued,
                _ => DeliveryStatus::Deferred,
            };
            active.settle_rest(status, &why);
            self.settle(active);
        }
    }
}

#[cfg(test)]
mod tests;
