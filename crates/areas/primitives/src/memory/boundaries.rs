//! Finds the levels of memory and their capacities in a curve of load latency over size.
//!
//! The latency of dependent loads is nearly constant as long as all lines fit a level, and rises to that of the next level
//! beyond. Between two levels it depends on how lines are replaced: under LRU it jumps at the capacity, under random replacement
//! it rises slowly, and where pages lie unevenly in a physically indexed cache it rises before the capacity.

/// Maximum ratio of two latencies of one level.
const FLAT: f64 = 1.2;
/// Minimum ratio of the latencies of two levels.
const DISTINCT: f64 = 1.3;
/// Minimum width of a level, in doublings of the size.
const DOUBLINGS: f64 = 0.7;
/// Share of the step to the next level's latency at which a level's capacity is reached.
const SHARE_OF_STEP: f64 = 0.3;
/// Multiple of a level's latency at which its capacity is reached at the latest: the next level may have no flat part, such as a
/// cache shared with other machines.
const RISE: f64 = 1.6;

/// A level of memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Latency of the level, in the unit of the curve.
    pub latency: f64,
    /// Capacity in bytes; `None` for the last level, whose end the curve does not show.
    pub capacity: Option<f64>,
}

/// The levels of a curve of (size, latency) with ascending sizes, the fastest first.
pub fn levels(curve: &[(f64, f64)]) -> Vec<Level> {
    let curve = without_spikes(curve);
    let mut flats = distinct(&curve, flats(&curve));
    // If the curve still rises at its end, the last point stands for a level that the curve does not reach.
    let end = curve.len().saturating_sub(1);
    let rises = |flat: &Flat| flat.latency(&curve) * DISTINCT < curve[end].1;
    if flats.last().is_some_and(rises) {
        flats.push(Flat { first: end, last: end });
    }
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

/// The curve without disturbances, which only ever make a load slower: each latency is at most that of any larger size.
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

    /// Latency in the middle of the part.
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
        let is_apart =
            chosen.iter().all(|other| flat.last < other.first || flat.first > other.last);
        if is_apart && flat.doublings(curve) >= DOUBLINGS {
            chosen.push(flat);
        }
    }
    chosen.sort_by_key(|flat| flat.first);
    chosen
}

/// Merges flat parts whose latencies hardly differ: the longer one of two stays.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Latencies recorded on an AMD EPYC (Zen 3) virtual machine, which has a part of the processor's 32 MiB last-level cache.
    const VIRTUAL: &str = "1.24 1.24 1.23 1.23 1.24 1.23 1.24 1.24 1.24 1.24 1.24 1.24 1.33 3.62 3.70 3.71 3.71 \
         3.65 3.70 3.71 3.71 3.70 3.71 3.70 3.73 3.78 3.80 5.19 6.11 7.21 10.83 12.59 12.93 \
         12.70 13.44 13.05 13.06 13.19 93.94 13.08 113.63 13.28 13.07 13.88 13.07 13.07 21.71 \
         13.22 23.99 53.38 33.03 29.78 98.26 55.08 61.88 98.32 94.39";
    /// Latencies recorded on that virtual machine while eight other programs ran on its two CPUs.
    const NOISY: &str = "1.24 1.24 1.23 1.23 1.24 1.24 1.24 1.24 1.24 1.24 1.24 1.24 1.34 3.61 3.70 3.71 3.71 \
         3.64 3.70 3.71 3.71 3.70 3.71 3.70 3.75 4.12 5.07 5.30 5.90 6.98 8.78 11.87 11.95 \
         12.87 12.71 12.65 12.63 73.12 437.41 302.84 216.91 35.37 89.07 102.80 93.40 70.87 \
         75.43 95.28 94.76 426.73 52.99 83.25 89.26 429.84 93.91 90.19 93.69";
    /// Latencies of loads from pages on that virtual machine, from 32 KiB on, without the latency of the caches: the TLBs have 64
    /// and 2,048 entries.
    const PAGES: &str = "1.24 1.23 1.23 1.24 1.23 1.23 1.24 1.24 1.23 1.24 1.23 1.23 1.25 3.39 3.39 3.39 3.39 \
         3.39 3.39 3.39 3.39 3.39 3.39 3.39 3.34 3.78 3.71 3.69 3.69 3.75 9.87 20.87 26.76 \
         30.85 37.24 46.19 49.13 46.81 47.21 50.26 53.47";

    const KIB: f64 = 1024.0;

    /// Points of a recorded curve, which has four latencies per doubling of the size.
    fn recorded(latencies: &str, first: f64) -> Vec<(f64, f64)> {
        let latencies = latencies.split(' ').map(|text| text.parse::<f64>().expect("a latency"));
        latencies.enumerate().map(|(at, ns)| (first * 2f64.powf(at as f64 / 4.0), ns)).collect()
    }

    fn assert_close(level: &Level, kib: f64) {
        let found = level.capacity.expect("an end") / KIB;
        assert!(found < kib * 1.5 && found > kib / 1.5, "{found} KiB instead of {kib} KiB");
    }

    #[test]
    fn the_caches_of_a_virtual_machine_are_found() {
        let found = levels(&recorded(VIRTUAL, 4.0 * KIB));
        assert_close(&found[0], 32.0);
        assert_close(&found[1], 512.0);
        // The machine has less of the last-level cache than it reports.
        let llc = found[2].capacity.expect("an end") / KIB;
        assert!((4_096.0..32_768.0).contains(&llc), "{llc} KiB");
        assert!((found[0].latency - 1.24).abs() < 0.02, "{found:?}");
        assert!((found[1].latency - 3.7).abs() < 0.1, "{found:?}");
    }

    #[test]
    fn other_programs_do_not_hide_them() {
        let found = levels(&recorded(NOISY, 4.0 * KIB));
        assert_close(&found[0], 32.0);
        assert_close(&found[1], 512.0);
        assert!(found.len() > 2 && found.last().is_some_and(|level| level.capacity.is_none()));
    }

    #[test]
    fn the_reach_of_tlbs_is_found() {
        let found = levels(&recorded(PAGES, 32.0 * KIB));
        assert_close(&found[0], 64.0 * 4.0);
        let second = found[1].capacity.expect("an end") / KIB;
        assert!((4_096.0..12_288.0).contains(&second), "{second} KiB");
    }

    /// Capacities in KiB and latencies in ns; the last latency is that of memory.
    struct Machine {
        kib: &'static [f64],
        ns: &'static [f64],
    }

    /// Replacement policy of a cache that is too small for a cycle of lines.
    #[derive(Clone, Copy, Debug)]
    enum Replaces {
        /// Replaces the least recently used line, which is always the next one needed.
        Oldest,
        /// Replaces a random line.
        Random,
    }

    fn curve(machine: &Machine, replaces: Replaces) -> Vec<(f64, f64)> {
        let latency = |size: f64| {
            let mut latency = *machine.ns.last().expect("memory");
            for (&kib, &ns) in machine.kib.iter().zip(machine.ns).rev() {
                let capacity = kib * KIB;
                let hits = match replaces {
                    _ if size <= capacity => 1.0,
                    Replaces::Oldest => 0.0,
                    Replaces::Random => capacity / size,
                };
                latency = hits * ns + (1.0 - hits) * latency;
            }
            latency
        };
        let last = machine.kib.last().expect("a cache") * KIB * 4.0;
        let sizes = (0..).map(|at| 4.0 * KIB * 2f64.powf(f64::from(at) / 4.0));
        sizes.take_while(|&size| size <= last).map(|size| (size, latency(size))).collect()
    }

    #[test]
    fn caches_of_other_processors_are_found_whatever_they_replace() {
        let machines = [
            // The machines are Skylake, Sapphire Rapids, Zen 4, Neoverse N1, and Apple M1 without its last level.
            Machine { kib: &[32.0, 256.0, 8_192.0], ns: &[1.0, 3.0, 10.0, 70.0] },
            Machine { kib: &[48.0, 2_048.0, 61_440.0], ns: &[1.3, 4.0, 30.0, 110.0] },
            Machine { kib: &[32.0, 1_024.0, 32_768.0], ns: &[0.8, 2.8, 10.0, 90.0] },
            Machine { kib: &[64.0, 1_024.0, 32_768.0], ns: &[1.5, 4.2, 30.0, 100.0] },
            Machine { kib: &[128.0, 12_288.0], ns: &[1.0, 5.0, 100.0] },
            // A machine that gets no part of the last-level cache.
            Machine { kib: &[32.0, 512.0], ns: &[1.2, 3.7, 95.0] },
        ];
        for machine in &machines {
            for replaces in [Replaces::Oldest, Replaces::Random] {
                let found = levels(&curve(machine, replaces));
                println!("{:?} {replaces:?}: {found:?}", machine.kib);
                for (level, &kib) in found.iter().zip(machine.kib) {
                    assert_close(level, kib);
                }
                assert_eq!(found.len(), machine.kib.len() + 1, "{found:?}");
            }
        }
    }

    #[test]
    fn a_last_level_whose_share_changes_does_not_move_the_second() {
        // Beyond 512 KiB the latency rises all the way to that of memory.
        let machine = Machine { kib: &[32.0, 16_384.0], ns: &[1.2, 3.7, 95.0] };
        let rising = |size: f64| (8.0 * (size / (512.0 * KIB)).powf(0.6)).min(95.0);
        let curve: Vec<(f64, f64)> = curve(&machine, Replaces::Oldest)
            .into_iter()
            .map(|(size, ns)| (size, if size <= 512.0 * KIB { ns } else { rising(size) }))
            .collect();
        let found = levels(&curve);
        assert_close(&found[0], 32.0);
        assert_close(&found[1], 512.0);
    }

    #[test]
    fn a_curve_without_steps_has_one_level_and_none_has_no_level() {
        let flat: Vec<(f64, f64)> = (0..20).map(|at| (2f64.powi(at), 4.0)).collect();
        assert_eq!(levels(&flat), [Level { latency: 4.0, capacity: None }]);
        assert_eq!(levels(&[]), []);
        assert_eq!(levels(&[(4096.0, 1.0)]), []);
    }

    #[test]
    fn a_disturbed_point_is_no_step() {
        let mut curve: Vec<(f64, f64)> = (0..20).map(|at| (2f64.powi(at), 4.0)).collect();
        curve[7].1 = 400.0;
        curve[8].1 = 90.0;
        assert_eq!(levels(&curve), [Level { latency: 4.0, capacity: None }]);
    }
}
