//! The systems that the names in a study mean, and its claims as they are judged by each of them.

use results::Document;

use super::model::Study;
use crate::claim::{Claim, Content, Located, Side, Statement, is_same_system, runs_called};
use crate::dimension::system_name;

/// Names of the systems that runs are of, each once, in the order of the runs.
pub(super) fn systems_of(runs: &[Document]) -> Vec<String> {
    distinct(runs.iter())
}

fn distinct<'a>(runs: impl Iterator<Item = &'a Document>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for run in runs {
        let name = system_name(run);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

impl Study {
    /// Names of the systems that a name in the study means: those that the user named so, otherwise those on the operating system
    /// that the study states for the name.
    pub(super) fn meant_by(&self, name: &str, runs: &[Document]) -> Vec<String> {
        let os = || self.systems.iter().find(|role| role.name == name).map(|role| &role.os);
        let mut meant = runs_called(name, runs);
        if let Some(os) = os().filter(|_| meant.is_empty()) {
            meant = runs_called(os, runs);
        }
        distinct(meant.into_iter())
    }

    /// Names that claims use for systems that are named otherwise: each with the id of a run of such a system.
    pub(super) fn names_of_runs(&self, runs: &[Document]) -> Vec<(String, String)> {
        let mut names = Vec::new();
        for role in &self.systems {
            let meant = self.meant_by(&role.name, runs);
            let is_meant = |run: &&Document| meant.contains(&system_name(run));
            names.extend(
                runs.iter().filter(is_meant).map(|run| (role.name.clone(), run.run.id.clone())),
            );
        }
        names
    }

    /// The claims as runs of these systems judge them. A claim is judged by each system that its names mean, or by every system
    /// if it names none; a rank is one claim about all systems.
    pub fn claims_on(&self, runs: &[Document]) -> Vec<Claim> {
        let all = systems_of(runs);
        let mut claims: Vec<Claim> =
            self.claims.iter().flat_map(|claim| self.divided(claim, runs, &all)).collect();
        if all.len() < 2 {
            claims.iter_mut().for_each(|claim| claim.on.clear());
        }
        claims
    }

    fn divided(&self, claim: &Claim, runs: &[Document], all: &[String]) -> Vec<Claim> {
        let Content::Statement(statement) = &claim.content else { return vec![claim.clone()] };
        let Statement { a, b, .. } = &**statement;
        let mut divided = Vec::new();
        for of_a in self.choices(a, runs, all) {
            let of_b = match b {
                Some(b) if !is_same_system(a, b) => self.choices(b, runs, all),
                _ => vec![of_a.clone()],
            };
            // Two names of one system are no comparison.
            let is_other = |of_b: &Option<String>| {
                of_b.is_none() || *of_b != of_a || b.as_ref().is_none_or(|b| is_same_system(a, b))
            };
            for of_b in of_b.into_iter().filter(is_other) {
                let mut on: Vec<String> = of_a.iter().chain(&of_b).cloned().collect();
                on.dedup();
                let b = b.as_ref().map(|b| b.on(of_b.clone()));
                let statement = Statement { a: a.on(of_a.clone()), b, ..(**statement).clone() };
                let content = Content::Statement(Box::new(statement));
                divided.push(Claim { content, on, ..claim.clone() });
            }
        }
        if divided.is_empty() { vec![claim.clone()] } else { divided }
    }

    /// The systems by which a side is judged, one after the other; `None` if the side stays as it is, as for a rank or a system
    /// that was not measured.
    fn choices(&self, side: &Side, runs: &[Document], all: &[String]) -> Vec<Option<String>> {
        let systems = match (&side.rank(), &side.system) {
            (Some(_), _) => Vec::new(),
            (None, Some(name)) => self.meant_by(&name.value, runs),
            (None, None) => all.to_vec(),
        };
        match systems.is_empty() {
            true => vec![None],
            false => systems.into_iter().map(Some).collect(),
        }
    }
}

impl Side {
    /// The side of this system; as it is for `None`.
    pub(super) fn on(&self, system: Option<String>) -> Self {
        let at = self.system.as_ref().map_or(self.case.at, |name| name.at);
        let named = system.map(|value| Located { value, at });
        Self { system: named.or_else(|| self.system.clone()), ..self.clone() }
    }
}
