//! Delivering a message to a list: who talks to whom is decided at one [`desk`], and carried out by event loops, by a
//! thread for each connection, or by a process for each.

mod blocking;
mod desk;
mod event_loop;
mod maker;
#[cfg(unix)]
mod processes;
mod tally;
mod threads;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use platform::readiness::Means;
use thiserror::Error;

use crate::journal::{Journal, JournalError};
use crate::list::List;
use crate::message::{Signer, Template};
use crate::queue::{Limits, Retry};
use crate::route::Router;
use crate::smtp::address::Address;
use crate::smtp::session::Terms;
use crate::tls::client::ClientTls;

pub use desk::{Office, Progress};
pub use tally::{Count, Summary};

/// How connections are carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// By so many event loops, each a thread, waiting by those means.
    Loops(usize, Means),
    /// By a thread for each connection, with calls that wait.
    Threads,
    /// By a process for each connection, with calls that wait.
    Processes,
}

/// A delivery.
#[derive(Debug)]
pub struct Plan {
    /// Who gets it.
    pub list: List,
    /// What they get.
    pub template: Template,
    /// The delivery's name, in Message-IDs: no other has it, and it keeps it when it goes on later.
    pub run: String,
    /// The value of `Date` in messages that have none.
    pub date: String,
    /// Who signs it.
    pub signer: Option<Signer>,
    /// The return path; none for a message that must not come back.
    pub from: Option<Address>,
    /// Each recipient has a return path of its own, which names it.
    pub verp: bool,
    /// Where it goes.
    pub router: Router,
    /// All recipients go to the same servers, whatever their domain: to a relay.
    pub is_relayed: bool,
    /// What is said.
    pub terms: Terms,
    /// How TLS is spoken.
    pub tls: ClientTls,
    /// How much at a time.
    pub limits: Limits,
    /// Transactions over one connection, at most.
    pub per_connection: u32,
    /// How often it is tried again.
    pub retry: Retry,
    /// A server may not take longer for anything, nor longer than RFC 5321 has it.
    pub timeout: Duration,
    /// Connections are made from these addresses in turn; from any if there are none.
    pub sources: Vec<IpAddr>,
    /// How connections are carried.
    pub how: How,
    /// It ends after this time, wherever it is then; for measurements.
    pub time: Option<Duration>,
}

/// Why a delivery could not go on. What was delivered is.
#[derive(Debug, Error)]
pub enum SendError {
    /// Nobody would know what was delivered.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The list cannot be read any more.
    #[error("the list cannot be read any more: {0}")]
    List(io::Error),
    /// The message cannot be made.
    #[error("the message cannot be signed: {0}")]
    Message(String),
    /// The relay does not take the password; to try again would only lock the user out.
    #[error("{server} does not let us in: {why}")]
    Login {
        /// Which.
        server: String,
        /// What it said.
        why: String,
    },
    /// The system does not give what is needed.
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
    /// This way to carry connections does not exist here.
    #[error("not on this system: {0}")]
    Unsupported(&'static str),
}

/// Delivers, until everybody's fate is known or the office is told to stop. A journal that has a history goes on from
/// there; without one nobody knows afterwards.
///
/// # Errors
/// Where it cannot go on. The journal, if any, says how far it came.
pub fn deliver(
    plan: &Plan,
    journal: Option<Journal>,
    office: &Office,
) -> Result<Summary, SendError> {
    office.open(plan, journal)?;
    let carried = match plan.how {
        How::Loops(loops, means) => event_loop::carry(plan, office, loops, means),
        How::Threads => threads::carry(plan, office),
        #[cfg(unix)]
        How::Processes => processes::carry(plan, office),
        #[cfg(not(unix))]
        How::Processes => Err(SendError::Unsupported("there is no fork")),
    };
    office.close(plan, carried?)
}

/// Where a journal is kept unless the user says otherwise: beside the list.
pub fn journal_beside(list: &std::path::Path) -> PathBuf {
    let mut name = list.as_os_str().to_owned();
    name.push(".journal");
    name.into()
}

/// From where to connect to `to`: those of its family in turn. Where there are others only, the connection fails with
/// one of them: it is not to be made from anywhere else.
fn source(sources: &[IpAddr], made: usize, to: SocketAddr) -> Option<IpAddr> {
    let fit = || sources.iter().filter(|source| source.is_ipv6() == to.is_ipv6());
    let nth = made.checked_rem(fit().count());
    nth.and_then(|nth| fit().nth(nth)).or(sources.first()).copied()
}

/// The same terms without TLS, for servers that offer it and cannot do it.
fn in_clear(terms: &Terms) -> Arc<Terms> {
    Arc::new(Terms { security: crate::tls::client::Security::Off, ..terms.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_take_turns_within_their_family() {
        let ips = |all: &[&str]| all.iter().map(|ip| ip.parse().unwrap()).collect::<Vec<IpAddr>>();
        let from = |all: &[&str], made, to: &str| source(&ips(all), made, to.parse().unwrap());
        let all = ["127.0.0.2", "::1", "127.0.0.3"];
        let in_turn: Vec<_> = (0..3).filter_map(|made| from(&all, made, "127.0.0.1:25")).collect();
        assert_eq!(in_turn, ips(&["127.0.0.2", "127.0.0.3", "127.0.0.2"]));
        assert_eq!(from(&all, 5, "[::1]:25"), Some("::1".parse().unwrap()));
        assert_eq!(from(&["::1"], 0, "127.0.0.1:25"), Some("::1".parse().unwrap()));
        assert_eq!(from(&[], 0, "127.0.0.1:25"), None);
    }
}
