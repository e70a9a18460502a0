//! Charts of several metrics of one case: times by percentile, and rates of phases.

use results::CaseResult;

use crate::first_seen::distinct;
use crate::html::chart::{BarScale, Bars, Chart, Drawing, LOOKS, Line, Lines, PERCENTILE, XAxis};
use crate::html::facets::{Facet, Item, facets};
use crate::html::points::{bar, estimate, is_derived, line_point};
use crate::html::sweeps::{Named, percentile};
use crate::html::text::Ids;
use crate::labels::Param;

/// Minimum number of metrics with the same unit for a chart of phases.
const PHASES: usize = 3;

/// Maximum number of charts of percentiles of an area.
const FAMILIES: usize = 3;

/// Maximum number of charts of phases of an area.
const CASES: usize = 2;

/// One figure of a family.
#[derive(Clone, Copy)]
struct Member<'r> {
    /// Position on the axis.
    at: usize,
    run: &'r str,
    result: &'r CaseResult,
}

/// Charts of times by percentile up to the maximum, one for each of the first families of such metrics: of the points with the
/// most lines, the last ones.
pub(super) fn percentiles(results: &[Named], shared: &[Param], ids: &mut Ids) -> Vec<Chart> {
    let mut charts = Vec::new();
    for family in families(results) {
        let names = percentiles_of(results, family);
        let of_metric = |metric: &str| {
            let (of, name) = percentile(metric)?;
            names.iter().position(|known| *known == name).filter(|_| of == family)
        };
        let facets = facets(items(results, &of_metric));
        let facet = facets.into_iter().max_by_key(|facet| facet.lines.len());
        let Some(facet) = facet.filter(|_| names.len() > 2) else { continue };
        let title = title(&facet, &format!("{family} by percentile"));
        let unit = facet.lines.iter().flat_map(|(_, members)| members).next();
        let unit = unit.map_or(String::new(), |member| member.result.unit.clone());
        let named = names.iter().enumerate().map(|(at, name)| (at as f64, (*name).to_owned()));
        let x = XAxis { title: PERCENTILE.to_owned(), named: named.collect(), ..XAxis::default() };
        let lines = lines(facet, shared);
        let lines = Lines { x, metric: family.to_owned(), unit, lines, ..Lines::default() };
        charts.push(Chart::new(ids.chart(), title, Drawing::Lines(lines)));
    }
    charts.truncate(FAMILIES);
    charts
}

/// The case, or the area of several cases, and the parameters that all points of a chart share.
fn title(facet: &Facet<Member>, what: &str) -> String {
    let members = facet.lines.iter().flat_map(|(_, members)| members);
    let cases = distinct(members.map(|member| member.result.case.as_str()));
    let name = match cases[..] {
        [only] => only,
        _ => cases.first().map_or("", |case| case.split('/').next().unwrap_or(case)),
    };
    let others = facet.keys.iter().filter(|(key, _)| *key != "case");
    let others: String = others.map(|(key, value)| format!(", {key}={value}")).collect();
    format!("{name}{others}: {what}")
}

/// Charts of the rates of the phases of a case that has several in the same unit: bars by phase, the points below each other.
pub(super) fn phases(results: &[Named], ids: &mut Ids) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (case, unit) in cases_with_phases(results).into_iter().take(CASES) {
        let names = rates_of(results, case, unit);
        let of_metric = |metric: &str| names.iter().position(|known| *known == metric);
        let of_case: Vec<Named> = results.iter().filter(|(_, r)| r.case == case).copied().collect();
        let Some(facet) = facets(items(&of_case, &of_metric)).into_iter().next() else { continue };
        let title = title(&facet, "rates of its phases");
        let mut rows = Vec::new();
        for (at, metric) in names.iter().enumerate() {
            let mut of_phase = Vec::new();
            for (look, (line, members)) in facet.lines.iter().enumerate() {
                let label = if line.is_empty() { *metric } else { line };
                let member = members.iter().find(|member| member.at == at);
                let bar = member.and_then(|member| bar(member.result, label.to_owned()));
                of_phase
                    .extend(bar.map(|bar| crate::html::chart::Bar { look: look % LOOKS, ..bar }));
            }
            if facet.lines.len() > 1
                && let Some(first) = of_phase.first_mut()
            {
                first.heading = Some((*metric).to_owned());
            }
            rows.extend(of_phase);
        }
        let bars = Bars { scale: BarScale::Amount(unit.to_owned()), rows };
        charts.push(Chart::new(ids.chart(), title, Drawing::Bars(bars)));
    }
    charts
}

fn lines(facet: Facet<Member>, shared: &[Param]) -> Vec<Line> {
    let line = |(look, (name, mut members)): (usize, (String, Vec<Member>))| {
        members.sort_by_key(|member| member.at);
        let point =
            |member: &Member| line_point(member.result, member.run, member.at as f64, shared);
        let points = members.iter().filter_map(point).collect();
        Line { name, look, points }
    };
    facet.lines.into_iter().enumerate().map(line).collect()
}

/// The measured results whose metric has a position on the axis.
fn items<'r>(
    results: &[Named<'r>],
    place: &dyn Fn(&str) -> Option<usize>,
) -> Vec<Item<'r, Member<'r>>> {
    let item = |(run, result): &Named<'r>| {
        let at = place(&result.metric)?;
        estimate(result)?;
        let params = result.params.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        let name = result.case.rsplit('/').next().unwrap_or(&result.case);
        let keys = [("case", name)].into_iter().chain(params).chain([("run", *run)]);
        Some(Item { keys: keys.collect(), value: Member { at, run, result } })
    };
    results.iter().filter_map(item).collect()
}

/// The families of metrics with percentiles, in the order of the results.
fn families<'r>(results: &[Named<'r>]) -> Vec<&'r str> {
    let measured = results.iter().filter(|(_, result)| estimate(result).is_some());
    distinct(measured.filter_map(|(_, result)| Some(percentile(&result.metric)?.0)))
}

fn percentiles_of<'r>(results: &[Named<'r>], family: &str) -> Vec<&'r str> {
    let of_family = results.iter().filter_map(|(_, result)| percentile(&result.metric));
    let mut names = distinct(of_family.filter(|(of, _)| *of == family).map(|(_, name)| name));
    // `p999` is 99.9 % and sorts between 99 and the maximum, which comes last.
    names.sort_by_key(|name| name.strip_prefix('p').map_or((1, ""), |digits| (0, digits)));
    names
}

fn cases_with_phases<'r>(results: &[Named<'r>]) -> Vec<(&'r str, &'r str)> {
    let rates = results.iter().filter(|(_, result)| is_rate(result));
    let mut all = distinct(rates.map(|(_, rate)| (rate.case.as_str(), rate.unit.as_str())));
    all.retain(|(case, unit)| rates_of(results, case, unit).len() >= PHASES);
    all
}

fn rates_of<'r>(results: &[Named<'r>], case: &str, unit: &str) -> Vec<&'r str> {
    let is_of_case = |r: &CaseResult| is_rate(r) && r.case == case && r.unit == unit;
    let of_case = results.iter().filter(|(_, result)| is_of_case(result));
    distinct(of_case.map(|(_, result)| result.metric.as_str()))
}

fn is_rate(result: &CaseResult) -> bool {
    result.unit.ends_with("/s") && !is_derived(result) && estimate(result).is_some()
}

#[cfg(test)]
mod tests {
    use results::{Direction, Estimate};

    use super::*;

    fn result(metric: &str, unit: &str, value: f64) -> CaseResult {
        let estimate = Estimate { median: value, low: value, high: value, level: 0.95 };
        let params = [("dir".to_owned(), "temp".to_owned())].into();
        CaseResult {
            estimate: Some(estimate),
            ..CaseResult::blank("file/small", params, metric, unit, Direction::Lower)
        }
    }

    #[test]
    fn percentiles_end_with_the_maximum() {
        let results = ["create-max", "create-p99", "create-p50", "create-p90", "read-p50"]
            .map(|metric| result(metric, "ns", 100.0));
        let named: Vec<Named> = results.iter().map(|result| ("", result)).collect();
        let charts = percentiles(&named, &[], &mut Ids::default());
        assert_eq!(charts.len(), 1, "one percentile is no family");
        let lines = charts[0].lines().unwrap();
        let names: Vec<&str> = lines.x.named.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["p50", "p90", "p99", "max"]);
        assert_eq!(lines.points(), 4);
    }

    #[test]
    fn phases_are_rows() {
        let results = ["create-rate", "read-rate", "stat-rate"].map(|m| result(m, "files/s", 1e4));
        let named: Vec<Named> = results.iter().map(|result| ("", result)).collect();
        let charts = phases(&named, &mut Ids::default());
        let Drawing::Bars(bars) = &charts[0].drawing else { panic!("{charts:?}") };
        let labels: Vec<&str> = bars.rows.iter().map(|bar| bar.label.as_str()).collect();
        assert_eq!((charts.len(), labels), (1, vec!["create-rate", "read-rate", "stat-rate"]));
        assert!(phases(&named[..2], &mut Ids::default()).is_empty());
    }
}
