//! The text of `oscost watch`.

use std::collections::BTreeMap;

use analysis::Ratio;
use analysis::history::{HistoryRun, State, Watch, Watched};

use super::{HistoryOfSeries, date, name, percent};
use crate::page::{Ink, Page};
use crate::text;

/// Maximum number of points that are named for each state and cause.
const NAMED: usize = 6;

/// What was watched, and the judgements of all its points.
#[derive(Debug, Clone, Copy)]
pub struct WatchPage<'a> {
    /// The series of the newest run.
    pub history: HistoryOfSeries<'a>,
    /// What was watched.
    pub watch: Watch,
    /// The judgements.
    pub watched: &'a [Watched],
    /// The present, in seconds since 1970.
    pub now: f64,
}

impl WatchPage<'_> {
    fn newest(&self) -> Option<&HistoryRun> {
        let run = self.history.series.visits.last()?.last()?;
        Some(&self.history.runs[*run])
    }

    /// Seconds since the newest run began; `None` without runs.
    pub fn age(&self) -> Option<f64> {
        self.newest().map(|run| self.now - run.began)
    }

    /// Seconds from the visit before to the newest run; `None` without one.
    pub fn gap(&self) -> Option<f64> {
        let [.., before, _] = &self.history.series.visits[..] else { return None };
        let before = &self.history.runs[*before.last()?];
        Some(self.newest()?.began - before.began)
    }
}

/// The alarms and suspects, by what they have in common, and what could not be shown.
pub fn watch_text(watch: &WatchPage, page: &Page) -> String {
    let mut text = String::new();
    for (state, word, ink) in
        [(State::Alarm, "ALARM", Ink::Bad), (State::Suspect, "suspect", Ink::Doubt)]
    {
        let mut groups: BTreeMap<_, Vec<&Watched>> = BTreeMap::new();
        for watched in watch.watched.iter().filter(|watched| watched.state == state) {
            let cause = &watch.history.trends[watched.trend].cause;
            groups.entry((watched.since, cause)).or_default().push(watched);
        }
        for ((since, cause), together) in groups {
            let since = since.map_or("", |run| date(&watch.history.runs[run]));
            let first = format!("{word:<7}  ");
            let names = named(watch, &together);
            let visits = together.iter().map(|watched| watched.worse).max().unwrap_or(0);
            let confirmed = match together[0].confirmed {
                Some(true) => ", confirmed by a fresh run",
                Some(false) => ", not confirmed by a fresh run",
                None => "",
            };
            let visits = match visits {
                1 => format!("in the newest visit ({since}){confirmed}"),
                _ => format!("for {visits} visits, since {since}"),
            };
            let what = match together.len() {
                1 => format!("{names} {visits}"),
                count => format!("{count} figures ({cause}) {visits}: {names}"),
            };
            text.push_str(&page.paint_lines(ink, &page.hanging(&first, &page.signs(&what))));
        }
    }
    text.push_str(&page.prose(Ink::Plain, &counts(watch)));
    text.push_str(&unsure(watch).map_or(String::new(), |line| page.prose(Ink::Faint, &line)));
    text
}

/// Points with their changes, the largest first.
fn named(watch: &WatchPage, together: &[&Watched]) -> String {
    let mut sorted = together.to_vec();
    let size = |watched: &Watched| watched.ratio.map_or(0.0, |ratio: Ratio| ratio.mid.ln().abs());
    sorted.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let words = sorted.iter().map(|watched| {
        let name = text::clean(&name(&watch.history.trends[watched.trend]));
        match watched.ratio {
            Some(ratio) => format!("{name} {}", percent(ratio)),
            None => name,
        }
    });
    text::listed(words.collect(), NAMED)
}

/// How many figures are in which state.
fn counts(watch: &WatchPage) -> String {
    let count = |state: State| watch.watched.iter().filter(|one| one.state == state).count();
    let run = watch.newest().map_or("", |run| run.summary.id.as_str());
    let dated = watch.newest().map_or("", |run| date(run));
    let dated = match (watch.age(), watch.gap()) {
        (Some(age), Some(gap)) => {
            format!(" ({dated}, {} old; the visit before was {} earlier)", time(age), time(gap))
        }
        (Some(age), None) => format!(" ({dated}, {} old)", time(age)),
        _ => String::new(),
    };
    let limit = limit(&watch.watch);
    let all = watch.watched.len();
    let parts = [
        (State::Alarm, "alarm"),
        (State::Suspect, "suspect"),
        (State::Good, "good"),
        (State::Unsure, "not worse by what can be seen"),
        (State::Unknown, "without a prediction"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .map(|(state, word)| (count(*state), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let figures = if all == 1 { "1 figure".to_owned() } else { format!("{all} figures") };
    format!("{figures} of run {run}{dated}, worse than {limit}: {}.", parts.join(", "))
}

/// A time in its largest whole unit.
fn time(seconds: f64) -> String {
    let units = [("day", 86_400.0), ("hour", 3_600.0), ("minute", 60.0)];
    let found = units.iter().find(|(_, length)| seconds >= *length);
    let (unit, length) = found.copied().unwrap_or(("second", 1.0));
    text::number_of((seconds.max(0.0) / length) as usize, unit)
}

fn limit(watch: &Watch) -> String {
    format!("{} %", (watch.worse_than * 1e4).round() / 1e2)
}

/// What this machine cannot show, and what would; `None` if it can show all.
fn unsure(watch: &WatchPage) -> Option<String> {
    let mut shares: Vec<f64> = watch
        .watched
        .iter()
        .filter(|one| one.state == State::Unsure)
        .map(|one| one.detectable)
        .collect();
    if shares.is_empty() {
        return None;
    }
    let count = shares.len();
    let visits = watch.watched.iter().map(|one| one.visits).max().unwrap_or(0);
    let median = format!("{:.1} %", measure::stats::median(&mut shares) * 100.0);
    let limit = limit(&watch.watch);
    let visits = if visits == 1 { "1 visit".to_owned() } else { format!("{visits} visits") };
    Some(format!(
        "A single visit cannot show {limit} of {count} of them here: it shows {median} (median), by {visits}. More visits narrow \
         that, and so does watching fewer points; --confirm --against OLD measures in turns with an old kernel, which shows \
         smaller changes."
    ))
}
