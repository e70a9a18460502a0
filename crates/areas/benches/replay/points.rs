//! The replayed points, which are those of recorded runs.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use measure::stats::median;

/// The kind of a point's rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// Samples, in pairs of rounds of which the faster counts.
    Pairs,
    /// Samples.
    Single,
    /// Samples of contending workers.
    Contended,
    /// Trials.
    Trials,
}

/// A point of recorded runs.
#[derive(Debug, Clone)]
pub struct Point {
    pub case: String,
    pub params: BTreeMap<String, String>,
    pub rounds: Rounds,
    /// The median of the point's recorded rounds, in ns.
    pub truth: f64,
    /// Standard deviation of the logarithm of a round's value, from the median deviation.
    pub spread: f64,
    /// Duration of a round.
    pub took: Duration,
    /// Values of the recorded rounds; for core-bound points, of pairs.
    pub recorded: Vec<f64>,
}

impl Point {
    pub fn area(&self) -> &str {
        self.case.split('/').next().unwrap_or_default()
    }
}

/// A row of a recorded run; see `scripts/replay-data`.
#[derive(Debug, serde::Deserialize)]
struct Row {
    case: String,
    params: String,
    in_cycles: bool,
    values: String,
}

/// The points of a recorded run, with rounds of further runs.
pub fn points_of(run: &Path, further: &[std::path::PathBuf]) -> Vec<Point> {
    let first = rows(run);
    let mut others: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for row in further.iter().flat_map(|path| rows(path)) {
        others
            .entry((row.case.clone(), row.params.clone()))
            .or_default()
            .extend(numbers(&row.values));
    }
    let mut points: Vec<Point> = first
        .into_iter()
        .filter_map(|row| {
            let case = catalog::find(&row.case)?;
            let mut recorded = numbers(&row.values);
            recorded
                .extend(others.remove(&(row.case.clone(), row.params.clone())).unwrap_or_default());
            let truth = median(&mut recorded.clone());
            let mut apart: Vec<f64> =
                recorded.iter().map(|value| (value / truth).ln().abs()).collect();
            let params: BTreeMap<String, String> = row
                .params
                .split('\u{1f}')
                .filter_map(|pair| pair.split_once('='))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            let trials = catalog::trials_of(&row.case, &params);
            let contends = params.get("workers").is_some_and(|workers| workers != "1");
            let rounds = match trials {
                Some(_) => Rounds::Trials,
                None if row.in_cycles => Rounds::Pairs,
                None if contends => Rounds::Contended,
                None => Rounds::Single,
            };
            let took = match trials {
                Some(trials) => (trials.takes)(&params) + Duration::from_millis(25),
                // A sampled round takes 8 ms to start and end its worker, and 4 to 15 ms of samples.
                None => Duration::from_millis(if case.core_bound { 12 } else { 23 }),
            };
            (truth > 0.0).then(|| Point {
                case: row.case,
                params,
                rounds,
                truth,
                spread: 1.4826 * median(&mut apart),
                took,
                recorded,
            })
        })
        .collect();
    points.sort_by(|a, b| (&a.case, &a.params).cmp(&(&b.case, &b.params)));
    points
}

fn numbers(text: &str) -> Vec<f64> {
    text.split(' ').filter_map(|value| value.parse().ok()).collect()
}

fn rows(path: &Path) -> Vec<Row> {
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("a gzip file of UTF-8");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(|row| row.expect("a row of a recorded run")).collect()
}
