//! Options of systems: names, kinds of values, and given values.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Whether a text can be the name of a system.
pub fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | ':');
    !text.is_empty() && text.chars().count() <= 64 && text.chars().all(is_plain)
}

/// The kind of an option's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// Non-empty text.
    Text,
    /// A path; in a file of systems, relative to that file's directory.
    Path,
    /// One of several words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A whole number in a range, both ends included.
    Count(u64, u64),
    /// A number from 0 to 1.
    Share,
    /// A time such as `500ms`, `30s` or `2m`; more than 0, and at most a day.
    Duration,
    /// A list of texts.
    Words,
    /// A list of CPU numbers.
    Cpus,
    /// A table of environment variables.
    Variables,
}

impl ValueKind {
    /// A description of the values, for messages.
    pub fn expected(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Flag => "true or false".to_owned(),
            Self::Count(least, most) => format!("a whole number from {least} to {most}"),
            Self::Share => "a number from 0 to 1".to_owned(),
            Self::Duration => "a time such as \"500ms\", \"30s\" or \"2m\"".to_owned(),
            Self::Words => "a list of texts".to_owned(),
            Self::Cpus => "a list of CPU numbers such as [0, 1]".to_owned(),
            Self::Variables => "a table of texts such as { LANG = \"C\" }".to_owned(),
        }
    }

    /// Parses `text`, the argument of a launcher; `None` if it is no such value.
    pub fn parse(self, text: &str) -> Option<Value> {
        match self {
            _ if text.is_empty() || text.contains('\0') => None,
            Self::Text => Some(Value::Text(text.to_owned())),
            Self::Path => Some(Value::Path(PathBuf::from(text))),
            Self::Choice(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
            Self::Duration => duration(text).map(Value::Duration),
            _ => None,
        }
    }
}

/// Parses a time such as `500ms`, `30s` or `2m`.
fn duration(text: &str) -> Option<Duration> {
    const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => return None,
    };
    let time = Duration::from_millis(number.checked_mul(unit_ms)?);
    (time > Duration::ZERO && time <= LONGEST).then_some(time)
}

/// An option of one launcher, or of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionSpec {
    /// Name.
    pub name: &'static str,
    /// Kind of the values.
    pub kind: ValueKind,
    /// Effect and default.
    pub meaning: &'static str,
}

/// The option that places a system's helpers, and its values.
pub(crate) const PLACEMENT: &str = "placement";
pub(crate) const FREE: &str = "free";
pub(crate) const ONE_CPU: &str = "one-cpu";

/// Options that every launcher has.
pub const COMMON: &[OptionSpec] = &[
    OptionSpec {
        name: "cpus",
        kind: ValueKind::Cpus,
        meaning: "CPUs that it may use, instead of those of the run; over ssh the host's",
    },
    OptionSpec {
        name: PLACEMENT,
        kind: ValueKind::Choice(&[FREE, ONE_CPU]),
        meaning: "free: all of these CPUs for its helpers; one-cpu: the last one for all of it; free unless given",
    },
    OptionSpec {
        name: "env",
        kind: ValueKind::Variables,
        meaning: "environment variables of the program that starts the system",
    },
    OptionSpec {
        name: "slow-down",
        kind: ValueKind::Share,
        meaning: "slows each operation down by this share, to test comparisons",
    },
    OptionSpec {
        name: "binary",
        kind: ValueKind::Path,
        meaning: "the oscost to run in it, instead of this one or the static one",
    },
    OptionSpec {
        name: "boot-timeout",
        kind: ValueKind::Duration,
        meaning: "time until its agent must have answered; 60s unless given",
    },
];

/// A value of an option.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A value of [`ValueKind::Text`] or [`ValueKind::Choice`].
    Text(String),
    /// A value of [`ValueKind::Path`].
    Path(PathBuf),
    /// A value of [`ValueKind::Flag`].
    Flag(bool),
    /// A value of [`ValueKind::Count`].
    Count(u64),
    /// A value of [`ValueKind::Share`].
    Share(f64),
    /// A value of [`ValueKind::Duration`].
    Duration(Duration),
    /// A value of [`ValueKind::Words`].
    Words(Vec<String>),
    /// A value of [`ValueKind::Cpus`].
    Cpus(Vec<usize>),
    /// A value of [`ValueKind::Variables`].
    Variables(BTreeMap<String, String>),
}

/// The options given to a system, with their values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings(BTreeMap<&'static str, Value>);

impl Settings {
    /// Sets an option.
    pub fn set(&mut self, name: &'static str, value: Value) {
        self.0.insert(name, value);
    }

    /// Whether the option was given.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The value of an option that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value of an option that is a path.
    pub fn path(&self, name: &str) -> Option<&PathBuf> {
        match self.0.get(name)? {
            Value::Path(path) => Some(path),
            _ => None,
        }
    }

    /// The value of an option that is a flag; false unless given.
    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::Flag(true))
    }

    /// The value of an option that is a count.
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.0.get(name)? {
            Value::Count(count) => Some(*count),
            _ => None,
        }
    }

    /// The value of an option that is a share.
    pub fn share(&self, name: &str) -> Option<f64> {
        match self.0.get(name)? {
            Value::Share(share) => Some(*share),
            _ => None,
        }
    }

    /// The value of an option that is a time.
    pub fn duration(&self, name: &str) -> Option<Duration> {
        match self.0.get(name)? {
            Value::Duration(time) => Some(*time),
            _ => None,
        }
    }

    /// The value of an option that is a list of texts; empty unless given.
    pub fn words(&self, name: &str) -> &[String] {
        match self.0.get(name) {
            Some(Value::Words(words)) => words,
            _ => &[],
        }
    }

    /// The value of an option that is a list of CPUs.
    pub fn cpus(&self, name: &str) -> Option<&[usize]> {
        match self.0.get(name)? {
            Value::Cpus(cpus) => Some(cpus),
            _ => None,
        }
    }

    /// The value of an option that is a table of variables.
    pub fn variables(&self, name: &str) -> impl Iterator<Item = (&str, &str)> {
        let table = match self.0.get(name) {
            Some(Value::Variables(table)) => Some(table),
            _ => None,
        };
        table.into_iter().flatten().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_and_limits() {
        for (text, time) in [
            ("500ms", Some(Duration::from_millis(500))),
            ("30s", Some(Duration::from_secs(30))),
            ("2m", Some(Duration::from_secs(120))),
            ("0s", None),
            ("30", None),
            ("s", None),
            ("-1s", None),
            ("1.5s", None),
            ("99999999999999999999s", None),
            ("18446744073709551615m", None),
            ("1441m", None),
        ] {
            assert_eq!(duration(text), time, "{text}");
        }
    }

    #[test]
    fn an_argument_is_a_value_of_its_kind() {
        assert_eq!(ValueKind::Choice(&["a", "b"]).parse("b"), Some(Value::Text("b".into())));
        assert_eq!(ValueKind::Choice(&["a", "b"]).parse("c"), None);
        assert_eq!(ValueKind::Path.parse(""), None);
        assert_eq!(ValueKind::Text.parse("a\0b"), None);
    }
}
