//! The list of all areas that oscost measures.

use catalog::Area;
use primitives::{
    atomic, clock, ipc, lock, memory, process, scale, signal, switch, syscall, thread, timer,
};

/// All areas, in the order they are listed and shown. Each is a static of its crate: the code of the cases of a constant would be
/// compiled here, as this crate is.
pub const AREAS: &[&Area] = &[
    &clock::AREA,
    &syscall::AREA,
    &memory::AREA,
    &atomic::AREA,
    &signal::AREA,
    &timer::AREA,
    &lock::AREA,
    &process::AREA,
    &thread::AREA,
    &switch::AREA,
    &ipc::AREA,
    &jobs::AREA,
    &files::AREA,
    &net::AREA,
    &mail::AREA,
    &scale::AREA,
    &own::op::AREA,
    &own::time::AREA,
];

/// The layouts of areas whose tables have not just a row for each point, in the order in which they are shown.
const LAYOUTS: &[report::Layout] =
    &[jobs::LAYOUT, files::LAYOUT, net::LAYOUT, mail::LAYOUT, own::time::LAYOUT];

/// Makes these the areas of this process.
pub fn install() {
    catalog::install(AREAS);
    report::install(LAYOUTS);
}

#[cfg(test)]
mod tests {
    use catalog::{Finding, Run, Select, Takes, all, find, has_no_run};
    use measure::Metric;

    use super::*;

    #[test]
    fn points_and_metrics_of_the_summary_exist() {
        install();
        let check = |point: &Select, metric: &Metric| {
            let case = find(point.case).unwrap_or_else(|| panic!("no case {}", point.case));
            for (name, value) in point.params {
                // A metric derived from several points keeps the other parameters.
                let param = case.params.iter().find(|param| param.name == *name);
                let param = param.unwrap_or_else(|| panic!("{} has no {name}", point.case));
                let is_measured = param.default.contains(value)
                    || matches!(param.takes, Takes::Count(_)) && *name == "workers";
                assert!(is_measured, "{}: {name}={value}", point.case);
            }
            assert_eq!(catalog::metric(point.case, metric.name), Some(metric), "{}", point.case);
        };
        for area in AREAS {
            assert!(area.cases.iter().all(|case| case.area == area.name), "{}", area.name);
            let left_out = area.extended.iter().chain(area.beyond_quick);
            assert!(left_out.into_iter().all(|name| find(name).is_some()), "{}", area.name);
            for name in area.needs.iter().flat_map(|need| need.cases) {
                assert!(area.cases.iter().any(|case| case.name == *name), "{}/{name}", area.name);
            }
            area.summary.iter().for_each(|row| check(&row.point, row.metric));
            for finding in area.findings {
                match finding {
                    Finding::Ratio { of, to, metric, greater, less, equal } => {
                        check(of, metric);
                        check(to, metric);
                        // The figure of a ratio ends with its unit: "1.5 times (1.4 to 1.6)".
                        let has_figure = |text: &&str| {
                            text.matches("{}").count() == 1 && !text.contains("{} times")
                        };
                        assert!([greater, less, equal].into_iter().all(has_figure), "{greater}");
                    }
                    Finding::Crossing { point, metric, param, of, to, says, always, never } => {
                        [metric, of, to].iter().for_each(|metric| check(point, metric));
                        let case = find(point.case).unwrap();
                        assert!(case.params.iter().any(|known| known.name == *param), "{says}");
                        let has_figure = |text: &&str| text.matches("{}").count() == 1;
                        assert!([says, always, never].into_iter().all(has_figure), "{says}");
                    }
                    Finding::Value { point, metric, says } => {
                        check(point, metric);
                        assert_eq!(says.matches("{}").count(), 1, "{says}");
                    }
                }
            }
        }
    }

    #[test]
    fn designs_select_points_that_exist() {
        install();
        for application in AREAS.iter().flat_map(|area| area.applications) {
            assert!(application.says.ends_with('.'), "{}", application.name);
            for situation in application.situations {
                assert!(application.metrics.contains(&situation.metric), "{}", situation.name);
                let designs = application.designs.iter().filter(|design| {
                    design.points.iter().any(|select| {
                        let case = find(select.case).unwrap();
                        let has = |(name, value): &(&str, &str)| {
                            let known = case.params.iter().find(|param| param.name == *name);
                            known.is_none_or(|param| param.default.contains(value))
                        };
                        situation.params.iter().all(has)
                    })
                });
                assert!(designs.count() > 1, "{}", situation.name);
            }
            for design in application.designs {
                for select in design.points {
                    let case = find(select.case).unwrap_or_else(|| panic!("no {}", select.case));
                    for (name, value) in select.params {
                        let param = case.params.iter().find(|param| param.name == *name);
                        let param = param.unwrap_or_else(|| panic!("{} has no {name}", case.name));
                        let taken = match param.takes {
                            Takes::Words(words) => words.contains(value),
                            _ => false,
                        };
                        let is_value = taken || param.default.contains(value);
                        assert!(is_value || param.full.contains(value), "{name}={value}");
                    }
                    let has = |metric: &&&Metric| {
                        catalog::metric(select.case, metric.name) == Some(**metric)
                    };
                    assert!(application.metrics.iter().any(|metric| has(&metric)), "{}", case.name);
                }
            }
        }
    }

    #[test]
    fn experiments_are_parameters_with_a_choice() {
        install();
        for area in AREAS {
            for name in area.experiments {
                let mut params = area.cases.iter().flat_map(|case| case.params);
                assert!(params.any(|param| param.name == *name && param.full.len() > 1), "{name}");
            }
        }
    }

    #[test]
    fn every_case_has_a_definition_and_a_unique_name() {
        install();
        let mut labels = std::collections::BTreeSet::new();
        for case in all() {
            let label = case.label();
            assert!(labels.insert(label.clone()), "{label} twice");
            assert!(case.operation.ends_with('.') && case.operation.len() > 15, "{label}");
            assert!(!case.comparable_to.is_empty(), "{label}");
            assert!(!std::ptr::fn_addr_eq(case.run, has_no_run as Run), "{label}");
            for param in case.params {
                assert!(!param.default.is_empty() && !param.full.is_empty(), "{label}");
            }
            assert!(find(&label).is_some_and(|found| std::ptr::eq(found, case)), "{label}");
        }
    }
}
