//! Numbers that are checked when they are read, so that an error has a line.

use serde::de::{Deserialize, Deserializer, Error};

/// A finite number that is not negative, such as a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount(pub f64);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        match number.is_finite() && number >= 0.0 {
            true => Ok(Self(number)),
            false => Err(D::Error::custom(format_args!("{number} is below 0"))),
        }
    }
}

/// Parses a finite number that is not negative.
pub fn amount(text: &str) -> Option<f64> {
    let number = text.parse::<f64>().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}
