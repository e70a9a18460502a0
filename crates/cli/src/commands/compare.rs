//! `oscost compare`.

use crate::args::Compare;
use crate::ending::Ending;

/// Holds runs against each other.
pub fn compare(_args: &Compare) -> anyhow::Result<Ending> {
    unimplemented!()
}
