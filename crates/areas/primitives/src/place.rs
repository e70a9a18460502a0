//! The parameter `place`: which CPUs several workers or a pair of tasks run on.

use measure::worker_group::WorkerPlace;
use measure::{CaseError, Params};
use platform::cpu::topology::Distance;

use crate::{Param, Takes, value_of};

pub use catalog::APART;

/// The parameter `place` of workers.
pub const PLACE: Param = Param::new("place", &["spread"])
    .meaning(
        "workers all on the same CPU, spread one to a CPU in turn, or unpinned; or in \
         turn on the hardware threads of one core (smt), on cores that share their \
         last-level cache (core), on cores of one socket with different last-level \
         caches (cache), or on different sockets (socket)",
    )
    .full(&["same", "spread", "unpinned"])
    .takes(Takes::Words(APART));

/// Like [`PLACE`], but a run measures only `spread` unless another place is requested.
pub const SPREAD: Param = Param {
    full: &["spread"],
    takes: Takes::Words(&["same", "unpinned", "smt", "core", "cache", "socket"]),
    ..PLACE
};

/// The place that the parameter `place` names; spread if a case has no such parameter.
///
/// # Errors
/// `Failed` if the value is no place.
pub fn place_of(params: &Params) -> Result<WorkerPlace, CaseError> {
    if !params.contains_key(PLACE.name) {
        return Ok(WorkerPlace::Spread);
    }
    Ok(match value_of(params, PLACE.name)? {
        "same" => WorkerPlace::Same,
        "spread" => WorkerPlace::Spread,
        "unpinned" => WorkerPlace::Unpinned,
        word => WorkerPlace::Apart(distance_of(word)?),
    })
}

/// The distance between CPUs that one of [`APART`] names.
///
/// # Errors
/// `Failed` for any other word.
pub fn distance_of(word: &str) -> Result<Distance, CaseError> {
    match word {
        "smt" => Ok(Distance::Thread),
        "core" => Ok(Distance::Core),
        "cache" => Ok(Distance::Cache),
        "socket" => Ok(Distance::Socket),
        other => Err(CaseError::Failed(format!("parameter place: {other:?} is no place"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_that_can_be_given_is_a_place_of_its_own() {
        let words = PLACE.full.iter().chain(APART);
        let places: Vec<WorkerPlace> = words
            .map(|word| {
                let params = Params::from([("place".to_owned(), (*word).to_owned())]);
                place_of(&params).unwrap()
            })
            .collect();
        let apart = |at: usize| places[at + 1..].iter().all(|other| *other != places[at]);
        assert!((0..places.len()).all(apart), "{places:?}");
        assert_eq!(place_of(&Params::new()), Ok(WorkerPlace::Spread));
        let unknown = Params::from([("place".to_owned(), "moon".to_owned())]);
        assert!(place_of(&unknown).is_err());
    }
}
