//! Series whose change points are known.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use simulated::noise;

/// The kind of Otava's examples.
pub const PUBLISHED: &str = "published by Otava";

/// Values, and where their mean changes: the index of the first value after each change.
#[derive(Serialize, Deserialize)]
pub struct Series {
    #[serde(default)]
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub name: String,
    pub truth: Vec<usize>,
    pub values: Vec<f64>,
}

/// What a kind of series has besides noise.
#[derive(Clone, Copy, Default)]
struct Kind {
    name: &'static str,
    /// Number of series.
    count: usize,
    /// Least and greatest number of steps.
    steps: (usize, usize),
    /// Least and greatest size of a step in standard deviations of the noise.
    deviations: (f64, f64),
    spikes: bool,
    drift: bool,
    spread: bool,
    /// Whether runs are in states that last.
    states: bool,
}

/// The smallest step, as a share.
const SMALLEST: f64 = 0.005;
const ANY: (f64, f64) = (0.0, f64::INFINITY);

const KINDS: [Kind; 10] = [
    Kind {
        steps: (1, 1),
        deviations: (2.0, f64::INFINITY),
        ..kind("a step of 2 deviations and more", 125)
    },
    Kind { steps: (1, 1), deviations: (0.0, 2.0), ..kind("a smaller step", 100) },
    Kind { steps: (2, 3), ..kind("two or three steps", 150) },
    Kind { steps: (1, 3), spikes: true, ..kind("steps and spikes", 125) },
    Kind { steps: (1, 3), states: true, ..kind("steps, autocorrelated", 75) },
    Kind { spikes: true, ..kind("spikes", 75) },
    Kind { drift: true, ..kind("drift", 75) },
    Kind { spread: true, ..kind("a change of spread", 75) },
    kind("nothing", 100),
    Kind { states: true, ..kind("nothing, autocorrelated", 100) },
];

const fn kind(name: &'static str, count: usize) -> Kind {
    Kind {
        name,
        count,
        steps: (0, 0),
        deviations: ANY,
        spikes: false,
        drift: false,
        spread: false,
        states: false,
    }
}

/// 1,000 series of 10 to 500 values.
pub fn simulated(seed: u64) -> Vec<Series> {
    let mut rng = StdRng::seed_from_u64(seed);
    KINDS
        .iter()
        .flat_map(|kind| std::iter::repeat_n(kind, kind.count))
        .map(|kind| kind.draw(&mut rng))
        .collect()
}

/// The series of Otava's tests and examples, with the points that these state.
pub fn published() -> Vec<Series> {
    #[derive(Deserialize)]
    struct Published {
        series: Vec<Series>,
    }
    let read: Published =
        serde_json::from_str(include_str!("published.json")).expect("the file is of this form");
    read.series.into_iter().map(|series| Series { kind: PUBLISHED.to_owned(), ..series }).collect()
}

impl Kind {
    fn draw(&self, rng: &mut StdRng) -> Series {
        let length = between(rng, 10.0, 500.0).round() as usize;
        // Noise in which the smallest step is not beyond the kind's greatest.
        let deviation = between(rng, (SMALLEST / self.deviations.1).max(0.002), 0.03);
        let truth = self.places(length, rng);
        let mut level = between(rng, 1.0, 1e6);
        let mut levels = Vec::with_capacity(length);
        for n in 0..length {
            if truth.contains(&n) {
                level *= 1.0 + self.step(deviation, rng);
            }
            levels.push(level);
        }
        let noise = if self.states {
            states(length, rng)
        } else {
            (0..length).map(|_| noise(rng)).collect()
        };
        let mut values: Vec<f64> = levels
            .iter()
            .zip(noise)
            .map(|(level, noise)| level * (1.0 + deviation * noise))
            .collect();
        if self.spread {
            let at = length / 3 + rng.random_range(0..length.div_ceil(3));
            let factor = between(rng, 2.0, 5.0);
            for (value, level) in values.iter_mut().zip(&levels).skip(at) {
                *value = level + (*value - level) * factor;
            }
        }
        if self.drift {
            let rise = between(rng, 0.02, 0.2) * sign(rng);
            for (n, value) in values.iter_mut().enumerate() {
                *value *= 1.0 + rise * n as f64 / length as f64;
            }
        }
        if self.spikes {
            self.add_spikes(&mut values, deviation, rng);
        }
        Series { kind: self.name.to_owned(), name: String::new(), truth, values }
    }

    /// Where the steps are: at least four values from each other and from the ends.
    fn places(&self, length: usize, rng: &mut StdRng) -> Vec<usize> {
        const APART: usize = 4;
        let most = self.steps.1.min(length / APART - 1);
        let count = rng.random_range(self.steps.0.min(most)..=most);
        // Places that are apart are any places of a shorter series, stretched.
        let free = length - (count + 1) * APART;
        let mut places: Vec<usize> = (0..count).map(|_| rng.random_range(0..=free)).collect();
        places.sort_unstable();
        places.iter().enumerate().map(|(nth, place)| place + (nth + 1) * APART).collect()
    }

    /// A step up or down, as a share.
    fn step(&self, deviation: f64, rng: &mut StdRng) -> f64 {
        let (least, greatest) = self.deviations;
        let size = between(rng, (least * deviation).max(SMALLEST), (greatest * deviation).min(0.2));
        size * sign(rng)
    }

    /// Single values far from the others: at least one, and as many as one in fifty.
    fn add_spikes(&self, values: &mut [f64], deviation: f64, rng: &mut StdRng) {
        for _ in 0..=rng.random_range(0..=values.len() / 50) {
            let at = rng.random_range(0..values.len());
            values[at] *= 1.0 + deviation * between(rng, 8.0, 40.0) * sign(rng);
        }
    }
}

/// Noise of variance 1, half of which is that of two states; the next run is in the same state with a chance of 60 to 80 %.
fn states(length: usize, rng: &mut StdRng) -> Vec<f64> {
    let stays = 0.6 + 0.2 * rng.random::<f64>();
    let mut state = sign(rng);
    (0..length)
        .map(|_| {
            if rng.random::<f64>() > stays {
                state = -state;
            }
            (state + noise(rng)) / 2f64.sqrt()
        })
        .collect()
}

/// A number between two, uniform in its logarithm.
fn between(rng: &mut StdRng, least: f64, greatest: f64) -> f64 {
    least * (greatest / least).powf(rng.random::<f64>())
}

fn sign(rng: &mut StdRng) -> f64 {
    if rng.random::<bool>() { 1.0 } else { -1.0 }
}
