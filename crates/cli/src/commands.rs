//! The commands, one file each.

mod compare;
mod concurrency;
mod describe;
mod exchange;
mod files;
mod mail;
mod measure;
mod net;
mod noise;
mod shell;
mod show;

pub use compare::compare;
pub use concurrency::concurrency;
pub use describe::{env, list};
pub use exchange::{export, import};
pub use mail::mail;
pub use measure::{run, worker};
pub use net::{answer_on_stdio, net};
pub use noise::noise;
pub use shell::{completions, man};
pub use show::{runs, show};

use std::path::PathBuf;

use results::{Store, StoreError};

use crate::args::StoreArg;

fn store_path(arg: &StoreArg) -> Result<PathBuf, StoreError> {
    arg.store.clone().map_or_else(Store::default_path, Ok)
}

fn store_to_write(arg: &StoreArg) -> Result<Store, StoreError> {
    Store::open(&store_path(arg)?)
}

fn store_to_read(arg: &StoreArg) -> Result<Store, StoreError> {
    Store::open_read_only(&store_path(arg)?)
}
