//! An operation that is measured by oscost and by a plain loop.

use std::fmt;

use crate::setting::{Setting, Timed};

/// Values of parameters by their names.
pub type Params = &'static [(&'static str, &'static str)];

/// A point of oscost and the plain loop for it.
pub struct Operation {
    /// Full name of oscost's case: `area/name`.
    pub case: &'static str,
    /// Values of the case's parameters: enough to select one point.
    pub params: Params,
    /// Figure of the point that is the time of one operation.
    pub figure: Figure,
    /// The plain loop.
    pub plain: fn(&Setting) -> Timed,
}

/// A figure of oscost.
#[derive(Debug, Clone, Copy)]
pub enum Figure {
    /// The metric `time`.
    Time,
    /// A metric in operations per second, whose inverse is the time.
    Rate(&'static str),
}

impl Operation {
    /// An operation whose figure is `time`.
    pub const fn new(case: &'static str, params: Params, plain: fn(&Setting) -> Timed) -> Self {
        Self { case, params, figure: Figure::Time, plain }
    }

    /// Name of the metric that is compared.
    pub const fn metric(&self) -> &'static str {
        match self.figure {
            Figure::Time => "time",
            Figure::Rate(metric) => metric,
        }
    }

    /// The parameters in one phrase, and the metric unless it is `time`.
    pub fn details(&self) -> String {
        let params = self.params.iter().map(|(name, value)| format!("{name}={value}"));
        let metric = match self.figure {
            Figure::Time => None,
            Figure::Rate(metric) => Some(format!("1/{metric}")),
        };
        params.chain(metric).collect::<Vec<_>>().join(" ")
    }

    /// The case, the values of the parameters, and the metric unless it is `time`.
    pub fn short(&self) -> String {
        let values = self.params.iter().map(|(_, value)| *value);
        let metric = Some(self.metric()).filter(|metric| *metric != "time");
        [self.case].into_iter().chain(values).chain(metric).collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let details = self.details();
        let space = if details.is_empty() { "" } else { " " };
        write!(f, "{}{space}{details}", self.case)
    }
}
