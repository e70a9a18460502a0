//! Limits of this system that would end a sweep of connections early, and the commands that raise them.

use measure::Params;
use platform::process::connections::BESIDE;
use platform::process::limits::{Limit, of_connections};

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
}
