//! Which limits of this system would cut a sweep of connections short, and what to type to raise them.

use measure::{CaseError, Params};
use platform::limits::{Limit, descriptors, of_connections};

/// What server and generator need beside their connections.
const BESIDE: u64 = 64;

/// Whether so many connections can be had here at all.
///
/// # Errors
/// Unsupported if not, with what to do.
pub fn check(connections: usize) -> Result<(), CaseError> {
    let needed = connections as u64 + BESIDE;
    match descriptors() {
        Some(may) if may < needed => Err(CaseError::Unsupported(format!(
            "{connections} connections need {needed} descriptors, and a process may have {may} here: \
             `ulimit -n {needed}` as root raises that"
        ))),
        _ => Ok(()),
    }
}

/// A line for each limit that would cut short what is to be measured at these points, each a case's name and
/// parameters; none where there is none.
pub fn notes<'a>(points: impl Iterator<Item = (&'a str, &'a Params)>) -> Vec<String> {
    let connections = points
        .filter(|(case, _)| case.starts_with("net/") || case.starts_with("mail/"))
        .filter_map(|(_, params)| params.get("connections")?.parse::<u64>().ok());
    let Some(most) = connections.max() else { return Vec::new() };
    of_connections().iter().filter_map(|limit| note(limit, most)).collect()
}

fn note(limit: &Limit, connections: u64) -> Option<String> {
    let needed = connections + if limit.beside { BESIDE } else { 0 };
    (limit.now < needed).then(|| {
        format!(
            "{} is {}, so with {connections} connections {}; to raise it: {}",
            limit.name,
            limit.now,
            limit.otherwise,
            limit.raise.replace("{}", &needed.to_string())
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_reported_only_where_it_cuts_short() {
        let limit = Limit {
            name: "net.core.somaxconn",
            now: 128,
            beside: false,
            otherwise: "some are dropped",
            raise: "sysctl -w net.core.somaxconn={}",
        };
        assert_eq!(note(&limit, 128), None);
        let note = note(&limit, 1_000).unwrap();
        assert!(
            note.ends_with("some are dropped; to raise it: sysctl -w net.core.somaxconn=1000"),
            "{note}"
        );
    }

    #[test]
    fn only_connections_over_a_network_count() {
        let params: Params = [("connections".to_owned(), "999999999999".to_owned())].into();
        assert!(notes([("lock/futex", &params)].into_iter()).is_empty());
        // No system takes so many.
        assert_eq!(
            notes([("net/answer", &params)].into_iter()).is_empty(),
            of_connections().is_empty()
        );
    }

    #[test]
    fn more_than_there_are_descriptors_is_not_supported() {
        assert!(check(1).is_ok());
        let all = descriptors().map(|may| check(may as usize));
        assert!(all.is_none_or(|checked| matches!(checked, Err(CaseError::Unsupported(_)))));
    }
}
