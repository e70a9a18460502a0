//! Units of limits.

use super::relation::Limit;

/// Units of time, in ns.
const TIMES: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// The number of a limit in the unit of a metric, such as `ns/op`.
///
/// # Errors
/// The reason why the limit's unit does not fit the metric's.
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
