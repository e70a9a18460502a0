//! The list of runs in the store.

use crate::grid::{self, Cell, Column};
use crate::page::{Ink, Page};
use crate::quantity::figure;

/// Minimum page width for the column of rounds.
const ROOM_FOR_ROUNDS: usize = 72;

/// Minimum width of the column with the command line.
const LEAST_ASKED: usize = 20;

/// A run as `oscost runs` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLine {
    /// Name of the run, such as `20261121-203655-4f2a`.
    pub id: String,
    /// Start time: RFC 3339, UTC.
    pub started: String,
    /// State: `done` or `unfinished`.
    pub state: String,
    /// Number of figures: a point has one for each of its metrics.
    pub figures: u64,
    /// Number of rounds taken so far.
    pub rounds: u64,
    /// A short description of the machine.
    pub machine: String,
    /// Tags as `key=value`, separated by spaces.
    pub tags: String,
    /// Filters and options that the user gave.
    pub asked: String,
}

/// A table of the runs, one per line. A narrow page omits the start time, which the name includes, and wraps the last column.
pub fn runs_table(runs: &[RunLine], page: &Page) -> String {
    if runs.is_empty() {
        return "no runs\n".to_owned();
    }
    let words =
        |heading: &str, of: fn(&RunLine) -> &str| Column::words(heading, runs.iter().map(of));
    let counts = |heading: &str, cell_of: fn(&RunLine) -> u64| {
        let cell = |run| Cell::figure(figure(cell_of(run) as f64, 0.0, ""));
        Column::figures(heading, runs.iter().map(cell))
    };
    let mut columns = vec![
        words("run", |run| &run.id),
        Column::words("started (UTC)", runs.iter().map(|run| readable_time(&run.started))),
        Column::words("state", runs.iter().map(state_cell)),
        counts("figures", |run| run.figures),
        counts("rounds", |run| run.rounds),
        words("machine", |run| &run.machine),
        words("tags", |run| &run.tags),
        words("asked", |run| &run.asked).wrapping(),
    ];
    let others = grid::total_width(&columns[..7]);
    if others + LEAST_ASKED > page.table_width() {
        columns.truncate(5);
        columns.remove(1);
        if page.table_width() < ROOM_FOR_ROUNDS {
            columns.truncate(3);
        }
        columns.push(Column::words("about", runs.iter().map(about)).wrapping());
    }
    columns.retain(|column| !column.is_blank());
    grid::table(columns, page)
}

fn state_cell(run: &RunLine) -> Cell {
    let ink = if run.state == "done" { Ink::Plain } else { Ink::Doubt };
    Cell::inked(run.state.as_str(), ink)
}

fn about(run: &RunLine) -> String {
    let parts = [&run.machine, &run.tags, &run.asked];
    let said: Vec<&str> = parts.into_iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
    said.join("; ")
}

/// A time in minutes: `2026-11-21 20:36` for `2026-11-21T20:36:55.123Z`; other text is unchanged.
fn readable_time(started: &str) -> String {
    match started.split_once('T') {
        Some((date, time)) if time.ends_with('Z') && time.is_char_boundary(5) => {
            format!("{date} {}", &time[..5.min(time.len())])
        }
        _ => started.to_owned(),
    }
}
