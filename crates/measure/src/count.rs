//! Parses counts, durations and percentages of command lines.

use std::time::Duration;

/// The reason why a text is not a count, duration or percentage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} {problem}")]
pub struct ParseUnitError {
    text: String,
    problem: &'static str,
}

impl ParseUnitError {
    /// The problem, worded to follow "it"; does not repeat the text.
    pub fn problem(&self) -> &'static str {
        self.problem
    }
}

fn wrong(text: &str, problem: &'static str) -> ParseUnitError {
    ParseUnitError { text: text.to_owned(), problem }
}

/// Parses a count: digits, then optionally `k`, `m` or `g` (either case) for a thousand, a million, a billion.
///
/// # Errors
/// If the text is anything else, or the count does not fit 64 bits.
///
/// ```
/// use measure::count::parse_count;
/// assert_eq!(parse_count("10k"), Ok(10_000));
/// assert!(parse_count("18446744073709551615k").is_err());
/// ```
pub fn parse_count(text: &str) -> Result<u64, ParseUnitError> {
    const HELP: &str = "is not a count: digits, then k, m or g if you like, as in 10k";
    with_unit(text, 1_000, HELP)
}

/// Parses a number of bytes: digits, then optionally `k`, `m` or `g` (either case) for 2^10, 2^20, 2^30.
///
/// # Errors
/// If the text is anything else, or the number does not fit 64 bits.
///
/// ```
/// use measure::count::parse_size;
/// assert_eq!(parse_size("10k"), Ok(10_240));
/// ```
pub fn parse_size(text: &str) -> Result<u64, ParseUnitError> {
    const HELP: &str = "is not a size in bytes: digits, then k, m or g if you like, as in 64k";
    with_unit(text, 1_024, HELP)
}

/// Digits, then optionally `k`, `m` or `g` for the first three powers of `k`.
fn with_unit(text: &str, k: u64, help: &'static str) -> Result<u64, ParseUnitError> {
    let (digits, power) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 2),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 3),
        _ => (text, 0),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong(text, help));
    }
    let number: Option<u64> = digits.parse().ok();
    let product = number.and_then(|number| number.checked_mul(k.pow(power)));
    product.ok_or_else(|| wrong(text, "is too large: it must fit 64 bits"))
}

/// Parses a duration: a decimal number with its unit, `ns`, `us`, `ms`, `s`, `m` or `h`.
///
/// # Errors
/// If the unit is missing or unknown, there is a sign, or the duration exceeds 100 years.
///
/// ```
/// use std::time::Duration;
/// use measure::count::parse_duration;
/// assert_eq!(parse_duration("1.5ms"), Ok(Duration::from_micros(1500)));
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, ParseUnitError> {
    const HELP: &str = "is not a duration: a number and ns, us, ms, s, m or h, as in 10ms or 2s";
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(|| wrong(text, HELP))?;
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong(text, HELP)),
    };
    let total = decimal(number).ok_or_else(|| wrong(text, HELP))? * seconds;
    if total > 100.0 * 365.25 * 86_400.0 {
        return Err(wrong(text, "is too long: over 100 years"));
    }
    Ok(Duration::from_nanos((total * 1e9).round() as u64))
}

/// Formats a duration for [`parse_duration`], in the largest unit that represents it exactly with up to three decimals:
/// `450us`, `4.05ms`, `2.43s`.
pub fn format_duration(duration: Duration) -> String {
    const UNITS: [(u128, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let ns = duration.as_nanos();
    let exact = |&&(unit, _): &&(u128, &str)| ns >= unit && (ns * 1_000).is_multiple_of(unit);
    match UNITS.iter().find(exact) {
        Some(&(unit, name)) => format!("{}{name}", ns as f64 / unit as f64),
        None => format!("{ns}ns"),
    }
}

/// Parses a percentage such as `0.5%`, whose sign is optional, into a share, here 0.005.
///
/// # Errors
/// If the text is no decimal number, or the percentage is 0, or 100 or more.
pub fn parse_percentage(text: &str) -> Result<f64, ParseUnitError> {
    const HELP: &str = "is not a percentage between 0 and 100, as in 0.5%";
    let share = decimal(text.strip_suffix('%').unwrap_or(text)).ok_or_else(|| wrong(text, HELP))?;
    if share > 0.0 && share < 100.0 { Ok(share / 100.0) } else { Err(wrong(text, HELP)) }
}

/// Parses an unsigned decimal number without exponent.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let begins = text.as_bytes().first().is_some_and(u8::is_ascii_digit);
    (plain && begins).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counts() {
        assert_eq!(parse_count("0"), Ok(0));
        assert_eq!(parse_count("7"), Ok(7));
        assert_eq!(parse_count("1K"), Ok(1_000));
        assert_eq!(parse_count("3m"), Ok(3_000_000));
        assert_eq!(parse_count("8g"), Ok(8_000_000_000));
        assert_eq!(parse_count("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(parse_count("18446744073g"), Ok(18_446_744_073_000_000_000));
        assert!(parse_count("18446744074g").is_err());
        assert_eq!(parse_size("1K"), Ok(1024));
        assert_eq!(parse_size("3m"), Ok(3 << 20));
        assert_eq!(parse_size("8g"), Ok(8 << 30));
        assert_eq!(parse_size("17179869183g"), Ok(17_179_869_183 << 30));
        assert!(parse_size("17179869184g").is_err());
        for bad in [
            "",
            "k",
            "-1",
            "+1",
            "1.5k",
            "1kk",
            "1 k",
            "0x10",
            "1t",
            "٣",
            "18446744073709551616",
            "18446744073709551616k",
        ] {
            assert!(parse_count(bad).is_err() && parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_duration("0s"), Ok(Duration::ZERO));
        for bad in ["", "10", "ms", "-1s", "1e9s", "1.2.3s", "5 s", "9000000000h", "nans", "infs"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations_are_written_as_people_do() {
        for text in
            ["100ns", "50us", "450us", "4.05ms", "2.43s", "10ms", "1s", "90s", "1.5us", "0ns"]
        {
            assert_eq!(format_duration(parse_duration(text).unwrap()), text);
        }
    }

    #[test]
    fn percentages() {
        assert_eq!(parse_percentage("0.5%"), Ok(0.005));
        assert_eq!(parse_percentage("3"), Ok(0.03));
        for bad in ["", "%", "0", "0%", "100%", "-1%", "nan", "5%%"] {
            assert!(parse_percentage(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = (parse_count(&text), parse_size(&text), parse_duration(&text), parse_percentage(&text));
        }

        #[test]
        fn a_duration_reads_back(ns in 0u64..1 << 50, zeros in 0u32..10) {
            let duration = Duration::from_nanos(ns / 10u64.pow(zeros) * 10u64.pow(zeros));
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn a_count_is_exact_or_refused(number: u64, suffix in 0usize..4) {
            let text = format!("{number}{}", ["", "k", "m", "g"][suffix]);
            for (parsed, k) in [(parse_count(&text), 1_000_u128), (parse_size(&text), 1_024)] {
                let exact = u128::from(number) * k.pow(suffix as u32);
                match parsed {
                    Ok(count) => prop_assert_eq!(u128::from(count), exact),
                    Err(_) => prop_assert!(exact > u128::from(u64::MAX)),
                }
            }
        }
    }
}
