//! Lists of jobs: that of the published experiment, and those that options describe.

use std::time::Duration;

use measure::count::parse_duration;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::job::Job;

/// Maximum number of jobs in a list.
pub const JOBS_AT_MOST: usize = 10_000;
/// Maximum length of a job, and of its arrival after the start.
pub const LENGTH_AT_MOST: Duration = Duration::from_secs(3_600);
/// Constant seed for the order of described jobs: every process has the same order.
const SEED: u64 = 7;

/// Parses the CPU share of a job: `cpu`, `wait`, or `mixed:30` for 30 %.
///
/// # Errors
/// A message for anything else.
pub fn parse_bound(text: &str) -> Result<f64, String> {
    match text {
        "cpu" => Ok(1.0),
        "wait" => Ok(0.0),
        "mixed" => Ok(0.5),
        _ => match text.strip_prefix("mixed:") {
            Some(share) => parse_share(share),
            None => Err("expected cpu, wait or mixed:SHARE, such as mixed:30".into()),
        },
    }
}

/// Parses a share of 0 to 100 %; the percent sign is optional.
///
/// # Errors
/// A message for anything else.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match number.parse::<f64>() {
        Ok(percent) if plain && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err(format!("{text:?} is not a share of 0 to 100, such as 30 or 30%")),
    }
}

/// Parses a length or a range of lengths: `5ms` or `5ms..80ms`.
///
/// # Errors
/// A message for anything else, for a length of 0 and for one over an hour.
pub fn parse_lengths(text: &str) -> Result<[Duration; 2], String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let lengths = [parse_length(from)?, parse_length(to)?];
    if lengths[0] > lengths[1] {
        return Err(format!("the range {text} starts with the longer length"));
    }
    Ok(lengths)
}

/// Parses the length of one job.
///
/// # Errors
/// A message for anything else, for a length of 0 and for one over an hour.
pub fn parse_length(text: &str) -> Result<Duration, String> {
    let length = parse_duration(text).map_err(|e| e.to_string())?;
    if length.is_zero() {
        return Err("a job's length cannot be 0".into());
    }
    if length > LENGTH_AT_MOST {
        return Err(format!("a job of {text} is too long: at most 1h"));
    }
    Ok(length)
}

/// The list of the published experiment: job k of n takes k times the base, the shortest first.
pub fn steps(count: usize, base: Duration, cpu_share: f64) -> Vec<Job> {
    (1..=count as u32).map(|k| Job::new(base * k, cpu_share)).collect()
}

/// `count` jobs with evenly spaced lengths, in a pseudo-random order that is always the same.
pub fn described(count: usize, [from, to]: [Duration; 2], cpu_share: f64) -> Vec<Job> {
    let step = (to - from).div_f64((count.max(2) - 1) as f64);
    let mut jobs: Vec<Job> =
        (0..count as u32).map(|k| Job::new(from + step * k, cpu_share)).collect();
    jobs.shuffle(&mut StdRng::seed_from_u64(SEED));
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn described_jobs_have_evenly_spaced_lengths_and_always_the_same_order() {
        let jobs = described(40, [ms(5), ms(83)], 0.3);
        assert_eq!(jobs, described(40, [ms(5), ms(83)], 0.3));
        let mut lengths: Vec<Duration> = jobs.iter().map(|job| job.length).collect();
        assert!(!lengths.is_sorted());
        lengths.sort();
        assert_eq!((lengths[0], lengths[1], lengths[39]), (ms(5), ms(7), ms(83)));
        assert_eq!(described(1, [ms(5), ms(80)], 1.0), [Job::new(ms(5), 1.0)]);
    }

    #[test]
    fn bounds_and_lengths() {
        assert_eq!(parse_bound("mixed:30"), Ok(0.3));
        assert_eq!(parse_bound("mixed:100%"), Ok(1.0));
        for bad in ["mixed:101", "mixed:", "io", "mixed:-1", "mixed:1e1", ""] {
            assert!(parse_bound(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_lengths("5ms..80ms"), Ok([ms(5), ms(80)]));
        assert_eq!(parse_lengths("5ms"), Ok([ms(5), ms(5)]));
        for bad in ["", "0s", "80ms..5ms", "5..80ms", "5ms..", "2h", "5ms..80ms..90ms"] {
            assert!(parse_lengths(bad).is_err(), "{bad}");
        }
    }
}
