//! Limits of what a JSON text of unknown origin may hold. They are checked before anything of it is kept: a short text can
//! take much memory, `[0,0,0` eight bytes for each two.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Maximum number of elements of an array, such as results of a document or values of a result.
const MAX_ELEMENTS: usize = 100_000;
/// Maximum number of members of an object, such as facts of a machine or calls of a result.
const MAX_MEMBERS: usize = 1_000;
/// Maximum length of a string, in bytes: twice the longest argument of a command on Linux.
const MAX_STRING_BYTES: usize = 256 << 10;
/// Maximum number of values in one result.
const MAX_VALUES_OF_RESULT: usize = 500_000;
/// Maximum memory that the text may take once it is read, in bytes, about.
const MAX_MEMORY_BYTES: usize = 112 << 20;

/// About how many bytes a result takes beside its values and strings.
const RESULT_BYTES: usize = 1 << 10;
/// How many bytes a number takes.
const NUMBER_BYTES: usize = 8;

/// Checks the text of a document.
///
/// # Errors
/// What exceeds which limit; text that is not JSON.
pub(crate) fn check_document(text: &str) -> serde_json::Result<()> {
    check(serde_json::Deserializer::from_str(text), 0)
}

/// Checks the text of an array of results.
///
/// # Errors
/// See [`check_document`].
pub(crate) fn check_results<'t>(
    json: serde_json::Deserializer<impl serde_json::de::Read<'t>>,
) -> serde_json::Result<()> {
    check(json, 1)
}

fn check<'t>(
    mut json: serde_json::Deserializer<impl serde_json::de::Read<'t>>,
    depth: usize,
) -> serde_json::Result<()> {
    let mut shape = Shape { depth, ..Shape::default() };
    shape.deserialize(&mut json)?;
    json.end()
}

/// What was read so far.
#[derive(Default)]
struct Shape {
    /// The name of the last member.
    key: String,
    depth: usize,
    memory_bytes: usize,
    /// Values in the result that is being read.
    values: usize,
}

impl Shape {
    /// Counts something that takes `bytes`.
    fn take<E: Error>(&mut self, bytes: usize) -> Result<(), E> {
        self.memory_bytes = self.memory_bytes.saturating_add(bytes);
        self.values += 1;
        self.limited("a result", self.values, "values", MAX_VALUES_OF_RESULT)?;
        let (taken, most) = (self.memory_bytes >> 20, MAX_MEMORY_BYTES >> 20);
        self.limited("what is read", taken, "MiB", most)
    }

    fn limited<E: Error>(&self, what: &str, n: usize, of: &str, most: usize) -> Result<(), E> {
        match n <= most {
            true => Ok(()),
            false => Err(E::custom(format_args!("{what} has more than {most} {of}, the limit"))),
        }
    }

    fn name(&self) -> String {
        format!("{:?}", self.key)
    }

    /// Begins an array or object.
    fn enter<E: Error>(&mut self) -> Result<(), E> {
        /// The depth of a result in a document.
        const OF_RESULT: usize = 2;
        if self.depth == OF_RESULT {
            self.values = 0;
            self.take(RESULT_BYTES)?;
        }
        self.depth += 1;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for &mut Shape {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Shape {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.take(NUMBER_BYTES)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.take(NUMBER_BYTES)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.take(NUMBER_BYTES)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.take(NUMBER_BYTES)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.take(NUMBER_BYTES)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if text.len() > MAX_STRING_BYTES {
            self.limited(&self.name(), text.len(), "bytes", MAX_STRING_BYTES)?;
        }
        self.take(NUMBER_BYTES + text.len())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        self.enter()?;
        let mut elements = 0;
        while array.next_element_seed(&mut *self)?.is_some() {
            elements += 1;
            if elements > MAX_ELEMENTS {
                self.limited(&self.name(), elements, "elements", MAX_ELEMENTS)?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        self.enter()?;
        let (mut members, of) = (0, self.name());
        while let Some(key) = object.next_key::<std::borrow::Cow<'de, str>>()? {
            members += 1;
            self.limited(&of, members, "members", MAX_MEMBERS)?;
            self.limited("a name", key.len(), "bytes", MAX_STRING_BYTES)?;
            self.take(key.len())?;
            self.key.clear();
            self.key.push_str(&key[..key.floor_char_boundary(40)]);
            object.next_value_seed(&mut *self)?;
        }
        self.depth -= 1;
        Ok(())
    }
}

/// A string, a number, a truth value or null; of an array or object only the fact that it is one, as an empty array.
pub(crate) struct Scalar(pub Value);

impl<'de> serde::Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalars;

        impl<'de> Visitor<'de> for Scalars {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_unit<E: Error>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Value, A::Error> {
                while array.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                Ok(Value::Array(Vec::new()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
                use serde::de::IgnoredAny;
                while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Value::Array(Vec::new()))
            }
        }

        deserializer.deserialize_any(Scalars).map(Scalar)
    }
}
