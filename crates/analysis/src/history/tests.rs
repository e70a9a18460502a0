//! Series of simulated machines.

use results::{Document, MetricSeries, RunFigure};

use super::*;
use crate::next_run::History;
use crate::next_run::tests::machines::{Course, Machine};
use crate::next_run::tests::{predicted, slow_down};

/// Runs as a store has them.
pub(super) fn stored(documents: &[Document]) -> (Vec<HistoryRun>, Vec<MetricSeries>) {
    let runs = documents.iter().map(HistoryRun::of);
    let mut metrics: Vec<MetricSeries> = Vec::new();
    for (run, document) in documents.iter().enumerate() {
        for result in &document.results {
            let Some(figure) = RunFigure::of(result) else { continue };
            let is_of = |one: &&mut MetricSeries| {
                one.point == result.point() && one.metric == result.metric
            };
            match metrics.iter_mut().find(is_of) {
                Some(metric) => metric.figures.push(run, &figure),
                None => metrics.push(MetricSeries {
                    point: result.point(),
                    metric: result.metric.clone(),
                    unit: result.unit.clone(),
                    better: result.better,
                    figures: [(run, figure)].into_iter().collect(),
                }),
            }
        }
    }
    (runs.collect(), metrics)
}

/// Runs of a machine, each with its prediction. A run's uptime differs from night to night, and no other fact does.
fn nights(machine: &mut Machine, count: usize) -> Vec<Document> {
    predicted(&(0..count).map(|_| machine.separate_visit()).collect::<Vec<_>>())
}

/// Figures on which the watch of the newest of these visits alarms.
fn alarms(trends: &[Trend], visits: usize, watch: &Watch) -> usize {
    let until = trends
        .iter()
        .map(|trend| Trend { visits: trend.visits[..visits].to_vec(), ..trend.clone() });
    until.filter(|trend| watch.judge(0, trend, &[], None).state == State::Alarm).count()
}

fn trends_of(documents: &[Document]) -> Vec<Trend> {
    let (runs, metrics) = stored(documents);
    let series = series_of(&runs, None, false);
    assert_eq!(series.len(), 1, "one machine");
    metrics.iter().filter_map(|metric| Trend::of(metric, &series[0], 1)).collect()
}

/// Checks machines that do not change, each over 18 nights: at most 5 % of them have an alarm in any of these nights.
#[test]
fn machines_that_do_not_change_hardly_ever_alarm() {
    const MACHINES: u64 = 20;
    const NIGHTS: usize = 18;
    let mut alarmed = 0;
    for seed in 0..MACHINES {
        let courses = [Course::Steady, Course::States, Course::Sticky, Course::Skewed];
        let mut machine = Machine::new(courses[seed as usize % courses.len()], seed);
        let trends = trends_of(&nights(&mut machine, NIGHTS));
        let watch = Watch::new(0.005, trends.len());
        let any = (2..=NIGHTS).any(|visits| alarms(&trends, visits, &watch) > 0);
        alarmed += usize::from(any);
    }
    eprintln!("{alarmed} of {MACHINES}");
    assert!(alarmed <= MACHINES as usize / 20, "{alarmed} of {MACHINES}");
}

#[test]
fn runs_of_another_kernel_are_one_series_and_of_another_build_are_not() {
    let mut machine = Machine::new(Course::Steady, 1);
    let mut documents = nights(&mut machine, 6);
    documents[3].machine.insert("release".to_owned(), "6.12.4".into());
    documents[4].machine.insert("oscost_build".to_owned(), "other".into());
    let (runs, _) = stored(&documents);
    let series = series_of(&runs, None, false);
    let visits: Vec<Vec<Vec<usize>>> = series.iter().map(|series| series.visits.clone()).collect();
    assert_eq!(visits, [vec![vec![4]], vec![vec![0], vec![1], vec![2], vec![3], vec![5]]]);
    assert_eq!(series[0].name, "oscost build other");
    assert!(series[1].has(3) && !series[1].has(4));
    let changed = fact_changes(&runs[2], &runs[3]);
    assert_eq!((changed[0].fact.as_str(), changed[0].after.as_str()), ("release", "6.12.4"));
    let by = series_of(&runs, Some(&By::Kernel), false);
    assert_eq!(by.len(), 3, "the kernel splits the first build's runs");
    assert!(By::parse("week").is_err());
    assert_eq!(By::parse("commit"), Ok(By::Tag("commit".to_owned())));
}

#[test]
fn each_node_of_a_fleet_has_its_series() {
    let mut machine = Machine::new(Course::Steady, 3);
    let mut documents = nights(&mut machine, 4);
    for (document, node) in documents.iter_mut().zip(["a", "b", "a", "b"]) {
        document.run.tags.insert("node".to_owned(), node.to_owned());
    }
    let (runs, _) = stored(&documents);
    let series = series_of(&runs, None, false);
    let named: Vec<(&str, &[Vec<usize>])> =
        series.iter().map(|series| (series.name.as_str(), &series.visits[..])).collect();
    assert_eq!(named, [("node a", &[vec![0], vec![2]][..]), ("node b", &[vec![1], vec![3]][..])]);
}

/// Checks that what a run of a node predicts is about that node, by its own mean, not by that of a slower one.
#[test]
fn nodes_of_a_fleet_have_their_own_means() {
    let mut machine = Machine::new(Course::Steady, 4);
    let mut history = History::default();
    let mut last = None;
    for night in 0..8 {
        let mut run = machine.separate_visit();
        let is_slow = night % 2 == 1;
        run.run.tags.insert("node".to_owned(), if is_slow { "b" } else { "a" }.to_owned());
        for result in run.results.iter_mut().filter(|_| is_slow) {
            slow_down(result, 1.5);
        }
        history.predict(&mut run);
        history.add(&run);
        last = Some(run);
    }
    let mut exact = 0;
    for result in last.expect("eight nights").results {
        let (Some(next), Some(estimate)) = (result.next_run, result.estimate) else { continue };
        // Figures whose rounds differ by less than the nodes do.
        if estimate.high > estimate.low * 1.02 {
            continue;
        }
        exact += 1;
        assert!(next.low < estimate.median && estimate.median < next.high, "{}", result.case);
        assert!(next.low > estimate.median / 1.25, "{}: {next:?} of {estimate:?}", result.case);
    }
    assert!(exact > 4, "{exact}");
}

#[test]
fn runs_within_ten_minutes_are_one_visit() {
    let mut machine = Machine::new(Course::Steady, 2);
    let mut documents = vec![machine.separate_visit()];
    documents.extend((0..3).map(|_| machine.again(1.0)));
    for (nth, document) in documents.iter_mut().enumerate() {
        document.run.id = format!("run-{nth}");
        document.run.asked.clear();
        document.machine = serde_json::Map::new();
    }
    let (runs, metrics) = stored(&documents);
    let series = series_of(&runs, None, false);
    assert_eq!(series[0].visits, [vec![0, 1, 2, 3]]);
    let trend = Trend::of(&metrics[0], &series[0], 1).expect("measured");
    let logs = metrics[0]
        .figures
        .iter()
        .map(|(_, figure)| figure.cycles.map_or(figure.figure.median, |cycles| cycles.median).ln());
    let mean = (logs.sum::<f64>() / 4.0).exp();
    assert_eq!(trend.visits.len(), 1);
    assert!((trend.visits[0].figure.median / mean - 1.0).abs() < 1e-9);
}
