//! Which of several runs a claim's name of a system means.

use results::{Document, SYSTEM};

use super::model::Study;
use crate::claim::is_system;

/// Gives runs the names of systems that the claims of a study use: of each name that no run has, to the first run on that
/// operating system that is not called so on behalf of another name. Returns the names given, each with the id of its run.
pub fn name_systems(study: &Study, runs: &mut [Document]) -> Vec<(String, String)> {
    let mut given: Vec<(String, String)> = Vec::new();
    for role in &study.systems {
        if runs.iter().any(|run| is_system(run, &role.name)) {
            continue;
        }
        let is_free = |run: &Document| {
            let os = run.machine.get("os").and_then(|os| os.as_str());
            os == Some(role.os.as_str()) && !given.iter().any(|(_, id)| *id == run.run.id)
        };
        if let Some(run) = runs.iter_mut().find(|run| is_free(run)) {
            run.machine.insert(SYSTEM.to_owned(), role.name.clone().into());
            given.push((role.name.clone(), run.run.id.clone()));
        }
    }
    given
}
