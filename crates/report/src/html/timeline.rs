//! The jobs of one trial on a time line: when each began and ended, with serial and concurrent executors below each other.

use results::CaseResult;

use crate::first_seen::{distinct, grouped};
use crate::html::chart::{Chart, Drawing, Lane, Spans};
use crate::html::sweeps::{Named, number};
use crate::html::text::Ids;

/// Maximum number of charts of one case.
const CHARTS: usize = 2;

/// Results of a chart by line, and the parameters that all lines share.
struct Group<'r> {
    shared: Vec<(&'r str, &'r str)>,
    lines: Vec<(String, &'r CaseResult)>,
}

/// The charts of the results that have a time line.
pub(super) fn timelines(results: &[Named], ids: &mut Ids) -> Vec<Chart> {
    let with_jobs: Vec<Named> =
        results.iter().filter(|(_, result)| !result.timeline.is_empty()).copied().collect();
    let mut charts = Vec::new();
    for case in distinct(with_jobs.iter().map(|(_, result)| result.case.as_str())) {
        let of_case = with_jobs.iter().filter(|(_, result)| result.case == case);
        let groups = groups(largest(of_case.copied().collect(), case), case);
        let count = groups.len();
        let constant = constant(&groups);
        charts.extend(groups.iter().take(CHARTS).map(|group| chart(case, group, &constant, ids)));
        if count > CHARTS
            && let Some(last) = charts.last_mut()
        {
            last.notes.push(format!("The first {CHARTS} of {count} such charts."));
        }
    }
    charts
}

/// The parameter whose values are the lines of a chart: the first parameter of a case, which is what the case compares.
fn compared(case: &str) -> &'static str {
    let first = catalog::find(case).and_then(|case| case.params.first());
    first.map_or("", |param| param.name)
}

/// Keeps only the results with the largest value of each numeric parameter: the longest lists of the longest jobs.
fn largest<'r>(mut results: Vec<Named<'r>>, case: &str) -> Vec<Named<'r>> {
    let keys: Vec<String> = results.iter().flat_map(|(_, r)| r.params.keys()).cloned().collect();
    for key in keys.iter().filter(|key| *key != compared(case)) {
        let value = |result: &CaseResult| number(result, key, result.params.get(key)?);
        let values: Option<Vec<f64>> = results.iter().map(|(_, result)| value(result)).collect();
        if let Some(values) = values {
            let most = values.into_iter().fold(f64::NEG_INFINITY, f64::max);
            results.retain(|(_, result)| value(result) == Some(most));
        }
    }
    results
}

fn groups<'r>(results: Vec<Named<'r>>, case: &str) -> Vec<Group<'r>> {
    let line_key = compared(case);
    let keyed = results.into_iter().map(|(run, result)| {
        let others = result.params.iter().filter(|(key, _)| *key != line_key);
        let shared: Vec<(&str, &str)> =
            others.map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let named = [result.params.get(line_key).map_or("", String::as_str), run];
        let name = named.iter().filter(|name| !name.is_empty()).copied().collect::<Vec<_>>();
        (shared, (name.join(", "), result))
    });
    grouped(keyed).into_iter().map(|(shared, lines)| Group { shared, lines }).collect()
}

/// The parameters that all groups share, if there are several.
fn constant<'r>(groups: &[Group<'r>]) -> Vec<(&'r str, &'r str)> {
    let Some((first, others @ [_, ..])) = groups.split_first() else { return Vec::new() };
    let is_constant =
        |param: &&(&str, &str)| others.iter().all(|group| group.shared.contains(param));
    first.shared.iter().filter(is_constant).copied().collect()
}

fn chart(case: &str, group: &Group, constant: &[(&str, &str)], ids: &mut Ids) -> Chart {
    let about = group.shared.iter().filter(|param| !constant.contains(param));
    let about = about.map(|(key, value)| format!(", {key}={value}"));
    let lane = |(look, (name, result)): (usize, &(String, &CaseResult))| {
        let spans = result.timeline.iter().map(|ends| ends.map(|ns| ns as f64)).collect();
        Lane { name: name.clone(), look, spans }
    };
    let lanes = group.lines.iter().enumerate().map(lane).collect();
    let title = format!("{case}{}: jobs of one trial", about.collect::<String>());
    let mut chart = Chart::new(ids.chart(), title, Drawing::Spans(Spans { lanes }));
    chart.notes.push(
        "Each bar is a job from its beginning to its end, in the trial whose time is nearest to the median. Jobs are handed out \
         from top to bottom."
            .to_owned(),
    );
    if !constant.is_empty() {
        let constant: Vec<String> = constant.iter().map(|(k, v)| format!("{k}={v}")).collect();
        chart.notes.push(format!("In all such charts: {}.", constant.join(", ")));
    }
    chart
}

#[cfg(test)]
mod tests {
    use results::Direction;

    use super::*;

    fn result(executor: &str, jobs: &str, base: &str, timeline: Vec<[u64; 2]>) -> CaseResult {
        simulated::areas::install();
        let params = [("executor", executor), ("jobs", jobs), ("base", base), ("kind", "cpu")];
        let params = simulated::params(&params);
        let blank =
            CaseResult::blank("concurrency/jobs", params, "time", "ns/op", Direction::Lower);
        CaseResult { timeline, ..blank }
    }

    #[test]
    fn serial_and_concurrent_jobs_of_the_longest_list_share_a_chart() {
        let two = vec![[0, 2_000_000], [2_000_000, 3_000_000]];
        let results = [
            result("serial", "2", "30us", two.clone()),
            result("serial", "2", "810us", two.clone()),
            result("threads", "2", "810us", vec![[0, 3_000_000], [100_000, 2_000_000]]),
            result("tokio", "2", "810us", Vec::new()),
        ];
        let named: Vec<Named> = results.iter().map(|result| ("", result)).collect();
        let charts = timelines(&named, &mut Ids::default());
        let [chart] = &charts[..] else { panic!("{charts:?}") };
        assert_eq!(
            chart.title,
            "concurrency/jobs, base=810us, jobs=2, kind=cpu: jobs of one trial"
        );
        let Drawing::Spans(spans) = &chart.drawing else { panic!("{chart:?}") };
        let lanes: Vec<(&str, usize)> =
            spans.lanes.iter().map(|lane| (lane.name.as_str(), lane.spans.len())).collect();
        assert_eq!(lanes, [("serial", 2), ("threads", 2)]);
        assert_eq!(spans.lanes[1].spans[1], [100_000.0, 2_000_000.0]);
        assert!(timelines(&named[3..], &mut Ids::default()).is_empty());
    }
}
