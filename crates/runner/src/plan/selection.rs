//! Plans of several selections of points, such as those of a study.

use std::collections::BTreeMap;

use super::{Options, Plan, PlanError, Point, plan, plan_of};

/// Points to measure: cases with values of their parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Cases, areas or patterns.
    pub filters: Vec<String>,
    /// Values of parameters.
    pub params: BTreeMap<String, Vec<String>>,
}

/// Plans a run of all points of `selections`, each once, on these CPUs.
///
/// # Errors
/// As [`plan`] of any of them.
pub fn plan_selections(
    selections: &[Selection],
    options: &Options,
    cpus: &[usize],
    seed: u64,
) -> Result<Plan, PlanError> {
    let mut points: Vec<Point> = Vec::new();
    for selection in selections {
        let options = Options {
            filters: selection.filters.clone(),
            params: selection.params.clone(),
            ..options.clone()
        };
        for point in plan(&options, cpus, seed)?.points {
            if !points.contains(&point) {
                points.push(point);
            }
        }
    }
    plan_of(points, options, cpus, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(filter: &str, params: &[(&str, &[&str])]) -> Selection {
        let owned = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        Selection {
            filters: vec![filter.to_owned()],
            params: params
                .iter()
                .map(|(name, values)| ((*name).to_owned(), owned(values)))
                .collect(),
        }
    }

    #[test]
    fn each_point_of_several_selections_is_planned_once() {
        let selections = [
            selection("syscall/poll", &[("fds", &["1", "64"])]),
            selection("syscall/poll", &[("fds", &["64", "512"])]),
            selection("syscall/getppid", &[]),
        ];
        let plan = plan_selections(&selections, &Options::default(), &[0, 1], 7).unwrap();
        let fds: Vec<_> = plan.points.iter().map(|point| point.params.get("fds")).collect();
        let fds: Vec<_> = fds.into_iter().map(|fds| fds.map(String::as_str)).collect();
        assert_eq!(fds, [Some("1"), Some("64"), Some("512"), None]);
        let wrong = selection("syscall/poll", &[("colour", &["red"])]);
        let error = plan_selections(&[wrong], &Options::default(), &[0, 1], 7).unwrap_err();
        assert!(error.to_string().contains("colour"), "{error}");
    }
}
