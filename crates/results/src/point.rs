//! Points as values, by which results are matched. Their text is for printing only.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// A case with a value for each of its parameters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PointKey {
    /// The case, `area/name`.
    pub case: String,
    /// Values of the case's parameters, by name.
    pub params: BTreeMap<String, String>,
}

impl PointKey {
    /// The case's area: `lock` of `lock/sysv-sem`; empty if the case has none.
    pub fn area(&self) -> &str {
        self.case.split_once('/').map_or("", |(area, _)| area)
    }

    /// The case's name in its area: `sysv-sem` of `lock/sysv-sem`.
    pub fn name(&self) -> &str {
        self.case.split_once('/').map_or(&self.case, |(_, name)| name)
    }
}

/// Prints the usual notation: `lock/sysv-sem{as=threads,workers=4}`.
impl fmt::Display for PointKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&label(&self.case, &self.params))
    }
}

/// Serializes a point as its text, for fields named `label`.
///
/// # Errors
/// Errors of the serializer.
pub fn serialize_label<S: Serializer>(
    point: &impl fmt::Display,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(point)
}

/// `area/name` with its parameters in the usual notation: `lock/sysv-sem{as=threads,workers=4}`.
pub fn label(case: &str, params: &BTreeMap<String, String>) -> String {
    if params.is_empty() {
        return case.to_owned();
    }
    let list: Vec<String> = params.iter().map(|(k, v)| format!("{k}={v}")).collect();
    format!("{case}{{{}}}", list.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_printed_in_the_usual_notation() {
        let params = [("workers", "4"), ("as", "threads")];
        let params = params.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let point = PointKey { case: "lock/sysv-sem".to_owned(), params };
        assert_eq!(point.to_string(), "lock/sysv-sem{as=threads,workers=4}");
        assert_eq!((point.area(), point.name()), ("lock", "sysv-sem"));
        let loose = PointKey { case: "loose".to_owned(), params: BTreeMap::new() };
        assert_eq!(loose.to_string(), "loose");
        assert_eq!((loose.area(), loose.name()), ("", "loose"));
    }
}
