//! Noise checks: pairs of equal runs in the store, which show how far equal measurements differ on this machine.

use analysis::NoiseCheck;
use results::{Document, Store, StoreError};

use crate::machine_changes::compared_keys;

/// The tag of both runs of a check. Its value identifies the check.
pub const NOISE_TAG: &str = "noise";

/// Checks that are used: the latest.
const CHECKS_AT_MOST: usize = 20;

/// The store's checks on machines like that of `like`. A check made of two of the runs `compared` is left out.
///
/// # Errors
/// If the store cannot be read.
pub fn stored_noise_checks(
    store: &Store,
    like: &Document,
    compared: &[&str],
) -> Result<NoiseCheck, StoreError> {
    let facts = platform::machine::describe();
    let keys = compared_keys(&facts);
    let mut pairs: Vec<(String, Vec<String>)> = Vec::new();
    for (check, run) in store.tagged(NOISE_TAG)? {
        match pairs.iter_mut().find(|(known, _)| *known == check) {
            Some((_, runs)) => runs.push(run),
            None => pairs.push((check, vec![run])),
        }
    }
    let mut noise = NoiseCheck::default();
    for (_, runs) in pairs.into_iter().rev().take(CHECKS_AT_MOST) {
        let [first, second] = &runs[..] else { continue };
        if compared.contains(&first.as_str()) && compared.contains(&second.as_str()) {
            continue;
        }
        let (first, second) = (store.document(first)?, store.document(second)?);
        let same_machine = keys.iter().all(|key| first.machine.get(*key) == like.machine.get(*key));
        if same_machine && first.run.finished.is_some() && second.run.finished.is_some() {
            noise.add(&first, &second);
        }
    }
    Ok(noise)
}
