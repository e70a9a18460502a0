//! Formatting of figures: a suitable unit, and no more digits than the interval justifies.

use std::fmt;
use std::time::Duration;

use analysis::Ratio;

/// Maximum number of digits, which keeps figures easy to compare.
const MOST_DIGITS: i32 = 4;

/// Minimum number of digits: with fewer, different figures would look equal.
const LEAST_DIGITS: i32 = 2;

/// Relative half-width below which an interval is shown as `<0.1 %`.
const TINY_INTERVAL: f64 = 0.0005;

/// Smallest step of printed shares (a tenth of a percent), of ratios and of counts per operation.
const FINEST_SHARE: f64 = 0.001;

/// Ratio below which sentences give a percentage.
pub const FEW_PERCENT: f64 = 1.2;

const TIME_STEPS: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")];
const CYCLE_STEPS: [(f64, &str); 3] = [(1.0, "cyc"), (1e3, "kcyc"), (1e6, "Mcyc")];
const RATE_STEPS: [(f64, &str); 4] = [(1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")];
const BYTE_STEPS: [(f64, &str); 4] = [(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB")];
const BYTE_RATE_STEPS: [(f64, &str); 4] =
    [(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")];

/// A formatted figure: number and unit are separate, so that tables can align both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Number, such as `164.9`.
    pub number: String,
    /// Unit, such as `ns`; empty for a plain count.
    pub unit: String,
}

impl Figure {
    fn new(number: impl Into<String>, unit: &str) -> Figure {
        Figure { number: number.into(), unit: unit.to_owned() }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.unit.is_empty() {
            f.write_str(&self.number)
        } else {
            write!(f, "{} {}", self.number, self.unit)
        }
    }
}

/// A value of a result in its `unit` (`ns/op`, `pairs/s`, `share`, `steps` ...), with as many digits as the half-width of its
/// interval justifies.
///
/// Times, shares and bytes have their unit in the figure; the unit of a rate or a count is in the heading.
pub fn figure(value: f64, half_width: f64, unit: &str) -> Figure {
    let time = |scale: f64| scaled(value * scale, half_width * scale, &TIME_STEPS);
    match unit {
        "ns" | "ns/op" => time(1.0),
        "us" | "us/op" => time(1e3),
        "ms" | "ms/op" => time(1e6),
        "s" | "s/op" => time(1e9),
        "share" => Figure::new(digits(value * 100.0, half_width.max(FINEST_SHARE) * 100.0), "%"),
        "cycles/op" | "cycles" => cycles_figure(value, half_width),
        "bytes" => scaled(value, half_width, &BYTE_STEPS),
        "bytes/s" => scaled(value, half_width, &BYTE_RATE_STEPS),
        rate if rate.ends_with("/s") => scaled(value, half_width, &RATE_STEPS),
        "of fair" if value > 0.0 && value < FINEST_SHARE => Figure::new("<0.001", ""),
        _ => Figure::new(count(value, half_width), ""),
    }
}

/// A ratio above 1 with its interval: `7.3 times (6.9 to 7.7)`. `at least 22 times`, by its lower end, if the interval is wide or
/// the ratio is a lower bound.
pub fn factor(ratio: analysis::Ratio, is_bound: bool) -> String {
    /// Ratio of the ends of an interval from which its middle says nothing.
    const WIDE: f64 = 4.0;
    if is_bound || ratio.high > WIDE * ratio.low {
        return format!("at least {} times", figure(ratio.low, ratio.low / 10.0, "x"));
    }
    let mut half = (ratio.high - ratio.low) / 2.0;
    // An end beside 1 has the digits that show on which side it lies.
    let is_beside_one = |end: f64, half: f64| {
        end != 1.0 && figure(end, half, "x").to_string().parse::<f64>().is_ok_and(|it| it == 1.0)
    };
    for _ in 0..2 {
        half = if [ratio.low, ratio.high].iter().any(|end| is_beside_one(*end, half)) {
            half / 10.0
        } else {
            half
        };
    }
    let shown = |value| figure(value, half, "x").to_string();
    let [mid, low, high] = [ratio.mid, ratio.low, ratio.high].map(shown);
    // Equal digits already are the interval.
    if low == high { format!("{mid} times") } else { format!("{mid} times ({low} to {high})") }
}

/// A number of core cycles, such as `280.1 cyc`.
pub fn cycles_figure(cycles: f64, half_width: f64) -> Figure {
    scaled(cycles, half_width, &CYCLE_STEPS)
}

/// Whether [`figure`] includes the whole unit, so that the heading need not.
pub fn carries_unit(unit: &str) -> bool {
    const OTHERS: [&str; 5] = ["share", "bytes", "bytes/s", "cycles", "cycles/op"];
    let time = unit.strip_suffix("/op").unwrap_or(unit);
    OTHERS.contains(&unit) || TIME_STEPS.iter().any(|(_, name)| *name == time)
}

/// A time, such as `164.9 ns` when its interval is ±0.3 ns; `half_width` is in ns too.
pub fn format_time(ns: f64, half_width: f64) -> String {
    scaled(ns, half_width, &TIME_STEPS).to_string()
}

/// A share without an interval, such as `93 %`; never `0 %` or `100 %` unless it is exactly that.
pub fn format_share(share: f64) -> String {
    share_figure(share).to_string()
}

/// A share without an interval, such as `93 %`, as number and unit; never `0 %` or `100 %` unless it is exactly that.
pub fn share_figure(share: f64) -> Figure {
    let number = match share {
        s if !s.is_finite() => "?".to_owned(),
        s if s > 0.0 && s < 0.005 => "<1".to_owned(),
        s if s > 0.995 && s < 1.0 => ">99".to_owned(),
        s => format!("{:.0}", s * 100.0),
    };
    Figure::new(number, "%")
}

/// A ratio with its interval in words: `1.8 times better (1.7 to 1.9)`, or `3.2 % better (2.1 to 4.3 %)`. `times` and `percent`
/// are the words after `times` and after `%`.
pub fn ratio_words(Ratio { mid, low, high }: Ratio, times: &str, percent: &str) -> String {
    if mid < FEW_PERCENT {
        let [mid, low, high] = [mid, low, high].map(|ratio| (ratio - 1.0) * 100.0);
        return format!("{mid:.1} % {percent} ({low:.1} to {high:.1} %)");
    }
    // The ratio has the decimals at which the ends of the interval differ.
    let places = match high - low {
        width if width > 2.0 => 0,
        width if width > 0.2 => 1,
        _ => 2,
    };
    // An end beside 1 has the digits that show on which side it lies.
    let is_beside_one = |end: &f64, places: usize| {
        *end != 1.0 && format!("{end:.places$}").parse::<f64>().is_ok_and(|it| it == 1.0)
    };
    let shows_sides = |places: &usize| ![low, high].iter().any(|end| is_beside_one(end, *places));
    let places = (places..3).find(shows_sides).unwrap_or(3);
    format!("{mid:.places$} times {times} ({low:.places$} to {high:.places$})")
}

/// A count per operation, such as `2`, `0.051` or `<0.001`.
pub fn format_per_op(times: f64) -> String {
    per_op(times, 3)
}

/// A count per operation to two decimals at most: `0.05` or `<0.01`.
pub fn format_per_op_briefly(times: f64) -> String {
    per_op(times, 2)
}

/// A count per operation to `decimals` at most.
fn per_op(times: f64, decimals: usize) -> String {
    let finest = 0.1f64.powi(decimals as i32);
    let nearest = times.round();
    if !times.is_finite() {
        "?".to_owned()
    } else if times > 0.0 && times < finest {
        format!("<{finest:.decimals$}")
    } else if (times - nearest).abs() <= 0.002 * nearest.abs() {
        with_thousands(&format!("{nearest:.0}"))
    } else if times < 10.0 * finest {
        format!("{times:.decimals$}")
    } else {
        with_thousands(&digits(times, (times.abs() * 0.01).max(finest)))
    }
}

/// An interval as its larger side relative to the median, such as `±0.2 %`; `<0.1 %` for small ones, and
/// `>100 %` if it is larger than the median.
///
/// `None` if the median is zero.
pub fn format_interval(median: f64, low: f64, high: f64) -> Option<String> {
    interval_figure(median, low, high).map(|figure| figure.to_string())
}

/// An interval as its larger side relative to the median, such as `±0.2 %`, as number and unit; `None` if the median is zero.
pub fn interval_figure(median: f64, low: f64, high: f64) -> Option<Figure> {
    let relative = half_width(median, low, high) / median.abs();
    if !relative.is_finite() {
        return None;
    }
    let number = match relative {
        r if r < TINY_INTERVAL => "<0.1".to_owned(),
        r if r > 1.0 => ">100".to_owned(),
        r if r < 0.0995 => format!("±{:.1}", r * 100.0),
        r => format!("±{:.0}", r * 100.0),
    };
    Some(Figure::new(number, "%"))
}

/// The larger side of an interval, in the unit of its median.
pub fn half_width(median: f64, low: f64, high: f64) -> f64 {
    (high - median).max(median - low).max(0.0)
}

/// The larger side of the interval of a measured value, but at least 0.05 % of the value, so that rounds with equal values do not
/// remove its decimals.
pub fn measured_half_width(median: f64, low: f64, high: f64) -> f64 {
    half_width(median, low, high).max(median.abs() * TINY_INTERVAL)
}

/// A duration, such as `8.3 s`, `2 min 13 s` or `1 h 4 min`.
pub fn format_duration(took: Duration) -> String {
    let tenths = took.as_millis() / 100;
    let seconds = took.as_secs();
    match seconds {
        0..60 => format!("{}.{} s", tenths / 10, tenths % 10),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `value` in the largest unit of `steps` in which it is at least 1.
fn scaled(value: f64, half_width: f64, steps: &[(f64, &str)]) -> Figure {
    let mut at = steps.iter().rposition(|(scale, _)| value.abs() >= *scale).unwrap_or(0);
    let mut number = digits(value / steps[at].0, half_width / steps[at].0);
    let rounded_up = number.parse().is_ok_and(|n: f64| n.abs() >= 1000.0);
    if rounded_up && at + 1 < steps.len() {
        at += 1;
        number = digits(value / steps[at].0, half_width / steps[at].0);
    }
    Figure::new(number, steps[at].1)
}

/// A count in plain digits, with thousands separators.
fn count(value: f64, half_width: f64) -> String {
    if value.fract() == 0.0 && half_width == 0.0 && value.abs() < 1e15 {
        return with_thousands(&format!("{value:.0}"));
    }
    with_thousands(&digits(value, half_width))
}

/// `value` rounded at the first digit of `half_width`, with [`LEAST_DIGITS`] to [`MOST_DIGITS`] digits.
fn digits(value: f64, half_width: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let last = last_place(value, half_width);
    // Rounding may add a leading digit: 0.99996 becomes 1.000.
    let unit = 10f64.powi(last);
    let last = last_place((value / unit).round() * unit, half_width);
    if last < 0 {
        let text = format!("{value:.*}", last.unsigned_abs() as usize);
        // An exact figure needs no trailing zeros.
        let exact = text.trim_end_matches('0').trim_end_matches('.');
        return if half_width == 0.0 { exact.to_owned() } else { text };
    }
    let unit = 10f64.powi(last);
    format!("{:.0}", (value / unit).round() * unit)
}

/// The power of ten of the last digit of `value` that is printed.
fn last_place(value: f64, half_width: f64) -> i32 {
    let first = place(value);
    place(half_width).clamp(first - MOST_DIGITS + 1, first - LEAST_DIGITS + 1)
}

/// The power of ten of the first digit of `value`.
fn place(value: f64) -> i32 {
    // The cast saturates: zero gets a very small place and infinity a very large one.
    value.abs().log10().floor() as i32
}

/// A number with thousands separators: `1234567.8` as `1,234,567.8`.
pub fn with_thousands(number: &str) -> String {
    let (whole, rest) = number.split_at(number.find('.').unwrap_or(number.len()));
    let (sign, whole) = whole.split_at(whole.len() - whole.trim_start_matches('-').len());
    let mut text = sign.to_owned();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_time_has_the_digits_its_interval_carries() {
        for (ns, half_width, text) in [
            (164.93, 0.3, "164.9 ns"),
            (164.93, 0.001, "164.9 ns"),
            (164.93, 3.0, "165 ns"),
            (164.93, 30.0, "160 ns"),
            (1243.2, 2.0, "1.243 us"),
            (12.43e6, 0.12e6, "12.4 ms"),
            (3.2e9, 0.02e9, "3.20 s"),
            (999.96, 0.1, "1.000 us"),
            (4.0, 30.0, "4.0 ns"),
            (0.031, 0.002, "0.031 ns"),
            (0.0, 0.1, "0 ns"),
            (4e6, 0.0, "4 ms"),
            (1.5, 0.0, "1.5 ns"),
            (131.6, 120.0, "130 ns"),
            (0.872, 0.9, "0.87 ns"),
        ] {
            assert_eq!(format_time(ns, half_width), text, "{ns} ±{half_width}");
        }
    }

    #[test]
    fn other_figures_read_well() {
        assert_eq!(figure(280.13, 0.2, "cycles/op").to_string(), "280.1 cyc");
        assert_eq!(figure(28_013.0, 30.0, "cycles/op").to_string(), "28.01 kcyc");
        assert_eq!(figure(12.34e6, 0.04e6, "pairs/s").to_string(), "12.34 M/s");
        assert_eq!(figure(845_300.0, 2000.0, "pairs/s").to_string(), "845 k/s");
        assert_eq!(figure(0.4873, 0.002, "share").to_string(), "48.7 %");
        assert_eq!(figure(0.0, 0.0, "steps").to_string(), "0");
        assert_eq!(figure(1_234_567.0, 0.0, "steps").to_string(), "1,234,567");
        assert_eq!(figure(2.5e9, 4e6, "bytes/s").to_string(), "2.500 GB/s");
        assert_eq!(figure(0.25, 0.001, "s").to_string(), "250 ms");
        assert_eq!(figure(0.000_123, 0.000_4, "of fair").to_string(), "<0.001");
    }

    #[test]
    fn shares_round_to_nothing_and_all_only_when_exact() {
        let shares = [0.0, 0.001, 0.93, 0.999, 1.0].map(format_share);
        assert_eq!(shares, ["0 %", "<1 %", "93 %", ">99 %", "100 %"]);
    }

    #[test]
    fn per_op_counts_keep_rare_events_visible() {
        let counts = [0.0, 0.00002, 0.0097, 0.0512, 1.0, 2.0003, 2.5, 12345.0].map(format_per_op);
        assert_eq!(counts, ["0", "<0.001", "0.010", "0.051", "1", "2", "2.50", "12,345"]);
        let brief = [0.0, 0.0097, 0.0512, 0.0997, 0.2016, 1.0, 2.0672, 17.04, 12345.0];
        let counts = brief.map(format_per_op_briefly);
        assert_eq!(counts, ["0", "<0.01", "0.05", "0.10", "0.20", "1", "2.07", "17.0", "12,345"]);
    }

    #[test]
    fn intervals_use_the_larger_side() {
        assert_eq!(format_interval(100.0, 99.9, 100.5).unwrap(), "±0.5 %");
        assert_eq!(format_interval(100.0, 99.99, 100.01).unwrap(), "<0.1 %");
        assert_eq!(format_interval(100.0, 70.0, 110.0).unwrap(), "±30 %");
        assert_eq!(format_interval(100.0, 10.0, 407.0).unwrap(), ">100 %");
        assert_eq!(format_interval(0.0, 0.0, 1.0), None);
    }

    #[test]
    fn durations_read_well() {
        let texts =
            [8_349, 133_000, 3_840_000].map(|ms| format_duration(Duration::from_millis(ms)));
        assert_eq!(texts, ["8.3 s", "2 min 13 s", "1 h 4 min"]);
    }

    /// The number of ns that a printed time stands for.
    fn read_back(text: &str) -> f64 {
        let (number, unit) = text.split_once(' ').unwrap();
        let step = TIME_STEPS.iter().find(|(_, name)| *name == unit).unwrap();
        number.parse::<f64>().unwrap() * step.0
    }

    proptest! {
        #[test]
        fn a_printed_time_lies_within_its_interval(
            exponent in -3.0f64..11.0, relative in 0.0005f64..2.0
        ) {
            let ns = 10f64.powf(exponent);
            let half_width = ns * relative;
            let text = format_time(ns, half_width);
            let read = read_back(&text);
            prop_assert!((read - ns).abs() <= half_width, "{text} for {ns} ±{half_width}");
            prop_assert!(read > 0.0, "{text} for {ns}");
        }

        #[test]
        fn a_time_never_prints_as_nothing(exponent in -6.0f64..11.0, half_width in 0.0f64..1e12) {
            let text = format_time(10f64.powf(exponent), half_width);
            prop_assert!(read_back(&text) > 0.0, "{text}");
            prop_assert!(text.chars().filter(char::is_ascii_digit).count() <= 10, "{text}");
        }
    }
}
