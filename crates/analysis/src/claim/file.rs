//! Claim files.

use super::location::{FileError, Located};
use super::model::{Claim, Content, Scope, Side, Statement};
use super::relation::Relation;
use super::toml_reader::{TableReader, TomlFile};

use measure::TIME;

/// The largest claim file, in bytes.
const BYTES_AT_MOST: usize = 256 << 10;
/// The most claims of a file.
const CLAIMS_AT_MOST: usize = 1_000;

/// The claims of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimFile {
    /// What the file is called, if it has a title.
    pub title: Option<String>,
    /// Its claims, one at least.
    pub claims: Vec<Claim>,
}

impl ClaimFile {
    /// Parses a claim file. [`check_names`](super::check_names) checks the names in it.
    ///
    /// # Errors
    /// The first mistake.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let file = parse_toml(text)?;
        let root = file.root();
        let title = root.text("title")?.map(|title| title.value);
        let claims = read_claims(&root)?;
        root.finish()?;
        if claims.is_empty() {
            return Err(root.mistake("the file has no claim: [[claim]]"));
        }
        Ok(Self { title, claims })
    }
}

fn parse_toml(text: &str) -> Result<TomlFile<'_>, FileError> {
    if text.len() > BYTES_AT_MOST {
        let at = super::location::Location::of(text, BYTES_AT_MOST);
        return Err(FileError::new(at, "the file is longer than 256 KiB"));
    }
    TomlFile::parse(text)
}

/// Reads the claims, `[[claim]]`, in this table of a file; there may be none.
///
/// # Errors
/// The first mistake.
pub fn read_claims(table: &TableReader<'_>) -> Result<Vec<Claim>, FileError> {
    let tables = table.tables("claim", "[[claim]]")?;
    if let Some(table) = tables.get(CLAIMS_AT_MOST) {
        return Err(table.mistake(format!("more than {CLAIMS_AT_MOST} claims")));
    }
    let mut claims: Vec<Claim> = Vec::new();
    for table in &tables {
        let claim = claim(table)?;
        if claims.iter().any(|other| other.name == claim.name) {
            let at = table.required_text("name")?.at;
            return Err(FileError::new(at, format!("a second claim named {:?}", claim.name)));
        }
        claims.push(claim);
    }
    Ok(claims)
}

fn claim(table: &TableReader<'_>) -> Result<Claim, FileError> {
    let name = table.required_text("name")?;
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    if !name.value.chars().all(is_plain) {
        let problem = "a name consists of letters, digits, -, _, . and /";
        return Err(FileError::new(name.at, problem));
    }
    let sentence = table.required_text("sentence")?;
    let source = table.text("source")?;
    let missing = table.text("missing")?;
    let content = match missing {
        Some(missing) if missing.value.trim().is_empty() => {
            return Err(FileError::new(missing.at, "missing is empty"));
        }
        Some(missing) => Content::Missing(missing.value),
        None => Content::Statement(Box::new(statement(table)?)),
    };
    if let Err(error) = table.finish() {
        let is_missing = matches!(content, Content::Missing(_));
        let problem = "a claim with `missing` has only name, sentence and source besides";
        return Err(if is_missing { FileError::new(error.at, problem) } else { error });
    }
    Ok(Claim {
        name: name.value,
        sentence: sentence.value,
        source: source.map(|source| source.value),
        at: table.at(),
        content,
    })
}

fn statement(table: &TableReader<'_>) -> Result<Statement, FileError> {
    let side = table.table("a", "side a")?;
    let side = side.ok_or_else(|| table.mistake("side a is missing: a = { case = \"...\" }"))?;
    let a = side_of(&side, None)?;
    let b = table.table("b", "side b")?.map(|side| side_of(&side, Some(&a))).transpose()?;
    let over = table.text("over")?;
    let relation = table.required_text("relation")?;
    let place = |offset| table.place_within("relation", offset);
    let at = relation.at;
    let relation = Relation::parse(&relation.value, b.is_some(), over.as_ref(), place)?;
    let scope = match table.text("scope")? {
        None => Scope::At,
        Some(scope) => scope_of(&scope)?,
    };
    Ok(Statement { a, b, relation: Located { value: relation, at }, scope })
}

fn scope_of(scope: &Located<String>) -> Result<Scope, FileError> {
    let all = [Scope::At, Scope::ForAll, Scope::ForSome];
    let found = all.into_iter().find(|known| known.word() == scope.value);
    found.ok_or_else(|| FileError::new(scope.at, "scope is `at`, `for all` or `for some`"))
}

/// What is left out is as in `other`, except the parameters.
pub(crate) fn side_of(table: &TableReader<'_>, other: Option<&Side>) -> Result<Side, FileError> {
    let case = match (table.text("case")?, other) {
        (Some(case), _) => case,
        (None, Some(other)) => other.case.clone(),
        (None, None) => return Err(table.mistake("case is missing in side a")),
    };
    let params = match table.table("params", "params")? {
        Some(params) => params.all_texts()?,
        None => Default::default(),
    };
    let metric = match (table.text("metric")?, other) {
        (Some(metric), _) => metric,
        (None, Some(other)) => other.metric.clone(),
        (None, None) => Located { value: TIME.name.to_owned(), at: table.at() },
    };
    let system = table.text("system")?.or_else(|| other.and_then(|other| other.system.clone()));
    table.finish()?;
    Ok(Side { case, params, metric, system })
}
