//! Values of parameters as numbers, and their equality.

use measure::count::{parse_count, parse_duration, parse_size};

/// The value of a parameter as a number: a count in digits, a size, or a duration in ns. `None` for other words, and for 0.
pub(crate) fn parse_x(text: &str) -> Option<f64> {
    let count = parse_size(text).ok().map(|count| count as f64);
    // "1m" is a count here: no case has a parameter in minutes.
    let x = count.or_else(|| parse_duration(text).ok().map(|time| time.as_nanos() as f64));
    x.filter(|x| *x > 0.0)
}

/// Whether two values of a parameter mean the same: `1k` and `1024` (bytes), `1k` and `1000` (a count, which runs store in digits), `1ms` and `1000us`, `cpu:1ms` and `cpu:1000us`.
pub(crate) fn same_value(a: &str, b: &str) -> bool {
    match (a.split_once(':'), b.split_once(':')) {
        _ if a == b => true,
        (Some((kind_of_a, a)), Some((kind_of_b, b))) => kind_of_a == kind_of_b && same_value(a, b),
        (None, None) => {
            parse_x(a).is_some_and(|a| parse_x(b) == Some(a))
                || is_same_count(a, b)
                || is_same_count(b, a)
        }
        _ => false,
    }
}

/// Whether a count in digits is that of a text with a unit.
fn is_same_count(digits: &str, text: &str) -> bool {
    digits.parse::<u64>().is_ok_and(|count| count > 0 && parse_count(text) == Ok(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_mean_the_same_in_other_notations() {
        for (a, b) in [
            ("1k", "1024"),
            ("10k", "10000"),
            ("0002", "2"),
            ("1ms", "1000us"),
            ("cpu:1ms", "cpu:1000us"),
            ("x", "x"),
        ] {
            assert!(same_value(a, b) && same_value(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("1", "2"),
            ("none", "0"),
            ("cpu:1ms", "1ms"),
            ("file:1k", "cpu:1k"),
            ("0", "x"),
            ("1ms", "1"),
            ("1k", "1001"),
        ] {
            assert!(!same_value(a, b) && !same_value(b, a), "{a} {b}");
        }
    }
}
