//! How long replies are held back.

use std::str::FromStr;
use std::time::Duration;

use super::fault::{Dice, NotMeant, Phase};

/// Longest time that may be asked for: a day.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How long replies of a phase are held back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// Of which phase; of all that have no latency of their own if `None`.
    pub phase: Option<Phase>,
    /// How long.
    pub time: Time,
}

/// A time, perhaps another each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// Always this.
    Always(Duration),
    /// Any between two, each as often.
    Between(Duration, Duration),
    /// Distributed exponentially, with this mean.
    Exponential(Duration),
}

impl Time {
    pub(super) fn draw(self, dice: &mut Dice) -> Duration {
        match self {
            Self::Always(time) => time,
            Self::Between(from, to) => from + (to - from).mul_f64(dice.unit()),
            // 1 - unit is never 0: at most 37 times the mean.
            Self::Exponential(mean) => mean.mul_f64(-(1.0 - dice.unit()).ln()),
        }
    }
}

impl FromStr for Latency {
    type Err = NotMeant;

    /// As `10ms`, `rcpt=5ms..20ms` or `end=exp:10ms`.
    fn from_str(text: &str) -> Result<Self, NotMeant> {
        let (phase, time) = match text.split_once('=') {
            None => (None, text),
            Some((name, time)) => {
                let phase = Phase::find(name);
                let unknown = || NotMeant(format!("no phase {name}: one of {}", Phase::names()));
                (phase.ok_or_else(unknown)?, time)
            }
        };
        let time = if let Some(mean) = time.strip_prefix("exp:") {
            Time::Exponential(duration(mean)?)
        } else if let Some((from, to)) = time.split_once("..") {
            let (from, to) = (duration(from)?, duration(to)?);
            if from > to {
                return Err(NotMeant(format!("{time} begins after its end")));
            }
            Time::Between(from, to)
        } else {
            Time::Always(duration(time)?)
        };
        Ok(Self { phase, time })
    }
}

/// A time as `10ms`, `1.5s`, `2m`.
fn duration(text: &str) -> Result<Duration, NotMeant> {
    let wrong = || NotMeant(format!("{text} is no time such as 10ms, 1.5s or 2m, a day at most"));
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

/// The latency of each phase.
#[derive(Debug, Clone, Default)]
pub(super) struct Latencies {
    of: [Option<Time>; Phase::ALL.len()],
}

impl Latencies {
    pub fn new(all: &[Latency]) -> Self {
        let mut of = [None; Phase::ALL.len()];
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

    pub fn draw(&self, phase: Phase, dice: &mut Dice) -> Duration {
        self.of[phase as usize].map_or(Duration::ZERO, |time| time.draw(dice))
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
        let mut dice = Dice::new(1, 1);
        assert_eq!(latencies.draw(Phase::Mail, &mut dice), 10 * MS);
        let drawn: Vec<_> = (0..1_000).map(|_| latencies.draw(Phase::Rcpt, &mut dice)).collect();
        assert!(drawn.iter().all(|time| (5 * MS..=20 * MS).contains(time)));
        let mean = |drawn: &[Duration]| drawn.iter().sum::<Duration>() / drawn.len() as u32;
        assert!((12 * MS..13 * MS).contains(&mean(&drawn)), "{:?}", mean(&drawn));
        let drawn: Vec<_> = (0..10_000).map(|_| latencies.draw(Phase::End, &mut dice)).collect();
        // Its standard deviation is 15 ms.
        assert!((1_430 * MS..1_570 * MS).contains(&mean(&drawn)), "{:?}", mean(&drawn));
    }

    #[test]
    fn what_is_no_latency_is_told() {
        for (wrong, told) in [
            ("10", "no time"),
            ("-1ms", "no time"),
            ("25h", "no time"),
            ("NaNs", "no time"),
            ("5ms..1ms", "begins after"),
            ("body2=1ms", "no phase"),
            ("exp:", "no time"),
        ] {
            let error = wrong.parse::<Latency>().unwrap_err().to_string();
            assert!(error.contains(told), "{wrong}: {error}");
        }
    }
}
