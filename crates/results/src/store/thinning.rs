//! Removes what is rarely needed of old runs.

use super::engine::values;
use super::{Store, StoreError};

/// The outcome of [`Store::thin`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thinned {
    /// Number of runs whose rounds were removed.
    pub runs: usize,
    /// Size of the file or database before, in bytes.
    pub before: u64,
    /// Its size afterwards, in bytes.
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
        let before = self.engine.size()?;
        let writing = self.write()?;
        let old =
            "SELECT seq FROM runs WHERE started_us < ?1 AND finished IS NOT NULL AND rounds > 0";
        let sql = format!("SELECT count(DISTINCT run) FROM packed_rounds WHERE run IN ({old})");
        let count = || self.one_column::<i64>(&sql, &values![before_us]);
        let with_rounds = count()?.unwrap_or_default();
        let delete = format!("DELETE FROM packed_rounds WHERE run IN ({old})");
        self.engine.execute(&delete, &values![before_us])?;
        // In a shared store the rounds of other users' runs are still there.
        let runs = with_rounds - count()?.unwrap_or_default();
        writing.commit()?;
        if runs > 0 {
            self.engine.compact()?;
        }
        Ok(Thinned { runs: runs as usize, before, after: self.engine.size()? })
    }

    /// Accepts an event of a history. Its id begins with that of a run and a slash.
    ///
    /// # Errors
    /// [`StoreError::OthersRun`], [`StoreError::UnknownRun`]: who may change the run accepts its events.
    pub fn accept_event(&mut self, id: &str, why: &str, accepted: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO accepted_events (id, why, accepted) VALUES (?1, ?2, ?3)
                   ON CONFLICT (id) DO UPDATE SET why = excluded.why, accepted = excluded.accepted";
        let writing = self.write()?;
        self.run_to_change(id.split_once('/').map_or(id, |(run, _)| run))?;
        self.engine.execute(sql, &values![id, why, accepted])?;
        writing.commit()
    }

    /// The reasons for which events were accepted, by id.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn accepted_events(
        &self,
    ) -> Result<std::collections::BTreeMap<String, String>, StoreError> {
        if !self.engine.has_figures()? {
            return Ok(Default::default());
        }
        let rows = self.engine.query("SELECT id, why FROM accepted_events", &[])?;
        rows.iter().map(|row| Ok((self.column(row, 0)?, self.column(row, 1)?))).collect()
    }
}
