//! `oscost store` and `oscost sync`: stores that several machines share.

use command::ending::{Ending, Usage};
use command::options::StoreArg;
use command::output::{note, print};
use command::store::{shared_url, store_to_write};
use results::store::Sent;
use shared_store::Grants;

use crate::args::{StoreCommand, Sync};

/// Creates a shared store.
pub fn store(command: &StoreCommand) -> anyhow::Result<Ending> {
    let StoreCommand::Init(init) = command;
    let url = url_of(&init.store)?;
    let grants = Grants { writers: init.writers.clone(), readers: init.readers.clone() };
    shared_store::init(&url, &grants)?;
    note(&format!("the store {} is ready", shared_store::shown(&url)));
    Ok(Ending::Done)
}

/// Sends what is on this machine only.
pub fn sync(args: &Sync) -> anyhow::Result<Ending> {
    url_of(&args.store)?;
    let store = store_to_write(&args.store)?;
    let unsent = store.unsent()?;
    if unsent.is_empty() {
        note("the store has all runs of this machine");
    }
    let mut ending = Ending::Done;
    for id in unsent {
        let line = match store.sync_run(&id) {
            Ok(Sent::Whole) => format!("{id}  sent\n"),
            Ok(Sent::Unfinished) => format!("{id}  sent so far; not finished\n"),
            Ok(Sent::Deleted) => format!("{id}  deleted\n"),
            Err(error) => {
                note(&format!("run {id} stays here: {error}"));
                ending = Ending::NotMeasured;
                continue;
            }
        };
        print(&line)?;
    }
    Ok(ending)
}

fn url_of(store: &StoreArg) -> anyhow::Result<String> {
    let message =
        "a file needs no such command; name a server, as in --store postgres://USER@HOST/DATABASE";
    Ok(shared_url(store)?.ok_or_else(|| Usage(message.to_owned()))?)
}
