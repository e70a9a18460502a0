//! Limits of this system that would end a sweep of connections early, and the commands that raise them.

use measure::{CaseError, Params};
use platform::process::limits::{Limit, descriptors, of_connections};

/// Number of descriptors that server and generator need besides those of their connections.
const BESIDE: u64 = 64;

/// Checks whether this system permits `connections` connections.
///
/// # Errors
/// `Unsupported` if it does not, with the command that raises the limit.
pub fn check(connections: usize) -> Result<(), CaseError> {
    let needed = connections as u64 + BESIDE;
    match descriptors() {
        Some(may) if may < needed => Err(CaseError::Unsupported(format!(
            "{connections} connections need {needed} descriptors, and the limit per process is {may}: \
             `ulimit -n {needed}` as root raises it"
        ))),
        _ => Ok(()),
    }
}

/// A line for each limit that would affect the measurements of these points, each given by its case's name and its
/// parameters.
pub fn notes(points: &[(&str, &Params)]) -> Vec<String> {
    let connections = points
        .iter()
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
    fn a_limit_is_reported_only_if_it_is_too_low() {
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
    fn only_cases_of_net_and_mail_have_connections() {
        let params: Params = [("connections".to_owned(), "999999999999".to_owned())].into();
        assert!(notes(&[("lock/futex", &params)]).is_empty());
        // No system permits that many connections.
        assert_eq!(notes(&[("net/answer", &params)]).is_empty(), of_connections().is_empty());
    }

    #[test]
    fn more_connections_than_descriptors_are_unsupported() {
        assert!(check(1).is_ok());
        let all = descriptors().map(|may| check(may as usize));
        assert!(all.is_none_or(|checked| matches!(checked, Err(CaseError::Unsupported(_)))));
    }
}
