//! The rows of a job, for people and for programs.

use command::ending::Ending;
use command::output::{note, print, print_json};
use fleet::{Job, Row, State};
use jiff::Timestamp;
use report::text::{number_of, width};
use serde_json::json;

/// The schema of the JSON document; a change of meaning increments it.
const SCHEMA: u32 = 1;

/// Prints the rows. The ending says whether all runs are stored.
pub fn show(job: &Job, rows: &[Row], as_json: bool) -> anyhow::Result<Ending> {
    let (id, is_coordinated) = (&job.request().id, job.is_coordinated());
    if as_json {
        let nodes: Vec<_> = rows.iter().map(in_json).collect();
        let document =
            json!({ "schema": SCHEMA, "job": id, "coordinated": is_coordinated, "nodes": nodes });
        print_json(&document)?;
    } else {
        print(&table(rows))?;
    }
    let done = rows.iter().filter(|row| row.state == State::Done).count();
    let all = rows.len();
    if done == all {
        note(&format!("job {id}: {} measured", number_of(all, "node")));
        return Ok(Ending::Done);
    }
    let next = match is_coordinated {
        true => "it is under way".to_owned(),
        false => format!("to complete it: oscost fleet resume {id}"),
    };
    note(&format!("job {id}: {done} of {} measured; {next}", number_of(all, "node")));
    Ok(Ending::NotMeasured)
}

fn in_json(row: &Row) -> serde_json::Value {
    let mut value = json!(row);
    value["seconds"] = json!(seconds(row));
    value
}

/// One line for each node: name, state, time in it or for the attempt, run, and the reason with its remedy.
pub fn table(rows: &[Row]) -> String {
    let heading = ["node", "state", "time", "run", ""].map(str::to_owned);
    let lines: Vec<[String; 5]> = std::iter::once(heading).chain(rows.iter().map(cells)).collect();
    let widest =
        |column: usize| lines.iter().map(|line| width(&line[column])).max().unwrap_or_default();
    let widths = [0, 1, 2, 3].map(widest);
    let mut text = String::new();
    for line in &lines {
        let mut padded = String::new();
        for (cell, widest) in line.iter().zip(widths) {
            padded.push_str(cell);
            padded.extend(std::iter::repeat_n(' ', widest - width(cell) + 2));
        }
        padded.push_str(&line[4]);
        text.push_str(padded.trim_end());
        text.push('\n');
    }
    text
}

fn cells(row: &Row) -> [String; 5] {
    let time = seconds(row).map_or_else(|| "-".to_owned(), |seconds| format!("{seconds} s"));
    [
        row.node.clone(),
        row.state.word().to_owned(),
        time,
        row.run.clone().unwrap_or_else(|| "-".to_owned()),
        reason(row),
    ]
}

/// How often the node was tried before; empty for the first time.
pub fn attempt(row: &Row) -> String {
    match row.attempts {
        0 | 1 => String::new(),
        attempts => format!(" at attempt {attempts}, continued where the one before had ended"),
    }
}

/// Why there is no run, and what to do.
pub fn reason(row: &Row) -> String {
    if row.state == State::Done {
        return attempt(row).trim_start().to_owned();
    }
    let parts = [&row.reason, &row.remedy];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("; ")
}

/// Time since the last attempt began, up to its end or now, in seconds.
fn seconds(row: &Row) -> Option<i64> {
    let began: Timestamp = row.began.as_deref()?.parse().ok()?;
    let end = match row.state.is_under_way() {
        true => Timestamp::now(),
        false => row.since.as_deref()?.parse().ok()?,
    };
    Some((end.as_second() - began.as_second()).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_reason_and_the_remedy() {
        let row = |node: &str, state: State| Row {
            node: node.to_owned(),
            state,
            attempts: 1,
            run: None,
            reason: None,
            remedy: None,
            slurm_job: None,
            began: Some("2026-11-27T20:00:00Z".to_owned()),
            since: Some("2026-11-27T20:01:05Z".to_owned()),
            was_reached: true,
        };
        let run = Some("20261127-200004-1a2b".to_owned());
        let done = Row { run, ..row("a", State::Done) };
        let (reason, remedy) = (Some("no space".to_owned()), Some("free some".to_owned()));
        let failed = Row { reason, remedy, ..row("node-2", State::Failed) };
        let pending = Row { began: None, ..row("c", State::Pending) };
        assert_eq!(
            table(&[done, failed, pending]),
            "node    state    time  run\n\
             a       done     65 s  20261127-200004-1a2b\n\
             node-2  failed   65 s  -                     no space; free some\n\
             c       pending  -     -\n"
        );
    }
}
