//! Judges claims by intervals.
//!
//! A claim holds if the interval of its quantity lies within the claimed region, and fails if it lies outside. All verdicts of a
//! file share one chance of error, 5 %: each of its claims gets an equal part (Bonferroni), half of it at each end.
//!
//! A claim *for all* n combinations of parameters is an intersection. For it to hold, each combination must hold by its own
//! interval at the claim's full level: if the claim is false, one combination is false, and that one appears to hold with the
//! chance of a single interval at most (intersection-union test, Berger 1982). For it to fail, one combination out of n is
//! enough, so that each must be outside by an interval at 1/n of the chance. *For some* is the opposite: holding is corrected,
//! failing is not. A trend is an intersection over its steps, and a region with two ends is rejected at either end; both are
//! corrected in the same way.
//!
//! Figures of one run, or of systems in turn, are compared by adjacent rounds ([`crate::paired`]), with intervals that hold at
//! every look ([`crate::evidence`]). The intervals of other figures are widened by the variation of the machine: its drift in the
//! course of a run, the rounding of times, its difference of speed between runs, and for ratios the floor of all comparisons.
//!
//! A rank, such as the best of n systems, is not chosen by the data: its quantity is an extreme over all systems (`ranked`).

use std::collections::BTreeSet;

use measure::stats::LEVEL;
use results::{Document, LEAST_ROUNDS, PointKey};

use super::model::{Claim, Content, Scope, Statement};
use super::quantity::{Measured, region_of};
use super::ranks::select;
use super::selection::{Group, Selected};
use super::verdict::{ClaimVerdict, JudgedClaim, JudgedComparison, QuantityInterval};
use crate::change::BESIDE_LOAD;
use crate::evidence::Moderation;
use crate::setting::{nuisances, nuisances_in_words};

/// Chance of any wrong verdict of a file.
const CHANCE: f64 = 1.0 - LEVEL;

/// Judges claims by runs, each of one system. A claim that names no system is judged by the first run that has its points; one that
/// compares runs of different machines is undecided.
pub fn judge(claims: &[Claim], documents: &[Document]) -> Vec<JudgedClaim> {
    judge_runs(claims, documents, false)
}

/// Judges claims as [`judge`] does, with `across_machines` also those that compare runs of different machines.
pub fn judge_runs(
    claims: &[Claim],
    documents: &[Document],
    across_machines: bool,
) -> Vec<JudgedClaim> {
    let selected = select_all(claims, documents);
    let (chance, moderation) = (chance_of_each(&selected), moderation(claims, &selected));
    let judged =
        claims.iter().zip(selected).map(|(claim, selected)| match (&claim.content, selected) {
            (Content::Statement(statement), Ok(selected)) => {
                let judge = Judge { statement, chance, moderation };
                let (mut verdict, mut note, comparisons) = judge.claim(&selected);
                if let Some(why) = machines_of(&selected).filter(|_| !across_machines) {
                    (verdict, note) = (ClaimVerdict::Undecided, why);
                }
                let left_out = selected.left_out;
                JudgedClaim { claim: claim.clone(), verdict, note, left_out, comparisons }
            }
            (_, selected) => JudgedClaim {
                claim: claim.clone(),
                verdict: ClaimVerdict::NotMeasurable,
                note: selected.err().unwrap_or_default(),
                left_out: Vec::new(),
                comparisons: Vec::new(),
            },
        });
    judged.collect()
}

/// Why figures of a claim are not compared, if they are of different machines, or were measured in different ways.
fn machines_of(selected: &Selected) -> Option<String> {
    let mut runs: Vec<&Document> = Vec::new();
    for datum in selected.groups.iter().flat_map(Group::data) {
        if !runs.iter().any(|known| std::ptr::eq(*known, datum.document)) {
            runs.push(datum.document);
        }
    }
    // A run that hides a fact differs in it from no other, so that each is compared with each.
    let mut pairs = runs
        .iter()
        .enumerate()
        .flat_map(|(at, one)| runs[at + 1..].iter().map(move |other| nuisances(one, other, &[])));
    let apart = pairs.find_map(|nuisances| nuisances_in_words(&nuisances));
    apart.map(|(is, facts)| format!("{is} ({facts}): --across-machines judges it"))
}

/// The figures of each claim, or the reason why there are none.
fn select_all<'a>(
    claims: &[Claim],
    documents: &'a [Document],
) -> Vec<Result<Selected<'a>, String>> {
    let of_claim = |claim: &Claim| match &claim.content {
        Content::Missing(what) => Err(format!("missing: {what}")),
        Content::Statement(statement) => select_one(statement, documents),
    };
    claims.iter().map(of_claim).collect()
}

/// The chance of a wrong verdict on each claim.
fn chance_of_each(selected: &[Result<Selected, String>]) -> f64 {
    let measurable = selected.iter().filter(|selected| selected.is_ok()).count();
    CHANCE / measurable.max(1) as f64
}

/// Prior of the variances, estimated from all figures of the claims with adjacent rounds.
fn moderation(claims: &[Claim], selected: &[Result<Selected, String>]) -> Moderation {
    let mut variances = Vec::new();
    for (claim, selected) in claims.iter().zip(selected) {
        let (Content::Statement(statement), Ok(selected)) = (&claim.content, selected) else {
            continue;
        };
        let measured =
            selected.groups.iter().filter_map(|group| Measured::of(group, statement).ok());
        variances.extend(measured.flat_map(|measured| measured.variances()));
    }
    Moderation::of(&variances)
}

/// Points that a claim compares with each other: one list for each combination of parameters. It has one point if the claim
/// compares systems.
pub fn compared_points(claims: &[Claim], documents: &[Document]) -> Vec<Vec<PointKey>> {
    let statements = claims.iter().filter_map(|claim| match &claim.content {
        Content::Statement(statement) => select_one(statement, documents).ok(),
        Content::Missing(_) => None,
    });
    let groups = statements.flat_map(|selected| selected.groups);
    let points = groups.map(|group| {
        let points: BTreeSet<PointKey> = group.data().map(|datum| datum.result.point()).collect();
        points.into_iter().collect::<Vec<_>>()
    });
    points.filter(|points| !points.is_empty()).collect()
}

/// Points of which more rounds can decide a claim, each with the index of its run in `documents`. Claims that hold or fail need
/// no more rounds, nor do combinations of parameters that are decided, or figures that are only bounds.
pub fn undecided_points(claims: &[Claim], documents: &[Document]) -> BTreeSet<(usize, PointKey)> {
    let selected = select_all(claims, documents);
    let (chance, moderation) = (chance_of_each(&selected), moderation(claims, &selected));
    let mut open = BTreeSet::new();
    for (claim, selected) in claims.iter().zip(&selected) {
        let (Content::Statement(statement), Ok(selected)) = (&claim.content, selected) else {
            continue;
        };
        let judge = Judge { statement, chance, moderation };
        for group in judge.undecided_groups(selected) {
            for datum in group.data() {
                let is_its = |run: &&Document| std::ptr::eq(*run, datum.document);
                let run = documents.iter().position(|run| is_its(&run));
                open.extend(run.map(|run| (run, datum.result.point())));
            }
        }
    }
    open
}

/// The figures of a statement. There must be one combination if its scope is `at`.
fn select_one<'a>(
    statement: &Statement,
    documents: &'a [Document],
) -> Result<Selected<'a>, String> {
    let selected = select(statement, documents).map_err(|none| none.why)?;
    if statement.scope == Scope::At && selected.groups.len() > 1 {
        let count = selected.groups.len();
        let first = selected.groups[0].pairs[0].1.a.result.label();
        return Err(format!(
            "{count} combinations of parameters match, such as {first}: give the parameters that are left open, or \
             scope = \"for all\""
        ));
    }
    Ok(selected)
}

struct Judge<'a> {
    statement: &'a Statement,
    /// Chance of a wrong verdict on the claim, both ends together.
    chance: f64,
    moderation: Moderation,
}

impl Judge<'_> {
    fn claim(&self, selected: &Selected) -> (ClaimVerdict, String, Vec<JudgedComparison>) {
        let (statement, groups) = (self.statement, &selected.groups);
        let (to_hold, to_fail) = self.chances(groups.len());
        let mut comparisons = Vec::new();
        let mut shown = Vec::new();
        for group in groups {
            let measured =
                Measured::of(group, statement).map(|measured| measured.moderated(self.moderation));
            let pair = measured.as_ref().ok().and_then(Measured::decisive_pair);
            let judged =
                measured.and_then(|measured| self.combination(&measured, to_hold, to_fail));
            let (verdict, interval, note) =
                judged.unwrap_or_else(|why| (ClaimVerdict::Undecided, None, why));
            shown.push(verdict);
            let pair = pair.unwrap_or_else(|| group.shown_pair());
            let judged = JudgedComparison::of(group, pair, statement, interval, verdict, note);
            comparisons.extend(judged);
        }
        let verdict = self.verdict(&shown, selected);
        let note = match verdict {
            ClaimVerdict::Undecided => self.why_undecided(&comparisons, selected),
            _ if comparisons.iter().any(|one| one.note == BESIDE_LOAD) => BESIDE_LOAD.to_owned(),
            _ => String::new(),
        };
        (verdict, note, comparisons)
    }

    /// Combinations that more rounds can decide, if the claim is undecided.
    fn undecided_groups<'g, 'a>(&self, selected: &'g Selected<'a>) -> Vec<&'g Group<'a>> {
        let (to_hold, to_fail) = self.chances(selected.groups.len());
        let mut verdicts = Vec::new();
        let mut open = Vec::new();
        for group in &selected.groups {
            let judged = Measured::of(group, self.statement).and_then(|measured| {
                let measured = measured.moderated(self.moderation);
                let (verdict, ..) = self.combination(&measured, to_hold, to_fail)?;
                Ok((verdict, !measured.is_bound()))
            });
            let has_few =
                || group.data().any(|datum| (datum.result.rounds as usize) < LEAST_ROUNDS);
            let (verdict, can_be_decided) =
                judged.unwrap_or_else(|_| (ClaimVerdict::Undecided, has_few()));
            verdicts.push(verdict);
            if verdict == ClaimVerdict::Undecided && can_be_decided {
                open.push(group);
            }
        }
        match self.verdict(&verdicts, selected) {
            ClaimVerdict::Undecided => open,
            _ => Vec::new(),
        }
    }

    /// Chances, both ends together, of the intervals by which one combination of `count` holds and fails.
    fn chances(&self, count: usize) -> (f64, f64) {
        let each = self.chance / count.max(1) as f64;
        match self.statement.scope {
            Scope::At => (self.chance, self.chance),
            Scope::ForAll => (self.chance, each),
            Scope::ForSome => (each, self.chance),
        }
    }

    /// The verdict on one combination, by whether its interval lies inside or outside of the region; the interval; and a note
    /// that says what would decide it, or that it was measured beside load.
    ///
    /// # Errors
    /// The reason why nothing can be decided.
    fn combination(
        &self,
        measured: &Measured,
        to_hold: f64,
        to_fail: f64,
    ) -> Result<(ClaimVerdict, Option<QuantityInterval>, String), String> {
        let region = region_of(self.statement, measured)?;
        // The chance is divided, since either end of a region may reject it.
        let to_fail = to_fail / region.ends() as f64;
        let (verdict, chance) = match measured.decide(&region, to_hold, to_fail) {
            (true, _) => (ClaimVerdict::Holds, to_hold),
            (_, true) => (ClaimVerdict::Fails, to_fail),
            _ => (ClaimVerdict::Undecided, to_hold.min(to_fail)),
        };
        let range = measured.range(chance);
        let note = match verdict {
            ClaimVerdict::Undecided => measured.what_would_decide(&region, range),
            _ if measured.is_beside_load() => BESIDE_LOAD.to_owned(),
            _ => String::new(),
        };
        Ok((verdict, Some(measured.numbers(range)), note))
    }

    /// The verdict on the claim, from the verdicts on its combinations.
    fn verdict(&self, shown: &[ClaimVerdict], selected: &Selected) -> ClaimVerdict {
        let all = |wanted| shown.iter().all(|one| *one == wanted) && selected.missing.is_empty();
        let any = |wanted| shown.contains(&wanted);
        let (holds, fails) = match self.statement.scope {
            Scope::At | Scope::ForAll => (all(ClaimVerdict::Holds), any(ClaimVerdict::Fails)),
            Scope::ForSome => (any(ClaimVerdict::Holds), all(ClaimVerdict::Fails)),
        };
        match (holds, fails) {
            (true, _) => ClaimVerdict::Holds,
            (_, true) => ClaimVerdict::Fails,
            _ => ClaimVerdict::Undecided,
        }
    }

    fn why_undecided(&self, comparisons: &[JudgedComparison], selected: &Selected) -> String {
        let open: Vec<&JudgedComparison> = comparisons
            .iter()
            .filter(|comparison| comparison.verdict == ClaimVerdict::Undecided)
            .collect();
        match (&open[..], &selected.missing[..]) {
            ([], []) => String::new(),
            ([], [missing, ..]) => missing.clone(),
            ([one], _) => one.note.clone(),
            ([first, ..], _) => {
                let (open, all) = (open.len(), comparisons.len());
                format!("{open} of {all} comparisons are undecided; the first: {}", first.note)
            }
        }
    }
}
