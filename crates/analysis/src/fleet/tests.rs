//! Simulated fleets.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use results::{Interval, RunSummary, StoredPrediction};
use serde_json::json;
use simulated::run_summary;

use super::*;

/// A fleet to simulate. All deviations are shares.
struct Simulated {
    nodes: usize,
    visits: usize,
    /// Number of visits of each boot.
    visits_of_boot: usize,
    /// Between nodes, boots and visits, for all figures of a cause together.
    between_nodes: f64,
    between_boots: f64,
    between_visits: f64,
    /// Standard error of a run's figure, besides.
    rounds: f64,
    /// What runs know beforehand of the deviation between visits.
    known: f64,
    /// Whether entries cost one of two values, 5 % apart, drawn for each boot.
    has_states: bool,
}

const STEADY: Simulated = Simulated {
    nodes: 60,
    visits: 1,
    visits_of_boot: 1,
    between_nodes: 0.0,
    between_boots: 0.0,
    between_visits: 0.002,
    rounds: 0.001,
    known: 0.03,
    has_states: false,
};

/// Standard normal numbers.
fn normal(rng: &mut StdRng) -> f64 {
    // The sum of twelve uniform numbers from -0.5 to 0.5.
    (0..12).map(|_| rng.random_range(-0.5..0.5)).sum()
}

const CAUSES: usize = 3;
const POINTS_OF_CAUSE: usize = 6;

impl Simulated {
    /// The fleet. `worse` is the factor on a node's figures of a cause (0: user code, 1: entries, 2: memory), and `facts` are those of
    /// a node.
    fn fleet(
        &self,
        rng: &mut StdRng,
        worse: impl Fn(usize, usize) -> f64,
        facts: impl Fn(usize) -> Vec<(&'static str, String)>,
    ) -> Fleet {
        let mut runs = Vec::new();
        let points = CAUSES * POINTS_OF_CAUSE;
        let mut figures: Vec<Vec<(usize, RunFigure)>> = vec![Vec::new(); points];
        let mut made: Vec<(f64, usize, usize)> = Vec::new();
        for node in 0..self.nodes {
            for visit in 0..self.visits {
                made.push((visit as f64 * 86_400.0 + node as f64 * 30.0, node, visit));
            }
        }
        made.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut of_nodes: Vec<[f64; CAUSES]> = Vec::new();
        for _ in 0..self.nodes {
            of_nodes.push([(); CAUSES].map(|()| self.between_nodes * normal(rng)));
        }
        let mut of_boots: BTreeMap<(usize, usize), ([f64; CAUSES], bool)> = BTreeMap::new();
        for (began, node, visit) in made {
            let boot = visit / self.visits_of_boot;
            let (of_boot, state) = *of_boots.entry((node, boot)).or_insert_with(|| {
                ([(); CAUSES].map(|()| self.between_boots * normal(rng)), rng.random())
            });
            let of_visit = [(); CAUSES].map(|()| self.between_visits * normal(rng));
            for (point, figures) in figures.iter_mut().enumerate() {
                let cause = point / POINTS_OF_CAUSE;
                let state = if self.has_states && state && cause == 1 { 0.05 } else { 0.0 };
                let by = of_nodes[node][cause]
                    + of_boot[cause]
                    + of_visit[cause]
                    + state
                    + self.rounds * normal(rng);
                let cost = 100.0 * (1.0 + point as f64) * worse(node, cause) * by.exp();
                figures.push((runs.len(), self.figure(cost, cause)));
            }
            let uptime = 1_000.0 + (visit % self.visits_of_boot) as f64 * 86_400.0;
            runs.push(run(node, began, uptime, facts(node)));
        }
        let metrics: Vec<MetricSeries> = figures
            .into_iter()
            .enumerate()
            .map(|(point, figures)| MetricSeries {
                point: PointKey { case: format!("area/case-{point}"), params: BTreeMap::new() },
                metric: "time".to_owned(),
                unit: "ns/op".to_owned(),
                better: Direction::Lower,
                figures: figures.into_iter().collect(),
            })
            .collect();
        Fleet::of(&runs, &metrics, &["microcode", "release"])
    }

    fn figure(&self, cost: f64, cause: usize) -> RunFigure {
        let around = |cost: f64| Interval {
            median: cost,
            low: cost * (-self.rounds * t_quantile(0.975, 7.0)).exp(),
            high: cost * (self.rounds * t_quantile(0.975, 7.0)).exp(),
        };
        RunFigure {
            figure: around(cost),
            cycles: (cause < 2).then(|| around(3.0 * cost)),
            rounds: 8,
            syscalls: Some(if cause == 0 { 0.0 } else { 2.0 }),
            voluntary_switches: None,
            is_sampled: true,
            is_doubtful: false,
            next: Some(StoredPrediction {
                low: 0.0,
                high: 0.0,
                deviation: self.known,
                degrees: 4.0,
            }),
        }
    }
}

fn run(node: usize, began: f64, uptime: f64, facts: Vec<(&'static str, String)>) -> HistoryRun {
    let mut machine = serde_json::Map::new();
    machine.insert("uptime_seconds".to_owned(), json!(uptime));
    for (fact, value) in facts {
        machine.insert(fact.to_owned(), value.into());
    }
    HistoryRun {
        summary: RunSummary {
            tags: [(NODE_TAG.to_owned(), format!("n{node:02}"))].into(),
            ..run_summary(&format!("{node}-{began}"))
        },
        machine,
        began,
    }
}

fn no_facts(_node: usize) -> Vec<(&'static str, String)> {
    Vec::new()
}

fn named(fleet: &Fleet) -> BTreeSet<usize> {
    let standings = fleet.standings();
    standings.iter().flat_map(|one| &one.strangers).map(|stranger| stranger.node).collect()
}

/// Three levels of noise, the greatest of which takes several visits to tell 3 % from it.
fn levels_of_noise() -> [Simulated; 3] {
    [
        Simulated { between_visits: 0.001, ..STEADY },
        Simulated { between_visits: 0.004, ..STEADY },
        Simulated { between_visits: 0.01, visits: 6, ..STEADY },
    ]
}

#[test]
fn nodes_that_are_three_percent_slow_are_named() {
    const FLEETS: u64 = 10;
    for (level, simulated) in levels_of_noise().iter().enumerate() {
        let mut found = 0;
        for seed in 0..FLEETS {
            let mut rng = StdRng::seed_from_u64(seed);
            let worse = |node, _| if [7, 31, 44].contains(&node) { 1.03 } else { 1.0 };
            let fleet = simulated.fleet(&mut rng, worse, no_facts);
            found += usize::from(named(&fleet).is_superset(&BTreeSet::from([7, 31, 44])));
        }
        eprintln!("level {level}: all found in {found} of {FLEETS}");
        assert!(found as u64 >= FLEETS * 9 / 10, "level {level}: {found} of {FLEETS}");
    }
}

#[test]
fn fleets_without_differences_have_no_strangers() {
    const FLEETS: u64 = 60;
    let [one, two, three] = levels_of_noise();
    let states = Simulated { has_states: true, ..STEADY };
    let few = |nodes| Simulated { nodes, known: 0.004, between_visits: 0.004, ..STEADY };
    let kinds = [one, two, three, states, few(3), few(5), few(8), few(12), few(20), few(30)];
    for (kind, simulated) in kinds.iter().enumerate() {
        let mut any = 0;
        for seed in 0..FLEETS {
            let mut rng = StdRng::seed_from_u64(1_000 + seed);
            any += usize::from(!named(&simulated.fleet(&mut rng, |_, _| 1.0, no_facts)).is_empty());
        }
        eprintln!("kind {kind}: {any} of {FLEETS}");
        assert!(any as u64 <= FLEETS / 20, "kind {kind}: {any} of {FLEETS}");
    }
}

#[test]
fn one_of_three_nodes_at_half_its_speed_is_named() {
    let simulated = Simulated { nodes: 3, ..STEADY };
    for seed in 0..20 {
        let mut rng = StdRng::seed_from_u64(seed);
        let worse = |node, _| if node == 1 { 2.0 } else { 1.0 };
        let fleet = simulated.fleet(&mut rng, worse, no_facts);
        let standings = fleet.standings();
        let [stranger] = &standings[0].strangers[..] else { panic!("{standings:?}") };
        assert_eq!((stranger.node, &stranger.group), (1, &Group::All));
        assert!((1.9..2.1).contains(&stranger.factor.mid), "{stranger:?}");
        assert!(stranger.factor.low < 2.0 && 2.0 < stranger.factor.high, "{stranger:?}");
    }
}

/// Checks the sentence that one wants to read: the nodes with a microcode pay more for entries, and for nothing else.
#[test]
fn a_fact_that_costs_entries_is_found_with_its_cycles() {
    let simulated = Simulated { between_visits: 0.004, ..STEADY };
    let microcode = |node: usize| if node.is_multiple_of(2) { "0x2b" } else { "0x2a" };
    for seed in 0..10 {
        let mut rng = StdRng::seed_from_u64(seed);
        let worse = |node: usize, cause| {
            if cause == 1 && microcode(node) == "0x2b" { 1.02 } else { 1.0 }
        };
        let facts = |node: usize| {
            let alias = if microcode(node) == "0x2b" { "6.12" } else { "6.1" };
            vec![("microcode", microcode(node).to_owned()), ("release", alias.to_owned())]
        };
        let fleet = simulated.fleet(&mut rng, worse, facts);
        let explanations = fleet.explanations(&fleet.standings());
        let [explanation] = &explanations[..] else { panic!("{explanations:?}") };
        assert_eq!(explanation.facts, ["microcode", "release"]);
        assert_eq!(explanation.values[0].0, "0x2b");
        let effect = &explanation.effects[0];
        assert_eq!(effect.group, Group::Cause(Cause::Entry));
        // The first value is that of as many nodes, and of the first node.
        assert!(effect.factors[0].mid < 0.99 && effect.factors[0].high < 1.0, "{effect:?}");
        // 2 % of 3 cycles per ns of 700 to 1,200 ns, by two calls.
        let cycles = effect.cycles_per_entry[0].expect("entries are counted");
        assert!((-36.0..=-21.0).contains(&cycles), "{cycles}");
        assert!(named(&fleet).is_empty());
    }
}

#[test]
fn facts_without_effect_explain_nothing() {
    const FLEETS: u64 = 40;
    let mut any = 0;
    for seed in 0..FLEETS {
        let mut rng = StdRng::seed_from_u64(seed);
        let facts = |node: usize| {
            vec![("microcode", format!("0x{}", node % 3)), ("release", format!("6.{}", node / 20))]
        };
        let fleet = STEADY.fleet(&mut rng, |_, _| 1.0, facts);
        any += usize::from(!fleet.explanations(&fleet.standings()).is_empty());
    }
    assert!(any as u64 <= FLEETS / 20, "{any} of {FLEETS}");
}

#[test]
fn deviations_are_found_at_their_level() {
    let simulated = Simulated {
        visits: 6,
        visits_of_boot: 2,
        between_nodes: 0.02,
        between_boots: 0.01,
        between_visits: 0.005,
        rounds: 0.002,
        ..STEADY
    };
    let mut rng = StdRng::seed_from_u64(5);
    let worse = |node: usize, _| if node.is_multiple_of(2) { 1.1 } else { 1.0 };
    let facts = |node: usize| vec![("release", format!("{}", node % 2))];
    let fleet = simulated.fleet(&mut rng, worse, facts);
    let all = &fleet.levels(Some("release"))[0];
    // Two numbers that differ by ln(1.1) have a standard deviation of ln(1.1) / sqrt(2).
    let expected = [0.002, 0.005, 0.01, 0.02, 1.1f64.ln() / 2f64.sqrt()];
    for (found, expected) in all.deviations.iter().zip(expected) {
        let found = found.expect("each level has several units");
        assert!((0.75..1.25).contains(&(found / expected)), "{found} for {expected}");
    }
    let one_visit = Simulated { visits: 1, ..simulated };
    let fleet = one_visit.fleet(&mut rng, |_, _| 1.0, no_facts);
    let [_, visits, boots, nodes, groups] = fleet.levels(None)[0].deviations;
    assert_eq!((visits, boots, groups), (None, None, None));
    // All that differs between nodes: visits, boots and nodes.
    let together = f64::hypot(f64::hypot(0.02, 0.01), 0.005);
    let found = nodes.expect("sixty nodes");
    assert!((0.75..1.25).contains(&(found / together)), "{found} for {together}");
}

#[test]
fn a_newcomer_is_compared_with_the_others() {
    let mut rng = StdRng::seed_from_u64(9);
    let worse = |node, _| if node == 59 { 1.04 } else { 1.0 };
    let fleet = STEADY.fleet(&mut rng, worse, no_facts);
    let is_named = |node| fleet.standings_of(node).iter().any(|one| !one.strangers.is_empty());
    assert!(is_named(59));
    let wrong = (0..59).filter(|&node| is_named(node)).count();
    assert!(wrong <= 59 / 10, "{wrong} of 59");
    assert_eq!(fleet.only_on(&[59]), []);
}

/// Checks that a figure that varies by far more than the others does not hide them.
#[test]
fn noise_of_other_figures_hides_nothing() {
    let mut others = 0;
    for seed in 0..20 {
        let mut rng = StdRng::seed_from_u64(seed);
        // The figures of memory differ by a half from node to node.
        let scatter: Vec<f64> = (0..60).map(|_| (0.5 * normal(&mut rng)).exp()).collect();
        let worse = |node: usize, cause| match (node, cause) {
            (_, 2) => scatter[node],
            (12, 1) => 1.05,
            _ => 1.0,
        };
        let fleet = STEADY.fleet(&mut rng, worse, no_facts);
        let found = named(&fleet);
        assert!(found.contains(&12), "{found:?}");
        others += usize::from(found.len() > 1);
    }
    assert!(others <= 1, "{others} of 20");
}
