//! Journals: the local files of runs that a shared store has not acknowledged as a whole.
//!
//! A run into a shared store writes to a journal of its own, which is an ordinary store file with this one run. The journal is
//! sent between rounds, within strict limits of time, and as a whole when the run ends. All sending happens in the thread that
//! measures, between two rounds: no thread of a sender runs beside a round and disturbs it. A journal is removed when the
//! shared store has all of it.

use std::cell::RefCell;
use std::fs::File;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use super::engine::values;
use super::opened::{DELETED, ENDING, Journal, Journals, Sending, removed};
use super::{RoundRow, Store, StoreError};

/// What became of a journal when it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The shared store has the whole run, and the journal is gone.
    Whole,
    /// The shared store has all that there is of the run, which is not finished; `run --resume` continues it.
    Unfinished,
    /// The run was deleted here, and now also there.
    Deleted,
}

impl Store {
    /// The shared store with journals in `folder`: from now on, a run that begins is written there first.
    pub fn with_journals(self, folder: PathBuf, sending: Sending) -> Store {
        self.engine.set_patience(Some(sending.patience_at_end));
        Store { journals: Some(RefCell::new(Journals::new(folder, sending))), ..self }
    }

    /// Does something with the journal of a run; `None` if it has none.
    pub(super) fn in_journal<T>(
        &self,
        id: &str,
        act: impl FnOnce(&mut Journal) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let Some(journals) = &self.journals else { return Ok(None) };
        journals.borrow_mut().of(id)?.map(act).transpose()
    }

    /// Begins a run by creating its journal, and tells the shared store, which may refuse it before anything is measured; `None`
    /// if this store has no journals.
    pub(super) fn begin_journal(
        &self,
        id: &str,
        begin: impl FnOnce(&mut Store) -> Result<(), StoreError>,
    ) -> Result<Option<()>, StoreError> {
        let Some(journals) = &self.journals else { return Ok(None) };
        let mut journals = journals.borrow_mut();
        let mut store = Store::open(&journals.path(id))?;
        begin(&mut store)?;
        let begun = self.receive_beginning(&store, id);
        let is_begun = begun.is_ok();
        journals.open.insert(id.to_owned(), Journal { store, is_begun, sent: None });
        match begun {
            Ok(()) | Err(StoreError::Lost { .. }) => Ok(Some(())),
            Err(error) => {
                journals.remove(id)?;
                Err(error)
            }
        }
    }

    /// Adds a round to the run's journal, and sends what has gathered if it is time; `None` if the run has no journal.
    pub(super) fn add_to_journal(
        &self,
        id: &str,
        round: &RoundRow,
    ) -> Result<Option<()>, StoreError> {
        let added = self.in_journal(id, |journal| journal.store.add_round(id, round))?;
        if added.is_some() {
            self.send_between_rounds(id);
        }
        Ok(added)
    }

    /// Deletes a run that has a journal, here and in the shared store; `None` if it has none.
    pub(super) fn delete_journal(&self, id: &str) -> Result<Option<()>, StoreError> {
        let Some(journals) = &self.journals else { return Ok(None) };
        if journals.borrow_mut().of(id)?.is_none() {
            return Ok(None);
        }
        let deleted = journals.borrow().deleted_path(id);
        // The order holds after a power cut, too: a run is not deleted here only.
        File::create(&deleted).map_err(|error| StoreError::io(&deleted, error))?;
        journals.borrow().sync()?;
        journals.borrow_mut().remove(id)?;
        match self.delete_deleted(id) {
            // `sync` deletes it there.
            Ok(()) | Err(StoreError::Lost { .. }) => Ok(Some(())),
            Err(error) => Err(error),
        }
    }

    fn delete_deleted(&self, id: &str) -> Result<(), StoreError> {
        let Some(journals) = &self.journals else { return Ok(()) };
        match self.delete_here(id) {
            Ok(()) | Err(StoreError::UnknownRun { .. }) => {}
            Err(error) => return Err(error),
        }
        removed(&journals.borrow().deleted_path(id))?;
        journals.borrow().sync()
    }

    /// Sends rounds that the shared store lacks, if it is time. A failure only delays that: the journal has them.
    fn send_between_rounds(&self, id: &str) {
        let Some(journals) = &self.journals else { return };
        let mut journals = journals.borrow_mut();
        if Instant::now() < journals.next_try {
            return;
        }
        let sending = journals.sending;
        self.engine.set_patience(Some(sending.patience));
        self.engine.ask_again();
        let sent = journals.open.get_mut(id).map_or(Ok(()), |journal| self.send_some(id, journal));
        self.engine.set_patience(Some(sending.patience_at_end));
        let pause = if sent.is_ok() { sending.every } else { sending.pause };
        journals.next_try = Instant::now() + pause;
    }

    fn send_some(&self, id: &str, journal: &mut Journal) -> Result<(), StoreError> {
        if !journal.is_begun {
            self.receive_beginning(&journal.store, id)?;
            journal.is_begun = true;
        }
        let rounds = journal.store.rounds_after(id, journal.sent)?;
        if let Some(last) = rounds.last() {
            self.receive_rounds(id, &rounds)?;
            journal.sent = Some(last.seq);
        }
        Ok(())
    }

    /// Sends a run that has ended to the shared store, and waits some seconds for a server that is being started again. A
    /// store without journals has it already.
    ///
    /// # Errors
    /// If the journal cannot be read. That the run could not be delivered is no error: [`Store::undelivered`] says so.
    pub fn deliver(&self, id: &str) -> Result<(), StoreError> {
        let Some(journals) = &self.journals else { return Ok(()) };
        if journals.borrow_mut().of(id)?.is_none() {
            return Ok(());
        }
        let (began, patience) = (Instant::now(), journals.borrow().sending.patience_at_end);
        let mut pause = Duration::from_millis(100);
        let failed = loop {
            self.engine.ask_again();
            match self.sync_run(id) {
                Ok(_) => {
                    // What earlier runs have left goes with it; what cannot be sent now stays.
                    for other in self.unsent()? {
                        if self.is_ready_to_send(&other)? {
                            let _ = self.sync_run(&other);
                        }
                    }
                    return Ok(());
                }
                Err(error @ StoreError::Lost { .. }) if began.elapsed() >= patience => {
                    break error;
                }
                Err(StoreError::Lost { .. }) => thread::sleep(pause),
                Err(error) => break error,
            }
            pause = (2 * pause).min(Duration::from_secs(2));
        };
        journals.borrow_mut().undelivered.insert(id.to_owned(), failed.to_string());
        Ok(())
    }

    /// Whether a run that is here has ended, so that no process is measuring it now.
    fn is_ready_to_send(&self, id: &str) -> Result<bool, StoreError> {
        let is_finished =
            |journal: &mut Journal| Ok(journal.store.document(id)?.run.finished.is_some());
        Ok(self.in_journal(id, is_finished)?.unwrap_or(true))
    }

    /// Why a run that has ended could not be delivered to the shared store; its journal is kept.
    pub fn undelivered(&self, id: &str) -> Option<String> {
        self.journals.as_ref()?.borrow().undelivered.get(id).cloned()
    }

    /// Whether this machine has journals for this store: it is a shared one, opened for writing.
    pub fn has_journals(&self) -> bool {
        self.journals.is_some()
    }

    /// The ids of the runs on this machine that this shared store may not have as a whole.
    ///
    /// # Errors
    /// If the folder of the journals cannot be read.
    pub fn unsent(&self) -> Result<Vec<String>, StoreError> {
        let Some(journals) = &self.journals else { return Ok(Vec::new()) };
        let mut ids = journals.borrow().ids(ENDING)?;
        // A process that is killed before it has begun its run leaves a journal without one.
        let has_run = |journal: &mut Journal, id: &str| {
            let run =
                journal.store.one_column::<i64>("SELECT seq FROM runs WHERE id = ?1", &values![id]);
            run.map(|run| run.is_some())
        };
        ids.retain(|id| {
            !matches!(self.in_journal(id, |journal| has_run(journal, id)), Ok(Some(false)))
        });
        ids.extend(journals.borrow().ids(DELETED)?);
        ids.sort_unstable();
        Ok(ids)
    }

    /// Sends all that there is of a run, however much of it was sent before, and removes its journal if the run is finished.
    ///
    /// # Errors
    /// [`StoreError::Lost`] if the server cannot be reached; [`StoreError::RunDiffers`] if it has another run of that id. The
    /// journal is kept then.
    pub fn sync_run(&self, id: &str) -> Result<Sent, StoreError> {
        let Some(journals) = &self.journals else { return Ok(Sent::Whole) };
        if journals.borrow().deleted_path(id).is_file() {
            return self.delete_deleted(id).map(|()| Sent::Deleted);
        }
        let is_whole = self.in_journal(id, |journal| self.receive(&journal.store, id))?;
        if is_whole != Some(true) {
            return Ok(Sent::Unfinished);
        }
        journals.borrow_mut().remove(id)?;
        Ok(Sent::Whole)
    }

    /// The id of the run with a journal that `name` names: as a whole, or by its beginning if no other does.
    pub(super) fn named_in_journals(&self, name: &str) -> Result<Option<String>, StoreError> {
        let Some(journals) = &self.journals else { return Ok(None) };
        let ids = journals.borrow().ids(ENDING)?;
        if ids.iter().any(|id| id == name) {
            return Ok(Some(name.to_owned()));
        }
        let mut fitting = ids.into_iter().filter(|id| !name.is_empty() && id.starts_with(name));
        Ok(fitting.next().filter(|_| fitting.next().is_none()))
    }

    /// The newest run with a journal that is not finished; `None` if this store has no journals.
    pub(super) fn unfinished_in_journals(&self) -> Result<Option<Option<String>>, StoreError> {
        let Some(journals) = &self.journals else { return Ok(None) };
        let mut newest: Option<(f64, String)> = None;
        let ids = journals.borrow().ids(ENDING)?;
        for id in ids {
            let found = self.in_journal(&id, |journal| {
                let Some(id) = journal.store.unfinished()? else { return Ok(None) };
                Ok(Some(journal.store.document(&id)?.run.started_seconds()))
            })?;
            if let Some(started) = found.flatten() {
                newest = newest.filter(|(other, _)| *other > started).or(Some((started, id)));
            }
        }
        Ok(Some(newest.map(|(_, id)| id)))
    }
}
