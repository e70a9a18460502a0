//! The tables of a run: one per area, a row per case with its parameters.
//!
//! What could not be measured stays visible: failures as rows, missing things folded below the table.

use std::time::Duration;

use results::{CaseResult, Outcome};

use crate::folded::{folded_lines, is_folded};
use crate::footnotes::{Footnotes, Reason};
use crate::grid::{self, Column};
use crate::labels::Label;
use crate::measured::{Choice, Telling, cost_choices, metric_columns};
use crate::names;
use crate::page::{Ink, Page};
use crate::picture::PICTURE_SCALE;
use crate::quantity::format_duration;
use crate::rows::{Area, COST, Metric, Row, areas, word};
use crate::text;

/// On a page as wide as this all metrics stand in one table, if they fit.
const ROOM_FOR_ALL: usize = 120;

/// Ranks up to this one belong to the table at any usual width; the others are for wide pages.
const LAST_CORE_RANK: usize = 3;

/// The results as tables, one or two per area unless a page is too narrow, with footnotes below each and a
/// legend at the end.
pub fn results_tables(results: &[CaseResult], page: &Page) -> String {
    if results.is_empty() {
        return "no results\n".to_owned();
    }
    let areas = areas(results);
    let mut text = String::new();
    for area in &areas {
        text.push_str(&area_text(area, page));
        text.push('\n');
    }
    text.push_str(&legend(results, page));
    text
}

/// How many cases were measured and how many were not, such as
/// `46 cases: 41 measured (2 with doubts), 3 unsupported, 2 failed, in 2 min 13 s`.
pub fn closing_line(results: &[CaseResult], took: Option<Duration>, page: &Page) -> String {
    let areas = areas(results);
    let rows: Vec<&Row> = areas.iter().flat_map(|area| &area.rows).collect();
    let doubtful = rows.iter().filter(|row| row.is_doubtful()).count();
    let outcomes = [
        Outcome::Measured,
        Outcome::Unsupported,
        Outcome::Failed,
        Outcome::TimedOut,
        Outcome::Implausible,
    ];
    let mut parts = Vec::new();
    for outcome in outcomes {
        let count = rows.iter().filter(|row| row.outcome() == outcome).count();
        if outcome == Outcome::Measured && doubtful > 0 {
            parts.push(format!("{count} measured ({doubtful} with doubts)"));
        } else if count > 0 || outcome == Outcome::Measured {
            parts.push(format!("{count} {}", word(outcome)));
        }
    }
    let cases = if rows.len() == 1 { "case" } else { "cases" };
    let took = took.map_or_else(String::new, |t| format!(", in {}", format_duration(t)));
    let line = format!("{} {cases}: {}{took}", rows.len(), parts.join(", "));
    text::hanging("", &line, page.prose_width())
}

fn area_text(area: &Area, page: &Page) -> String {
    let shown: Vec<&Row> = area.rows.iter().filter(|row| !is_folded(row)).collect();
    let reasons: Vec<Vec<Reason>> = shown.iter().map(|row| row.reasons()).collect();
    let alike = names::are_alike(&labels(&shown));
    let tables = Tables { area, alike, notes: Footnotes::of(&reasons), page };
    let mut text = String::new();
    if !area.shared.is_empty() || shown.is_empty() {
        let title = text::hanging("", &area.title(), page.prose_width());
        text.push_str(&page.paint_lines(Ink::Heading, &title));
    }
    text.push_str(&tables.text(&shown));
    text.push_str(&tables.notes.lines(page));
    text.push_str(&folded_lines(area, page));
    text
}

/// What the tables of an area have in common.
struct Tables<'a> {
    area: &'a Area<'a>,
    /// Whether all rows have the same parameters: then these have columns of their own.
    alike: bool,
    notes: Footnotes,
    page: &'a Page,
}

impl Tables<'_> {
    /// The costs in one table, further metrics beside them or in a table of their own.
    fn text(&self, rows: &[&Row]) -> String {
        let (costs, others) = parted(rows);
        // Below a title that names the area the first heading need not.
        let first = if self.area.shared.is_empty() { self.area.name.as_str() } else { "" };
        if costs.is_empty() {
            return self.metric_tables(first, &others, None).join("\n");
        }
        if let Some(table) = self.all_in_one(first, rows) {
            return table;
        }
        let choices = cost_choices(&costs, &self.notes, self.page);
        let room_for_names = self.room_beside(width_to(LAST_CORE_RANK, &choices));
        let mut tables = vec![self.cost_table(first, &costs, choices)];
        if !others.is_empty() {
            tables.extend(self.metric_tables(&self.area.name, &others, Some(room_for_names)));
        }
        tables.join("\n")
    }

    /// Costs and further metrics side by side, where the page is wide enough for it.
    fn all_in_one(&self, heading: &str, rows: &[&Row]) -> Option<String> {
        let metrics = self.area.further_metrics();
        if self.page.table_width() < ROOM_FOR_ALL || metrics.is_empty() {
            return None;
        }
        let mut choices = cost_choices(rows, &self.notes, self.page);
        let telling = Telling { intervals: false, endings: false };
        let columns = metric_columns(rows, &metrics, telling, &self.notes, self.page);
        choices.extend(columns.into_iter().map(|column| Choice { column, rank: 0 }));
        let room = self.room_beside(width_to(LAST_CORE_RANK, &choices));
        let names = self.names(heading, rows, room, room);
        let fits = grid::total_width(&names) <= room;
        fits.then(|| grid::table(self.fitting(names, choices), self.page))
    }

    fn cost_table(&self, heading: &str, rows: &[&Row], choices: Vec<Choice>) -> String {
        let room = self.room_beside(width_to(0, &choices));
        let comfortable_room = self.room_beside(width_to(LAST_CORE_RANK, &choices));
        let names = self.names(heading, rows, room, comfortable_room);
        grid::table(self.fitting(names, choices), self.page)
    }

    /// The names of `rows`: parameters apart within `room`, or shortened to `comfortable_room` where they can be.
    fn names(
        &self,
        heading: &str,
        rows: &[&Row],
        room: usize,
        comfortable_room: usize,
    ) -> Vec<Column> {
        let labels = labels(rows);
        let apart = names::apart(heading, &labels, room).filter(|_| self.alike);
        apart.unwrap_or_else(|| vec![names::together(heading, &labels, comfortable_room)])
    }

    /// The names of the rows and as many of the columns as the page has room for.
    fn fitting(&self, names: Vec<Column>, choices: Vec<Choice>) -> Vec<Column> {
        let fits = |rank: &usize| {
            let wraps = *rank <= LAST_CORE_RANK;
            let least = if wraps { names::least_width(&names) } else { grid::total_width(&names) };
            least <= self.room_beside(width_to(*rank, &choices))
        };
        let highest = choices.iter().map(|c| c.rank).max().unwrap_or(0);
        let last = (1..=highest).take_while(fits).last().unwrap_or(0);
        let kept = choices.into_iter().filter(|c| c.rank <= last).map(|c| c.column);
        names.into_iter().chain(kept).collect()
    }

    /// Metrics other than the cost in one table if that can be done, else in as few as possible.
    ///
    /// Below a table of costs, whose names had `room_for_names`, they come without intervals; where they are
    /// all there is, intervals are shown if one table has room for them.
    fn metric_tables(
        &self,
        heading: &str,
        rows: &[&Row],
        room_for_names: Option<usize>,
    ) -> Vec<String> {
        let metrics = self.area.further_metrics();
        let alone = room_for_names.is_none();
        let set = |metrics: &[Metric], intervals| {
            let telling = Telling { intervals, endings: alone };
            self.metric_table(heading, rows, metrics, telling, room_for_names)
        };
        let (columns, fits) = set(&metrics, true);
        if alone && fits {
            return vec![grid::table(columns, self.page)];
        }
        let mut tables = Vec::new();
        let mut rest = metrics.as_slice();
        while !rest.is_empty() {
            let parts = (1..=rest.len()).rev().map(|count| (count, set(&rest[..count], false)));
            let fitting = parts.into_iter().find(|(count, (_, fits))| *fits || *count == 1);
            let Some((count, (columns, _))) = fitting else { break };
            tables.push(grid::table(columns, self.page));
            rest = &rest[count..];
        }
        tables
    }

    /// The columns for `metrics` of the rows that have any of them, and whether the page has room for them.
    fn metric_table(
        &self,
        heading: &str,
        rows: &[&Row],
        metrics: &[Metric],
        telling: Telling,
        room_for_names: Option<usize>,
    ) -> (Vec<Column>, bool) {
        let belongs = |row: &&Row| {
            row.ending().is_some() || metrics.iter().any(|metric| row.result(*metric).is_some())
        };
        let rows: Vec<&Row> = rows.iter().copied().filter(belongs).collect();
        let columns = metric_columns(&rows, metrics, telling, &self.notes, self.page);
        let room = self.room_beside(grid::total_width(&columns));
        let comfortable_room = room_for_names.map_or(room, |known| known.min(room));
        let names = self.names(heading, &rows, room, comfortable_room);
        let fits = names::least_width(&names) <= room;
        (names.into_iter().chain(columns).collect(), fits)
    }

    fn room_beside(&self, width: usize) -> usize {
        self.page.table_width().saturating_sub(width)
    }
}

fn labels(rows: &[&Row]) -> Vec<Label> {
    rows.iter().map(|row| row.label.clone()).collect()
}

fn width_to(rank: usize, choices: &[Choice]) -> usize {
    choices.iter().filter(|c| c.rank <= rank).map(|c| c.column.width()).sum()
}

/// The rows for the table of costs, and those for the tables of further metrics.
///
/// Where no cost was measured at all, a failed one does not make a table of its own.
fn parted<'a, 'r>(rows: &[&'a Row<'r>]) -> (Vec<&'a Row<'r>>, Vec<&'a Row<'r>>) {
    let is_measured = |result: &&CaseResult| result.outcome == Outcome::Measured;
    let any_cost = rows.iter().any(|row| row.cost().as_ref().is_some_and(is_measured));
    let any_other = rows.iter().any(|row| row.results.iter().any(|r| r.metric != COST));
    if any_other && !any_cost {
        return (Vec::new(), rows.to_vec());
    }
    let costs = rows.iter().copied().filter(|row| row.cost().is_some()).collect();
    let others = rows.iter().copied().filter(|row| has_more(row)).collect();
    (costs, others)
}

/// Whether a row has figures besides its cost, or ended otherwise than its cost says.
fn has_more(row: &Row) -> bool {
    let says_more = |result: &&CaseResult| match row.cost() {
        Some(cost) => {
            result.outcome != cost.outcome
                || result.reason != cost.reason
                || cost.outcome == Outcome::Measured
        }
        None => true,
    };
    row.results.iter().filter(|r| r.metric != COST).any(says_more)
}

/// What the columns mean, in three lines at most.
fn legend(results: &[CaseResult], page: &Page) -> String {
    let Some(level) = results.iter().find_map(|result| result.estimate).map(|e| e.level * 100.0)
    else {
        return String::new();
    };
    let samples = if page.unicode {
        "one character per 5 %, the ends open"
    } else {
        "a digit per 5 %: tenths of them"
    };
    let has_cost = results.iter().any(|r| r.metric == COST && r.estimate.is_some());
    let lines = if has_cost {
        vec![
            format!(
                "cost ±: one undisturbed operation, and half the width of its {level:.0} % interval"
            ),
            format!("{PICTURE_SCALE}: all samples around the cost, {samples}"),
            "quiet: undisturbed time; per operation: calls (system calls), switches, faults"
                .to_owned(),
        ]
    } else {
        vec![format!("±: half the width of the {level:.0} % interval")]
    };
    let set = |line: String| {
        let wrapped = text::hanging("", &page.signs(&line), page.prose_width());
        page.paint_lines(Ink::Faint, &wrapped)
    };
    lines.into_iter().map(set).collect()
}
