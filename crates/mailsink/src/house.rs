//! What all conversations of a sink have in common: what it offers, what it does wrong, what it has seen.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::counts::Counters;
use super::fault::{self, Dice, Fault, Kind, Phase};
use super::latency::Latencies;
use super::record::Records;
use super::{Extension, Plan};

/// Recipients that greylisting remembers; those beyond are not put off.
const REMEMBERED_AT_MOST: usize = 1_000_000;

/// What the sink offers.
#[derive(Debug)]
pub(super) struct Offer {
    helo_only: bool,
    without: Vec<Extension>,
    tls: bool,
    /// Largest message, in bytes.
    pub size: u64,
    /// The only name and password that are right; any are if `None`.
    pub login: Option<(String, String)>,
    /// Replies to EHLO, without and with TLS.
    ehlo: [Vec<u8>; 2],
}

impl Offer {
    fn new(plan: &Plan) -> Self {
        let mut offer = Self {
            helo_only: plan.helo_only,
            without: plan.without.clone(),
            tls: plan.tls.is_some(),
            size: plan.size,
            login: plan.login.clone(),
            ehlo: Default::default(),
        };
        offer.ehlo = [false, true].map(|secured| offer.ehlo_reply(secured));
        offer
    }

    /// Whether it has an extension, on a connection that is TLS already or not.
    pub fn has(&self, extension: Extension, secured: bool) -> bool {
        let possible = match extension {
            Extension::StartTls => self.tls && !secured,
            Extension::Auth => self.tls && secured,
            _ => true,
        };
        possible && !self.without.contains(&extension)
    }

    /// Whether EHLO is known at all.
    pub fn knows_ehlo(&self) -> bool {
        !self.helo_only
    }

    /// The reply to EHLO.
    pub fn ehlo(&self, secured: bool) -> &[u8] {
        &self.ehlo[usize::from(secured)]
    }

    fn ehlo_reply(&self, secured: bool) -> Vec<u8> {
        let mut lines = vec!["sink".to_owned()];
        for extension in Extension::ALL {
            if self.has(extension, secured) {
                lines.push(match extension {
                    Extension::Size => format!("SIZE {}", self.size),
                    Extension::Auth => "AUTH PLAIN LOGIN".to_owned(),
                    other => other.name().to_ascii_uppercase(),
                });
            }
        }
        let last = lines.len() - 1;
        let line = |(at, line)| format!("250{}{line}\r\n", if at == last { ' ' } else { '-' });
        lines.into_iter().enumerate().map(line).collect::<String>().into_bytes()
    }
}

/// What all conversations share.
#[derive(Debug)]
pub(super) struct House {
    pub offer: Offer,
    pub counters: Arc<Counters>,
    pub records: Records,
    /// When the present turn of the loop began.
    pub now: Instant,
    /// Enhanced status codes are given (RFC 2034).
    pub enhanced: bool,
    seed: u64,
    faults: Vec<Fault>,
    latencies: Latencies,
    tarpit: Option<Duration>,
    greylist: Option<Greylist>,
    /// Something is to go wrong or to be late at all.
    misbehaves: bool,
    complain: fn(&str),
    complained: bool,
}

impl House {
    pub fn new(plan: &Plan, records: Records, counters: Arc<Counters>) -> Self {
        let late = !plan.latencies.is_empty() || plan.tarpit.is_some();
        Self {
            offer: Offer::new(plan),
            counters,
            records,
            now: Instant::now(),
            enhanced: !plan.without.contains(&Extension::EnhancedStatusCodes),
            seed: plan.seed,
            faults: plan.faults.clone(),
            latencies: Latencies::new(&plan.latencies),
            tarpit: plan.tarpit,
            greylist: plan.greylist.map(|time| Greylist { time, seen: HashMap::new() }),
            misbehaves: late || !plan.faults.is_empty(),
            complain: plan.complain,
            complained: false,
        }
    }

    /// The dice of a connection.
    pub fn dice(&self, connection: u64) -> Dice {
        Dice::new(self.seed, connection)
    }

    /// What goes wrong now, if anything.
    #[inline]
    pub fn fault(&self, phase: Phase, dice: &mut Dice) -> Option<Kind> {
        if !self.misbehaves {
            return None;
        }
        let drawn = fault::draw(&self.faults, phase, dice)?;
        self.counters.note_fault(phase, drawn);
        Some(drawn)
    }

    /// How long a reply is held back, and how long it takes for each byte, if it is not to be said at once.
    #[inline]
    pub fn delay(&self, phase: Phase, dice: &mut Dice) -> Option<(Duration, Option<Duration>)> {
        if !self.misbehaves {
            return None;
        }
        let after = self.latencies.draw(phase, dice);
        (!after.is_zero() || self.tarpit.is_some()).then_some((after, self.tarpit))
    }

    /// Whether a recipient is to come back later.
    pub fn puts_off(&mut self, recipient: &str) -> bool {
        let now = self.now;
        self.greylist.as_mut().is_some_and(|greylist| greylist.puts_off(recipient, now))
    }

    /// A message could not be written: said once.
    pub fn complain(&mut self, error: &std::io::Error) {
        self.counters.unwritten.add(1);
        if !std::mem::replace(&mut self.complained, true) {
            (self.complain)(&format!(
                "a message cannot be kept ({error}): such are refused with 452, and counted, from now on"
            ));
        }
    }
}

/// Recipients and when they were first asked for.
#[derive(Debug)]
struct Greylist {
    time: Duration,
    seen: HashMap<u64, Instant>,
}

impl Greylist {
    fn puts_off(&mut self, recipient: &str, now: Instant) -> bool {
        let mut hasher = DefaultHasher::new();
        recipient.hash(&mut hasher);
        let key = hasher.finish();
        match self.seen.get(&key) {
            Some(&first) => now.saturating_duration_since(first) < self.time,
            None if self.seen.len() >= REMEMBERED_AT_MOST => false,
            None => {
                self.seen.insert(key, now);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ehlo(plan: &Plan, secured: bool) -> String {
        String::from_utf8(Offer::new(plan).ehlo(secured).to_vec()).unwrap()
    }

    #[test]
    fn what_is_offered_depends_on_plan_and_tls() {
        let mut plan = Plan { size: 1_000, ..Plan::default() };
        let all = "250-sink\r\n250-PIPELINING\r\n250-SIZE 1000\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n\
                   250-ENHANCEDSTATUSCODES\r\n250 CHUNKING\r\n";
        assert_eq!(ehlo(&plan, false), all);
        let identity = crate::identity::Identity::made_for(vec!["localhost".into()]).unwrap();
        plan.tls = Some(identity.configuration().unwrap());
        plan.without = vec![Extension::Pipelining, Extension::Chunking];
        assert!(ehlo(&plan, false).ends_with("250 STARTTLS\r\n"));
        let secured = ehlo(&plan, true);
        assert!(secured.ends_with("250 AUTH PLAIN LOGIN\r\n") && !secured.contains("STARTTLS"));
        assert!(!secured.contains("PIPELINING") && !secured.contains("CHUNKING"));
    }

    #[test]
    fn greylisting_puts_off_for_its_time_only() {
        let began = Instant::now();
        let at = |s| began + Duration::from_secs(s);
        let mut greylist = Greylist { time: Duration::from_secs(10), seen: HashMap::new() };
        assert!(greylist.puts_off("a@x", at(0)));
        assert!(greylist.puts_off("a@x", at(9)) && greylist.puts_off("b@x", at(9)));
        assert!(!greylist.puts_off("a@x", at(10)) && greylist.puts_off("b@x", at(10)));
    }
}
