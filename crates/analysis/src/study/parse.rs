//! Reads study files.

use std::collections::BTreeMap;
use std::time::Duration;

use measure::count::parse_duration;

use super::model::{About, Cell, Column, Measure, Place, Row, Study, SystemRole, Table};
use super::sizes::{Size, SizedText, is_name, is_plain};
use crate::claim::toml_reader::{TableReader, TomlFile};
use crate::claim::{
    Claim, FileError, Located, Location, Side, check_names, check_side, read_claims, read_side,
};

/// The largest study file, in bytes.
const BYTES_AT_MOST: usize = 1 << 20;
/// The most columns and rows of a table, and the most tables and blocks of points of a file.
const COLUMNS_AT_MOST: usize = 40;
const ROWS_AT_MOST: usize = 200;
const TABLES_AT_MOST: usize = 50;

impl Study {
    /// Parses a study file with the values of one size, and checks all names in it.
    ///
    /// # Errors
    /// The first mistake.
    pub fn parse(text: &str, size: Size) -> Result<Self, FileError> {
        if text.len() > BYTES_AT_MOST {
            let at = Location::of(text, BYTES_AT_MOST);
            return Err(FileError::new(at, "the file is longer than 1 MiB"));
        }
        let sized = SizedText::of(text, &sizes(text, size)?);
        study(&sized.text).map_err(|error| sized.in_original(error))
    }
}

/// The values that stand for `$NAME`.
fn sizes(text: &str, size: Size) -> Result<BTreeMap<String, String>, FileError> {
    let file = TomlFile::parse(text)?;
    let Some(table) = file.root().table("sizes", "[sizes]")? else { return Ok(BTreeMap::new()) };
    let value = |(name, values): (String, Located<Vec<String>>)| {
        let wrong = |problem: String| Err(FileError::new(values.at, problem));
        if !is_name(&name) {
            return wrong(format!(
                "{name:?} cannot be the name of a size: lower-case letters, digits and _, but not column or row"
            ));
        }
        let [by_default, full] = &values.value[..] else {
            return wrong(format!("{name} needs two values: the default one and that of --full"));
        };
        let value = match size {
            Size::Default => by_default,
            Size::Full => full,
        };
        if let Some(bad) = values.value.iter().find(|value| !is_plain(value)) {
            return wrong(format!(
                "{bad:?} has a quotation mark, a backslash, a $ or a control character"
            ));
        }
        Ok((name, value.clone()))
    };
    table.all_texts()?.into_iter().map(value).collect()
}

fn study(text: &str) -> Result<Study, FileError> {
    let file = TomlFile::parse(text)?;
    let root = file.root();
    root.table("sizes", "[sizes]")?;
    let line = |key| root.required_text(key).map(|text| one_line(&text.value));
    let name = root.required_text("name")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.value.chars().all(is_name) {
        return Err(FileError::new(name.at, "a name consists of letters, digits, -, _ and ."));
    }
    let differences = root.texts("differences")?;
    let study = Study {
        name: name.value,
        title: line("title")?,
        question: line("question")?,
        source: line("source")?,
        differences: differences.iter().map(|text| one_line(&text.value)).collect(),
        systems: each(&root, "system", "[[system]]", system)?,
        measure: each(&root, "measure", "[[measure]]", measure)?,
        precision: precision(&root)?,
        budget: budget(&root)?,
        tables: each(&root, "table", "[[table]]", table)?,
        claims: read_claims(&root)?,
        about: about(&root)?,
    };
    root.finish()?;
    check(&study, &root)?;
    Ok(study)
}

/// The tables of an array, each read by `read`.
fn each<'f, T>(
    root: &TableReader<'f>,
    key: &'static str,
    name: &'f str,
    read: impl Fn(&TableReader<'f>) -> Result<T, FileError>,
) -> Result<Vec<T>, FileError> {
    let tables = root.tables(key, name)?;
    if let Some(table) = tables.get(TABLES_AT_MOST) {
        return Err(table.mistake(format!("more than {TABLES_AT_MOST} of {name}")));
    }
    let read = |table: &TableReader<'f>| {
        let value = read(table)?;
        table.finish()?;
        Ok(value)
    };
    tables.iter().map(read).collect()
}

fn precision(root: &TableReader<'_>) -> Result<Option<f64>, FileError> {
    match root.number("precision")? {
        Some(share) if !(1e-6..1.0).contains(&share.value) => {
            Err(FileError::new(share.at, "precision is a share above 0 and below 1, such as 0.03"))
        }
        share => Ok(share.map(|share| share.value)),
    }
}

fn budget(root: &TableReader<'_>) -> Result<Option<Duration>, FileError> {
    let Some(text) = root.text("budget")? else { return Ok(None) };
    match parse_duration(&text.value) {
        Ok(time) if time >= Duration::from_millis(100) => Ok(Some(time)),
        Ok(_) => Err(FileError::new(text.at, "budget: at least 100ms")),
        Err(error) => Err(FileError::new(text.at, format!("budget: it {}", error.problem()))),
    }
}

fn system(table: &TableReader<'_>) -> Result<SystemRole, FileError> {
    let (name, os) = (table.required_text("name")?, table.required_text("os")?);
    Ok(SystemRole { name: name.value, os: os.value })
}

fn measure(table: &TableReader<'_>) -> Result<Measure, FileError> {
    let cases = table.texts("cases")?;
    if cases.is_empty() {
        return Err(table.mistake("cases is missing in [[measure]]"));
    }
    let params = match table.table("params", "params")? {
        Some(params) => params.all_texts()?,
        None => BTreeMap::new(),
    };
    for values in params.values() {
        let unknown = values.value.iter().find(|value| value.contains('$'));
        unknown.map_or(Ok(()), |value| Err(FileError::new(values.at, no_size(value))))?;
    }
    let params = params.into_iter().map(|(name, values)| (name, values.value));
    Ok(Measure {
        cases: cases.into_iter().map(|case| case.value).collect(),
        params: params.collect(),
    })
}

fn no_size(value: &str) -> String {
    format!("{value:?} names no value of [sizes]")
}

fn table(table: &TableReader<'_>) -> Result<Table, FileError> {
    let title = table.required_text("title")?;
    let unit = table.text("unit")?.map(|unit| unit.value).unwrap_or_default();
    let rows_are = table.required_text("rows-are")?;
    let factor = table.number("factor")?.map_or(1.0, |factor| factor.value);
    let columns: Vec<HereColumn> =
        table.tables("columns", "columns")?.iter().map(column).collect::<Result<_, _>>()?;
    if columns.is_empty() || columns.len() > COLUMNS_AT_MOST {
        return Err(table.mistake(format!("a table has 1 to {COLUMNS_AT_MOST} columns")));
    }
    let layout = Layout { columns: &columns, factor };
    let listed = table.texts("rows")?;
    let rows = match listed.is_empty() {
        true => table.tables("row", "[[table.row]]")?.iter().map(|row| layout.row(row)).collect(),
        false => layout.listed_rows(table, &listed),
    };
    let rows: Vec<Row> = rows?;
    if rows.is_empty() || rows.len() > ROWS_AT_MOST {
        return Err(table.mistake(format!("a table has 1 to {ROWS_AT_MOST} rows")));
    }
    Ok(Table {
        title: one_line(&title.value),
        unit,
        rows_are: rows_are.value,
        columns: columns.iter().map(|column| Column { title: column.title.clone() }).collect(),
        rows,
    })
}

/// A column, with what its points have in place of `$column`.
struct HereColumn {
    title: String,
    value: Option<String>,
    factor: f64,
}

fn column(table: &TableReader<'_>) -> Result<HereColumn, FileError> {
    let column = HereColumn {
        title: table.required_text("title")?.value,
        value: table.text("value")?.map(|value| value.value),
        factor: table.number("factor")?.map_or(1.0, |factor| factor.value),
    };
    table.finish()?;
    Ok(column)
}

/// The columns of a table whose rows are read, and the factor of all its cells.
struct Layout<'a> {
    columns: &'a [HereColumn],
    factor: f64,
}

impl Layout<'_> {
    /// A row with points of its own.
    fn row(&self, table: &TableReader<'_>) -> Result<Row, FileError> {
        let title = table.required_text("title")?;
        let published = table.texts("published")?;
        if !published.is_empty() && published.len() != self.columns.len() {
            let (has, columns) = (published.len(), self.columns.len());
            let problem = format!("published has {has} figures, but there are {columns} columns");
            return Err(FileError::new(published[0].at, problem));
        }
        let places = self.places(table, None)?;
        table.finish()?;
        let published = published.into_iter().map(|figure| Some(figure.value));
        Ok(row(one_line(&title.value), published.chain(std::iter::repeat(None)), places))
    }

    /// Rows that differ in a value, `$row`, only. The published figures of a row are divided by `|`.
    fn listed_rows(
        &self,
        table: &TableReader<'_>,
        titles: &[Located<String>],
    ) -> Result<Vec<Row>, FileError> {
        let published = table.texts("published")?;
        if !published.is_empty() && published.len() != titles.len() {
            let (has, rows) = (published.len(), titles.len());
            let problem = format!("published has {has} rows, but there are {rows} in the table");
            return Err(FileError::new(published[0].at, problem));
        }
        let mut published = published.iter();
        let mut rows = Vec::new();
        for title in titles {
            let figures: Vec<Option<String>> = match published.next() {
                None => vec![None; self.columns.len()],
                Some(figures) => self.divided(figures)?,
            };
            let places = self.places(table, Some(&title.value))?;
            rows.push(row(title.value.clone(), figures.into_iter(), places));
        }
        Ok(rows)
    }

    fn divided(&self, figures: &Located<String>) -> Result<Vec<Option<String>>, FileError> {
        let all: Vec<_> =
            figures.value.split('|').map(|text| Some(text.trim().to_owned())).collect();
        match all.len() == self.columns.len() {
            true => Ok(all),
            false => {
                let (has, columns) = (all.len(), self.columns.len());
                let problem = format!("{has} figures in a row, but there are {columns} columns");
                Err(FileError::new(figures.at, problem))
            }
        }
    }

    /// The place of each column; `None` if nothing corresponds to the row.
    fn places(
        &self,
        table: &TableReader<'_>,
        row: Option<&str>,
    ) -> Result<Vec<Option<Place>>, FileError> {
        let point = table.table("point", "point")?;
        let point = point.map(|side| read_side(&side, None)).transpose()?;
        let over = table.table("over", "over")?;
        let over = over.map(|side| read_side(&side, point.as_ref())).transpose()?;
        let round = table.text("round")?;
        let Some(point) = point else {
            return match over.map(|side| side.case.at).or(round.map(|round| round.at)) {
                Some(at) => Err(FileError::new(at, "the row has no point")),
                None => Ok(self.columns.iter().map(|_| None).collect()),
            };
        };
        let place = |column: &HereColumn| {
            let words = Words { column: column.value.as_deref(), row };
            Ok(Some(Place {
                point: words.in_side(&point)?,
                over: over.as_ref().map(|side| words.in_side(side)).transpose()?,
                round: round.as_ref().map(|round| words.round(round)).transpose()?,
                factor: self.factor * column.factor,
            }))
        };
        self.columns.iter().map(place).collect()
    }
}

/// What `$column` and `$row` stand for.
struct Words<'a> {
    column: Option<&'a str>,
    row: Option<&'a str>,
}

impl Words<'_> {
    fn round(&self, round: &Located<String>) -> Result<usize, FileError> {
        let text = self.in_text(&round.value, round.at)?;
        let number = text.parse().ok().filter(|number| (1..=1_000_000).contains(number));
        number.ok_or_else(|| FileError::new(round.at, format!("{text:?} is no number of a round")))
    }

    fn in_side(&self, side: &Side) -> Result<Side, FileError> {
        let located = |text: &Located<String>| {
            Ok(Located { value: self.in_text(&text.value, text.at)?, at: text.at })
        };
        let mut params = BTreeMap::new();
        for (name, values) in &side.params {
            let texts = values.value.iter().map(|value| self.in_text(value, values.at));
            let value = texts.collect::<Result<_, _>>()?;
            params.insert(name.clone(), Located { value, at: values.at });
        }
        Ok(Side {
            case: located(&side.case)?,
            params,
            metric: located(&side.metric)?,
            system: side.system.as_ref().map(located).transpose()?,
        })
    }

    fn in_text(&self, text: &str, at: Location) -> Result<String, FileError> {
        let mut text = text.to_owned();
        for (name, value) in [("$column", self.column), ("$row", self.row)] {
            if let Some(value) = value {
                text = text.replace(name, value);
            } else if text.contains(name) {
                let place =
                    if name == "$row" { "`rows` of the table" } else { "`value` of the column" };
                return Err(FileError::new(
                    at,
                    format!("{name} stands for nothing: {place} is missing"),
                ));
            }
        }
        match text.contains('$') {
            true => Err(FileError::new(at, no_size(&text))),
            false => Ok(text),
        }
    }
}

/// A row; `-` is no published figure.
fn row(
    title: String,
    published: impl Iterator<Item = Option<String>>,
    places: Vec<Option<Place>>,
) -> Row {
    let cell = |(place, published): (Option<Place>, Option<String>)| Cell {
        published: published.filter(|figure| figure != "-"),
        place,
    };
    Row { title, cells: places.into_iter().zip(published).map(cell).collect() }
}

fn about(root: &TableReader<'_>) -> Result<BTreeMap<String, About>, FileError> {
    let mut all = BTreeMap::new();
    for table in root.tables("about", "[[about]]")? {
        let claim = table.required_text("claim")?;
        let derived = table.truth("derived")?.unwrap_or(false);
        let text = |key| table.text(key).map(|text| text.map(|text| one_line(&text.value)));
        let about = About { derived, needs: text("needs")?, today: text("today")? };
        table.finish()?;
        if all.insert(claim.value.clone(), about).is_some() {
            let problem = format!("a second [[about]] of {:?}", claim.value);
            return Err(FileError::new(claim.at, problem));
        }
    }
    Ok(all)
}

/// What can be checked only when all parts are known.
fn check(study: &Study, root: &TableReader<'_>) -> Result<(), FileError> {
    if study.measure.is_empty() && study.tables.is_empty() && study.claims.is_empty() {
        return Err(root.mistake("the study has neither points, nor tables, nor claims"));
    }
    let is_claim = |name: &String| study.claims.iter().any(|claim| claim.name == *name);
    if let Some(name) = study.about.keys().find(|name| !is_claim(name)) {
        return Err(root.mistake(format!("[[about]] of {name:?}, which is no claim")));
    }
    let nothing = Words { column: None, row: None };
    for side in study.claims.iter().flat_map(Claim::sides) {
        nothing.in_side(side)?;
    }
    check_names(&study.claims, &[])?;
    let places = study.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
    for place in places.filter_map(|cell| cell.place.as_ref()) {
        for side in std::iter::once(&place.point).chain(&place.over) {
            check_side(side)?;
        }
    }
    Ok(())
}

/// Text that may have been written on several lines as one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
