//! Runs loops as asked, one line a loop: the part of the comparison that is in a measured system.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Error};

use crate::answer::Answer;
use crate::child;
use crate::run::Ask;

/// What each line of the agent begins with. A kernel may print before and between them, also at the beginning of a line.
const PREFIX: &str = "=plain-loop= ";
/// Longest line that is read: a longer one is not of the coordinator.
const LINE_AT_MOST: u64 = 4096;

/// A request to run a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The loop.
    pub ask: Ask,
    /// Time after which its process is ended.
    pub limit: Duration,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [limit, length, warm_up] =
            [self.limit, self.ask.length, self.ask.warm_up].map(|time| time.as_millis());
        write!(f, "{limit} {length} {warm_up} {} {}", self.ask.awake, self.ask.operation)
    }
}

impl FromStr for Request {
    type Err = Error;

    /// Reads what [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut words = text.splitn(5, ' ');
        let mut next = || words.next().with_context(|| format!("no request: {text:?}"));
        let mut time = || Ok::<_, Error>(Duration::from_millis(next()?.parse()?));
        let (limit, length, warm_up) = (time()?, time()?, time()?);
        let ask = Ask { length, warm_up, awake: next()?.parse()?, operation: next()?.to_owned() };
        Ok(Self { ask, limit })
    }
}

/// A line of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The agent waits for requests.
    Ready,
    /// The result of a loop, or why there is none.
    Ended(Result<Answer, String>),
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => write!(f, "{PREFIX}ready"),
            Self::Ended(Ok(answer)) => write!(f, "{PREFIX}took {answer}"),
            Self::Ended(Err(reason)) => {
                let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
                write!(f, "{PREFIX}failed {reason}")
            }
        }
    }
}

impl Reply {
    /// The reply in a line of the system's output; `None` if that is other text.
    pub fn in_line(line: &str) -> Option<Self> {
        let (_, reply) = line.trim_end().rsplit_once(PREFIX)?;
        Some(match reply.split_once(' ') {
            None if reply == "ready" => Self::Ready,
            Some(("took", answer)) => {
                Self::Ended(answer.parse().map_err(|error| format!("a damaged answer: {error:#}")))
            }
            Some(("failed", reason)) => Self::Ended(Err(reason.to_owned())),
            _ => Self::Ended(Err(format!("a damaged answer: {reply:?}"))),
        })
    }
}

/// Serves requests, a line each, until `input` ends; each loop is a child process, this program anew.
///
/// # Errors
/// If the input cannot be read or the output cannot be written.
pub fn serve(input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut input = BufReader::new(input);
    let mut say = |reply: Reply| {
        // The line before may be one that the kernel has not ended.
        output.write_all(format!("{reply}\n").as_bytes())?;
        output.flush()
    };
    say(Reply::Ready)?;
    let mut line = Vec::new();
    while input.by_ref().take(LINE_AT_MOST).read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        line.clear();
        if !text.is_empty() {
            say(Reply::Ended(answer(&text).map_err(|error| format!("{error:#}"))))?;
        }
    }
    Ok(())
}

/// Path of this program: where there is no /proc, the one by which it was started.
///
/// # Errors
/// If neither is known.
pub fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe()
        .or_else(|error| std::env::args_os().next().map(PathBuf::from).ok_or(error))
}

fn answer(request: &str) -> Result<Answer, Error> {
    let Request { ask, limit } = request.parse()?;
    child::run_in_child(Command::new(this_program()?), &ask, limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(operation: &str) -> Request {
        let [length, warm_up] = [500, 50].map(Duration::from_millis);
        let ask = Ask { operation: operation.to_owned(), length, warm_up, awake: true };
        Request { ask, limit: Duration::from_secs(20) }
    }

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let request = request("switch/pipe as=threads place=same");
        assert_eq!(request.to_string().parse::<Request>().unwrap(), request);
        for text in ["", "1 2 3 true", "1 2 x true a/b", "1 2 3 4 a/b"] {
            assert!(text.parse::<Request>().is_err(), "{text}");
        }
    }

    #[test]
    fn replies_are_found_among_other_text() {
        let answer =
            Answer { ns: 3.0, switches: 0.5, first: [None; 2], readings: vec![(3.0, 9.0)] };
        let replies = [Reply::Ready, Reply::Ended(Ok(answer)), Reply::Ended(Err("no x".into()))];
        for reply in replies {
            for before in ["", "[    0.5] random: crng init done ", "=plain-loop= re"] {
                assert_eq!(Reply::in_line(&format!("{before}{reply}\r\n")), Some(reply.clone()));
            }
        }
        // Kernel messages, and a request that a terminal sends back.
        let echo = request("syscall/getppid").to_string();
        for other in ["", "[    0.1] Linux version 6.12", "=plain-loop=", &echo] {
            assert_eq!(Reply::in_line(other), None, "{other}");
        }
    }

    #[test]
    fn an_answer_with_other_text_in_it_is_damaged() {
        for line in ["took 3.0 [  9.1] clocksource: tsc", "took 3.0 0 - - 5*", "tok 3.0 0 - -"] {
            let found = Reply::in_line(&format!("{PREFIX}{line}"));
            let Some(Reply::Ended(Err(reason))) = found else { panic!("{line}: {found:?}") };
            assert!(reason.starts_with("a damaged answer"), "{reason}");
        }
        // A reason has one line.
        assert_eq!(Reply::Ended(Err("a\nb".into())).to_string(), "=plain-loop= failed a b");
    }
}
