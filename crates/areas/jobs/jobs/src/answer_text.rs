//! Recommends one of several ways to carry out the user's jobs: an answer in sentences, and a table of the figures.

use std::collections::BTreeMap;

use crate::choice::{Answer, Candidate, Choice, Goal, SettledBy, Within};
use analysis::Ratio;
use results::Estimate;

use report::footnotes::{Footnotes, Reason};
use report::grid::{self, Cell, Column};
use report::page::{Ink, Page};
use report::quantity::{FEW_PERCENT, Figure, figure, half_width, interval_figure, ratio_words};
use report::rows::word;
use report::text;

/// Maximum number of names in a sentence; further ones are only counted.
const MOST_NAMES: usize = 4;

/// Minimum width of the column of names; on narrower pages figure columns are left out.
const LEAST_NAMES: usize = 16;

/// Ratio from which on `over 1000` is shown.
const LARGEST_RATIO: f64 = 1_000.0;

/// The answer to `choice` in sentences, and a table of all candidates; `jobs` describes their jobs, such as `these 40 jobs`.
pub fn answer_text(choice: &Choice, jobs: &str, page: &Page) -> String {
    let names = names(&choice.candidates);
    let shown = sentences(choice, &names, jobs).join(" ");
    let mut text = page.hanging("", &page.signs(&shown));
    if choice.candidates.is_empty() {
        return text;
    }
    text.push('\n');
    text + &table(choice, &names, page)
}

/// The candidates that keep the delay of the foreground task within a limit, in sentences; `limit` is the limit as text, such as
/// `1ms`, and `limit_ns` its value.
pub fn within_text(choice: &Choice, limit: &str, limit_ns: f64, page: &Page) -> String {
    let names = names(&choice.candidates);
    let all = |at: &[usize]| listed(at, &names);
    let Within { surely, perhaps, fastest } = choice.within(limit_ns);
    let limit = text::clean(limit);
    let mut said = vec![match surely.is_empty() {
        true => format!("No candidate surely keeps the delay within {limit}."),
        false => format!("The delay stays within {limit} with {}.", all(&surely)),
    }];
    if let Some(fastest) = fastest.filter(|_| surely.len() > 1) {
        let name = in_words(&names[fastest]);
        said.push(format!("Of these, {name} has the shortest elapsed time."));
    }
    if !perhaps.is_empty() {
        said.push(format!("The measurements do not show whether it does with {}.", all(&perhaps)));
    }
    page.hanging("", &page.signs(&said.join(" ")))
}

fn goal_name(goal: Goal) -> &'static str {
    match goal {
        Goal::Elapsed => "elapsed time",
        Goal::Turnaround => "mean turnaround",
        Goal::WorstTurnaround => "worst turnaround",
        Goal::ForegroundDelay => "delay",
    }
}

/// Names of the candidates; names differ wherever parameters differ.
fn names(candidates: &[Candidate]) -> Vec<String> {
    let short: Vec<String> = candidates.iter().map(|c| name(&c.params)).collect();
    let is_shared = |name: &String| short.iter().filter(|other| *other == name).count() > 1;
    let shown = short.iter().zip(candidates).map(|(name, candidate)| {
        match candidate.params.get("degree").filter(|_| is_shared(name)) {
            Some(degree) => format!("{name}, at most {degree} at once"),
            None => name.clone(),
        }
    });
    shown.map(|name| text::clean(&name)).collect()
}

fn name(params: &BTreeMap<String, String>) -> String {
    let param = |key: &str| params.get(key).map_or("", String::as_str);
    let degree = param("degree");
    let name = match param("executor") {
        "serial" if param("order") == "given" => return "serial, in the given order".to_owned(),
        "threads" => format!("threads, at most {degree} at once"),
        "pool" if degree == "1" => "pool of 1 thread".to_owned(),
        "pool" => format!("pool of {degree} threads"),
        "tokio" => "async tasks (tokio)".to_owned(),
        other => other.to_owned(),
    };
    if param("order") == "shortest" { name + ", shortest first" } else { name }
}

/// A name within a sentence, with the part after its first comma in brackets.
fn in_words(name: &str) -> String {
    let article = if name.starts_with("pool ") { "the " } else { "" };
    match name.split_once(", ") {
        Some((what, how)) => format!("{article}{what} ({how})"),
        None => format!("{article}{name}"),
    }
}

/// The names at the positions `at`, within a sentence.
fn listed(at: &[usize], names: &[String]) -> String {
    text::listed(at.iter().map(|at| in_words(&names[*at])).collect(), MOST_NAMES)
}

fn sentences(choice: &Choice, names: &[String], jobs: &str) -> Vec<String> {
    let goal = match choice.goal {
        Goal::ForegroundDelay => format!("the wake-up delay of a foreground task beside {jobs}"),
        goal => format!("the {} of {jobs}", goal_name(goal)),
    };
    match &choice.answer {
        Answer::NoFigure => vec![format!("There is no figure for {goal}.")],
        Answer::Best { by } => vec![best_sentence(&goal, *by, names)],
        Answer::CannotTell { among, settled_by } => {
            let mut shown = rivals_sentences(&goal, &listed(among, names), *settled_by, names);
            shown.extend(rest_sentence(choice, among, names));
            shown
        }
    }
}

fn best_sentence(goal: &str, by: Option<Ratio>, names: &[String]) -> String {
    let best = in_words(&names[0]);
    match (by, names) {
        (Some(by), [_, next, ..]) => {
            let (times, next) = (ratio_words(by, "better", "better"), in_words(next));
            format!("For {goal}, take {best}: {times} than the next, {next}.")
        }
        (_, [_]) => format!("For {goal}, take {best}: it was the only candidate."),
        _ => format!("For {goal}, take {best}: no other candidate has a figure."),
    }
}

fn rivals_sentences(
    goal: &str,
    rivals: &str,
    settled_by: SettledBy,
    names: &[String],
) -> Vec<String> {
    let cannot = || format!("The measurements do not show which of {rivals} is best for {goal}.");
    match settled_by {
        SettledBy::DoesNotMatter { within, simplest } => {
            let (within, simplest) = (within * 100.0, in_words(&names[simplest]));
            vec![
                format!(
                    "For {goal}, take {simplest}: at most {within:.1} % worse than the first one below, and the simplest."
                ),
                format!(
                    "The measurements do not show which of {rivals} is best, and the difference does not matter."
                ),
            ]
        }
        SettledBy::Rounds(rounds) => {
            vec![cannot(), format!("About {rounds} rounds of each would decide it.")]
        }
        SettledBy::Nothing => {
            vec![
                cannot(),
                "The figures vary too much between rounds for any number of rounds to decide it."
                    .to_owned(),
            ]
        }
    }
}

/// A sentence that says by how much the other candidates are worse.
fn rest_sentence(choice: &Choice, among: &[usize], names: &[String]) -> Option<String> {
    let rest = choice.candidates.iter().enumerate().filter(|(at, _)| !among.contains(at));
    let lows = rest.filter_map(|(_, candidate)| candidate.against_best).map(|ratio| ratio.low);
    let least = lows.min_by(f64::total_cmp)?;
    let least = match least < FEW_PERCENT {
        true => format!("{:.1} %", (least - 1.0) * 100.0),
        false => format!("{least:.1} times"),
    };
    Some(format!("All others are at least {least} worse than {}.", in_words(&names[among[0]])))
}

/// Columns of a table of candidates.
struct Setting<'a> {
    figures: &'a [Goal],
    /// Figures that are shown with intervals.
    intervals: &'a [Goal],
    /// Minimum width of the column of names.
    names: usize,
}

/// A table with a row per candidate, and as many columns as fit the page.
fn table(choice: &Choice, names: &[String], page: &Page) -> String {
    let reasons: Vec<Vec<Reason>> = choice.candidates.iter().map(reasons).collect();
    let notes = Footnotes::lettered(&reasons);
    let marks = notes.column(&reasons);
    let longest = names.iter().map(|name| text::width(name)).max().unwrap_or(0);
    let mut all = vec![Goal::Elapsed, Goal::Turnaround, Goal::WorstTurnaround];
    if choice.candidates.iter().any(|candidate| candidate.foreground_delay.is_some()) {
        all.push(Goal::ForegroundDelay);
    }
    let goal = [choice.goal];
    let two = match choice.goal {
        Goal::Elapsed => [Goal::Elapsed, Goal::Turnaround],
        other => [Goal::Elapsed, other],
    };
    let least = LEAST_NAMES.min(longest);
    let settings = [
        Setting { figures: &all, intervals: &all, names: longest },
        Setting { figures: &all, intervals: &goal, names: longest },
        Setting { figures: &all, intervals: &[], names: least },
        Setting { figures: &two, intervals: &[], names: least },
        Setting { figures: &goal, intervals: &[], names: 0 },
    ];
    let columns = |setting: &Setting| {
        let mut columns = figure_columns(choice, setting, page);
        columns.push(marks.clone());
        columns.retain(|column| !column.is_blank());
        columns
    };
    let fits = |setting: &&Setting| {
        grid::total_width(&columns(setting)) + setting.names <= page.table_width()
    };
    let setting = settings.iter().find(fits).unwrap_or(&settings[4]);
    let names = Column::words("", names.iter().map(String::as_str)).wrapping();
    let text = grid::table([vec![names], columns(setting)].concat(), page) + &notes.lines(page);
    text + &page.prose(Ink::Faint, &legend(choice, setting))
}

/// Explanations of the headings.
fn legend(choice: &Choice, setting: &Setting) -> String {
    let shown = |goal: Goal| setting.figures.contains(&goal);
    let turnaround = "turnaround: time from the start until a job is complete, divided by its length, mean over the jobs";
    let worst = match shown(Goal::Turnaround) {
        true => "worst: the highest turnaround of any job",
        false => {
            "worst: time from the start until a job is complete, divided by its length, highest of any job"
        }
    };
    let delay = "delay: how much later than planned a task of ordinary priority runs while the jobs run, at most, at 90 % of \
                 its wake-ups";
    let of = goal_name(choice.goal);
    let (ratio, first) =
        (ratio_heading(choice), "divided by that of the first, with simultaneous intervals");
    let shown = [
        shown(Goal::Turnaround).then(|| turnaround.to_owned()),
        shown(Goal::WorstTurnaround).then(|| worst.to_owned()),
        shown(Goal::ForegroundDelay).then(|| delay.to_owned()),
        Some(format!("{ratio}: the {of} {first}")),
    ];
    shown.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn ratio_heading(choice: &Choice) -> &'static str {
    match choice.answer {
        Answer::Best { .. } => "against best",
        _ => "against first",
    }
}

fn figure_columns(choice: &Choice, setting: &Setting, page: &Page) -> Vec<Column> {
    let mut columns = Vec::new();
    for &goal in setting.figures {
        let (heading, unit) = match goal {
            Goal::Elapsed => ("elapsed", "ns/op"),
            Goal::Turnaround => ("turn-\naround", "x"),
            Goal::WorstTurnaround => ("worst", "x"),
            Goal::ForegroundDelay => ("delay", "ns"),
        };
        let figures: Vec<Option<Estimate>> =
            choice.candidates.iter().map(|candidate| candidate.figure(goal)).collect();
        let cells =
            figures.iter().map(|figure| figure.map_or_else(Cell::unknown, |e| value(e, unit)));
        columns.push(Column::figures(heading, cells));
        if setting.intervals.contains(&goal) {
            let cells = figures.iter().map(|figure| figure.and_then(|e| interval(e, page)));
            columns.push(Column::figures(&page.signs("±"), cells).close());
        }
    }
    let at = || 0..choice.candidates.len();
    let ratios = at().map(|at| against_best(choice, at, page));
    columns.push(Column::figures(ratio_heading(choice), ratios));
    columns.push(Column::words("", at().map(|at| standing(choice, at))).close());
    columns
}

fn value(Estimate { median, low, high, .. }: Estimate, unit: &str) -> Cell {
    let figure = figure(median, half_width(median, low, high), unit);
    let unit = if unit == "x" { unit.to_owned() } else { figure.unit.clone() };
    Cell::figure(Figure { unit, ..figure })
}

fn interval(Estimate { median, low, high, .. }: Estimate, page: &Page) -> Option<Cell> {
    let Figure { number, unit } = interval_figure(median, low, high)?;
    Some(Cell::figure(Figure { number: page.signs(&number), unit }))
}

/// Ratio to the best candidate, such as `1.81 (1.72 … 1.93)`; `best`, or the reason why the candidate is not compared.
fn against_best(choice: &Choice, at: usize, page: &Page) -> Cell {
    let candidate = &choice.candidates[at];
    if let Some((outcome, _)) = &candidate.ending {
        return Cell::inked(word(*outcome), Ink::Bad);
    }
    if at == 0 && matches!(choice.answer, Answer::Best { .. }) {
        return Cell::inked("best", Ink::Good);
    }
    let Some(Ratio { mid, low, high }) = candidate.against_best else { return Cell::default() };
    if high >= LARGEST_RATIO {
        return Cell::text(if low >= LARGEST_RATIO { "over 1000" } else { "cannot tell" });
    }
    let places = match high - low {
        width if width < 0.02 && mid < 10.0 => 3,
        _ if mid < 10.0 => 2,
        _ if mid < 100.0 => 1,
        _ => 0,
    };
    let unit = page.signs(&format!("({low:.places$} … {high:.places$})"));
    Cell::figure(Figure { number: format!("{mid:.places$}"), unit })
}

/// Remark on a candidate if no candidate is certainly the best.
fn standing(choice: &Choice, at: usize) -> Cell {
    match &choice.answer {
        Answer::CannotTell { among, settled_by } if among.contains(&at) => match settled_by {
            SettledBy::DoesNotMatter { simplest, .. } if *simplest == at => {
                Cell::inked("simplest", Ink::Good)
            }
            SettledBy::DoesNotMatter { .. } => Cell::text("as good"),
            _ => Cell::inked("best?", Ink::Doubt),
        },
        _ => Cell::default(),
    }
}

/// Reasons why a candidate has no figure, or why its figure is doubtful.
fn reasons(candidate: &Candidate) -> Vec<Reason> {
    let ending = candidate.ending.iter().map(|(_, reason)| Reason::Missing(reason.clone()));
    ending.chain(candidate.doubts.iter().cloned().map(Reason::Doubt)).collect()
}
