//! Errors of the server and of the connection, with the remedy.

use std::error::Error as _;

use results::StoreError;
use tokio_postgres::error::SqlState;

/// What an error means for the store `name`. No error of the server or the client contains a password.
pub(crate) fn of(name: &str, error: &tokio_postgres::Error) -> StoreError {
    let store = name.to_owned();
    let Some(said) = error.as_db_error() else {
        let what = chain(error);
        return match what.contains("certificate") || what.contains("configuration") {
            true => StoreError::Server { store, what: format!("{what}; {}", of_set_up(&what)) },
            false => {
                StoreError::Lost { store, what: format!("the server cannot be reached: {what}") }
            }
        };
    };
    let message = one_line(said.message());
    let remedy = match *said.code() {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "check the user, PGPASSWORD or PGPASSFILE, and the server's pg_hba.conf"
        }
        SqlState::UNDEFINED_DATABASE => "its administrator creates one with `createdb`",
        SqlState::INSUFFICIENT_PRIVILEGE => {
            "the store's owner grants that with `oscost store init --writer ROLE` or `--reader ROLE`"
        }
        SqlState::READ_ONLY_SQL_TRANSACTION => "it cannot be written to",
        SqlState::UNDEFINED_OBJECT => {
            "create it first, as in `CREATE ROLE name LOGIN PASSWORD '...'`"
        }
        SqlState::CHARACTER_NOT_IN_REPERTOIRE => "PostgreSQL stores no text with a NUL character",
        _ => "see the server's log",
    };
    let what = format!("{message}; {remedy}");
    match is_temporary(said.code().code()) {
        true => StoreError::Lost { store, what: message },
        false => StoreError::Server { store, what },
    }
}

/// Whether the same may succeed later: classes of lost connections, rolled back transactions, missing resources such as disk, an
/// operator who ended the server, internal errors, such as "could not write init file" of a new connection on a full disk
/// (PostgreSQL 15), and a transaction that waited for this process for too long.
fn is_temporary(code: &str) -> bool {
    let classes = ["08", "40", "53", "57", "58", "XX"];
    classes.iter().any(|class| code.starts_with(class))
        || code == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT.code()
}

fn of_set_up(what: &str) -> &'static str {
    match what.contains("password") {
        true => "set PGPASSWORD, or PGPASSFILE to a file with it",
        false => {
            "name the file of your authority in the URL with sslrootcert=FILE (on this machine with sslmode=verify-full too)"
        }
    }
}

fn chain(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    one_line(&text)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_is_not_verified_has_its_remedy() {
        let of_tls = of_set_up("error performing TLS handshake: invalid peer certificate");
        assert!(of_tls.contains("sslrootcert=FILE (on this machine with sslmode=verify-full too)"));
        assert!(of_set_up("password missing").contains("PGPASSWORD"));
    }

    #[test]
    fn a_full_disk_is_temporary_and_a_wrong_password_is_not() {
        let full = [
            SqlState::DISK_FULL,
            SqlState::INTERNAL_ERROR,
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        ];
        assert!(full.iter().all(|state| is_temporary(state.code())));
        let wrong = [SqlState::INVALID_PASSWORD, SqlState::UNDEFINED_DATABASE];
        assert!(!wrong.iter().any(|state| is_temporary(state.code())));
    }
}
