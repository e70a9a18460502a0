//! `oscost noise`.

use crate::args::Noise;
use crate::ending::Ending;

/// Measures everything twice.
pub fn noise(_args: &Noise) -> anyhow::Result<Ending> {
    unimplemented!()
}
