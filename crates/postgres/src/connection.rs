//! A connection to a server, which is made anew when it was lost.
//!
//! All work is done within the calls: no thread and no timer runs between them, while something may be measured.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::time::{Duration, Instant};

use results::StoreError;
use results::store::{Engine, PointRow, Row, Value};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::Address;
use crate::error;
use crate::values::{Given, row_of, with_marks};

/// What a store is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading only.
    Read,
    /// Reading and writing.
    Write,
}

/// The schema of all tables.
pub(crate) const SCHEMA: &str = "oscost";

/// How long a statement may take, and for how long the server lets a transaction of a process wait that is stopped or gone: its locks
/// hold up others.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long connecting may take.
const TO_CONNECT: Duration = Duration::from_secs(10);

/// For how long a server that did not answer is not asked again, unless there is something to send: what is measured meanwhile is
/// kept in journals, and does not wait.
const SILENCE: Duration = Duration::from_secs(600);

/// After how long a failure is no refusal, which comes sooner, but silence.
const SILENT: Duration = Duration::from_secs(5);

/// How many statements the server keeps prepared.
const PREPARED_AT_MOST: usize = 200;

/// Checks the tables.
pub(crate) type Check = fn(&Postgres) -> Result<(), StoreError>;

/// A store in a server.
pub(crate) struct Postgres {
    address: Address,
    tls: Option<MakeRustlsConnect>,
    access: Access,
    /// Present until this value is dropped.
    runtime: Option<Runtime>,
    link: RefCell<Option<Link>>,
    is_in_transaction: Cell<bool>,
    patience: Cell<Duration>,
    /// When the server did not answer in time.
    silent: Cell<Option<Instant>>,
    /// What checks the tables, if that is still to be done, since the server could not be reached at first.
    check: Cell<Option<Check>>,
}

struct Link {
    client: Client,
    prepared: HashMap<String, Statement>,
    /// What moves the data between the client and the server.
    connection: JoinHandle<()>,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Postgres").field(&self.address).finish()
    }
}

impl Postgres {
    /// Connects to the server.
    pub fn connect(address: Address, access: Access) -> Result<Self, StoreError> {
        let postgres = Self::unconnected(address, access)?;
        postgres.connected()?;
        Ok(postgres)
    }

    /// A store whose tables `check` checks as soon as the server can be reached.
    pub fn now_or_later(
        address: Address,
        access: Access,
        check: Check,
    ) -> Result<Self, StoreError> {
        let postgres = Self::unconnected(address, access)?;
        postgres.check.set(Some(check));
        match postgres.connected() {
            Ok(()) | Err(StoreError::Lost { .. }) => Ok(postgres),
            Err(error) => Err(error),
        }
    }

    fn unconnected(address: Address, access: Access) -> Result<Self, StoreError> {
        let refused = |what| StoreError::Server { store: address.name.clone(), what };
        let tls = match address.uses_tls {
            true => {
                Some(crate::tls::verifying(address.root_certificates.as_deref()).map_err(refused)?)
            }
            false => None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| refused(format!("cannot wait for a connection: {error}")))?;
        let postgres = Self {
            address,
            tls,
            access,
            runtime: Some(runtime),
            link: RefCell::new(None),
            is_in_transaction: Cell::new(false),
            patience: Cell::new(PATIENCE),
            silent: Cell::new(None),
            check: Cell::new(None),
        };
        Ok(postgres)
    }

    /// What messages call the store.
    pub fn name(&self) -> &str {
        &self.address.name
    }

    /// Executes statements that have no values and no rows.
    pub fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.connected()?;
        self.with_link(async |link| link.client.batch_execute(sql).await)
    }

    fn lost(&self, what: impl Into<String>) -> StoreError {
        StoreError::Lost { store: self.name().to_owned(), what: what.into() }
    }

    /// Connects anew if there is no connection.
    fn connected(&self) -> Result<(), StoreError> {
        let is_there = self.link.borrow().as_ref().is_some_and(|link| !link.client.is_closed());
        if is_there {
            return Ok(());
        }
        self.close(self.link.borrow_mut().take());
        if self.silent.get().is_some_and(|since| since.elapsed() < SILENCE) {
            return Err(self.lost("the server did not answer"));
        }
        if self.is_in_transaction.get() {
            return Err(self.lost("the connection was lost"));
        }
        let config = &self.address.config;
        let connecting = async {
            let (client, connection) = match self.tls.clone() {
                Some(tls) => {
                    let (client, connection) = config.connect(tls).await?;
                    (client, tokio::spawn(async { drop(connection.await) }))
                }
                None => {
                    let (client, connection) = config.connect(NoTls).await?;
                    (client, tokio::spawn(async { drop(connection.await) }))
                }
            };
            Ok(Link { client, prepared: HashMap::new(), connection })
        };
        let usual = self.patience.get();
        self.patience.set(usual.min(TO_CONNECT));
        let link = self.in_time(connecting);
        self.patience.set(usual);
        *self.link.borrow_mut() = Some(link?);
        let seconds = PATIENCE.as_secs();
        let settings = format!(
            "SET search_path TO {SCHEMA}, pg_catalog; SET client_min_messages TO warning;
             SET default_transaction_read_only TO {only}; SET synchronous_commit TO on;
             SET statement_timeout TO '{seconds}s'; SET idle_in_transaction_session_timeout TO '{seconds}s'",
            only = if self.access == Access::Read { "on" } else { "off" }
        );
        self.with_link(async |link| link.client.batch_execute(&settings).await)
            .inspect_err(|_| self.close(self.link.borrow_mut().take()))?;
        match self.check.take() {
            Some(check) => check(self).inspect_err(|_| self.check.set(Some(check))),
            None => Ok(()),
        }
    }

    fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, StoreError> {
        let (patience, began) = (self.patience.get(), Instant::now());
        let done = self.runtime().block_on(async { tokio::time::timeout(patience, work).await });
        let done =
            match done {
                Ok(done) => done.map_err(|error| error::of(self.name(), &error)),
                Err(_) => Err(self
                    .lost(format!("the server did not answer for {} s", patience.as_secs_f32()))),
            };
        let is_silence = began.elapsed() >= patience.min(SILENT);
        if matches!(done, Err(StoreError::Lost { .. })) && is_silence {
            self.silent.set(Some(Instant::now()));
        }
        done
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is there until this is dropped")
    }

    /// Does something with the connection, which is gone afterwards if it was lost or did not answer.
    fn with_link<T>(
        &self,
        work: impl AsyncFnOnce(&mut Link) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StoreError> {
        let mut slot = self.link.borrow_mut();
        let link = slot.as_mut().ok_or_else(|| self.lost("the connection was lost"))?;
        let done = self.in_time(work(link));
        if matches!(done, Err(StoreError::Lost { .. })) {
            // What the server had still to answer would be taken for the answer to the next statement.
            self.close(slot.take());
        }
        done
    }

    /// Closes a connection at once: otherwise that is done with the next statement, and until then the locks of its transaction hold
    /// up other machines.
    fn close(&self, link: Option<Link>) {
        if let Some(Link { connection, .. }) = link {
            connection.abort();
            let _ = self.runtime().block_on(connection);
        }
    }

    fn run<T>(
        &self,
        sql: &str,
        values: &[Value],
        work: impl AsyncFnOnce(
            &Client,
            &Statement,
            &[&(dyn ToSql + Sync)],
        ) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StoreError> {
        let given: Vec<Given<'_>> = values.iter().map(Given).collect();
        let given: Vec<&(dyn ToSql + Sync)> = given.iter().map(|value| value as _).collect();
        self.with_link(async |link| {
            if !link.prepared.contains_key(sql) {
                if link.prepared.len() >= PREPARED_AT_MOST {
                    link.prepared.clear();
                }
                let statement = link.client.prepare(&with_marks(sql)).await?;
                link.prepared.insert(sql.to_owned(), statement);
            }
            work(&link.client, &link.prepared[sql], &given).await
        })
    }

    fn rows(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        self.run(sql, values, async |client, statement, given| {
            client.query(statement, given).await?.iter().map(row_of).collect()
        })
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Without waiting for a name server that does not answer either.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Engine for Postgres {
    fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let is_read = !self.is_in_transaction.get() && sql.starts_with("SELECT");
        self.connected()?;
        match self.rows(sql, values) {
            // The server may have been started again since the last statement.
            Err(StoreError::Lost { .. }) if is_read => {
                self.connected()?;
                self.rows(sql, values)
            }
            other => other,
        }
    }

    fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, StoreError> {
        let execute = || {
            self.run(sql, values, async |client, statement, given| {
                client.execute(statement, given).await
            })
        };
        if self.is_in_transaction.get() {
            return execute();
        }
        // A transaction begins on a connection that works, so that the statement is not executed twice.
        self.begin()?;
        let changed = execute().inspect_err(|_| self.rollback())?;
        self.commit().map(|()| changed)
    }

    fn is_of_writer(&self, run: &str) -> String {
        let writer = format!("SELECT own.writer FROM runs AS own WHERE own.id = {run}");
        format!("writer = COALESCE(({writer}), session_user)")
    }

    fn begin(&self) -> Result<(), StoreError> {
        let begun = self.batch("BEGIN").or_else(|error| match error {
            StoreError::Lost { .. } => self.batch("BEGIN"),
            other => Err(other),
        });
        self.is_in_transaction.set(begun.is_ok());
        begun
    }

    fn commit(&self) -> Result<(), StoreError> {
        self.is_in_transaction.set(false);
        self.with_link(async |link| link.client.batch_execute("COMMIT").await)
    }

    fn rollback(&self) {
        self.is_in_transaction.set(false);
        let ended = self.with_link(async |link| link.client.batch_execute("ROLLBACK").await);
        if ended.is_err() {
            self.close(self.link.borrow_mut().take());
        }
    }

    fn has_figures(&self) -> Result<bool, StoreError> {
        Ok(true)
    }

    fn put_points(&self, run: i64, points: &[PointRow]) -> Result<(), StoreError> {
        self.execute("DELETE FROM points WHERE run = ?1", &[Value::Integer(run)])?;
        let sql = "INSERT INTO points (run, seq, identity, outcome, reason, median, low, high, cycles, rounds, is_doubtful)
                   SELECT $1::bigint, point.* FROM unnest($2::int[], $3::bigint[], $4::text[], $5::text[], $6::float8[], $7::float8[],
                                                  $8::float8[], $9::float8[], $10::int[], $11::bool[]) AS point";
        let seqs: Vec<i32> = (0..).take(points.len()).collect();
        let identities: Vec<i64> = points.iter().map(|point| point.identity).collect();
        let outcomes: Vec<&str> = points.iter().map(|point| point.outcome.as_str()).collect();
        // A text of PostgreSQL has no NUL.
        let reasons = points.iter().map(|point| Some(point.reason.as_ref()?.replace('\0', " ")));
        let reasons: Vec<Option<String>> = reasons.collect();
        let finite = |number: f64| Some(number).filter(|number| number.is_finite());
        let medians: Vec<Option<f64>> =
            points.iter().map(|point| finite(point.figure?.median)).collect();
        let lows: Vec<Option<f64>> = points.iter().map(|point| finite(point.figure?.low)).collect();
        let highs: Vec<Option<f64>> =
            points.iter().map(|point| finite(point.figure?.high)).collect();
        let cycles: Vec<Option<f64>> =
            points.iter().map(|point| finite(point.cycles?.median)).collect();
        let rounds = points.iter().map(|point| i32::try_from(point.rounds).unwrap_or(i32::MAX));
        let rounds: Vec<i32> = rounds.collect();
        let doubtful: Vec<bool> = points.iter().map(|point| point.is_doubtful).collect();
        let given: [&(dyn ToSql + Sync); 11] = [
            &run,
            &seqs,
            &identities,
            &outcomes,
            &reasons,
            &medians,
            &lows,
            &highs,
            &cycles,
            &rounds,
            &doubtful,
        ];
        self.with_link(async |link| link.client.execute(sql, &given).await.map(drop))
    }

    fn size(&self) -> Result<u64, StoreError> {
        let sql =
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_catalog.pg_class
                   WHERE relnamespace = ?1::text::regnamespace AND relkind = 'r'";
        let rows = self.query(sql, &[Value::Text(SCHEMA.to_owned())])?;
        match rows.first().map(|row| row.0.as_slice()) {
            Some([Value::Integer(bytes)]) => Ok(bytes.unsigned_abs()),
            _ => Err(self.lost("it does not say how large it is")),
        }
    }

    fn compact(&self) -> Result<(), StoreError> {
        // Only the owner of a table can do that; the server does it for all of them from time to time.
        self.patience.set(PATIENCE);
        self.batch("VACUUM packed_rounds")
    }

    fn ask_again(&self) {
        self.silent.set(None);
    }

    fn set_patience(&self, patience: Option<Duration>) {
        self.patience.set(patience.unwrap_or(PATIENCE));
    }
}
