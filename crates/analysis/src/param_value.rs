//! Values of parameters as numbers, and their equality.

use catalog::Takes;
use measure::count::{parse_count, parse_duration, parse_size};

/// The value of a parameter as a number: a count in digits, a size, or a duration in ns. `None` for other words, and for 0.
pub(crate) fn parse_x(text: &str) -> Option<f64> {
    let count = parse_size(text).ok().map(|count| count as f64);
    // "1m" is a count here: no case has a parameter in minutes.
    let x = count.or_else(|| parse_duration(text).ok().map(|time| time.as_nanos() as f64));
    x.filter(|x| *x > 0.0)
}

/// What `k` after a number means among the values of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kilo {
    /// 1,000: the values are counts.
    Thousand,
    /// 1,024: the values are numbers of bytes.
    Binary,
    /// One or the other: no installed case has the parameter.
    Either,
}

impl Kilo {
    /// The meaning for the parameter `param` of `case`.
    pub(crate) fn of(case: &str, param: &str) -> Self {
        let case = catalog::find(case);
        let param = case.and_then(|case| case.params.iter().find(|one| one.name == param));
        let Some(param) = param else { return Self::Either };
        let has_k = |value: &&str| parse_size(value).is_ok() && value.ends_with(['k', 'm', 'g']);
        match param.takes {
            Takes::Count(_) => Self::Thousand,
            Takes::Size(_) | Takes::Footprint(_) | Takes::ServerWork => Self::Binary,
            // Runs store counts in digits, so a word with a unit is a size.
            _ if param.default.iter().chain(param.full).any(has_k) => Self::Binary,
            _ => Self::Either,
        }
    }

    /// The number that `k` multiplies by; that of sizes if it is unknown.
    pub(crate) fn factor(self) -> f64 {
        if self == Self::Thousand { 1_000.0 } else { 1_024.0 }
    }
}

/// Whether two values of a parameter mean the same: `1k` and `1024` (bytes), `1k` and `1000` (a count, which runs store in
/// digits), `1ms` and `1000us`, `cpu:1ms` and `cpu:1000us`.
pub(crate) fn same_value(a: &str, b: &str, kilo: Kilo) -> bool {
    match (a.split_once(':'), b.split_once(':')) {
        _ if a == b => true,
        (Some((kind_of_a, a)), Some((kind_of_b, b))) => {
            kind_of_a == kind_of_b && same_value(a, b, kilo)
        }
        (None, None) => {
            let is_same = |x: fn(&str) -> Option<f64>| x(a).is_some_and(|a| x(b) == Some(a));
            match kilo {
                Kilo::Thousand => is_same(count),
                Kilo::Binary => is_same(parse_x),
                Kilo::Either => {
                    let has_digits = [a, b].iter().any(|text| text.parse::<u64>().is_ok());
                    is_same(parse_x) || has_digits && is_same(count)
                }
            }
        }
        _ => false,
    }
}

/// The value of a parameter that takes counts; `None` for other words, and for 0.
fn count(text: &str) -> Option<f64> {
    parse_count(text).ok().filter(|&count| count > 0).map(|count| count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_same(a: &str, b: &str, kilo: Kilo) -> bool {
        assert_eq!(same_value(a, b, kilo), same_value(b, a, kilo), "{a} {b}");
        same_value(a, b, kilo)
    }

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
            assert!(is_same(a, b, Kilo::Either), "{a} {b}");
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
            assert!(!is_same(a, b, Kilo::Either), "{a} {b}");
        }
    }

    #[test]
    fn k_is_1000_of_counts_and_1024_of_sizes() {
        assert!(is_same("1k", "1000", Kilo::Thousand) && !is_same("1k", "1024", Kilo::Thousand));
        assert!(is_same("1k", "1024", Kilo::Binary) && !is_same("1k", "1000", Kilo::Binary));
        assert!(is_same("1m", "1000k", Kilo::Thousand) && is_same("1m", "1024k", Kilo::Binary));
        assert!(!is_same("0", "0k", Kilo::Thousand));
    }

    /// The case says what its parameter takes: a size of 1,000 bytes was also found as `1k`, and a crossing over a count at `1k`
    /// was 1,024.
    #[test]
    fn the_case_says_whether_a_parameter_is_a_count_or_a_size() {
        simulated::areas::install();
        let of = |case, param| Kilo::of(case, param);
        assert_eq!(of("net/answer", "connections"), Kilo::Thousand);
        assert_eq!(of("file/random-read", "size"), Kilo::Binary);
        assert_eq!(of("net/answer", "work"), Kilo::Binary);
        assert_eq!(of("net/answer", "parent"), Kilo::Binary);
        assert_eq!(of("net/answer", "arch"), Kilo::Either);
        assert_eq!(of("other/case", "size"), Kilo::Either);
        assert_eq!(Kilo::Thousand.factor(), 1_000.0);
        assert_eq!([Kilo::Binary, Kilo::Either].map(Kilo::factor), [1_024.0; 2]);
    }
}
