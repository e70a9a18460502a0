//! What the store needs of a database: statements with values, transactions, and little else.
//!
//! All statements of the store are in this crate, in the SQL that SQLite and PostgreSQL share: `?1` for values,
//! `ON CONFLICT`, `RETURNING`.

use std::fmt::Debug;
use std::time::Duration;

use serde::Serialize;

use super::error::StoreError;
use crate::document::Interval;

/// A value of a statement or a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// A whole number, or a truth value.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// The values of a row, in the order of the statement's columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Row(pub Vec<Value>);

/// A result as users of SQL find it in a database that cannot read packed results.
#[derive(Debug, Clone, PartialEq)]
pub struct PointRow {
    /// The `seq` of the text with case, parameters, metric, unit and direction.
    pub identity: i64,
    /// The outcome, as in the document.
    pub outcome: String,
    /// The reason of a result that was not measured.
    pub reason: Option<String>,
    /// The figure with the interval of its run.
    pub figure: Option<Interval>,
    /// The figure in core cycles per operation, if known.
    pub cycles: Option<Interval>,
    /// Number of rounds.
    pub rounds: i64,
    /// Whether there were reasons to doubt the figure, or too few quiet rounds.
    pub is_doubtful: bool,
}

/// A database with the tables of the store, opened for reading or for writing.
///
/// A statement outside of a transaction is one of its own. Each error names the store and the remedy.
pub trait Engine: Debug + Send {
    /// Executes a statement, and returns its rows.
    ///
    /// # Errors
    /// [`StoreError::Lost`] if the server cannot be reached: then the statement may have been executed or not.
    fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError>;

    /// The number of runs whose figures one statement reads. Each statement to a server takes a round trip, so that it is not small.
    fn runs_at_once(&self) -> usize {
        64
    }

    /// Executes a statement without rows, and returns how many rows it changed.
    ///
    /// # Errors
    /// See [`Engine::query`].
    fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, StoreError>;

    /// Begins a transaction that does not fail half-way because another one writes.
    ///
    /// # Errors
    /// If it cannot begin.
    fn begin(&self) -> Result<(), StoreError>;

    /// Ends the transaction. Afterwards nothing of it gets lost, also by a power cut unless [`Engine::set_durable`] says so.
    ///
    /// # Errors
    /// See [`Engine::query`].
    fn commit(&self) -> Result<(), StoreError>;

    /// Chooses whether transactions from the next one on survive a power cut, which takes time; a kill never loses one. A server
    /// decides that itself.
    ///
    /// # Errors
    /// If the database cannot be used.
    fn set_durable(&self, _is_durable: bool) -> Result<(), StoreError> {
        Ok(())
    }

    /// The condition that a row belongs to the writer of the run with the id `run`, a value such as `?1`; to this user if there is no
    /// such run. All rows of a file are its user's.
    fn is_of_writer(&self, run: &str) -> String {
        format!("{run} IS NOT NULL")
    }

    /// Ends the transaction as if it had not been. What fails here has ended it, too.
    fn rollback(&self);

    /// Whether the figures of runs are there in their compact form.
    ///
    /// # Errors
    /// If the database cannot be read.
    fn has_figures(&self) -> Result<bool, StoreError>;

    /// Stores the figures of a run for users of SQL instead of those that are there, within the open transaction. A database
    /// that can show results by a view has nothing to do.
    ///
    /// # Errors
    /// See [`Engine::query`].
    fn put_points(&self, run: i64, points: &[PointRow]) -> Result<(), StoreError>;

    /// Size of the database in bytes.
    ///
    /// # Errors
    /// If the database cannot be read.
    fn size(&self) -> Result<u64, StoreError>;

    /// Makes the space of what was deleted usable.
    ///
    /// # Errors
    /// If there is not enough space to do so.
    fn compact(&self) -> Result<(), StoreError>;

    /// Asks a server again that did not answer, with the next statement. Otherwise each statement fails at once for some minutes. A file
    /// has no use for it.
    fn ask_again(&self) {}

    /// How long a statement may take; `None` for the usual time. A file has no use for it.
    fn set_patience(&self, _patience: Option<Duration>) {}
}

impl Value {
    fn kind(&self) -> &'static str {
        match self {
            Value::Null => "nothing",
            Value::Integer(_) => "an integer",
            Value::Real(_) => "a number",
            Value::Text(_) => "a text",
            Value::Blob(_) => "bytes",
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Integer(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Value::Integer(number.into())
    }
}

impl From<bool> for Value {
    fn from(is_true: bool) -> Self {
        Value::Integer(is_true.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Real(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Value::Text(text.clone())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Value::Blob(bytes)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// What a column can be read as.
pub(super) trait FromValue: Sized {
    /// The value; what it is instead if it is another kind.
    fn from_value(value: &Value) -> Result<Self, &'static str>;
}

impl FromValue for i64 {
    fn from_value(value: &Value) -> Result<Self, &'static str> {
        if let Value::Integer(number) = value { Ok(*number) } else { Err(value.kind()) }
    }
}

impl FromValue for u32 {
    fn from_value(value: &Value) -> Result<Self, &'static str> {
        i64::from_value(value)?.try_into().map_err(|_| "out of range")
    }
}

impl FromValue for f64 {
    fn from_value(value: &Value) -> Result<Self, &'static str> {
        match value {
            Value::Real(number) => Ok(*number),
            Value::Integer(number) => Ok(*number as f64),
            _ => Err(value.kind()),
        }
    }
}

impl FromValue for String {
    fn from_value(value: &Value) -> Result<Self, &'static str> {
        if let Value::Text(text) = value { Ok(text.clone()) } else { Err(value.kind()) }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: &Value) -> Result<Self, &'static str> {
        if let Value::Blob(bytes) = value { Ok(bytes.clone()) } else { Err(value.kind()) }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Result<Self, &'static str> {
        if *value == Value::Null { Ok(None) } else { T::from_value(value).map(Some) }
    }
}

/// The values of a statement.
macro_rules! values {
    ($($value:expr),* $(,)?) => { [$($crate::store::Value::from($value)),*] };
}
pub(super) use values;

/// How many values a statement with a list of them has, so that there are few such statements.
const LISTS: [usize; 4] = [1, 8, 64, 512];

/// The longest list that [`listed`] takes.
pub(super) const LIST_AT_MOST: usize = LISTS[LISTS.len() - 1];

/// A list of values for `IN`, as `(?1, ?2, ...)`, with the last one repeated to one of few lengths.
pub(super) fn listed(mut values: Vec<Value>) -> (String, Vec<Value>) {
    let last = values.last().cloned().unwrap_or(Value::Null);
    let length = LISTS.into_iter().find(|length| *length >= values.len()).unwrap_or(LIST_AT_MOST);
    debug_assert!(values.len() <= LIST_AT_MOST);
    values.resize(length, last);
    let marks: Vec<String> = (1..=length).map(|n| format!("?{n}")).collect();
    (format!("({})", marks.join(", ")), values)
}

pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("string keys only, and writing to memory cannot fail")
}
