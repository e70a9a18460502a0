//! Injected faults, by phase of a session, kind and probability.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray, VariantNames};

use crate::parse::ParseOptionError;
use serving::SplitMix64;

/// A phase of a session, at which a fault or a delay can be injected.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    EnumString,
    IntoStaticStr,
    VariantArray,
    VariantNames,
)]
#[strum(serialize_all = "lowercase")]
pub enum SinkPhase {
    /// The greeting.
    Connect,
    /// The reply to EHLO or HELO.
    Ehlo,
    /// The reply to STARTTLS.
    StartTls,
    /// The replies to AUTH and to the lines after it.
    Auth,
    /// The reply to MAIL.
    Mail,
    /// The reply to RCPT.
    Rcpt,
    /// The reply to DATA, or to BDAT except the last one.
    Data,
    /// The time while the message is received, before its end.
    Body,
    /// The reply to the whole message.
    End,
    /// The reply to RSET.
    Rset,
    /// The reply to QUIT.
    Quit,
}

impl SinkPhase {
    /// Name in options and reports.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The phase named `name`; `Some(None)` for `any`.
    pub(crate) fn find(name: &str) -> Option<Option<Self>> {
        if name == "any" { Some(None) } else { name.parse().ok().map(Some) }
    }

    /// The names of all phases, for messages.
    pub(crate) fn names() -> String {
        <Self as VariantNames>::VARIANTS.join(", ") + ", any"
    }
}

/// The kind of a fault.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray, VariantNames,
)]
#[strum(serialize_all = "lowercase")]
pub enum FaultKind {
    /// The connection is closed instead of the reply.
    Drop,
    /// The connection is reset instead of the reply.
    Reset,
    /// Nothing more is sent, and the connection stays open.
    Stall,
    /// A temporary rejection.
    #[strum(serialize = "4xx")]
    Temporary,
    /// A permanent rejection.
    #[strum(serialize = "5xx")]
    Permanent,
    /// A line that is not an SMTP reply.
    Malformed,
    /// A reply whose lines never end.
    Endless,
    /// The reply is sent byte by byte, with delays.
    Slowly,
    /// The message is accepted, and the connection is closed without a reply.
    Late,
}

impl FaultKind {
    /// Name in options and reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A fault to inject.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fault {
    /// The phase; `None` for all phases.
    pub phase: Option<SinkPhase>,
    /// Kind.
    pub kind: FaultKind,
    /// Probability, from 0 to 1.
    pub rate: f64,
}

impl FromStr for Fault {
    type Err = ParseOptionError;

    /// Parses a fault such as `rcpt:4xx:20%` or `end:late:0.01`.
    fn from_str(text: &str) -> Result<Self, ParseOptionError> {
        let mut parts = text.split(':');
        let (Some(phase), Some(kind), Some(rate), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(ParseOptionError("a fault is PHASE:KIND:RATE, as in rcpt:4xx:20%".into()));
        };
        let phase = SinkPhase::find(phase).ok_or_else(|| {
            ParseOptionError(format!("no phase {phase}: one of {}", SinkPhase::names()))
        })?;
        let kind = kind.parse().map_err(|_| {
            let names = <FaultKind as VariantNames>::VARIANTS.join(", ");
            ParseOptionError(format!("no kind {kind}: one of {names}"))
        })?;
        if kind == FaultKind::Late && phase.is_some_and(|phase| phase != SinkPhase::End) {
            return Err(ParseOptionError(
                "late is for the phase end: a message is accepted there".into(),
            ));
        }
        let rate = rate_of(rate).ok_or_else(|| {
            ParseOptionError(format!("{rate} is no rate from 0 to 1 or 0% to 100%"))
        })?;
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
        let phase = self.phase.map_or("any", SinkPhase::name);
        write!(f, "{phase}:{}:{}", self.kind.name(), self.rate)
    }
}

/// Draws for each of `faults` whether it occurs at `phase`; returns the first that does.
pub(crate) fn draw(
    faults: &[Fault],
    phase: SinkPhase,
    random: &mut SplitMix64,
) -> Option<FaultKind> {
    let happens = |fault: &&Fault| {
        let here = fault.phase.is_none_or(|there| there == phase);
        let can = match fault.kind {
            FaultKind::Late => phase == SinkPhase::End,
            FaultKind::Slowly => phase != SinkPhase::Body, // a phase without a reply
            _ => true,
        };
        here && can && random.unit() < fault.rate
    };
    faults.iter().find(happens).map(|fault| fault.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_as_they_are_written() {
        let fault = Fault { phase: Some(SinkPhase::Rcpt), kind: FaultKind::Temporary, rate: 0.2 };
        for text in ["rcpt:4xx:20%", "rcpt:4xx:0.2"] {
            assert_eq!(text.parse(), Ok(fault));
        }
        assert_eq!(fault.to_string(), "rcpt:4xx:0.2");
        let any: Fault = "any:drop:1".parse().unwrap();
        assert_eq!((any.phase, any.kind, any.rate), (None, FaultKind::Drop, 1.0));
        for (wrong, message) in [
            ("rcpt:4xx", "PHASE:KIND:RATE"),
            ("rcpt:4xx:1:2", "PHASE:KIND:RATE"),
            ("recipient:4xx:1", "no phase recipient"),
            ("rcpt:450:1", "no kind 450"),
            ("rcpt:4xx:101%", "no rate"),
            ("rcpt:4xx:NaN", "no rate"),
            ("rcpt:late:1", "phase end"),
        ] {
            let error = wrong.parse::<Fault>().unwrap_err().to_string();
            assert!(error.contains(message), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_fault_has_its_rate_and_phase() {
        let faults = ["rcpt:4xx:20%".parse().unwrap(), "any:late:100%".parse().unwrap()];
        let mut drawn = 0;
        for connection in 0..10_000 {
            let mut random = SplitMix64::new(7, connection);
            drawn += usize::from(
                draw(&faults, SinkPhase::Rcpt, &mut random) == Some(FaultKind::Temporary),
            );
            assert_eq!(draw(&faults, SinkPhase::Mail, &mut random), None);
            assert_eq!(draw(&faults, SinkPhase::End, &mut random), Some(FaultKind::Late));
        }
        // The number's standard deviation is 40.
        assert!((1_800..2_200).contains(&drawn), "{drawn}");
    }
}
