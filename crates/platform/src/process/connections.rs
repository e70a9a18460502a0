//! Whether this system permits a number of connections.

use super::limits::descriptors;
use crate::CaseError;

/// Number of descriptors that server and client need besides those of their connections.
pub const BESIDE: u64 = 64;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_connections_than_descriptors_are_unsupported() {
        assert!(check(1).is_ok());
        let all = descriptors().map(|may| check(may as usize));
        assert!(all.is_none_or(|checked| matches!(checked, Err(CaseError::Unsupported(_)))));
    }
}
