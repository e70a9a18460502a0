//! Injected delays of replies.

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fault::SinkPhase;
use crate::parse::ParseOptionError;
use serving::SplitMix64;
use strum::VariantArray;

/// Maximum delay: a day.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The delay of replies in a phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The phase; `None` for all phases without a delay of their own.
    pub phase: Option<SinkPhase>,
    /// The delay.
    pub time: Time,
}

/// A constant or random time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Time {
    /// A constant time.
    Always(Duration),
    /// A time distributed uniformly between two times.
    Between(Duration, Duration),
    /// A time distributed exponentially, with this mean.
    Exponential(Duration),
}

impl Time {
    pub(crate) fn draw(self, random: &mut SplitMix64) -> Duration {
        match self {
            Self::Always(time) => time,
            Self::Between(from, to) => from + (to - from).mul_f64(random.unit()),
            // The argument of the logarithm is never 0: the result is at most 37 times the mean.
            Self::Exponential(mean) => mean.mul_f64(-(1.0 - random.unit()).ln()),
        }
    }
}

impl FromStr for Latency {
    type Err = ParseOptionError;

    /// Parses a delay such as `10ms`, `rcpt=5ms..20ms` or `end=exp:10ms`.
    fn from_str(text: &str) -> Result<Self, ParseOptionError> {
        let (phase, time) = match text.split_once('=') {
            None => (None, text),
            Some((name, time)) => {
                let phase = SinkPhase::find(name);
                let unknown =
                    || ParseOptionError(format!("no phase {name}: one of {}", SinkPhase::names()));
                (phase.ok_or_else(unknown)?, time)
            }
        };
        let time = if let Some(mean) = time.strip_prefix("exp:") {
            Time::Exponential(duration(mean)?)
        } else if let Some((from, to)) = time.split_once("..") {
            let (from, to) = (duration(from)?, duration(to)?);
            if from > to {
                return Err(ParseOptionError(format!("{time} begins after its end")));
            }
            Time::Between(from, to)
        } else {
            Time::Always(duration(time)?)
        };
        Ok(Self { phase, time })
    }
}

/// Parses a time such as `10ms`, `1.5s`, `2m`.
fn duration(text: &str) -> Result<Duration, ParseOptionError> {
    let wrong =
        || ParseOptionError(format!("{text} is no time such as 10ms, 1.5s or 2m, a day at most"));
    let at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(at);
    let unit = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        _ => return Err(wrong()),
    };
    let seconds = number.parse::<f64>().map_err(|_| wrong())? * unit;
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    if time > LONGEST { Err(wrong()) } else { Ok(time) }
}

/// The delay of each phase.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latencies {
    of: [Option<Time>; SinkPhase::VARIANTS.len()],
}

impl Latencies {
    pub fn new(all: &[Latency]) -> Self {
        let mut of = [None; SinkPhase::VARIANTS.len()];
        let general = all.iter().filter(|latency| latency.phase.is_none());
        for latency in general {
            of.fill(Some(latency.time));
        }
        for latency in all {
            if let Some(phase) = latency.phase {
                of[phase as usize] = Some(latency.time);
            }
        }
        Self { of }
    }

    pub fn draw(&self, phase: SinkPhase, random: &mut SplitMix64) -> Duration {
        self.of[phase as usize].map_or(Duration::ZERO, |time| time.draw(random))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn latencies_are_read_and_a_phase_s_own_goes_first() {
        let all = ["rcpt=5ms..20ms", "10ms", "end=exp:1.5s"].map(|text| text.parse().unwrap());
        let latencies = Latencies::new(&all);
        let mut random = SplitMix64::new(1, 1);
        assert_eq!(latencies.draw(SinkPhase::Mail, &mut random), 10 * MS);
        let drawn: Vec<_> =
            (0..1_000).map(|_| latencies.draw(SinkPhase::Rcpt, &mut random)).collect();
        assert!(drawn.iter().all(|time| (5 * MS..=20 * MS).contains(time)));
        let mean = |drawn: &[Duration]| drawn.iter().sum::<Duration>() / drawn.len() as u32;
        assert!((12 * MS..13 * MS).contains(&mean(&drawn)), "{:?}", mean(&drawn));
        let drawn: Vec<_> =
            (0..10_000).map(|_| latencies.draw(SinkPhase::End, &mut random)).collect();
        // The mean's standard deviation is 15 ms.
        assert!((1_430 * MS..1_570 * MS).contains(&mean(&drawn)), "{:?}", mean(&drawn));
    }

    #[test]
    fn malformed_latencies_are_errors() {
        for (wrong, message) in [
            ("10", "no time"),
            ("-1ms", "no time"),
            ("25h", "no time"),
            ("NaNs", "no time"),
            ("5ms..1ms", "begins after"),
            ("body2=1ms", "no phase"),
            ("exp:", "no time"),
        ] {
            let error = wrong.parse::<Latency>().unwrap_err().to_string();
            assert!(error.contains(message), "{wrong}: {error}");
        }
    }
}
