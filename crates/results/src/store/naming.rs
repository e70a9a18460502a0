//! The names of a run: its id, the beginning of it, `last`, `last~2`, or a tag.

use super::{RunSummary, Store, StoreError};
use crate::document::GROUP;

impl Store {
    /// The id of the run called `name`: a full id; `last` (the newest) or `last~2` (the second before it); `key=value`,
    /// if exactly one run has that tag; or the beginning of exactly one id.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], or [`StoreError::AmbiguousRun`] with the candidates.
    pub fn resolve(&self, name: &str) -> Result<String, StoreError> {
        if let Some(id) = self.resolve_whole_name(name)? {
            return Ok(id);
        }
        let runs = self.runs()?;
        let beginning = runs.iter().filter(|run| !name.is_empty() && run.id.starts_with(name));
        only(name, beginning, || {
            "no id begins like that, and it is not last, last~N or key=value".to_owned()
        })
    }

    /// The ids of the runs that were measured together with the run `id`, one on each system, oldest first: only itself
    /// if it was measured alone.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], or if the store cannot be read.
    pub fn group_of(&self, id: &str) -> Result<Vec<String>, StoreError> {
        let runs = self.runs()?;
        let run = runs.iter().find(|run| run.id == id).ok_or_else(|| self.unknown(id))?;
        let Some(group) = run.asked.get(GROUP) else { return Ok(vec![id.to_owned()]) };
        let together = runs.iter().filter(|run| run.asked.get(GROUP) == Some(group));
        Ok(together.map(|run| run.id.clone()).collect())
    }

    /// As [`Store::resolve`], without beginnings of ids: `None` for a name that is neither a full id nor has the form `last`,
    /// `last~2` or `key=value`, and so may be something other than a run.
    ///
    /// # Errors
    /// As [`Store::resolve`], for a name of one of these forms, and for every name if there are no runs.
    pub fn resolve_whole_name(&self, name: &str) -> Result<Option<String>, StoreError> {
        let runs = self.runs()?;
        let unknown = |hint: String| StoreError::UnknownRun { asked: name.to_owned(), hint };
        if runs.is_empty() {
            return Err(unknown("it has no runs".to_owned()));
        }
        if let Some(run) = runs.iter().find(|run| run.id == name) {
            return Ok(Some(run.id.clone()));
        }
        if let Some(back) = name.strip_prefix("last").and_then(steps_back) {
            let run = runs.iter().rev().nth(back);
            let too_few = || unknown(format!("it has only {} runs", runs.len()));
            return run.map(|run| Some(run.id.clone())).ok_or_else(too_few);
        }
        let Some((key, value)) = name.split_once('=') else { return Ok(None) };
        let tagged = runs.iter().filter(|run| run.tags.get(key).is_some_and(|v| v == value));
        only(name, tagged, || format!("no run has the tag {key}={value}")).map(Some)
    }
}

/// `""` is 0, `"~2"` is 2.
fn steps_back(after_last: &str) -> Option<usize> {
    match after_last {
        "" => Some(0),
        text => text.strip_prefix('~')?.parse().ok(),
    }
}

fn only<'r>(
    name: &str,
    runs: impl Iterator<Item = &'r RunSummary>,
    hint: impl Fn() -> String,
) -> Result<String, StoreError> {
    let mut candidates: Vec<String> = runs.map(|run| run.id.clone()).collect();
    match candidates.len() {
        0 => Err(StoreError::UnknownRun { asked: name.to_owned(), hint: hint() }),
        1 => Ok(candidates.remove(0)),
        _ => Err(StoreError::AmbiguousRun { asked: name.to_owned(), candidates }),
    }
}
