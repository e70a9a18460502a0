//! From a curve of load latency over size to the levels of memory and their capacities.
//!
//! The latency of dependent loads is nearly constant as long as all lines fit a level, and rises to that of the next level
//! beyond. Between two levels it depends on how lines are replaced: under LRU it jumps at the capacity, under random
//! replacement it rises slowly, and where pages lie unevenly in a physically indexed cache it rises before the capacity.

/// Latencies of one level differ by no more than this factor.
const FLAT: f64 = 1.2;
/// The latencies of two levels differ by this factor at least.
const DISTINCT: f64 = 1.3;
/// A level spans this many doublings of the size at least.
const DOUBLINGS: f64 = 0.7;
/// The capacity of a level is the size at which the latency has risen by this share of the way to the next level ...
const SHARE_OF_STEP: f64 = 0.3;
/// ... or to this multiple: the next level may have no flat part, as a cache shared with other machines.
const RISE: f64 = 1.6;

/// A level of memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Its latency, in the unit of the curve.
    pub latency: f64,
    /// Bytes that fit it; `None` of the last level, whose end the curve does not show.
    pub capacity: Option<f64>,
}

/// The levels of a curve of (size, latency), whose sizes ascend; from the fastest on.
pub fn levels(curve: &[(f64, f64)]) -> Vec<Level> {
    let curve = without_spikes(curve);
    let flats = distinct(&curve, flats(&curve));
    let mut levels: Vec<Level> = Vec::new();
    for (at, flat) in flats.iter().enumerate() {
        let latency = flat.latency(&curve);
        let capacity = flats.get(at + 1).and_then(|next| {
            let step = latency + SHARE_OF_STEP * (next.latency(&curve) - latency);
            crossing(&curve[flat.first..], step.min(latency * RISE))
        });
        levels.push(Level { latency, capacity });
    }
    levels
}

/// The curve without disturbances, which only ever make a load slower: a size is not slower than any larger one.
fn without_spikes(curve: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut least = f64::INFINITY;
    let mut clean: Vec<(f64, f64)> = curve
        .iter()
        .rev()
        .map(|&(size, latency)| {
            least = least.min(latency);
            (size, least)
        })
        .collect();
    clean.reverse();
    clean
}

/// Consecutive points of about the same latency.
#[derive(Debug, Clone, Copy)]
struct Flat {
    first: usize,
    last: usize,
}

impl Flat {
    fn doublings(&self, curve: &[(f64, f64)]) -> f64 {
        (curve[self.last].0 / curve[self.first].0).log2()
    }

    /// The latency in its middle.
    fn latency(&self, curve: &[(f64, f64)]) -> f64 {
        curve[usize::midpoint(self.first, self.last)].1
    }
}

/// The longest flat parts that do not overlap, in ascending order.
fn flats(curve: &[(f64, f64)]) -> Vec<Flat> {
    let from = |first: usize| {
        let limit = curve[first].1 * FLAT;
        let length = curve[first..].iter().take_while(|(_, latency)| *latency <= limit).count();
        Flat { first, last: first + length - 1 }
    };
    let mut candidates: Vec<Flat> = (0..curve.len()).map(from).collect();
    candidates.sort_by(|a, b| b.doublings(curve).total_cmp(&a.doublings(curve)));
    let mut chosen: Vec<Flat> = Vec::new();
    for flat in candidates {
        let is_apart = chosen.iter().all(|other| flat.last < other.first || flat.first > other.last);
        if is_apart && flat.doublings(curve) >= DOUBLINGS {
            chosen.push(flat);
        }
    }
    chosen.sort_by_key(|flat| flat.first);
    chosen
}

/// Flat parts of hardly different latency are one: of two such, the longer one stays.
fn distinct(curve: &[(f64, f64)], flats: Vec<Flat>) -> Vec<Flat> {
    let mut kept: Vec<Flat> = Vec::new();
    for flat in flats {
        match kept.last_mut() {
            Some(before) if flat.latency(curve) < before.latency(curve) * DISTINCT => {
                if flat.doublings(curve) > before.doublings(curve) {
                    *before = flat;
                }
            }
            _ => kept.push(flat),
        }
    }
    kept
}

/// The size at which the latency crosses `level`, between two points on a logarithmic scale.
fn crossing(curve: &[(f64, f64)], level: f64) -> Option<f64> {
    let beyond = curve.iter().position(|(_, latency)| *latency > level)?;
    let (size, latency) = curve[beyond];
    let Some(&(size_before, before)) = beyond.checked_sub(1).map(|at| &curve[at]) else {
        return Some(size);
    };
    let share = (level / before).ln() / (latency / before).ln();
    Some(size_before * (size / size_before).powf(share.clamp(0.0, 1.0)))
}
