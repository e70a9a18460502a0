//! The result of a plain loop, as the line of text that its process prints.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Error, ensure};

/// Result of a plain loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Time of one operation in ns: the mean of all.
    pub ns: f64,
    /// Context switches of the measuring thread per operation, as the measured system counts them.
    pub switches: f64,
    /// Mean time of one operation in ns in the first 1 ms and in the first 10 ms of the process's loop, or in its first operation
    /// if that is longer; `None` if the loop has no warm-up, or a shorter one.
    pub first: [Option<f64>; 2],
    /// Mean time of one operation in ns between each two successive readings of the clock, and the number of operations.
    pub readings: Vec<(f64, f64)>,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4} {:.6}", self.ns, self.switches)?;
        for first in self.first {
            match first {
                Some(ns) => write!(f, " {ns:.2}")?,
                None => f.write_str(" -")?,
            }
        }
        self.readings.iter().try_for_each(|(ns, count)| write!(f, " {ns:.2}*{count:.0}"))
    }
}

impl FromStr for Answer {
    type Err = Error;

    /// Reads what [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<Self, Error> {
        let number = |word: &str| -> Result<f64, Error> {
            let number = word.parse().with_context(|| format!("{word:?} is no number"))?;
            ensure!(f64::is_finite(number) && number >= 0.0, "{word:?} is no time");
            Ok(number)
        };
        let mut words = text.split_whitespace();
        let mut next = || words.next().context("a part is missing");
        let (ns, switches) = (number(next()?)?, number(next()?)?);
        let mut first = || match next()? {
            "-" => Ok(None),
            word => number(word).map(Some),
        };
        let first = [first()?, first()?];
        let reading = |word: &str| {
            let (ns, count) = word.split_once('*').with_context(|| format!("{word:?}"))?;
            Ok((number(ns)?, number(count)?))
        };
        let readings = words.map(reading).collect::<Result<Vec<_>, Error>>()?;
        ensure!(ns > 0.0, "one operation took {ns} ns");
        Ok(Self { ns, switches, first, readings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        let answer = Answer {
            ns: 3070.5,
            switches: 0.02,
            first: [Some(17_400.25), None],
            readings: vec![(3000.0, 333.0), (17_000.5, 60.0)],
        };
        assert_eq!(answer.to_string().parse::<Answer>().unwrap(), answer);
        let none = Answer { readings: Vec::new(), first: [None; 2], ..answer };
        assert_eq!(none.to_string().parse::<Answer>().unwrap(), none);
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for text in
            ["", "1", "1 2 -", "0 0 - -", "x 0 - -", "NaN 0 - -", "1 0 - - 5", "1 0 - - 5*x"]
        {
            assert!(text.parse::<Answer>().is_err(), "{text}");
        }
    }
}
