//! Selection of the run that a system's name in a claim means.

use results::{Document, SYSTEM};

use super::model::Study;
use crate::claim::runs_called;

/// The runs that the claims of a study mean by the names of its systems: each name with the id of the run. A name without a run
/// is given to the first run on the operating system that the study states for it, unless another name means that run.
pub fn name_systems(study: &Study, runs: &mut [Document]) -> Vec<(String, String)> {
    let mut meant: Vec<(String, String)> = Vec::new();
    for role in &study.systems {
        if let Some(run) = runs_called(&role.name, runs).first() {
            meant.push((role.name.clone(), run.run.id.clone()));
            continue;
        }
        let is_free = |run: &Document| {
            let os = run.machine.get("os").and_then(|os| os.as_str());
            os == Some(role.os.as_str()) && !meant.iter().any(|(_, id)| *id == run.run.id)
        };
        if let Some(run) = runs.iter_mut().find(|run| is_free(run)) {
            run.machine.insert(SYSTEM.to_owned(), role.name.clone().into());
            meant.push((role.name.clone(), run.run.id.clone()));
        }
    }
    meant
}
