//! Selection of a system by the name that a claim uses.

use std::collections::{BTreeMap, BTreeSet};

use results::Document;

use super::model::{Claim, Side};
use crate::dimension::system_name;

/// Name of the system that is measured without a launcher, or by the launcher `native`.
pub const NATIVE: &str = "native";

/// Names under which claims may refer to a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemName<'a> {
    /// Name given to `--on`; `None` for a system that was measured without it.
    pub name: Option<&'a str>,
    /// Operating system.
    pub os: Option<&'a str>,
}

impl SystemName<'_> {
    fn is_native(&self) -> bool {
        self.name.is_none_or(|name| name == NATIVE)
    }
}

/// Indexes of the systems that a claim means by this name: those that the user named so, otherwise those with an operating system
/// of that name, a native one first.
pub fn systems_called(wanted: &str, systems: &[SystemName]) -> Vec<usize> {
    let numbers = |is_it: &dyn Fn(&SystemName) -> bool| -> Vec<usize> {
        (0..systems.len()).filter(|&at| is_it(&systems[at])).collect()
    };
    let named = numbers(&|system| system.name.unwrap_or(NATIVE) == wanted);
    if !named.is_empty() {
        return named;
    }
    let mut on_os = numbers(&|system| system.os.is_some_and(|os| os.eq_ignore_ascii_case(wanted)));
    on_os.sort_by_key(|&at| !systems[at].is_native());
    on_os
}

/// The runs of the system that a claim means by this name.
pub(crate) fn runs_called<'a>(wanted: &str, runs: &'a [Document]) -> Vec<&'a Document> {
    // A run without a name is that of its operating system and release.
    let unnamed = runs.iter().filter(|run| run.system().is_none() && system_name(run) == wanted);
    let unnamed: Vec<&Document> = unnamed.collect();
    if !unnamed.is_empty() {
        return unnamed;
    }
    let names: Vec<SystemName> =
        runs.iter().map(|run| SystemName { name: run.system(), os: os_of(run) }).collect();
    systems_called(wanted, &names).into_iter().map(|at| &runs[at]).collect()
}

/// Systems that claims name and of which there is no run.
pub fn absent_systems(claims: &[Claim], runs: &[Document]) -> BTreeSet<String> {
    let named = claims.iter().flat_map(Claim::sides).filter_map(Side::named_system);
    let absent = named.filter(|name| runs_called(&name.value, runs).is_empty());
    absent.map(|name| name.value.clone()).collect()
}

/// Claims that the given systems cannot give a verdict, by what they lack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LackingSystems {
    /// Number of such claims.
    pub claims: usize,
    /// Number of claims that rank systems, and lack a second one.
    pub second: usize,
    /// Names of systems that are not among the given ones, each with the number of claims that need it.
    pub named: BTreeMap<String, usize>,
}

/// Determines which systems claims lack beside these.
pub fn lacking_systems(claims: &[Claim], systems: &[SystemName]) -> LackingSystems {
    let mut lacking = LackingSystems::default();
    for claim in claims {
        let names = claim.sides().filter_map(Side::named_system).map(|name| &name.value);
        let absent: BTreeSet<&String> =
            names.filter(|name| systems_called(name, systems).is_empty()).collect();
        let has_rank = claim.sides().any(|side| side.rank().is_some());
        let lacks_second = absent.is_empty() && has_rank && systems.len() < 2;
        lacking.claims += usize::from(lacks_second || !absent.is_empty());
        lacking.second += usize::from(lacks_second);
        for name in absent {
            *lacking.named.entry(name.clone()).or_default() += 1;
        }
    }
    lacking
}

/// The system of a run, for messages.
pub(super) fn name_of(run: &Document) -> String {
    run.system().or_else(|| os_of(run)).unwrap_or("the system").to_owned()
}

/// Names of the systems of these runs, each once, with a remark on those that were not started.
pub(super) fn names_of(runs: &[Document]) -> Vec<String> {
    let name = |run: &Document| match os_of(run) {
        None if run.system().is_some() => format!("{} (not started)", name_of(run)),
        _ => name_of(run),
    };
    runs.iter().map(name).collect::<BTreeSet<_>>().into_iter().collect()
}

pub(super) fn os_of(run: &Document) -> Option<&str> {
    run.machine.get("os").and_then(|os| os.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_that_were_not_started_are_named_so() {
        let native = simulated::document("native", Vec::new());
        let mut gone = simulated::document("wine", Vec::new());
        gone.machine.remove("os");
        let mut started = native.clone();
        started.machine.insert("os".to_owned(), "Linux".into());
        assert_eq!(names_of(&[started, gone]), ["native", "wine (not started)"]);
    }

    #[test]
    fn claims_lack_a_second_system_or_one_that_they_name() {
        let claim = |name: &str, a: &str, b: &str| {
            format!(
                "[[claim]]\nname = \"{name}\"\nsentence = \"s\"\nrelation = \"> 1\"\n\
                 a = {{ case = \"lock/futex\", system = \"{a}\" }}\nb.system = \"{b}\"\n"
            )
        };
        let text = [
            claim("spread", "best", "worst"),
            claim("ahead", "linux", "next"),
            claim("windows-ahead", "windows", "next"),
            claim("apart", "linux", "windows"),
        ];
        let claims = super::super::ClaimFile::parse(&text.concat()).unwrap().claims;
        let system = |name, os| SystemName { name: Some(name), os: Some(os) };
        let (native, wine) = (system("native", "Linux"), system("wine", "Windows"));
        let windows = || [("windows".to_owned(), 2)].into();
        assert_eq!(
            lacking_systems(&claims, &[native]),
            LackingSystems { claims: 4, second: 2, named: windows() }
        );
        assert_eq!(
            lacking_systems(&claims, &[native, system("gvisor", "Linux")]),
            LackingSystems { claims: 2, second: 0, named: windows() }
        );
        assert_eq!(lacking_systems(&claims, &[native, wine]), LackingSystems::default());
    }

    #[test]
    fn a_name_of_the_users_precedes_an_operating_system() {
        let system = |name, os| SystemName { name, os: Some(os) };
        let systems = [
            system(Some("gvisor"), "Linux"),
            system(Some("native"), "Linux"),
            system(Some("wine"), "Windows"),
            system(None, "FreeBSD"),
        ];
        let called = |name| systems_called(name, &systems);
        assert_eq!(called("gvisor"), [0]);
        assert_eq!(called("linux"), [1, 0]);
        assert_eq!(called("windows"), [2]);
        assert_eq!(called("wine"), [2]);
        assert_eq!(called("native"), [1, 3]);
        assert_eq!(called("uml"), [0_usize; 0]);
        let named_so = [system(None, "Linux"), system(Some("linux"), "FreeBSD")];
        assert_eq!(systems_called("linux", &named_so), [1]);
    }
}
