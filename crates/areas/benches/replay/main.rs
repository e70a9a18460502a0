//! Replays runs with a virtual clock, on machines with different noise, by `runner::schedule`.
//!
//!     cargo bench -p oscost-areas --bench replay -- [--noise NAME] [--parts] [--quick] [--seeds N] [--budgets] [AREA...]
//!
//! Without options it prints a line for each area on each machine. `--parts`: the rule, whole and without each of its parts.
//! `--budgets`: runs of the default points with budgets from 100 ms to 10 minutes.

mod noise;
mod points;
mod rules;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use measure::stats::{RoundValue, faster_of_pairs, interval_of, median};

use noise::{Machine, Noise};
use points::{Point, Rounds, points_of};
use rules::{Made, Part, Plan, Rule, Todo};

/// The precisions of a plan.
const PRECISION: f64 = 0.005;
const WAITING_PRECISION: f64 = 0.03;
const TRIAL_PRECISION: f64 = 0.15;

/// The parts of the rule.
const PARTS: [Part; 5] =
    [Part::Waiting, Part::MoreRounds, Part::CheapestFirst, Part::Margin, Part::Apart];

struct Args {
    noises: Vec<Noise>,
    parts: bool,
    quick: bool,
    budgets: bool,
    seeds: u64,
    areas: Vec<String>,
}

fn args() -> Args {
    let mut args = Args {
        noises: Noise::ALL.to_vec(),
        parts: false,
        quick: false,
        budgets: false,
        seeds: 5,
        areas: Vec::new(),
    };
    let mut given = std::env::args().skip(1);
    while let Some(word) = given.next() {
        match word.as_str() {
            "--bench" => {} // cargo gives this option
            "--parts" => args.parts = true,
            "--quick" => args.quick = true,
            "--budgets" => args.budgets = true,
            "--seeds" => {
                let count = given.next().and_then(|count| count.parse().ok());
                args.seeds = count.unwrap_or_else(|| panic!("--seeds takes a number"));
            }
            "--noise" => {
                let name = given.next().unwrap_or_default();
                args.noises.retain(|noise| noise.name() == name);
                assert!(!args.noises.is_empty(), "there is no noise {name:?}");
            }
            area => args.areas.push(area.to_owned()),
        }
    }
    args
}

fn main() {
    areas::install();
    let args = args();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/replay/runs");
    let run = |name: &str| folder.join(format!("zen4-{name}.csv.gz"));
    let further: Vec<PathBuf> = (1..=4).map(|n| run(&format!("quick-{n}"))).collect();
    let mut points = points_of(&run("default"), &further);
    points.retain(|point| {
        args.areas.is_empty() || args.areas.iter().any(|area| area == point.area())
    });
    if args.budgets {
        return budgets(&points, &args);
    }
    for &noise in &args.noises {
        if args.parts {
            of_parts(&points, noise, &args);
        } else {
            by_area(&points, noise, &args);
        }
    }
}

/// A plan for these points.
fn plan_of(points: &[Point], quick: bool, seed: u64) -> Plan {
    let sampled = points.iter().filter(|point| point.rounds != Rounds::Trials).count() as u64;
    let sampling_ms = match (sampled, quick) {
        (0, _) => 0,
        (count, true) => (count * 160).clamp(5_000, 20_000),
        (count, false) => (count * 500).clamp(12_000, 80_000),
    };
    let trials = points.iter().filter(|point| point.rounds == Rounds::Trials);
    let trying: Duration = trials.map(|point| point.took * 6).sum();
    let budget = Duration::from_millis(sampling_ms) + trying;
    Plan {
        precision: PRECISION,
        waiting_precision: WAITING_PRECISION,
        trial_precision: TRIAL_PRECISION,
        budget,
        rounds_at_least: if quick { 6 } else { 12 },
        trials: 6,
        seed,
    }
}

/// The result of a replayed run.
struct Replayed {
    points: Vec<Figure>,
    took: Duration,
    waited: Duration,
}

/// The result for one point.
#[derive(Clone)]
struct Figure {
    rounds: usize,
    disturbed: Duration,
    took: Duration,
    /// Wanted half-width of the interval.
    wanted: f64,
    /// The interval, if there is one.
    interval: Option<measure::stats::Interval>,
}

fn replay(mut rule: Rule, points: &[Point], noise: Noise, seed: u64) -> Replayed {
    let mut machine = Machine::new(noise, seed);
    let (mut now, mut waited) = (Duration::ZERO, Duration::ZERO);
    let mut made: Vec<Vec<Made>> = vec![Vec::new(); points.len()];
    loop {
        let groups = match rule.next(now) {
            Todo::Done => break,
            Todo::WaitUntil(moment) => {
                now = now.max(moment);
                continue;
            }
            Todo::Rounds(groups) => groups,
        };
        for group in groups {
            if !rule.may_begin(now) {
                continue;
            }
            for which in group {
                let wait = rule.may_wait(now).min(machine.quiet_in(now));
                rule.waited(wait);
                (now, waited) = (now + wait, waited + wait);
                let point = &points[which];
                let seen = machine.round(point, now);
                let value = RoundValue::exact(seen.value);
                let round = Made { value, is_quiet: seen.is_quiet, began: now, took: seen.took };
                made[which].push(round.clone());
                rule.made(which, round);
                now += seen.took;
            }
        }
    }
    let figures = points.iter().zip(&made).map(|(point, made)| figure(point, made, seed));
    Replayed { points: figures.collect(), took: now, waited }
}

/// The interval of a point from its quiet rounds. A figure of fewer than three rounds is marked as disturbed.
fn figure(point: &Point, made: &[Made], seed: u64) -> Figure {
    let quiet = made.iter().filter(|made| made.is_quiet);
    let values = observed(point, quiet.map(|made| made.value.clone()).collect());
    let disturbed = made.iter().filter(|made| !made.is_quiet).map(|made| made.took);
    Figure {
        rounds: made.len(),
        disturbed: disturbed.sum(),
        took: made.iter().map(|made| made.took).sum(),
        wanted: match point.rounds {
            Rounds::Pairs => PRECISION,
            Rounds::Single => WAITING_PRECISION,
            Rounds::Contended | Rounds::Trials => TRIAL_PRECISION,
        },
        interval: (values.len() >= 3).then(|| interval_of(&values, seed)),
    }
}

fn observed(point: &Point, rounds: Vec<RoundValue>) -> Vec<RoundValue> {
    if point.rounds == Rounds::Pairs { faster_of_pairs(rounds) } else { rounds }
}

/// The true figure of each point on a machine with `noise`: from quiet rounds far apart.
fn truths(points: &[Point], noise: Noise) -> Vec<f64> {
    let mut machine = Machine::new(noise, 99);
    let mut all: Vec<Vec<f64>> = vec![Vec::new(); points.len()];
    for n in 0..1_200_u64 {
        for (point, values) in points.iter().zip(&mut all) {
            // The true figure excludes disturbances by others, but not the machine's own states and drift.
            let calm = match noise {
                Noise::Neighbour | Noise::Load(_) => Noise::Idle,
                other => other,
            };
            machine = if n == 0 && calm != noise { Machine::new(calm, 99) } else { machine };
            values.push(machine.round(point, Duration::from_millis(n * 7_919)).value);
        }
    }
    let figures = points.iter().zip(all).map(|(point, values)| {
        let rounds = values.into_iter().map(RoundValue::exact).collect();
        let mut values: Vec<f64> =
            observed(point, rounds).iter().map(|round| round.value).collect();
        median(&mut values)
    });
    figures.collect()
}

/// Sums over several runs, of the points of one area or of all areas.
#[derive(Default)]
struct Sum {
    widths: Vec<f64>,
    covered: usize,
    judged: usize,
    points: usize,
    rounds: usize,
    took: Duration,
    disturbed: Duration,
    without: usize,
    wide: usize,
}

impl Sum {
    fn add(&mut self, figure: &Figure, truth: f64) {
        let width = figure.interval.map_or(f64::INFINITY, |interval| interval.half_width());
        self.wide += usize::from(width > figure.wanted);
        self.points += 1;
        self.rounds += figure.rounds;
        self.took += figure.took;
        self.disturbed += figure.disturbed;
        self.without += usize::from(figure.rounds == 0);
        if let Some(interval) = figure.interval {
            self.widths.push(interval.half_width());
            self.judged += 1;
            self.covered += usize::from(interval.low <= truth && truth <= interval.high);
        }
    }

    fn row(&mut self, name: &str, seeds: u64) -> String {
        self.widths.sort_unstable_by(f64::total_cmp);
        let at = |p: f64| {
            let at = (self.widths.len() as f64 * p) as usize;
            self.widths.get(at).map_or("-".to_owned(), |width| format!("{:.2} %", width * 100.0))
        };
        format!(
            "{name:<20}{:>6}{:>8.1}{:>9}{:>9}{:>6.1} %{:>8.1}{:>7.1}{:>9}{:>8}",
            self.points as u64 / seeds,
            self.rounds as f64 / self.points.max(1) as f64,
            at(0.5),
            at(0.9),
            100.0 * self.wide as f64 / self.points.max(1) as f64,
            self.took.as_secs_f64() / seeds as f64,
            self.disturbed.as_secs_f64() / seeds as f64,
            match self.judged {
                0 => "-".to_owned(),
                judged => format!("{:.1} %", 100.0 * self.covered as f64 / judged as f64),
            },
            self.without as u64 / seeds,
        )
    }
}

const HEAD: &str = "                         points   rounds   median±      90%±    time s   lost s   coverage  no round";

/// The sums over the seeds for each area and for all, and a run's mean time and waiting time.
fn replayed<'p>(
    points: &'p [Point],
    noise: Noise,
    args: &Args,
    rule: impl Fn(u64) -> Rule,
) -> (BTreeMap<&'p str, Sum>, Sum, [f64; 2]) {
    let truths = truths(points, noise);
    let (mut areas, mut all) = (BTreeMap::<&str, Sum>::new(), Sum::default());
    let (mut took, mut waited) = (Duration::ZERO, Duration::ZERO);
    for seed in 0..args.seeds {
        let replayed = replay(rule(seed), points, noise, seed);
        (took, waited) = (took + replayed.took, waited + replayed.waited);
        for ((point, figure), truth) in points.iter().zip(&replayed.points).zip(&truths) {
            areas.entry(point.area()).or_default().add(figure, *truth);
            all.add(figure, *truth);
        }
    }
    (areas, all, [took, waited].map(|time| time.as_secs_f64() / args.seeds as f64))
}

fn kinds(points: &[Point]) -> Vec<Rounds> {
    points.iter().map(|point| point.rounds).collect()
}

/// Prints a line for each area.
fn by_area(points: &[Point], noise: Noise, args: &Args) {
    let kinds = kinds(points);
    let began = Instant::now();
    let rule = |seed| Rule::new(plan_of(points, args.quick, seed), &kinds, None);
    let (areas, mut all, [took, waited]) = replayed(points, noise, args, rule);
    println!(
        "\n{}: {took:.0} s a run, {waited:.1} s of them waiting; a replay takes {:.2} s",
        noise.name(),
        began.elapsed().as_secs_f64() / args.seeds as f64,
    );
    println!("{HEAD}");
    for (area, mut sum) in areas {
        println!("{}", sum.row(area, args.seeds));
    }
    println!("{}", all.row("all", args.seeds));
}

/// Prints a line for all points.
fn line(name: &str, points: &[Point], noise: Noise, args: &Args, rule: impl Fn(u64) -> Rule) {
    let (_, mut all, [took, waited]) = replayed(points, noise, args, rule);
    println!("{}{took:>8.1}{waited:>8.1}", all.row(name, args.seeds));
}

/// Prints the rule, whole and without each of its parts.
fn of_parts(points: &[Point], noise: Noise, args: &Args) {
    println!("\n{}\n{HEAD}   run s  wait s", noise.name());
    let kinds = kinds(points);
    for without in std::iter::once(None).chain(PARTS.map(Some)) {
        let name = without.map_or("the whole rule".to_owned(), |part| format!("- {part:?}"));
        let rule = |seed| Rule::new(plan_of(points, args.quick, seed), &kinds, without);
        line(&name, points, noise, args, rule);
    }
}

/// Prints runs with given budgets: points left out, and intervals.
fn budgets(points: &[Point], args: &Args) {
    let kinds = kinds(points);
    for &noise in &args.noises {
        println!("\n{}\n{HEAD}   run s  wait s", noise.name());
        for ms in [100, 300, 1_000, 3_000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000] {
            let budget = Duration::from_millis(ms);
            let plan = |seed| Plan { budget, ..plan_of(points, args.quick, seed) };
            let name = format!("{:.1} s", budget.as_secs_f64());
            line(&name, points, noise, args, |seed| Rule::new(plan(seed), &kinds, None));
        }
    }
}
