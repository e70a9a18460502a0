//! Properties that distinguish results: system, run, case, each parameter, each tag; and the selection of results by their
//! values.

use std::fmt;

use results::{CaseResult, Document, NODE_TAG};
use thiserror::Error;

use crate::param_value::{Kilo, same_value};

/// An invalid name of a dimension, or an invalid `NAME=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DimensionError {
    /// The text is not the name of a dimension.
    #[error(
        "{0:?} is no dimension: it is system, run, case, the name of a parameter such as arch, or tag.KEY"
    )]
    NoDimension(String),
    /// The text is not `NAME=VALUE`.
    #[error("{0:?} is not NAME=VALUE, such as connections=1000")]
    NoCondition(String),
}

/// A property in which results can differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dimension {
    /// `system`: name of the measured system ([`Document::system`]); for a run without a name, its operating system and kernel.
    System,
    /// `run`: id of the run.
    Run,
    /// `case`: full name of the case, `area/name`.
    Case,
    /// `metric`: name of the metric; only in a [`Condition`], since figures of different metrics are not comparable.
    Metric,
    /// `tag.KEY`: the value of the run's tag.
    Tag(String),
    /// Name of a parameter: the value of that parameter.
    Param(String),
}

impl Dimension {
    /// The facts that its values stand for, so that they are no nuisance.
    pub(crate) fn facts(&self) -> Vec<&'static str> {
        match self {
            Self::Tag(key) if key == NODE_TAG => vec!["tag node", "machine_id"],
            _ => Vec::new(),
        }
    }

    /// Parses the name of a dimension.
    ///
    /// # Errors
    /// [`DimensionError::NoDimension`] if the text cannot be a name.
    pub fn parse(name: &str) -> Result<Self, DimensionError> {
        let is_name = |text: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "_.-+".contains(c);
            !text.is_empty() && text.chars().all(allowed)
        };
        Ok(match name {
            "system" => Self::System,
            "run" => Self::Run,
            "case" => Self::Case,
            "metric" => Self::Metric,
            _ => match name.strip_prefix("tag.") {
                Some(key) if !key.is_empty() && !key.contains('=') => Self::Tag(key.to_owned()),
                None if is_name(name) => Self::Param(name.to_owned()),
                _ => return Err(DimensionError::NoDimension(name.to_owned())),
            },
        })
    }

    /// The value for a result of `run`; `None` if the result has none, as a case without the parameter.
    pub fn value(&self, run: &Document, result: &CaseResult) -> Option<String> {
        match self {
            Self::Case => Some(result.case.clone()),
            Self::Metric => Some(result.metric.clone()),
            Self::Param(name) => result.params.get(name).cloned(),
            Self::System | Self::Run | Self::Tag(_) => self.value_of_run(run),
        }
    }

    /// The value that all results of `run` share; `None` if they share none.
    pub fn value_of_run(&self, run: &Document) -> Option<String> {
        match self {
            Self::System => Some(system_name(run)),
            Self::Run => Some(run.run.id.clone()),
            Self::Tag(key) => run.run.tags.get(key).cloned(),
            Self::Case | Self::Metric | Self::Param(_) => None,
        }
    }

    /// Whether all results of a run have the same value, so that only several runs can be compared by it.
    pub fn is_of_runs(&self) -> bool {
        matches!(self, Self::System | Self::Run | Self::Tag(_))
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => out.write_str("system"),
            Self::Run => out.write_str("run"),
            Self::Case => out.write_str("case"),
            Self::Metric => out.write_str("metric"),
            Self::Tag(key) => write!(out, "tag.{key}"),
            Self::Param(name) => out.write_str(name),
        }
    }
}

/// The name of the measured system: the one that the user gave, or the operating system and its release.
pub fn system_name(run: &Document) -> String {
    let fact = |key: &str| run.machine.get(key).and_then(|value| value.as_str());
    let unnamed = || {
        let known =
            ["os", "release"].into_iter().filter_map(fact).filter(|text| *text != "unknown");
        match known.collect::<Vec<_>>().join(" ") {
            name if name.is_empty() => "unknown".to_owned(),
            name => name,
        }
    };
    run.system().map_or_else(unnamed, str::to_owned)
}

/// A condition `NAME=VALUE`: results with this value in this dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The dimension.
    pub dimension: Dimension,
    /// The value; for `case` also an area, or a pattern with `*`, as in the filters of a run.
    pub value: String,
}

impl Condition {
    /// Parses `NAME=VALUE`.
    ///
    /// # Errors
    /// An error if the text has no `=`, or no dimension has that name.
    pub fn parse(text: &str) -> Result<Self, DimensionError> {
        let none = || DimensionError::NoCondition(text.to_owned());
        let (name, value) = text.split_once('=').ok_or_else(none)?;
        let dimension = Dimension::parse(name)?;
        Ok(Self { dimension, value: value.to_owned() })
    }

    /// Whether a result of `run` has the value.
    pub fn holds(&self, run: &Document, result: &CaseResult) -> bool {
        let Some(value) = self.dimension.value(run, result) else { return false };
        match &self.dimension {
            Dimension::Case => catalog::matches_filter(&self.value, &value),
            Dimension::Param(name) => same_value(&self.value, &value, Kilo::of(&result.case, name)),
            _ => value == self.value,
        }
    }
}

/// A selection of results: those that have, in each dimension with conditions, one of the given values. Without conditions all
/// results are selected.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection(pub Vec<Condition>);

impl Selection {
    /// Whether the selection includes the result of `run`.
    pub fn includes(&self, run: &Document, result: &CaseResult) -> bool {
        self.0.iter().all(|condition| {
            let alternatives = self.0.iter().filter(|other| other.dimension == condition.dimension);
            alternatives.into_iter().any(|one| one.holds(run, result))
        })
    }

    /// Whether the selection includes results of `run`, by the conditions that do not depend on the result.
    pub fn includes_run(&self, run: &Document) -> bool {
        let of_runs = || self.0.iter().filter(|condition| condition.dimension.is_of_runs());
        of_runs().all(|condition| {
            let mut alternatives = of_runs().filter(|o| o.dimension == condition.dimension);
            alternatives.any(|one| one.dimension.value_of_run(run).as_ref() == Some(&one.value))
        })
    }

    /// Whether the selection has a condition on the dimension.
    pub fn fixes(&self, dimension: &Dimension) -> bool {
        self.0.iter().any(|condition| condition.dimension == *dimension)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use simulated::{document, rounds_of};

    #[test]
    fn names_are_dimensions_or_refused() {
        let parsed = |name: &str| Dimension::parse(name).map(|dimension| dimension.to_string());
        for name in ["system", "run", "case", "arch", "freed-by", "tag.kernel"] {
            assert_eq!(parsed(name).unwrap(), name);
        }
        assert_eq!(Dimension::parse("arch"), Ok(Dimension::Param("arch".to_owned())));
        for name in ["", "tag.", "a b", "arch=epoll", "tag.k=v", "a,b", "\u{1b}[2J"] {
            assert!(parsed(name).is_err(), "{name:?}");
        }
        assert!(Condition::parse("connections").is_err());
        assert!(Condition::parse("=3").is_err());
        let with_sign = Condition::parse("command=dd if=/dev/zero").unwrap();
        assert_eq!(with_sign.value, "dd if=/dev/zero");
    }

    #[test]
    fn conditions_on_one_dimension_are_alternatives_and_others_all_hold() {
        let run = document(
            "native",
            vec![rounds_of(("net/answer", [("arch", "epoll"), ("connections", "10")]), &[1.0])],
        );
        let includes = |conditions: &[&str]| {
            let all = conditions.iter().map(|text| Condition::parse(text).unwrap());
            Selection(all.collect()).includes(&run, &run.results[0])
        };
        assert!(includes(&[]));
        assert!(includes(&["arch=epoll", "arch=fork", "connections=10", "system=native"]));
        assert!(
            includes(&["connections=0010"]),
            "as in claims, another notation is the same value"
        );
        assert!(!includes(&["arch=epoll", "connections=100"]));
        assert!(!includes(&["workers=1"]), "a case without the parameter has no value");
        assert!(
            includes(&["case=net"]) && includes(&["case=net/a*"]) && includes(&["case=answer"])
        );
        let native = Selection(vec![Condition::parse("system=native").unwrap()]);
        assert!(native.includes_run(&run) && !native.includes_run(&document("uml", Vec::new())));
        assert!(!includes(&["case=lock"]) && !includes(&["metric=rate"]));
    }

    #[test]
    fn a_run_without_a_name_is_called_after_its_kernel() {
        let mut run = document("gvisor", Vec::new());
        assert_eq!(system_name(&run), "gvisor");
        run.machine.remove(results::SYSTEM);
        assert_eq!(system_name(&run), "unknown");
        run.machine.insert("os".to_owned(), "Linux".into());
        run.machine.insert("release".to_owned(), "6.12.1".into());
        assert_eq!(system_name(&run), "Linux 6.12.1");
    }

    proptest! {
        #[test]
        fn any_text_is_a_dimension_or_an_error(text in ".{0,40}") {
            if let Ok(dimension) = Dimension::parse(&text) {
                prop_assert_eq!(dimension.to_string(), text.clone());
            }
            let _ = Condition::parse(&text);
        }
    }
}
