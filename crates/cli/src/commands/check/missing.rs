//! Points of claims that existing runs lack, and the commands that measure them.

use analysis::claim::{Claim, NATIVE, absent_systems, lacking_points};
use command::command_line::{in_one_line, store_option};
use command::ending::Usage;
use command::measure::{best_clock, plan_of};
use command::options::StoreArg;
use command::output::note;
use results::Document;
use runner::{Options, Plan, Point, Selection, machine_differences};

use super::request::{again, in_file, options_of};
use crate::args::Check;

/// Maximum number of points that are named.
const NAMED: usize = 5;
/// Facts about the processor that every system on a machine reports.
const PROCESSOR: [&str; 3] = ["cpu_vendor", "cpu_family", "cpu_model"];

/// Claims whose points this system could measure and the runs lack.
pub struct Missing {
    /// Claims, each with all points that it needs here.
    claims: Vec<(Claim, Vec<Point>)>,
    /// Points that the runs lack.
    absent: Vec<Point>,
}

impl Missing {
    /// Finds the points of claims that the runs lack. The names of the claims have been checked.
    ///
    /// # Errors
    /// An error for a value that a parameter cannot have here.
    pub fn of(claims: &[Claim], runs: &[Document], args: &Check) -> anyhow::Result<Self> {
        let mut missing = Self { claims: Vec::new(), absent: Vec::new() };
        let lacking = lacking_points(claims, runs).into_iter();
        // Claims about a system without a run are left out: this system has only a part of their points.
        for claim in
            lacking.filter(|claim| absent_systems(std::slice::from_ref(claim), runs).is_empty())
        {
            let options = Options { claims: vec![claim.clone()], ..options_of(args) };
            let points = match plan_of(&options) {
                Ok(Plan { points, .. }) => points,
                Err(error) if args.measure_missing => return Err(in_file(error, args)),
                // Another machine may have the point.
                Err(_) => continue,
            };
            let absent: Vec<Point> =
                points.iter().filter(|point| is_absent(point, runs)).cloned().collect();
            if !absent.is_empty() {
                missing.claims.push((claim, points));
                missing.absent.extend(absent);
            }
        }
        missing.absent.sort();
        missing.absent.dedup();
        Ok(missing)
    }

    /// The claims to be measured, if the user requested that; otherwise prints the commands that measure them.
    ///
    /// # Errors
    /// An error if the claims are to be measured, and a run is of another machine.
    pub fn measured_or_named(self, runs: &[Document], args: &Check) -> anyhow::Result<Vec<Claim>> {
        if self.absent.is_empty() {
            return Ok(Vec::new());
        }
        if args.measure_missing {
            check_machine(runs)?;
            return Ok(self.claims.into_iter().map(|(claim, _)| claim).collect());
        }
        self.lines(args)?.iter().for_each(|line| note(line));
        Ok(Vec::new())
    }

    /// Lines that name the points that the runs lack, and the commands that measure them.
    fn lines(&self, args: &Check) -> anyhow::Result<Vec<String>> {
        let labels: Vec<String> = self.absent.iter().take(NAMED).map(Point::label).collect();
        let more = match self.absent.len() - labels.len() {
            0 => String::new(),
            n => format!(", and {n} more"),
        };
        let count = match self.absent.len() {
            1 => "a point".to_owned(),
            n => format!("{n} points"),
        };
        let mut lines = vec![format!(
            "claims need {count} that were not measured: {}{more}",
            labels.join(", ")
        )];
        let commands: Vec<String> = self
            .selections(&options_of(args))
            .iter()
            .map(|selection| command(selection, &args.store))
            .collect();
        lines.extend(commands.iter().map(|command| format!("to measure them: `{command}`")));
        let check = again(args)?;
        let at_once = format!("`{check} --measure-missing`");
        let new: Vec<String> = (0..commands.len()).rev().map(last).collect();
        lines.push(match commands.is_empty() {
            true => format!("{at_once} measures them"),
            false => format!("then `{check} {}`; or both at once: {at_once}", new.join(" ")),
        });
        Ok(lines)
    }

    /// Selections that contain the points of each claim, so that one run has all points of a claim. A selection covers several
    /// claims if it contains no other points.
    fn selections(&self, options: &Options) -> Vec<Selection> {
        let mut groups: Vec<Vec<Point>> = Vec::new();
        for (_, points) in &self.claims {
            let united = |group: &Vec<Point>| {
                let mut all = [&group[..], points].concat();
                all.sort();
                all.dedup();
                all
            };
            let fits = groups.iter().position(|group| {
                let all = united(group);
                covered(&all, options).is_some_and(|planned| planned.len() == all.len())
            });
            match fits {
                Some(at) => groups[at] = united(&groups[at]),
                None => groups.push(points.clone()),
            }
        }
        let possible = groups.iter().filter(|group| covered(group, options).is_some());
        possible.map(|group| Selection::covering(group)).collect()
    }
}

/// Whether no run has the point, and this system has the case.
fn is_absent(point: &Point, runs: &[Document]) -> bool {
    let is_here = catalog::find(&point.case).is_some_and(|case| case.missing_here().is_none());
    let mut results = runs.iter().flat_map(|run| &run.results);
    is_here && !results.any(|result| result.case == point.case && result.params == point.params)
}

/// The points of a run of the selection that covers these; `None` if there is no such run.
fn covered(points: &[Point], options: &Options) -> Option<Vec<Point>> {
    let selections = vec![Selection::covering(points)];
    let planned = plan_of(&Options { selections, ..options.clone() }).ok()?.points;
    points.iter().all(|point| planned.contains(point)).then_some(planned)
}

/// Checks that the runs are of this machine: a system that was started on it has at least the same processor.
fn check_machine(runs: &[Document]) -> anyhow::Result<()> {
    let clock = best_clock()?;
    for run in runs {
        let is_native = run.system().is_none_or(|name| name == NATIVE);
        let is_compared = |key: &str| is_native || PROCESSOR.contains(&key);
        let differences = machine_differences(run, &clock);
        if let Some(first) = differences.iter().find(|one| is_compared(&one.key)) {
            let (id, key) = (&run.run.id, &first.key);
            let [was, is] = [0, 1].map(|at| first.values[at].as_str());
            let problem = format!(
                "run {id} is not of this machine as it is now: {key} was {was} and is {is}; without --measure-missing it is judged \
                 as it is"
            );
            return Err(Usage(problem).into());
        }
    }
    Ok(())
}

/// Name of the n-th run before the last.
fn last(back: usize) -> String {
    if back == 0 { "last".to_owned() } else { format!("last~{back}") }
}

/// The command that measures a selection.
fn command(selection: &Selection, store: &StoreArg) -> String {
    let mut words = vec!["oscost".to_owned(), "run".to_owned()];
    words.extend(selection.filters.iter().cloned());
    for (name, values) in &selection.params {
        match name.as_str() {
            "dir" => words.extend(values.iter().flat_map(|dir| ["--dir".to_owned(), dir.clone()])),
            _ => words.extend(["--param".to_owned(), format!("{name}={}", values.join(","))]),
        }
    }
    words.extend(store_option(store));
    in_one_line(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(case: &str, params: &[(&str, &str)]) -> Point {
        let params = params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Point { case: case.to_owned(), params: params.collect() }
    }

    #[test]
    fn a_command_names_each_case_and_value_once() {
        let all = [
            point("file/small", &[("dir", "/a b"), ("files", "1")]),
            point("file/small", &[("dir", "/a b"), ("files", "2")]),
            point("file/copy", &[("dir", "/it's")]),
        ];
        let store = StoreArg { store: Some("/s t".into()) };
        assert_eq!(
            command(&Selection::covering(&all), &store),
            r"oscost run file/small file/copy --dir '/a b' --dir '/it'\''s' --param files=1,2 --store '/s t'"
        );
    }
}
