//! Systems in turn on machines that change: how often equal systems get a verdict at some look, and how many pairs decide.

use results::LEAST_ROUNDS;

use super::*;
use simulated::outlier;

/// State of a machine in the course of a run.
struct Machine {
    kind: Kind,
    /// Present factor by which the machine is slower, number of blocks that this lasts, and whether the sentinel shows it.
    slower: f64,
    left: u32,
    is_disturbed: bool,
    round: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Idle,
    /// Another virtual machine on the core, for some rounds at a time.
    Neighbour,
    /// A number of programs for each CPU: a round takes up to that many times as long.
    Load(u32),
    /// A core whose entry into the kernel has three costs, which no sentinel shows.
    States,
    /// A processor that becomes slower by a tenth in the course of the run.
    Drift,
}

impl Machine {
    fn new(kind: Kind) -> Self {
        Self { kind, slower: 1.0, left: 0, is_disturbed: false, round: 0 }
    }

    /// The factor on the time of the next block, and whether the block is disturbed.
    fn next(&mut self, rng: &mut StdRng) -> (f64, bool) {
        self.round += 1;
        if self.left == 0 {
            self.left = rng.random_range(1..8);
            (self.slower, self.is_disturbed) = match self.kind {
                Kind::Idle => (1.0, rng.random::<f64>() < 0.1),
                Kind::Neighbour => match rng.random::<f64>() < 0.6 {
                    true => (1.2 + 0.3 * rng.random::<f64>(), true),
                    false => (1.0, false),
                },
                Kind::Load(programs) => (1.0 + f64::from(programs - 1) * rng.random::<f64>(), true),
                Kind::States => ([1.0, 1.026, 1.06][rng.random_range(0..3)], false),
                Kind::Drift => (1.0, false),
            };
        }
        self.left -= 1;
        let drifted = if self.kind == Kind::Drift { 0.003 * f64::from(self.round) } else { 0.0 };
        (self.slower + drifted, self.is_disturbed)
    }

    /// The independent factor on a single round.
    fn own(&self, rng: &mut StdRng) -> f64 {
        match self.kind {
            Kind::Load(programs) => {
                let waits = rng.random::<f64>() < 0.3;
                let waited = if waits { -(1.0 - rng.random::<f64>()).ln() } else { 0.0 };
                (1.0 + waited * f64::from(programs) / 10.0) * (0.05 * noise(rng)).exp()
            }
            _ => (0.005 * noise(rng)).exp() * outlier(rng).powf(0.3),
        }
    }
}

/// Rounds of a row, each with whether it was disturbed.
type Row = Vec<(f64, bool)>;

/// A comparison of rows: the second system's true factor of each row, and the factor that load adds.
struct Comparison<'f> {
    kind: Kind,
    factors: &'f [f64],
    slower_beside_load: f64,
}

impl Comparison<'_> {
    /// Rows of both systems with this number of blocks.
    fn rows(&self, blocks: usize, rng: &mut StdRng) -> [Vec<Row>; 2] {
        let mut both = [Vec::new(), Vec::new()];
        for factor in self.factors {
            let mut machine = Machine::new(self.kind);
            let mut sides = [Vec::new(), Vec::new()];
            for _ in 0..blocks {
                let (state, is_disturbed) = machine.next(rng);
                let beside_load = if is_disturbed { self.slower_beside_load } else { 1.0 };
                for (side, factor) in sides.iter_mut().zip([1.0, factor * beside_load]) {
                    side.push((100.0 * factor * state * machine.own(rng), is_disturbed));
                }
            }
            for (rows, side) in both.iter_mut().zip(sides) {
                rows.push(side);
            }
        }
        both
    }

    /// The comparison by the first blocks of these rows.
    fn looked_at(both: &[Vec<Row>; 2], blocks: usize) -> Vec<Compared> {
        let [base, new] = both.each_ref().map(|rows| {
            let rows = rows.iter().enumerate();
            run(rows.map(|(at, row)| result_of(&format!("a/c{at}"), &row[..blocks])).collect())
        });
        compared(&starts_of(base, "a", 0), &starts_of(new, "b", 40))
    }
}

/// A result with these rounds, some of which were disturbed.
fn result_of(case: &str, rounds: &[(f64, bool)]) -> CaseResult {
    let all: Vec<f64> = rounds.iter().map(|(value, _)| *value).collect();
    let quiet: Vec<f64> = rounds.iter().filter(|(_, d)| !d).map(|(value, _)| *value).collect();
    let is_disturbed = quiet.len() < 3;
    CaseResult {
        disturbed: is_disturbed,
        all_round_values: all.clone(),
        ..result(case, if is_disturbed { all } else { quiet })
    }
}

/// Adds start times to a run: a round every 100 ms, those of the second system `later` ms.
fn starts_of(run: Document, id: &str, later: i64) -> Document {
    let mut run = in_turn(run, id, later);
    for result in &mut run.results {
        let all = &result.all_round_values;
        result.all_round_starts_ms =
            (0..all.len()).map(|round| 100 * round as i64 + later).collect();
        let start = |value: &f64| {
            let at = all.iter().position(|other| other == value).expect("one of all");
            result.all_round_starts_ms[at]
        };
        result.round_starts_ms = result.round_values.iter().map(start).collect();
    }
    run
}

const LOOKS: [usize; 6] = [6, 8, 12, 18, 24, 30];
const KINDS: [Kind; 6] =
    [Kind::Idle, Kind::Neighbour, Kind::Load(2), Kind::Load(10), Kind::States, Kind::Drift];

#[test]
fn equal_systems_get_no_verdict_at_any_look() {
    const TRIES: usize = 100;
    for (seed, kind) in (100u64..).zip(KINDS) {
        let mut rng = StdRng::seed_from_u64(seed);
        let comparison = Comparison { kind, factors: &[1.0; 20], slower_beside_load: 1.0 };
        let wrong = (0..TRIES).filter(|_| {
            let rows = comparison.rows(30, &mut rng);
            LOOKS.iter().any(|&blocks| {
                let rows = Comparison::looked_at(&rows, blocks);
                rows.iter().any(|row| row.verdict.is_difference())
            })
        });
        let wrong = wrong.count();
        println!(
            "{kind:?}: a wrong verdict in {wrong} of {TRIES} comparisons of 20 rows, at six looks"
        );
        // The limit is 5 % and three standard errors of the simulation.
        assert!(wrong as f64 <= TRIES as f64 * (0.05 + 3.0 * 0.0218), "{kind:?}: {wrong}");
    }
}

/// Regression test for four systems in turn beside a load of 5 on two CPUs: all 138 rows were undecided, with ratios of 7 to 13.
#[test]
fn large_differences_are_decided_by_six_pairs_on_any_machine() {
    const TRIES: usize = 30;
    for (seed, kind) in (200u64..).zip(KINDS) {
        let mut rng = StdRng::seed_from_u64(seed);
        let comparison = Comparison { kind, factors: &[3.0; 10], slower_beside_load: 1.0 };
        let mut decided = 0;
        for _ in 0..TRIES {
            let rows = comparison.rows(LEAST_ROUNDS, &mut rng);
            let rows = Comparison::looked_at(&rows, LEAST_ROUNDS);
            decided += rows.iter().filter(|row| row.verdict == Verdict::Slower).count();
        }
        println!("{kind:?}: {decided} of {} ratios of 3 decided by six pairs", TRIES * 10);
        // Beside ten programs, adjacent rounds differ by a factor of 1.6.
        let tenths = if kind == Kind::Load(10) { 4 } else { 9 };
        assert!(decided * 10 >= TRIES * 10 * tenths, "{kind:?}: {decided}");
    }
}

/// Checks that pairing removes noise, not bias: the intervals contain the time that load adds to one side, and the note of each
/// verdict says so. The ratio of the figures, whose rounds were not made next to each other, varies by more than the intervals
/// of the blocks, and is within them nevertheless.
#[test]
fn load_that_slows_one_side_more_is_in_the_ratio_and_said() {
    let mut rng = StdRng::seed_from_u64(300);
    for added in [1.05, 1.2] {
        let kind = Kind::Load(4);
        let comparison = Comparison { kind, factors: &[1.0; 20], slower_beside_load: added };
        let rows = comparison.rows(30, &mut rng);
        let rows = Comparison::looked_at(&rows, 30);
        let differing: Vec<&Compared> =
            rows.iter().filter(|row| row.verdict.is_difference()).collect();
        println!(
            "load that slows one side {added} times more: {} of 20 rows differ",
            differing.len()
        );
        assert!(differing.iter().all(|row| row.note == crate::change::BESIDE_LOAD), "{rows:?}");
        let ratios: Vec<crate::Ratio> = rows.iter().filter_map(|row| row.ratio).collect();
        let contain = |value: &dyn Fn(&crate::Ratio) -> f64| {
            ratios.iter().filter(|ratio| (ratio.low..=ratio.high).contains(&value(ratio))).count()
        };
        assert_eq!([contain(&|_| added), contain(&|ratio| ratio.mid)], [20, 20], "{ratios:?}");
        assert!(ratios.iter().all(|ratio| ratio.high / ratio.low < 2.0), "{ratios:?}");
    }
}
