//! The tables, as migrations: numbered files, each applied once, in order, by the owner.

use results::StoreError;
use results::store::{Engine, Row, Value};

use crate::connection::{Postgres, SCHEMA};

struct Migration {
    number: i64,
    name: &'static str,
    sql: &'static str,
}

/// All migrations of this version. A file that was released is never changed.
const MIGRATIONS: [Migration; 3] = [
    Migration { number: 1, name: "store", sql: include_str!("../migrations/0001_store.sql") },
    Migration { number: 2, name: "node", sql: include_str!("../migrations/0002_node.sql") },
    Migration { number: 3, name: "writers", sql: include_str!("../migrations/0003_writers.sql") },
];

/// The advisory lock under which migrations are applied, "oscost" in ASCII.
const LOCK: i64 = 0x6f73_636f_7374;

impl Migration {
    /// SHA-256 of the file in hexadecimal.
    fn checksum(&self) -> String {
        let digest = ring::digest::digest(&ring::digest::SHA256, self.sql.as_bytes());
        digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Checks that the database has exactly the migrations of this version.
///
/// # Errors
/// [`StoreError::Server`] with the difference and the remedy.
pub(crate) fn check(postgres: &Postgres) -> Result<(), StoreError> {
    let applied = applied(postgres)?;
    compared(postgres, &applied)?;
    match MIGRATIONS.get(applied.len()) {
        None => Ok(()),
        Some(_) if applied.is_empty() => Err(refused(
            postgres,
            "the database has no store; its owner creates one with `oscost store init --store URL`"
                .to_owned(),
        )),
        Some(missing) => Err(refused(
            postgres,
            format!(
                "the store was made by an older oscost and lacks migration {}; its owner adds it with `oscost store init`",
                missing.number
            ),
        )),
    }
}

/// Applies the migrations that the database lacks, each in a transaction; another process that does so is waited for.
///
/// # Errors
/// See [`check`]; those of the server.
pub(crate) fn apply(postgres: &Postgres) -> Result<(), StoreError> {
    let lock = [Value::Integer(LOCK)];
    postgres.query("SELECT pg_advisory_lock(?1)::text", &lock)?;
    let done = apply_missing(postgres);
    // The lock ends with the connection at the latest.
    let _ = postgres.query("SELECT pg_advisory_unlock(?1)::text", &lock);
    done
}

fn apply_missing(postgres: &Postgres) -> Result<(), StoreError> {
    let known = applied(postgres)?;
    compared(postgres, &known)?;
    if known.is_empty() {
        postgres.batch(&format!(
            "CREATE SCHEMA IF NOT EXISTS {SCHEMA};
             CREATE TABLE IF NOT EXISTS {SCHEMA}.oscost_migrations (
                 number   BIGINT PRIMARY KEY,
                 name     TEXT NOT NULL,
                 checksum TEXT NOT NULL,           -- SHA-256 of the file
                 applied  TIMESTAMPTZ NOT NULL DEFAULT now()
             )"
        ))?;
    }
    for migration in &MIGRATIONS[known.len()..] {
        postgres.begin()?;
        let values = [
            Value::Integer(migration.number),
            Value::Text(migration.name.to_owned()),
            Value::Text(migration.checksum()),
        ];
        let sql = "INSERT INTO oscost_migrations (number, name, checksum) VALUES (?1, ?2, ?3)";
        postgres
            .batch(migration.sql)
            .and_then(|()| postgres.execute(sql, &values))
            .inspect_err(|_| postgres.rollback())?;
        postgres.commit()?;
    }
    Ok(())
}

/// Number and checksum of the applied migrations, in order.
fn applied(postgres: &Postgres) -> Result<Vec<(i64, String)>, StoreError> {
    let table = [Value::Text(format!("{SCHEMA}.oscost_migrations"))];
    let there = postgres.query("SELECT to_regclass(?1) IS NOT NULL", &table)?;
    if there != [Row(vec![Value::Integer(1)])] {
        return Ok(Vec::new());
    }
    let rows =
        postgres.query("SELECT number, checksum FROM oscost_migrations ORDER BY number", &[])?;
    let of_row = |row: &Row| match row.0.as_slice() {
        [Value::Integer(number), Value::Text(checksum)] => Ok((*number, checksum.clone())),
        _ => Err(refused(postgres, "its table oscost_migrations is another program's".to_owned())),
    };
    rows.iter().map(of_row).collect()
}

fn compared(postgres: &Postgres, applied: &[(i64, String)]) -> Result<(), StoreError> {
    for (at, (number, checksum)) in applied.iter().enumerate() {
        let Some(migration) = MIGRATIONS.get(at) else {
            return Err(refused(
                postgres,
                format!(
                    "the store was made by a newer oscost: this build knows migrations up to {}, it has {number}; use that oscost",
                    MIGRATIONS.len()
                ),
            ));
        };
        if (migration.number, &migration.checksum()) != (*number, checksum) {
            return Err(refused(
                postgres,
                format!(
                    "migration {number} ({}) was applied from another file than this build has (checksum {}, not {}): use the \
                     oscost that created the store, or restore it from a dump",
                    migration.name,
                    &checksum[..checksum.len().min(12)],
                    &migration.checksum()[..12]
                ),
            ));
        }
    }
    Ok(())
}

fn refused(postgres: &Postgres, what: String) -> StoreError {
    StoreError::Server { store: postgres.name().to_owned(), what }
}
