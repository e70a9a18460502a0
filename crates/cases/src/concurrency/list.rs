//! Lists of jobs: of the published experiment, described by options, or read from a file.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use measure::count::parse_duration;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::job::Job;

/// The most jobs a list may have.
pub const JOBS_AT_MOST: usize = 10_000;
/// The maximum length of a job, and of its arrival after the start.
pub const LENGTH_AT_MOST: Duration = Duration::from_secs(3_600);
/// The maximum size of a file; `JOBS_AT_MOST` jobs take less.
const BYTES_AT_MOST: u64 = 1 << 20;
/// Seed for the order of described jobs: always the same.
const SEED: u64 = 7;

/// An error in a list of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListError {
    /// The line of the error, from 1; 0 if it concerns the whole list.
    pub line: usize,
    /// The error.
    pub problem: String,
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.problem),
            line => write!(f, "line {line}: {}", self.problem),
        }
    }
}

impl std::error::Error for ListError {}

fn wrong(line: usize, problem: impl Into<String>) -> ListError {
    ListError { line, problem: problem.into() }
}

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
fn parse_share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match number.parse::<f64>() {
        Ok(percent) if plain && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err(format!("{text:?} is not a CPU share of 0 to 100, such as 30 or 30%")),
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

fn parse_length(text: &str) -> Result<Duration, String> {
    let length = parse_duration(text).map_err(|e| e.to_string())?;
    if length.is_zero() {
        return Err("a job's length cannot be 0".into());
    }
    if length > LENGTH_AT_MOST {
        return Err(format!("a job of {text} is too long: at most 1h"));
    }
    Ok(length)
}

/// The list of the published experiment: job k of n lasts k times the base, the shortest first.
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

/// Reads the jobs in a file (see [`parse`]), and its checksum.
///
/// # Errors
/// If the file cannot be read, is too large, or has an error in a line.
pub fn read(path: &Path) -> Result<(Vec<Job>, String), ListError> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(BYTES_AT_MOST + 1).read_to_end(&mut bytes))
        .map_err(|e| wrong(0, format!("cannot be read: {e}")))?;
    if bytes.len() as u64 > BYTES_AT_MOST {
        return Err(wrong(0, "is larger than 1 MiB, the limit for a list of jobs"));
    }
    let checksum = checksum(&bytes);
    let text = String::from_utf8(bytes).map_err(|e| {
        let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        wrong(valid.split(|&b| b == b'\n').count(), "this is not UTF-8 text")
    })?;
    Ok((parse(&text)?, checksum))
}

/// The CRC-32 of a list's contents, in hex.
fn checksum(bytes: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(bytes))
}

/// Parses one job per line: its length, its CPU share in percent, and optionally its arrival, separated
/// by spaces or commas. Empty lines and comments after `#` are ignored.
///
/// # Errors
/// The first error, with its line.
pub fn parse(text: &str) -> Result<Vec<Job>, ListError> {
    let mut jobs = Vec::new();
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default();
        let fields: Vec<&str> =
            content.split([',', ' ', '\t', '\r']).filter(|field| !field.is_empty()).collect();
        if fields.is_empty() {
            continue;
        }
        if jobs.len() == JOBS_AT_MOST {
            return Err(wrong(at + 1, format!("there are more than {JOBS_AT_MOST} jobs")));
        }
        jobs.push(parse_job(&fields).map_err(|problem| wrong(at + 1, problem))?);
    }
    if jobs.is_empty() {
        return Err(wrong(0, "has no jobs: expected one line per job, such as `5ms 30%`"));
    }
    Ok(jobs)
}

fn parse_job(fields: &[&str]) -> Result<Job, String> {
    let (length, share, arrival) = match *fields {
        [length, share] => (length, share, "0s"),
        [length, share, arrival] => (length, share, arrival),
        _ => {
            return Err(
                "a job is a length, a CPU share and optionally an arrival, such as `5ms 30% 20ms`"
                    .into(),
            );
        }
    };
    let arrival = parse_duration(arrival).map_err(|e| e.to_string())?;
    if arrival > LENGTH_AT_MOST {
        return Err(format!("the arrival in {fields:?} is too late: at most 1h"));
    }
    Ok(Job { length: parse_length(length)?, cpu_share: parse_share(share)?, arrival })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_file_has_one_job_per_line() {
        let jobs = parse("# ours\n5ms 30%\n\n80ms,100,20ms # late\r\n1.5s\t0\n").unwrap();
        assert_eq!(
            jobs,
            [
                Job::new(ms(5), 0.3),
                Job { arrival: ms(20), ..Job::new(ms(80), 1.0) },
                Job::new(ms(1500), 0.0)
            ]
        );
    }

    #[test]
    fn errors_are_reported_with_their_line() {
        for (text, line, problem) in [
            ("", 0, "has no jobs"),
            ("# nothing\n\n", 0, "has no jobs"),
            ("5ms 30\n5 30\n", 2, "\"5\" is not a duration"),
            ("5ms\n", 1, "a job is a length"),
            ("5ms 30 1ms 4\n", 1, "a job is a length"),
            ("0ms 30\n", 1, "cannot be 0"),
            ("\n\n5ms 101\n", 3, "\"101\" is not a CPU share"),
            ("5ms -1\n", 1, "\"-1\" is not a CPU share"),
            ("5ms nan\n", 1, "\"nan\" is not a CPU share"),
            ("2h 5\n", 1, "too long"),
            ("5ms 5 2h\n", 1, "at most 1h"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text:?}");
            assert!(error.problem.contains(problem), "{text:?}: {error}");
        }
        let many = "1ms 1\n".repeat(JOBS_AT_MOST + 1);
        assert_eq!(parse(&many).unwrap_err().line, JOBS_AT_MOST + 1);
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
