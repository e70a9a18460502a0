//! Tells a gradual change from steps.

/// Minimum number of visits that tell a gradual change from steps.
const LEAST_VISITS_OF_CREEP: usize = 12;

/// Whether a gradual change explains `values` better than the means of their `parts` do, by Schwarz's criterion: the logarithm
/// of the mean square, with a penalty for each parameter. A step has two, its place and its size. A gradual change is a line, or
/// a ramp between two levels, which has two more: where it begins and ends.
pub(super) fn is_creep(values: &[f64], parts: &[&[f64]]) -> bool {
    if values.len() < LEAST_VISITS_OF_CREEP {
        return false;
    }
    let count = values.len() as f64;
    let criterion = |squares: f64, parameters: usize| {
        count * (squares / count).max(f64::MIN_POSITIVE).ln() + parameters as f64 * count.ln()
    };
    let of_parts = parts.iter().map(|part| squares_about_mean(part)).sum();
    let of_steps = criterion(of_parts, 2 * parts.len() - 1);
    let line = (0, values.len() - 1);
    criterion(squares_about_ramp(values, line), 2) < of_steps
        || ramps(values.len(), parts)
            .any(|ramp| criterion(squares_about_ramp(values, ramp), 4) < of_steps)
}

/// Where a ramp may begin and end: some places in the first part and in the last.
fn ramps(count: usize, parts: &[&[f64]]) -> impl Iterator<Item = (usize, usize)> {
    const PLACES: usize = 8;
    let [first, last] = [parts[0].len(), parts[parts.len() - 1].len()];
    let ramp = move |nth: usize| {
        let (begin, end) = (nth / PLACES, nth % PLACES);
        (first * begin / PLACES, count - 1 - last * end / PLACES)
    };
    (0..PLACES * PLACES).map(ramp).filter(|(from, to)| to - from >= LEAST_VISITS_OF_CREEP)
}

fn squares_about_mean(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// The sum of squares about the ramp of least squares that is level up to one index and from another on.
fn squares_about_ramp(values: &[f64], (from, to): (usize, usize)) -> f64 {
    let count = values.len() as f64;
    let height = |nth: usize| (nth.clamp(from, to) - from) as f64 / (to - from) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let middle = (0..values.len()).map(height).sum::<f64>() / count;
    let (mut both, mut square) = (0.0, 0.0);
    for (nth, value) in values.iter().enumerate() {
        let at = height(nth) - middle;
        both += at * (value - mean);
        square += at * at;
    }
    squares_about_mean(values) - both * both / square
}

#[cfg(test)]
mod tests {
    use measure::change_point::change_points;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use simulated::noise;

    use super::*;

    /// The share of series with a change that is gradual, of 200; `level` is in standard deviations of the noise, by the length
    /// and the index.
    fn share_of_creeps(
        mut level: impl FnMut(&mut StdRng) -> Box<dyn Fn(usize, usize) -> f64>,
    ) -> f64 {
        let mut rng = StdRng::seed_from_u64(1);
        let (mut changed, mut creeps) = (0.0, 0.0);
        for length in [30, 60, 120, 240].repeat(50) {
            let level = level(&mut rng);
            let values: Vec<f64> =
                (0..length).map(|n| level(length, n) + noise(&mut rng)).collect();
            let found = change_points(&values);
            if found.is_empty() {
                continue;
            }
            let ends = [&[0], &found[..], &[length]].concat();
            let parts: Vec<&[f64]> = ends.windows(2).map(|two| &values[two[0]..two[1]]).collect();
            changed += 1.0;
            creeps += f64::from(is_creep(&values, &parts));
        }
        assert!(changed >= 190.0, "{changed} of 200 have a change");
        creeps / changed
    }

    #[test]
    fn a_drift_is_a_creep_and_a_step_is_none() {
        let drift = share_of_creeps(|_| Box::new(|length, n| 8.0 * n as f64 / length as f64));
        assert!(drift >= 0.95, "{drift}");
        let step = share_of_creeps(|rng| {
            let place = 0.2 + 0.6 * rng.random::<f64>();
            Box::new(move |length, n| if n as f64 >= place * length as f64 { 4.0 } else { 0.0 })
        });
        assert!(step <= 0.05, "{step}");
        let two_steps = share_of_creeps(|_| {
            Box::new(|length, n| {
                6.0 * f64::from(
                    [n > length / 4, n > length * 2 / 3].map(u8::from).iter().sum::<u8>(),
                )
            })
        });
        assert!(two_steps <= 0.05, "{two_steps}");
    }

    /// Steps explain a ramp between two levels better than one line does.
    #[test]
    fn a_ramp_between_levels_is_a_creep() {
        let ramp = share_of_creeps(|_| {
            Box::new(|length, n| {
                let (at, length) = (n as f64, length as f64);
                10.0 * ((at - 0.25 * length) / (0.5 * length)).clamp(0.0, 1.0)
            })
        });
        assert!(ramp >= 0.95, "{ramp}");
    }
}
