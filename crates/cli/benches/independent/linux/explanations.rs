//! Known causes of differences, each found by an experiment: the file `explanations.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Explanation of a difference between the figures of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// The case.
    pub case: String,
    /// Parameters of the operation.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
    /// The metric.
    #[serde(default = "time")]
    pub metric: String,
    /// Name of the system, such as `gvisor` or `gvisor@one-cpu`, if it is another one.
    #[serde(default)]
    pub on: Option<String>,
    /// The cause.
    pub why: String,
    /// Experiment that shows the cause: a command or a change, and its result.
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
    /// Whether the explanation is about the operation with this case, these parameters and this metric, in any system.
    pub fn is_about(&self, case: &str, params: &[(&str, &str)], metric: &str) -> bool {
        let has =
            |(name, value): &(&str, &str)| self.params.get(*name).is_some_and(|own| own == value);
        let same_params = self.params.len() == params.len() && params.iter().all(has);
        self.case == case && self.metric == metric && same_params
    }
}

/// All explanations.
///
/// # Errors
/// An error with its location if the file is invalid.
pub fn all() -> Result<Vec<Explanation>, toml::de::Error> {
    parse(include_str!("../explanations.toml"))
}

/// Reads explanations from a text in the format of the file.
///
/// # Errors
/// An error with its location if the text is invalid.
pub fn parse(text: &str) -> Result<Vec<Explanation>, toml::de::Error> {
    toml::from_str(text).map(|file: File| file.explanation)
}
