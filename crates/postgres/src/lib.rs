//! The store of oscost in a PostgreSQL server, which several machines share.
//!
//! [`open`] makes a [`Store`] of a URL. The statements of the store are in the crate `results`; here are the connection with its
//! password and TLS, the tables as numbered migrations, and who may do what.

mod address;
mod connection;
mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod grants;
mod migrations;
mod password;
mod tls;
mod values;

pub use address::{has_password, is_url, shown};
pub use connection::Access;
pub use grants::Grants;

use results::{Store, StoreError};

use address::Address;
use connection::Postgres;

/// Opens the store at a URL such as `postgres://user@host/database`.
///
/// The password is that of the URL, of `PGPASSWORD`, or of the file that `PGPASSFILE` or the URL's `passfile` names, or
/// `~/.pgpass`. It is in no message and no output of `Debug`.
///
/// # Errors
/// [`StoreError::Lost`] if the server cannot be reached; [`StoreError::Server`] if it refuses the user, or the database has not
/// the tables of this version.
pub fn open(url: &str, access: Access) -> Result<Store, StoreError> {
    let postgres = Postgres::connect(Address::of(url)?, access)?;
    migrations::check(&postgres)?;
    let name = postgres.name().to_owned();
    Ok(Store::over(name, Box::new(postgres)))
}

/// Opens the store for writing like [`open`], also while the server cannot be reached: each statement fails then, until it can be. For
/// a store with journals, in which runs are kept meanwhile.
///
/// # Errors
/// The errors of [`open`] but [`StoreError::Lost`].
pub fn open_now_or_later(url: &str) -> Result<Store, StoreError> {
    let postgres = Postgres::now_or_later(Address::of(url)?, Access::Write, migrations::check)?;
    Ok(Store::over(postgres.name().to_owned(), Box::new(postgres)))
}

/// Creates the tables of this version in the database, or those that it lacks, and grants what `grants` says. The user of the
/// URL must be allowed to create a schema in the database, and owns it afterwards.
///
/// # Errors
/// Those of [`open`]; if the user may not create tables, or a role does not exist.
pub fn init(url: &str, grants: &Grants) -> Result<(), StoreError> {
    let postgres = Postgres::connect(Address::of(url)?, Access::Write)?;
    migrations::apply(&postgres)?;
    grants.apply(&postgres)
}
