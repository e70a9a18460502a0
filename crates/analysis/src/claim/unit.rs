//! Units of limits, and values of parameters as numbers.

use measure::count::{parse_count, parse_duration};

use super::relation::Limit;

/// Units of time, in ns.
const TIMES: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// The number of a limit in the unit of a metric, such as `ns/op`.
///
/// # Errors
/// Why the limit's unit does not fit the metric's.
pub(super) fn amount_in(limit: &Limit, unit: &str) -> Result<f64, String> {
    let own = unit.strip_suffix("/op").unwrap_or(unit);
    let own_scale = scale_of_time(own);
    let Some(given) = &limit.unit else {
        return match own_scale {
            None => Ok(limit.number),
            Some(_) => Err(format!("the metric is a time: the limit needs a unit, such as {own}")),
        };
    };
    let given_time = scale_of_time(given.strip_suffix("/op").unwrap_or(given));
    match (own_scale, given_time) {
        (Some(own), Some(given)) => Ok(limit.number * given / own),
        (Some(_), None) => Err(format!("{given:?} is no unit of time: ns, us, ms or s")),
        (None, _) if given == unit => Ok(limit.number),
        (None, _) if unit == "share" && given == "%" => Ok(limit.number / 100.0),
        (None, _) => Err(format!("{given:?} is no unit of this metric, which is in {unit}")),
    }
}

fn scale_of_time(unit: &str) -> Option<f64> {
    TIMES.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
}

/// The value of a parameter as a number: a count, or a duration in ns. `None` if it is another word, or 0.
pub(super) fn parse_x(text: &str) -> Option<f64> {
    let count = parse_count(text).ok().map(|count| count as f64);
    // "1m" is a count here: no case has a parameter in minutes.
    let x = count.or_else(|| parse_duration(text).ok().map(|time| time.as_nanos() as f64));
    x.filter(|x| *x > 0.0)
}

/// Whether two values of a parameter mean the same: `1k` and `1024`, `1ms` and `1000us`.
pub(super) fn same_value(a: &str, b: &str) -> bool {
    a == b || parse_x(a).is_some_and(|a| parse_x(b) == Some(a))
}
