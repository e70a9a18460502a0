//! Values of the store as those of PostgreSQL.

use std::error::Error;

use results::store::{Row, Value};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

/// A value of a statement. What is given fits the type that the statement needs, or is an error.
#[derive(Debug)]
pub(crate) struct Given<'a>(pub &'a Value);

impl ToSql for Given<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self.0, ty) {
            (Value::Null, _) => Ok(IsNull::Yes),
            (Value::Integer(number), &Type::INT8) => number.to_sql(ty, out),
            (Value::Integer(number), &Type::INT4) => i32::try_from(*number)?.to_sql(ty, out),
            (Value::Integer(number), &Type::BOOL) => (*number != 0).to_sql(ty, out),
            (Value::Integer(number), &Type::FLOAT8) => (*number as f64).to_sql(ty, out),
            (Value::Real(number), &Type::FLOAT8) => number.to_sql(ty, out),
            (Value::Text(text), &Type::TEXT | &Type::NAME | &Type::VARCHAR) => text.to_sql(ty, out),
            (Value::Blob(bytes), &Type::BYTEA) => bytes.to_sql(ty, out),
            (_, ty) => Err(format!("a value of another kind than {ty}").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A row of the server.
pub(crate) fn row_of(row: &tokio_postgres::Row) -> Result<Row, tokio_postgres::Error> {
    let value = |(index, column): (usize, &tokio_postgres::Column)| {
        Ok(match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(index)?.map_or(Value::Null, Value::Integer),
            Type::INT4 => {
                let number = row.try_get::<_, Option<i32>>(index)?;
                number.map_or(Value::Null, |number| Value::Integer(number.into()))
            }
            Type::BOOL => {
                let is = row.try_get::<_, Option<bool>>(index)?;
                is.map_or(Value::Null, |is| Value::Integer(is.into()))
            }
            Type::FLOAT8 => row.try_get::<_, Option<f64>>(index)?.map_or(Value::Null, Value::Real),
            Type::BYTEA => {
                row.try_get::<_, Option<Vec<u8>>>(index)?.map_or(Value::Null, Value::Blob)
            }
            _ => row.try_get::<_, Option<String>>(index)?.map_or(Value::Null, Value::Text),
        })
    };
    row.columns().iter().enumerate().map(value).collect::<Result<_, _>>().map(Row)
}

/// A statement with PostgreSQL's marks of values, `$1` for `?1`.
pub(crate) fn with_marks(sql: &str) -> String {
    sql.replace('?', "$")
}
