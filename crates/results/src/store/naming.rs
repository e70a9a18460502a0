//! Names of a run: its id, the beginning of the id, `last`, `last~2`, or a tag. Each is looked up in an index.

use super::engine::{Value, values};
use super::opened::with_id;
use super::{Store, StoreError};

impl Store {
    /// The id of the run called `name`: a full id; `last`, the run with results that came into the store last, or `last~2`, the
    /// second before it; `key=value`, the last run with that tag; or the beginning of exactly one id.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], or [`StoreError::AmbiguousRun`] with the candidates.
    pub fn resolve(&self, name: &str) -> Result<String, StoreError> {
        if let Some(id) = self.named_in_journals(name)? {
            return Ok(id);
        }
        if let Some(id) = self.resolve_whole_name(name)? {
            return Ok(id);
        }
        // No id has a character as high as the one that ends the range of ids with this beginning.
        let sql = "SELECT id FROM runs WHERE id >= ?1 AND id < ?2 ORDER BY started_us, seq";
        let end = if name.is_empty() { String::new() } else { format!("{name}\u{10ffff}") };
        only(name, self.ids(sql, &values![name, end])?, || {
            "no id begins like that, and it is not last, last~N or key=value".to_owned()
        })
    }

    /// The ids of the runs that were measured together with the run `id`, one on each system, oldest first; only `id` if it
    /// was measured alone.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], or if the store cannot be read.
    pub fn group_of(&self, id: &str) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT one.id FROM runs AS run
                   JOIN runs AS one ON one.seq = run.seq OR one.system_group = run.system_group
                   WHERE run.id = ?1 ORDER BY one.started_us, one.seq";
        let together = self.ids(sql, &values![id])?;
        if together.is_empty() { Err(self.unknown(id)) } else { Ok(together) }
    }

    /// The values of the tag `key`, each with the id of its run, the newest run last.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn tagged(&self, key: &str) -> Result<Vec<(String, String)>, StoreError> {
        let sql = "SELECT value, id FROM tags JOIN runs ON runs.seq = run WHERE key = ?1
                   ORDER BY started_us, seq";
        let rows = self.engine.query(sql, &values![key])?;
        rows.iter().map(|row| Ok((self.column(row, 0)?, self.column(row, 1)?))).collect()
    }

    /// The id of the run called `name`, like [`Store::resolve`], but without beginnings of ids. `None` for a name that is
    /// neither a full id nor has the form `last`, `last~2` or `key=value`, and may name something other than a run.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`] if there are no runs, or no run has a name of one of these forms.
    pub fn resolve_whole_name(&self, name: &str) -> Result<Option<String>, StoreError> {
        let unknown = |hint: String| StoreError::UnknownRun { asked: name.to_owned(), hint };
        if self.ids("SELECT id FROM runs LIMIT 1", &[])?.is_empty() {
            return Err(unknown("it has no runs".to_owned()));
        }
        if let Some(id) = self.ids("SELECT id FROM runs WHERE id = ?1", &values![name])?.pop() {
            return Ok(Some(id));
        }
        if let Some(back) = name.strip_prefix("last").and_then(steps_back) {
            // Clocks of machines differ and are set, so that the order of arrival decides. A run that is being measured, or was
            // killed, has no results.
            let machine = self.machine_meant()?;
            let like = machine.as_deref().map_or_else(|| "%".to_owned(), with_id);
            let sql = "SELECT id FROM runs WHERE results > 0 AND machine LIKE ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2";
            if let Some(id) = self.ids(sql, &values![like.clone(), back])?.pop() {
                return Ok(Some(id));
            }
            let sql = "SELECT count(*) FROM runs WHERE results > 0 AND machine LIKE ?1";
            let count: i64 = self.one_column(sql, &values![like])?.unwrap_or_default();
            let runs = if count == 1 { "run" } else { "runs" };
            let of = if machine.is_some() { " of one machine" } else { "" };
            return Err(unknown(format!("it has only {count} {runs} with results{of}")));
        }
        let Some((key, value)) = name.split_once('=') else { return Ok(None) };
        // All runs of an invocation have its tags: the last run stands for its group.
        let sql = "SELECT id FROM tags JOIN runs ON runs.seq = run WHERE key = ?1 AND value = ?2
                   ORDER BY results > 0 DESC, seq DESC LIMIT 1";
        match self.ids(sql, &values![key, value])?.pop() {
            Some(id) => Ok(Some(id)),
            None => Err(unknown(format!("no run has the tag {key}={value}"))),
        }
    }

    fn ids(&self, sql: &str, values: &[Value]) -> Result<Vec<String>, StoreError> {
        self.engine.query(sql, values)?.iter().map(|row| self.column(row, 0)).collect()
    }
}

/// The number of runs back from the last: `""` is 0, `"~2"` is 2.
fn steps_back(after_last: &str) -> Option<u32> {
    match after_last {
        "" => Some(0),
        text => text.strip_prefix('~')?.parse().ok(),
    }
}

fn only(
    name: &str,
    mut candidates: Vec<String>,
    hint: impl Fn() -> String,
) -> Result<String, StoreError> {
    match candidates.len() {
        0 => Err(StoreError::UnknownRun { asked: name.to_owned(), hint: hint() }),
        1 => Ok(candidates.remove(0)),
        _ => Err(StoreError::AmbiguousRun { asked: name.to_owned(), candidates }),
    }
}
