//! Judges `change_point::change_points` by series whose change points are known: 1,000 simulated ones, and those that Apache Otava
//! publishes in its tests and examples. Also times it on long series.
//!
//! `cargo bench -p oscost-analysis --bench change_points [-- --json FILE]`; FILE gets the series, the true and the found points.
//! `scripts/judge-changes` runs Apache Otava on the same series.

mod series;

use std::hint::black_box;
use std::time::Instant;

use measure::change_point::change_points;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde::Serialize;

use series::Series;

/// Distance in runs up to which a found point is a true one.
const NEAR: usize = 3;
const SEED: u64 = 39;

#[derive(Serialize)]
struct Judged {
    #[serde(flatten)]
    series: Series,
    found: Vec<usize>,
}

#[derive(Default)]
struct Counts {
    series: usize,
    truth: usize,
    found: usize,
    right: usize,
    /// Series without a change in which one was found.
    alarmed: usize,
    unchanged: usize,
}

impl Counts {
    fn add(&mut self, judged: &Judged) {
        let (truth, found) = (&judged.series.truth, &judged.found);
        self.series += 1;
        self.truth += truth.len();
        self.found += found.len();
        self.right += matches(truth, found);
        self.unchanged += usize::from(truth.is_empty());
        self.alarmed += usize::from(truth.is_empty() && !found.is_empty());
    }

    fn print(&self, name: &str) {
        let percent = |part: usize, whole: usize| match whole {
            0 => "-".to_owned(),
            _ => format!("{:.1} %", 100.0 * part as f64 / whole as f64),
        };
        println!(
            "{name:32} {:6} {:6} {:6} {:>10} {:>10} {:>13}",
            self.series,
            self.truth,
            self.found,
            percent(self.right, self.found),
            percent(self.right, self.truth),
            percent(self.alarmed, self.unchanged),
        );
    }
}

/// Number of true points that a found one is near; both ascending, each counts once.
fn matches(truth: &[usize], found: &[usize]) -> usize {
    let (mut nth, mut right) = (0, 0);
    for &at in found {
        while truth.get(nth).is_some_and(|&place| place + NEAR < at) {
            nth += 1;
        }
        if truth.get(nth).is_some_and(|&place| place.abs_diff(at) <= NEAR) {
            (nth, right) = (nth + 1, right + 1);
        }
    }
    right
}

fn main() {
    let all = series::simulated(SEED).into_iter().chain(series::published());
    let began = Instant::now();
    let judged: Vec<Judged> = all
        .map(|series| {
            let found = change_points(&series.values);
            Judged { series, found }
        })
        .collect();
    let took = began.elapsed();
    println!(
        "{:32} {:>6} {:>6} {:>6} {:>10} {:>10} {:>13}",
        "kind", "series", "true", "found", "precision", "recall", "false alarms"
    );
    let mut kinds: Vec<&str> = Vec::new();
    for judged in &judged {
        if !kinds.contains(&judged.series.kind.as_str()) {
            kinds.push(&judged.series.kind);
        }
    }
    let counts = |is_counted: &dyn Fn(&str) -> bool| {
        let mut counts = Counts::default();
        judged.iter().filter(|judged| is_counted(&judged.series.kind)).for_each(|j| counts.add(j));
        counts
    };
    for &kind in &kinds {
        counts(&|other| other == kind).print(kind);
    }
    counts(&|kind| kind != series::PUBLISHED).print("all simulated");
    println!("in {:.1} ms", took.as_secs_f64() * 1e3);
    if let Some(file) = file_of_arguments() {
        let text = serde_json::to_string(&judged).expect("series are JSON");
        std::fs::write(&file, text).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    time();
}

/// The file after `--json`. Cargo adds `--bench`.
fn file_of_arguments() -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--json");
    arguments.next()?;
    Some(arguments.next().expect("a file after --json"))
}

/// Times 2,500 series of 1,000 values, as many as the points of a large store, one after the other.
fn time() {
    const SERIES: usize = 2_500;
    const VALUES: usize = 1_000;
    for (name, step) in [("no change", 0.0), ("a step of two deviations in each", 0.02)] {
        let mut rng = StdRng::seed_from_u64(SEED);
        let all: Vec<Vec<f64>> = (0..SERIES)
            .map(|nth| {
                let at = VALUES / 10 + nth * 4 / 5 * VALUES / SERIES;
                let level = |n: usize| if n < at { 100.0 } else { 100.0 * (1.0 + step) };
                (0..VALUES).map(|n| level(n) * (1.0 + 0.01 * simulated::noise(&mut rng))).collect()
            })
            .collect();
        let began = Instant::now();
        let found: usize = all.iter().map(|values| change_points(black_box(values)).len()).sum();
        let took = began.elapsed().as_secs_f64();
        println!("{SERIES} series of {VALUES}, {name}: {took:.3} s, {found} points found");
    }
}
