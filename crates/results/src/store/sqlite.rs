//! The store in an SQLite file.

use std::path::{Path, PathBuf};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use super::StoreError;
use super::engine::{Engine, PointRow, Row, Value};
use super::open::{self, has_added_tables};

/// An open file.
#[derive(Debug)]
pub(super) struct Sqlite {
    path: PathBuf,
    connection: Connection,
}

impl Sqlite {
    /// Also says whether other users could read the file until now.
    pub fn for_writing(path: &Path) -> Result<(Self, bool), StoreError> {
        let (connection, was_open) = open::for_writing(path)?;
        Ok((Self::new(path, connection), was_open))
    }

    pub fn for_reading(path: &Path) -> Result<Self, StoreError> {
        Ok(Self::new(path, open::for_reading(path)?))
    }

    pub fn new(path: &Path, connection: Connection) -> Self {
        Self { path: path.to_owned(), connection }
    }

    fn failed(&self) -> impl Fn(rusqlite::Error) -> StoreError + '_ {
        |error| StoreError::sqlite(&self.path, error)
    }
}

impl Engine for Sqlite {
    fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(self.failed())?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(values)).map_err(self.failed())?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(self.failed())? {
            let values = (0..columns).map(|column| row.get_ref(column).map(value_of));
            found.push(Row(values.collect::<Result<_, _>>().map_err(self.failed())?));
        }
        Ok(found)
    }

    fn runs_at_once(&self) -> usize {
        // A statement costs little, and the memory of one run then serves for the next.
        1
    }

    fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(self.failed())?;
        let changed = statement.execute(params_from_iter(values)).map_err(self.failed())?;
        Ok(changed as u64)
    }

    fn set_durable(&self, is_durable: bool) -> Result<(), StoreError> {
        open::set_durable(&self.connection, is_durable).map_err(self.failed())
    }

    fn begin(&self) -> Result<(), StoreError> {
        // It holds the write lock from its start, so that it never fails half-way waiting for the lock.
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(self.failed())
    }

    fn commit(&self) -> Result<(), StoreError> {
        self.connection.execute_batch("COMMIT").map_err(self.failed())
    }

    fn rollback(&self) {
        // SQLite has rolled back already after some errors, such as a full disk.
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    fn has_figures(&self) -> Result<bool, StoreError> {
        has_added_tables(&self.connection).map_err(self.failed())
    }

    fn put_points(&self, _: i64, _: &[PointRow]) -> Result<(), StoreError> {
        // The view `results` reads the packed results.
        Ok(())
    }

    fn size(&self) -> Result<u64, StoreError> {
        // Without the log.
        let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        let bytes: i64 =
            self.connection.query_row(sql, [], |row| row.get(0)).map_err(self.failed())?;
        Ok(bytes.unsigned_abs())
    }

    fn compact(&self) -> Result<(), StoreError> {
        self.connection.execute_batch("VACUUM").map_err(self.failed())
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn value_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        // A damaged text is still no panic: what reads it says that it is damaged.
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}
