//! Assigns the sides of claims to the systems on which their points are measured.

use std::collections::BTreeSet;

use analysis::claim::{NATIVE, Side, Statement, SystemName, is_same_system, systems_called};

/// The systems on which the points of claims are measured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum On {
    /// Only the system that this process runs on.
    #[default]
    This,
    /// Every system that a claim names, with all points of all claims.
    All,
    /// One of several systems: the one with this number.
    OneOf(Vec<MeasuredSystem>, usize),
}

/// The facts of a system that decide which points claims need on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MeasuredSystem {
    /// Name, as given to `--on`.
    pub name: String,
    /// Operating system, if the system was started.
    pub os: Option<String>,
    /// Cases that the system lacks.
    pub lacks: BTreeSet<String>,
    /// Whether the system's figures are judged: it was started, and its processor is real.
    pub is_judged: bool,
}

impl On {
    /// Whether the system is known to lack the case.
    pub(super) fn lacks(&self, case: &str) -> bool {
        match self {
            On::All => false,
            On::This => catalog::find(case).is_some_and(|case| case.missing_here().is_some()),
            On::OneOf(systems, at) => systems[*at].lacks.contains(case),
        }
    }

    /// Whether the points of side `a`, and of side `b`, are measured on this system. A side that several systems could
    /// measure is measured on the first that has its case, since it is judged by the first that has figures.
    pub(super) fn sides(&self, statement: &Statement) -> (bool, bool) {
        let (a, b) = (&statement.a, statement.b.as_ref());
        match b.filter(|b| is_same_system(a, b)) {
            Some(b) => {
                let both = self.has(a, &[&a.case.value, &b.case.value]);
                (both, both)
            }
            None => {
                (self.has(a, &[&a.case.value]), b.is_some_and(|b| self.has(b, &[&b.case.value])))
            }
        }
    }

    /// Whether these cases of a side are measured on this system. A rank is one of all judged systems.
    fn has(&self, side: &Side, cases: &[&str]) -> bool {
        if side.rank().is_some() {
            return match self {
                On::All | On::This => true,
                On::OneOf(systems, at) => systems[*at].is_judged,
            };
        }
        let wanted = side.system.as_ref().map(|name| name.value.as_str());
        match self {
            On::All => true,
            On::This => wanted.is_none_or(|name| {
                name == NATIVE || name.eq_ignore_ascii_case(std::env::consts::OS)
            }),
            On::OneOf(systems, at) => {
                let meant = meant(wanted, systems);
                let has_all =
                    |at: &&usize| !cases.iter().any(|&case| systems[**at].lacks.contains(case));
                meant.iter().find(has_all).or(meant.first()) == Some(at)
            }
        }
    }
}

/// The numbers of the systems that a side may mean; judged systems come first.
fn meant(wanted: Option<&str>, systems: &[MeasuredSystem]) -> Vec<usize> {
    let names: Vec<SystemName> = systems
        .iter()
        .map(|system| SystemName { name: Some(&system.name), os: system.os.as_deref() })
        .collect();
    let mut meant = match wanted {
        Some(name) => systems_called(name, &names),
        None => (0..systems.len()).collect(),
    };
    meant.sort_by_key(|&at| !systems[at].is_judged);
    meant
}
