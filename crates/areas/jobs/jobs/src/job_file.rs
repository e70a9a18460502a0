//! A file of jobs: one per line, some of which may depend on others.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use measure::count::parse_duration;

use super::job::Job;
use super::job_list::JobList;
use super::list::{JOBS_AT_MOST, LENGTH_AT_MOST, parse_length, parse_share};

/// Maximum size of a file in bytes; `JOBS_AT_MOST` jobs take less.
const BYTES_AT_MOST: u64 = 1 << 20;
/// Maximum number of dependencies in a file.
const DEPENDENCIES_AT_MOST: usize = 100_000;
/// Maximum length of a job's name in characters.
const NAME_AT_MOST: usize = 64;
/// Maximum number of jobs of a cycle that an error names.
const NAMED_AT_MOST: usize = 6;

/// An error in a file of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFileError {
    /// The line of the error, from 1; 0 if it concerns the whole file.
    pub line: usize,
    /// The error.
    pub problem: String,
}

impl fmt::Display for JobFileError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.problem),
            line => write!(f, "line {line}: {}", self.problem),
        }
    }
}

impl std::error::Error for JobFileError {}

fn wrong(line: usize, problem: impl Into<String>) -> JobFileError {
    JobFileError { line, problem: problem.into() }
}

/// Reads the jobs in a file (see [`parse`]), and its checksum.
///
/// # Errors
/// A file that cannot be read, is too large, or has an error in a line.
pub fn read(path: &Path) -> Result<(JobList, String), JobFileError> {
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

/// A line of the file.
struct JobLine<'a> {
    number: usize,
    job: Job,
    name: Option<&'a str>,
    /// Names of the jobs that this job depends on.
    after: Vec<&'a str>,
}

/// Parses one job per line: its length, its CPU share in percent, and optionally its arrival, separated by spaces or commas;
/// then, in any order, `name=NAME`, `after=NAME[,NAME...]` with the jobs that must be done before,
/// `locked=SHARE`, the part in percent of the job in which it holds the lock that all jobs share. Empty lines and comments after
/// `#` are ignored.
///
/// # Errors
/// The first error, with its line. If jobs wait for each other, the line is that of the first of them.
pub fn parse(text: &str) -> Result<JobList, JobFileError> {
    let mut lines: Vec<JobLine> = Vec::new();
    let mut line_of = HashMap::new();
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default();
        let fields: Vec<&str> =
            content.split([',', ' ', '\t', '\r']).filter(|field| !field.is_empty()).collect();
        if fields.is_empty() {
            continue;
        }
        if lines.len() == JOBS_AT_MOST {
            return Err(wrong(at + 1, format!("there are more than {JOBS_AT_MOST} jobs")));
        }
        let line = parse_line(at + 1, &fields).map_err(|problem| wrong(at + 1, problem))?;
        if let Some((name, other)) =
            line.name.and_then(|name| line_of.insert(name, at + 1).map(|other| (name, other)))
        {
            return Err(wrong(at + 1, format!("the job in line {other} is named {name}, too")));
        }
        lines.push(line);
    }
    if lines.is_empty() {
        return Err(wrong(0, "has no jobs: expected one line per job, such as `5ms 30%`"));
    }
    connect(&lines)
}

fn parse_line<'a>(number: usize, fields: &[&'a str]) -> Result<JobLine<'a>, String> {
    let with_key = fields.iter().position(|field| field.contains('=')).unwrap_or(fields.len());
    let (numbers, with_key) = fields.split_at(with_key);
    let mut line = JobLine { number, job: parse_numbers(numbers)?, name: None, after: Vec::new() };
    let (mut is_list, mut locked) = (false, None);
    for &field in with_key {
        let (key, value) = match field.split_once('=') {
            Some(pair) => pair,
            None if is_list => ("after", field),
            None => {
                return Err(format!(
                    "{field:?} is out of place: length, CPU share and arrival come first, names of other jobs after `after=`"
                ));
            }
        };
        is_list = key == "after";
        match key {
            // In `after=, a` the first name follows the comma.
            "after" if value.is_empty() => {}
            "after" => line.after.push(parse_name(value)?),
            "name" if line.name.is_some() => return Err("the job has two names".into()),
            "name" => line.name = Some(parse_name(value)?),
            "locked" if locked.is_some() => return Err("the job has two shares locked=".into()),
            "locked" => locked = Some(parse_share(value)?),
            _ => {
                return Err(format!(
                    "{field:?} is unknown: a job may have name=NAME, after=NAME[,NAME...] and locked=SHARE"
                ));
            }
        }
    }
    if line.after.is_empty() && with_key.iter().any(|field| field.starts_with("after=")) {
        return Err("after= names no job".into());
    }
    line.job.locked = locked.unwrap_or_default();
    Ok(line)
}

/// Parses the fields from left to right, so that the error is about the first one that is wrong.
fn parse_numbers(fields: &[&str]) -> Result<Job, String> {
    let mut fields = fields.iter();
    let length = fields.next().map(|length| parse_length(length)).transpose()?;
    let share = fields.next().map(|share| parse_share(share)).transpose()?;
    let arrival = fields.next().map(|arrival| parse_arrival(arrival)).transpose()?;
    match (length, share, fields.next()) {
        (Some(length), Some(share), None) => {
            Ok(Job { arrival: arrival.unwrap_or_default(), ..Job::new(length, share) })
        }
        _ => {
            Err("a job is a length, a CPU share and optionally an arrival, such as `5ms 30% 20ms`"
                .into())
        }
    }
}

fn parse_arrival(text: &str) -> Result<Duration, String> {
    match parse_duration(text).map_err(|e| e.to_string())? {
        arrival if arrival > LENGTH_AT_MOST => {
            Err(format!("the arrival {text} is too late: at most 1h"))
        }
        arrival => Ok(arrival),
    }
}

/// Parses a name: a letter or `_`, then letters, digits, `_`, `-` and `.`.
fn parse_name(text: &str) -> Result<&str, String> {
    let mut chars = text.chars();
    let begins = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    let is_name = begins && chars.all(|c| c.is_alphanumeric() || "_-.".contains(c));
    if !is_name {
        return Err(format!(
            "{text:?} is not a name: expected a letter, then letters, digits, `_`, `-` and `.`"
        ));
    }
    if text.chars().count() > NAME_AT_MOST {
        return Err(format!("a name has at most {NAME_AT_MOST} characters, unlike {text:?}"));
    }
    Ok(text)
}

/// Builds the list from lines whose names differ: resolves dependencies from names to positions.
fn connect(lines: &[JobLine]) -> Result<JobList, JobFileError> {
    let named = lines.iter().enumerate().filter_map(|(place, line)| Some((line.name?, place)));
    let place_of: HashMap<&str, usize> = named.collect();
    let mut pairs = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        for name in &line.after {
            let Some(&before) = place_of.get(name) else {
                return Err(wrong(line.number, format!("after={name}: no job has this name")));
            };
            if pairs.len() == DEPENDENCIES_AT_MOST {
                let problem = format!("there are more than {DEPENDENCIES_AT_MOST} dependencies");
                return Err(wrong(line.number, problem));
            }
            pairs.push((place, before));
        }
    }
    let jobs: Vec<Job> = lines.iter().map(|line| line.job).collect();
    JobList::new(jobs, &pairs).map_err(|cycle| {
        let lines: Vec<&JobLine> = cycle.0.iter().map(|&place| &lines[place]).collect();
        wrong(lines[0].number, cycle_in_words(&lines))
    })
}

/// A cycle as text: `a waits for itself: a after b (line 3) after a`. Every job of a cycle has a name, because another job names
/// it.
fn cycle_in_words(cycle: &[&JobLine]) -> String {
    let name = |line: &JobLine| line.name.unwrap_or_default().to_owned();
    let first = name(cycle[0]);
    let others = &cycle[1..];
    let mut words = vec![first.clone()];
    let shown = others.iter().take(NAMED_AT_MOST - 1);
    words.extend(shown.map(|line| format!("{} (line {})", name(line), line.number)));
    match others.len().saturating_sub(NAMED_AT_MOST - 1) {
        0 => {}
        more => words.push(format!("{more} more")),
    }
    words.push(first.clone());
    format!("{first} waits for itself: {}", words.join(" after "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_file_has_one_job_per_line() {
        let list = parse("# ours\n5ms 30%\n\n80ms,100,20ms # late\r\n1.5s\t0\n").unwrap();
        assert_eq!(
            list.jobs,
            [
                Job::new(ms(5), 0.3),
                Job { arrival: ms(20), ..Job::new(ms(80), 1.0) },
                Job::new(ms(1500), 0.0)
            ]
        );
        assert!(list.dependencies.are_none() && !list.has_lock());
    }

    #[test]
    fn jobs_have_names_dependencies_and_a_lock() {
        let text = "\
            10ms 0   after=index,words locked=25%  # before what it waits for\n\
            5ms 30% 1ms name=parse\n\
            80ms,100,name=index,after=parse\n\
            20ms 100 locked=0.5 after=parse name=words\n\
            1ms 0 after=parse, words name=last_1.x after=index\n";
        let list = parse(text).unwrap();
        let locked: Vec<f64> = list.jobs.iter().map(|job| job.locked).collect();
        assert_eq!(locked, [0.25, 0.0, 0.0, 0.005, 0.0]);
        assert_eq!(list.jobs[1].arrival, ms(1));
        assert_eq!(list.dependencies.dependents(1), [2, 3, 4]);
        assert_eq!(list.dependencies.dependents(3), [0, 4]);
        assert_eq!(list.dependencies.order(), [1, 2, 3, 0, 4]);
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
            ("\n\n5ms 101\n", 3, "\"101\" is not a share"),
            ("5ms -1\n", 1, "\"-1\" is not a share"),
            ("5ms nan\n", 1, "\"nan\" is not a share"),
            ("2h 5\n", 1, "too long"),
            ("5ms 5 2h\n", 1, "at most 1h"),
            ("name=a\n", 1, "a job is a length"),
            ("5ms 5 name=a\n5ms 5\n5ms 5 name=a\n", 3, "in line 1 is named a, too"),
            ("5ms 5 name=a\n5ms 5 after=a,b\n", 2, "after=b: no job has this name"),
            ("5ms 5 name=\n", 1, "\"\" is not a name"),
            ("5ms 5 name=7up\n", 1, "\"7up\" is not a name"),
            ("5ms 5 name=a=b\n", 1, "\"a=b\" is not a name"),
            ("5ms 5 name=a\u{7}\n", 1, "is not a name"),
            ("5ms 5 name=a name=b\n", 1, "two names"),
            ("5ms 5 locked=5 locked=5\n", 1, "two shares"),
            ("5ms 5 locked=101\n", 1, "\"101\" is not a share"),
            ("5ms 5 after=\n", 1, "names no job"),
            ("5ms 5 colour=red\n", 1, "\"colour=red\" is unknown"),
            ("5ms 5 =\n", 1, "\"=\" is unknown"),
            ("5ms 5 name=a 20ms\n", 1, "\"20ms\" is out of place"),
            ("5ms 5 name=a\n5ms 5 after=a 20ms\n", 2, "\"20ms\" is not a name"),
            ("5ms 5 name=a after=a\n", 1, "a waits for itself: a after a"),
            (
                "1ms 1 after=c\n1ms 1 name=c after=e\n1ms 1\n1ms 1 name=d after=c\n1ms 1 name=e after=d\n",
                2,
                "c waits for itself: c after e (line 5) after d (line 4) after c",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.problem.contains(problem), "{text:?}: {error}");
        }
        let many = "1ms 1\n".repeat(JOBS_AT_MOST + 1);
        assert_eq!(parse(&many).unwrap_err().line, JOBS_AT_MOST + 1);
        let dense = format!("1ms 1 name=a\n1ms 1 after={}", "a,".repeat(DEPENDENCIES_AT_MOST + 1));
        let error = parse(&dense).unwrap_err();
        assert!(error.line == 2 && error.problem.contains("more than 100000"), "{error}");
        let name = "n".repeat(NAME_AT_MOST);
        assert!(parse(&format!("1ms 1 name={name}")).is_ok());
        assert!(parse(&format!("1ms 1 name={name}n")).is_err());
    }

    /// `5 ms 30%` was reported as "30%" that is no duration, because the arrival was parsed first.
    #[test]
    fn the_first_wrong_field_and_line_are_reported() {
        for (text, line, problem) in [
            ("5 ms 30%\n", 1, "\"5\" is not a duration"),
            ("5ms 30% soon\n", 1, "\"soon\" is not a duration"),
            ("5ms 300% soon\n", 1, "\"300%\" is not a share"),
            ("5 30% 1ms 4 name=7\n", 1, "\"5\" is not a duration"),
            ("5ms 5 2h name=7\n", 1, "the arrival 2h is too late"),
            ("5ms 5 name=a\n5ms 5 name=a\n5\n", 2, "in line 1 is named a, too"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.problem.contains(problem), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_long_cycle_is_shortened() {
        let line = |at: usize| format!("1ms 1 name=j{at} after=j{}\n", (at + 1) % 1_000);
        let error = parse(&(0..1_000).map(line).collect::<String>()).unwrap_err();
        assert_eq!(error.line, 1);
        let words = "j0 waits for itself: j0 after j1 (line 2) after j2 (line 3) after j3 (line 4) after j4 (line 5) \
                     after j5 (line 6) after 994 more after j0";
        assert_eq!(error.problem, words);
    }

    proptest! {
        #[test]
        fn any_text_is_jobs_or_an_error_with_its_line(text in "\\PC{0,80}") {
            if let Err(error) = parse(&text) {
                prop_assert!(error.line <= text.lines().count());
            }
        }

        #[test]
        fn any_fields_are_jobs_or_an_error_with_its_line(
            lines in prop::collection::vec(
                prop::collection::vec(
                    prop::sample::select(&[
                        "5ms", "30%", "0", "name=a", "name=b", "after=a", "after=a,b", "b", "after=", "locked=5%", "#", ",", "=",
                    ][..]),
                    0..7,
                ),
                0..6,
            )
        ) {
            let text: String = lines.iter().map(|fields| fields.join(" ") + "\n").collect();
            match parse(&text) {
                Err(error) => prop_assert!(error.line <= lines.len(), "{error}"),
                Ok(list) => {
                    prop_assert!(list.jobs.len() <= lines.len());
                    prop_assert_eq!(list.dependencies.order().len(), list.jobs.len());
                }
            }
        }

        /// Each of these fields is right in one place and wrong in the others.
        #[test]
        fn an_error_is_about_the_first_field_that_is_wrong(
            fields in prop::collection::vec(prop::sample::select(&["5ms", "30", "?", "2", "1s", "55%"][..]), 1..6)
        ) {
            let is_right = |(at, field): (usize, &&str)| match at {
                0 | 2 => field.ends_with('s'),
                1 => !field.ends_with('s') && *field != "?",
                _ => true,
            };
            let wrong = fields.iter().enumerate().position(|(at, field)| !is_right((at, field)));
            let problem = parse(&fields.join(" ")).map(|_| ()).map_err(|error| error.problem);
            match (wrong, fields.len()) {
                (None, 2 | 3) => prop_assert_eq!(problem, Ok(())),
                (None, _) => prop_assert!(problem.unwrap_err().starts_with("a job is a length")),
                (Some(at), _) => {
                    let (problem, field) = (problem.unwrap_err(), fields[at]);
                    prop_assert!(problem.starts_with(&format!("{field:?} is not a ")), "{}", problem);
                }
            }
        }

        /// What precedes a mistake is right: lines after it hide none.
        #[test]
        fn an_error_is_in_the_first_line_that_is_wrong(
            lines in prop::collection::vec(
                prop::sample::select(&["5ms 30%", "1s 5 name=a", "1s 5 name=b", "5 ms 30%", "1s", "1s 5 x=y", "# 5"][..]),
                1..7,
            )
        ) {
            let text = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            if let Err(error) = parse(&text(&lines)) && error.line > 0 {
                let before = parse(&text(&lines[..error.line - 1]));
                prop_assert!(before.map_or_else(|error| error.line == 0, |_| true));
                prop_assert!(parse(&text(&lines[..error.line])).is_err());
            }
        }
    }
}
