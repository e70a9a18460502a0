//! Selects the points that claims need.

use std::collections::{BTreeMap, BTreeSet};

use analysis::claim::{Claim, Content, FileError, Scope, Side, Statement};
use catalog::only_by;
use measure::{Params, Role};

use super::error::PlanError;
use super::options::Options;
use super::point::Point;
use super::points::points_of;

/// The points that the claims of `options` need, without duplicates, on `cpus`. Cases that another command measures are
/// left out.
///
/// # Errors
/// If a parameter cannot have a given value here, or several points match a claim about one.
pub(super) fn points_of_claims(options: &Options, cpus: &[usize]) -> Result<Vec<Point>, FileError> {
    let of_points = Options { claims: Vec::new(), ..options.clone() };
    let planner = Planner { options: &of_points, cpus };
    let mut points = Vec::new();
    for claim in &options.claims {
        if let Content::Statement(statement) = &claim.content {
            points.extend(planner.of_statement(statement, claim)?);
        }
    }
    let mut seen = BTreeSet::new();
    points.retain(|point| seen.insert(point.clone()));
    Ok(points)
}

struct Planner<'a> {
    options: &'a Options,
    cpus: &'a [usize],
}

impl Planner<'_> {
    fn of_statement(&self, statement: &Statement, claim: &Claim) -> Result<Vec<Point>, FileError> {
        let (a_is_here, b_is_here) = self.options.on.sides(statement);
        let of_a = self.of_side(&statement.a, &Params::new())?;
        check_scope(statement, &of_a, claim)?;
        let mut points = Vec::new();
        if let Some(b) = statement.b.as_ref().filter(|_| b_is_here) {
            for point in &of_a {
                points.extend(self.of_side(b, &point.params)?);
            }
        }
        match a_is_here {
            true => Ok(of_a.into_iter().chain(points).collect()),
            false => Ok(points),
        }
    }

    /// The points of a side. Parameters that the side does not give have the values of `counterpart`; those that it lacks
    /// too are left open.
    fn of_side(&self, side: &Side, counterpart: &Params) -> Result<Vec<Point>, FileError> {
        let Some(case) = catalog::find(&side.case.value).filter(|case| only_by(case).is_none())
        else {
            return Ok(Vec::new());
        };
        let mut params: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for param in case.params {
            let own = side.params.get(param.name).map(|values| values.value.clone());
            let shared = || counterpart.get(param.name).map(|value| vec![value.clone()]);
            if let Some(values) = own.or_else(shared) {
                params.insert(param.name.to_owned(), values);
            }
        }
        let options = Options { params, ..self.options.clone() };
        points_of(case, &options, self.cpus).map_err(|error| {
            let at = match &error {
                PlanError::BadValue { name, .. } => side.params.get(name).map(|values| values.at),
                _ => None,
            };
            FileError::new(at.unwrap_or(side.case.at), format!("{}: {error}", side.case.value))
        })
    }
}

/// Checks that a claim about one combination of parameters selects one.
fn check_scope(statement: &Statement, points: &[Point], claim: &Claim) -> Result<(), FileError> {
    let side = &statement.a;
    let metric = catalog::metric(&side.case.value, &side.metric.value);
    // A derived figure is computed from several points.
    let is_derived = metric.is_some_and(|metric| metric.role == Role::Derived);
    if statement.scope != Scope::At || is_derived {
        return Ok(());
    }
    let over = statement.relation.value.quantity.over();
    let is_open = |name: &&String| {
        let values = points.iter().filter_map(|point| point.params.get(*name));
        Some(name.as_str()) != over && values.collect::<BTreeSet<_>>().len() > 1
    };
    let names: BTreeSet<&String> = points.iter().flat_map(|point| point.params.keys()).collect();
    let open: Vec<&str> =
        names.iter().filter(|name| is_open(name)).map(|name| name.as_str()).collect();
    match open.is_empty() {
        true => Ok(()),
        false => Err(FileError::new(
            claim.at,
            format!(
                "claim {:?} is about one point, but side a leaves open: {}; give their values in params, or \
                 scope = \"for all\"",
                claim.name,
                open.join(", ")
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use analysis::claim::{ClaimFile, check_names};

    use super::super::on::{MeasuredSystem, On};
    use super::*;

    /// The labels of the points of a file with one claim.
    fn labels(lines: &str) -> Result<Vec<String>, String> {
        simulated::areas::install();
        let text = format!("[[claim]]\nname = \"x\"\nsentence = \"s\"\n{lines}");
        let claims = ClaimFile::parse(&text).unwrap().claims;
        check_names(&claims, &[]).unwrap();
        labels_on(&claims, On::This)
    }

    fn labels_on(claims: &[Claim], on: On) -> Result<Vec<String>, String> {
        simulated::areas::install();
        let options = Options { quick: true, claims: claims.to_vec(), on, ..Options::default() };
        let points = points_of_claims(&options, &[0, 1]).map_err(|e| e.to_string())?;
        Ok(points.iter().map(Point::label).collect())
    }

    #[test]
    fn both_sides_get_the_same_values() {
        let lines = "a = { case = \"lock/sysv-sem\", params = { workers = [1, 3], as = \"threads\" } }\n\
                     b.case = \"lock/futex\"\nrelation = \"> 1\"\nscope = \"for all\"\n";
        let found = labels(lines).unwrap();
        for case in ["lock/sysv-sem", "lock/futex"] {
            let of_case: Vec<&String> =
                found.iter().filter(|label| label.starts_with(case)).collect();
            assert!(of_case.iter().any(|label| label.contains("workers=3")), "{found:?}");
            assert!(of_case.iter().all(|label| label.contains("as=threads")), "{found:?}");
        }
        let unique: BTreeSet<&String> = found.iter().collect();
        assert_eq!(unique.len(), found.len());
    }

    #[test]
    fn open_parameters_need_a_scope() {
        let error = labels("a.case = \"lock/futex\"\nrelation = \"< 1 s\"\n").unwrap_err();
        let open = "line 1, column 1: claim \"x\" is about one point, but side a leaves open: ";
        assert!(error.starts_with(open) && error.contains("workers"), "{error}");
        let over = "a = { case = \"lock/futex\", params = { as = \"threads\", work = \"none\", place = \"spread\" } }\n";
        let trend = format!("{over}relation = \"increases with workers\"\n");
        assert!(labels(&trend).unwrap().len() > 1);
    }

    #[test]
    fn values_that_cannot_be_here_have_a_place() {
        let lines = "a = { case = \"lock/futex\", params = { workers = 9999 } }\nrelation = \"< 1 s\"\nscope = \"for all\"\n";
        let error = labels(lines).unwrap_err();
        let place = "line 4, column 39: lock/futex: workers cannot be \"9999\"";
        assert!(error.starts_with(place), "{error}");
    }

    #[test]
    fn other_systems_and_other_commands_are_left_out() {
        let of_system = |system: &str| {
            labels(&format!(
                "a = {{ case = \"syscall/getppid\", system = \"{system}\" }}\nb.system = \"native\"\nrelation = \"> 1\"\n"
            ))
            .unwrap()
        };
        assert_eq!(of_system("gvisor"), ["syscall/getppid"]);
        let other = "a.case = \"concurrency/answer\"\nrelation = \"< 1 s\"\n";
        assert_eq!(labels(other).unwrap(), [""; 0]);
        assert_eq!(labels("missing = \"x\"\n").unwrap(), [""; 0]);
    }

    #[test]
    fn ranked_sides_are_measured_on_all_judged_systems() {
        let text = r#"
            [[claim]]
            name = "ahead"
            sentence = "s"
            a = { case = "syscall/getppid", system = "gvisor" }
            b.system = "next"
            relation = "> 1"
            [[claim]]
            name = "spread"
            sentence = "s"
            a = { case = "syscall/read-0", system = "best" }
            b.system = "worst"
            relation = "> 1""#;
        let claims = ClaimFile::parse(text).unwrap().claims;
        let system = |name: &str, is_judged| MeasuredSystem {
            name: name.to_owned(),
            is_judged,
            ..MeasuredSystem::default()
        };
        let systems = vec![system("native", true), system("gvisor", true), system("qemu", false)];
        let on = |at| labels_on(&claims, On::OneOf(systems.clone(), at)).unwrap();
        let both = ["syscall/getppid", "syscall/read-0"];
        assert_eq!([on(0), on(1)], [both, both]);
        assert_eq!(on(2), [""; 0]);
        assert_eq!(labels_on(&claims, On::This).unwrap(), both);
        assert_eq!(labels_on(&claims, On::All).unwrap(), both);
    }

    #[test]
    fn each_system_is_measured_as_far_as_claims_need_it() {
        let text = r#"
            [[claim]]
            name = "between"
            sentence = "s"
            a = { case = "clock/query-performance-counter", system = "windows" }
            b = { case = "clock/std-instant", system = "linux" }
            relation = "> 1"
            [[claim]]
            name = "anywhere"
            sentence = "s"
            a.case = "syscall/getppid"
            relation = "< 1 s"
            [[claim]]
            name = "where there is one"
            sentence = "s"
            a.case = "clock/get-tick-count-64"
            relation = "< 1 s"
            [[claim]]
            name = "gvisor"
            sentence = "s"
            a = { case = "syscall/read-0", system = "gvisor" }
            relation = "< 1 s""#;
        let claims = ClaimFile::parse(&text.replace("where there is one", "somewhere"));
        let claims = claims.unwrap().claims;
        let system = |name: &str, os: &str, lacks: &[&str]| MeasuredSystem {
            name: name.to_owned(),
            os: Some(os.to_owned()),
            lacks: lacks.iter().map(|case| (*case).to_owned()).collect(),
            is_judged: true,
        };
        let of_windows = ["clock/query-performance-counter", "clock/get-tick-count-64"];
        let mut systems = vec![
            system("native", "Linux", &of_windows),
            system("wine", "Windows", &["syscall/getppid"]),
            MeasuredSystem { name: "gvisor".to_owned(), ..MeasuredSystem::default() },
        ];
        let on = |systems: &[MeasuredSystem], at| {
            labels_on(&claims, On::OneOf(systems.to_vec(), at)).unwrap()
        };
        assert_eq!(on(&systems, 0), ["clock/std-instant", "syscall/getppid"]);
        assert_eq!(on(&systems, 1), of_windows);
        assert_eq!(on(&systems, 2), ["syscall/read-0"], "it was not started, but is named");
        systems[0].is_judged = false;
        assert_eq!(on(&systems, 0).len(), 2, "the one that is judged lacks it");
        systems[1].lacks.clear();
        assert_eq!(on(&systems, 0), ["clock/std-instant"], "another one is judged");
        assert_eq!(labels_on(&claims, On::All).unwrap().len(), 5);
    }
}
