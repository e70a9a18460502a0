//! Finds the figures of a claim: those of the systems that it names, or of all systems if it names ranks.

use std::collections::{BTreeMap, BTreeSet};

use measure::Direction;
use results::{Document, PointKey};

use super::found::{Datum, Found, NoFigures, found, judged_runs, why_not};
use super::model::{Claim, Content, Rank, Side, Statement};
use super::selection::{
    DatumPair, Extreme, Group, Ranking, Selected, first_complete, has_params_of, is_itself,
    select_named,
};
use crate::dimension::system_name;

/// Finds the figures of a statement in runs, each of one system.
///
/// # Errors
/// The missing points, if nothing can be compared.
pub(super) fn select<'a>(
    statement: &Statement,
    documents: &'a [Document],
) -> Result<Selected<'a>, NoFigures> {
    match statement.has_rank() {
        true => select_ranked(statement, documents),
        false => select_named(statement, documents),
    }
}

/// The claims for which these runs lack points, so that another run could have them.
pub fn lacking_points(claims: &[Claim], documents: &[Document]) -> Vec<Claim> {
    let lacks_some = |claim: &&Claim| match &claim.content {
        Content::Missing(_) => false,
        Content::Statement(statement) => match select(statement, documents) {
            Ok(selected) => selected.is_incomplete,
            Err(none) => none.is_incomplete,
        },
    };
    claims.iter().filter(lacks_some).cloned().collect()
}

/// The figures of a side on each system that it may mean.
#[derive(Default)]
struct Candidates<'a> {
    /// Figures with the system's name.
    systems: Vec<(String, Found<'a>)>,
    /// Reasons for systems that have none.
    left_out: Vec<String>,
}

/// Pairs of one combination of parameters by the system of side `a`.
type Rows<'a> = BTreeMap<usize, Vec<DatumPair<'a>>>;

/// Pairs the figures of all systems. A system without a figure is left out: ranks are those of the others.
fn select_ranked<'a>(
    statement: &Statement,
    documents: &'a [Document],
) -> Result<Selected<'a>, NoFigures> {
    let of_a = candidates(&statement.a, documents)?;
    let of_b = match &statement.b {
        Some(side) => candidates(side, documents)?.matching(&of_a, side),
        None => Candidates::default(),
    };
    let both = || of_a.systems.iter().chain(&of_b.systems);
    let with_figures = both().filter(|(_, found)| !found.data.is_empty());
    let names: BTreeSet<&str> = with_figures.map(|(name, _)| name.as_str()).collect();
    let lacking = both().flat_map(|(_, found)| found.unsupported.iter().chain(&found.failed));
    let lacking = lacking.map(|datum| {
        let (system, why) = (system_name(datum.document), why_not(datum.result));
        format!("{system}: {why}")
    });
    let left_out: BTreeSet<String> =
        of_a.left_out.iter().chain(&of_b.left_out).cloned().chain(lacking).collect();
    if names.len() < 2 {
        return Err(too_few(&names, &left_out));
    }
    let groups = combinations(statement, &of_a, &of_b);
    let groups = groups.into_values().filter_map(|rows| ranked(statement, rows));
    let groups: Vec<Group> = groups.collect::<Result<_, _>>()?;
    let missing: BTreeSet<&String> = both().flat_map(|(_, found)| &found.not_measured).collect();
    let (is_incomplete, missing) = (!missing.is_empty(), missing.into_iter().cloned());
    if groups.is_empty() {
        let unmatched = "no two systems have figures with the same parameters".to_owned();
        let why = missing.chain([unmatched]).next().unwrap_or_default();
        return Err(NoFigures { why, is_incomplete });
    }
    let (missing, left_out) = (missing.collect(), left_out.into_iter().collect());
    Ok(Selected { groups, missing, left_out, is_incomplete })
}

impl Candidates<'_> {
    /// The figures of side `b` that have the parameters of one of side `a`.
    fn matching(mut self, of_a: &Self, side: &Side) -> Self {
        let has_counterpart = |b: &Datum| {
            let mut data = of_a.systems.iter().flat_map(|(_, found)| &found.data);
            data.any(|a| has_params_of(a, b, side, None))
        };
        for (_, found) in &mut self.systems {
            for data in [&mut found.data, &mut found.unsupported, &mut found.failed] {
                data.retain(&has_counterpart);
            }
        }
        self
    }
}

/// All pairs of systems, by their parameters.
fn combinations<'a>(
    statement: &Statement,
    of_a: &Candidates<'a>,
    of_b: &Candidates<'a>,
) -> BTreeMap<(PointKey, Option<PointKey>), Rows<'a>> {
    let are_ranked =
        std::iter::once(&statement.a).chain(&statement.b).all(|side| side.rank().is_some());
    let mut combinations: BTreeMap<(PointKey, Option<PointKey>), Rows> = BTreeMap::new();
    let mut add = |system: usize, a: &Datum<'a>, b: Option<&Datum<'a>>| {
        let key = (a.point.clone(), b.map(|b| b.point.clone()));
        let pair = DatumPair { a: a.clone(), b: b.cloned() };
        combinations.entry(key).or_default().entry(system).or_default().push(pair);
    };
    for (at, (name, found)) in of_a.systems.iter().enumerate() {
        for a in &found.data {
            let Some(side) = &statement.b else {
                add(at, a, None);
                continue;
            };
            let others = of_b.systems.iter().filter(|(other, _)| may_pair(side, name, other));
            for b in others.flat_map(|(_, found)| &found.data) {
                // The best is not compared with itself, but with a system that is named and may be the best.
                if has_params_of(a, b, side, None) && !(are_ranked && is_itself(a, b)) {
                    add(at, a, Some(b));
                }
            }
        }
    }
    combinations
}

/// Whether a system of side `a` is compared with one of side `b`.
fn may_pair(b: &Side, of_a: &str, of_b: &str) -> bool {
    b.rank() != Some(Rank::Next) || of_a != of_b
}

/// The group of one combination of parameters; `None` if only one system has figures of it.
fn ranked<'a>(statement: &Statement, rows: Rows<'a>) -> Option<Result<Group<'a>, NoFigures>> {
    let row_lengths = rows.values().map(Vec::len).collect();
    let pairs: Vec<DatumPair> = rows.into_values().flatten().collect();
    let data = || pairs.iter().flat_map(|pair| std::iter::once(&pair.a).chain(&pair.b));
    let systems = data().map(|datum| system_name(datum.document)).collect::<BTreeSet<_>>().len();
    let first = pairs.first().filter(|_| systems > 1)?;
    let of_b = first.b.as_ref().zip(statement.b.as_ref());
    let [of_rows, of_pairs] = [
        extreme(&statement.a, &first.a, false),
        of_b.map_or(Ok(Extreme::Least), |(datum, side)| extreme(side, datum, true)),
    ];
    let ranking = of_rows.and_then(|of_rows| {
        let (of_pairs, comparisons) = (of_pairs?, comparisons(&pairs));
        Ok(Ranking { row_lengths, of_rows, of_pairs, comparisons, systems })
    });
    let pairs = pairs.iter().map(|pair| (0.0, pair.clone())).collect();
    Some(ranking.map(|ranking| Group { pairs, ranking: Some(ranking) }))
}

/// The extreme of the quantity that is meant by the side's rank. A better figure below the line makes a ratio smaller.
fn extreme(side: &Side, datum: &Datum, is_below: bool) -> Result<Extreme, NoFigures> {
    let is_best = match side.rank() {
        None => return Ok(Extreme::Least),
        Some(rank) => rank != Rank::Worst,
    };
    match datum.result.better {
        Direction::Neither => {
            let metric = &side.metric.value;
            Err(NoFigures::without(format!("{metric} has no better direction, so no rank")))
        }
        better if (better == Direction::Higher) == (is_best != is_below) => Ok(Extreme::Greatest),
        _ => Ok(Extreme::Least),
    }
}

/// Number of different comparisons among the pairs.
fn comparisons(pairs: &[DatumPair]) -> usize {
    let is_new = |(at, pair): &(usize, &DatumPair)| {
        let Some(b) = &pair.b else { return true };
        let is_mirrored = |earlier: &DatumPair| {
            earlier
                .b
                .as_ref()
                .is_some_and(|of_b| is_itself(&earlier.a, b) && is_itself(of_b, &pair.a))
        };
        !is_itself(&pair.a, b) && !pairs[..*at].iter().any(is_mirrored)
    };
    pairs.iter().enumerate().filter(is_new).count()
}

/// The figures of a side: of each system for a rank, otherwise of the first run that it means.
fn candidates<'a>(side: &Side, documents: &'a [Document]) -> Result<Candidates<'a>, NoFigures> {
    let is_whole = |found: &Found| found.not_measured.is_empty();
    if side.rank().is_none() {
        let runs = judged_runs(side, documents)?;
        let found = first_complete(&runs, |run| found(side, run), is_whole)?;
        let name = found.data.first().map(|datum| system_name(datum.document));
        return Ok(Candidates {
            systems: name.map(|name| (name, found)).into_iter().collect(),
            left_out: Vec::new(),
        });
    }
    let mut of_systems: Vec<(String, Vec<&Document>)> = Vec::new();
    let mut all = Candidates::default();
    for run in documents {
        let name = system_name(run);
        if let Some(why) = run.emulated() {
            all.left_out.push(format!("{name}: its times are not judged: {why}"));
            continue;
        }
        match of_systems.iter_mut().find(|(other, _)| *other == name) {
            Some((_, runs)) => runs.push(run),
            None => of_systems.push((name, vec![run])),
        }
    }
    for (name, runs) in of_systems {
        match first_complete(&runs, |run| found(side, run), is_whole) {
            Ok(found) => all.systems.push((name, found)),
            Err(none) => all.left_out.push(format!("{name}: {}", none.why)),
        }
    }
    Ok(all)
}

/// Reason why systems cannot be ranked.
fn too_few(names: &BTreeSet<&str>, left_out: &BTreeSet<String>) -> NoFigures {
    let reasons: Vec<&str> = left_out.iter().map(String::as_str).collect();
    let left_out = match reasons.is_empty() {
        true => String::new(),
        false => format!(" ({})", reasons.join("; ")),
    };
    let had = match names.first() {
        Some(name) => format!("only {name} has figures"),
        None => "no system has figures".to_owned(),
    };
    let remedy = "a rank needs two systems or more, such as `--on native --on gvisor`";
    NoFigures::without(format!("{had}{left_out}: {remedy}"))
}
