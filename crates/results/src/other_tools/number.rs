//! Numbers that are checked when they are read, so that an error has a line.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A finite number that is not negative, such as a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount(pub f64);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_f64(AmountVisitor)
    }
}

/// Checks within the visitor, whose errors have the line of the number.
struct AmountVisitor;

impl Visitor<'_> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Amount, E> {
        match number.is_finite() && number >= 0.0 {
            true => Ok(Amount(number)),
            false => Err(E::custom(format_args!("{number} is below 0"))),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Amount, E> {
        self.visit_f64(number as f64)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Amount, E> {
        self.visit_f64(number as f64)
    }
}

/// Parses a finite number that is not negative.
pub fn amount(text: &str) -> Option<f64> {
    let number = text.parse::<f64>().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}
