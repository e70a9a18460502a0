//! The tables of a run: one per area, a row per case with its parameters. Some areas have their own layouts.
//!
//! Failed cases are shown as rows, and unsupported ones are listed below the table.

use std::collections::HashSet;
use std::time::Duration;

use results::{CaseResult, Document, Interval, Outcome};

use crate::first_seen::{distinct, grouped};
use crate::folded::{folded_lines, is_folded};
use crate::footnotes::{Footnotes, Reason};
use crate::grid::{self, Column};
use crate::interval::interval_line;
use crate::labels::Label;
use crate::layouts::layouts;
use crate::measured::{Choice, Detail, Setting, cost_choices, metric_columns};
use crate::names;
use crate::page::{Ink, Page};
use crate::quantity::format_duration;
use crate::rows::{Area, COST, Metric, NOT_BEGUN, Row, areas, word};
use crate::swept::is_derived;

/// Minimum page width for one table with all metrics.
const ROOM_FOR_ALL: usize = 120;

/// Minimum page width at which no table is set tight.
const ROOM_FOR_ROOMY: usize = 100;

/// Highest rank of columns that are shown at any usual width; others are shown on wide pages only.
const LAST_CORE_RANK: usize = 3;

/// Formats the results as one or two tables per area (more on a narrow page), with footnotes below each and a
/// legend at the end.
pub fn results_tables(results: &[CaseResult], page: &Page) -> String {
    if results.is_empty() {
        return "no results\n".to_owned();
    }
    let mut rest: Vec<&CaseResult> = results.iter().collect();
    let mut texts = Vec::new();
    for layout in layouts() {
        let is_of_area = |result: &&CaseResult| {
            result.case.split_once('/').is_some_and(|(area, _)| area == layout.area)
        };
        let (of_layout, others): (Vec<&CaseResult>, Vec<&CaseResult>) =
            rest.into_iter().partition(is_of_area);
        // Results that do not fit the layout of their area, and duplicates, are shown as points.
        let (known, odd) = known_and_odd(of_layout, layout.is_known);
        rest = others.into_iter().chain(odd).collect();
        if !known.is_empty() {
            texts.push((layout.tables)(&known, page));
        }
    }
    if !rest.is_empty() {
        texts.insert(0, area_tables(&rest, page));
    }
    texts.join("\n")
}

/// Splits `results` into those that `is_known` accepts, each once, and all others.
pub fn known_and_odd(
    results: Vec<&CaseResult>,
    is_known: fn(&CaseResult) -> bool,
) -> (Vec<&CaseResult>, Vec<&CaseResult>) {
    let mut seen = HashSet::new();
    results.into_iter().partition(|result| {
        is_known(result) && seen.insert((&result.case, &result.params, &result.metric))
    })
}

/// The tables in the layout of points, and their legend.
fn area_tables(results: &[&CaseResult], page: &Page) -> String {
    let mut text = String::new();
    let mut settings = Vec::new();
    for area in &areas(results.iter().copied()) {
        let (area_text, setting) = area_text(area, page);
        text.push_str(&area_text);
        text.push('\n');
        settings.extend(setting);
    }
    let legend = legend(results, &settings, &text, page);
    text + &legend
}

/// The number of points by outcome, such as `46 points: 41 measured (2 marked), 3 unsupported, 2 failed, in 2 min 13 s`.
///
/// Metrics derived from several points are not counted, nor are cases of other operating systems.
pub fn closing_line(results: &[CaseResult], took: Option<Duration>, page: &Page) -> String {
    let areas = areas(results.iter().filter(|result| !is_derived(result)));
    let rows = counted(&areas);
    let marked = rows.iter().filter(|row| row.is_marked()).count();
    let outcomes = [
        Outcome::Measured,
        Outcome::Unsupported,
        Outcome::Failed,
        Outcome::TimedOut,
        Outcome::Implausible,
    ];
    let mut parts = Vec::new();
    let not_begun = rows.iter().filter(|row| row.is_not_begun()).count();
    for outcome in outcomes {
        let begun = rows.iter().filter(|row| !row.is_not_begun());
        let count = begun.filter(|row| row.outcome() == outcome).count();
        if outcome == Outcome::Measured && marked > 0 {
            parts.push(format!("{count} measured ({marked} marked)"));
        } else if count > 0 || outcome == Outcome::Measured {
            parts.push(format!("{count} {}", word(outcome)));
        }
    }
    if not_begun > 0 {
        parts.push(format!("{not_begun} {NOT_BEGUN}"));
    }
    let points = if rows.len() == 1 { "point" } else { "points" };
    let took = took.map_or_else(String::new, |t| format!(", in {}", format_duration(t)));
    let line = format!("{} {points}: {}{took}", rows.len(), parts.join(", "));
    page.hanging("", &line)
}

/// A line for each reason why points of the run failed, timed out or were implausible, with their number and the first of them;
/// empty if none did.
pub fn failures_lines(document: &Document, page: &Page) -> String {
    /// Maximum number of reasons.
    const REASONS_AT_MOST: usize = 4;
    let has_failed = |result: &&CaseResult| {
        matches!(result.outcome, Outcome::Failed | Outcome::TimedOut | Outcome::Implausible)
            && result.was_begun()
            && !is_derived(result)
    };
    let failed = document.results.iter().filter(has_failed);
    let why = |result: &CaseResult| (result.outcome, result.reason.clone().unwrap_or_default());
    let mut reasons =
        grouped(failed.map(|result| (why(result), results::label(&result.case, &result.params))));
    for (_, points) in &mut reasons {
        *points = distinct(std::mem::take(points));
    }
    reasons.sort_by_key(|(_, points)| std::cmp::Reverse(points.len()));
    let line = |((outcome, why), points): &((Outcome, String), Vec<String>)| {
        let others = match points.len() {
            1 => String::new(),
            2 => " and 1 other".to_owned(),
            count => format!(" and {} others", count - 1),
        };
        let why = if why.is_empty() { "no reason was given" } else { why };
        page.hanging("  ", &format!("{}{others} {}: {why}", points[0], word(*outcome)))
    };
    let mut lines: String = reasons.iter().take(REASONS_AT_MOST).map(line).collect();
    if reasons.len() > REASONS_AT_MOST {
        let further = reasons.len() - REASONS_AT_MOST;
        lines.push_str(&page.hanging("  ", &format!("{further} further reasons: --tables")));
    }
    lines
}

/// Rows that are counted as points: those of this operating system.
fn counted<'a, 'r>(areas: &'a [Area<'r>]) -> Vec<&'a Row<'r>> {
    areas.iter().flat_map(|area| &area.rows).filter(|row| !row.is_of_other_system()).collect()
}

/// The end of a run's output: the core's frequency if it is known, and the [`closing_line`].
pub fn closing_lines(document: &Document, took: Option<Duration>, page: &Page) -> String {
    let run = &document.run;
    let mut text = String::new();
    if let Some(Interval { low, median, high }) = run.core_clock_ghz {
        let mut line = format!("core clock {median:.2} GHz, {low:.2} to {high:.2}");
        if document.results.iter().any(|result| result.cycles.is_some()) {
            line.push_str(&format!("; costs with cycles are given in ns at {median:.2} GHz"));
        }
        text.push_str(&page.hanging("", &line));
    }
    text.push_str(&closing_line(&document.results, took, page));
    if let Some(line) = interval_line(&document.results) {
        text.push_str(&page.hanging("", &page.signs(&line)));
    }
    text
}

/// A line with the time that each area took; empty if it is unknown.
pub fn area_times_line(document: &Document, page: &Page) -> String {
    let mut areas: Vec<(&String, &f64)> = document.run.area_seconds.iter().collect();
    areas.sort_by(|a, b| b.1.total_cmp(a.1));
    let areas = areas.into_iter().map(|(area, seconds)| {
        let time = Duration::try_from_secs_f64(*seconds).unwrap_or(Duration::MAX);
        format!("{area} {}", format_duration(time))
    });
    let areas: Vec<String> = areas.collect();
    match areas.is_empty() {
        true => String::new(),
        false => page.hanging("", &format!("time by area: {}", areas.join(", "))),
    }
}

/// Text of an area, and the setting of its table of costs if it has one.
fn area_text(area: &Area, page: &Page) -> (String, Option<Setting>) {
    let shown: Vec<&Row> = area.rows.iter().filter(|row| !is_folded(row)).collect();
    let reasons: Vec<Vec<Reason>> = shown.iter().map(|row| row.reasons()).collect();
    let uniform = names::are_alike(&labels(&shown));
    let notes = &Footnotes::of(&reasons);
    let tables = Tables { area, uniform, setting: Setting::Roomy, notes, page };
    let (costs, others) = parted(&shown);
    let tables = tables.set_for(&costs);
    let mut text = String::new();
    if !area.shared.is_empty() || shown.is_empty() {
        text.push_str(&page.heading(&area.title()));
    }
    if !shown.is_empty() {
        text.push_str(&tables.text(&shown, &costs, &others));
    }
    text.push_str(&notes.lines(page));
    text.push_str(&adjusted_lines(&shown, page));
    text.push_str(&folded_lines(area, page));
    (text, (!costs.is_empty()).then_some(tables.setting))
}

/// Lines that name the costs adjusted to the run's median frequency, each with its slope.
fn adjusted_lines(rows: &[&Row], page: &Page) -> String {
    let adjusted = rows.iter().filter_map(|row| {
        let slope = row.cost()?.frequency_slope.filter(|slope| slope.adjusted)?;
        Some(format!("{} {:.2}", row.label.short(), slope.slope))
    });
    let adjusted: Vec<String> = adjusted.collect();
    if adjusted.is_empty() {
        return String::new();
    }
    let line = format!(
        "adjusted to the run's median core clock in proportion to the measured dependence of the cost on it (0: none, 1: full): {}",
        adjusted.join(", ")
    );
    page.prose(Ink::Faint, &line)
}

/// The settings that the tables of an area share.
#[derive(Clone, Copy)]
struct Tables<'a> {
    area: &'a Area<'a>,
    /// Whether all rows have the same parameters, which are then shown in separate columns.
    uniform: bool,
    setting: Setting,
    notes: &'a Footnotes,
    page: &'a Page,
}

impl Tables<'_> {
    /// Sets the tables tight if that shows more columns of costs or keeps names on one line.
    fn set_for(self, costs: &[&Row]) -> Self {
        if costs.is_empty() || self.page.table_width() >= ROOM_FOR_ROOMY {
            return self;
        }
        let tight = Tables { setting: Setting::Tight, ..self };
        let (shown, unwrapped) = self.core_shown(costs);
        let (shown_tight, unwrapped_tight) = tight.core_shown(costs);
        let gains = (shown_tight, unwrapped_tight) > (shown, unwrapped);
        if gains && unwrapped_tight >= unwrapped { tight } else { self }
    }

    /// Last rank of the columns that fit a table of costs, and whether all names fit one line.
    fn core_shown(&self, costs: &[&Row]) -> (usize, bool) {
        let (columns, last) = self.cost_columns(costs);
        (last.min(LAST_CORE_RANK), grid::total_width(&columns) <= self.page.table_width())
    }

    /// Formats the `costs` in one table, with the metrics of `others` beside them or in a separate table; `rows` are
    /// all rows.
    fn text(&self, rows: &[&Row], costs: &[&Row], others: &[&Row]) -> String {
        if costs.is_empty() {
            return self.metric_tables(self.first_heading(), others, None).join("\n");
        }
        if let Some(table) = self.all_in_one(rows) {
            return table;
        }
        let choices = cost_choices(costs, self.setting, self.notes, self.page);
        let room_for_names = self.room_beside(width_to(LAST_CORE_RANK, &choices));
        let mut tables = vec![grid::table(self.cost_columns(costs).0, self.page)];
        if !others.is_empty() {
            tables.extend(self.metric_tables(&self.area.name, others, Some(room_for_names)));
        }
        tables.join("\n")
    }

    /// First heading, which names the area unless a title does.
    fn first_heading(&self) -> &str {
        if self.area.shared.is_empty() { &self.area.name } else { "" }
    }

    /// One table with costs and further metrics; `None` if the page is too narrow.
    fn all_in_one(&self, rows: &[&Row]) -> Option<String> {
        let metrics = self.area.further_metrics();
        if self.page.table_width() < ROOM_FOR_ALL || metrics.is_empty() {
            return None;
        }
        let mut choices = cost_choices(rows, self.setting, self.notes, self.page);
        let detail = Detail { intervals: false, endings: false };
        let columns = metric_columns(rows, &metrics, detail, self.notes, self.page);
        choices.extend(columns.into_iter().map(|column| Choice { column, rank: 0 }));
        let room = self.room_beside(width_to(LAST_CORE_RANK, &choices));
        let names = self.names(self.first_heading(), rows, room, room);
        let fits = grid::total_width(&names) <= room;
        fits.then(|| grid::table(self.fitting(names, choices).0, self.page))
    }

    /// Columns of a table of costs, and the last rank that fits.
    fn cost_columns(&self, rows: &[&Row]) -> (Vec<Column>, usize) {
        let choices = cost_choices(rows, self.setting, self.notes, self.page);
        let room = self.room_beside(width_to(0, &choices));
        let comfortable_room = self.room_beside(width_to(LAST_CORE_RANK, &choices));
        let names = self.names(self.first_heading(), rows, room, comfortable_room);
        self.fitting(names, choices)
    }

    /// The names of `rows`: with separate parameters within `room`, or shortened to `comfortable_room` if possible.
    fn names(
        &self,
        heading: &str,
        rows: &[&Row],
        room: usize,
        comfortable_room: usize,
    ) -> Vec<Column> {
        let labels = labels(rows);
        match names::apart(heading, &labels, room).filter(|_| self.uniform) {
            Some([names, params]) => vec![names, self.setting.spaced(params)],
            None => vec![names::together(heading, &labels, comfortable_room)],
        }
    }

    /// The names of the rows and as many of the other columns as fit the page, and the last rank of those that fit.
    fn fitting(&self, names: Vec<Column>, choices: Vec<Choice>) -> (Vec<Column>, usize) {
        let fits = |rank: &usize| {
            let wraps = *rank <= LAST_CORE_RANK;
            let least = if wraps { names::least_width(&names) } else { grid::total_width(&names) };
            least <= self.room_beside(width_to(*rank, &choices))
        };
        let highest = choices.iter().map(|c| c.rank).max().unwrap_or(0);
        let last = (1..=highest).take_while(fits).last().unwrap_or(0);
        let kept = choices.into_iter().filter(|c| c.rank <= last).map(|c| c.column);
        (names.into_iter().chain(kept).collect(), last)
    }

    /// The metrics other than the cost in as few tables as possible.
    ///
    /// Below a table of costs, whose names had `room_for_names`, the metrics are shown without intervals. If there are no costs,
    /// intervals are shown if they fit into one table.
    fn metric_tables(
        &self,
        heading: &str,
        rows: &[&Row],
        room_for_names: Option<usize>,
    ) -> Vec<String> {
        let metrics = self.area.further_metrics();
        let alone = room_for_names.is_none();
        let set = |metrics: &[Metric], intervals| {
            let detail = Detail { intervals, endings: alone };
            self.metric_table(heading, rows, metrics, detail, room_for_names)
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

    /// The columns for `metrics` of the rows that have any of them, and whether they fit the page.
    fn metric_table(
        &self,
        heading: &str,
        rows: &[&Row],
        metrics: &[Metric],
        detail: Detail,
        room_for_names: Option<usize>,
    ) -> (Vec<Column>, bool) {
        let belongs = |row: &&Row| {
            row.ending().is_some() || metrics.iter().any(|metric| row.result(*metric).is_some())
        };
        let rows: Vec<&Row> = rows.iter().copied().filter(belongs).collect();
        let columns = metric_columns(&rows, metrics, detail, self.notes, self.page);
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

/// Rows of the table of costs, and those of the tables of further metrics.
///
/// If no cost was measured at all, failed costs do not get a separate table.
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

/// Whether a row has figures besides its cost, or another outcome than its cost.
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

/// Explanations of the columns of `tables`, in at most four lines.
fn legend(results: &[&CaseResult], settings: &[Setting], tables: &str, page: &Page) -> String {
    let Some(level) = results.iter().find_map(|result| result.estimate).map(|e| e.level * 100.0)
    else {
        return String::new();
    };
    let has_cost = results.iter().any(|r| r.metric == COST && r.estimate.is_some());
    let has_column = |heading: &str| {
        let ends = |end: usize| tables[end..].starts_with([' ', '\n']);
        tables
            .match_indices(heading)
            .any(|(at, _)| tables[..at].ends_with(' ') && ends(at + heading.len()))
    };
    let mut lines = Vec::new();
    if has_cost {
        lines.push(format!(
            "cost ±: one undisturbed operation, and half the width of its {level:.0} % interval"
        ));
        if has_column("cycles") {
            let cycles =
                "cycles: of the core, per operation; unlike ns, they do not follow its frequency";
            lines.push(cycles.to_owned());
        }
        let scales = [Setting::Roomy, Setting::Tight].map(|set| page.signs(set.scale().heading()));
        if scales.iter().any(|scale| has_column(scale)) {
            lines.push(pictures(settings, page));
        }
        let quiet = if has_column("quiet") { "quiet: undisturbed time; " } else { "" };
        lines.push(format!("{quiet}per operation: calls (system calls), switches, faults"));
    } else {
        lines.push(format!("±: half the width of the {level:.0} % interval"));
    }
    lines.iter().map(|line| page.faint(line)).collect()
}

/// Explanation of the pictures in tables of these settings.
fn pictures(settings: &[Setting], page: &Page) -> String {
    let (scales, unicode, ascii) =
        match [Setting::Roomy, Setting::Tight].map(|setting| settings.contains(&setting)) {
            [true, true] => {
                ("-5 … +40 %, seen (to +30 %)", "5 % each, ends open", "tenths for each 5 %")
            }
            [false, true] => (
                "seen (-5 … +30 %)",
                "one character per 5 %, ends open",
                "a digit per 5 %: tenths of them",
            ),
            [_, false] => (
                "-5 … +40 %",
                "one character per 5 %, the ends open",
                "a digit per 5 %: tenths of them",
            ),
        };
    let characters = if page.unicode { unicode } else { ascii };
    format!("{scales}: all samples around the cost, {characters}")
}

#[cfg(test)]
mod tests {
    use simulated::{document, rounds_of};

    use super::*;

    #[test]
    fn failures_are_grouped_by_their_reason() {
        let failed = |case: &str, outcome: Outcome, why: &str| {
            let reason = Some(why.to_owned());
            CaseResult { outcome, reason, estimate: None, ..rounds_of(case, &[1.0]) }
        };
        let results = vec![
            failed("syscall/chmod", Outcome::TimedOut, "no answer"),
            failed("syscall/stat", Outcome::Failed, "read-only"),
            failed("syscall/utime", Outcome::Failed, "read-only"),
            failed("syscall/seccomp", Outcome::Unsupported, "denied"),
            rounds_of("syscall/getppid", &[1.0; 6]),
        ];
        let page = Page { width: 80, colour: false, unicode: true, this_run: false };
        assert_eq!(
            failures_lines(&document("native", results), &page),
            "  syscall/stat and 1 other failed: read-only\n  syscall/chmod timed out: no answer\n"
        );
        assert_eq!(failures_lines(&document("native", Vec::new()), &page), "");
    }
}
