//! Reads study files.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use measure::count::parse_duration;
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;

use super::model::{
    About, Counterpart, Measure, PublishedCell, PublishedRow, PublishedTable, Study, SystemRole,
};
use super::sizes::{Size, replace_sizes, values};
use crate::claim::reading::{FileText, Text, Words, in_one_line, line, text};
use crate::claim::{
    Claim, FileError, Located, Location, Side, WrittenClaim, WrittenSide, check_names, check_side,
    claims, side,
};

/// Maximum size of a study file in KiB.
const KIB_AT_MOST: usize = 1 << 10;
/// Maximum number of columns and rows of a table, and of tables and blocks of points in a file.
const COLUMNS_AT_MOST: usize = 40;
const ROWS_AT_MOST: usize = 200;
const TABLES_AT_MOST: usize = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStudy {
    name: Spanned<Text>,
    #[serde(deserialize_with = "line")]
    title: String,
    #[serde(deserialize_with = "line")]
    question: String,
    #[serde(deserialize_with = "line")]
    source: String,
    #[serde(default)]
    differences: Words,
    #[serde(default, rename = "sizes")]
    _sizes: Option<IgnoredAny>,
    #[serde(default)]
    system: Vec<SystemRole>,
    #[serde(default)]
    measure: Vec<Spanned<WrittenMeasure>>,
    precision: Option<Spanned<f64>>,
    budget: Option<Spanned<String>>,
    #[serde(default)]
    table: Vec<Spanned<WrittenTable>>,
    #[serde(default)]
    claim: Vec<Spanned<WrittenClaim>>,
    #[serde(default)]
    about: Vec<WrittenAbout>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: [[measure]]")]
struct WrittenMeasure {
    cases: Words,
    #[serde(default)]
    params: BTreeMap<Spanned<String>, Words>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", expecting = "a table: [[table]]")]
struct WrittenTable {
    #[serde(deserialize_with = "line")]
    title: String,
    #[serde(default)]
    unit: String,
    #[serde(deserialize_with = "text")]
    rows_are: String,
    #[serde(default = "one")]
    factor: Spanned<f64>,
    #[serde(default)]
    columns: Vec<WrittenColumn>,
    /// Whether the mean over all systems is shown.
    #[serde(default)]
    mean: bool,
    #[serde(default)]
    row: Vec<WrittenRow>,
    /// Rows that differ only in a value, `$row`; they take everything else from the table.
    #[serde(default)]
    rows: Words,
    #[serde(default)]
    published: Words,
    point: Option<Spanned<WrittenSide>>,
    over: Option<Spanned<WrittenSide>>,
    round: Option<Spanned<String>>,
}

/// A column, with the text that replaces `$column` in its points.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: { title = \"...\" }")]
struct WrittenColumn {
    #[serde(deserialize_with = "text")]
    title: String,
    value: Option<String>,
    #[serde(default = "one")]
    factor: Spanned<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: [[table.row]]")]
struct WrittenRow {
    #[serde(deserialize_with = "line")]
    title: String,
    #[serde(default)]
    published: Words,
    point: Option<Spanned<WrittenSide>>,
    over: Option<Spanned<WrittenSide>>,
    round: Option<Spanned<String>>,
    /// Name of the claim whose quantity is the figure, in place of a point.
    claim: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: [[about]]")]
struct WrittenAbout {
    claim: Spanned<String>,
    #[serde(default)]
    derived: bool,
    needs: Option<String>,
    today: Option<String>,
}

fn one() -> Spanned<f64> {
    Spanned::new(0..0, 1.0)
}

impl Study {
    /// Parses a study file with the values of one size, and checks all names in it.
    ///
    /// # Errors
    /// The first mistake in the file.
    pub fn parse(text: &str, size: Size) -> Result<Self, FileError> {
        let file = FileText::of(text, KIB_AT_MOST)?;
        let mut table = file.table()?;
        let values = values(file, table.get_ref(), size)?;
        replace_sizes(table.get_mut(), &values);
        let written: WrittenStudy = file.read(toml::Deserializer::from(table))?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let name = |name: Text| match name.0.chars().all(is_name) {
            true => Ok(name.0),
            false => Err("a name consists of letters, digits, -, _ and .".to_owned()),
        };
        let precision = |share| match (1e-6..1.0).contains(&share) {
            true => Ok(share),
            false => Err("precision is a share above 0 and below 1, such as 0.03".to_owned()),
        };
        let budget = |text: String| match parse_duration(&text) {
            Ok(time) if time >= Duration::from_millis(100) => Ok(time),
            Ok(_) => Err("budget: at least 100ms".to_owned()),
            Err(error) => Err(format!("budget: it {}", error.problem())),
        };
        let differences = written.differences.texts();
        let study = Study {
            name: file.checked(written.name, name)?,
            title: written.title,
            question: written.question,
            source: written.source,
            differences: differences.iter().map(|text| in_one_line(text)).collect(),
            systems: written.system,
            measure: each(file, written.measure, "[[measure]]", measure)?,
            precision: written.precision.map(|it| file.checked(it, precision)).transpose()?,
            budget: written.budget.map(|it| file.checked(it, budget)).transpose()?,
            tables: each(file, written.table, "[[table]]", table_of)?,
            claims: claims(file, written.claim)?,
            about: BTreeMap::new(),
        };
        study.with(written.about, file)
    }

    /// Adds the remarks on the claims of the study, and checks everything that depends on all of its parts.
    fn with(mut self, about: Vec<WrittenAbout>, file: FileText) -> Result<Self, FileError> {
        if self.measure.is_empty() && self.tables.is_empty() && self.claims.is_empty() {
            let problem = "the study has neither points, nor tables, nor claims";
            return Err(file.mistake(&(0..0), problem));
        }
        for WrittenAbout { claim, derived, needs, today } in about {
            let name = claim.get_ref();
            if !self.has_claim(name) {
                let problem = format!("[[about]] of {name:?}, which is no claim");
                return Err(file.mistake(&claim.span(), problem));
            }
            let [needs, today] = [needs, today].map(|text| text.map(|text| in_one_line(&text)));
            if self.about.insert(name.clone(), About { derived, needs, today }).is_some() {
                return Err(file.mistake(&claim.span(), format!("a second [[about]] of {name:?}")));
            }
        }
        let cells = self.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
        let named = cells.filter_map(|cell| cell.claim.as_ref());
        if let Some(name) = named.into_iter().find(|name| !self.has_claim(name)) {
            return Err(
                file.mistake(&(0..0), format!("a row names the claim {name:?}, which is none"))
            );
        }
        let nothing = Placeholders { column: None, row: None };
        for side in self.claims.iter().flat_map(Claim::sides) {
            nothing.in_side(side)?;
        }
        check_names(&self.claims, &[])?;
        self.sides_of_tables().try_for_each(check_side)?;
        Ok(self)
    }
}

/// Converts the tables of an array by `read`, which gets the location of each table.
fn each<W, T>(
    file: FileText,
    written: Vec<Spanned<W>>,
    name: &str,
    read: impl Fn(FileText, W, Range<usize>) -> Result<T, FileError>,
) -> Result<Vec<T>, FileError> {
    if let Some(table) = written.get(TABLES_AT_MOST) {
        return Err(file.mistake(&table.span(), format!("more than {TABLES_AT_MOST} of {name}")));
    }
    let read = |table: Spanned<W>| {
        let span = table.span();
        read(file, table.into_inner(), span)
    };
    written.into_iter().map(read).collect()
}

fn measure(
    file: FileText,
    written: WrittenMeasure,
    span: Range<usize>,
) -> Result<Measure, FileError> {
    let cases = written.cases.texts();
    if cases.is_empty() {
        return Err(file.mistake(&span, "cases is empty in [[measure]]"));
    }
    let params = file.params(written.params)?;
    for values in params.values() {
        let unknown = values.value.iter().find(|value| value.contains('$'));
        unknown.map_or(Ok(()), |value| Err(FileError::new(values.at, no_size(value))))?;
    }
    let params = params.into_iter().map(|(name, values)| (name, values.value));
    Ok(Measure { cases, params: params.collect() })
}

fn no_size(value: &str) -> String {
    format!("{value:?} names no value of [sizes]")
}

fn table_of(
    file: FileText,
    written: WrittenTable,
    span: Range<usize>,
) -> Result<PublishedTable, FileError> {
    let WrittenTable { title, unit, rows_are, factor, columns, mean, row, rows, .. } = written;
    let mistake = |problem: String| Err(file.mistake(&span, problem));
    if columns.is_empty() || columns.len() > COLUMNS_AT_MOST {
        return mistake(format!("a table has 1 to {COLUMNS_AT_MOST} columns"));
    }
    let factors = columns.iter().map(|column| &column.factor).chain([&factor]);
    if let Some(factor) = factors.into_iter().find(|factor| !factor.get_ref().is_finite()) {
        return Err(file.mistake(&factor.span(), "factor is not finite"));
    }
    let (point, over, round) = (written.point, written.over, written.round);
    let (title_of_row, published, claim) = (String::new(), written.published, None);
    let listed = WrittenRow { title: title_of_row, published, point, over, round, claim };
    let layout = Layout { file, columns: &columns, factor: factor.into_inner() };
    let rows: Vec<PublishedRow> = match rows.0.is_empty() {
        true if listed.point.is_some() || !listed.published.0.is_empty() => {
            return mistake("rows is missing: a point of the table is that of its `rows`".into());
        }
        false if !row.is_empty() => {
            return mistake("a table has either rows or [[table.row]]".to_owned());
        }
        true => row.iter().map(|row| layout.row(row)).collect::<Result<_, _>>()?,
        false => layout.listed_rows(&rows.0, &listed)?,
    };
    if rows.is_empty() || rows.len() > ROWS_AT_MOST {
        return mistake(format!("a table has 1 to {ROWS_AT_MOST} rows"));
    }
    let columns = columns.into_iter().map(|column| column.title).collect();
    Ok(PublishedTable { title, unit, rows_are, columns, has_mean: mean, rows })
}

/// Columns of a table whose rows are read, and the factor of all its cells.
struct Layout<'a> {
    file: FileText<'a>,
    columns: &'a [WrittenColumn],
    factor: f64,
}

impl Layout<'_> {
    /// A row that defines its own points.
    fn row(&self, row: &WrittenRow) -> Result<PublishedRow, FileError> {
        let first = row.published.0.first().map_or(0..0, Spanned::span);
        let figures = row.published.0.iter().map(|figure| figure.get_ref().as_str()).collect();
        let mut cells =
            self.cells(row.title.clone(), figures, &first, self.counterparts(row, None)?)?;
        if let Some(claim) = &row.claim {
            if row.point.is_some() {
                return Err(self
                    .file
                    .mistake(&claim.span(), "a row has either a point or a claim"));
            }
            cells.cells.iter_mut().for_each(|cell| cell.claim = Some(claim.get_ref().clone()));
        }
        Ok(cells)
    }

    /// Rows that differ only in a value, `$row`. The published figures of a row are separated by `|`.
    fn listed_rows(
        &self,
        titles: &[Spanned<String>],
        row: &WrittenRow,
    ) -> Result<Vec<PublishedRow>, FileError> {
        let published = &row.published.0;
        if let Some(first) = published.first().filter(|_| published.len() != titles.len()) {
            let (has, rows) = (published.len(), titles.len());
            let problem = format!("published has {has} rows, but there are {rows} in the table");
            return Err(self.file.mistake(&first.span(), problem));
        }
        let row = |(at, title): (usize, &Spanned<String>)| {
            let (title, figures) = (title.get_ref(), published.get(at));
            let span = figures.map_or(0..0, Spanned::span);
            let figures = figures.iter().flat_map(|figures| figures.get_ref().split('|'));
            let figures = figures.map(str::trim).collect();
            self.cells(title.clone(), figures, &span, self.counterparts(row, Some(title))?)
        };
        titles.iter().enumerate().map(row).collect()
    }

    /// A row of these figures, of which `-` stands for none. There is either no figure at all, or one for each column.
    fn cells(
        &self,
        title: String,
        published: Vec<&str>,
        span: &Range<usize>,
        counterparts: Vec<Option<Counterpart>>,
    ) -> Result<PublishedRow, FileError> {
        let (has, columns) = (published.len(), self.columns.len());
        if has != 0 && has != columns {
            let problem = format!("published has {has} figures, but there are {columns} columns");
            return Err(self.file.mistake(span, problem));
        }
        let figure = |figure: &str| (figure != "-").then(|| figure.to_owned());
        let published = published.into_iter().map(figure);
        let cells = counterparts.into_iter().zip(published.chain(std::iter::repeat(None)));
        let cells = cells.map(|(here, published)| PublishedCell { published, here, claim: None });
        Ok(PublishedRow { title, cells: cells.collect() })
    }

    /// The corresponding point for each column; `None` if no point corresponds to the row.
    fn counterparts(
        &self,
        written: &WrittenRow,
        row: Option<&str>,
    ) -> Result<Vec<Option<Counterpart>>, FileError> {
        let WrittenRow { point, over, round, .. } = written;
        let Some(point) = point else {
            let spans = [over.as_ref().map(Spanned::span), round.as_ref().map(Spanned::span)];
            return match spans.into_iter().flatten().next() {
                Some(span) => Err(self.file.mistake(&span, "the row has no point")),
                None => Ok(vec![None; self.columns.len()]),
            };
        };
        let point = side(self.file, point.clone(), None)?;
        let over = over.clone().map(|over| side(self.file, over, Some(&point))).transpose()?;
        let round = round.clone().map(|round| self.file.located(round));
        let counterpart = |column: &WrittenColumn| {
            let words = Placeholders { column: column.value.as_deref(), row };
            Ok(Some(Counterpart {
                point: words.in_side(&point)?,
                over: over.as_ref().map(|side| words.in_side(side)).transpose()?,
                round: round.as_ref().map(|round| words.round(round)).transpose()?,
                factor: self.factor * column.factor.get_ref(),
            }))
        };
        self.columns.iter().map(counterpart).collect()
    }
}

/// Values of `$column` and `$row`.
struct Placeholders<'a> {
    column: Option<&'a str>,
    row: Option<&'a str>,
}

impl Placeholders<'_> {
    fn round(&self, round: &Located<String>) -> Result<usize, FileError> {
        let text = self.in_text(&round.value, round.at)?;
        let number = text.parse().ok().filter(|number| (1..=1_000_000).contains(number));
        number.ok_or_else(|| FileError::new(round.at, format!("{text:?} is no number of a round")))
    }

    fn in_side(&self, side: &Side) -> Result<Side, FileError> {
        let mut side = side.clone();
        for text in [&mut side.case, &mut side.metric].into_iter().chain(&mut side.system) {
            text.value = self.in_text(&text.value, text.at)?;
        }
        for values in side.params.values_mut() {
            for value in &mut values.value {
                *value = self.in_text(value, values.at)?;
            }
        }
        Ok(side)
    }

    fn in_text(&self, text: &str, at: Location) -> Result<String, FileError> {
        let mut text = text.to_owned();
        let row = ("$row", self.row, "`rows` of the table");
        for (name, value, origin) in [("$column", self.column, "`value` of the column"), row] {
            if let Some(value) = value {
                text = text.replace(name, value);
            } else if text.contains(name) {
                let problem = format!("{name} stands for nothing: {origin} is missing");
                return Err(FileError::new(at, problem));
            }
        }
        match text.contains('$') {
            true => Err(FileError::new(at, no_size(&text))),
            false => Ok(text),
        }
    }
}
