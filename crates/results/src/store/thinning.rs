//! Removes what is rarely needed of old runs.

use rusqlite::params;

use super::{Store, StoreError};

/// The outcome of [`Store::thin`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thinned {
    /// Number of runs whose rounds were removed.
    pub runs: usize,
    /// Size of the file before, in bytes.
    pub before: u64,
    /// Size of the file afterwards, in bytes.
    pub after: u64,
}

impl Store {
    /// Removes the rounds of finished runs that began before `before_us`, in microseconds since 1970 UTC, and returns their space
    /// to the file system. Figures, their intervals and the values of rounds stay; samples, and with them plots of
    /// distributions, do not.
    ///
    /// # Errors
    /// If the store cannot be written. Where only the space could not be returned, such as on a full disk, the rounds are
    /// removed, and SQLite uses their space for later runs.
    pub fn thin(&mut self, before_us: i64) -> Result<Thinned, StoreError> {
        let before = self.size()?;
        let writing = self.write()?;
        let old =
            "SELECT seq FROM runs WHERE started_us < ?1 AND finished IS NOT NULL AND rounds > 0";
        let sql = format!("SELECT count(DISTINCT run) FROM packed_rounds WHERE run IN ({old})");
        let runs: i64 =
            writing.query_row(&sql, [before_us], |row| row.get(0)).map_err(self.failed())?;
        let sql = format!("DELETE FROM packed_rounds WHERE run IN ({old})");
        writing.execute(&sql, params![before_us]).map_err(self.failed())?;
        writing.commit().map_err(self.failed())?;
        if runs > 0 {
            self.connection.execute_batch("VACUUM").map_err(self.failed())?;
        }
        Ok(Thinned { runs: runs as usize, before, after: self.size()? })
    }

    /// Size of the database in bytes, without its log.
    fn size(&self) -> Result<u64, StoreError> {
        let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        let bytes: i64 =
            self.connection.query_row(sql, [], |row| row.get(0)).map_err(self.failed())?;
        Ok(bytes.unsigned_abs())
    }

    /// Accepts an event of a history.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn accept_event(&mut self, id: &str, why: &str, accepted: &str) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO accepted_events (id, why, accepted) VALUES (?1, ?2, ?3)";
        self.connection.execute(sql, [id, why, accepted]).map(drop).map_err(self.failed())
    }

    /// The reasons for which events were accepted, by id.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn accepted_events(
        &self,
    ) -> Result<std::collections::BTreeMap<String, String>, StoreError> {
        if !super::open::has_added_tables(&self.connection).map_err(self.failed())? {
            return Ok(Default::default());
        }
        let sql = "SELECT id, why FROM accepted_events";
        let mut statement = self.connection.prepare_cached(sql).map_err(self.failed())?;
        let events = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        events.map_err(self.failed())?.collect::<Result<_, _>>().map_err(self.failed())
    }
}
