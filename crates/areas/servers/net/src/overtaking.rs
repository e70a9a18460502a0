//! The number of connections from which one server architecture has a higher rate or a lower cost than another.

use std::collections::{BTreeMap, BTreeSet};

use super::metrics::{CHEAPER_FROM, FASTER_FROM, RATE, SERVER_CPU};
use measure::doubt::{Axis, listed};
use measure::stats::{Interval, median};
use measure::{Doubt, Metric, Params};
use results::{CaseResult, Outcome, PointKey};

use super::common::SERVERS;
use analysis::FLOOR_AT_LEAST;
use analysis::crossing::{Crossing, crossing, open_ends};
use analysis::derive::{has_positive_rounds, with_figure, without_figure};
use analysis::resample::Bootstrap;

/// Architectures that wait for many connections in one thread. They are listed here because results come from other versions too.
const LOOPS: [&str; 10] = [
    "select",
    "poll",
    "epoll",
    "epoll-level",
    "epoll-per-cpu",
    "io_uring",
    "kqueue",
    "wsapoll",
    "iocp",
    "tokio",
];

/// The compared metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Replies per second, if the server limited them, not the generator.
    Rate,
    /// Server CPU time per reply, which does not depend on the generator's limit.
    Cpu,
}

impl By {
    fn metric(self) -> &'static Metric {
        match self {
            By::Rate => &FASTER_FROM,
            By::Cpu => &CHEAPER_FROM,
        }
    }
}

/// The rows derived from `net/answer` and `net/requests`, two for each compared pair of architectures: `faster-from` (by replies
/// per second) and `cheaper-from` (by server CPU time per reply) are the number of connections from which
/// `arch` is better than the one in the parameter `than`.
///
/// If the load generator was the bottleneck, a rate is only a lower bound: it counts if it is still the greater one, and is left
/// out otherwise. If there is no such number, the row has a reason instead.
pub fn overtakings(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let mut rows = Vec::new();
    for sweep in server_sweeps(results) {
        for (arch, than) in pairs() {
            if sweep.levels.contains_key(arch) && sweep.levels.contains_key(than) {
                let pair = ArchitecturePair { sweep: &sweep, arch, than };
                rows.extend([By::Rate, By::Cpu].map(|by| pair.row(by, seed)));
            }
        }
    }
    rows
}

fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let over_threads = LOOPS.into_iter().map(|arch| (arch, "threads"));
    let others = [("io_uring", "epoll"), ("tokio", "epoll")];
    [("threads", "fork")].into_iter().chain(over_threads).chain(others)
}

/// Points that differ only in architecture and connections.
pub(crate) struct ServerSweep<'a> {
    /// Case and parameters that the points share.
    pub point: PointKey,
    /// Points by architecture, without unsupported ones.
    levels: BTreeMap<&'a str, BTreeMap<u32, Level<'a>>>,
}

impl<'a> ServerSweep<'a> {
    /// The numbers of connections at which both architectures were tried, with the levels of both.
    pub fn shared(&self, arch: &str, than: &str) -> impl Iterator<Item = (u32, [&Level<'a>; 2])> {
        let of_than = self.levels.get(than);
        let of_arch = self.levels.get(arch).into_iter().flatten();
        of_arch.filter_map(move |(number, level)| Some((*number, [level, of_than?.get(number)?])))
    }

    /// Parameters of the rows that are derived for two architectures.
    pub fn params_of(&self, arch: &str, than: &str) -> Params {
        let names = [("arch", arch), ("than", than)];
        let names = names.map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.point.params.clone().into_iter().chain(names).collect()
    }
}

/// One architecture at one number of connections.
#[derive(Default)]
pub(crate) struct Level<'a> {
    rate: &'a [f64],
    cpu: &'a [f64],
    /// Whether the load generator was the bottleneck.
    pub saturated: bool,
}

impl<'a> Level<'a> {
    /// Values of the rounds; empty if the metric was not measured.
    pub fn values(&self, by: By) -> &'a [f64] {
        match by {
            By::Rate => self.rate,
            By::Cpu => self.cpu,
        }
    }

    fn take_in(&mut self, result: &'a CaseResult) {
        if has_positive_rounds(result) && result.metric == RATE.name {
            self.rate = &result.round_values;
        } else if has_positive_rounds(result) && result.metric == SERVER_CPU.name {
            self.cpu = &result.round_values;
        }
        self.saturated |= result.doubts.contains(&Doubt::ClientSaturated);
    }
}

/// The sweeps of all cases of servers.
pub(crate) fn server_sweeps(results: &[CaseResult]) -> Vec<ServerSweep<'_>> {
    let mut sweeps: Vec<ServerSweep> = Vec::new();
    for result in results.iter().filter(|result| SERVERS.contains(&result.case.as_str())) {
        let number = result.params.get("connections").and_then(|text| text.parse::<u32>().ok());
        let (Some(arch), Some(connections)) = (result.params.get("arch"), number) else { continue };
        if result.outcome == Outcome::Unsupported || connections == 0 {
            continue;
        }
        let mut point = result.point();
        point.params.retain(|key, _| key != "arch" && key != "connections");
        let known = sweeps.iter().position(|sweep| sweep.point == point);
        let at = known.unwrap_or_else(|| {
            sweeps.push(ServerSweep { point, levels: BTreeMap::new() });
            sweeps.len() - 1
        });
        let levels = sweeps[at].levels.entry(arch).or_default();
        levels.entry(connections).or_default().take_in(result);
    }
    sweeps
}

/// Two architectures of one sweep.
struct ArchitecturePair<'a> {
    sweep: &'a ServerSweep<'a>,
    arch: &'a str,
    than: &'a str,
}

/// Values of both architectures at one number of connections; the lesser value is the better one.
struct ComparedLevel<'a> {
    connections: u32,
    a: &'a [f64],
    b: &'a [f64],
    /// Whether one of the two rates is only a lower bound.
    bounded: bool,
}

impl ComparedLevel<'_> {
    /// Whether `a` is the better architecture; `None` if unknown.
    fn is_ahead(&self, seed: u64) -> Option<bool> {
        let medians = Bootstrap::of(&[self.a, self.b], seed);
        let ratio = medians.interval(|medians| medians[1] / medians[0]);
        match ratio.low > 1.0 {
            true => Some(true),
            false => (ratio.high < 1.0 + FLOOR_AT_LEAST).then_some(false),
        }
    }
}

impl<'a> ArchitecturePair<'a> {
    fn row(&self, by: By, seed: u64) -> CaseResult {
        let params = self.sweep.params_of(self.arch, self.than);
        let row = CaseResult::of(&self.sweep.point.case, params, by.metric());
        let (levels, lost) = self.levels(by);
        let left_out = self.doubts(&levels, &lost);
        match crossing_of(&levels, by, seed) {
            Ok((at, open)) => CaseResult {
                doubts: open.into_iter().chain(left_out).collect(),
                ..with_figure(row, at, rounds(&levels))
            },
            Err(why) => CaseResult { doubts: left_out, ..without_figure(row, why) },
        }
    }

    /// The levels at which both architectures were measured and can be compared; and those at which the generator was the
    /// bottleneck.
    fn levels(&self, by: By) -> (Vec<ComparedLevel<'a>>, Vec<u32>) {
        let mut lost = Vec::new();
        let mut levels = Vec::new();
        for (connections, [a, b]) in self.sweep.shared(self.arch, self.than) {
            let (of_a, of_b) = (a.values(by), b.values(by));
            if of_a.is_empty() || of_b.is_empty() {
                continue;
            }
            let a_is_less = median(&mut of_a.to_vec()) < median(&mut of_b.to_vec());
            let lesser_is_bound = if a_is_less { a.saturated } else { b.saturated };
            levels.push(match by {
                By::Cpu => ComparedLevel { connections, a: of_a, b: of_b, bounded: false },
                By::Rate if lesser_is_bound => {
                    lost.push(connections);
                    continue;
                }
                // The rates are swapped, so that the lesser value is the better one, as for times.
                By::Rate => {
                    let bounded = a.saturated || b.saturated;
                    ComparedLevel { connections, a: of_b, b: of_a, bounded }
                }
            });
        }
        (levels, lost)
    }

    /// Doubts that name the levels that were left out.
    fn doubts(&self, levels: &[ComparedLevel], lost: &[u32]) -> Vec<Doubt> {
        let tried = [self.arch, self.than].map(|arch| self.sweep.levels.get(arch));
        let all: BTreeSet<u32> =
            tried.into_iter().flatten().flat_map(|levels| levels.keys().copied()).collect();
        let all: Vec<u32> = all.into_iter().collect();
        let is_told =
            |n: &u32| lost.contains(n) || levels.iter().any(|level| level.connections == *n);
        let unmeasured: Vec<u32> = all.iter().copied().filter(|n| !is_told(n)).collect();
        let stretches = |these: &[u32]| (!these.is_empty()).then(|| stretches(these, &all));
        let both = [
            stretches(&unmeasured).map(|connections| Doubt::ConnectionsNotMeasured { connections }),
            stretches(lost).map(|connections| Doubt::ConnectionsSaturated { connections }),
        ];
        both.into_iter().flatten().collect()
    }
}

/// The number of connections with its doubts, or the reason why there is none.
fn crossing_of(
    levels: &[ComparedLevel],
    by: By,
    seed: u64,
) -> Result<(Interval, Vec<Doubt>), String> {
    let [first, .., last] = levels else {
        return Err(match by {
            By::Rate => {
                "cannot tell: too few levels where the generator was not the bottleneck".to_owned()
            }
            By::Cpu => "cannot tell: too few levels were measured with both".to_owned(),
        });
    };
    let (fewest, most) = (first.connections, last.connections);
    if rounds(levels) < 2 {
        return Err("cannot tell: one round is not enough".to_owned());
    }
    let x: Vec<f64> = levels.iter().map(|level| f64::from(level.connections)).collect();
    let (a, b): (Vec<&[f64]>, Vec<&[f64]>) = levels.iter().map(|level| (level.a, level.b)).unzip();
    let cannot_tell = || format!("cannot tell: within chance from {fewest} to {most}");
    match crossing(&x, &a, &b, seed) {
        Crossing::TooFew => Err(cannot_tell()),
        Crossing::Never => Err(never(levels, seed).unwrap_or_else(cannot_tell)),
        Crossing::Before { at_most } if at_most <= x[0] * 1.000_001 => {
            Err("from the start".to_owned())
        }
        Crossing::Before { at_most } if at_most >= x[x.len() - 1] * 0.999_999 => Err(cannot_tell()),
        Crossing::Before { at_most } => Err(format!("from {at_most:.0} on at the latest")),
        Crossing::At { open_below: true, open_above: true, .. } => Err(cannot_tell()),
        Crossing::At { at, open_below, open_above, .. } => {
            let all: Vec<u32> = levels.iter().map(|level| level.connections).collect();
            let bounded = levels.iter().filter(|level| level.bounded);
            let bounded: Vec<u32> = bounded.map(|level| level.connections).collect();
            let bounded = (!bounded.is_empty())
                .then(|| Doubt::BoundedRates { connections: stretches(&bounded, &all) });
            let (lowest, highest) = (open_below.then_some(fewest), open_above.then_some(most));
            let open = open_ends(Axis::Connections, lowest, highest);
            Ok((at, open.chain(bounded).collect()))
        }
    }
}

/// Reason why `a` is not ahead up to the last level; `None` if that is unknown.
fn never(levels: &[ComparedLevel], seed: u64) -> Option<String> {
    let (first, last) = (levels.first()?.connections, levels.last()?);
    if last.is_ahead(seed) != Some(false) {
        return None;
    }
    let all: Vec<u32> = levels.iter().map(|level| level.connections).collect();
    let ahead = levels.iter().filter(|level| level.is_ahead(seed) == Some(true));
    let ahead: Vec<u32> = ahead.map(|level| level.connections).collect();
    Some(match ahead.is_empty() {
        true => format!("never within {first} to {}", last.connections),
        false => format!("only at {}", listed(&stretches(&ahead, &all))),
    })
}

fn rounds(levels: &[ComparedLevel]) -> usize {
    levels.iter().map(|level| level.a.len().min(level.b.len())).min().unwrap_or(0)
}

/// Stretches of neighbouring `levels` that are all among `these`.
fn stretches(these: &[u32], levels: &[u32]) -> Vec<Vec<u32>> {
    let is_one = |level: &u32| these.contains(level);
    let stretches = levels.chunk_by(|level, next| is_one(level) == is_one(next));
    stretches.filter(|stretch| is_one(&stretch[0])).map(<[u32]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use results::Direction;

    use super::*;
    use simulated::{figure_of, noise};

    const LEVELS: [u32; 5] = [1, 10, 100, 1000, 5000];

    fn result(arch: &str, connections: u32, metric: &str, round_values: Vec<f64>) -> CaseResult {
        let connections = connections.to_string();
        let params = [("arch", arch), ("connections", &connections), ("place", "apart")];
        figure_of(("net/answer", params), (metric, "x", Direction::Lower), round_values)
    }

    /// A sweep of `arch` with these replies per second, each with 5 us of CPU time or its elapsed time.
    fn sweep(arch: &str, rates: [f64; 5], spread: f64) -> Vec<CaseResult> {
        let mut rng = StdRng::seed_from_u64(7);
        let mut of_level = |(connections, rate): (u32, f64)| {
            let values: Vec<f64> =
                (0..6).map(|_| rate * (1.0 + spread * noise(&mut rng))).collect();
            let cpu = values.iter().map(|rate| 1e9 / rate).collect();
            [
                result(arch, connections, "rate", values),
                result(arch, connections, "server-cpu", cpu),
            ]
        };
        LEVELS.into_iter().zip(rates).flat_map(&mut of_level).collect()
    }

    fn both(a: [f64; 5], b: [f64; 5], spread: f64) -> Vec<CaseResult> {
        [sweep("epoll", a, spread), sweep("threads", b, spread / 2.0)].concat()
    }

    fn saturate(results: &mut [CaseResult], arch: &str, connections: &[u32]) {
        for result in results.iter_mut().filter(|result| result.params["arch"] == arch) {
            if connections.iter().any(|n| result.params["connections"] == n.to_string()) {
                result.doubts.push(Doubt::ClientSaturated);
            }
        }
    }

    fn reason(results: &[CaseResult]) -> String {
        overtakings(results, 1)[0].reason.clone().unwrap_or_default()
    }

    #[test]
    fn the_crossing_is_where_the_rates_cross() {
        // `a` is 10 % slower with 10 connections and 10 % faster with 100: the crossing is half way between by logarithms.
        let rows = overtakings(&both([50e3, 100e3 / 1.1, 110e3, 120e3, 130e3], [100e3; 5], 0.0), 1);
        assert_eq!(rows.len(), 2);
        for (row, metric) in rows.iter().zip(["faster-from", "cheaper-from"]) {
            assert_eq!(row.check(), Ok(()));
            assert_eq!((row.metric.as_str(), row.unit.as_str()), (metric, "connections"));
            assert_eq!(
                (row.params["arch"].as_str(), row.params["than"].as_str()),
                ("epoll", "threads")
            );
            assert!(!row.params.contains_key("connections") && row.params["place"] == "apart");
            let at = row.estimate.unwrap();
            assert!((at.median - 1000f64.sqrt()).abs() < 1e-6 && at.low == at.high, "{at:?}");
            assert_eq!(row.doubts, []);
        }
        let rows = overtakings(&both([50e3, 92e3, 110e3, 120e3, 130e3], [100e3; 5], 0.02), 1);
        let at = rows[0].estimate.unwrap();
        assert!(at.low < 29.0 && at.high > 29.0 && at.low > 10.0 && at.high < 100.0, "{at:?}");
    }

    #[test]
    fn missing_crossings_have_a_reason() {
        let flat = [100e3; 5];
        assert_eq!(reason(&both([120e3; 5], flat, 0.01)), "from the start");
        assert_eq!(reason(&both([80e3; 5], flat, 0.01)), "never within 1 to 5000");
        assert_eq!(reason(&both(flat, flat, 0.0)), "never within 1 to 5000");
        assert_eq!(
            reason(&both([100.5e3; 5], flat, 0.05)),
            "cannot tell: within chance from 1 to 5000"
        );
        let hump = [80e3, 120e3, 120e3, 90e3, 80e3];
        assert_eq!(reason(&both(hump, flat, 0.01)), "only at 10, 100");
        assert!(overtakings(&sweep("epoll", flat, 0.0), 1).is_empty());
    }

    #[test]
    fn a_rate_that_is_the_generators_is_a_lower_bound() {
        let (fast, flat) = ([120e3; 5], [100e3; 5]);
        let mut run = both(fast, flat, 0.01);
        saturate(&mut run, "epoll", &LEVELS);
        let row = &overtakings(&run, 1)[0];
        assert_eq!(row.reason.as_deref(), Some("from the start"));
        assert!(row.doubts.is_empty(), "{:?}", row.doubts);
        let mut run = both([50e3, 100e3 / 1.1, 110e3, 120e3, 130e3], flat, 0.0);
        saturate(&mut run, "epoll", &[100, 1000, 5000]);
        let row = &overtakings(&run, 1)[0];
        assert_eq!(row.doubts, [Doubt::BoundedRates { connections: vec![vec![100, 1000, 5000]] }]);
        // The slower architecture may be the faster one, so that only the CPU time can be compared.
        let mut run = both(fast, flat, 0.01);
        saturate(&mut run, "threads", &LEVELS);
        let rows = overtakings(&run, 1);
        assert!(rows[0].reason.as_deref().unwrap().starts_with("cannot tell: too few"));
        assert_eq!(rows[1].reason.as_deref(), Some("from the start"));
        let mut run = both(fast, flat, 0.01);
        saturate(&mut run, "threads", &[1000, 5000]);
        let row = &overtakings(&run, 1)[0];
        assert_eq!(
            row.doubts,
            [Doubt::ConnectionsSaturated { connections: vec![vec![1000, 5000]] }]
        );
    }

    #[test]
    fn levels_are_listed_as_stretches() {
        let listed = |these: &[u32]| listed(&stretches(these, &LEVELS));
        assert_eq!(listed(&LEVELS), "1 to 5000");
        assert_eq!(listed(&[1, 100, 1000, 5000]), "1, 100 to 5000");
        assert_eq!(listed(&[10, 100]), "10, 100");
        assert_eq!(listed(&[]), "");
    }

    #[test]
    fn failed_levels_are_reported() {
        let mut run = both([50e3, 100e3 / 1.1, 110e3, 120e3, 130e3], [100e3; 5], 0.0);
        run.retain(|r| r.params["arch"] != "threads" || r.params["connections"] != "5000");
        let unmeasured = Doubt::ConnectionsNotMeasured { connections: vec![vec![5000]] };
        assert_eq!(overtakings(&run, 1)[0].doubts, [unmeasured]);
    }

    /// Arbitrary rows, also impossible ones, with the parameters of this area.
    fn any_row() -> impl Strategy<Value = CaseResult> {
        let metric = prop::sample::select(&["rate", "server-cpu"][..]);
        (simulated::any_row("net/answer", "rate"), metric).prop_map(|(mut row, metric)| {
            let arch = if row.params["order"] == "given" { "epoll" } else { "threads" };
            let connections = row.params["degree"].clone();
            row.params = [("arch", arch), ("connections", &connections)]
                .map(|(k, v)| (k.to_owned(), v.to_owned()))
                .into();
            CaseResult { metric: metric.to_owned(), ..row }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_rows_give_sound_rows(rows in prop::collection::vec(any_row(), 0..24), seed: u64) {
            for row in overtakings(&rows, seed) {
                prop_assert_eq!(row.check(), Ok(()), "{:?}", row);
            }
        }
    }
}
