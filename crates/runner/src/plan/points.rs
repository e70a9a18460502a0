//! Combines parameters into the points of a case.

use catalog::{Case, Param, Takes};
use measure::Params;

use super::error::PlanError;
use super::options::{Options, extent_of};
use super::params::{thinned, values_of};
use super::point::Point;

/// Every combination of the parameters' values.
pub(super) fn points_of(
    case: &Case,
    options: &Options,
    cpus: &[usize],
) -> Result<Vec<Point>, PlanError> {
    // A directory is only another place for the same points, and chooses none by hand.
    let chooses = |param: &&Param| param.takes != Takes::Directory;
    let mut choosing = case.params.iter().filter(chooses);
    let by_hand = choosing.any(|param| options.params.contains_key(param.name));
    let mut all = vec![Params::new()];
    for param in case.params {
        let mut values = thinned(param, case, options, values_of(param, options, cpus)?);
        // Some values depend on other parameters or are a separate experiment: points chosen by hand have the usual value.
        let is_chosen = options.params.contains_key(param.name);
        let is_usual_one = catalog::is_experiment(case, param.name)
            || (matches!(param.takes, Takes::Work(_)) && !options.full);
        if by_hand && !is_chosen && is_usual_one {
            values.truncate(1);
        }
        all = all
            .into_iter()
            .flat_map(|params| {
                values.iter().map(move |value| {
                    let mut params = params.clone();
                    params.insert(param.name.to_owned(), value.clone());
                    params
                })
            })
            .collect();
    }
    all.retain(|params| by_hand || catalog::includes(case, params, extent_of(options)));
    Ok(all.into_iter().map(|params| Point { case: case.label(), params }).collect())
}
