//! Rehearses a nightly watch on recorded runs: fifty nights, of which each is one of the recorded runs, with a step at night 40
//! and spikes in three others.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use analysis::History;
use analysis::history::{Change, HistoryRun, State, Trend, Watch, series_of};
use flate2::read::GzDecoder;
use measure::change_point::change_points;
use results::{CaseResult, Document, MetricSeries, PointKey, RunFigure};

/// A recording of a machine whose runs are much alike.
const STEADY: &str = "intel-167.jsonl.gz";
const STEP_AT: usize = 40;
/// From which night on there is a spike, as soon as nothing else is suspect.
const SPIKES: [usize; 3] = [14, 25, 33];
/// Factor on all figures of a night with a spike.
const SPIKE: f64 = 1.15;
const WORSE_THAN: f64 = 0.02;

fn recorded(name: &str) -> Vec<Document> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/next_run/recordings");
    let file = File::open(folder.join(name)).expect("a recording");
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    lines.map(|line| serde_json::from_str(&line.expect("a line")).expect("a document")).collect()
}

/// The points that are watched: system calls, which enter the kernel, in core cycles.
fn is_watched(case: &str) -> bool {
    case.starts_with("syscall/")
}

/// Multiplies a figure and its interval.
fn scale(run: &mut Document, factor: impl Fn(&PointKey) -> f64) {
    for result in &mut run.results {
        let factor = factor(&result.point());
        let estimate = result.estimate.as_mut().into_iter();
        let numbers = estimate.flat_map(|one| [&mut one.median, &mut one.low, &mut one.high]);
        let cycles = result.cycles.as_mut().into_iter();
        let cycles = cycles.flat_map(|one| [&mut one.median, &mut one.low, &mut one.high]);
        numbers.chain(cycles).for_each(|number| *number *= factor);
    }
}

struct Rehearsal {
    runs: Vec<Document>,
    history: History,
    nights: Vec<Document>,
}

impl Rehearsal {
    fn new(recording: &str) -> Self {
        let mut runs = recorded(recording);
        for run in &mut runs {
            run.results.retain(|result| is_watched(&result.case) && result.metric == "time");
        }
        // What changed for good while it was recorded is no steady figure to begin with.
        let places = |of: &CaseResult| -> Vec<f64> {
            let same =
                |run: &Document| run.results.iter().find(|one| one.point() == of.point()).cloned();
            runs.iter()
                .filter_map(same)
                .filter_map(|one| one.cycles)
                .map(|cycles| cycles.median.ln())
                .collect()
        };
        let changed: Vec<PointKey> = runs[0]
            .results
            .iter()
            .filter(|result| {
                let places = places(result);
                places.len() < runs.len() || !change_points(&places).is_empty()
            })
            .map(CaseResult::point)
            .collect();
        eprintln!(
            "{recording}: {} points changed while they were recorded, or not in all runs",
            changed.len()
        );
        let first: Vec<PointKey> = runs[0].results.iter().map(CaseResult::point).collect();
        let is_of_first = |result: &CaseResult| first.contains(&result.point());
        for run in &mut runs {
            run.results.retain(|result| is_of_first(result) && !changed.contains(&result.point()));
        }
        Self { runs, history: History::default(), nights: Vec::new() }
    }

    /// A night whose run is one of the recorded ones.
    fn night(&mut self, factor: impl Fn(&PointKey) -> f64) {
        let night = self.nights.len();
        // Each run comes once before any comes again: the same run in two successive nights would be no new evidence.
        let mut run = self.runs[night * 7 % self.runs.len()].clone();
        run.run.id = format!("night-{night}");
        run.run.started = format!("2026-{:02}-{:02}T02:00:00Z", 1 + night / 28, 1 + night % 28);
        run.run.tags.clear();
        run.machine.insert("uptime_seconds".to_owned(), 5_000.into());
        scale(&mut run, factor);
        self.history.predict(&mut run);
        self.history.add(&run);
        self.nights.push(run);
    }

    fn trends(&self) -> Vec<Trend> {
        let runs: Vec<HistoryRun> = self.nights.iter().map(HistoryRun::of).collect();
        let series = series_of(&runs, None, false);
        let first = &self.nights[0].results;
        let metric = |of: &CaseResult| MetricSeries {
            point: of.point(),
            metric: of.metric.clone(),
            unit: of.unit.clone(),
            better: of.better,
            figures: self
                .nights
                .iter()
                .enumerate()
                .filter_map(|(night, run)| {
                    let result = run.results.iter().find(|result| result.point() == of.point())?;
                    Some((night, RunFigure::of(result)?))
                })
                .collect(),
        };
        let series = series.last().expect("a series");
        first.iter().filter_map(|of| Trend::of(&metric(of), series, first.len())).collect()
    }

    /// The state of each figure after the newest night.
    fn judged(&self) -> Vec<(Trend, State, f64)> {
        let trends = self.trends();
        let watch = Watch::new(WORSE_THAN, trends.len());
        trends
            .into_iter()
            .map(|trend| {
                let watched = watch.judge(0, &trend, &[], None);
                (trend, watched.state, watched.detectable)
            })
            .collect()
    }
}

#[test]
fn a_step_is_suspect_at_once_an_alarm_at_the_second_night_and_a_change_point_by_the_tenth() {
    for recording in ["zen4.jsonl.gz", STEADY] {
        let mut rehearsal = Rehearsal::new(recording);
        let mut detectable: BTreeMap<PointKey, f64> = BTreeMap::new();
        let mut spikes = SPIKES.iter().peekable();
        let mut was_suspect = false;
        for night in 0..STEP_AT {
            // A recorded run that is an outlier itself, and a spike after it, would be two in a row.
            let is_spike = spikes.next_if(|&&from| from <= night && !was_suspect).is_some();
            rehearsal.night(|_| if is_spike { SPIKE } else { 1.0 });
            let judged = rehearsal.judged();
            let alarms: Vec<String> = judged
                .iter()
                .filter(|one| one.1 == State::Alarm)
                .map(|one| one.0.point.to_string())
                .collect();
            assert!(alarms.is_empty(), "{recording}, night {night}: {alarms:?}");
            was_suspect = judged.iter().any(|one| one.1 == State::Suspect);
            detectable =
                judged.iter().map(|(trend, _, share)| (trend.point.clone(), *share)).collect();
        }
        // Each point becomes worse by twice what can be seen of it.
        let step = |point: &PointKey| 1.0 + 2.0 * detectable[point];
        let mut shares: Vec<f64> = detectable.values().copied().collect();
        let median = measure::stats::median(&mut shares) * 100.0;
        let figures = shares.len();
        eprintln!(
            "{recording}: {figures} points, of which {median:.1} % can be seen in the median"
        );
        // Some points are in a better state than usual on the first of these nights.
        let most = |count: usize| count * 10 >= figures * if recording == STEADY { 8 } else { 6 };
        for night in STEP_AT..STEP_AT + 10 {
            rehearsal.night(step);
            let judged = rehearsal.judged();
            let count = |state: State| judged.iter().filter(|one| one.1 == state).count();
            match night - STEP_AT {
                0 => assert!(
                    most(count(State::Suspect)),
                    "{recording}: {} suspect",
                    count(State::Suspect)
                ),
                1 => assert!(
                    most(count(State::Alarm)),
                    "{recording}: {} alarms",
                    count(State::Alarm)
                ),
                _ => {}
            }
        }
        let (mut right, mut others) = (0, 0);
        for trend in rehearsal.trends() {
            let size = step(&trend.point);
            let is_it = |change: &&Change| change.at.abs_diff(STEP_AT) <= 1;
            let ratio = trend.changes.iter().find(is_it).and_then(|change| change.ratio);
            right +=
                usize::from(ratio.is_some_and(|ratio| ratio.low <= size && size <= ratio.high));
            others += trend.changes.iter().filter(|change| !is_it(change)).count();
        }
        eprintln!("{recording}: {right} changes with their size, {others} other changes");
        assert!(right * 10 >= figures * 8, "{recording}: {right} of {figures}");
        assert_eq!(others, 0, "{recording}: changes that are none");
    }
}
