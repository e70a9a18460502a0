//! Lower bounds of the time of a list of jobs, whichever executor carries it out.

use std::time::Duration;

use measure::Params;
use measure::count::parse_duration;

/// Lower bounds for a list of jobs, computed from the lengths of the jobs alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The number of CPUs.
    pub cpus: usize,
    /// Time of serial execution.
    pub serial: Duration,
    /// Longest chain of jobs of which each depends on the one before: a bound for any number of CPUs.
    pub critical_path: Duration,
    /// Total time for which jobs hold the lock: also a bound for any number of CPUs.
    pub lock_held: Duration,
    /// Lower bound on these CPUs: for any moment, the jobs that cannot begin before it need the CPUs and the lock after it. Not
    /// less than the critical path.
    pub at_least: Duration,
}

/// Names under which a run's options store the limits.
const DURATIONS: [&str; 4] = ["serial", "critical-path", "lock-held", "at-least"];
const CPUS: &str = "cpus";

impl Limits {
    /// The limits as options of a run.
    pub fn to_params(&self) -> Params {
        let durations = [self.serial, self.critical_path, self.lock_held, self.at_least];
        let named = DURATIONS.into_iter().zip(durations);
        let mut params: Params =
            named.map(|(name, time)| (name.to_owned(), format!("{}ns", time.as_nanos()))).collect();
        params.insert(CPUS.to_owned(), self.cpus.to_string());
        params
    }

    /// Reads the limits from the options of a run; `None` if it has none.
    pub fn from_params(params: &Params) -> Option<Self> {
        let [serial, critical_path, lock_held, at_least] =
            DURATIONS.map(|name| params.get(name).and_then(|text| parse_duration(text).ok()));
        Some(Self {
            cpus: params.get(CPUS)?.parse().ok()?,
            serial: serial?,
            critical_path: critical_path?,
            lock_held: lock_held?,
            at_least: at_least?,
        })
    }

    /// Maximum speed-up over serial execution; 1 if there are no jobs.
    pub fn speed_up(&self) -> f64 {
        match self.at_least.is_zero() {
            true => 1.0,
            false => self.serial.as_secs_f64() / self.at_least.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_keeps_its_limits() {
        let limits = Limits {
            cpus: 2,
            serial: Duration::from_nanos(7_000_000_001),
            critical_path: Duration::from_micros(1_500),
            lock_held: Duration::ZERO,
            at_least: Duration::from_secs(3_500),
        };
        assert_eq!(Limits::from_params(&limits.to_params()), Some(limits));
        assert_eq!(Limits::from_params(&Params::new()), None);
        assert!((limits.speed_up() - 7.0 / 3_500.0).abs() < 1e-9);
        for broken in ["cpus", "at-least"] {
            let mut params = limits.to_params();
            params.insert(broken.to_owned(), "-1ns".to_owned());
            assert_eq!(Limits::from_params(&params), None, "{broken}");
        }
    }
}
