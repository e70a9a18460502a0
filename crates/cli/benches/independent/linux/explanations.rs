//! Known causes of differences, each found by an experiment: the file `explanations.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Why the figures of an operation differ.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// The case.
    pub case: String,
    /// The parameters of the operation it is about, as the operation has them.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
    /// The metric.
    #[serde(default = "time")]
    pub metric: String,
    /// The cause.
    pub why: String,
    /// What shows that it is the cause: a command or a change, and what it gave.
    pub experiment: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    explanation: Vec<Explanation>,
}

fn time() -> String {
    "time".to_owned()
}

impl Explanation {
    /// Whether it is about the operation with this case, these parameters and this metric.
    pub fn is_about(&self, case: &str, params: &[(&str, &str)], metric: &str) -> bool {
        let has =
            |(name, value): &(&str, &str)| self.params.get(*name).is_some_and(|own| own == value);
        let same_params = self.params.len() == params.len() && params.iter().all(has);
        self.case == case && self.metric == metric && same_params
    }
}

/// All of them.
///
/// # Errors
/// If the file is wrong, with the place.
pub fn all() -> Result<Vec<Explanation>, toml::de::Error> {
    parse(include_str!("../explanations.toml"))
}

/// Reads explanations from a text in the format of the file.
///
/// # Errors
/// If the text is wrong, with the place.
pub fn parse(text: &str) -> Result<Vec<Explanation>, toml::de::Error> {
    toml::from_str(text).map(|file: File| file.explanation)
}
