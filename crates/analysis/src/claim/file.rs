//! Claim files.

use std::collections::BTreeMap;

use measure::TIME;
use serde::Deserialize;
use toml::Spanned;

use super::location::{FileError, Located, Location};
use super::model::{Claim, Content, Rank, Scope, Side, Statement};
use super::reading::{FileText, Text, Words};
use super::relation::Relation;

/// Maximum size of a claim file in KiB.
const KIB_AT_MOST: usize = 256;
/// Maximum number of claims in a file.
const CLAIMS_AT_MOST: usize = 1_000;

/// The claims of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimFile {
    /// Title of the file, if it has one.
    pub title: Option<String>,
    /// Claims of the file, at least one.
    pub claims: Vec<Claim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: Option<String>,
    #[serde(default)]
    claim: Vec<Spanned<WrittenClaim>>,
}

/// A claim as written in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: [[claim]]")]
pub(crate) struct WrittenClaim {
    name: Spanned<Text>,
    sentence: Text,
    source: Option<String>,
    missing: Option<Text>,
    a: Option<Spanned<WrittenSide>>,
    b: Option<Spanned<WrittenSide>>,
    relation: Option<Spanned<Text>>,
    scope: Option<Spanned<Scope>>,
    over: Option<Spanned<String>>,
}

/// A side as written in a file.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: { case = \"...\" }")]
pub(crate) struct WrittenSide {
    case: Option<Spanned<String>>,
    #[serde(default)]
    params: BTreeMap<Spanned<String>, Words>,
    metric: Option<Spanned<String>>,
    system: Option<Spanned<String>>,
}

impl ClaimFile {
    /// Parses a claim file. [`check_names`](super::check_names) checks the names in it.
    ///
    /// # Errors
    /// The first mistake in the file.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let file = FileText::of(text, KIB_AT_MOST)?;
        let Written { title, claim } = file.read(toml::Deserializer::from(file.table()?))?;
        if claim.is_empty() {
            return Err(file.mistake(&(0..0), "the file has no claim: [[claim]]"));
        }
        Ok(Self { title, claims: claims(file, claim)? })
    }
}

/// The claims of a file; there may be none.
///
/// # Errors
/// The first mistake in the file.
pub(crate) fn claims(
    file: FileText,
    written: Vec<Spanned<WrittenClaim>>,
) -> Result<Vec<Claim>, FileError> {
    if let Some(claim) = written.get(CLAIMS_AT_MOST) {
        return Err(file.mistake(&claim.span(), format!("more than {CLAIMS_AT_MOST} claims")));
    }
    let mut claims: Vec<Claim> = Vec::new();
    for written in written {
        let name = written.get_ref().name.clone();
        let claim = claim(file, written)?;
        if claims.iter().any(|other| other.name == claim.name) {
            let problem = format!("a second claim named {:?}", claim.name);
            return Err(file.mistake(&name.span(), problem));
        }
        claims.push(claim);
    }
    Ok(claims)
}

fn claim(file: FileText, written: Spanned<WrittenClaim>) -> Result<Claim, FileError> {
    let Located { value, at } = file.located(written);
    let WrittenClaim { name, sentence, source, missing, a, b, relation, scope, over } = value;
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    if !name.get_ref().0.chars().all(is_plain) {
        let problem = "a name consists of letters, digits, -, _, . and /";
        return Err(file.mistake(&name.span(), problem));
    }
    let content = match missing {
        Some(missing) => {
            let sides = [&a, &b].map(|side| side.as_ref().map(Spanned::span));
            let others = [relation.map(|it| it.span()), over.map(|it| it.span())];
            let others = sides.into_iter().chain(others).chain([scope.map(|it| it.span())]);
            if let Some(span) = others.flatten().next() {
                let problem = "a claim with `missing` has only name, sentence and source besides";
                return Err(file.mistake(&span, problem));
            }
            Content::Missing(missing.0)
        }
        None => {
            let lacks = |key: &str| FileError::new(at, format!("missing key {key} in [[claim]]"));
            let a = a.ok_or_else(|| lacks("`a`, a = { case = \"...\" },"))?;
            let a = side(file, a, None)?;
            let b = b.map(|b| side(file, b, Some(&a))).transpose()?;
            let ranked = ranks_at(&a, b.as_ref())?;
            let over = over.map(|over| file.located(over));
            let text = relation.ok_or_else(|| lacks("`relation`"))?;
            let place = |offset| file.place_within(&text, offset);
            let relation = Relation::parse(&text.get_ref().0, b.is_some(), over.as_ref(), place)?;
            let relation = Located { value: relation, at: file.located(text).at };
            if let Some(at) = ranked.filter(|_| relation.value.quantity.over().is_some()) {
                let problem =
                    "systems are ranked at one point, not over a parameter: use a ratio or a value";
                return Err(FileError::new(at, problem));
            }
            let scope = scope.map_or(Scope::At, Spanned::into_inner);
            Content::Statement(Box::new(Statement { a, b, relation, scope }))
        }
    };
    let (name, sentence) = (name.into_inner().0, sentence.0);
    Ok(Claim { name, sentence, source, at, content, on: Vec::new() })
}

/// Location of the first rank of a claim, after the ranks of both sides have been checked.
fn ranks_at(a: &Side, b: Option<&Side>) -> Result<Option<Location>, FileError> {
    let at = |side: &Side| side.system.as_ref().filter(|_| side.rank().is_some()).map(|it| it.at);
    let Some(place) = at(a).or_else(|| b.and_then(at)) else { return Ok(None) };
    let wrong = |at: Location, problem: &str| Err(FileError::new(at, problem));
    if a.rank() == Some(Rank::Next) {
        return wrong(place, "\"next\" is for side b: the best system other than that of side a");
    }
    let Some(b) = b else { return Ok(Some(place)) };
    match (a.rank(), b.rank(), at(b)) {
        (Some(Rank::Worst), Some(Rank::Next), Some(at)) => {
            wrong(at, "the best system other than the worst is the best: use \"best\"")
        }
        (None, Some(Rank::Next), Some(at)) if a.system.is_none() => {
            wrong(at, "\"next\" needs a system in side a: a name, or \"best\"")
        }
        (Some(one), Some(other), Some(at)) if one == other && b.selects_same_as(a) => {
            wrong(at, "both sides are the same: side b needs another rank or other figures")
        }
        _ => Ok(Some(place)),
    }
}

/// The side with everything that it leaves out taken from `other`, except the parameters.
pub(crate) fn side(
    file: FileText,
    written: Spanned<WrittenSide>,
    other: Option<&Side>,
) -> Result<Side, FileError> {
    let Located { value: written, at } = file.located(written);
    let [case, metric, system] =
        [written.case, written.metric, written.system].map(|it| it.map(|it| file.located(it)));
    let case = case.or_else(|| other.map(|other| other.case.clone()));
    let time = || Located { value: TIME.name.to_owned(), at };
    Ok(Side {
        case: case.ok_or_else(|| FileError::new(at, "missing key `case` in side a"))?,
        params: file.params(written.params)?,
        metric: metric.unwrap_or_else(|| other.map_or_else(time, |other| other.metric.clone())),
        system: system.or_else(|| other.and_then(|other| other.system.clone())),
    })
}
