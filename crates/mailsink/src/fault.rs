//! What the sink does wrong, when it is told to: where in a conversation, in which way, how often.

use std::fmt;
use std::str::FromStr;

/// Where in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The greeting.
    Connect,
    /// The reply to EHLO or HELO.
    Ehlo,
    /// That to STARTTLS.
    StartTls,
    /// That to AUTH and to what follows it.
    Auth,
    /// That to MAIL.
    Mail,
    /// That to RCPT.
    Rcpt,
    /// That to DATA, or to BDAT before the last.
    Data,
    /// While the message comes, before its end.
    Body,
    /// The reply to the whole message.
    End,
    /// That to RSET.
    Rset,
    /// That to QUIT.
    Quit,
}

impl Phase {
    /// All of them, in their order.
    pub const ALL: [Self; 11] = [
        Self::Connect,
        Self::Ehlo,
        Self::StartTls,
        Self::Auth,
        Self::Mail,
        Self::Rcpt,
        Self::Data,
        Self::Body,
        Self::End,
        Self::Rset,
        Self::Quit,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Ehlo => "ehlo",
            Self::StartTls => "starttls",
            Self::Auth => "auth",
            Self::Mail => "mail",
            Self::Rcpt => "rcpt",
            Self::Data => "data",
            Self::Body => "body",
            Self::End => "end",
            Self::Rset => "rset",
            Self::Quit => "quit",
        }
    }

    /// The phase of that name; `Some(None)` is `any`.
    pub(super) fn find(name: &str) -> Option<Option<Self>> {
        if name == "any" {
            return Some(None);
        }
        Self::ALL.into_iter().find(|phase| phase.name() == name).map(Some)
    }

    /// The names, for messages.
    pub(super) fn names() -> String {
        Self::ALL.map(Self::name).join(", ") + ", any"
    }
}

/// In which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The connection is closed instead of the reply.
    Drop,
    /// The same, but it is reset.
    Reset,
    /// Nothing more is said, and the connection stays open.
    Stall,
    /// A temporary refusal.
    Temporary,
    /// A permanent refusal.
    Permanent,
    /// Something that is no SMTP reply.
    Malformed,
    /// A reply whose lines never end.
    Endless,
    /// The reply comes byte by byte.
    Slowly,
    /// The message is accepted, then the connection is closed without a reply.
    Late,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Drop,
        Self::Reset,
        Self::Stall,
        Self::Temporary,
        Self::Permanent,
        Self::Malformed,
        Self::Endless,
        Self::Slowly,
        Self::Late,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Reset => "reset",
            Self::Stall => "stall",
            Self::Temporary => "4xx",
            Self::Permanent => "5xx",
            Self::Malformed => "malformed",
            Self::Endless => "endless",
            Self::Slowly => "slowly",
            Self::Late => "late",
        }
    }
}

/// What goes wrong, where and how often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fault {
    /// Where; everywhere if `None`.
    pub phase: Option<Phase>,
    /// In which way.
    pub kind: Kind,
    /// How often, from 0 to 1.
    pub rate: f64,
}

/// What is written is no fault or no latency.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotMeant(pub(super) String);

impl FromStr for Fault {
    type Err = NotMeant;

    /// As `rcpt:4xx:20%` or `end:late:0.01`.
    fn from_str(text: &str) -> Result<Self, NotMeant> {
        let mut parts = text.split(':');
        let (Some(phase), Some(kind), Some(rate), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(NotMeant("a fault is PHASE:KIND:RATE, as in rcpt:4xx:20%".into()));
        };
        let phase = Phase::find(phase)
            .ok_or_else(|| NotMeant(format!("no phase {phase}: one of {}", Phase::names())))?;
        let known = Kind::ALL.into_iter().find(|known| known.name() == kind);
        let kind = known.ok_or_else(|| {
            NotMeant(format!("no kind {kind}: one of {}", Kind::ALL.map(Kind::name).join(", ")))
        })?;
        if kind == Kind::Late && phase.is_some_and(|phase| phase != Phase::End) {
            return Err(NotMeant("late is for the phase end: a message is accepted there".into()));
        }
        let rate = rate_of(rate)
            .ok_or_else(|| NotMeant(format!("{rate} is no rate from 0 to 1 or 0% to 100%")))?;
        Ok(Self { phase, kind, rate })
    }
}

fn rate_of(text: &str) -> Option<f64> {
    let (number, of) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent, 100.0));
    let rate = number.parse::<f64>().ok()? / of;
    (0.0..=1.0).contains(&rate).then_some(rate)
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let phase = self.phase.map_or("any", Phase::name);
        write!(f, "{phase}:{}:{}", self.kind.name(), self.rate)
    }
}

/// Whether something goes wrong at `phase`, by the dice: the first of the faults that does.
pub(super) fn draw(faults: &[Fault], phase: Phase, dice: &mut Dice) -> Option<Kind> {
    let happens = |fault: &&Fault| {
        let here = fault.phase.is_none_or(|there| there == phase);
        let can = match fault.kind {
            Kind::Late => phase == Phase::End,
            Kind::Slowly => phase != Phase::Body, // which has no reply
            _ => true,
        };
        here && can && dice.unit() < fault.rate
    };
    faults.iter().find(happens).map(|fault| fault.kind)
}

/// Chance that is the same for the same seed, on every system and in every version: SplitMix64 (Steele, Lea,
/// Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dice(u64);

impl Dice {
    /// Those of one connection: what befalls it does not depend on what others do at the same time.
    pub fn new(seed: u64, connection: u64) -> Self {
        let mut dice = Self(seed);
        Self(dice.next() ^ connection.wrapping_mul(0xd134_2543_de82_ef95))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// From 0 to 1, without 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_as_they_are_written() {
        let fault = Fault { phase: Some(Phase::Rcpt), kind: Kind::Temporary, rate: 0.2 };
        for text in ["rcpt:4xx:20%", "rcpt:4xx:0.2"] {
            assert_eq!(text.parse(), Ok(fault));
        }
        assert_eq!(fault.to_string(), "rcpt:4xx:0.2");
        let any: Fault = "any:drop:1".parse().unwrap();
        assert_eq!((any.phase, any.kind, any.rate), (None, Kind::Drop, 1.0));
        for (wrong, told) in [
            ("rcpt:4xx", "PHASE:KIND:RATE"),
            ("rcpt:4xx:1:2", "PHASE:KIND:RATE"),
            ("recipient:4xx:1", "no phase recipient"),
            ("rcpt:450:1", "no kind 450"),
            ("rcpt:4xx:101%", "no rate"),
            ("rcpt:4xx:NaN", "no rate"),
            ("rcpt:late:1", "phase end"),
        ] {
            let error = wrong.parse::<Fault>().unwrap_err().to_string();
            assert!(error.contains(told), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_fault_happens_as_often_as_it_should_and_only_there() {
        let faults = ["rcpt:4xx:20%".parse().unwrap(), "any:late:100%".parse().unwrap()];
        let mut drawn = 0;
        for connection in 0..10_000 {
            let mut dice = Dice::new(7, connection);
            drawn += usize::from(draw(&faults, Phase::Rcpt, &mut dice) == Some(Kind::Temporary));
            assert_eq!(draw(&faults, Phase::Mail, &mut dice), None);
            assert_eq!(draw(&faults, Phase::End, &mut dice), Some(Kind::Late));
        }
        // The standard deviation is 40.
        assert!((1_800..2_200).contains(&drawn), "{drawn}");
    }

    #[test]
    fn chance_is_that_of_the_paper_and_of_the_seed() {
        // First outputs for the seed 1234567, as published with the reference implementation.
        let mut dice = Dice(1_234_567);
        assert_eq!(dice.next(), 6_457_827_717_110_365_317);
        assert_eq!(dice.next(), 3_203_168_211_198_807_973);
        assert_eq!(Dice::new(1, 2), Dice::new(1, 2));
        assert_ne!(Dice::new(1, 2), Dice::new(1, 3));
        assert_ne!(Dice::new(1, 2), Dice::new(2, 2));
    }
}
